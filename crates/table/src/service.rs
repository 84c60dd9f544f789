//! The Table service as a value: what a protocol calls, and all it sees.

use store::Store;
use types::Timestamp;

/// The Table service: its store. Clones share it; a process has one a store.
///
/// Its methods are the operations. Each takes what is [asked for](access::Asked), decides in one view or transaction whether
/// that is allowed, and does it there: what is revoked before counts, what is revoked after comes too late.
#[derive(Clone)]
pub struct Tables {
    pub(crate) store: Store,
}

impl Tables {
    /// The tables in this store.
    #[must_use]
    pub const fn new(store: Store) -> Self {
        Self { store }
    }

    /// The time that entities are stamped with: never backwards.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.store.now()
    }
}
