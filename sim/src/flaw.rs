//! Bugs that can be planted, so that the simulator can show that it finds them. They are planted around the engine: a disk
//! that lies is to the engine above it what an engine without that call is to the disk.

use std::{io, sync::Arc};

use store_embedded::disk::{Disk, DiskFile};

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

/// A disk that leaves out what the flaw leaves out.
pub(crate) struct LyingDisk {
    pub(crate) inner: Arc<dyn Disk>,
    pub(crate) flaw: Option<Flaw>,
}

struct LyingFile {
    inner: Arc<dyn DiskFile>,
}

impl LyingDisk {
    fn file(&self, name: &str, inner: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        if self.flaw == Some(Flaw::AnswerBeforeSync) && name.starts_with("log/") {
            return Arc::new(LyingFile { inner });
        }
        inner
    }
}

impl Disk for LyingDisk {
    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        self.inner.open(name).map(|file| self.file(name, file))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        self.inner.create(name).map(|file| self.file(name, file))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.inner.remove(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn list(&self, directory: &str) -> io::Result<Vec<String>> {
        self.inner.list(directory)
    }

    fn create_directory(&self, directory: &str) -> io::Result<()> {
        self.inner.create_directory(directory)
    }

    fn sync_directory(&self, directory: &str) -> io::Result<()> {
        if self.flaw == Some(Flaw::LostDirectorySync) { Ok(()) } else { self.inner.sync_directory(directory) }
    }

    fn available_bytes(&self) -> io::Result<u64> {
        self.inner.available_bytes()
    }
}

impl DiskFile for LyingFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.inner.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.inner.write_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        self.inner.length()
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.inner.set_length(length)
    }
}
