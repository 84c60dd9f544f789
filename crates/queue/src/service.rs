//! The Queue service as a value: what a protocol calls, and all it sees.

use store::Store;

use crate::{errors::QueueError, heads::Heads, tally::Shards};

/// The Queue service: its store, and what this process remembers of the rows in it. Clones share it; a process has one a
/// store.
///
/// Its methods are the operations. Each takes what is [asked for](access::Asked), decides in one view or transaction whether
/// that is allowed, and does it there: what is revoked before counts, what is revoked after comes too late.
#[derive(Clone)]
pub struct Queues {
    pub(crate) store: Store,
    /// Where each queue begins.
    pub(crate) heads: Heads,
    /// Which parts of the counts are in use.
    pub(crate) shards: Shards,
}

impl Queues {
    /// The queues in this store.
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { store, heads: Heads::default(), shards: Shards::default() }
    }
}

/// Does the work of a transaction, and gives back what it took of this process (its arrival, its shard) when it is refused:
/// nothing will come of it, and a refusal that waits for the disk is in nobody's way.
pub(crate) async fn or_give_back<T>(
    work: impl Future<Output = Result<T, QueueError>>,
    give_back: impl FnOnce(),
) -> Result<T, QueueError> {
    let done = work.await;
    if done.is_err() {
        give_back();
    }
    done
}
