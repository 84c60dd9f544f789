//! The engine as the contract sees it, and its life: open, close, abandon.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
};

use bytes::Bytes;
use store::{
    Answer, BoxFuture, ChunkRef, Event, StoreError,
    chunk::{ChunkSource, ChunkWriter, Ride},
    content,
    engine::{Commit, Engine, Horizon, Sequence, SequenceError, View},
    limits,
};
use types::Timestamp;

use crate::{
    checkpointer::{self, Upkeep},
    extent::{Hold, Nothing, Source, StreamWriter},
    log::{LogWriter, Record, Value},
    metrics::MetricsSnapshot,
    open::Opened,
    pipeline::Pipeline,
    shared::Shared,
    views::IndexView,
};

/// Spilled values up to this sum ride in the log; more are streamed and synced before the commit.
const SPILL_RIDE_BYTES: usize = 1024 * 1024;
/// Bytes of small chunks that one commit may carry.
const RIDES_BYTES: usize = 16 * 1024 * 1024;

/// One machine's storage engine.
pub struct EmbeddedEngine {
    shared: Arc<Shared>,
    upkeep: Arc<Upkeep>,
    threads: Mutex<Threads>,
    /// Released last: while it is held no other process may open the data directory.
    _lock: Option<crate::disk::DirectoryLock>,
}

#[derive(Default)]
struct Threads {
    log: Option<JoinHandle<Option<LogWriter>>>,
    upkeep: Vec<JoinHandle<()>>,
}

impl EmbeddedEngine {
    pub(crate) fn start(opened: Opened) -> io::Result<Self> {
        let Opened { shared, log, lock } = opened;
        let upkeep = Arc::<Upkeep>::default();
        let mut threads = Threads::default();
        if let Some(stepped) = &shared.stepped {
            stepped.begin(Pipeline::new(log));
            return Ok(Self { shared, upkeep, threads: Mutex::new(threads), _lock: lock });
        }
        let builder = |name: &str| std::thread::Builder::new().name(format!("lazuli-{name}"));
        let mine = Arc::clone(&shared);
        threads.log = Some(builder("log").spawn(move || Pipeline::new(log).run(&mine))?);
        let mine = Arc::clone(&shared);
        threads.upkeep.push(builder("pace").spawn(move || mine.pacer.run())?);
        if shared.options.background {
            let (mine, calls) = (Arc::clone(&shared), Arc::clone(&upkeep));
            threads.upkeep.push(builder("flush").spawn(move || checkpointer::run_flusher(&mine, &calls))?);
            let (mine, calls) = (Arc::clone(&shared), Arc::clone(&upkeep));
            threads.upkeep.push(builder("compact").spawn(move || checkpointer::run_compactor(&mine, &calls))?);
        }
        Ok(Self { shared, upkeep, threads: Mutex::new(threads), _lock: lock })
    }

    /// Makes everything durable, writes the memtable out, and closes the log, so that the next open is quick.
    ///
    /// # Errors
    /// Something could not be made durable; what was acknowledged is in the log all the same.
    pub fn close(&self) -> Result<(), StoreError> {
        let Some(mut log) = self.stop(StoreError::Closed) else { return self.refusal_at_close() };
        self.shared.progress.synced(self.shared.index.unused_sequence() - 1);
        checkpointer::checkpoint(&self.shared)?;
        log.forget(self.shared.progress.persisted());
        log.tidy();
        let (time, id_limit) = (self.shared.clock.now(), self.shared.ids.limit());
        // A last frame behind everything: it proves that what stands before it was synced.
        log.mark(time, id_limit).map_err(|error| self.shared.poison(&StoreError::from(error)))
    }

    /// Closing twice is fine; closing what a failed sync stopped is not a clean close.
    fn refusal_at_close(&self) -> Result<(), StoreError> {
        match &self.shared.sequencer.lock().refusing {
            Some(poisoned @ StoreError::Poisoned(_)) => Err(poisoned.clone()),
            _ => Ok(()),
        }
    }

