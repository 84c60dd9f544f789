//! The body of a request: pieces in order, each awaited for a limited time, never more than declared or allowed.
//!
//! Invariant: a body that ended early or went on too long is an error, never a shorter or longer success. Nothing is
//! read before the first call, so a client that waits for `100 Continue` is told so only when its bytes are wanted.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use http_body::Body as _;

use crate::limits;

/// Why a body could not be read to its end.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// More than declared, or more than the limit.
    #[error("the body is longer than {limit} bytes")]
    TooLong {
        /// The bound that it passed.
        limit: u64,
    },
    /// The client went away before it had sent what it declared.
    #[error("the body ended after {received} bytes")]
    CutOff {
        /// The bytes that came.
        received: u64,
    },
    /// The client sent nothing for too long.
    #[error("the client sent nothing for {} seconds", .0.as_secs())]
    TimedOut(Duration),
    /// The connection failed, or the framing is broken.
    #[error("the body could not be read: {0}")]
    Io(String),
}

/// The streamed body of a request.
pub struct Body {
    source: Source,
    declared: Option<u64>,
    received: u64,
    timeout: Duration,
}

enum Source {
    /// From the connection, which is told when it is left unread.
    Wire(hyper::body::Incoming, Arc<AtomicBool>),
    Held(Option<Bytes>),
}

impl Body {
    pub(crate) fn new(incoming: hyper::body::Incoming, timeout: Duration, left_unread: Arc<AtomicBool>) -> Self {
        let declared = incoming.size_hint().exact();
        Self { source: Source::Wire(incoming, left_unread), declared, received: 0, timeout }
    }

    /// A body that is already here: the parts of a batch, and tests.
    #[must_use]
    pub fn from_bytes(bytes: Bytes) -> Self {
        let declared = u64::try_from(bytes.len()).ok();
        Self { source: Source::Held(Some(bytes)), declared, received: 0, timeout: Duration::MAX }
    }

    /// The length that the client declared; `None` for a chunked body.
    #[must_use]
    pub const fn declared_length(&self) -> Option<u64> {
        self.declared
    }

    /// The bytes read so far.
    #[must_use]
    pub const fn received(&self) -> u64 {
        self.received
    }

    /// The next piece; `None` when the body is complete.
    ///
    /// # Errors
    /// The body is too long, was cut off, or nothing came for too long.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, BodyError> {
        let bound = self.declared.unwrap_or(limits::BODY_MAX_BYTES).min(limits::BODY_MAX_BYTES);
        loop {
            let Some(bytes) = self.next().await? else {
                let complete = self.declared.is_none_or(|declared| declared == self.received);
                return if complete { Ok(None) } else { Err(BodyError::CutOff { received: self.received }) };
            };
            self.received = self.received.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
            if self.received > bound {
                return Err(BodyError::TooLong { limit: bound });
            }
            if !bytes.is_empty() {
                return Ok(Some(bytes));
            }
        }
    }

    /// The whole body, for the small documents: at most `limit` bytes.
    ///
    /// # Errors
    /// As for [`Self::chunk`]; a body that declares more than the limit is not read at all.
    pub async fn collect(&mut self, limit: usize) -> Result<Bytes, BodyError> {
        let bound = u64::try_from(limit).unwrap_or(u64::MAX);
        if self.declared.is_some_and(|declared| declared > bound) {
            return Err(BodyError::TooLong { limit: bound });
        }
        let Some(first) = self.chunk().await? else { return Ok(Bytes::new()) };
        let mut all = BytesMut::from(first);
        while let Some(bytes) = self.chunk().await? {
            if self.received > bound {
                return Err(BodyError::TooLong { limit: bound });
            }
            all.extend_from_slice(&bytes);
        }
        if self.received > bound {
            return Err(BodyError::TooLong { limit: bound });
        }
        Ok(all.freeze())
    }

    async fn next(&mut self) -> Result<Option<Bytes>, BodyError> {
        let incoming = match &mut self.source {
            Source::Held(bytes) => return Ok(bytes.take()),
            Source::Wire(incoming, _) => incoming,
        };
        loop {
            let frame = std::future::poll_fn(|cx| std::pin::Pin::new(&mut *incoming).poll_frame(cx));
            let frame = tokio::time::timeout(self.timeout, frame).await;
            match frame.map_err(|_| BodyError::TimedOut(self.timeout))? {
                None => return Ok(None),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) => return Ok(Some(bytes)),
                    Err(_trailers) => {}
                },
                Some(Err(error)) if error.is_incomplete_message() || error.is_canceled() => {
                    return Err(BodyError::CutOff { received: self.received });
                }
                Some(Err(error)) => return Err(BodyError::Io(error.to_string())),
            }
        }
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        if let Source::Wire(incoming, left_unread) = &self.source
            && !incoming.is_end_stream()
        {
            left_unread.store(true, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").field("declared", &self.declared).field("received", &self.received).finish()
    }
}
