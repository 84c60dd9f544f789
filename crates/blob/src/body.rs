//! Bytes on their way into a blob: the early decision that lets them in.
//!
//! **Invariant.** Bytes are taken only for an operation that was authorised.

use access::{Asked, Authorized, Operation};
use store::Snapshot;
use types::Timestamp;

pub use store::body::{Begun, Body, BodyWriter};

use crate::{Blobs, errors::BlobError};

/// Bodies up to this are taken once the caller is known to be allowed; for longer ones, lease and conditions are decided
/// first too.
const DECIDED_LATE: u64 = 64 * 1024;

/// What an operation is decided by before its body is taken: one view, the proof that it gave, and the time.
type Early<'a, Op> = (Snapshot, Authorized<'a, Op>, Timestamp);

impl Blobs {
    pub(crate) const fn begun(&self) -> Begun<'_> {
        Begun::new(&self.store)
    }

    /// Allows an operation with a body of this length, or with one that has yet to be fetched. Returns what the rest is
    /// decided by where that is done before the body is taken; what was allowed is decided again when it has come.
    pub(crate) async fn allow_body<'a, Op: Operation>(
        &self,
        asked: &'a Asked<Op>,
        length: Option<u64>,
    ) -> Result<Option<Early<'a, Op>>, BlobError> {
        let (rows, now) = self.view();
        let allowed = asked.authorize(&rows).await?;
        Ok(is_decided_early(length).then_some((rows, allowed, now)))
    }
}

/// True when more than the permission is decided before a body is taken. `None` is one that has yet to be fetched.
fn is_decided_early(length: Option<u64>) -> bool {
    length.is_none_or(|length| length > DECIDED_LATE)
}