    /// Stops the threads. Returns the log when everything queued was made durable and it was not stopped before.
    fn stop(&self, reason: StoreError) -> Option<LogWriter> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut state = self.shared.sequencer.lock();
            state.closing = true;
            state.refusing.get_or_insert(reason);
        }
        self.shared.sequencer.nudge();
        self.shared.stall.lift();
        self.shared.pacer.stop();
        let log = match &self.shared.stepped {
            Some(stepped) => stepped.end(&self.shared),
            None => threads.log.take()?.join().ok().flatten(),
        };
        self.upkeep.stop();
        self.shared.progress.fail();
        for thread in threads.upkeep.drain(..) {
            let _ended = thread.join();
        }
        log
    }

    /// Of an engine without threads: writes and syncs what is queued for the log. False when nothing is.
    pub fn step_log(&self) -> bool {
        self.shared.stepped.as_ref().is_some_and(|stepped| stepped.log(&self.shared))
    }

    /// Of an engine without threads: does the disk work that has waited longest. False when there is none.
    pub fn step_io(&self) -> bool {
        self.shared.stepped.is_some() && self.shared.pool.step()
    }

    /// Of an engine without threads: ten milliseconds have passed for those who are held back. False when nobody is.
    pub fn step_pace(&self) -> bool {
        self.shared.stepped.is_some() && self.shared.pacer.step()
    }

    /// Writes the memtable out and lets go of the log before it, as the engine does by itself in the background.
    ///
    /// # Errors
    /// The tables could not be written; nothing is lost.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        checkpointer::checkpoint(&self.shared)?;
        Ok(())
    }

    /// Deletes extents that hold nothing live, as the engine does by itself in the background. Returns how many.
    ///
    /// # Errors
    /// A file could not be removed.
    pub fn delete_dead_extents(&self) -> Result<usize, StoreError> {
        checkpointer::delete_dead_extents(&self.shared)
    }

    /// Compacts the index until nothing is left to do.
    ///
    /// # Errors
    /// The tables could not be written; nothing is lost.
    pub fn compact(&self) -> Result<(), StoreError> {
        while self.shared.index.compact(self.shared.views.watermark())? {}
        Ok(())
    }

    /// What the engine counted since it was opened, and how large it is.
    #[must_use]
    pub fn metrics(&self) -> MetricsSnapshot {
        let live_bytes = self.shared.sequencer.lock().live.values().sum::<i64>();
        let live_chunk_bytes = u64::try_from(live_bytes).unwrap_or_default();
        self.shared.space.observe(&*self.shared.disk);
        MetricsSnapshot {
            index_bytes: self.shared.index.bytes(),
            live_chunk_bytes,
            unswept_bytes: self.shared.pacer.unswept_bytes(),
            available_bytes: self.shared.space.available_bytes(),
            reserve_bytes: self.shared.space.reserve_bytes(),
            full: self.shared.space.is_full(),
            extents: self.shared.extents.ids().len(),
            ..self.shared.metrics.snapshot()
        }
    }

    /// Bytes that writers left to the sweeper.
    #[must_use]
    pub fn unswept_bytes(&self) -> u64 {
        self.shared.pacer.unswept_bytes()
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    fn admit(&self, commit: &Commit) -> Result<(), StoreError> {
        if !commit.reclaims {
            self.shared.space.check(&*self.shared.disk, self.shared.clock.now(), 0)?;
        }
        let rides: usize = commit.rides.iter().map(|ride| ride.bytes.len()).sum();
        if rides > RIDES_BYTES {
            let what = "the small chunks of a transaction";
            return Err(StoreError::TooLarge { what, actual: rides, limit: RIDES_BYTES });
        }
        Ok(())
    }

    /// Adds what spilling takes to a commit, validates it and gives it its place.
    fn place(&self, mut commit: Commit, Prepared { spilled, replaced }: Prepared) -> Result<Sequence, SequenceError> {
        let shared = &*self.shared;
        let bound = commit.read_at.0 + 1;
        let mut also_read = Vec::new();
        let writes = std::mem::take(&mut commit.writes);
        let mut spilled_by_key: std::collections::HashMap<Bytes, Spilled> =
            spilled.into_iter().map(|spilled| (spilled.key.clone(), spilled)).collect();
        let mut stored: Vec<(Bytes, Option<Value>)> = Vec::with_capacity(writes.len());
        let mut holds = Vec::new();
        for (key, value) in &writes {
            let value = match (value, spilled_by_key.remove(key)) {
                (None, _) => None,
                (Some(value), None) => Some(Value::Inline(value.clone())),
                (Some(_), Some(spilled)) => {
                    commit.live_bytes.push((spilled.chunk.extent, content::stored_bytes(spilled.chunk.length)));
                    let hold: Arc<Hold> = Arc::new(spilled.hold);
                    holds.push(Arc::clone(&hold));
                    commit.rides.extend(spilled.ride.map(|bytes| Ride { chunk: spilled.chunk, bytes, hold }));
                    let (key, row) = content::chunk_row(spilled.chunk, content::ENGINE);
                    stored.push((key, Some(Value::Inline(row))));
                    Some(Value::Spilled(spilled.chunk))
                }
            };
            stored.push((key.clone(), value));
        }
        commit.writes = writes;
        let mut also_written = Vec::new();
        for chunk in replaced {
            let forward = content::forward_key(chunk);
            also_read.push(forward.clone());
            if let Some((extent, offset, _)) = shared.locate(chunk, bound)? {
                let key = content::chunk_key(extent, offset);
                also_written.push(key.clone());
                stored.push((key, None));
                if (extent, offset) != (chunk.extent, chunk.offset) {
                    stored.push((forward, None));
                }
                commit.live_bytes.push((extent, -content::stored_bytes(chunk.length)));
            }
        }
        let footprint = shared.sequencer.footprint(&commit, &also_read, &also_written);
        let freed: u64 =
            commit.live_bytes.iter().filter(|(_, bytes)| *bytes < 0).map(|(_, bytes)| bytes.unsigned_abs()).sum();
        let (unswept, reclaims) = (commit.unswept_bytes, commit.reclaims);
        let record = Record::encode(&stored, commit.live_bytes, commit.rides)?;
        let (sequence, unsaved) =
            shared.sequencer.sequence(&shared.index, &shared.views, &footprint, record, commit.events)?;
        drop(holds); // linked now
        shared.pacer.count(unswept, reclaims);
        if shared.died(freed) || unsaved.wants_checkpoint(&shared.options) {
            self.upkeep.call_flush();
        }
        Ok(sequence)
    }

    /// What a commit needs beside its rows, when that is at hand. Without it nothing has happened yet.
    fn prepare(&self, commit: &Commit) -> Result<Prepared, StoreError> {
        Ok(Prepared { replaced: self.replaced(commit)?, spilled: self.spill_small(commit)? })
    }

    /// The chunks of spilled values that a commit replaces.
    fn replaced(&self, commit: &Commit) -> Result<Vec<ChunkRef>, StoreError> {
        let bound = commit.read_at.0 + 1;
        let mut replaced = Vec::new();
        for (key, _) in &commit.writes {
            if let Some(stored) = self.shared.index.get(key, bound)?
                && let Value::Spilled(chunk) = Value::decode(&stored)?
            {
                replaced.push(chunk);
            }
        }
        Ok(replaced)
    }

    /// Small sums ride in the log.
    fn spill_small(&self, commit: &Commit) -> Result<Vec<Spilled>, StoreError> {
        let mut spilled = Vec::new();
        for (key, value) in large(commit) {
            let placed = self.shared.extents.place_small(value.clone(), crc_fast::crc64_nvme(value));
            let (chunk, hold) = placed.map_err(|error| self.shared.full_or(error))?;
            spilled.push(Spilled { key: key.clone(), chunk, ride: Some(value.clone()), hold });
        }
        Ok(spilled)
    }

    /// Large sums are streamed to extents and synced before the commit is sequenced.
    async fn spill_large(&self, commit: &Commit) -> Result<Vec<Spilled>, StoreError> {
        let mut spilled = Vec::new();
        for (key, value) in large(commit) {
            let mut writer = StreamWriter::new(Arc::clone(&self.shared));
            writer.write(value.clone()).await?;
            let (chunk, ride, hold) = writer.end().await?;
            spilled.push(Spilled { key: key.clone(), chunk, ride, hold });
        }
        Ok(spilled)
    }
}

