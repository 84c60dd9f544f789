//! What an engine provides. Small on purpose: views of the rows, sequencing of a commit, waiting for durability, chunks.
//!
//! The order of a write: a commit is *sequenced* (validated, given its place, visible to later transactions), then
//! *durable* (synced), then *published* (visible to snapshots, its events delivered). `sequence` never waits for a sync.

use bytes::Bytes;
use types::Timestamp;

use crate::{
    answer::{Answer, BoxFuture},
    chunk::{ChunkRef, ChunkSource, ChunkWriter, LinkedChunk},
    error::StoreError,
    event::Event,
    key::KeyRange,
    read::{Cursor, Direction},
};

/// A place in the one order of all commits. Larger is later; gaps are normal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Sequence(pub u64);

/// How far a view reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Horizon {
    /// Everything sequenced, durable or not: what a transaction decides on.
    Sequenced,
    /// Everything durable: what everybody else reads.
    Durable,
}

/// A stable state of all rows.
pub trait View: Send + Sync {
    /// The last commit this view includes.
    fn instant(&self) -> Sequence;

    /// The value of a row.
    fn get<'a>(&'a self, key: &'a [u8]) -> Answer<'a, Result<Option<Bytes>, StoreError>>;

    /// The rows of a range, in key order or against it.
    fn scan(&self, range: KeyRange, direction: Direction) -> Box<dyn Cursor>;
}

/// Everything a transaction wants to happen, all or nothing.
#[derive(Debug, Default)]
pub struct Commit {
    /// The instant the transaction read at.
    pub read_at: Sequence,
    /// Keys it decided on. Commit only if none of them changed since `read_at`.
    pub reads: Vec<Bytes>,
    /// Guards taken shared: conflict with an exclusive one taken since `read_at`.
    pub guards_shared: Vec<Bytes>,
    /// Guards taken exclusive: conflict with any taken since `read_at`.
    pub guards_exclusive: Vec<Bytes>,
    /// New values; `None` deletes. Written keys are validated like reads. Each key stands here once.
    pub writes: Vec<(Bytes, Option<Bytes>)>,
    /// Chunks that become live with this commit; their rows are among the writes.
    pub linked: Vec<LinkedChunk>,
    /// Chunks that were live and are so no more; the deletions of their rows are among the writes. None of them is linked by
    /// the same commit.
    pub freed: Vec<ChunkRef>,
    /// Bytes that came to wait for the sweeper (positive) or were swept (negative), as far as that is known at once.
    pub unswept_bytes: i64,
    /// Delivered after publish.
    pub events: Vec<Event>,
    /// True when this gives space back in the end: accepted while the disk is full.
    pub reclaims: bool,
}

/// Why a commit was not sequenced.
#[derive(Debug, thiserror::Error)]
pub enum SequenceError {
    /// A key or guard changed since the transaction read it: run it again.
    #[error("another transaction was first")]
    Conflict,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A storage engine.
pub trait Engine: Send + Sync + 'static {
    /// A view at the given horizon, stable until dropped. Views are short-lived: a page, a decision.
    fn view(&self, horizon: Horizon) -> Box<dyn View>;

    /// Validates the commit and gives it its place. Afterwards every later transaction sees it.
    fn sequence(&self, commit: Commit) -> Answer<'_, Result<Sequence, SequenceError>>;

    /// Waits until everything up to `sequence` is durable and published.
    fn durable(&self, sequence: Sequence) -> Answer<'_, Result<(), StoreError>>;

    /// Waits as long as whoever made the store grow by so many bytes should, before it hears that it is done: writers
    /// must not leave garbage behind faster than it is swept.
    fn pace(&self, growth_bytes: u64) -> Answer<'_, ()> {
        let _unhurried = growth_bytes;
        Answer::now(())
    }

    /// Server time: never backwards, also across restarts.
    fn now(&self) -> Timestamp;

    /// Wall time, as the machine believes: for what others wrote down by their own clocks. May jump, also back.
    fn wall(&self) -> Timestamp;

    /// A number never given out before, also across restarts.
    fn fresh_id(&self) -> u64;

    /// Events of commits published from now on.
    fn events(&self) -> tokio::sync::broadcast::Receiver<Event>;

    /// Begins a chunk. `expected_length` helps to place it; the stream may differ.
    ///
    /// # Errors
    /// The disk is full or the engine is poisoned.
    fn write_chunk(&self, expected_length: Option<u64>) -> Result<Box<dyn ChunkWriter>, StoreError>;

    /// Opens a chunk for reading. It stays readable until the source is dropped, also if it is freed meanwhile. A chunk
    /// that was freed can be opened until its space is given back, which is not before every view that saw it is gone.
    fn open_chunk(&self, chunk: ChunkRef) -> BoxFuture<'_, Result<Box<dyn ChunkSource>, StoreError>>;
}
