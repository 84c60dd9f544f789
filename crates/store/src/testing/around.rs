//! An engine around another one. A test says what it changes; everything else goes through.

use types::Timestamp;

use crate::{
    answer::{Answer, BoxFuture},
    chunk::{ChunkRef, ChunkSource, ChunkWriter},
    engine::{Commit, Engine, Horizon, Sequence, SequenceError, View},
    error::StoreError,
    event::Event,
};

/// What a test engine changes of the one inside. Whoever is this is an [`Engine`]; chunks, ids and events are those inside.
pub trait Around: Send + Sync + 'static {
    /// The engine that does the work.
    fn inner(&self) -> &dyn Engine;

    /// See [`Engine::view`].
    fn view(&self, horizon: Horizon) -> Box<dyn View> {
        self.inner().view(horizon)
    }

    /// See [`Engine::sequence`].
    fn sequence(&self, commit: Commit) -> Answer<'_, Result<Sequence, SequenceError>> {
        self.inner().sequence(commit)
    }

    /// See [`Engine::durable`].
    fn durable(&self, sequence: Sequence) -> Answer<'_, Result<(), StoreError>> {
        self.inner().durable(sequence)
    }

    /// See [`Engine::now`].
    fn now(&self) -> Timestamp {
        self.inner().now()
    }
}

impl<A: Around> Engine for A {
    fn view(&self, horizon: Horizon) -> Box<dyn View> {
        Around::view(self, horizon)
    }

    fn sequence(&self, commit: Commit) -> Answer<'_, Result<Sequence, SequenceError>> {
        Around::sequence(self, commit)
    }

    fn durable(&self, sequence: Sequence) -> Answer<'_, Result<(), StoreError>> {
        Around::durable(self, sequence)
    }

    fn pace(&self, growth_bytes: u64) -> Answer<'_, ()> {
        self.inner().pace(growth_bytes)
    }

    fn now(&self) -> Timestamp {
        Around::now(self)
    }

    fn wall(&self) -> Timestamp {
        self.inner().wall()
    }

    fn fresh_id(&self) -> u64 {
        self.inner().fresh_id()
    }

    fn events(&self) -> tokio::sync::broadcast::Receiver<Event> {
        self.inner().events()
    }

    fn write_chunk(&self, expected_length: Option<u64>) -> Result<Box<dyn ChunkWriter>, StoreError> {
        self.inner().write_chunk(expected_length)
    }

    fn open_chunk(&self, chunk: ChunkRef) -> BoxFuture<'_, Result<Box<dyn ChunkSource>, StoreError>> {
        self.inner().open_chunk(chunk)
    }
}
