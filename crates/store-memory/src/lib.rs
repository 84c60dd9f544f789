//! The reference engine: all rows in one ordered map with their versions, all chunks in another. It is the
//! specification that other engines are compared with, and the mock that the services are tested on.
//!
//! It owns no thread, no file and no real clock. A commit is durable at once, unless a test holds durability back to
//! look at the time between *sequenced* and *durable*; [`MemoryEngine::restart`] is a crash that loses what was held.
//!
//! **Invariant.** One lock around one state: what is true here is true because nothing else happens meanwhile.

mod chunks;
mod rows;
mod state;
mod time;
mod view;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use store::{
    Answer, BoxFuture, ChunkRef, Engine, Event, Horizon, Sequence, Snapshot, Store, StoreError,
    chunk::{ChunkSource, ChunkWriter},
    clock::{ServerClock, TimeSource},
    content,
    engine::{Commit, SequenceError, View},
    limits,
};
use tokio::sync::{broadcast, watch};
use types::Timestamp;

use crate::{chunks::MemoryWriter, state::State, view::MemoryView};

pub use crate::time::ManualTime;

/// An engine that lives in memory; clones share it.
#[derive(Clone)]
pub struct MemoryEngine {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    state: Mutex<State>,
    clock: ServerClock,
    time: Arc<dyn TimeSource>,
    events: broadcast::Sender<Event>,
    progress: watch::Sender<Progress>,
}

/// What waiters for durability look at.
#[derive(Clone, Copy)]
struct Progress {
    durable: Sequence,
    closed: bool,
}

impl Shared {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        // Every change is complete before anything in it can panic, so a poisoned lock guards a sound state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes everything sequenced durable, in order.
    fn publish(&self, state: &mut State) {
        for event in state.publish() {
            let _nobody_listens = self.events.send(event);
        }
        self.progress.send_modify(|progress| progress.durable = state.durable);
    }
}

impl Default for MemoryEngine {
    fn default() -> Self {
        Self::new(ManualTime::default())
    }
}

impl MemoryEngine {
    /// An empty engine that takes its time from `time`.
    #[must_use]
    pub fn new(time: impl TimeSource) -> Self {
        Self::with_state(State::default(), Arc::new(time), Timestamp::EPOCH)
    }

    fn with_state(state: State, time: Arc<dyn TimeSource>, high_water: Timestamp) -> Self {
        let progress = Progress { durable: state.durable, closed: false };
        let shared = Shared {
            state: Mutex::new(state),
            clock: ServerClock::new(time::SharedTime(Arc::clone(&time)), high_water),
            time,
            events: broadcast::Sender::new(limits::EVENTS),
            progress: watch::Sender::new(progress),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The contract on top of this engine.
    #[must_use]
    pub fn store(&self) -> Store {
        Store::new(Arc::new(self.clone()))
    }

    /// From now on commits are sequenced but become durable only by [`Self::sync`] or [`Self::release`].
    pub fn hold(&self) {
        self.shared.state().held = true;
    }

    /// Makes durable what is sequenced so far; later commits are still held.
    pub fn sync(&self) {
        let mut state = self.shared.state();
        self.shared.publish(&mut state);
    }

    /// Makes durable what was held, and every later commit at once.
    pub fn release(&self) {
        let mut state = self.shared.state();
        state.held = false;
        self.shared.publish(&mut state);
    }

    /// A crash and a new start: what is not durable is lost, unlinked chunks are gone, waiters and later writers of
    /// this engine hear [`StoreError::Closed`], and the returned engine goes on from durable state.
    #[must_use]
    pub fn restart(&self) -> Self {
        let high_water = self.shared.clock.now();
        let survivor = self.shared.state().close();
        self.shared.progress.send_modify(|progress| progress.closed = true);
        Self::with_state(survivor, Arc::clone(&self.shared.time), high_water)
    }

    /// Every write answers this error from now on, until it is `None` again. [`StoreError::Full`] lets through what
    /// gives space back.
    pub fn refuse_writes(&self, error: Option<StoreError>) {
        self.shared.state().refusal = error;
    }

    /// Bytes of chunks that durable commits linked and did not free.
    #[must_use]
    pub fn live_bytes(&self) -> u64 {
        self.shared.state().live_bytes
    }

    /// Versions of rows that are still here.
    #[must_use]
    pub fn stored_versions(&self) -> usize {
        self.shared.state().rows.versions()
    }

    /// Chunks whose bytes are still here: live, freed but not yet durably so, or pending.
    #[must_use]
    pub fn stored_chunks(&self) -> usize {
        self.shared.state().chunks.len()
    }
}

impl Engine for MemoryEngine {
    fn view(&self, horizon: Horizon) -> Box<dyn View> {
        Box::new(MemoryView::open(&self.shared, horizon))
    }

    fn sequence(&self, mut commit: Commit) -> Answer<'_, Result<Sequence, SequenceError>> {
        // Dropped behind the lock: a hold that is the last of its chunk looks at the state.
        let linked = std::mem::take(&mut commit.linked);
        let mut state = self.shared.state();
        let sequenced = state.sequence(commit, linked.iter().map(|linked| linked.chunk.length).sum());
        if sequenced.is_ok() && !state.held {
            self.shared.publish(&mut state);
        }
        Answer::now(sequenced)
    }

    fn durable(&self, sequence: Sequence) -> Answer<'_, Result<(), StoreError>> {
        let progress = *self.shared.progress.borrow();
        if progress.durable >= sequence {
            return Answer::now(Ok(()));
        }
        let mut progress = self.shared.progress.subscribe();
        Answer::Later(Box::pin(async move {
            match progress.wait_for(|progress| progress.closed || progress.durable >= sequence).await {
                Ok(progress) if progress.durable >= sequence => Ok(()),
                _ => Err(StoreError::Closed),
            }
        }))
    }

    fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }

    fn wall(&self) -> Timestamp {
        self.shared.clock.wall()
    }

    fn fresh_id(&self) -> u64 {
        let mut state = self.shared.state();
        state.last_id += 1;
        state.last_id
    }

    fn events(&self) -> broadcast::Receiver<Event> {
        self.shared.events.subscribe()
    }

    fn write_chunk(&self, _expected_length: Option<u64>) -> Result<Box<dyn ChunkWriter>, StoreError> {
        self.shared.state().accepts_growth()?;
        Ok(Box::new(MemoryWriter::new(&self.shared)))
    }

    fn open_chunk(&self, chunk: ChunkRef) -> BoxFuture<'_, Result<Box<dyn ChunkSource>, StoreError>> {
        Box::pin(async move {
            if chunk.length == 0 {
                return chunks::source(chunk, bytes::Bytes::new());
            }
            // A chunk that is linked but not durable yet is found at the second horizon.
            for horizon in [Horizon::Durable, Horizon::Sequenced] {
                if content::find(&Snapshot::new(self.view(horizon)), chunk).await?.is_some() {
                    let bytes = self.shared.state().chunks.get(&chunk.token).cloned();
                    return chunks::source(chunk, bytes.ok_or(StoreError::ChunkGone(chunk))?);
                }
            }
            Err(StoreError::ChunkGone(chunk))
        })
    }
}
