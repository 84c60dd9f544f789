//! One attempt of one transaction: a view, what it read, and what it wants to write.
//!
//! Reads happen at one instant and see the transaction's own writes. Nothing leaves this buffer before the commit, so
//! a refused or repeated attempt leaves no trace. The handle is cheap to clone: the closure gets one, the store keeps one.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    ops::Bound,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use types::Timestamp;

use crate::{
    answer::Answer,
    chunk::{ChunkRef, ChunkToken, LinkedChunk, PendingChunk},
    engine::{Commit, Engine, Sequence, View},
    error::StoreError,
    event::Event,
    key::KeyRange,
    limits,
    read::{Direction, Read, Scan, is_out_of_reach},
};

/// A transaction in progress.
#[derive(Clone)]
pub struct Txn {
    view: Arc<dyn View>,
    engine: Arc<dyn Engine>,
    now: Timestamp,
    buffer: Arc<Mutex<Buffer>>,
}

#[derive(Default)]
struct Buffer {
    reads: BTreeSet<Bytes>,
    guards_shared: BTreeSet<Bytes>,
    guards_exclusive: BTreeSet<Bytes>,
    writes: BTreeMap<Bytes, Option<Bytes>>,
    linked: BTreeMap<ChunkToken, LinkedChunk>,
    freed: BTreeMap<ChunkToken, ChunkRef>,
    unswept_bytes: i64,
    events: Vec<Event>,
    hooks: Hooks,
}

/// What is to be run once a commit has its place.
pub(crate) type Hooks = Vec<Box<dyn FnOnce() + Send>>;

impl Txn {
    pub(crate) fn begin(engine: Arc<dyn Engine>, view: Box<dyn View>) -> Self {
        let now = engine.now();
        Self { view: Arc::from(view), engine, now, buffer: Arc::default() }
    }

    fn buffer(&self) -> MutexGuard<'_, Buffer> {
        // A panic while the lock was held would leave a buffer that is never committed: the closure did not finish.
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Server time of this attempt. Later transactions on the same object never see an earlier one.
    #[must_use]
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// A number never given out before.
    #[must_use]
    pub fn fresh_id(&self) -> u64 {
        self.engine.fresh_id()
    }

    /// The instant this transaction reads at.
    pub(crate) fn instant(&self) -> Sequence {
        self.view.instant()
    }

    /// Writes a row.
    pub fn put(&self, key: Bytes, value: impl Into<Bytes>) {
        self.buffer().writes.insert(key, Some(value.into()));
    }

    /// Deletes a row. Deleting an absent row is no error.
    pub fn delete(&self, key: Bytes) {
        self.buffer().writes.insert(key, None);
    }

    /// Conflicts with an exclusive guard of the same key taken since this transaction began. Every create under a
    /// parent takes the parent's guard shared.
    pub fn guard_shared(&self, key: Bytes) {
        self.buffer().guards_shared.insert(key);
    }

    /// Conflicts with any guard of the same key taken since this transaction began. Every decision that rests on
    /// emptiness, or on nothing else happening, takes it exclusive.
    pub fn guard_exclusive(&self, key: Bytes) {
        self.buffer().guards_exclusive.insert(key);
    }

    /// Tells the process about this transaction once it is durable.
    pub fn emit(&self, payload: impl Into<Bytes>) {
        self.buffer().events.push(Event { payload: payload.into() });
    }

    /// Runs `hook` when this attempt got its place in the order of all commits, before the next writer of the same object
    /// begins; never for an attempt that is refused or repeated. It is for memory that follows rows, so it must be
    /// quick. The commit need not be durable yet: after a crash such memory is made anew.
    pub fn on_sequenced(&self, hook: impl FnOnce() + Send + 'static) {
        self.buffer().hooks.push(Box::new(hook));
    }

    /// The chunk becomes live with this transaction. Its row is the caller's affair.
    pub(crate) fn note_linked(&self, pending: &PendingChunk) {
        let linked = pending.linked();
        let mut buffer = self.buffer();
        if buffer.freed.remove(&linked.chunk.token).is_none() {
            buffer.linked.insert(linked.chunk.token, linked);
        }
    }

