//! The machine's file system below one data directory.

#![expect(clippy::disallowed_methods, reason = "this is the file that owns std::fs")]

use std::{
    collections::HashMap,
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, IoSliceMut},
    os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use rustix::{
    fs::FlockOperation,
    io::{Errno, ReadWriteFlags},
};

use super::{Disk, DiskFile, opening};

/// Files below a directory of the machine.
#[derive(Debug)]
pub struct RealDisk {
    root: PathBuf,
    /// Handles of the directories that were synced: a sync must not depend on whether another file can be opened.
    directories: Mutex<HashMap<String, Arc<File>>>,
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
        Ok(Self { root, directories: Mutex::default() })
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

/// What others than the owner may do with files and directories of a store: nothing, whatever the mode of the directory
/// above them, which may have been there before.
const FILE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;

/// Creates a directory below a data directory, and what is missing above it, for the owner alone; takes from others what
/// they may do with one that is there. What somebody else writes into it is safe by that, whatever its own mode.
pub(crate) fn make_private(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(path)?;
    close_to_others(path, DIRECTORY_MODE)
}

/// Takes from others what they may do with a file or directory.
fn close_to_others(path: &Path, mode: u32) -> io::Result<()> {
    let found = fs::metadata(path)?.permissions().mode();
    if found & 0o077 == 0 { Ok(()) } else { fs::set_permissions(path, Permissions::from_mode(mode)) }
}

/// Copies a file; only its owner can read the copy.
pub(crate) fn copy_private(from: &Path, to: &Path) -> io::Result<u64> {
    let mut copy = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(to)?;
    let bytes = io::copy(&mut File::open(from)?, &mut copy)?;
    copy.sync_all()?;
    Ok(bytes)
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
        let path = self.root.join("LOCK");
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(FILE_MODE).open(&path)?;
        for name in ["LOCK", "VERSION"] {
            // One of an older build.
            match close_to_others(&self.root.join(name), FILE_MODE) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
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
        RealFile::open(self.root.join(name), OpenOptions::new().read(true).write(true))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        RealFile::open(self.root.join(name), OpenOptions::new().read(true).write(true).create_new(true).mode(FILE_MODE))
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
        make_private(&self.root.join(directory))
    }

    fn sync_directory(&self, directory: &str) -> io::Result<()> {
        let mut directories = self.directories.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = match directories.get(directory) {
            Some(handle) => Arc::clone(handle),
            None => {
                let handle = Arc::new(opening(File::open(self.root.join(directory)))?);
                directories.insert(directory.to_owned(), Arc::clone(&handle));
                handle
            }
        };
        drop(directories);
        handle.sync_all()
    }

    fn available_bytes(&self) -> io::Result<u64> {
        let space = rustix::fs::statvfs(&self.root)?;
        Ok(space.f_bavail.saturating_mul(space.f_frsize))
    }
}

struct RealFile {
    file: File,
    path: PathBuf,
    /// The same file past the page cache; `None` where the file system cannot do that.
    direct: OnceLock<Option<File>>,
    /// It said that it could, and could not.
    indirect: AtomicBool,
}

impl RealFile {
    fn open(path: PathBuf, options: &OpenOptions) -> io::Result<Arc<dyn DiskFile>> {
        let file = opening(options.open(&path))?;
        Ok(Arc::new(Self { file, path, direct: OnceLock::new(), indirect: AtomicBool::new(false) }))
    }

    fn direct(&self) -> Option<&File> {
        let open = || {
            let flags = i32::try_from(rustix::fs::OFlags::DIRECT.bits()).ok()?;
            // Whatever is wrong, the ordinary way is open.
            OpenOptions::new().write(true).custom_flags(flags).open(&self.path).ok()
        };
        self.direct.get_or_init(open).as_ref().filter(|_| !self.indirect.load(Ordering::Relaxed))
    }
}

impl DiskFile for RealFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.file.read_at(rest, offset + u64::try_from(filled).unwrap_or(u64::MAX)) {
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
        match rustix::io::preadv2(&self.file, &mut [IoSliceMut::new(buffer)], offset, ReadWriteFlags::NOWAIT) {
            Ok(count) if count == wanted => Ok(Some(count)),
            // A short count may be the end of what is cached or the end of the file: let the waiting read tell.
            Ok(_) | Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn write_direct_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let Some(direct) = self.direct() else { return self.write_at(bytes, offset) };
        match direct.write_all_at(bytes, offset) {
            // Its pages are larger than ours, or it takes what it cannot do.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                self.indirect.store(true, Ordering::Relaxed);
                self.write_at(bytes, offset)
            }
            written => written,
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_go_past_the_page_cache_goes_through_it() {
        let directory = tempfile::tempdir().unwrap();
        let disk = RealDisk::new(directory.path()).unwrap();
        let file = disk.create("file").unwrap();
        // Not a whole page, not at a page, and not at one in memory: no device takes that without a copy.
        file.write_direct_at(b"hello", 3).unwrap();
        let mut read = [0; 8];
        assert_eq!(file.read_at(&mut read, 0).unwrap(), 8);
        assert_eq!(&read, b"\0\0\0hello");
        // From then on nothing is tried that was refused.
        file.write_direct_at(b"again", 3).unwrap();
        assert_eq!(file.read_at(&mut read, 0).unwrap(), 8);
        assert_eq!(&read, b"\0\0\0again");
    }

    #[test]
    fn a_removed_file_still_takes_direct_writes() {
        let directory = tempfile::tempdir().unwrap();
        let disk = RealDisk::new(directory.path()).unwrap();
        let file = disk.create("file").unwrap();
        disk.remove("file").unwrap();
        file.write_direct_at(&[7; 4096], 4096).unwrap();
        assert_eq!(file.length().unwrap(), 8192);
    }
}
