//! The other end of a copy that goes on in the background, as the service that keeps it implements it.
//!
//! **Invariant.** How far a copy is stands in rows of its service; what is here can be made of them again at any time.

use bytes::Bytes;
use jobs::Failure;
use rest::{BoxFuture, outgoing::FetchError};
use types::UnitId;

/// A copy of a source elsewhere that has not ended.
pub struct Pending {
    /// The account that pays for it: copies take turns by account.
    pub account: UnitId,
    /// The id of the copy.
    pub id: String,
    /// Where the bytes are. **Secret:** it may hold a signature.
    pub url: String,
    /// The ETag that the source must keep; a source without one is fetched in one go.
    pub etag: Option<String>,
    /// Bytes that are here: it goes on from there.
    pub copied: u64,
    /// Bytes in all.
    pub total: u64,
    /// What it is copied into.
    pub destination: Box<dyn Destination>,
}

/// What a copy writes to. None of it is done when the copy was aborted or its destination is gone: [`Stop::Ended`].
pub trait Destination: Send + Sync {
    /// Takes a piece of so many bytes at most.
    ///
    /// # Errors
    /// The service does not take it now.
    fn piece(&self, length: u64) -> Result<Box<dyn Piece>, Stop>;

    /// Ends the copy: everything is here, and the destination shows it.
    fn finish(&self) -> BoxFuture<'_, Result<(), Stop>>;

    /// Ends a copy that cannot be done, and says why.
    fn fail<'a>(&'a self, why: &'a str) -> BoxFuture<'a, Result<(), Stop>>;
}

/// A piece of a copy that is coming.
pub trait Piece: Send {
    /// Takes the next bytes.
    fn write(&mut self, bytes: Bytes) -> BoxFuture<'_, Result<(), Stop>>;

    /// Ends the piece, which may be shorter than it was to be, and writes down that it is here, at this place of the copy.
    /// To do it again is harmless.
    fn keep(self: Box<Self>, offset: u64) -> BoxFuture<'static, Result<(), Stop>>;
}

/// Why a copy does not go on right now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It ended: aborted, or its destination is gone.
    Ended,
    /// It cannot be done.
    Failed(String),
    /// It may go better later.
    Later(String),
}

impl From<FetchError> for Stop {
    fn from(error: FetchError) -> Self {
        match error {
            FetchError::Unreachable(why) => Self::Later(why),
            FetchError::Url(why) | FetchError::Forbidden(why) => Self::Failed(why),
        }
    }
}

/// The rows in which a service keeps copies that have not ended.
pub trait Unfinished: Send {
    /// The name of the job that looks for them.
    fn name(&self) -> &'static str;

    /// The copies of the next rows, so many at most, behind those of the last look.
    fn look(&mut self, rows: usize) -> BoxFuture<'_, Result<Look, Failure>>;
}

/// What a look at some rows found.
pub struct Look {
    /// Copies of sources elsewhere.
    pub found: Vec<Pending>,
    /// True when there are more rows; otherwise the next look begins anew.
    pub more: bool,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A destination that is gone.
    pub(crate) struct Nothing;

    impl Destination for Nothing {
        fn piece(&self, _: u64) -> Result<Box<dyn Piece>, Stop> {
            Err(Stop::Ended)
        }

        fn finish(&self) -> BoxFuture<'_, Result<(), Stop>> {
            Box::pin(async { Err(Stop::Ended) })
        }

        fn fail<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), Stop>> {
            Box::pin(async { Err(Stop::Ended) })
        }
    }
}
