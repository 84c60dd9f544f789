//! Requests that the server itself makes, for the sources of copies: the seam. Who makes them, and to whom they may go,
//! belongs to the program.
//!
//! **Invariant.** Redirections are not followed: where a request goes was decided before it was made.

use bytes::Bytes;
use http::{HeaderName, StatusCode};

use crate::{BoxFuture, Headers};

/// Makes requests.
pub trait Outgoing: Send + Sync + 'static {
    /// Makes one, and answers when the head of its answer is there.
    fn fetch(&self, request: Fetch) -> BoxFuture<'_, Result<Fetched, FetchError>>;
}

/// A request for a resource elsewhere.
#[derive(Clone, Debug)]
pub struct Fetch {
    /// Only its head.
    pub head: bool,
    /// `http` or `https`. **Secret:** it may hold a signature.
    pub url: String,
    /// Further headers.
    pub headers: Vec<(HeaderName, String)>,
}

/// The answer to a [`Fetch`]: its head is here, its body may still be on its way.
pub struct Fetched {
    /// What the other side answered; a redirect is an answer like any other.
    pub status: StatusCode,
    /// As the other side sent them: not to be trusted.
    pub headers: Headers,
    /// Its body, as it arrives.
    pub body: Box<dyn Pieces>,
}

impl Fetched {
    /// The value of a header, if it is text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// A body as it arrives.
pub trait Pieces: Send {
    /// The next piece; `None` at the end. A body that ends early is an error.
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, FetchError>>;
}

/// Why there is no answer. Says nothing of the URL but its host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// It is no URL that can be fetched.
    #[error("{0}")]
    Url(String),
    /// Requests may not go there.
    #[error("{0}")]
    Forbidden(String),
    /// Nobody answers there, or the answer broke off: it may go better another time.
    #[error("{0}")]
    Unreachable(String),
}
