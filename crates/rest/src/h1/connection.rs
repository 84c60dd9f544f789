//! The life of a connection with HTTP/1.1: read a head, answer it, write the answer, again.
//!
//! Invariants: a request is answered before the next is read; after anything doubtful the connection is closed, so no
//! byte is ever taken for something that its sender did not mean.

use std::{
    future::poll_fn,
    io,
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use bytes::BytesMut;
use http::Method;
use net::Io;

use super::{
    Wire,
    framing::{self, Framing, Length},
    head::{self, Head},
    outgoing::{Broken, Outgoing},
    wire::Leftover,
    write::{self, DateLine},
};
use crate::{
    Body, Headers, ServiceError, Shutdown,
    answer::{Front, Incoming, Origin, Ready, answer, refuse},
    limits::{HEAD_MAX_BYTES, Limits, SHORT_HEAD_BYTES},
};

/// An answer this long does not leave at once.
const LARGE_BYTES: u64 = 256 * 1024;
/// How long what still comes is thrown away after an answer that was the last.
const LINGER: Duration = Duration::from_secs(5);

/// A connection and what it reuses from request to request.
pub(crate) struct Connection {
    front: Arc<Front>,
    origin: Origin,
    limits: Limits,
    shutdown: Shutdown,
    wire: Arc<Wire>,
    out: Vec<u8>,
    date: DateLine,
    /// The system was told to keep more of what is sent.
    keeps_more: bool,
}

/// What follows an answer.
enum Next {
    Request,
    /// Nothing more is said; what still comes may be of interest to nobody, but is read for a while.
    Close {
        linger: bool,
    },
}

impl Connection {
    pub(crate) fn new(
        front: Arc<Front>,
        origin: Origin,
        shutdown: Shutdown,
        io: Box<dyn Io>,
        buffer: BytesMut,
    ) -> Self {
        let limits = front.limits;
        let wire = Arc::new(Wire::new(io, buffer, limits.body_timeout, limits.net.write_timeout));
        let (out, date) = (Vec::with_capacity(1024), DateLine::default());
        Self { front, origin, limits, shutdown, wire, out, date, keeps_more: false }
    }

    /// Serves requests until one side has had enough.
    ///
    /// # Errors
    /// The connection failed, or the client was too slow.
    pub(crate) async fn run(mut self) -> io::Result<()> {
        let mut shutdown = self.shutdown.clone();
        let mut stop = pin!(shutdown.requested());
        loop {
            let next = match self.read_head(stop.as_mut()).await? {
                None => Next::Close { linger: false },
                Some(Ok(head)) => self.serve(head).await?,
                Some(Err(error)) => {
                    let ready = refuse(&self.front, &self.origin, &Method::GET, String::new(), &Headers::new(), error);
                    self.write(ready, true, Some(false)).await?;
                    Next::Close { linger: true }
                }
            };
            if let Next::Close { linger } = next {
                self.wire.close(linger.then_some(LINGER)).await;
                return Ok(());
            }
        }
    }

    /// The next head; `None` when there is none.
    async fn read_head(
        &self,
        mut stop: Pin<&mut (impl Future<Output = ()> + Send)>,
    ) -> io::Result<Option<Result<Head, ServiceError>>> {
        // What was read is parsed when it has doubled, or when its end has come: a client that sends byte by byte
        // costs little, and one that sends noise is told so at once.
        let (mut parsed_at, mut searched) = (0, 0);
        let mut stopped = false;
        let mut room = None;
        loop {
            let parsed = self.wire.with_buffer(|buffer| {
                let length = buffer.len();
                let tail = buffer.get(searched..).unwrap_or_default();
                let ended = tail.windows(4).any(|window| window == b"\r\n\r\n");
                searched = length.saturating_sub(3);
                if length == 0 || !(ended || length >= parsed_at * 2) {
                    return Ok(None);
                }
                parsed_at = length;
                head::parse(buffer)
            });
            match parsed {
                Ok(None) => {}
                Ok(Some(head)) => return Ok(Some(Ok(head))),
                Err(error) => return Ok(Some(Err(error))),
            }
            if room.is_none() && searched > SHORT_HEAD_BYTES {
                let most = u32::try_from(HEAD_MAX_BYTES).unwrap_or(u32::MAX);
                match self.front.commons.heads.try_acquire_many(most) {
                    Ok(permit) => room = Some(permit),
                    Err(_) => return Ok(Some(Err(ServiceError::overloaded()))),
                }
            }
            let idle = parsed_at == 0;
            if stopped && idle {
                return Ok(None);
            }
            let read = poll_fn(|cx| {
                if !stopped && stop.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(None);
                }
                self.wire.poll_head(cx, self.limits.head_timeout).map(Some)
            });
            match read.await {
                // A request whose head has begun to arrive is still answered.
                None => stopped = true,
                Some(Ok(0)) => return Ok(None),
                Some(Ok(_)) => {}
                Some(Err(error)) if error.kind() == io::ErrorKind::TimedOut && idle => return Ok(None),
                Some(Err(error)) => return Err(error),
            }
        }
    }

    async fn serve(&mut self, head: Head) -> io::Result<Next> {
        let Head { method, target, modern, headers } = head;
        let framing = match framing::of(&method, modern, &headers) {
            Ok(framing) => framing,
            Err(error) => {
                let ready = refuse(&self.front, &self.origin, &method, target, &headers, error);
                self.write(ready, modern, Some(false)).await?;
                return Ok(Next::Close { linger: true });
            }
        };
        let Some(ready) = self.answer(method, target, headers, &framing).await else {
            return Ok(Next::Close { linger: false });
        };
        let leftover = self.wire.leftover();
        let keep = framing.keep_alive && leftover != Leftover::Much && !self.shutdown.is_requested();
        let said = match (keep, modern) {
            (false, _) => Some(false),
            (true, true) => None,
            (true, false) => Some(true),
        };
        let keep = self.write(ready, modern, said).await? && keep;
        if !keep {
            return Ok(Next::Close { linger: leftover != Leftover::Nothing });
        }
        let drained =
            leftover == Leftover::Nothing || tokio::time::timeout(LINGER, self.wire.drain()).await.unwrap_or_default();
        Ok(if drained { Next::Request } else { Next::Close { linger: false } })
    }

    /// The answer; `None` when the client went away before it.
    async fn answer(&self, method: Method, target: String, headers: Headers, framing: &Framing) -> Option<Ready> {
        let wire = self.wire.head_is_here(framing);
        let declared = match framing.length {
            Length::Exactly(length) => Some(length),
            Length::Chunked => None,
        };
        let incoming = Incoming { method, target, headers, body: Body::wire(wire, declared) };
        let mut answering = pin!(answer(&self.front, &self.origin, incoming, || self.wire.progress()));
        poll_fn(|cx| match answering.as_mut().poll(cx) {
            Poll::Ready(ready) => Poll::Ready(Some(ready)),
            Poll::Pending => self.wire.poll_gone(cx).map(|()| None),
        })
        .await
    }

    /// Writes an answer. False when the connection has to end with it.
    async fn write(&mut self, mut ready: Ready, modern: bool, keep_alive: Option<bool>) -> io::Result<bool> {
        let framing = write::Framing::of(&ready, modern);
        let keep_alive = if framing == write::Framing::UntilClose { Some(false) } else { keep_alive };
        write::head(&mut self.out, &ready, framing, keep_alive, &mut self.date);
        if framing == write::Framing::Bare {
            self.wire.send(&self.out).await?;
            ready.complete();
            return Ok(true);
        }
        let known = ready.kept.known;
        self.wire.set_write_timeout(self.limits.net.write_timeout(known));
        if known && !self.keeps_more && ready.body.remaining().is_none_or(|bytes| bytes > LARGE_BYTES) {
            self.keeps_more = true;
            self.wire.keep_more();
        }
        let mut outgoing = Outgoing::new(&self.out, framing == write::Framing::Chunked, &self.limits.net, known);
        let sent = poll_fn(|cx| outgoing.poll(cx, &self.wire, &mut ready)).await;
        let untouched = outgoing.is_untouched();
        drop(outgoing);
        match sent {
            Ok(()) => ready.complete(),
            // Nothing was said yet, so the truth can be.
            Err(Broken::Content(_)) if untouched => {
                return Box::pin(self.write(ready.give_up(), modern, keep_alive)).await;
            }
            Err(Broken::Content(error)) => return Err(io::Error::other(error)),
            Err(Broken::Connection(error)) => {
                if error.kind() == io::ErrorKind::TimedOut {
                    ready.kept.give_up();
                }
                return Err(error);
            }
        }
        Ok(framing != write::Framing::UntilClose)
    }
}