fn large(commit: &Commit) -> impl Iterator<Item = (&Bytes, &Bytes)> {
    let rows = commit.writes.iter().filter_map(|(key, value)| Some((key, value.as_ref()?)));
    rows.filter(|(_, value)| value.len() > limits::SPILL_BYTES)
}

/// What a commit needs beside its rows.
struct Prepared {
    spilled: Vec<Spilled>,
    replaced: Vec<ChunkRef>,
}

/// A value that was put into a chunk.
struct Spilled {
    key: Bytes,
    chunk: ChunkRef,
    ride: Option<Bytes>,
    hold: Hold,
}

impl Engine for EmbeddedEngine {
    fn view(&self, horizon: Horizon) -> Box<dyn View> {
        Box::new(IndexView::new(Arc::clone(&self.shared), horizon))
    }

    fn sequence(&self, commit: Commit) -> Answer<'_, Result<Sequence, SequenceError>> {
        if let Err(error) = self.admit(&commit) {
            return Answer::now(Err(error.into()));
        }
        let spill_bytes: usize = large(&commit).map(|(_, value)| value.len()).sum();
        if self.shared.stall.is_stalled() || spill_bytes > SPILL_RIDE_BYTES {
            return Answer::Later(Box::pin(async move {
                self.shared.stall.wait().await;
                let prepared = if spill_bytes > SPILL_RIDE_BYTES {
                    let replaced = self.shared.patiently(|| self.replaced(&commit)).await?;
                    Prepared { replaced, spilled: self.spill_large(&commit).await? }
                } else {
                    self.shared.patiently(|| self.prepare(&commit)).await?
                };
                self.place(commit, prepared)
            }));
        }
        match self.prepare(&commit) {
            Ok(prepared) => Answer::now(self.place(commit, prepared)),
            Err(StoreError::Exhausted(_)) => Answer::Later(Box::pin(async move {
                let prepared = self.shared.patiently(|| self.prepare(&commit)).await?;
                self.place(commit, prepared)
            })),
            Err(error) => Answer::now(Err(error.into())),
        }
    }

    fn durable(&self, sequence: Sequence) -> Answer<'_, Result<(), StoreError>> {
        if self.shared.views.durable() > sequence.0 {
            return Answer::now(Ok(()));
        }
        match self.shared.waiters.wait(sequence, &self.shared.views) {
            Ok(None) => Answer::now(Ok(())),
            Err(error) => Answer::now(Err(error)),
            Ok(Some(receiver)) => {
                Answer::Later(Box::pin(async move { receiver.await.unwrap_or(Err(StoreError::Closed)) }))
            }
        }
    }

    fn pace(&self, growth_bytes: u64) -> Answer<'_, ()> {
        match self.shared.pacer.pass(growth_bytes) {
            None => Answer::now(()),
            // Whoever stops the engine lets everybody go.
            Some(waiting) => Answer::Later(Box::pin(async move { drop(waiting.await) })),
        }
    }

    fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }

    fn wall(&self) -> Timestamp {
        self.shared.clock.wall()
    }

    fn fresh_id(&self) -> u64 {
        self.shared.ids.fresh()
    }

    fn events(&self) -> tokio::sync::broadcast::Receiver<Event> {
        self.shared.events.subscribe()
    }

    fn write_chunk(&self, expected_length: Option<u64>) -> Result<Box<dyn ChunkWriter>, StoreError> {
        if let Some(error) = &self.shared.sequencer.lock().refusing {
            return Err(error.clone());
        }
        let (disk, now) = (&*self.shared.disk, self.shared.clock.now());
        self.shared.space.check(disk, now, expected_length.unwrap_or(0))?;
        Ok(Box::new(StreamWriter::new(Arc::clone(&self.shared))))
    }

    fn open_chunk(&self, chunk: ChunkRef) -> BoxFuture<'_, Result<Box<dyn ChunkSource>, StoreError>> {
        Box::pin(async move {
            if chunk.length == 0 {
                let nothing: Box<dyn ChunkSource> = Box::new(Nothing);
                return Ok(nothing);
            }
            let view = IndexView::new(Arc::clone(&self.shared), Horizon::Durable);
            let bound = view.instant().0 + 1;
            let placed = self.shared.patiently(|| self.shared.extent_of(chunk, bound)).await?;
            let source: Box<dyn ChunkSource> = Box::new(Source { placed, pool: Arc::clone(&self.shared.pool) });
            Ok(source)
        })
    }
}

impl Drop for EmbeddedEngine {
    /// Without `close`, nothing more is written than what was queued: the log has everything that was acknowledged.
    fn drop(&mut self) {
        let _log = self.stop(StoreError::Closed);
    }
}
