//! From one request of the wire to one answer: parse, call the service, add what every answer carries, write down what
//! happened. The same for every version of HTTP.
//!
//! Invariant: every request is observed exactly once, also when the client goes away in the middle.

use std::{
    net::SocketAddr,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderValue, Method, StatusCode, header};
use net::{Caught, Kept, Seat, Sending, Slot};
use tokio::time::Instant;
use types::{ErrorCode, ServiceVersion, Switch, Timestamp};

use crate::{
    Body, Commons, Headers, Host, Load, Outcome, Record, Request, RequestId, Response, ResponseBody, Service,
    ServiceError, StreamError, Target,
    body::BodyError,
    headers,
    limits::{self, Limits},
    request,
    response::Kind,
    service::Redacted,
    target::RawTarget,
};

/// The operation of a request that ended before it was known.
const UNKNOWN: &str = "Unknown";
/// What the log says of a request whose client went away before the answer; never sent.
const CLIENT_CLOSED: u16 = 499;
const SERVER: &str = concat!("Lazuli/", env!("CARGO_PKG_VERSION"));

/// A service with its surroundings: what all connections of a listener share.
pub(crate) struct Front {
    pub(crate) service: Arc<dyn Service>,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) load: Arc<Load>,
    pub(crate) commons: Arc<Commons>,
    pub(crate) limits: Limits,
}

/// The connection that a request came on.
#[derive(Clone)]
pub(crate) struct Origin {
    pub(crate) peer: SocketAddr,
    pub(crate) secure: bool,
    pub(crate) seat: Arc<Seat>,
}

/// A request as it came.
pub(crate) struct Incoming {
    pub(crate) method: Method,
    pub(crate) target: String,
    pub(crate) headers: Headers,
    pub(crate) body: Body,
}

/// Answers one request. `progress` changes when something of its body arrives.
pub(crate) async fn answer(
    front: &Arc<Front>,
    origin: &Origin,
    incoming: Incoming,
    progress: impl Fn() -> u64,
) -> Ready {
    let Incoming { method, target, headers, body } = incoming;
    let received_at = front.host.now();
    let common = Common::of(front.host.request_id(), received_at, &headers);
    let claims = headers.contains_key(header::AUTHORIZATION) || has_signature(&target);
    let watch = Watch::begin(front, common.request_id, &method, target, body.declared_length());
    let slot = Slot::take(&front.load, &origin.seat, &front.commons.net, front.limits.net.requests, claims).await;
    let bare = method == Method::HEAD;
    let whole = Whole { origin, request_id: common.request_id, received_at };
    let parsed = match &slot {
        Some(slot) => whole.parse(front, method, &watch.raw_target, headers, body, slot),
        None => Err(ServiceError::overloaded()),
    };
    let outcome = match parsed {
        Err(error) => Outcome::new(UNKNOWN, Err(error)),
        Ok(Parsed::EveryResource) => Outcome::new("Options", Ok(Response::new(StatusCode::OK))),
        Ok(Parsed::FrontPage(page)) => Outcome::new("FrontPage", Ok(front_page(page))),
        Ok(Parsed::Request(request)) => call(front, *request, progress).await,
    };
    let known = slot.as_ref().is_some_and(|slot| slot.is_known());
    // The work is done. What is left is bytes, which are counted elsewhere, and the client's time.
    drop(slot);
    ready(outcome, bare, common, watch, &origin.seat, known)
}

/// Whether a target seems to have a signature. Whether that is one is found out later.
fn has_signature(target: &str) -> bool {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    query.as_bytes().windows(4).any(|window| window.eq_ignore_ascii_case(b"sig="))
}

/// The answer to what is not even a request.
pub(crate) fn refuse(
    front: &Arc<Front>,
    origin: &Origin,
    method: &Method,
    target: String,
    headers: &Headers,
    error: ServiceError,
) -> Ready {
    let common = Common::of(front.host.request_id(), front.host.now(), headers);
    let watch = Watch::begin(front, common.request_id, method, target, None);
    ready(Outcome::new(UNKNOWN, Err(error)), *method == Method::HEAD, common, watch, &origin.seat, false)
}

async fn call(front: &Arc<Front>, request: Request, progress: impl Fn() -> u64) -> Outcome {
    let request_id = request.request_id;
    let timeout = match request.timeout(front.service.longest_timeout()) {
        Ok(timeout) => timeout,
        Err(error) => return Outcome::new(UNKNOWN, Err(error)),
    };
    let mut called = Caught(front.service.call(request));
    let outcome = match timeout {
        None => called.await,
        Some(timeout) => match within(timeout, &mut called, progress).await {
            Some(outcome) => outcome,
            None => return Outcome::new("TimedOut", Err(BodyError::TimedOut(timeout).into())),
        },
    };
    outcome.unwrap_or_else(|panic| {
        tracing::error!(%request_id, panic, "a handler panicked");
        Outcome::new("Panic", Err(ServiceError::internal()))
    })
}

