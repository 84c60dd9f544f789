//! The log's thread: takes everything that is queued, writes it once, syncs it once, publishes it, wakes each waiter.
//!
//! There is no fixed delay. While one group is being synced the next gathers, so the group grows with the load.
//!
//! **Invariant.** Nothing is published before it is durable, as the durability mode defines it.

use std::{sync::PoisonError, time::Duration};

use store::{StoreError, clock::ServerClock, engine::Sequence};

use crate::{
    disk::is_exhausted,
    log::{Group, LogWriter, Record, WriteError},
    options::Durability,
    sequencer::Queued,
    shared::Shared,
};

/// A frame is closed when it is this large; a group may have several, synced once.
const FRAME_BYTES: usize = 8 * 1024 * 1024;
/// The longest that relaxed writes stay unsynced.
const RELAXED_SYNC: Duration = Duration::from_millis(100);

/// The log and what is needed to write it.
pub(crate) struct Pipeline {
    log: LogWriter,
    buffer: Vec<u8>,
    courtesy: Courtesy,
}

/// What a step of the pipeline did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A group, perhaps an empty one, is as durable as it should be.
    Worked,
    /// There was nothing to do.
    Idle,
    /// The engine closes, and everything is durable.
    Closed,
    /// It failed: nothing will be durable any more.
    Failed,
}

impl Pipeline {
    pub(crate) fn new(log: LogWriter) -> Self {
        Self { log, buffer: Vec::new(), courtesy: Courtesy::default() }
    }

    /// Runs until the engine closes or fails; gives the log back when it closed with everything durable.
    pub(crate) fn run(mut self, shared: &Shared) -> Option<LogWriter> {
        loop {
            self.courtesy.give_way(&shared.clock);
            match self.step(shared, true) {
                Step::Worked | Step::Idle => {}
                Step::Closed => return Some(self.log),
                Step::Failed => return None,
            }
        }
    }

    pub(crate) fn into_log(self) -> LogWriter {
        self.log
    }

    /// Takes what is queued, if need be when something is, and makes it durable.
    pub(crate) fn step(&mut self, shared: &Shared, waits: bool) -> Step {
        let outcome = match gather(shared, &self.log, waits) {
            Next::Batch(batch) => {
                self.courtesy.group = batch.len();
                commit(shared, &mut self.log, batch, &mut self.buffer).map(|()| Step::Worked)
            }
            Next::Nothing => return Step::Idle,
            Next::Closed => sync(shared, &mut self.log).map(|()| Step::Closed),
        };
        let step = outcome.unwrap_or_else(|error| {
            shared.poison(&error);
            Step::Failed
        });
        if step == Step::Worked {
            self.log.forget(shared.progress.persisted());
            if shared.progress.take_quiet() {
                self.log.tidy();
            }
        }
        step
    }
}

/// A processor that is given up for longer than this, in ticks of 100 nanoseconds, went to other programs.
const LONG_TICKS: u64 = 20_000;
/// Groups that are written without courtesy after that.
const RUDE_GROUPS: u32 = 1000;

/// Lets those who are about to commit go first when the processors are busy with them, because a sync costs the same for
/// one commit as for all. On an idle machine that takes no time, and where other programs are at work, or where one client
/// commits alone, it is not done.
#[derive(Default)]
struct Courtesy {
    /// Commits of the last group.
    group: usize,
    rude: u32,
}

impl Courtesy {
    fn give_way(&mut self, clock: &ServerClock) {
        if self.group < 2 {
            return;
        }
        if self.rude > 0 {
            self.rude -= 1;
            return;
        }
        let before = clock.now();
        std::thread::yield_now();
        if clock.now().ticks().saturating_sub(before.ticks()) > LONG_TICKS {
            self.rude = RUDE_GROUPS;
        }
    }
}

enum Next {
    /// Possibly empty: then only a sync, or forgetting old segments, is due.
    Batch(Vec<Queued>),
    /// Only when nobody waits for more.
    Nothing,
    Closed,
}

