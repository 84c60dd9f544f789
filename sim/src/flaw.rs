//! Bugs that can be planted, so that the simulator can show that it finds them. They are planted around the engine: a disk
//! that leaves out a call is to what is above it what an engine without that call is to the disk.

use store_embedded::disk::{Disk, Fault, FaultyDisk};

/// What is wrong with a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The log is not synced before the answer.
    AnswerBeforeSync,
    /// Names of new files are not synced.
    LostDirectorySync,
    /// The log is let go before the tables that replace it are durable.
    LogBeforeCheckpoint,
    /// After a crash the clock goes on from an earlier time.
    LeaseOutlivesExpiry,
}

/// The disk, without what the flaw leaves out.
pub(crate) fn disk(inner: impl Disk, flaw: Option<Flaw>) -> FaultyDisk {
    let disk = FaultyDisk::new(inner);
    match flaw {
        Some(Flaw::AnswerBeforeSync) => disk.inject(Fault::SkippedSync, "log/", 0),
        Some(Flaw::LostDirectorySync) => disk.inject(Fault::SkippedDirectorySync, "", 0),
        Some(Flaw::LogBeforeCheckpoint | Flaw::LeaseOutlivesExpiry) | None => {}
    }
    disk
}
