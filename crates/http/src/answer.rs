//! From one request of the wire to one answer: parse, call the service, add what every answer carries, write down what
//! happened.
//!
//! Invariant: every request is observed exactly once, also when the client goes away in the middle.

use std::{
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, atomic::AtomicBool},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts};
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::Instant;
use types::{ErrorCode, Timestamp};

use crate::{
    Body, Host, Outcome, Record, Request, RequestId, Response, ResponseBody, Service, ServiceError, StreamError,
    Target, body, dates, headers, limits, panics::Caught, request, response::Kind,
};

/// The operation of a request that ended before it was known.
const UNKNOWN: &str = "Unknown";
/// What the log says of a request whose client went away before the answer; never sent.
const CLIENT_CLOSED: u16 = 499;
const SERVER: HeaderValue = HeaderValue::from_static(concat!("Lazuli/", env!("CARGO_PKG_VERSION")));

/// A service with its surroundings: what all connections of a listener share.
pub(crate) struct Front {
    pub(crate) service: Arc<dyn Service>,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) body_timeout: Duration,
}

/// The connection that a request came on.
#[derive(Clone)]
pub(crate) struct Origin {
    pub(crate) peer: SocketAddr,
    pub(crate) secure: bool,
    /// Set when a body was not read to its end.
    pub(crate) left_unread: Arc<AtomicBool>,
}

/// Answers one request.
pub(crate) async fn answer(front: Arc<Front>, origin: Origin, wire: http::Request<Incoming>) -> http::Response<Answer> {
    let (parts, incoming) = wire.into_parts();
    let received_at = front.host.now();
    let request_id = front.host.request_id();
    let mut watch = Watch::begin(Arc::clone(&front), request_id, &parts, incoming.size_hint().exact());
    let echo = Echo::of(&parts.headers);
    let head = parts.method == Method::HEAD;
    let body = Body::new(incoming, front.body_timeout, Arc::clone(&origin.left_unread));
    let outcome = match parse(parts, &origin, request_id, received_at, body) {
        Err(error) => Outcome::new(UNKNOWN, Err(error)),
        Ok(request) => match Caught(front.service.call(request)).await {
            Ok(outcome) => outcome,
            Err(panic) => {
                tracing::error!(%request_id, panic, "a handler panicked");
                Outcome::new("Panic", Err(ServiceError::internal()))
            }
        },
    };
    watch.operation = outcome.operation;
    watch.error_code = outcome.response.error().map(|error| error.code);
    watch.status = outcome.response.status;
    finish(outcome.response, head, request_id, front.host.now(), echo, watch)
}

fn parse(
    parts: Parts,
    origin: &Origin,
    request_id: RequestId,
    received_at: Timestamp,
    body: Body,
) -> Result<Request, ServiceError> {
    headers::check_size(&parts.headers)?;
    let target = Target::parse(parts.uri.path(), parts.uri.query().unwrap_or_default())?;
    let version = request::version(&parts.headers)?;
    if body.declared_length().is_some_and(|length| length > limits::BODY_MAX_BYTES) {
        return Err(body::BodyError::TooLong { limit: limits::BODY_MAX_BYTES }.into());
    }
    let Parts { method, headers, .. } = parts;
    Ok(Request {
        method,
        target,
        version,
        headers,
        peer: origin.peer,
        request_id,
        received_at,
        body,
        secure: origin.secure,
    })
}

/// What the answer repeats of the request.
struct Echo {
    client_request_id: Option<HeaderValue>,
    version: Option<HeaderValue>,
}

impl Echo {
    fn of(headers: &HeaderMap) -> Self {
        let version = matches!(request::version(headers), Ok(Some(_)));
        Self {
            client_request_id: request::client_request_id(headers).cloned(),
            version: headers.get(headers::X_MS_VERSION).filter(|_| version).cloned(),
        }
    }
}

fn finish(
    response: Response,
    head: bool,
    request_id: RequestId,
    now: Timestamp,
    echo: Echo,
    watch: Watch,
) -> http::Response<Answer> {
    let Response { status, headers: mut map, mut body } = response;
    if let Kind::Error(error) = &body.0 {
        map.insert(headers::X_MS_ERROR_CODE, HeaderValue::from_static(error.code.as_str()));
        let bare = head || status == StatusCode::NOT_MODIFIED;
        let xml = || (HeaderValue::from_static("application/xml"), error.to_xml(request_id, now));
        let document = (!bare).then(|| error.document.as_deref().cloned().unwrap_or_else(xml));
        body = match document {
            Some((content_type, document)) => {
                map.insert(header::CONTENT_TYPE, content_type);
                ResponseBody::bytes(document)
            }
            None => ResponseBody::empty(),
        };
    }
    let texts = [(headers::X_MS_REQUEST_ID, request_id.to_string()), (header::DATE, dates::rfc1123(now))];
    for (name, text) in texts {
        if let Ok(value) = HeaderValue::try_from(text) {
            map.insert(name, value);
        }
    }
    map.insert(header::SERVER, SERVER);
    if let Some(version) = echo.version {
        map.entry(headers::X_MS_VERSION).or_insert(version);
    }
    if let Some(id) = echo.client_request_id {
        map.insert(headers::X_MS_CLIENT_REQUEST_ID, id);
    }
    let mut answer = http::Response::new(Answer { broken: false, bare: head, body, watch });
    *answer.status_mut() = status;
    *answer.headers_mut() = map;
    answer
}

/// The body of an answer on its way, with the record of its request.
pub(crate) struct Answer {
    body: ResponseBody,
    broken: bool,
    /// The headers are the whole answer.
    bare: bool,
    watch: Watch,
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = StreamError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, StreamError>>> {
        let this = self.get_mut();
        this.body.poll_next(cx).map(|next| match next {
            None => None,
            Some(Ok(bytes)) => {
                this.watch.bytes_out += u64::try_from(bytes.len()).unwrap_or_default();
                Some(Ok(Frame::data(bytes)))
            }
            Some(Err(error)) => {
                this.broken = true;
                tracing::warn!(request_id = %this.watch.request_id, %error, "an answer was broken off");
                Some(Err(error))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.remaining() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.remaining().map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.watch.complete = self.bare || (!self.broken && self.body.remaining() == Some(0));
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
    fn begin(front: Arc<Front>, request_id: RequestId, parts: &Parts, bytes_in: Option<u64>) -> Self {
        Self {
            front,
            request_id,
            begun: Instant::now(),
            method: parts.method.clone(),
            raw_target: parts.uri.path_and_query().map(|target| target.as_str().to_owned()).unwrap_or_default(),
            operation: UNKNOWN,
            status: StatusCode::from_u16(CLIENT_CLOSED).unwrap_or(StatusCode::BAD_REQUEST),
            error_code: None,
            bytes_in: bytes_in.unwrap_or_default(),
            bytes_out: 0,
            complete: false,
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let record = Record::new(
            self.front.service.name(),
            self.operation,
            &self.method,
            &self.raw_target,
            self.status,
            self.error_code,
            self.request_id,
            self.begun.elapsed(),
            (self.bytes_in, self.bytes_out),
            self.complete,
        );
        self.front.host.observe(&record);
    }
}
