//! The body of a request: pieces in order, each awaited for a limited time, never more than declared or allowed.
//!
//! Invariant: a body that ended early or went on too long is an error, never a shorter or longer success. Nothing is
//! read before the first call, so a client that waits for `100 Continue` is told so only when its bytes are wanted.

use std::{fmt, time::Duration};

use bytes::{Bytes, BytesMut};
use http_body::Body as _;

use crate::{
    h1::WireBody,
    limits,
    structured::{Decoder, Malformed, Step},
};

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
    #[error("the body ended before its declared length")]
    CutOff,
    /// The client sent nothing for too long.
    #[error("the client sent nothing for {} seconds", .0.as_secs())]
    TimedOut(Duration),
    /// The connection failed.
    #[error("the body could not be read: {0}")]
    Io(String),
    /// The chunks, or the frames of a structured message, are not what they should be.
    #[error("{0}")]
    Malformed(String),
    /// A checksum of a structured message is another one.
    #[error("a checksum of the structured message does not match")]
    Crc64 {
        /// What the message says.
        declared: u64,
        /// What its bytes have.
        found: u64,
    },
}

/// The streamed body of a request.
pub struct Body {
    source: Source,
    declared: Option<u64>,
    received: u64,
    message: Option<Box<Decoder>>,
}

enum Source {
    /// From a connection with HTTP/1.1.
    Wire(WireBody),
    /// From a stream of a connection with HTTP/2.
    Stream(hyper::body::Incoming, Duration),
    Held(Option<Bytes>),
}

impl Body {
    /// A body on a connection with HTTP/1.1; without a length it comes in chunks.
    pub(crate) const fn wire(body: WireBody, declared: Option<u64>) -> Self {
        Self { source: Source::Wire(body), declared, received: 0, message: None }
    }

    /// A body on a connection with HTTP/2.
    pub(crate) fn stream(incoming: hyper::body::Incoming, timeout: Duration) -> Self {
        let declared = incoming.size_hint().exact();
        Self { source: Source::Stream(incoming, timeout), declared, received: 0, message: None }
    }

    /// A body that is already here: the parts of a batch, and tests.
    #[must_use]
    pub fn from_bytes(bytes: Bytes) -> Self {
        let declared = u64::try_from(bytes.len()).ok();
        Self { source: Source::Held(Some(bytes)), declared, received: 0, message: None }
    }

    /// The length that the client declared; `None` for a chunked body. Of a structured message, that of its content.
    #[must_use]
    pub fn declared_length(&self) -> Option<u64> {
        match &self.message {
            Some(message) => Some(message.content_length()),
            None => self.declared,
        }
    }

    /// The bytes read so far, with the frames of a structured message.
    #[must_use]
    pub const fn received(&self) -> u64 {
        self.received
    }

    /// From here on the body is a structured message with this much content, and [`Self::chunk`] gives the content,
    /// checked: the last piece of a segment comes only after its checksum was right.
    pub fn decode(&mut self, content_length: u64) {
        self.message = Some(Box::new(Decoder::new(self.declared, content_length)));
    }

    /// The next piece; `None` when the body is complete.
    ///
    /// # Errors
    /// The body is too long, was cut off, or nothing came for too long.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, BodyError> {
        if self.message.is_none() {
            return self.raw_chunk().await;
        }
        loop {
            if let Some(piece) = self.content()? {
                return Ok(piece);
            }
            let Some(bytes) = self.raw_chunk().await? else {
                return Err(BodyError::Malformed("the structured message ended early".into()));
            };
            if let Some(message) = &mut self.message {
                message.feed(bytes);
            }
        }
    }

    /// Content that has arrived; `Some(None)` at the end of the message.
    fn content(&mut self) -> Result<Option<Option<Bytes>>, BodyError> {
        let Some(message) = &mut self.message else { return Ok(Some(None)) };
        match message.step() {
            Ok(Step::Content(bytes)) => Ok(Some(Some(bytes))),
            Ok(Step::More) => Ok(None),
            Ok(Step::End) => Ok(Some(None)),
            Err(Malformed::Crc64 { declared, found }) => Err(BodyError::Crc64 { declared, found }),
            Err(malformed) => Err(BodyError::Malformed(malformed.to_string())),
        }
    }

    async fn raw_chunk(&mut self) -> Result<Option<Bytes>, BodyError> {
        let bound = self.declared.unwrap_or(limits::BODY_MAX_BYTES).min(limits::BODY_MAX_BYTES);
        loop {
            let Some(bytes) = self.next().await? else {
                let complete = self.declared.is_none_or(|declared| declared == self.received);
                return if complete { Ok(None) } else { Err(BodyError::CutOff) };
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
        let too_long = || BodyError::TooLong { limit: bound };
        if self.declared_length().is_some_and(|declared| declared > bound) {
            return Err(too_long());
        }
        let Some(first) = self.chunk().await? else { return Ok(Bytes::new()) };
        if first.len() > limit {
            return Err(too_long());
        }
        let Some(second) = self.chunk().await? else { return Ok(first) };
        let mut all = BytesMut::from(first);
        let mut next = Some(second);
        while let Some(bytes) = next {
            if all.len() + bytes.len() > limit {
                return Err(too_long());
            }
            all.extend_from_slice(&bytes);
            next = self.chunk().await?;
        }
        Ok(all.freeze())
    }

    async fn next(&mut self) -> Result<Option<Bytes>, BodyError> {
        let (incoming, timeout) = match &mut self.source {
            Source::Held(bytes) => return Ok(bytes.take()),
            Source::Wire(body) => return body.next().await,
            Source::Stream(incoming, timeout) => (incoming, *timeout),
        };
        loop {
            let frame = std::future::poll_fn(|cx| std::pin::Pin::new(&mut *incoming).poll_frame(cx));
            let frame = tokio::time::timeout(timeout, frame).await;
            match frame.map_err(|_| BodyError::TimedOut(timeout))? {
                None => return Ok(None),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) => return Ok(Some(bytes)),
                    Err(_trailers) => {}
                },
                Some(Err(error)) if error.is_incomplete_message() || error.is_canceled() => {
                    return Err(BodyError::CutOff);
                }
                Some(Err(error)) => return Err(BodyError::Io(error.to_string())),
            }
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").field("declared", &self.declared).field("received", &self.received).finish()
    }
}
