//! The store as the services see it: snapshots, transactions that run until they commit or refuse, chunks, time, events.

use std::{
    future::Future,
    hash::{BuildHasher, RandomState},
    sync::Arc,
    task::Poll,
};

use bytes::Bytes;
use types::Timestamp;

use crate::{
    chunk::{ChunkRef, ChunkSource, ChunkWriter},
    content::Pins,
    engine::{Commit, Engine, Horizon, Sequence, SequenceError},
    error::StoreError,
    event::Event,
    fence::{Fence, FencedView},
    latch::Latches,
    limits,
    read::Snapshot,
    sweep::SweptTo,
    txn::Txn,
};

/// What a transaction is about, known before it runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scope<'a> {
    object: &'a [u8],
    reclaims: bool,
}

impl<'a> Scope<'a> {
    /// A transaction whose writers conflict where they meet.
    #[must_use]
    pub const fn new() -> Self {
        Self { object: &[], reclaims: false }
    }

    /// A transaction whose writers queue on this object (usually the key of its row) instead of conflicting.
    #[must_use]
    pub const fn of(object: &'a [u8]) -> Self {
        Self { object, reclaims: false }
    }

    /// It gives space back in the end, so it is accepted while the disk is full.
    #[must_use]
    pub const fn reclaims(mut self) -> Self {
        self.reclaims = true;
        self
    }
}

/// A handle to a store; clones share it, and the memory that is in it: latches, pins and where the sweeper is.
///
/// At most one store of an engine is in use: whoever opens another one first [fences](Store::fence) this one off.
#[derive(Clone)]
pub struct Store {
    engine: Arc<dyn Engine>,
    memory: Arc<Memory>,
    pins: Pins,
}

/// What a store remembers besides its pins. It ends with the store.
struct Memory {
    latches: Latches,
    swept: SweptTo,
    fence: Fence,
}

impl Store {
    /// The contract on top of an engine.
    #[must_use]
    pub fn new(engine: Arc<dyn Engine>) -> Self {
        Self::seeded(engine, RandomState::new().hash_one(()))
    }

    /// The same, with a number that decides which objects share a latch: for runs that are to be repeated.
    #[must_use]
    pub fn seeded(engine: Arc<dyn Engine>, seed: u64) -> Self {
        let memory = Memory { latches: Latches::new(seed), swept: SweptTo::default(), fence: Fence::default() };
        Self { engine, memory: Arc::new(memory), pins: Pins::default() }
    }

    /// Fences this store off, with all its clones and for good: transactions, views and chunks that begin from now on are
    /// refused with [`StoreError::Closed`]. When this returns nothing of it is sequenced any more, and another store may be
    /// opened on the engine. What was sequenced becomes durable and is answered; what was opened can be read to its end.
    pub async fn fence(&self) {
        self.memory.fence.raise().await;
    }

    /// The same at once, for those who cannot wait: a commit that is being sequenced may still get its place.
    pub fn fence_now(&self) {
        self.memory.fence.put_up();
    }

    /// Another store on the same engine, for tests of what becomes of this one.
    #[cfg(feature = "conformance")]
    #[must_use]
    pub fn successor(&self) -> Self {
        Self::new(Arc::clone(&self.engine))
    }

