//! What the engine counts about itself, for whoever shows it.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// Counters since the engine was opened.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    commits: AtomicU64,
    groups: AtomicU64,
    syncs: AtomicU64,
    sync_nanos: AtomicU64,
    log_bytes: AtomicU64,
}

/// The counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetricsSnapshot {
    /// Commits made durable.
    pub commits: u64,
    /// Groups they were written in.
    pub groups: u64,
    /// Syncs of the log.
    pub syncs: u64,
    /// Time spent in them.
    pub sync_time: Duration,
    /// Bytes written to the log.
    pub log_bytes: u64,
    /// Bytes of the index's tables.
    pub index_bytes: u64,
    /// Bytes of live chunks.
    pub live_chunk_bytes: u64,
    /// Extent files.
    pub extents: usize,
    /// Bytes that writers left to the sweeper.
    pub unswept_bytes: u64,
    /// Bytes that can still be written to the disk.
    pub available_bytes: u64,
    /// Bytes of them that are kept in reserve.
    pub reserve_bytes: u64,
    /// True while writes are refused because less than the reserve is free.
    pub full: bool,
}

impl Metrics {
    pub(crate) fn group(&self, commits: usize, bytes: usize) {
        self.commits.fetch_add(u64::try_from(commits).unwrap_or(0), Ordering::Relaxed);
        self.log_bytes.fetch_add(u64::try_from(bytes).unwrap_or(0), Ordering::Relaxed);
        self.groups.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn sync(&self, time: Duration) {
        self.syncs.fetch_add(1, Ordering::Relaxed);
        self.sync_nanos.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(0), Ordering::Relaxed);
    }

    /// The counters now.
    pub(crate) fn snapshot(&self) -> MetricsSnapshot {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        MetricsSnapshot {
            commits: read(&self.commits),
            groups: read(&self.groups),
            syncs: read(&self.syncs),
            sync_time: Duration::from_nanos(read(&self.sync_nanos)),
            log_bytes: read(&self.log_bytes),
            ..MetricsSnapshot::default()
        }
    }
}
