//! The machine's file system below one data directory.

#![expect(clippy::disallowed_methods, reason = "this is the file that owns std::fs")]

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, IoSliceMut},
    os::unix::fs::{DirBuilderExt as _, FileExt},
    path::{Path, PathBuf},
    sync::Arc,
};

use rustix::{
    fs::FlockOperation,
    io::{Errno, ReadWriteFlags},
};

use super::{Disk, DiskFile};

/// Files below a directory of the machine.
#[derive(Debug)]
pub struct RealDisk {
    root: PathBuf,
}

impl RealDisk {
    /// The disk of a data directory, which is created if it is missing.
    ///
    /// # Errors
    /// The directory cannot be created.
    pub fn new(root: impl Into<PathBuf>) -> io::Result<Self> {
        let root: PathBuf = root.into();
        if root.exists() && !root.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        if !root.is_dir() {
            let parent = create_private(&root)?;
            // Its name must survive too.
            File::open(parent)?.sync_all()?;
        }
        Ok(Self { root })
    }
}

/// Creates a directory that only its owner can read, because the keys of accounts stand in it, and what is missing above
/// it. Returns the one above it.
pub(crate) fn create_private(path: &Path) -> io::Result<&Path> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent)?;
    DirBuilder::new().mode(0o700).create(path)?;
    Ok(parent)
}

/// An exclusive lock on a data directory, held by the open file and so ended with the process, however it ends.
#[derive(Debug)]
pub struct DirectoryLock(#[expect(dead_code, reason = "held, not used")] File);

impl DirectoryLock {
    fn take(file: File, how: FlockOperation) -> io::Result<Option<Self>> {
        match rustix::fs::flock(&file, how) {
            Ok(()) => Ok(Some(Self(file))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl RealDisk {
    /// Takes the lock of the data directory; `None` when another process has it.
    ///
    /// # Errors
    /// The lock file cannot be created.
    pub fn lock(&self) -> io::Result<Option<DirectoryLock>> {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(self.root.join("LOCK"))?;
        DirectoryLock::take(file, FlockOperation::NonBlockingLockExclusive)
    }

    /// Keeps others from opening the data directory while it is read as it stands; `None` when another process has it.
    /// One that was never opened has nothing to lock.
    ///
    /// # Errors
    /// The lock file cannot be read.
    pub fn lock_as_it_stands(&self) -> io::Result<Option<DirectoryLock>> {
        let file = match File::open(self.root.join("LOCK")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => File::open(&self.root)?,
            opened => opened?,
        };
        DirectoryLock::take(file, FlockOperation::NonBlockingLockShared)
    }
}

impl Disk for RealDisk {
    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let file = OpenOptions::new().read(true).write(true).open(self.root.join(name))?;
        Ok(Arc::new(RealFile(file)))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(self.root.join(name))?;
        Ok(Arc::new(RealFile(file)))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.root.join(name))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.root.join(from), self.root.join(to))
    }

    fn list(&self, directory: &str) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(self.root.join(directory)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry?;
            if let (true, Ok(name)) = (entry.file_type()?.is_file(), entry.file_name().into_string()) {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn create_directory(&self, directory: &str) -> io::Result<()> {
        fs::create_dir_all(self.root.join(directory))
    }

    fn sync_directory(&self, directory: &str) -> io::Result<()> {
        File::open(self.root.join(directory))?.sync_all()
    }

    fn available_bytes(&self) -> io::Result<u64> {
        let space = rustix::fs::statvfs(&self.root)?;
        Ok(space.f_bavail.saturating_mul(space.f_frsize))
    }
}

struct RealFile(File);

impl DiskFile for RealFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.0.read_at(rest, offset + u64::try_from(filled).unwrap_or(u64::MAX)) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    fn read_cached_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<Option<usize>> {
        let wanted = buffer.len();
        match rustix::io::preadv2(&self.0, &mut [IoSliceMut::new(buffer)], offset, ReadWriteFlags::NOWAIT) {
            Ok(count) if count == wanted => Ok(Some(count)),
            // A short count may be the end of what is cached or the end of the file: let the waiting read tell.
            Ok(_) | Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }
}
