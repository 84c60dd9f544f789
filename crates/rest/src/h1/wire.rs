//! The bytes of a connection: the stream, the read buffer, and how far the body of the request at hand was read.
//!
//! The loop of the connection and the body that its handler reads share it. Both live in the same task, so nobody ever
//! waits for the lock. A body that outlives its request finds that it is over, never the next request's bytes.

use std::{
    future::poll_fn,
    io::{self, IoSlice},
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use net::{Io, Timer};
use tokio::io::{AsyncReadExt as _, AsyncWrite as _};

use super::{
    chunked::{Decoder, Step},
    framing::{Framing, Length},
};
use crate::{BodyError, limits::DRAIN_MAX_BYTES};

/// What a connection reads at first: a head and a small body.
const READ_BYTES: usize = 8 * 1024;
/// What it reads at once of a long body.
const PIECE_BYTES: usize = 128 * 1024;
/// Bytes of further requests that are read while one is in work.
const AHEAD_BYTES: usize = 8 * 1024;
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// One connection.
pub(crate) struct Wire(Mutex<Inner>);

struct Inner {
    io: Box<dyn Io>,
    buffer: BytesMut,
    /// The other end has closed its side.
    ended: bool,
    /// The body cannot be read to its end: it is malformed, or did not come in time.
    given_up: bool,
    timer: Timer,
    body: Incoming,
    /// Counts requests; tells bodies apart.
    request: u64,
    /// Counts what arrived of bodies.
    progress: u64,
    /// What is left to write of `100 Continue`, which the client waits for.
    interim: &'static [u8],
    body_timeout: Duration,
    write_timeout: Duration,
}

enum Incoming {
    Length(u64),
    Chunked(Decoder),
}

/// What is unread of a body when its request was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leftover {
    Nothing,
    /// Little enough to read over.
    Little,
    Much,
}

