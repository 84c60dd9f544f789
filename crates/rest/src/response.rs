//! The answer to a request: status, headers, and a body that is empty, at hand, or produced while it is sent.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Bytes, BytesMut};
use http::{HeaderValue, StatusCode, header};

use crate::{ErrorFormat, Headers, ServiceError, structured::Encoder};

/// A piece of an answer that is read while it is sent.
const PIECE_BYTES: usize = 64 * 1024;

/// An answer under construction.
#[derive(Debug)]
pub struct Response {
    pub(crate) status: StatusCode,
    pub(crate) headers: Headers,
    pub(crate) body: ResponseBody,
    /// Of a failure, when it is not the service's usual one.
    pub(crate) error_format: Option<ErrorFormat>,
}

impl Response {
    /// An answer without a body.
    #[must_use]
    pub fn new(status: StatusCode) -> Self {
        Self { status, headers: Headers::with_room(), body: ResponseBody(Kind::Empty), error_format: None }
    }

    /// Sets a header whose value is known to be one. The case of the name is kept.
    #[must_use]
    pub fn header(mut self, name: impl AsRef<str>, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Sets a header to a text. A text that no header can carry leaves it out: stored values were checked when they came.
    #[must_use]
    pub fn text_header(mut self, name: impl AsRef<str>, value: &str) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Sets a header to a number.
    #[must_use]
    pub fn number_header(mut self, name: impl AsRef<str>, value: u64) -> Self {
        self.headers.insert(name, value.to_string());
        self
    }

    /// Says how the failure that this answer is looks, when that is not the service's usual way.
    #[must_use]
    pub const fn with_error_format(mut self, format: ErrorFormat) -> Self {
        self.error_format = Some(format);
        self
    }

    /// Sets the body and its type.
    #[must_use]
    pub fn body(mut self, content_type: HeaderValue, body: ResponseBody) -> Self {
        self.headers.insert(header::CONTENT_TYPE, content_type);
        self.body = body;
        self
    }

    /// Sets the body; its type is a header that was set before.
    #[must_use]
    pub fn content(mut self, body: ResponseBody) -> Self {
        self.body = body;
        self
    }

    /// Sets the body to an XML document.
    #[must_use]
    pub fn xml(self, document: Bytes) -> Self {
        self.body(HeaderValue::from_static("application/xml"), ResponseBody::bytes(document))
    }

    /// The headers, for what the builder does not do.
    pub const fn headers_mut(&mut self) -> &mut Headers {
        &mut self.headers
    }

    /// The headers so far; those of every answer (`Date`, `x-ms-request-id`) come later.
    #[must_use]
    pub const fn headers(&self) -> &Headers {
        &self.headers
    }

    /// What the log and the metrics count it as.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// The failure that this answer is, if it is one.
    #[must_use]
    pub const fn error(&self) -> Option<&ServiceError> {
        match &self.body.0 {
            Kind::Error(error) => Some(error),
            _ => None,
        }
    }
}

/// A failure as an answer. Its body is written when the id and the time are added, so nobody can forget them.
impl From<ServiceError> for Response {
    fn from(error: ServiceError) -> Self {
        let headers = error.headers.iter().map(|(name, value)| (name, value)).collect();
        Self { status: error.status, headers, body: ResponseBody(Kind::Error(Box::new(error))), error_format: None }
    }
}

/// Why a produced body ended early. The connection is closed, so that the client does not take a part for the whole.
#[derive(Debug, thiserror::Error)]
#[error("the body could not be produced: {0}")]
pub struct StreamError(pub String);

impl From<store::StoreError> for StreamError {
    fn from(error: store::StoreError) -> Self {
        Self(error.to_string())
    }
}

/// The body of an answer.
pub struct ResponseBody(pub(crate) Kind);

pub(crate) enum Kind {
    Empty,
    Bytes(Bytes),
    Stream {
        producer: Pin<Box<dyn Produce>>,
        remaining: Option<u64>,
    },
    Error(Box<ServiceError>),
    /// It was to be produced and could not be.
    Broken,
}

impl ResponseBody {
    /// No body.
    #[must_use]
    pub const fn empty() -> Self {
        Self(Kind::Empty)
    }

    /// A body that is at hand.
    #[must_use]
    pub const fn bytes(bytes: Bytes) -> Self {
        Self(Kind::Bytes(bytes))
    }

    /// A body of exactly `length` bytes that `step` produces: it is given the state, and answers a piece and the next
    /// state, or `None` at the end. It is asked for the next piece only when the client has taken the last one.
    /// Ending early, producing more, and an error all close the connection.
    pub fn stream<S, F, Fut>(length: u64, state: S, step: F) -> Self
    where
        S: Send + 'static,
        F: FnMut(S) -> Fut + Send + 'static,
        Fut: Future<Output = Result<Option<(Bytes, S)>, StreamError>> + Send + 'static,
    {
        Self(Kind::Stream { producer: Unfold::start(state, step), remaining: Some(length) })
    }

