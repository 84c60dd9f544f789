//! How many messages a queue has: a sharded counter, exact, in rows, and without making puts wait for each other.
//!
//! One row that every put changes would make them conflict. So the number is the sum of a few rows, the shards, and a
//! transaction has the shard it writes for itself until its commit has its place in the order. As many shards are used as transactions truly
//! run at once, which is few.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use store::{Direction, Read, StoreError, Txn};

use crate::{
    keys::{self, MessageIndex},
    records,
};

/// More transactions than this at once share the last shard and may conflict.
const SHARDS: u64 = 256;
/// The shard of background work, which runs one step at a time.
pub(crate) const BACKGROUND: u64 = SHARDS;

/// The shards that no transaction uses; clones share them.
#[derive(Clone, Default)]
pub(crate) struct Shards(Arc<Mutex<BTreeSet<u64>>>);

impl Shards {
    fn taken(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lowest free shard.
    pub(crate) fn take(&self) -> Arc<Shard> {
        let mut taken = self.taken();
        let number = (0..SHARDS - 1).find(|number| !taken.contains(number)).unwrap_or(SHARDS - 1);
        let owned = taken.insert(number);
        Arc::new(Shard { shards: self.clone(), number, returned: AtomicBool::new(!owned) })
    }
}

/// A shard that a transaction has for itself.
pub(crate) struct Shard {
    shards: Shards,
    pub(crate) number: u64,
    returned: AtomicBool,
}

impl Shard {
    /// The transaction has its place, or never will.
    pub(crate) fn give_back(&self) {
        if !self.returned.swap(true, Ordering::Relaxed) {
            self.shards.taken().remove(&self.number);
        }
    }
}

impl Drop for Shard {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// Counts messages that come (positive) or go (negative).
pub(crate) async fn add(txn: &Txn, index: MessageIndex, shard: u64, change: i64) -> Result<(), StoreError> {
    let key = keys::tally(index, shard);
    let before = match txn.get(&key).await? {
        Some(row) => records::decode_tally(&row)?,
        None => 0,
    };
    txn.put(key, records::encode_tally(before.saturating_add(change)));
    Ok(())
}

/// The number of messages of an index.
pub(crate) async fn count(rows: &impl Read, index: MessageIndex) -> Result<u64, StoreError> {
    let mut scan = rows.scan(keys::tallies(index), Direction::Ascending);
    let mut sum = 0_i64;
    while let Some(row) = scan.next().await? {
        sum = sum.saturating_add(records::decode_tally(&row.value)?);
    }
    Ok(u64::try_from(sum).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_shard_is_taken_and_comes_back() {
        let shards = Shards::default();
        let (first, second) = (shards.take(), shards.take());
        assert_eq!((first.number, second.number), (0, 1));
        first.give_back();
        let again = shards.take();
        assert_eq!(again.number, 0);
        first.give_back();
        assert_eq!(shards.take().number, 2, "what came back once does not come back for its next owner");
        drop((first, again, second));
        assert_eq!(shards.take().number, 0);
    }

    #[test]
    fn the_last_shard_is_shared() {
        let shards = Shards::default();
        let held: Vec<_> = (0..SHARDS + 2).map(|_| shards.take()).collect();
        let numbers: BTreeSet<_> = held.iter().map(|shard| shard.number).collect();
        assert_eq!((numbers.len(), numbers.last()), (256, Some(&(SHARDS - 1))));
        drop(held);
        assert!(shards.taken().is_empty());
    }
}