impl Wire {
    pub(crate) fn new(io: Box<dyn Io>, buffer: BytesMut, body_timeout: Duration, write_timeout: Duration) -> Self {
        Self(Mutex::new(Inner {
            io,
            buffer,
            ended: false,
            given_up: false,
            timer: Timer::default(),
            body: Incoming::Length(0),
            request: 0,
            progress: 0,
            interim: b"",
            body_timeout,
            write_timeout,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long a client may take nothing of what is written from here on.
    pub(crate) fn set_write_timeout(&self, timeout: Duration) {
        self.lock().write_timeout = timeout;
    }

    /// See [`Io::keep_more`].
    pub(crate) fn keep_more(&self) {
        self.lock().io.keep_more();
    }

    /// Gives the read buffer to a reader of heads.
    pub(crate) fn with_buffer<T>(&self, read: impl FnOnce(&mut BytesMut) -> T) -> T {
        read(&mut self.lock().buffer)
    }

    /// Reads more of a head. Ready with zero at the end of the stream.
    ///
    /// # Errors
    /// The stream failed, or the time since [`Self::head_is_here`] is over.
    pub(crate) fn poll_head(&self, cx: &mut Context<'_>, timeout: Duration) -> Poll<io::Result<usize>> {
        let mut inner = self.lock();
        if let Poll::Ready(read) = inner.poll_fill(cx, READ_BYTES) {
            return Poll::Ready(read);
        }
        inner.timer.begin(timeout);
        inner.timer.poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }

    /// The head of a request is complete: its time ends, its body begins.
    pub(crate) fn head_is_here(self: &Arc<Self>, framing: &Framing) -> WireBody {
        let mut inner = self.lock();
        inner.timer.clear();
        inner.request += 1;
        inner.given_up = false;
        inner.interim = if framing.waits { CONTINUE } else { b"" };
        inner.body = match framing.length {
            Length::Exactly(length) => Incoming::Length(length),
            Length::Chunked => Incoming::Chunked(Decoder::default()),
        };
        WireBody { request: inner.request, wire: Arc::clone(self) }
    }

    /// Ready when the client is gone. Reads a little ahead to find out, once the body is complete.
    pub(crate) fn poll_gone(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut inner = self.lock();
        if !inner.body.is_complete() {
            return Poll::Pending;
        }
        while inner.buffer.len() < AHEAD_BYTES {
            match ready!(inner.poll_fill(cx, READ_BYTES)) {
                Ok(0) | Err(_) => return Poll::Ready(()),
                Ok(_) => {}
            }
        }
        Poll::Pending
    }

    /// Counts what arrived of bodies.
    pub(crate) fn progress(&self) -> u64 {
        self.lock().progress
    }

    /// What is unread of the body.
    pub(crate) fn leftover(&self) -> Leftover {
        let inner = self.lock();
        match &inner.body {
            body if body.is_complete() => Leftover::Nothing,
            // Nobody told the client to go on, so nobody knows whether it will.
            _ if inner.given_up || !inner.interim.is_empty() => Leftover::Much,
            Incoming::Length(left) if *left <= DRAIN_MAX_BYTES => Leftover::Little,
            _ => Leftover::Much,
        }
    }

    /// Reads over what is unread of the body. False when that failed.
    pub(crate) async fn drain(&self) -> bool {
        loop {
            let request = self.lock().request;
            match poll_fn(|cx| self.lock().poll_body(cx, request)).await {
                Ok(None) => return true,
                Ok(Some(_)) => {}
                Err(_) => return false,
            }
        }
    }

    /// Writes everything.
    pub(crate) async fn send(&self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let written = poll_fn(|cx| self.poll_write(cx, &[IoSlice::new(rest)])).await?;
            rest = rest.get(written..).unwrap_or_default();
        }
        poll_fn(|cx| self.poll_flush(cx)).await
    }

    /// Writes something of this, and says how much.
    ///
    /// # Errors
    /// The stream failed, or the client has taken nothing for too long.
    pub(crate) fn poll_write(&self, cx: &mut Context<'_>, slices: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let mut inner = self.lock();
        if inner.interim_is_begun() {
            let said = inner.poll_interim(cx);
            ready!(inner.bound(cx, said))?;
        }
        let written = Pin::new(&mut inner.io).poll_write_vectored(cx, slices);
        inner.bound(cx, written).map(|written| match written {
            Ok(0) => Err(io::ErrorKind::WriteZero.into()),
            written => written,
        })
    }

    /// Ready when what was written has left.
    ///
    /// # Errors
    /// As for [`Self::poll_write`].
    pub(crate) fn poll_flush(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut inner = self.lock();
        let flushed = Pin::new(&mut inner.io).poll_flush(cx);
        inner.bound(cx, flushed)
    }

    /// Says that nothing follows, and reads over what still comes for this long: were the socket closed with bytes
    /// unread, the kernel would reset the connection, and the client might never see the answer.
    pub(crate) async fn close(&self, linger: Option<Duration>) {
        let closed = poll_fn(|cx| {
            let mut inner = self.lock();
            let timeout = inner.write_timeout;
            if let Poll::Ready(closed) = Pin::new(&mut inner.io).poll_shutdown(cx) {
                inner.timer.clear();
                return Poll::Ready(closed.is_ok());
            }
            inner.timer.begin(timeout);
            inner.timer.poll(cx).map(|()| false)
        });
        let (true, Some(linger)) = (closed.await, linger) else { return };
        poll_fn(|cx| {
            let mut inner = self.lock();
            inner.timer.begin(linger);
            loop {
                inner.buffer.clear();
                match inner.poll_fill(cx, READ_BYTES) {
                    Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(()),
                    Poll::Ready(Ok(_)) => {}
                    Poll::Pending => return inner.timer.poll(cx),
                }
            }
        })
        .await;
    }
}

impl Inner {
    fn poll_fill(&mut self, cx: &mut Context<'_>, want: usize) -> Poll<io::Result<usize>> {
        if self.ended {
            return Poll::Ready(Ok(0));
        }
        if self.buffer.capacity() - self.buffer.len() < want / 2 {
            self.buffer.reserve(want);
        }
        let Self { io, buffer, .. } = self;
        let read = ready!(pin!(io.read_buf(buffer)).poll(cx));
        self.ended = matches!(read, Ok(0));
        Poll::Ready(read)
    }

    fn poll_body(&mut self, cx: &mut Context<'_>, request: u64) -> Poll<Result<Option<Bytes>, BodyError>> {
        if request != self.request || self.given_up {
            return Poll::Ready(Err(BodyError::Io("the request is over".into())));
        }
        loop {
            let want = match &mut self.body {
                Incoming::Length(0) => return Poll::Ready(Ok(None)),
                Incoming::Length(left) if !self.buffer.is_empty() => {
                    let length = usize::try_from(*left).unwrap_or(usize::MAX).min(self.buffer.len());
                    *left -= u64::try_from(length).unwrap_or(*left);
                    return self.arrived(|buffer| buffer.split_to(length).freeze());
                }
                Incoming::Length(left) => usize::try_from(*left).unwrap_or(PIECE_BYTES).clamp(READ_BYTES, PIECE_BYTES),
                Incoming::Chunked(decoder) => match decoder.step(&mut self.buffer) {
                    Ok(Step::Data(bytes)) => return self.arrived(|_| bytes),
                    Ok(Step::End) => return Poll::Ready(Ok(None)),
                    Ok(Step::More) => PIECE_BYTES,
                    Err(malformed) => {
                        self.given_up = true;
                        return Poll::Ready(Err(BodyError::Malformed(malformed.to_string())));
                    }
                },
            };
            if let Poll::Ready(Err(error)) = self.poll_interim(cx) {
                return Poll::Ready(Err(BodyError::Io(error.to_string())));
            }
            match self.poll_fill(cx, want) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(BodyError::CutOff)),
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(BodyError::Io(error.to_string()))),
                Poll::Pending => {
                    self.timer.begin(self.body_timeout);
                    ready!(self.timer.poll(cx));
                    self.timer.clear();
                    self.given_up = true;
                    return Poll::Ready(Err(BodyError::TimedOut(self.body_timeout)));
                }
            }
        }
    }

