//! The sequencer: validates a commit against what happened since it read, and gives it its place.
//!
//! One short lock: look up what was read, take a sequence, put the rows into the memtable, queue the record for the
//! log. Nothing here waits for a disk. What it knows about recent commits is a bounded table of key hashes; a
//! transaction older than the table conflicts and runs again.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    hash::{BuildHasher, RandomState},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use store::{
    Event, StoreError,
    engine::{Commit, Sequence, SequenceError},
};

use crate::{checkpoint, index::Index, log::Record, options::Options, views::Views};

/// Key hashes remembered. At 35,000 commits a second of two keys this is one second.
const REMEMBERED: usize = 64 * 1024;

/// Segments of the log that are filled before a checkpoint lets go of them.
const LOG_SEGMENTS: u64 = 3;

pub(crate) struct Sequencer {
    state: Mutex<State>,
    /// Tells the log's thread that something is queued or that the engine closes.
    queued: Condvar,
    hasher: RandomState,
}

/// A commit on its way to the log.
pub(crate) struct Queued {
    pub(crate) sequence: Sequence,
    pub(crate) record: Record,
    pub(crate) events: Vec<Event>,
}

pub(crate) struct State {
    pub(crate) queue: Vec<Queued>,
    pub(crate) last_sequence: u64,
    pub(crate) unsaved: Unsaved,
    /// Live bytes by extent, and which of them changed since the last checkpoint.
    pub(crate) live: HashMap<u64, i64>,
    pub(crate) live_changed: HashSet<u64>,
    /// The last checkpoint that was sealed, with the last commit before it.
    pub(crate) sealed: Option<Sealed>,
    pub(crate) refusing: Option<StoreError>,
    pub(crate) closing: bool,
    recent: Recent,
}

/// A sealed memtable: its checkpoint, and the commit the log must be synced to before it may become a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sealed {
    pub(crate) checkpoint: Sequence,
    pub(crate) last_commit: u64,
}

/// What has come since the last checkpoint was sealed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unsaved {
    pub(crate) memtable_bytes: u64,
    pub(crate) log_bytes: u64,
}

impl Unsaved {
    /// Rows take memory; the log, which may be long although its rows are few, takes space and time to read after a crash.
    pub(crate) const fn wants_checkpoint(self, options: &Options) -> bool {
        self.memtable_bytes >= options.memtable_bytes
            || self.log_bytes >= options.log_segment_bytes.saturating_mul(LOG_SEGMENTS)
    }
}

/// The keys of a commit as hashes, computed before the lock is taken. A collision costs a re-run, never an answer.
pub(crate) struct Footprint {
    read_at: u64,
    reads: Vec<u64>,
    writes: Vec<u64>,
    guards_shared: Vec<u64>,
    guards_exclusive: Vec<u64>,
}