fn gather(shared: &Shared, log: &LogWriter, waits: bool) -> Next {
    let mut state = shared.sequencer.lock();
    let forgettable = shared.progress.persisted();
    loop {
        if !state.queue.is_empty() {
            return Next::Batch(std::mem::take(&mut state.queue));
        }
        if !log.is_dirty() {
            // Everything sequenced is durable, and nothing can be sequenced while we hold the lock. Numbers that the
            // index took for itself are passed too, so that idle views do not hold on to old versions of it.
            shared.views.publish_durable(shared.index.unused_sequence());
            shared.progress.synced(shared.index.unused_sequence() - 1);
        }
        if state.closing {
            return Next::Closed;
        }
        let due = log.is_dirty() && shared.progress.wants_sync();
        if due || shared.progress.is_quiet() || shared.progress.persisted() > forgettable {
            return Next::Batch(Vec::new());
        }
        if !waits {
            let due = log.is_dirty() && log.unsynced_for(shared.clock.now()) >= RELAXED_SYNC;
            return if due { Next::Batch(Vec::new()) } else { Next::Nothing };
        }
        let queued = shared.sequencer.queued();
        if log.is_dirty() {
            let left = RELAXED_SYNC.saturating_sub(log.unsynced_for(shared.clock.now()));
            let (guard, timeout) = queued.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
            state = guard;
            if timeout.timed_out() && state.queue.is_empty() {
                return Next::Batch(Vec::new());
            }
        } else {
            state = queued.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn commit(shared: &Shared, log: &mut LogWriter, batch: Vec<Queued>, buffer: &mut Vec<u8>) -> Result<(), StoreError> {
    let mut events = Vec::new();
    let mut commits: Vec<(Sequence, Record)> = Vec::with_capacity(batch.len());
    for queued in batch {
        events.extend(queued.events);
        commits.push((queued.sequence, queued.record));
    }
    if shared.options.durability == Durability::Relaxed {
        // A frame may survive without having been synced: never before the chunks it links.
        sync_streams(shared)?;
    }
    let mut rest = &*commits;
    while !rest.is_empty() {
        let (group, bytes) = frame_of(rest);
        let (now, later) = rest.split_at(group);
        write(shared, log, now, buffer)?;
        shared.metrics.group(now.len(), bytes);
        rest = later;
    }
    let asked = shared.progress.take_wants_sync();
    let due = match shared.options.durability {
        Durability::Sync => true,
        // Also when commits come so often that the log's thread never waits for the next.
        Durability::Relaxed => log.unsynced_for(shared.clock.now()) >= RELAXED_SYNC,
    };
    if due || asked || commits.is_empty() {
        sync(shared, log)?;
    }
    if let Some((last, _)) = commits.last() {
        if !log.is_dirty() {
            shared.progress.synced(last.0);
        }
        shared.views.publish_durable(last.0 + 1);
        for event in events {
            // Nobody listens: nobody is told.
            let _unheard = shared.events.send(event);
        }
        shared.waiters.wake(last.0 + 1);
    }
    Ok(())
}

/// Makes streamed chunks durable. Their directory may have to be opened for it.
fn sync_streams(shared: &Shared) -> Result<(), StoreError> {
    let mut outcome = shared.extents.sync_streams();
    while let Err(error) = outcome {
        if !is_exhausted(&error) {
            return Err(error.into());
        }
        wait(shared, WriteError::of(error))?;
        // Its files are synced.
        outcome = shared.extents.sync_directory();
    }
    Ok(())
}

/// Writes the small chunks of a frame to their extents, and the frame. While there is no room for it, or no segment can be
/// opened, it waits: the commits have their place already, growing ones are refused while the disk is full, and what is
/// freed lets it go on.
fn write(
    shared: &Shared,
    log: &mut LogWriter,
    commits: &[(Sequence, Record)],
    buffer: &mut Vec<u8>,
) -> Result<(), StoreError> {
    let rides = || commits.iter().flat_map(|(_, record)| &record.rides);
    let mut placed = false;
    loop {
        if !placed && let Err(error) = shared.extents.write_small(rides(), buffer) {
            wait(shared, WriteError::of_store(error))?;
            continue;
        }
        // Once: however often the frame is tried, its chunks are owed no more than that.
        placed = true;
        let group = Group { commits, time: shared.clock.now(), id_limit: shared.ids.limit() };
        match log.write(&group) {
            Ok(()) => return Ok(()),
            Err(error) => wait(shared, error)?,
        }
    }
}

/// Waits a little when all that is missing is room or a handle.
fn wait(shared: &Shared, error: WriteError) -> Result<(), StoreError> {
    match error {
        WriteError::Failed(error) => Err(error.into()),
        WriteError::Wait(error) => {
            if is_exhausted(&error) {
                shared.shortage.meet(&error);
                shared.extents.close_idle();
            } else {
                let _said = shared.space.refused(&*shared.disk);
            }
            let state = shared.sequencer.lock();
            if state.closing {
                return Err(error.into());
            }
            if let Some(stepped) = &shared.stepped {
                drop(state);
                stepped.wait_for_the_world();
                return Ok(());
            }
            let waited = shared.sequencer.queued().wait_timeout(state, RELAXED_SYNC);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
            Ok(())
        }
    }
}

/// How many commits the next frame takes, and their bytes.
fn frame_of(commits: &[(Sequence, Record)]) -> (usize, usize) {
    let (mut count, mut bytes) = (0, 0);
    for (_, record) in commits {
        let next = bytes + record.framed_bytes();
        if count > 0 && next > FRAME_BYTES {
            break;
        }
        (count, bytes) = (count + 1, next);
    }
    (count, bytes)
}

fn sync(shared: &Shared, log: &mut LogWriter) -> Result<(), StoreError> {
    if log.is_dirty() {
        let start = shared.clock.now();
        log.sync()?;
        shared.progress.synced(log.last_sequence());
        shared.metrics.sync(shared.clock.now().saturating_since(start));
    }
    Ok(())
}
