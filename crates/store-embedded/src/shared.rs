//! What the engine's threads and callers share, and the few things that concern them all: poisoning, waiting for
//! durability.

use std::{
    collections::HashMap,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use store::{ChunkRef, Event, StoreError, clock::ServerClock, content::ChunkRecord, engine::Sequence, key::KeyRange};
use tokio::sync::{Notify, broadcast, oneshot};

use crate::{
    disk::{Disk, is_no_room},
    extent::{Extents, PlacedChunk},
    ids::Ids,
    index::Index,
    io_pool::IoPool,
    log::Value,
    metrics::Metrics,
    open::Recovery,
    options::Options,
    pace::Pacer,
    sequencer::Sequencer,
    shortage::Shortage,
    space::Space,
    stepped::Stepped,
    views::Views,
};

/// Bytes of chunks that die between two looks for extents to delete, when they die fast.
const LOOK_BYTES: u64 = 32 * 1024 * 1024;

pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) index: Index,
    pub(crate) views: Views,
    pub(crate) sequencer: Sequencer,
    pub(crate) extents: Arc<Extents>,
    pub(crate) pool: Arc<IoPool>,
    /// What an engine without threads has instead of them.
    pub(crate) stepped: Option<Stepped>,
    pub(crate) ids: Arc<Ids>,
    pub(crate) clock: ServerClock,
    pub(crate) events: broadcast::Sender<Event>,
    pub(crate) waiters: Waiters,
    pub(crate) progress: Progress,
    /// Held during a checkpoint: a flush takes every sealed memtable, so none may be sealed that was not waited for.
    pub(crate) checkpointing: Mutex<()>,
    pub(crate) stall: Stall,
    pub(crate) space: Space,
    pub(crate) pacer: Pacer,
    pub(crate) shortage: Shortage,
    /// Bytes that died since somebody last looked for extents to delete.
    pub(crate) freed_bytes: AtomicU64,
    /// Extents of which so many bytes are dead that are only padding, found while the disk was full.
    pub(crate) padded: Mutex<HashMap<u64, u64>>,
    pub(crate) metrics: Metrics,
    pub(crate) recovery: Recovery,
}

impl Shared {
    /// Stops all writes for good: a sync failed, so nobody knows what the device holds.
    pub(crate) fn poison(&self, cause: &StoreError) -> StoreError {
        let poisoned = match cause {
            StoreError::Poisoned(_) | StoreError::Closed => cause.clone(),
            other => {
                tracing::error!(error = %other, "writes are refused from now on: a sync failed");
                StoreError::Poisoned(other.to_string().into())
            }
        };
        self.sequencer.refuse(poisoned.clone());
        self.waiters.fail(&poisoned);
        self.progress.fail();
        self.stall.lift();
        self.pacer.stop();
        poisoned
    }

    /// Waits until the log is synced up to `sequence`. False when it never will be.
    pub(crate) fn wait_synced(&self, sequence: u64) -> bool {
        if let Some(stepped) = &self.stepped {
            // Nobody else would do it.
            while self.progress.synced_sequence() < sequence && stepped.log(self) {}
        }
        self.progress.wait_synced(sequence)
    }

    /// The error, or that the disk is full when that is what it means.
    pub(crate) fn full_or(&self, error: StoreError) -> StoreError {
        match &error {
            StoreError::Io(io) if is_no_room(io) => self.space.refused(&*self.disk),
            _ => error,
        }
    }

    /// Bytes of chunks died. True when it is time to look for extents that died with them.
    pub(crate) fn died(&self, bytes: u64) -> bool {
        let due = bytes > 0 && self.freed_bytes.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) >= LOOK_BYTES;
        if due {
            self.freed_bytes.store(0, Ordering::Relaxed);
        }
        due
    }

    /// Where a chunk is now, as seen below `bound`.
    pub(crate) fn extent_of(&self, chunk: ChunkRef, bound: u64) -> Result<PlacedChunk, StoreError> {
        if let Some(extent) = self.extents.get(chunk.extent)? {
            return Ok(PlacedChunk { extent, offset: chunk.offset, chunk });
        }
        let Some((id, offset)) = self.forwarded(chunk, bound)? else { return Err(StoreError::ChunkGone(chunk)) };
        match self.extents.get(id)? {
            Some(extent) => Ok(PlacedChunk { extent, offset, chunk }),
            None => Err(StoreError::ChunkGone(chunk)),
        }
    }

    fn forwarded(&self, chunk: ChunkRef, bound: u64) -> Result<Option<(u64, u64)>, StoreError> {
        let Some(stored) = self.index.get(&store::content::forward_key(chunk), bound)? else { return Ok(None) };
        match Value::decode(&stored)? {
            Value::Inline(row) => store::content::decode_forward(&row).map(Some),
            Value::Spilled(_) => Err(StoreError::corrupt("a forwarding row that was spilled")),
        }
    }

    /// The place and record of a live chunk as seen below `bound`.
    pub(crate) fn locate(&self, chunk: ChunkRef, bound: u64) -> Result<Option<(u64, u64, ChunkRecord)>, StoreError> {
        let record_at = |extent, offset| -> Result<Option<ChunkRecord>, StoreError> {
            match self.index.get(&store::content::chunk_key(extent, offset), bound)? {
                Some(stored) => match Value::decode(&stored)? {
                    Value::Inline(row) => Ok(Some(ChunkRecord::decode(&row)?)),
                    Value::Spilled(_) => Err(StoreError::corrupt("a chunk's row that was spilled")),
                },
                None => Ok(None),
            }
        };
        if let Some(record) = record_at(chunk.extent, chunk.offset)?.filter(|record| record.chunk == chunk) {
            return Ok(Some((chunk.extent, chunk.offset, record)));
        }
        let Some((extent, offset)) = self.forwarded(chunk, bound)? else { return Ok(None) };
        Ok(record_at(extent, offset)?.map(|record| (extent, offset, record)))
    }

    /// Rows of a range as stored, below `bound`.
    pub(crate) fn raw_rows(&self, range: &KeyRange, bound: u64) -> crate::index::RawScan {
        self.index.scan(range, store::Direction::Ascending, bound)
    }
}