    /// The chunk is live no more with this transaction; one that this transaction linked never was. Its row is the
    /// caller's affair.
    pub(crate) fn note_freed(&self, chunk: ChunkRef) {
        let mut buffer = self.buffer();
        if buffer.linked.remove(&chunk.token).is_none() {
            buffer.freed.insert(chunk.token, chunk);
        }
    }

    /// Accounts bytes as waiting for the sweeper (positive) or as swept (negative).
    pub(crate) fn count_unswept(&self, bytes: i64) {
        self.buffer().unswept_bytes += bytes;
    }

    /// What this attempt wants to happen, and what follows then. The buffer is empty afterwards.
    ///
    /// # Errors
    /// A limit of the contract is exceeded.
    pub(crate) fn commit(&self, reclaims: bool) -> Result<(Commit, Hooks), StoreError> {
        let buffer = std::mem::take(&mut *self.buffer());
        check_limits(&buffer)?;
        let unswept_bytes = buffer.unswept_bytes;
        let Buffer { mut reads, guards_shared, guards_exclusive, writes, linked, freed, events, hooks, .. } = buffer;
        for key in writes.keys() {
            reads.remove(key); // written keys are validated anyway
        }
        let commit = Commit {
            read_at: self.instant(),
            reads: reads.into_iter().collect(),
            guards_shared: guards_shared.difference(&guards_exclusive).cloned().collect(),
            guards_exclusive: guards_exclusive.into_iter().collect(),
            writes: writes.into_iter().collect(),
            linked: linked.into_values().collect(),
            freed: freed.into_values().collect(),
            unswept_bytes,
            events,
            reclaims,
        };
        Ok((commit, hooks))
    }
}

impl Read for Txn {
    fn get<'a>(&'a self, key: &'a [u8]) -> Answer<'a, Result<Option<Bytes>, StoreError>> {
        if is_out_of_reach(key) {
            return Answer::now(Ok(None));
        }
        let mut buffer = self.buffer();
        if let Some(own) = buffer.writes.get(key) {
            return Answer::now(Ok(own.clone()));
        }
        if !buffer.reads.contains(key) {
            buffer.reads.insert(Bytes::copy_from_slice(key));
        }
        drop(buffer);
        self.view.get(key)
    }

    fn peek<'a>(&'a self, key: &'a [u8]) -> Answer<'a, Result<Option<Bytes>, StoreError>> {
        if is_out_of_reach(key) {
            return Answer::now(Ok(None));
        }
        if let Some(own) = self.buffer().writes.get(key) {
            return Answer::now(Ok(own.clone()));
        }
        self.view.get(key)
    }

    fn scan(&self, range: KeyRange, direction: Direction) -> Scan {
        let mut overlay = VecDeque::new();
        if !range.is_empty() {
            let end = range.end.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
            let buffer = self.buffer();
            let own = buffer.writes.range::<Bytes, _>((Bound::Included(&range.start), end));
            let own = own.map(|(key, value)| (key.clone(), value.clone()));
            match direction {
                Direction::Ascending => overlay.extend(own),
                Direction::Descending => overlay.extend(own.rev()),
            }
        }
        Scan::new(&self.view, range, direction, overlay)
    }
}

fn check_limits(buffer: &Buffer) -> Result<(), StoreError> {
    let (mut rows, mut spilled) = (0, 0);
    for (key, value) in &buffer.writes {
        at_most("a key", key.len(), limits::KEY_BYTES)?;
        if is_out_of_reach(key) {
            return Err(StoreError::corrupt("a key outside every space was written"));
        }
        let length = value.as_ref().map_or(0, Bytes::len);
        at_most("a value", length, limits::VALUE_BYTES)?;
        rows += key.len();
        *(if length > limits::SPILL_BYTES { &mut spilled } else { &mut rows }) += length;
    }
    at_most("the rows of a transaction", rows, limits::TRANSACTION_ROW_BYTES)?;
    at_most("the spilled values of a transaction", spilled, limits::TRANSACTION_SPILL_BYTES)
}

fn at_most(what: &'static str, actual: usize, limit: usize) -> Result<(), StoreError> {
    if actual > limit { Err(StoreError::TooLarge { what, actual, limit }) } else { Ok(()) }
}