/// Waits so long, counted from the last piece of the body: a slow upload is the client's time, not ours.
async fn within<T>(
    timeout: Duration,
    called: &mut (impl Future<Output = T> + Unpin),
    progress: impl Fn() -> u64,
) -> Option<T> {
    loop {
        let before = progress();
        match tokio::time::timeout(timeout, &mut *called).await {
            Ok(outcome) => return Some(outcome),
            Err(_) if progress() == before => return None,
            Err(_) => {}
        }
    }
}

/// What is known of a request beside its own bytes.
struct Whole<'a> {
    origin: &'a Origin,
    request_id: RequestId,
    received_at: Timestamp,
}

enum Parsed {
    Request(Box<Request>),
    /// `OPTIONS *`.
    EveryResource,
    /// `/`, asked for by a person.
    FrontPage(String),
}

/// True for a request that names nothing and comes from no storage client: those send a version, a date or a credential,
/// and get the error that they know.
fn is_from_a_person(method: &Method, raw: &RawTarget<'_>, headers: &Headers) -> bool {
    matches!(method, &Method::GET | &Method::HEAD)
        && matches!(raw, RawTarget::Resource { path: "/", query: "", .. })
        && !headers.contains_key(header::AUTHORIZATION)
        && !headers.iter().any(|(name, _)| name.starts_with("x-ms-"))
}

fn front_page(page: String) -> Response {
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    Response::new(StatusCode::OK).body(plain, ResponseBody::bytes(Bytes::from(page)))
}

impl Whole<'_> {
    fn parse(
        self,
        front: &Front,
        method: Method,
        target: &str,
        headers: Headers,
        mut body: Body,
        slot: &Arc<Slot>,
    ) -> Result<Parsed, ServiceError> {
        let raw = match RawTarget::split(target)? {
            RawTarget::Everything if method == Method::OPTIONS => return Ok(Parsed::EveryResource),
            raw => raw,
        };
        let host = headers::text(&headers, &header::HOST)?.unwrap_or_default();
        let target = Target::at(raw, host, front.service.name(), front.host.domains());
        // A browser or `curl` that came to the bare port; no storage client sends such a request.
        if target.is_err()
            && is_from_a_person(&method, &raw, &headers)
            && let Some(page) = front.host.front_page(front.service.name())
        {
            return Ok(Parsed::FrontPage(page));
        }
        let target = target?;
        let version = request::version(&headers, self.received_at)?;
        // The secondary location is this same store. That it takes no writes is said before a body is read.
        if target.secondary && !matches!(method, Method::GET | Method::HEAD | Method::OPTIONS) {
            let message = "Write operations are not allowed.";
            return Err(ServiceError::new(ErrorCode::InsufficientAccountPermissions, message));
        }
        if body.declared_length().is_some_and(|length| length > limits::BODY_MAX_BYTES) {
            return Err(BodyError::TooLong { limit: limits::BODY_MAX_BYTES }.into());
        }
        body.set_documents(Arc::clone(&front.commons.net.documents));
        let Self { origin, request_id, received_at } = self;
        let (peer, secure) = (origin.peer, origin.secure);
        let default_version = None;
        let slot = Arc::clone(slot);
        Ok(Parsed::Request(Box::new(Request {
            method,
            target,
            version,
            default_version,
            headers,
            peer,
            request_id,
            received_at,
            body,
            secure,
            slot,
        })))
    }
}

/// What every answer carries.
pub(crate) struct Common {
    request_id: RequestId,
    pub(crate) now: Timestamp,
    client_request_id: Option<Box<[u8]>>,
    /// The version as sent, when it is one, and what it means.
    version: Option<([u8; 10], ServiceVersion)>,
}

impl Common {
    fn of(request_id: RequestId, now: Timestamp, sent: &Headers) -> Self {
        let text = sent.get(headers::X_MS_VERSION).and_then(|version| version.as_bytes().try_into().ok());
        let version = request::version(sent, now).ok().flatten();
        Self {
            request_id,
            now,
            client_request_id: request::client_request_id(sent).map(Into::into),
            version: text.zip(version),
        }
    }

    /// Each of them, but for the date.
    pub(crate) fn each(&self, mut add: impl FnMut(&str, &[u8])) {
        add("x-ms-request-id", &self.request_id.text());
        add("server", SERVER.as_bytes());
        if let Some((version, _)) = &self.version {
            add("x-ms-version", version);
        }
        if let Some(id) = &self.client_request_id {
            add("x-ms-client-request-id", id);
        }
    }
}

/// An answer that is ready to be sent, with the record of its request.
pub(crate) struct Ready {
    pub(crate) status: StatusCode,
    pub(crate) headers: Headers,
    pub(crate) body: ResponseBody,
    /// The answer to HEAD: the headers are all of it.
    pub(crate) bare: bool,
    pub(crate) common: Common,
    /// What is kept of it until the client takes it.
    pub(crate) kept: Kept,
    watch: Watch,
    sending: Sending,
}