    fn arrived(&mut self, take: impl FnOnce(&mut BytesMut) -> Bytes) -> Poll<Result<Option<Bytes>, BodyError>> {
        self.timer.clear();
        self.progress += 1;
        // It did not wait, or has stopped waiting.
        if !self.interim_is_begun() {
            self.interim = b"";
        }
        Poll::Ready(Ok(Some(take(&mut self.buffer))))
    }

    /// True when a part of `100 Continue` has left: the rest must, before anything else does.
    const fn interim_is_begun(&self) -> bool {
        !self.interim.is_empty() && self.interim.len() < CONTINUE.len()
    }

    /// Tells a client that waits for it to go on.
    fn poll_interim(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.interim.is_empty() {
            let written = ready!(Pin::new(&mut self.io).poll_write(cx, self.interim))?;
            self.interim = self.interim.get(written..).unwrap_or_default();
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
        }
        Pin::new(&mut self.io).poll_flush(cx)
    }

    /// Gives up on a client that takes nothing.
    fn bound<T>(&mut self, cx: &mut Context<'_>, progress: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if progress.is_ready() {
            self.timer.clear();
            return progress;
        }
        self.timer.begin(self.write_timeout);
        self.timer.poll(cx).map(|()| Err(io::Error::new(io::ErrorKind::TimedOut, "the client takes nothing")))
    }
}

impl Incoming {
    fn is_complete(&self) -> bool {
        match self {
            Self::Length(left) => *left == 0,
            Self::Chunked(decoder) => decoder.is_at_end(),
        }
    }
}

/// The body of one request, still on the wire.
pub(crate) struct WireBody {
    wire: Arc<Wire>,
    request: u64,
}

impl WireBody {
    /// The next piece; `None` at the end.
    pub(crate) async fn next(&self) -> Result<Option<Bytes>, BodyError> {
        poll_fn(|cx| self.wire.lock().poll_body(cx, self.request)).await
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    #[tokio::test]
    async fn an_interim_answer_that_was_begun_is_sent_to_its_end() {
        const SECOND: Duration = Duration::from_secs(1);
        // The client takes ten bytes at a time, and did not wait with its body.
        let (mut client, server) = tokio::io::duplex(10);
        let wire = Arc::new(Wire::new(Box::new(server), BytesMut::new(), SECOND, SECOND));
        let length = Length::Exactly(2);
        let body = wire.head_is_here(&Framing { length, declared: true, waits: true, keep_alive: true });
        client.write_all(b"hi").await.unwrap();
        assert_eq!(body.next().await.unwrap().unwrap(), "hi");
        drop(body);
        let answer = async move { wire.send(b"the answer").await.unwrap() };
        let mut heard = Vec::new();
        let (_, read) = tokio::join!(answer, client.read_to_end(&mut heard));
        read.unwrap();
        assert_eq!(String::from_utf8(heard).unwrap(), "HTTP/1.1 100 Continue\r\n\r\nthe answer");
    }
}
