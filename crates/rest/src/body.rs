//! The body of a request: pieces in order, each awaited for a limited time, never more than declared or allowed.
//!
//! Invariant: a body that ended early or went on too long is an error, never a shorter or longer success. Nothing is
//! read before the first call, so a client that waits for `100 Continue` is told so only when its bytes are wanted.

use std::{fmt, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use net::{Documents, Room};

use crate::{
    Known,
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
    /// Too many bodies are collected already.
    #[error("there is no room for a body of up to {0} bytes")]
    NoRoom(usize),
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
    documents: Option<Arc<Documents>>,
    /// Kept until the request is over: what was read out of the body lives as long.
    room: Option<Room>,
}

enum Source {
    /// From a connection with HTTP/1.1.
    Wire(WireBody),
    /// From a stream of a connection with HTTP/2.
    Stream(h2::RecvStream, Duration),
    Held(Option<Bytes>),
}

impl Body {
    /// A body on a connection with HTTP/1.1; without a length it comes in chunks.
    pub(crate) const fn wire(body: WireBody, declared: Option<u64>) -> Self {
        Self::of(Source::Wire(body), declared)
    }

    /// A body on a connection with HTTP/2.
    pub(crate) const fn stream(incoming: h2::RecvStream, declared: Option<u64>, timeout: Duration) -> Self {
        Self::of(Source::Stream(incoming, timeout), declared)
    }

    /// A body that is already here: the parts of a batch, and tests.
    #[must_use]
    pub fn from_bytes(bytes: Bytes) -> Self {
        let declared = u64::try_from(bytes.len()).ok();
        Self::of(Source::Held(Some(bytes)), declared)
    }

    const fn of(source: Source, declared: Option<u64>) -> Self {
        Self { source, declared, received: 0, message: None, documents: None, room: None }
    }

    /// Says where there is room for the body, should it be collected.
    pub(crate) fn set_documents(&mut self, documents: Arc<Documents>) {
        self.documents = Some(documents);
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

    /// The whole body, for documents: at most `limit` bytes, and only for somebody who is [`Known`].
    ///
    /// # Errors
    /// As for [`Self::chunk`]; a body that declares more than the limit is not read at all. There is no room for it, or it
    /// comes too slowly.
    pub async fn collect(&mut self, known: Known, limit: usize) -> Result<Bytes, BodyError> {
        let bound = u64::try_from(limit).unwrap_or(u64::MAX);
        let declared = self.declared_length();
        if declared.is_some_and(|declared| declared > bound) {
            return Err(BodyError::TooLong { limit: bound });
        }
        let declared = declared.and_then(|declared| usize::try_from(declared).ok());
        let expected = declared.unwrap_or(net::SMALL_DOCUMENT_BYTES).min(limit);
        self.reserve(known, expected).await?;
        let time = document_time(declared.unwrap_or(limit));
        let gathered = tokio::time::timeout(time, self.gather(known, limit, expected)).await;
        gathered.unwrap_or(Err(BodyError::TimedOut(time)))
    }

    async fn gather(&mut self, known: Known, limit: usize, mut room: usize) -> Result<Bytes, BodyError> {
        let too_long = || BodyError::TooLong { limit: u64::try_from(limit).unwrap_or(u64::MAX) };
        let Some(first) = self.chunk().await? else { return Ok(Bytes::new()) };
        if first.len() > limit {
            return Err(too_long());
        }
        let Some(second) = self.chunk().await? else { return Ok(first) };
        let mut all = BytesMut::from(first);
        let mut next = Some(second);
        while let Some(bytes) = next {
            let length = all.len() + bytes.len();
            if length > limit {
                return Err(too_long());
            }
            if length > room {
                // Nobody said how long it is, and it is not short.
                room = limit;
                self.reserve(known, room).await?;
            }
            all.extend_from_slice(&bytes);
            next = self.chunk().await?;
        }
        Ok(all.freeze())
    }

    async fn reserve(&mut self, known: Known, bytes: usize) -> Result<(), BodyError> {
        let Some(documents) = &self.documents else { return Ok(()) };
        self.room = None;
        self.room = documents.reserve(known.account(), bytes).await;
        if self.room.is_some() { Ok(()) } else { Err(BodyError::NoRoom(bytes)) }
    }

    async fn next(&mut self) -> Result<Option<Bytes>, BodyError> {
        let (incoming, timeout) = match &mut self.source {
            Source::Held(bytes) => return Ok(bytes.take()),
            Source::Wire(body) => return body.next().await,
            Source::Stream(incoming, timeout) => (incoming, *timeout),
        };
        let data = tokio::time::timeout(timeout, std::future::poll_fn(|cx| incoming.poll_data(cx))).await;
        match data.map_err(|_| BodyError::TimedOut(timeout))? {
            None => Ok(None),
            Some(Ok(bytes)) => {
                // The client may send as much again.
                let _stream_is_gone = incoming.flow_control().release_capacity(bytes.len());
                Ok(Some(bytes))
            }
            Some(Err(error)) if error.is_io() || error.is_reset() || error.is_go_away() => Err(BodyError::CutOff),
            Some(Err(error)) => Err(BodyError::Io(error.to_string())),
        }
    }
}

/// How long a document may take to arrive, all in all: it holds its room meanwhile.
fn document_time(bytes: usize) -> Duration {
    let seconds = u64::try_from(bytes / net::SMALL_DOCUMENT_BYTES).unwrap_or(u64::MAX);
    limits::DOCUMENT_TIME.saturating_add(Duration::from_secs(seconds))
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").field("declared", &self.declared).field("received", &self.received).finish()
    }
}
