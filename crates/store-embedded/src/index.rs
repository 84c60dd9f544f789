//! The index: an `lsm-tree` without its own journal. Our log stands in front of it.
//!
//! **Invariants.** All rows of one commit have one sequence. A memtable becomes a table only after the log is synced
//! past it. Sequences come from the tree's own counter, because its versions take numbers from it too.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use lsm_tree::{
    AbstractTree, AnyTree, Cache, Config, DescriptorTable, Guard, SequenceNumberCounter, Slice, compaction::Leveled,
    config::PartitioningPolicy,
};
use store::{Direction, StoreError, key::KeyRange};

use crate::{
    disk::{make_private, mark, opened},
    log::StoredRow,
};

/// Table files kept open.
const OPEN_TABLES: usize = 128;

/// Rows by key and sequence.
pub(crate) struct Index {
    tree: AnyTree,
    counter: SequenceNumberCounter,
    path: PathBuf,
}

/// Raw rows of a range at one instant.
pub(crate) type RawScan = Box<dyn Iterator<Item = Result<(Bytes, Bytes), StoreError>> + Send>;

impl Index {
    pub(crate) fn open(path: &Path, cache_bytes: u64) -> Result<Self, StoreError> {
        // What the tree writes is not ours to give a mode; the directory around it is.
        make_private(path)?;
        let counter = SequenceNumberCounter::default();
        let tree = Config::new(path, counter.clone(), SequenceNumberCounter::default())
            .use_cache(Arc::new(Cache::with_capacity_bytes(cache_bytes)))
            .use_descriptor_table(Some(Arc::new(DescriptorTable::new(OPEN_TABLES))))
            // Filters and indexes of the youngest level are pinned whole: its tables are few and small. Those below are
            // larger than a share of the cache and would be read and hashed anew for every get; in parts of a block
            // each they are cached like data.
            .filter_block_partitioning_policy(PartitioningPolicy::new([false, true]))
            .index_block_partitioning_policy(PartitioningPolicy::new([false, true]))
            .open()
            .map_err(failed)?;
        let index = Self { tree, counter, path: path.to_owned() };
        if let Some(highest) = index.tree.get_highest_persisted_seqno() {
            index.counter.fetch_max(highest + 1);
        }
        // Sequence 0 is "before everything"; the tree reads below a bound, so bound 0 would mean its oldest version.
        index.counter.fetch_max(1);
        Ok(index)
    }

    /// The next sequence. The caller holds the sequencer's lock.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.counter.next()
    }

    /// The first sequence not given out yet.
    pub(crate) fn unused_sequence(&self) -> u64 {
        self.counter.get()
    }

    /// Sequences up to this are in use, as the log knows.
    pub(crate) fn skip_to(&self, sequence: u64) {
        self.counter.fetch_max(sequence + 1);
    }

    /// Puts a row into the memtable. Returns the memtable's size.
    pub(crate) fn insert(&self, row: &StoredRow, sequence: u64) -> u64 {
        let key = Slice::from(row.key.clone());
        match &row.value {
            Some(value) => self.tree.insert(key, Slice::from(value.clone()), sequence).1,
            None => self.tree.remove(key, sequence).1,
        }
    }

    /// The stored value of a row among sequences below `bound`.
    pub(crate) fn get(&self, key: &[u8], bound: u64) -> Result<Option<Bytes>, StoreError> {
        Ok(self.tree.get(key, bound).map_err(failed)?.map(Bytes::from))
    }

    /// The rows of a range among sequences below `bound`.
    pub(crate) fn scan(&self, range: &KeyRange, direction: Direction, bound: u64) -> RawScan {
        let rows = match &range.end {
            Some(end) => self.tree.range::<&[u8], _>(&*range.start..&**end, bound, None),
            None => self.tree.range::<&[u8], _>(&*range.start.., bound, None),
        };
        let raw = |guard: lsm_tree::IterGuardImpl| {
            let (key, value) = guard.into_inner().map_err(failed)?;
            Ok((Bytes::from(key), Bytes::from(value)))
        };
        match direction {
            Direction::Ascending => Box::new(rows.map(raw)),
            Direction::Descending => Box::new(rows.rev().map(raw)),
        }
    }

    /// Seals the memtable. The caller holds the sequencer's lock.
    pub(crate) fn rotate(&self) {
        self.tree.rotate_memtable();
    }

    /// Sealed memtables that wait to become tables.
    pub(crate) fn sealed_memtables(&self) -> usize {
        self.tree.sealed_memtable_count()
    }

    /// Tables that overlap each other and make reads slow.
    pub(crate) fn overlapping_runs(&self) -> usize {
        self.tree.l0_run_count()
    }

    /// Writes sealed memtables to tables. Versions of rows below the watermark that nobody can see are dropped.
    pub(crate) fn flush(&self, watermark: u64) -> Result<(), StoreError> {
        let lock = self.tree.get_flush_lock();
        self.tree.flush(&lock, watermark).map_err(failed)?;
        Ok(())
    }

    /// Does one compaction. False when there was nothing to do.
    pub(crate) fn compact(&self, watermark: u64) -> Result<bool, StoreError> {
        let before = self.shape();
        self.tree.compact(Arc::new(Leveled::default()), watermark).map_err(failed)?;
        Ok(self.shape() != before)
    }

    /// Tables by level and their bytes. The tree does not tell whether a compaction did anything; this does.
    fn shape(&self) -> (Vec<usize>, u64) {
        ((0..).map_while(|level| self.tree.level_table_count(level)).collect(), self.tree.disk_space())
    }

    /// Lets go of versions that nobody can see any more, and of the memory they hold.
    pub(crate) fn forget_versions(&self, watermark: u64) -> Result<(), StoreError> {
        self.tree.get_version_history_lock().maintenance(&self.path, watermark).map_err(failed)
    }

    /// Bytes of all tables.
    pub(crate) fn bytes(&self) -> u64 {
        self.tree.disk_space()
    }
}

fn failed(error: lsm_tree::Error) -> StoreError {
    match error {
        // Its writes and syncs never fail for want of a descriptor, and nothing of it is final before a checkpoint is.
        lsm_tree::Error::Io(error) => opened(mark(error)),
        other => StoreError::corrupt(format!("the index: {other}")),
    }
}