fn ready(
    mut outcome: Outcome,
    bare: bool,
    mut common: Common,
    mut watch: Watch,
    seat: &Arc<Seat>,
    known: bool,
) -> Ready {
    let mut kept = Kept::new(Arc::clone(&watch.front.commons.net.outbox), known);
    let at_hand = outcome.response.body.at_hand();
    if at_hand > 0 && kept.room() == 0 {
        outcome = Outcome::new(outcome.operation, Err(ServiceError::overloaded()));
    } else {
        kept.add(at_hand);
    }
    watch.shorten();
    watch.operation = outcome.operation;
    watch.error_code = outcome.response.error().map(|error| error.code);
    watch.status = outcome.response.status;
    // The time of the answer, which may be long after that of the request.
    common.now = watch.front.host.now();
    let Response { status, mut headers, mut body, error_format } = outcome.response;
    if let Kind::Error(error) = &body.0 {
        if error.of_no_version {
            common.version = None;
        } else {
            headers.insert(headers::X_MS_ERROR_CODE, error.code.as_str());
        }
        let format = error_format.unwrap_or_else(|| watch.front.service.error_format());
        body = if bare || status == StatusCode::NOT_MODIFIED {
            ResponseBody::empty()
        } else {
            let (kind, document) = format.write(error, common.request_id, common.now);
            headers.insert(header::CONTENT_TYPE, kind);
            ResponseBody::bytes(document)
        };
    }
    let version = common.version.map(|(_, version)| version);
    if headers.get(headers::X_MS_VERSION).is_some() {
        common.version = None;
    }
    if version.is_some_and(|version| !version.has(Switch::QuotedETags)) {
        unquote(&mut headers);
    }
    Ready { status, headers, body, bare, common, kept, watch, sending: seat.sending() }
}

/// Old clients know ETags without their quotes.
fn unquote(headers: &mut Headers) {
    let bare = headers.get(header::ETAG).and_then(|etag| etag.as_bytes().strip_prefix(b"\"")?.strip_suffix(b"\""));
    if let Some(bare) = bare.map(<[u8]>::to_vec) {
        headers.insert(header::ETAG, bare);
    }
}

impl Ready {
    /// The next piece of the body.
    pub(crate) fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, StreamError>>> {
        let at_hand = self.body.at_hand();
        let piece = self.body.poll_next(cx);
        // Whoever takes it counts it.
        self.kept.forget(at_hand);
        if let Poll::Ready(Some(Err(error))) = &piece {
            tracing::warn!(request_id = %self.watch.request_id, %error, "an answer was broken off");
        }
        piece
    }

    /// A piece is on its way.
    pub(crate) fn sent(&mut self, piece: &Bytes) {
        self.watch.bytes_out += u64::try_from(piece.len()).unwrap_or_default();
    }

    /// All of it has left.
    pub(crate) const fn complete(&mut self) {
        self.watch.complete = true;
    }

    /// Becomes the answer to a request whose content could not be read. Only before anything was sent.
    pub(crate) fn give_up(self) -> Self {
        let Self { bare, common, kept, mut watch, sending, .. } = self;
        watch.bytes_out = 0;
        let operation = watch.operation;
        let outcome = Outcome::new(operation, Err(ServiceError::internal()));
        ready(outcome, bare, common, watch, sending.seat(), kept.known)
    }
}

/// The record of a request while it lasts; dropping it is the end of the request.
struct Watch {
    front: Arc<Front>,
    request_id: RequestId,
    begun: Instant,
    method: Method,
    raw_target: String,
    operation: &'static str,
    status: StatusCode,
    error_code: Option<ErrorCode>,
    bytes_in: u64,
    bytes_out: u64,
    complete: bool,
}

impl Watch {
    fn begin(
        front: &Arc<Front>,
        request_id: RequestId,
        method: &Method,
        raw_target: String,
        bytes_in: Option<u64>,
    ) -> Self {
        Self {
            front: Arc::clone(front),
            request_id,
            begun: Instant::now(),
            method: method.clone(),
            raw_target,
            operation: UNKNOWN,
            status: StatusCode::from_u16(CLIENT_CLOSED).unwrap_or(StatusCode::BAD_REQUEST),
            error_code: None,
            bytes_in: bytes_in.unwrap_or_default(),
            bytes_out: 0,
            complete: false,
        }
    }
}

impl Watch {
    /// Forgets most of a very long target: the answer may take its time, and the log needs no more.
    fn shorten(&mut self) {
        if self.raw_target.len() > limits::LOGGED_TARGET_BYTES {
            let end = (0..=limits::LOGGED_TARGET_BYTES).rev().find(|end| self.raw_target.is_char_boundary(*end));
            self.raw_target.truncate(end.unwrap_or_default());
            self.raw_target.shrink_to_fit();
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.front.host.observe(&Record {
            service: self.front.service.name(),
            operation: self.operation,
            verb: self.method.as_str(),
            target: &Redacted(&self.raw_target),
            status: self.status.as_u16().into(),
            server_failed: self.status.is_server_error(),
            error_code: self.error_code.map(ErrorCode::as_str),
            request_id: self.request_id,
            duration: self.begun.elapsed(),
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            complete: self.complete,
        });
    }
}
