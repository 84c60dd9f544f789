//! Bytes on their way into a blob.
//!
//! **Invariant.** Bytes are taken only for an operation that was authorised.

pub use store::body::{Begun, Body, BodyWriter};

use crate::Blobs;

/// Bodies up to this are taken once the caller is known to be allowed; for longer ones, lease and conditions are decided
/// first too.
const DECIDED_LATE: u64 = 64 * 1024;

impl Blobs {
    pub(crate) const fn begun(&self) -> Begun<'_> {
        Begun::new(&self.store)
    }
}

/// True when more than the permission is decided before a body is taken. `None` is one that has yet to be fetched.
pub(crate) fn is_decided_early(length: Option<u64>) -> bool {
    length.is_none_or(|length| length > DECIDED_LATE)
}
