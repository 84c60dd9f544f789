//! HTTP/2: over TLS when both sides agree on it, and in the clear when a client begins with its preface.
//!
//! The framing is that of the crate `h2`; requests are answered as those of HTTP/1.1 are. Names of headers are in lower
//! case here, because the protocol says so: the case of metadata names is kept over HTTP/1.1 only.
//!
//! Invariants: a stream whose client takes nothing of its answer is reset after a while, alone; a connection whose
//! client has shown no credential has small windows and few streams; nothing is taken from a body before the client has
//! a window for it.

use std::{future::poll_fn, sync::Arc, task::Poll, time::Duration};

use bytes::Bytes;
use h2::{
    Reason, RecvStream, SendStream,
    server::{Builder, SendResponse},
};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, header};
use net::{Pace, Stalling};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::OwnedSemaphorePermit,
    task::JoinSet,
    time::{Instant, sleep_until, timeout},
};

use crate::{
    Body, Headers, ResponseBody, Shutdown,
    answer::{Front, Incoming, Origin, Ready, answer},
    dates, limits,
    limits::Limits,
};

/// What a client of HTTP/2 sends first.
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// What a client may send before somebody reads it: a stranger, and somebody who is known.
const WINDOWS: (u32, u32) = (65_535, 1024 * 1024);
/// What is taken from one answer before it has left.
const SEND_BUFFER_BYTES: usize = 64 * 1024;
/// How long a client has to go, when it was told to.
const GOAWAY_TIMEOUT: Duration = Duration::from_secs(5);

/// Serves a connection until one side has had enough.
///
/// # Errors
/// The connection failed.
pub(crate) async fn serve(
    front: Arc<Front>,
    origin: Origin,
    mut shutdown: Shutdown,
    io: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
) -> Result<(), h2::Error> {
    let limits = front.limits;
    let mut builder = Builder::new();
    builder
        .max_concurrent_streams(limits::STREAMS_MAX)
        .max_header_list_size(u32::try_from(limits::HEADERS_MAX_BYTES).unwrap_or(u32::MAX))
        .initial_window_size(WINDOWS.0)
        .initial_connection_window_size(WINDOWS.0)
        .max_send_buffer_size(SEND_BUFFER_BYTES);
    let handshake = builder.handshake(Stalling::new(io, limits.net.write_timeout));
    let Ok(connection) = timeout(limits.net.handshake_timeout, handshake).await else { return Ok(()) };
    let mut connection = connection?;
    let mut streams = JoinSet::new();
    let (mut wide, mut leaving) = (false, false);
    let mut idle = Instant::now() + limits.head_timeout;
    loop {
        tokio::select! {
            accepted = connection.accept() => {
                let Some(accepted) = accepted else { return Ok(()) };
                let (request, mut respond) = accepted?;
                match admit(&front, &origin, streams.len()) {
                    Ok(place) => {
                        let (front, origin) = (Arc::clone(&front), origin.clone());
                        streams.spawn(async move {
                            answer_one(&front, &origin, request, respond).await;
                            drop(place);
                        });
                    }
                    Err(()) => {
                        front.load.refuse();
                        respond.send_reset(Reason::REFUSED_STREAM);
                    }
                }
            }
            Some(_ended) = streams.join_next(), if !streams.is_empty() => idle = Instant::now() + limits.head_timeout,
            // A credential was verified on this connection: the windows of users are larger.
            () = origin.seat.known(), if !wide => {
                wide = true;
                connection.set_target_window_size(WINDOWS.1);
                connection.set_initial_window_size(WINDOWS.1)?;
            }
            () = shutdown.requested(), if !leaving => {
                leaving = true;
                connection.graceful_shutdown();
            }
            // Nothing is in work, and nothing was asked for: the client has had its time.
            () = sleep_until(idle), if streams.is_empty() => {
                if leaving {
                    return Ok(());
                }
                leaving = true;
                idle = Instant::now() + GOAWAY_TIMEOUT;
                connection.graceful_shutdown();
            }
        }
    }
}

/// Whether one more stream may begin. What a stranger has beyond a few is shared by all strangers.
fn admit(front: &Front, origin: &Origin, streams: usize) -> Result<Option<OwnedSemaphorePermit>, ()> {
    if streams < limits::STRANGER_STREAMS || origin.seat.is_known() {
        return Ok(None);
    }
    Arc::clone(&front.commons.strangers_streams).try_acquire_owned().map(Some).map_err(drop)
}