impl Sequencer {
    pub(crate) fn new(last_sequence: u64, live: HashMap<u64, i64>) -> Self {
        let recent = Recent { forgotten: last_sequence, ..Recent::default() };
        let state = State {
            queue: Vec::new(),
            last_sequence,
            unsaved: Unsaved::default(),
            live,
            live_changed: HashSet::new(),
            sealed: None,
            refusing: None,
            closing: false,
            recent,
        };
        Self { state: Mutex::new(state), queued: Condvar::new(), hasher: RandomState::new() }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn queued(&self) -> &Condvar {
        &self.queued
    }

    /// The footprint of a commit, with keys that the engine itself writes or decides on.
    pub(crate) fn footprint(&self, commit: &Commit, also_written: &[Bytes]) -> Footprint {
        let hash = |key: &Bytes| self.hasher.hash_one(&**key);
        // Guards and rows are different things, also when their keys are equal.
        let guard = |key: &Bytes| self.hasher.hash_one((&**key, 1_u8));
        Footprint {
            read_at: commit.read_at.0,
            reads: commit.reads.iter().map(hash).collect(),
            writes: commit.writes.iter().map(|(key, _)| key).chain(also_written).map(hash).collect(),
            guards_shared: commit.guards_shared.iter().map(guard).collect(),
            guards_exclusive: commit.guards_exclusive.iter().map(guard).collect(),
        }
    }

    /// Gives the commit its place, or says why not. Also tells what has come since the last checkpoint.
    pub(crate) fn sequence(
        &self,
        index: &Index,
        views: &Views,
        footprint: &Footprint,
        record: Record,
        events: Vec<Event>,
    ) -> Result<(Sequence, Unsaved), SequenceError> {
        let mut state = self.lock();
        if let Some(error) = &state.refusing {
            return Err(error.clone().into());
        }
        if !state.recent.allows(footprint) {
            return Err(SequenceError::Conflict);
        }
        let sequence = index.next_sequence();
        state.recent.note(footprint, sequence);
        let size = record.rows.iter().map(|row| index.insert(row, sequence)).max();
        state.unsaved.memtable_bytes = size.unwrap_or(state.unsaved.memtable_bytes);
        state.unsaved.log_bytes += u64::try_from(record.framed_bytes()).unwrap_or(u64::MAX);
        state.count_live(&record.live_bytes);
        state.last_sequence = sequence;
        views.publish_sequenced(sequence + 1);
        state.queue.push(Queued { sequence: Sequence(sequence), record, events });
        if state.queue.len() == 1 {
            self.queued.notify_one();
        }
        Ok((Sequence(sequence), state.unsaved))
    }

    /// Seals the memtable, if it holds anything, with a checkpoint as its last rows. Returns the newest sealed one,
    /// also when it was sealed before: it may not have become a table then.
    pub(crate) fn seal(&self, index: &Index, meta: impl FnOnce(Sequence) -> checkpoint::Meta) -> Option<Sealed> {
        let mut state = self.lock();
        if state.unsaved.memtable_bytes > 0 {
            let sequence = index.next_sequence();
            for row in checkpoint::rows(&meta(Sequence(sequence)), &state.live, &state.live_changed) {
                index.insert(&row, sequence);
            }
            state.live.retain(|_, bytes| *bytes != 0);
            state.live_changed.clear();
            index.rotate();
            state.unsaved = Unsaved::default();
            state.sealed = Some(Sealed { checkpoint: Sequence(sequence), last_commit: state.last_sequence });
        }
        state.sealed
    }

    /// Wakes the log's thread to look around. Under the lock, so that it cannot miss it.
    pub(crate) fn nudge(&self) {
        let _state = self.lock();
        self.queued.notify_all();
    }

    /// From now on every commit is refused with this error. The first failure is told, also when it came while closing.
    pub(crate) fn refuse(&self, error: StoreError) {
        let mut state = self.lock();
        if !matches!(state.refusing, Some(StoreError::Poisoned(_))) {
            state.refusing = Some(error);
        }
        self.queued.notify_all();
    }
}

impl State {
    pub(crate) fn count_live(&mut self, changes: &[(u64, i64)]) {
        for (extent, change) in changes {
            *self.live.entry(*extent).or_default() += change;
            self.live_changed.insert(*extent);
        }
    }
}

/// When keys were last written and guards last taken.
#[derive(Default)]
struct Recent {
    slots: HashMap<u64, Slot>,
    order: VecDeque<(u64, u64)>,
    /// Commits up to this sequence may be missing from the table.
    forgotten: u64,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    exclusive: u64,
    shared: u64,
}

impl Recent {
    fn allows(&self, footprint: &Footprint) -> bool {
        let since = footprint.read_at;
        if since < self.forgotten {
            return false;
        }
        let slot = |hash: &u64| self.slots.get(hash).copied().unwrap_or_default();
        let unwritten = |hash: &u64| slot(hash).exclusive <= since;
        footprint.reads.iter().chain(&footprint.writes).chain(&footprint.guards_shared).all(unwritten)
            && footprint.guards_exclusive.iter().all(|hash| unwritten(hash) && slot(hash).shared <= since)
    }

    fn note(&mut self, footprint: &Footprint, sequence: u64) {
        for hash in footprint.writes.iter().chain(&footprint.guards_exclusive) {
            self.slots.entry(*hash).or_default().exclusive = sequence;
            self.order.push_back((sequence, *hash));
        }
        for hash in &footprint.guards_shared {
            self.slots.entry(*hash).or_default().shared = sequence;
            self.order.push_back((sequence, *hash));
        }
        while self.order.len() > REMEMBERED
            && let Some((oldest, hash)) = self.order.pop_front()
        {
            self.forgotten = oldest;
            if self.slots.get(&hash).is_some_and(|slot| slot.exclusive.max(slot.shared) <= oldest) {
                self.slots.remove(&hash);
            }
        }
    }
}
