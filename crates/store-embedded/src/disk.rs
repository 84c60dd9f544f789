//! The seam between the engine and the file system: every byte we own goes through it.
//!
//! The real disk is the machine's; the simulated one loses, reorders and tears what was not synced when its power fails;
//! the faulty one fails the call it was told to. The index's table files belong to `lsm-tree` and do not come here.
//!
//! **Invariant.** A name is relative to the data directory and made by the engine; no client's text ever gets here.

use std::{io, sync::Arc};

mod exhausted;
mod faulty;
mod real;
mod simulated;

pub(crate) use exhausted::{is_exhausted, mark, opened, opening};
pub use faulty::{Fault, FaultyDisk};
pub use real::{DirectoryLock, RealDisk};
pub(crate) use real::{copy_private, create_private, make_private};
pub use simulated::{CrashImage, SimulatedDisk};

/// A file system, as far as the engine needs one.
pub trait Disk: Send + Sync + 'static {
    /// Opens an existing file for reading and writing.
    ///
    /// # Errors
    /// It does not exist, or the system refuses. That it has no handle left is told apart from everything else.
    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;

    /// Creates a file that must not exist. Durable after [`Disk::sync_directory`].
    ///
    /// # Errors
    /// It exists, or the system refuses. That it has no handle left is told apart from everything else.
    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;

    /// Removes a file. Those who have it open keep it.
    ///
    /// # Errors
    /// It does not exist, or the system refuses.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Gives a file another name, replacing what had it.
    ///
    /// # Errors
    /// It does not exist, or the system refuses.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// The names of the files in a directory, without the directory, in no order. An absent directory is empty.
    ///
    /// # Errors
    /// The system refuses.
    fn list(&self, directory: &str) -> io::Result<Vec<String>>;

    /// Creates a directory and its parents if they are missing.
    ///
    /// # Errors
    /// The system refuses.
    fn create_directory(&self, directory: &str) -> io::Result<()>;

    /// Makes creations, removals and renames in a directory durable.
    ///
    /// # Errors
    /// The system refuses.
    fn sync_directory(&self, directory: &str) -> io::Result<()>;

    /// Bytes that can still be written.
    ///
    /// # Errors
    /// The system refuses.
    fn available_bytes(&self) -> io::Result<u64>;
}

/// An open file. Reads and writes name their place, so threads share it.
pub trait DiskFile: Send + Sync + 'static {
    /// Reads up to `buffer.len()` bytes; fewer only at the end.
    ///
    /// # Errors
    /// The system refuses.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Like `read_at`, but only if it need not wait for the device: `None` when it would.
    ///
    /// # Errors
    /// The system refuses.
    fn read_cached_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<Option<usize>> {
        self.read_at(buffer, offset).map(Some)
    }

    /// Writes all of `bytes`.
    ///
    /// # Errors
    /// The system refuses; any part may have been written.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Like `write_at`, past the page cache where the system can do that. The bytes, the offset and where they are in
    /// memory are whole pages of [`PAGE_BYTES`]; whoever reads them must not count on finding them cached.
    ///
    /// # Errors
    /// The system refuses; any part may have been written.
    fn write_direct_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.write_at(bytes, offset)
    }

    /// Makes everything written to this file durable.
    ///
    /// # Errors
    /// The device failed. What was written since the last success may be lost, and trying again proves nothing.
    fn sync(&self) -> io::Result<()>;

    /// The length of the file.
    ///
    /// # Errors
    /// The system refuses.
    fn length(&self) -> io::Result<u64>;

    /// Cuts or extends the file.
    ///
    /// # Errors
    /// The system refuses.
    fn set_length(&self, length: u64) -> io::Result<()>;
}

/// What devices are written in past the page cache. Some would take less, none needs more.
pub(crate) const PAGE_BYTES: usize = 4096;

/// True when all that is wrong is that there is no room.
pub(crate) fn is_no_room(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Reads a range that must exist whole.
///
/// # Errors
/// `UnexpectedEof` when the file ends first.
pub fn read_exactly_at(file: &dyn DiskFile, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    if file.read_at(buffer, offset)? == buffer.len() { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
