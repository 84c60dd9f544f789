//! Bytes on their way into a blob: from the early decision that lets them in, through a chunk, to the operation that
//! makes them visible.
//!
//! **Invariants.** Bytes are taken only for an operation that was authorised. Nothing refers to them before the operation's
//! own transaction does; what is left behind is collected.

use access::{Asked, Authorized, Operation};
use bytes::Bytes;
use store::{PendingChunk, Snapshot, Store, chunk::ChunkWriter};
use types::Timestamp;

use crate::{Blobs, errors::BlobError};

/// Bodies up to this are taken once the caller is known to be allowed; for longer ones, lease and conditions are decided
/// first too.
const DECIDED_LATE: u64 = 64 * 1024;

/// An operation whose bytes may come.
#[derive(Clone, Copy)]
pub struct Begun<'a> {
    store: &'a Store,
}

impl Begun<'_> {
    /// Takes a body of this length.
    ///
    /// # Errors
    /// The disk is full, or the store does not take writes.
    pub fn writer(self, length: u64) -> Result<BodyWriter, BlobError> {
        Ok(BodyWriter(self.store.write_chunk(Some(length))?))
    }
}

/// What an operation is decided by before its body is taken: one view, the proof that it gave, and the time.
type Early<'a, Op> = (Snapshot, Authorized<'a, Op>, Timestamp);

impl Blobs {
    pub(crate) const fn begun(&self) -> Begun<'_> {
        Begun { store: &self.store }
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

/// A body that is coming.
pub struct BodyWriter(Box<dyn ChunkWriter>);

impl BodyWriter {
    pub(crate) fn new(store: &Store, length: u64) -> Result<Self, BlobError> {
        Begun { store }.writer(length)
    }

    /// Takes the next bytes. Waits when the disk is slower than the sender.
    ///
    /// # Errors
    /// The store failed.
    pub async fn write(&mut self, bytes: Bytes) -> Result<(), BlobError> {
        Ok(self.0.write(bytes).await?)
    }

    /// Ends the body.
    ///
    /// # Errors
    /// The store failed.
    pub async fn finish(self) -> Result<Body, BlobError> {
        Ok(Body(self.0.finish().await?))
    }
}

/// A body that has come.
pub struct Body(PendingChunk);

impl Body {
    /// How many bytes have come.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.0.reference().length
    }

    /// The CRC-64 of its bytes.
    #[must_use]
    pub const fn crc64(&self) -> u64 {
        self.0.reference().crc64
    }

    pub(crate) const fn chunk(&self) -> &PendingChunk {
        &self.0
    }
}
