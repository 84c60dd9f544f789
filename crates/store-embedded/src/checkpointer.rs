//! Turning memtables into tables, compacting them, and deleting what nobody can reach: the engine's upkeep.
//!
//! The order that makes a checkpoint safe: the memtable is sealed; the log is synced past it; extents whose bytes the
//! log carried are synced; the tables are written and synced; only then are log segments forgotten.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use store::StoreError;

use crate::{checkpoint::Meta, disk::opened, shared::Shared};

/// Sealed memtables, and overlapping runs of tables, at which writers wait.
const STALL_MEMTABLES: usize = 4;
const STALL_RUNS: usize = 24;
/// How often upkeep looks around when nobody calls it.
const TICK: Duration = Duration::from_secs(1);
/// After this many quiet ticks the log lets go of the segments that it keeps for speed.
const TIDY_TICKS: u32 = 20;
/// An extent of this length that is mostly dead takes no new chunks, so that it can be deleted.
const SEAL_BYTES: u64 = 32 * 1024 * 1024;
/// After this many quiet ticks the memtable is written out, so that an idle engine holds little memory and log.
const QUIET_TICKS: u32 = 3;

/// Calls the upkeep threads.
#[derive(Default)]
pub(crate) struct Upkeep {
    state: Mutex<Calls>,
    changed: Condvar,
}

#[derive(Default)]
struct Calls {
    flush: bool,
    compact: bool,
    stopping: bool,
}

impl Upkeep {
    fn state(&self) -> MutexGuard<'_, Calls> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn call_flush(&self) {
        self.state().flush = true;
        self.changed.notify_all();
    }

    fn call_compact(&self) {
        self.state().compact = true;
        self.changed.notify_all();
    }

    pub(crate) fn stop(&self) {
        self.state().stopping = true;
        self.changed.notify_all();
    }

    /// Waits for a call or a tick. `None` when stopping, else whether it was called.
    fn wait(&self, call: impl Fn(&mut Calls) -> &mut bool) -> Option<bool> {
        let mut state = self.state();
        loop {
            if state.stopping {
                return None;
            }
            if std::mem::take(call(&mut state)) {
                return Some(true);
            }
            let (guard, timeout) = self.changed.wait_timeout(state, TICK).unwrap_or_else(PoisonError::into_inner);
            state = guard;
            if timeout.timed_out() {
                return Some(false);
            }
        }
    }
}

/// The flushing thread.
pub(crate) fn run_flusher(shared: &Arc<Shared>, upkeep: &Upkeep) {
    let mut last_seen = 0;
    let mut quiet_ticks = 0;
    while let Some(called) = upkeep.wait(|calls| &mut calls.flush) {
        let (last_sequence, unsaved) = {
            let state = shared.sequencer.lock();
            (state.last_sequence, state.unsaved)
        };
        quiet_ticks = if last_sequence == last_seen && !called { quiet_ticks + 1 } else { 0 };
        last_seen = last_sequence;
        let due = unsaved.wants_checkpoint(&shared.options) || quiet_ticks >= QUIET_TICKS;
        if due && let Err(error) = checkpoint(shared) {
            tracing::warn!(%error, "the memtable was not written out; it will be tried again");
        }
        if quiet_ticks == TIDY_TICKS {
            shared.progress.set_quiet();
            shared.sequencer.nudge();
        }
        if !called {
            shared.space.observe(&*shared.disk);
            shared.shortage.look();
        }
        upkeep.call_compact();
        update_stall(shared);
        seal_mostly_dead(shared);
        if let Err(error) = delete_dead_extents(shared) {
            tracing::warn!(%error, "an extent without live chunks was not deleted; it will be tried again");
        }
    }
}

/// The compacting thread. It is the least urgent of all: reads and commits come first.
pub(crate) fn run_compactor(shared: &Arc<Shared>, upkeep: &Upkeep) {
    // Best effort: an unprivileged process may always make itself less urgent.
    let _unchanged = rustix::process::setpriority_process(Some(rustix::thread::gettid()), 10);
    while upkeep.wait(|calls| &mut calls.compact).is_some() {
        loop {
            match shared.index.compact(shared.views.watermark()) {
                Ok(true) if !upkeep.state().stopping => update_stall(shared),
                Ok(_) => break,
                Err(error) => {
                    tracing::warn!(%error, "compaction failed; it will be tried again");
                    break;
                }
            }
        }
        forget_versions(shared);
        update_stall(shared);
    }
}

