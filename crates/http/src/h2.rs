//! HTTP/2, by hyper: over TLS when both sides agree on it, and in the clear when a client begins with its preface.
//!
//! Only the framing is hyper's; requests are answered as those of HTTP/1.1 are. Names of headers are in lower case here,
//! because the protocol says so: the case of metadata names is kept over HTTP/1.1 only.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use http_body::{Frame, SizeHint};
use hyper::{server::conn::http2, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};

use crate::{
    Body, Headers, Io, ResponseBody, Shutdown, StreamError,
    answer::{Front, Incoming, Origin, Ready, answer},
    dates, limits,
    limits::Limits,
    stall::Stalling,
};

/// What a client of HTTP/2 sends first.
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// How often a silent client is asked whether it is still there, and how long it has to say so.
const PING: (Duration, Duration) = (Duration::from_secs(20), Duration::from_secs(20));

/// Serves a connection until one side has had enough.
///
/// # Errors
/// The connection failed.
pub(crate) async fn serve(
    front: Arc<Front>,
    origin: Origin,
    limits: Limits,
    mut shutdown: Shutdown,
    io: impl Io + 'static,
) -> Result<(), hyper::Error> {
    // Counts requests; whoever holds a clone is one in work.
    let begun = Arc::new(AtomicU64::new(0));
    let ours = Arc::clone(&begun);
    let service = service_fn(move |request| {
        begun.fetch_add(1, Ordering::Relaxed);
        let (front, in_work) = (Arc::clone(&front), Arc::clone(&begun));
        async move { Ok::<_, Infallible>(answer_one(front, origin, request, in_work).await) }
    });
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits::STREAMS_MAX)
        .max_header_list_size(u32::try_from(limits::HEADERS_MAX_BYTES).unwrap_or(u32::MAX))
        .keep_alive_interval(PING.0)
        .keep_alive_timeout(PING.1)
        .serve_connection(TokioIo::new(Stalling::new(io, limits.write_timeout)), service);
    let mut connection = std::pin::pin!(connection);
    let mut seen = 0;
    loop {
        tokio::select! {
            ended = connection.as_mut() => return ended,
            stopped = shutdown.pause(limits.head_timeout) => {
                // Nothing was asked since the last look, and nothing is in work: the client has had its time.
                let asked = ours.load(Ordering::Relaxed);
                if stopped || (asked == seen && Arc::strong_count(&ours) == 2) {
                    connection.as_mut().graceful_shutdown();
                    return connection.await;
                }
                seen = asked;
            }
        }
    }
}

async fn answer_one(
    front: Arc<Front>,
    origin: Origin,
    wire: http::Request<hyper::body::Incoming>,
    in_work: Arc<AtomicU64>,
) -> http::Response<Answer> {
    let (parts, incoming) = wire.into_parts();
    let mut headers: Headers = parts.headers.iter().collect();
    if let Some(authority) = parts.uri.authority() {
        headers.insert(header::HOST, authority.as_str());
    }
    let target = parts.uri.path_and_query().map_or("*", http::uri::PathAndQuery::as_str).to_owned();
    let body = Body::stream(incoming, front.limits.body_timeout);
    let incoming = Incoming { method: parts.method, target, headers, body };
    // Bodies come as the handler reads them, so a timeout counts from the beginning.
    let ready = answer(&front, &origin, incoming, || 0).await;
    Answer::response(ready, in_work)
}

/// The body of an answer on its way.
struct Answer {
    ready: Ready,
    _in_work: Arc<AtomicU64>,
}

impl Answer {
    fn response(mut ready: Ready, in_work: Arc<AtomicU64>) -> http::Response<Self> {
        let mut map = HeaderMap::with_capacity(24);
        let mut add = |name: &str, value: &[u8]| {
            if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_bytes(value)) {
                map.append(name, value);
            }
        };
        for (name, value) in &ready.headers {
            add(name, value.as_bytes());
        }
        ready.common.each(&mut add);
        add("date", dates::rfc1123(ready.common.now).as_bytes());
        let silent = matches!(ready.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        let length = ready.body.remaining().filter(|_| !silent);
        if let Some(length) = length.filter(|_| !ready.bare || !map.contains_key(header::CONTENT_LENGTH)) {
            map.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        }
        if ready.bare || silent {
            ready.body = ResponseBody::empty();
        }
        let mut response = http::Response::new(());
        *response.status_mut() = ready.status;
        *response.headers_mut() = map;
        response.map(|()| Self { ready, _in_work: in_work })
    }
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = StreamError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, StreamError>>> {
        let ready = &mut self.get_mut().ready;
        ready.poll_piece(cx).map(|piece| {
            piece.map(|piece| {
                piece.map(|bytes| {
                    ready.sent(&bytes);
                    Frame::data(bytes)
                })
            })
        })
    }

    fn is_end_stream(&self) -> bool {
        self.ready.body.remaining() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.ready.body.remaining().map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if self.ready.body.is_finished() {
            self.ready.complete();
        }
    }
}
