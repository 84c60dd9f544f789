//! The Blob service as a value, and how its operations are run. A file of a family of operations has them as methods.
//!
//! **Invariant.** An operation is authorised in the view that it reads or in the transaction that it writes, and nowhere
//! else: what was revoked before that instant is refused.

use std::fmt;

use access::{Asked, Operation};
use store::{Scope, Snapshot, Store, Txn};
use types::Timestamp;

use crate::{errors::BlobError, object::Address};

/// The Blob service on a store. Clones share it; a process has one.
#[derive(Clone)]
pub struct Blobs {
    pub(crate) store: Store,
}

impl fmt::Debug for Blobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Blobs")
    }
}

impl Blobs {
    /// The blobs in this store.
    #[must_use]
    pub const fn new(store: Store) -> Self {
        Self { store }
    }

    /// Server time, by which everything here is measured.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.store.now()
    }

    /// Decides whether somebody may do an operation at all, before a body is read or a source is asked for. What it allows
    /// is decided again when the operation is done.
    ///
    /// # Errors
    /// The credential does not cover it, or the store failed.
    pub async fn admit<Op: Operation>(&self, asked: &Asked<Op>) -> Result<(), BlobError> {
        asked.authorize(&self.store.snapshot()).await?;
        Ok(())
    }

    /// The one view of an operation that reads, and the time that it is measured by.
    pub(crate) fn view(&self) -> (Snapshot, Timestamp) {
        (self.store.snapshot(), self.store.now())
    }

    /// A transaction on a blob: writers of one blob queue instead of conflicting.
    pub(crate) async fn on_blob<T, F, Fut>(&self, address: &Address, body: F) -> Result<T, BlobError>
    where
        F: Fn(Txn) -> Fut,
        Fut: Future<Output = Result<T, BlobError>>,
    {
        let latch = address.latch();
        self.store.transact(Scope::of(&latch), body).await
    }

    /// The same for what gives space back: it is done while the disk is full.
    pub(crate) async fn on_blob_reclaiming<T, F, Fut>(&self, address: &Address, body: F) -> Result<T, BlobError>
    where
        F: Fn(Txn) -> Fut,
        Fut: Future<Output = Result<T, BlobError>>,
    {
        let latch = address.latch();
        self.store.transact(Scope::of(&latch).reclaims(), body).await
    }

    /// A transaction on a container, or on a blob whose writers do not queue.
    pub(crate) async fn transact<T, F, Fut>(&self, body: F) -> Result<T, BlobError>
    where
        F: Fn(Txn) -> Fut,
        Fut: Future<Output = Result<T, BlobError>>,
    {
        self.store.transact(Scope::new(), body).await
    }

    /// The same for what gives space back.
    pub(crate) async fn transact_reclaiming<T, F, Fut>(&self, body: F) -> Result<T, BlobError>
    where
        F: Fn(Txn) -> Fut,
        Fut: Future<Output = Result<T, BlobError>>,
    {
        self.store.transact(Scope::new().reclaims(), body).await
    }
}
