//! What can go wrong below the rules. Each service maps these to its own status and code in one table.

use std::sync::Arc;

/// A failure of the store itself, never a refusal by a rule.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// A sync failed: nothing more is written until the process starts anew and recovers. Reads go on.
    #[error("the store stopped accepting writes after a failed sync: {0}")]
    Poisoned(Arc<str>),
    /// The commit had its place, and then it could not be made durable. It may have happened: what the next start recovers
    /// says so.
    #[error("whether the transaction has happened is not known: {0}")]
    OutcomeUnknown(Arc<str>),
    /// Less free space than the reserve: writes that grow are refused before anything is written.
    #[error("the disk is full: {available_bytes} bytes are free, and a reserve of {reserve_bytes} bytes is kept")]
    Full {
        /// What the file system offers.
        available_bytes: u64,
        /// What must stay free.
        reserve_bytes: u64,
    },
    /// Others changed the same rows in every attempt.
    #[error("the transaction conflicted with others {attempts} times")]
    Busy {
        /// How often the closure ran.
        attempts: u32,
    },
    /// More rows or bytes than one transaction may hold, or a key or value past its limit.
    #[error("{what} of {actual} exceeds the limit of {limit}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// How large it is.
        actual: usize,
        /// How large it may be.
        limit: usize,
    },
    /// Stored bytes are not what was written. Never ignored, never repaired by guessing.
    #[error("corrupt data: {0}")]
    Corrupt(Arc<str>),
    /// A chunk was freed before it was read: its owner is gone.
    #[error("the chunk {0} no longer exists")]
    ChunkGone(crate::chunk::ChunkRef),
    /// The system has no descriptor or no memory left to open another file. Nothing was done, and later it may work.
    #[error("no file can be opened at the moment: {0}")]
    Exhausted(Arc<std::io::Error>),
    /// The operating system refused.
    #[error("i/o error: {0}")]
    Io(#[from] Arc<std::io::Error>),
    /// The engine is closing, or the store was fenced off.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// Corruption, described.
    pub fn corrupt(what: impl Into<Arc<str>>) -> Self {
        Self::Corrupt(what.into())
    }
}

impl From<std::io::Error> for StoreError {
    fn from(error: std::io::Error) -> Self {
        Self::Io(Arc::new(error))
    }
}
