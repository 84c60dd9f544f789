//! Bytes that were written through handles and are not in the store yet: a bounded buffer of each file, in memory.
//!
//! A write through a handle is answered when it is here; a flush, a close and the passing of a second put it into the store.
//! Whoever reads a file through a handle reads through this buffer, and whoever comes by REST has it flushed first, so
//! nobody can tell the difference until the power fails.
//!
//! **Invariants.** A byte is here until the transaction that stores it is durable. One flush of a file runs at a time, so
//! what was written later is stored later. All buffers together hold at most [`MOST_BYTES`] and what is in flight.

mod pieces;
#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use types::{Timestamp, UnitId};

use crate::opens::{Bell, FileKey, Rung};
pub(crate) use pieces::Pieces;

/// Bytes of one file behind which whoever writes flushes it.
pub(crate) const FILE_BYTES: u64 = 8 * 1024 * 1024;
/// Bytes of all files behind which whoever writes flushes.
pub(crate) const MOST_BYTES: u64 = 64 * 1024 * 1024;
/// Pieces of one file behind which whoever writes flushes it.
const FILE_PIECES: usize = 1024;

/// The buffers of all files; clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unflushed(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    files: Mutex<HashMap<FileKey, Buffer>>,
    /// Of all files.
    bytes: AtomicU64,
}

/// What was written to one file.
#[derive(Debug, Default)]
struct Buffer {
    /// What came last.
    fresh: Pieces,
    /// What is on its way into the store.
    leaving: Pieces,
    is_leaving: bool,
    /// When the first of what is fresh was written.
    since: Timestamp,
    /// When the last was; `None` when the handles that wrote keep the time as it is.
    written: Option<Timestamp>,
    /// Those who wait for the flush that runs.
    bells: Vec<Arc<Bell>>,
}

impl Buffer {
    fn length(&self) -> u64 {
        self.fresh.end().max(self.leaving.end())
    }

    fn is_empty(&self) -> bool {
        self.fresh.is_empty() && !self.is_leaving
    }
}

/// What is known of a file beyond its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Overlay {
    /// Bytes by their places, in order, the newest only.
    pub(crate) pieces: Vec<(u64, Bytes)>,
    /// The file is at least so long.
    pub(crate) length: u64,
    /// When it was last written; `None` when that is as it is stored.
    pub(crate) written: Option<Timestamp>,
}

/// How a write goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// It is answered.
    Enough,
    /// The file is flushed before it is answered.
    FlushFirst,
}

/// How a flush begins.
pub(crate) enum Flush {
    /// There is nothing to flush.
    Nothing,
    /// Another one runs: wait for it, and ask again.
    Busy(Rung),
    /// These are put into the store.
    Begun(Leaving),
}

