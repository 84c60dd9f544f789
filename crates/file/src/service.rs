//! The File service as a value, and how its operations are run. A file of a family of operations has them as methods.
//!
//! **Invariant.** An operation is authorised in the view that it reads or in the transaction that it writes, and nowhere
//! else. What is open is asked before, and held to its answer until the transaction is over.

use std::fmt;

use access::{Asked, Operation};
use store::{Scope, Snapshot, Store, Txn};
use types::{Timestamp, UnitId};

use crate::{changes::Changes, errors::FileError, opens::Opens, unflushed::Unflushed};

/// The File service on a store, with everything that is open. Clones share it; a process has one.
#[derive(Clone)]
pub struct Files {
    pub(crate) store: Store,
    pub(crate) opens: Opens,
    pub(crate) unflushed: Unflushed,
    pub(crate) changes: Changes,
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Files")
    }
}

impl Files {
    /// The shares in this store. Nothing is open.
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { store, opens: Opens::default(), unflushed: Unflushed::default(), changes: Changes::default() }
    }

    /// What is open.
    #[must_use]
    pub const fn opens(&self) -> &Opens {
        &self.opens
    }

    /// Server time, by which everything here is measured.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.store.now()
    }

    /// Whether SMB clients of an account must encrypt; `None` when the account says nothing about it.
    ///
    /// # Errors
    /// The store failed.
    pub async fn smb_encryption_required(&self, account: UnitId) -> Result<Option<bool>, FileError> {
        Ok(account::smb_encryption_required(&self.store.snapshot(), account).await?)
    }

    /// Decides whether somebody may do an operation at all, before a body is read or a source is asked for. What it allows
    /// is decided again when the operation is done.
    ///
    /// # Errors
    /// The credential does not cover it, or the store failed.
    pub async fn admit<Op: Operation>(&self, asked: &Asked<Op>) -> Result<(), FileError> {
        asked.authorize(&self.store.snapshot()).await?;
        Ok(())
    }

    /// The one view of an operation that reads, and the time that it is measured by.
    pub(crate) fn view(&self) -> (Snapshot, Timestamp) {
        (self.store.snapshot(), self.store.now())
    }

    /// A transaction whose writers conflict where they meet.
    pub(crate) async fn transact<T, F, Fut>(&self, body: F) -> Result<T, FileError>
    where
        F: Fn(Txn) -> Fut,
        Fut: Future<Output = Result<T, FileError>>,
    {
        self.store.transact(Scope::new(), body).await
    }

    /// The same for what gives space back: it is done while the disk is full.
    pub(crate) async fn transact_reclaiming<T, F, Fut>(&self, body: F) -> Result<T, FileError>
    where
        F: Fn(Txn) -> Fut,
        Fut: Future<Output = Result<T, FileError>>,
    {
        self.store.transact(Scope::new().reclaims(), body).await
    }
}