/// Callers that wait until their commit is durable, each with a channel of its own.
#[derive(Default)]
pub(crate) struct Waiters(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    list: Vec<(u64, oneshot::Sender<Result<(), StoreError>>)>,
    failed: Option<StoreError>,
}

impl Waiters {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A channel that hears when `sequence` is durable; `None` when it is already.
    pub(crate) fn wait(
        &self,
        sequence: Sequence,
        views: &Views,
    ) -> Result<Option<oneshot::Receiver<Result<(), StoreError>>>, StoreError> {
        let mut waiting = self.lock();
        if views.durable() > sequence.0 {
            return Ok(None);
        }
        if let Some(error) = &waiting.failed {
            return Err(error.clone());
        }
        let (sender, receiver) = oneshot::channel();
        waiting.list.push((sequence.0, sender));
        Ok(Some(receiver))
    }

    /// Wakes everybody whose commit is below `bound`.
    pub(crate) fn wake(&self, bound: u64) {
        let mut ready = Vec::new();
        let mut waiting = self.lock();
        ready.extend(waiting.list.extract_if(.., |(sequence, _)| *sequence < bound));
        drop(waiting);
        for (_, sender) in ready {
            let _gone = sender.send(Ok(()));
        }
    }

    fn fail(&self, error: &StoreError) {
        let mut waiting = self.lock();
        waiting.failed = Some(error.clone());
        for (_, sender) in waiting.list.drain(..) {
            let _gone = sender.send(Err(error.clone()));
        }
    }
}

/// How far the log is synced and the index reaches; the threads wait for each other here.
#[derive(Default)]
pub(crate) struct Progress {
    state: Mutex<ProgressState>,
    changed: Condvar,
    /// Everything up to this sequence is in the index's tables.
    persisted: AtomicU64,
    wants_sync: AtomicBool,
    quiet: AtomicBool,
}

#[derive(Default)]
struct ProgressState {
    synced: u64,
    failed: bool,
}

impl Progress {
    pub(crate) fn synced(&self, sequence: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.synced = state.synced.max(sequence);
        self.changed.notify_all();
    }

    /// Everything up to this sequence survives.
    pub(crate) fn synced_sequence(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).synced
    }

    /// Nothing more will be synced.
    pub(crate) fn fail(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).failed = true;
        self.changed.notify_all();
    }

    /// Asks the log's thread to sync soon, whatever the durability mode.
    pub(crate) fn ask_sync(&self) {
        self.wants_sync.store(true, Ordering::Release);
    }

    /// Waits until the log is synced up to `sequence`. False when it never will be.
    pub(crate) fn wait_synced(&self, sequence: u64) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.synced < sequence && !state.failed {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.synced >= sequence
    }

    /// True once for every time somebody asked.
    pub(crate) fn take_wants_sync(&self) -> bool {
        self.wants_sync.swap(false, Ordering::AcqRel)
    }

    pub(crate) fn wants_sync(&self) -> bool {
        self.wants_sync.load(Ordering::Acquire)
    }

    /// Nothing has come for long: what is kept for speed may go.
    pub(crate) fn set_quiet(&self) {
        self.quiet.store(true, Ordering::Release);
    }

    /// True once for every time it was set.
    pub(crate) fn take_quiet(&self) -> bool {
        self.quiet.swap(false, Ordering::AcqRel)
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet.load(Ordering::Acquire)
    }

    pub(crate) fn persisted(&self) -> Sequence {
        Sequence(self.persisted.load(Ordering::Acquire))
    }

    pub(crate) fn set_persisted(&self, sequence: Sequence) {
        self.persisted.fetch_max(sequence.0, Ordering::AcqRel);
    }
}

/// Writers wait here while the index cannot keep up, so that memory stays bounded.
#[derive(Default)]
pub(crate) struct Stall {
    stalled: AtomicBool,
    lifted: Notify,
}

impl Stall {
    pub(crate) fn is_stalled(&self) -> bool {
        self.stalled.load(Ordering::Acquire)
    }

    pub(crate) fn set(&self) {
        self.stalled.store(true, Ordering::Release);
    }

    pub(crate) fn lift(&self) {
        if self.stalled.swap(false, Ordering::AcqRel) {
            self.lifted.notify_waiters();
        }
    }

    pub(crate) async fn wait(&self) {
        loop {
            let lifted = self.lifted.notified();
            if !self.is_stalled() {
                return;
            }
            lifted.await;
        }
    }
}