    /// `bytes` bytes from `start` on, as `read` reads them: it is given a reader, a place and how much is wanted, and gives
    /// the reader back with what it has read, which is nothing at an end that comes too early.
    pub fn pieces<R, F, Fut>(reader: R, start: u64, bytes: u64, mut read: F) -> Self
    where
        R: Send + 'static,
        F: FnMut(R, u64, usize) -> Fut + Send + 'static,
        Fut: Future<Output = Result<(R, Bytes), StreamError>> + Send + 'static,
    {
        Self::stream(bytes, (reader, start, bytes), move |(reader, place, left)| {
            let wanted = usize::try_from(left).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
            let piece = (left > 0).then(|| read(reader, place, wanted));
            async move {
                let Some(piece) = piece else { return Ok(None) };
                let (reader, piece) = piece.await?;
                let count = u64::try_from(piece.len()).unwrap_or(u64::MAX);
                Ok((count > 0).then_some((piece, (reader, place + count, left - count))))
            }
        })
    }

    /// The same without a known length: sent in chunks.
    pub fn unsized_stream<S, F, Fut>(state: S, step: F) -> Self
    where
        S: Send + 'static,
        F: FnMut(S) -> Fut + Send + 'static,
        Fut: Future<Output = Result<Option<(Bytes, S)>, StreamError>> + Send + 'static,
    {
        Self(Kind::Stream { producer: Unfold::start(state, step), remaining: None })
    }

    /// The same content as a structured message, and the message's length. Content without a known length stays as it is.
    #[must_use]
    pub fn structured(self) -> Self {
        let Some(content_length) = self.remaining() else { return self };
        let mut encoder = Encoder::new(content_length);
        let length = encoder.message_length();
        if let Kind::Bytes(bytes) = self.0 {
            encoder.push(bytes);
            let mut message = BytesMut::with_capacity(usize::try_from(length).unwrap_or_default());
            while let Some(piece) = encoder.piece() {
                message.extend_from_slice(&piece);
            }
            return Self::bytes(message.freeze());
        }
        Self(Kind::Stream { producer: Box::pin(Message { content: self, encoder }), remaining: Some(length) })
    }

    /// Bytes that are in memory already.
    pub(crate) const fn at_hand(&self) -> usize {
        match &self.0 {
            Kind::Bytes(bytes) => bytes.len(),
            _ => 0,
        }
    }

    /// Bytes still to come, when known.
    pub(crate) fn remaining(&self) -> Option<u64> {
        match &self.0 {
            Kind::Empty | Kind::Error(_) | Kind::Broken => Some(0),
            Kind::Bytes(bytes) => u64::try_from(bytes.len()).ok(),
            Kind::Stream { remaining, .. } => *remaining,
        }
    }

    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, StreamError>>> {
        let (producer, remaining) = match &mut self.0 {
            Kind::Empty | Kind::Error(_) | Kind::Broken => return Poll::Ready(None),
            Kind::Bytes(bytes) => {
                let bytes = std::mem::take(bytes);
                self.0 = Kind::Empty;
                return Poll::Ready((!bytes.is_empty()).then_some(Ok(bytes)));
            }
            Kind::Stream { remaining: Some(0), .. } => return Poll::Ready(None),
            Kind::Stream { producer, remaining } => (producer, remaining),
        };
        let next = ready!(producer.as_mut().poll_piece(cx));
        let next = match (next, remaining) {
            (Ok(None), None | Some(0)) => None,
            (Ok(None), Some(missing)) => Some(Err(StreamError(format!("{missing} bytes are missing")))),
            (Err(error), _) => Some(Err(error)),
            (Ok(Some(piece)), None) => Some(Ok(piece)),
            (Ok(Some(piece)), Some(remaining)) => {
                match u64::try_from(piece.len()).ok().and_then(|length| remaining.checked_sub(length)) {
                    Some(rest) => {
                        *remaining = rest;
                        Some(Ok(piece))
                    }
                    None => Some(Err(StreamError("more bytes than declared".into()))),
                }
            }
        };
        match &next {
            Some(Ok(_)) => {}
            Some(Err(_)) => self.0 = Kind::Broken,
            None => self.0 = Kind::Empty,
        }
        Poll::Ready(next)
    }
}

impl fmt::Debug for ResponseBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Empty => f.write_str("Empty"),
            Kind::Bytes(bytes) => write!(f, "Bytes({})", bytes.len()),
            Kind::Stream { remaining, .. } => write!(f, "Stream({remaining:?})"),
            Kind::Error(error) => write!(f, "Error({error})"),
            Kind::Broken => f.write_str("Broken"),
        }
    }
}