/// Writes the memtable to tables and lets go of the log before it. False when there was nothing to write.
pub(crate) fn checkpoint(shared: &Shared) -> Result<bool, StoreError> {
    let _alone = shared.checkpointing.lock().unwrap_or_else(PoisonError::into_inner);
    // A failed sync of extents forgets which of them were dirty: another try would find nothing to sync and let the log
    // go, which has the only good copy.
    if let Some(poisoned @ StoreError::Poisoned(_)) = &shared.sequencer.lock().refusing {
        return Err(poisoned.clone());
    }
    let meta = |sequence| Meta { sequence, time: shared.clock.now(), id_limit: shared.ids.limit() };
    let sealed = shared.sequencer.seal(&shared.index, meta);
    let Some(sealed) = sealed.filter(|_| shared.index.sealed_memtables() > 0) else { return Ok(false) };
    shared.progress.ask_sync();
    shared.sequencer.nudge();
    if !shared.wait_synced(sealed.last_commit) {
        return Err(StoreError::Closed);
    }
    shared.extents.write_owed().map_err(|error| match shared.full_or(error) {
        wait @ (StoreError::Full { .. } | StoreError::Exhausted(_)) => wait,
        failed => shared.poison(&failed),
    })?;
    shared.extents.sync_all().map_err(|error| match opened(error) {
        wait @ StoreError::Exhausted(_) => wait, // only the directory is left, and known to be
        failed => shared.poison(&failed),
    })?;
    shared.index.flush(shared.views.watermark())?;
    shared.progress.set_persisted(sealed.checkpoint);
    shared.sequencer.nudge();
    forget_versions(shared);
    Ok(true)
}

fn forget_versions(shared: &Shared) {
    if let Err(error) = shared.index.forget_versions(shared.views.watermark()) {
        tracing::warn!(%error, "old versions of the index were not let go");
    }
}

fn update_stall(shared: &Shared) {
    if shared.index.sealed_memtables() >= STALL_MEMTABLES || shared.index.overlapping_runs() >= STALL_RUNS {
        shared.stall.set();
    } else {
        shared.stall.lift();
    }
}

/// Takes extents out of use that are mostly dead. Where chunks live only for a moment, as those that are overwritten over and
/// over, files come and go then, instead of one growing large with nothing in it.
fn seal_mostly_dead(shared: &Shared) {
    let growing = shared.extents.growing();
    let state = shared.sequencer.lock();
    let live = |id: u64| state.live.get(&id).and_then(|bytes| u64::try_from(*bytes).ok()).unwrap_or_default();
    let dead = growing.into_iter().filter(|(id, end)| *end >= SEAL_BYTES && live(*id) < end / 2);
    let dead: Vec<(u64, u64)> = dead.collect();
    drop(state);
    for (id, _) in dead {
        let _quiet = shared.extents.seal(id);
    }
}

/// Deletes extents that hold nothing live and that nobody can reach.
pub(crate) fn delete_dead_extents(shared: &Shared) -> Result<usize, StoreError> {
    let dead = |ids: Vec<u64>| -> (Vec<u64>, u64) {
        let state = shared.sequencer.lock();
        let is_dead = |id: &u64| state.live.get(id).is_none_or(|bytes| *bytes == 0);
        (ids.into_iter().filter(is_dead).collect(), state.last_sequence)
    };
    let (candidates, _) = dead(shared.extents.ids());
    // First no new chunk may come, then nothing live may be in it: a chunk linked in between is seen by the second look.
    let quiet = candidates.into_iter().filter(|id| shared.extents.seal(*id)).collect();
    let (dead, sequence) = dead(quiet);
    shared.extents.retire(&dead, sequence);
    // In relaxed mode views run ahead of the log: what is not synced may come back, and must find its chunks.
    let synced = shared.progress.synced_sequence() + 1;
    Ok(shared.extents.delete_retired(shared.views.watermark().min(synced))?)
}
