//! The store as the services see it: snapshots, transactions that run until they commit or refuse, chunks, time, events.

use std::{future::Future, sync::Arc};

use types::{Timestamp, UnitId};

use crate::{
    chunk::{ChunkRef, ChunkSource, ChunkWriter},
    content::Pins,
    engine::{Engine, Horizon, SequenceError},
    error::StoreError,
    event::Event,
    latch::Latches,
    limits,
    read::Snapshot,
    txn::Txn,
};

/// What a transaction is about, known before it runs.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    unit: UnitId,
    object: &'a [u8],
    reclaims: bool,
}

impl<'a> Scope<'a> {
    /// A transaction in this consistency domain.
    #[must_use]
    pub const fn unit(unit: UnitId) -> Self {
        Self { unit, object: &[], reclaims: false }
    }

    /// Its writers queue on this object (usually the key of its row) instead of conflicting.
    #[must_use]
    pub const fn object(mut self, object: &'a [u8]) -> Self {
        self.object = object;
        self
    }

    /// It gives space back in the end, so it is accepted while the disk is full.
    #[must_use]
    pub const fn reclaims(mut self) -> Self {
        self.reclaims = true;
        self
    }
}

/// A handle to a store; clones share it.
#[derive(Clone)]
pub struct Store {
    engine: Arc<dyn Engine>,
    latches: Arc<Latches>,
    pins: Pins,
}

impl Store {
    /// The contract on top of an engine.
    #[must_use]
    pub fn new(engine: Arc<dyn Engine>) -> Self {
        Self { engine, latches: Arc::new(Latches::new()), pins: Pins::default() }
    }

    /// A stable view of durable state.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.engine.view(Horizon::Durable))
    }

    /// Runs `body` until it commits or refuses, and answers once the answer is durable.
    ///
    /// The body must be pure: it is run again, on newer state, when another transaction was first. What it returns as
    /// an error is a refusal: an answer about the instant it read, which is durable before the caller hears of it.
    ///
    /// # Errors
    /// The body's own refusal, or a failure of the store.
    pub async fn transact<T, E, F, Fut>(&self, scope: Scope<'_>, body: F) -> Result<T, E>
    where
        F: Fn(Txn) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        E: From<StoreError>,
    {
        let latch = self.latches.acquire(scope.object).await;
        for _ in 0..limits::ATTEMPTS {
            let view = self.engine.view(Horizon::Sequenced);
            let txn = Txn::begin(Arc::clone(&self.engine), view, scope.unit);
            let read_at = txn.instant();
            let outcome = body(txn.clone()).await;
            let sequence = match &outcome {
                Err(_) => read_at,
                Ok(_) => {
                    let (commit, hooks) = txn.commit(scope.reclaims)?;
                    let sequence = if commit.writes.is_empty() && commit.events.is_empty() {
                        read_at
                    } else {
                        match self.engine.sequence(commit).await {
                            Ok(sequence) => sequence,
                            Err(SequenceError::Conflict) => continue,
                            Err(SequenceError::Store(error)) => return Err(error.into()),
                        }
                    };
                    hooks.into_iter().for_each(|hook| hook());
                    sequence
                }
            };
            drop(latch);
            drop(txn);
            self.engine.durable(sequence).await?;
            return outcome;
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
    /// The disk is full or the engine is poisoned.
    pub fn write_chunk(&self, expected_length: Option<u64>) -> Result<Box<dyn ChunkWriter>, StoreError> {
        self.engine.write_chunk(expected_length)
    }

    /// Opens a chunk for reading.
    ///
    /// # Errors
    /// The chunk was freed, or its bytes cannot be reached.
    pub async fn open_chunk(&self, chunk: ChunkRef) -> Result<Box<dyn ChunkSource>, StoreError> {
        self.engine.open_chunk(chunk).await
    }

    /// The contents that downloads of this process are reading.
    #[must_use]
    pub const fn pins(&self) -> &Pins {
        &self.pins
    }
}