/// Something that makes pieces.
pub(crate) trait Produce: Send {
    fn poll_piece(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamError>>;
}

/// Content that becomes a structured message on its way.
struct Message {
    content: ResponseBody,
    encoder: Encoder,
}

impl Produce for Message {
    fn poll_piece(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamError>> {
        let Self { content, encoder } = self.get_mut();
        loop {
            if let Some(piece) = encoder.piece() {
                return Poll::Ready(Ok(Some(piece)));
            }
            match ready!(content.poll_next(cx)) {
                Some(Ok(piece)) => encoder.push(piece),
                Some(Err(error)) => return Poll::Ready(Err(error)),
                None => return Poll::Ready(Ok(None)),
            }
        }
    }
}

/// A step function and the step that is under way. The future of each step takes the place of the one before, so a
/// body costs two allocations however long it is.
struct Unfold<F, Fut> {
    step: F,
    running: Pin<Box<Option<Fut>>>,
}

impl<S, F, Fut> Unfold<F, Fut>
where
    S: Send + 'static,
    F: FnMut(S) -> Fut + Send + 'static,
    Fut: Future<Output = Result<Option<(Bytes, S)>, StreamError>> + Send + 'static,
{
    fn start(state: S, mut step: F) -> Pin<Box<dyn Produce>> {
        let first = step(state);
        Box::pin(Produced { unfold: Unfold { step, running: Box::pin(Some(first)) }, state: std::marker::PhantomData })
    }
}

struct Produced<S, F, Fut> {
    unfold: Unfold<F, Fut>,
    state: std::marker::PhantomData<fn() -> S>,
}

/// Nothing in it is pinned but what is behind a box.
impl<S, F, Fut> Unpin for Produced<S, F, Fut> {}

impl<S, F, Fut> Produce for Produced<S, F, Fut>
where
    S: Send + 'static,
    F: FnMut(S) -> Fut + Send + 'static,
    Fut: Future<Output = Result<Option<(Bytes, S)>, StreamError>> + Send + 'static,
{
    fn poll_piece(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamError>> {
        let Unfold { step, running } = &mut self.get_mut().unfold;
        let Some(future) = running.as_mut().as_pin_mut() else { return Poll::Ready(Ok(None)) };
        match ready!(future.poll(cx)) {
            Ok(Some((piece, state))) => {
                let next = step(state);
                running.set(Some(next));
                Poll::Ready(Ok(Some(piece)))
            }
            other => {
                running.set(None);
                Poll::Ready(other.map(|_| None))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn drain(mut body: ResponseBody) -> Result<Vec<u8>, String> {
        let mut all = Vec::new();
        while let Some(piece) = std::future::poll_fn(|cx| body.poll_next(cx)).await {
            all.extend_from_slice(&piece.map_err(|error| error.to_string())?);
        }
        Ok(all)
    }

    fn counting(length: u64, pieces: u8, fail_at: u8) -> ResponseBody {
        ResponseBody::stream(length, 0_u8, move |count| async move {
            tokio::task::yield_now().await;
            match count {
                _ if count == fail_at => Err(StreamError("broken".into())),
                _ if count == pieces => Ok(None),
                _ => Ok(Some((Bytes::from(vec![count; 2]), count + 1))),
            }
        })
    }

    #[tokio::test]
    async fn a_stream_is_exactly_as_long_as_declared() {
        assert_eq!(drain(counting(6, 3, 9)).await, Ok(vec![0, 0, 1, 1, 2, 2]));
        assert_eq!(drain(counting(0, 0, 9)).await, Ok(vec![]));
        assert!(drain(counting(7, 3, 9)).await.is_err(), "short");
        assert!(drain(counting(5, 3, 9)).await.is_err(), "long");
        assert!(drain(counting(6, 3, 1)).await.is_err(), "failed");
    }

    #[tokio::test]
    async fn content_becomes_a_structured_message() {
        let at_once = drain(ResponseBody::bytes(Bytes::from_static(&[0, 0, 1, 1, 2, 2])).structured()).await.unwrap();
        let streamed = counting(6, 3, 9).structured();
        assert_eq!(streamed.remaining(), Some(13 + 18 + 8 + 6));
        assert_eq!(drain(streamed).await.unwrap(), at_once);
        assert!(drain(counting(6, 3, 1).structured()).await.is_err());
        assert_eq!(drain(ResponseBody::empty().structured()).await.unwrap().len(), 13 + 18 + 8);
    }

    #[tokio::test]
    async fn bytes_and_nothing() {
        assert_eq!(drain(ResponseBody::bytes(Bytes::from_static(b"abc"))).await, Ok(b"abc".to_vec()));
        assert_eq!(drain(ResponseBody::empty()).await, Ok(vec![]));
        assert_eq!(ResponseBody::bytes(Bytes::from_static(b"abc")).remaining(), Some(3));
    }
}