    /// A stable view of durable state.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let fenced = self.memory.fence.is_up();
        Snapshot::new(if fenced { Box::new(FencedView) } else { self.engine.view(Horizon::Durable) })
    }

    /// Runs `body` until it commits or refuses, and answers once the answer is durable.
    ///
    /// The body must be pure: it is run again, on newer state, when another transaction was first. What it returns as
    /// an error is a refusal: an answer about the instant it read, which is durable before the caller hears of it.
    ///
    /// # Errors
    /// The body's own refusal, or a failure of the store. After any failure but [`StoreError::OutcomeUnknown`] nothing has
    /// happened.
    pub async fn transact<T, E, F, Fut>(&self, scope: Scope<'_>, body: F) -> Result<T, E>
    where
        F: Fn(Txn) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        E: From<StoreError>,
    {
        let placed = self.place(scope, body).await?;
        self.engine.durable(placed.sequence).await.map_err(|error| placed.undurable(&error))?;
        if placed.growth_bytes > 0 {
            self.engine.pace(placed.growth_bytes).await;
        }
        placed.outcome
    }

    /// Several transactions of the background, one behind the other, that wait for the disk once.
    #[must_use]
    pub const fn series(&self) -> Series<'_> {
        Series { store: self, last: Sequence(0), waiting_bytes: 0 }
    }

    /// Runs `body` until it has its place or refuses.
    async fn place<T, E, F, Fut>(&self, scope: Scope<'_>, body: F) -> Result<Placed<T, E>, E>
    where
        F: Fn(Txn) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        E: From<StoreError>,
    {
        let _latch = self.memory.latches.acquire(scope.object).await;
        for _ in 0..limits::ATTEMPTS {
            // Also what is refused, and what writes nothing, is an answer by the memory of this store.
            self.memory.fence.check()?;
            let view = self.engine.view(Horizon::Sequenced);
            let txn = Txn::begin(Arc::clone(&self.engine), view);
            let read_at = txn.instant();
            let outcome = body(txn.clone()).await;
            if outcome.is_err() {
                return Ok(Placed { outcome, sequence: read_at, commits: false, growth_bytes: 0, row_bytes: 0 });
            }
            let (commit, hooks) = txn.commit(scope.reclaims)?;
            let (growth_bytes, row_bytes) = if scope.reclaims { (0, rows(&commit)) } else { (growth(&commit), 0) };
            let commits = !commit.writes.is_empty() || !commit.events.is_empty();
            let sequence = if commits {
                let _passing = self.memory.fence.pass()?;
                match self.engine.sequence(commit).await {
                    Ok(sequence) => sequence,
                    Err(SequenceError::Conflict) => continue,
                    Err(SequenceError::Store(error)) => return Err(error.into()),
                }
            } else {
                read_at
            };
            hooks.into_iter().for_each(|hook| hook());
            return Ok(Placed { outcome, sequence, commits, growth_bytes, row_bytes });
        }
        Err(StoreError::Busy { attempts: limits::ATTEMPTS }.into())
    }

    /// Server time: never backwards, also across restarts.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.engine.now()
    }

    /// Wall time, as the machine believes: what credentials are measured by. May jump, also back.
    #[must_use]
    pub fn wall(&self) -> Timestamp {
        self.engine.wall()
    }

    /// A number never given out before, also across restarts.
    #[must_use]
    pub fn fresh_id(&self) -> u64 {
        self.engine.fresh_id()
    }

    /// Events of transactions published from now on.
    #[must_use]
    pub fn events(&self) -> tokio::sync::broadcast::Receiver<Event> {
        self.engine.events()
    }

    /// Begins a chunk; `expected_length` is a hint for its place.
    ///
    /// # Errors
    /// The disk is full, the engine is poisoned, or the store was fenced off.
    pub fn write_chunk(&self, expected_length: Option<u64>) -> Result<Box<dyn ChunkWriter>, StoreError> {
        self.memory.fence.check()?;
        self.engine.write_chunk(expected_length)
    }

    /// Opens a chunk for reading.
    ///
    /// # Errors
    /// The chunk was freed, its bytes cannot be reached, or the store was fenced off.
    pub async fn open_chunk(&self, chunk: ChunkRef) -> Result<Box<dyn ChunkSource>, StoreError> {
        self.memory.fence.check()?;
        self.engine.open_chunk(chunk).await
    }

    /// Where the sweeper of this process goes on.
    pub(crate) fn swept(&self) -> &SweptTo {
        &self.memory.swept
    }

    /// The contents that downloads of this process are reading.
    #[must_use]
    pub const fn pins(&self) -> &Pins {
        &self.pins
    }
}

/// Lets others of the same thread run: an engine that answers at once would keep it for as long as a series is.
async fn give_way() {
    let mut given = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut given, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// What became of a body, and what its answer rests on.
struct Placed<T, E> {
    outcome: Result<T, E>,
    sequence: Sequence,
    /// It changes something. Otherwise the sequence is that of the state that it looked at.
    commits: bool,
    /// Bytes of chunks that it added, unless it gives space back.
    growth_bytes: u64,
    /// Bytes of rows of what gives space back.
    row_bytes: usize,
}

impl<T, E> Placed<T, E> {
    /// What its caller hears when its sequence did not become durable. Who changed nothing knows that nothing happened.
    fn undurable(&self, error: &StoreError) -> StoreError {
        if self.commits { StoreError::OutcomeUnknown(error.to_string().into()) } else { error.clone() }
    }
}

/// Bytes of chunks that a commit adds.
fn growth(commit: &Commit) -> u64 {
    commit.linked.iter().map(|linked| linked.chunk.length).sum()
}

/// Bytes of the rows of a commit.
fn rows(commit: &Commit) -> usize {
    commit.writes.iter().map(|(key, value)| key.len() + value.as_ref().map_or(0, Bytes::len)).sum()
}

/// Bytes of rows that a series leaves to the engine before it waits: what waits for the disk is in memory.
const SERIES_BYTES: usize = 8 * 1024 * 1024;

/// Transactions of the background. Each sees those before it; none of them is an answer to anybody, so the disk is
/// waited for once, behind the last, unless they are large. Snapshots see them only then.
pub struct Series<'a> {
    store: &'a Store,
    last: Sequence,
    waiting_bytes: usize,
}

impl Series<'_> {
    /// Like [`Store::transact`], but does not wait until it is durable.
    ///
    /// # Errors
    /// The body's own refusal, or a failure of the store.
    pub async fn transact<T, E, F, Fut>(&mut self, scope: Scope<'_>, body: F) -> Result<T, E>
    where
        F: Fn(Txn) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        E: From<StoreError>,
    {
        let placed = self.store.place(scope, body).await?;
        self.last = self.last.max(placed.sequence);
        self.waiting_bytes += placed.row_bytes;
        if self.waiting_bytes > SERIES_BYTES {
            self.waiting_bytes = 0;
            self.store.engine.durable(self.last).await?;
        }
        give_way().await;
        placed.outcome
    }

    /// Waits until all of them are durable.
    ///
    /// # Errors
    /// The store failed.
    pub async fn durable(self) -> Result<(), StoreError> {
        self.store.engine.durable(self.last).await
    }
}