async fn answer_one(front: &Arc<Front>, origin: &Origin, wire: Request<RecvStream>, mut respond: SendResponse<Bytes>) {
    let (parts, incoming) = wire.into_parts();
    let mut headers: Headers = parts.headers.iter().collect();
    if let Some(authority) = parts.uri.authority() {
        headers.insert(header::HOST, authority.as_str());
    }
    let target = parts.uri.path_and_query().map_or("*", http::uri::PathAndQuery::as_str).to_owned();
    let declared = if incoming.is_end_stream() { Some(0) } else { length(&parts.headers) };
    let body = Body::stream(incoming, declared, front.limits.body_timeout);
    let incoming = Incoming { method: parts.method, target, headers, body };
    // Bodies come as the handler reads them, so a timeout counts from the beginning.
    let ready = {
        let mut answering = std::pin::pin!(answer(front, origin, incoming, || 0));
        poll_fn(|cx| match answering.as_mut().poll(cx) {
            Poll::Ready(ready) => Poll::Ready(Some(ready)),
            // The client has changed its mind, or is gone.
            Poll::Pending => respond.poll_reset(cx).map(|_| None),
        })
        .await
    };
    let Some(mut ready) = ready else { return };
    let head = head(&mut ready);
    let bare = ready.body.remaining() == Some(0);
    match respond.send_response(head, bare) {
        Ok(_) if bare => ready.complete(),
        Ok(stream) => send(stream, ready, &front.limits).await,
        Err(_gone) => {}
    }
}

fn length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Sends the body of an answer, as fast as the client takes it.
async fn send(mut stream: SendStream<Bytes>, mut ready: Ready, limits: &Limits) {
    let write_timeout = limits.net.write_timeout(ready.kept.known);
    let mut pace = Pace::new(&limits.net, ready.kept.known);
    let mut buffer = buffer_of(&ready);
    loop {
        // Who has no window for it gets nothing produced.
        let Some(room) = window(&mut stream, 1, write_timeout, &mut pace).await else { break };
        if room == 0 {
            return;
        }
        // What waits for clients is bounded for all together: a piece is made when there is room to keep it.
        while ready.body.at_hand() == 0 && ready.kept.room() == 0 {
            if pace.waited() {
                return give_up(&mut stream, &ready);
            }
            sleep_until(Instant::now() + net::RETRY_AFTER).await;
        }
        ready.kept.add(std::mem::take(&mut buffer));
        let piece = poll_fn(|cx| match ready.poll_piece(cx) {
            Poll::Ready(piece) => Poll::Ready(Ok(piece)),
            // A client that has gone is not waited for.
            Poll::Pending => stream.poll_reset(cx).map(Err),
        });
        let mut piece = match piece.await {
            Err(_reset) => return,
            Ok(Some(Ok(piece))) => piece,
            Ok(Some(Err(_))) => return stream.send_reset(Reason::INTERNAL_ERROR),
            Ok(None) => {
                if stream.send_data(Bytes::new(), true).is_ok() {
                    ready.complete();
                }
                return;
            }
        };
        ready.sent(&piece);
        ready.kept.add(piece.len());
        let last = ready.body.remaining() == Some(0);
        while !piece.is_empty() {
            let Some(room) = window(&mut stream, piece.len(), write_timeout, &mut pace).await else {
                return give_up(&mut stream, &ready);
            };
            let part = piece.split_to(room.min(piece.len()));
            let (taken, ends) = (part.len(), last && piece.is_empty());
            if taken == 0 || stream.send_data(part, ends).is_err() {
                return;
            }
            ready.kept.forget(taken);
            pace.took(taken);
            if ends {
                return ready.complete();
            }
        }
    }
    give_up(&mut stream, &ready);
}

/// What may stand in the buffers of a stream until its answer has left: a window is no sign that anybody reads. Strangers
/// have it out of what they share.
fn buffer_of(ready: &Ready) -> usize {
    let length = ready.body.remaining().and_then(|length| usize::try_from(length).ok()).unwrap_or(usize::MAX);
    if ready.kept.known { 0 } else { length.min(SEND_BUFFER_BYTES) }
}

/// How many bytes the client has a window for, at least one; zero when it is gone. `None` when it is too slow.
async fn window(
    stream: &mut SendStream<Bytes>,
    wanted: usize,
    write_timeout: Duration,
    pace: &mut Pace,
) -> Option<usize> {
    stream.reserve_capacity(wanted);
    let mut waits = false;
    let room = timeout(
        write_timeout,
        poll_fn(|cx| {
            loop {
                if stream.capacity() > 0 {
                    return Poll::Ready(stream.capacity());
                }
                match stream.poll_capacity(cx) {
                    // The window was taken back before it was used.
                    Poll::Ready(Some(Ok(0))) => {}
                    Poll::Ready(Some(Ok(room))) => return Poll::Ready(room),
                    Poll::Ready(Some(Err(_)) | None) => return Poll::Ready(0),
                    Poll::Pending => {
                        waits = true;
                        return Poll::Pending;
                    }
                }
            }
        }),
    );
    let room = room.await.ok()?;
    (!waits || !pace.waited()).then_some(room)
}

fn give_up(stream: &mut SendStream<Bytes>, ready: &Ready) {
    ready.kept.give_up();
    stream.send_reset(Reason::CANCEL);
}

/// Status and headers of an answer; what has no body is left without one.
fn head(ready: &mut Ready) -> Response<()> {
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
    let mut response = Response::new(());
    *response.status_mut() = ready.status;
    *response.headers_mut() = map;
    response
}
