//! Numbers that are given out once, also across restarts.
//!
//! The log carries a limit that no id has reached; after a restart ids go on from it. The limit is raised long before
//! it is reached, so giving out an id never waits.

use std::sync::atomic::{AtomicU64, Ordering};

/// How far ahead the limit stays.
const BLOCK: u64 = 1 << 32;

pub(crate) struct Ids {
    next: AtomicU64,
}

impl Ids {
    /// Ids from the recovered limit on.
    pub(crate) fn new(limit: u64) -> Self {
        Self { next: AtomicU64::new(limit.max(1)) }
    }

    pub(crate) fn fresh(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// A limit for the next frame: no id is at or above it, and none will be before the frame after.
    pub(crate) fn limit(&self) -> u64 {
        self.next.load(Ordering::Relaxed).saturating_add(BLOCK)
    }
}