impl Unflushed {
    fn files(&self) -> MutexGuard<'_, HashMap<FileKey, Buffer>> {
        self.0.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes that are here. Costs one load.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Acquire)
    }

    /// Whether anything of a file is here.
    pub(crate) fn holds(&self, file: FileKey) -> bool {
        self.bytes() > 0 && self.files().get(&file).is_some_and(|buffer| !buffer.is_empty())
    }

    /// Takes bytes. The file was written now, unless its handle keeps that time as it is.
    pub(crate) fn write(&self, file: FileKey, offset: u64, bytes: Bytes, now: Timestamp, keeps_time: bool) -> Room {
        let mut files = self.files();
        let buffer = files.entry(file).or_default();
        if buffer.fresh.is_empty() {
            buffer.since = now;
        }
        buffer.written = buffer.written.max((!keeps_time).then_some(now));
        let before = buffer.fresh.bytes();
        buffer.fresh.insert(offset, bytes);
        let (after, pieces) = (buffer.fresh.bytes(), buffer.fresh.count());
        // Under the lock, so that nobody sees bytes that are not counted.
        let others = self.0.bytes.fetch_add(after, Ordering::AcqRel).saturating_sub(before);
        self.0.bytes.fetch_sub(before, Ordering::AcqRel);
        let enough = after < FILE_BYTES && pieces < FILE_PIECES && others.saturating_add(after) < MOST_BYTES;
        if enough { Room::Enough } else { Room::FlushFirst }
    }

    /// What a reader of a range has to lay over what is stored. To be asked before the rows are looked at: what is stored
    /// meanwhile is then in both.
    pub(crate) fn overlay(&self, file: FileKey, start: u64, end: u64) -> Overlay {
        if self.bytes() == 0 {
            return Overlay::default();
        }
        let files = self.files();
        let Some(buffer) = files.get(&file).filter(|buffer| !buffer.is_empty()) else { return Overlay::default() };
        let mut seen = buffer.leaving.part(start, end);
        for (offset, bytes) in buffer.fresh.part(start, end).into_list() {
            seen.insert(offset, bytes);
        }
        Overlay { pieces: seen.into_list(), length: buffer.length(), written: buffer.written }
    }

    /// Lengths and times of all files here, without their bytes. To be asked before the rows are looked at.
    pub(crate) fn lengths(&self) -> HashMap<FileKey, Overlay> {
        if self.bytes() == 0 {
            return HashMap::new();
        }
        let of = |buffer: &Buffer| Overlay { pieces: Vec::new(), length: buffer.length(), written: buffer.written };
        self.files().iter().map(|(file, buffer)| (*file, of(buffer))).collect()
    }

    /// Begins to flush a file.
    pub(crate) fn flush(&self, file: FileKey) -> Flush {
        let mut files = self.files();
        let Some(buffer) = files.get_mut(&file).filter(|buffer| !buffer.is_empty()) else { return Flush::Nothing };
        if buffer.is_leaving {
            let bell = Arc::<Bell>::default();
            buffer.bells.push(Arc::clone(&bell));
            return Flush::Busy(Rung(bell));
        }
        buffer.leaving = std::mem::take(&mut buffer.fresh);
        buffer.is_leaving = true;
        let (pieces, written) = (buffer.leaving.clone().into_list(), buffer.written);
        Flush::Begun(Leaving { of: self.clone(), file, pieces, written, stored: false })
    }

    /// The files of a share that something of is here.
    pub(crate) fn of_share(&self, share: UnitId) -> Vec<FileKey> {
        if self.bytes() == 0 {
            return Vec::new();
        }
        self.files().keys().filter(|file| file.share == share).copied().collect()
    }

    /// The files with bytes that were written before this time.
    pub(crate) fn older_than(&self, time: Timestamp) -> Vec<FileKey> {
        if self.bytes() == 0 {
            return Vec::new();
        }
        let files = self.files();
        let old = files.iter().filter(|(_, buffer)| !buffer.fresh.is_empty() && buffer.since <= time);
        old.map(|(file, _)| *file).collect()
    }

    /// Forgets what was written to a file that is gone, or that cannot be stored and nobody has open any more.
    pub(crate) fn discard(&self, file: FileKey) {
        let mut files = self.files();
        if let Some(buffer) = files.get_mut(&file) {
            let gone = std::mem::take(&mut buffer.fresh);
            self.0.bytes.fetch_sub(gone.bytes(), Ordering::AcqRel);
            if !buffer.is_leaving {
                files.remove(&file);
            }
        }
    }

    /// A flush has ended.
    fn left(&self, file: FileKey, stored: bool) {
        let mut files = self.files();
        let Some(buffer) = files.get_mut(&file) else { return };
        buffer.is_leaving = false;
        let leaving = std::mem::take(&mut buffer.leaving);
        let before = leaving.bytes() + buffer.fresh.bytes();
        if !stored {
            // Below what came meanwhile.
            let fresh = std::mem::replace(&mut buffer.fresh, leaving);
            for (offset, bytes) in fresh.into_list() {
                buffer.fresh.insert(offset, bytes);
            }
        }
        let after = buffer.fresh.bytes();
        self.0.bytes.fetch_sub(before.saturating_sub(after), Ordering::AcqRel);
        let bells = std::mem::take(&mut buffer.bells);
        if buffer.is_empty() {
            files.remove(&file);
        }
        drop(files);
        bells.iter().for_each(|bell| bell.ring());
    }
}

/// Bytes on their way into the store. Dropped before they are stored, they are written as before.
#[must_use = "dropping it gives the flush up"]
pub(crate) struct Leaving {
    of: Unflushed,
    file: FileKey,
    /// By their places, in order.
    pub(crate) pieces: Vec<(u64, Bytes)>,
    /// When the last of them was written; `None` when that is as it is stored.
    pub(crate) written: Option<Timestamp>,
    stored: bool,
}

impl Leaving {
    /// They are durable, or there is no file any more that they could be in.
    pub(crate) fn stored(mut self) {
        self.stored = true;
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.of.left(self.file, self.stored);
    }
}
