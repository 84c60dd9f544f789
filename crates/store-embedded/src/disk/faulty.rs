//! A disk that fails the call it was told to, on top of another disk.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{Disk, DiskFile, opening};

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The call fails with an input/output error and does nothing.
    Error,
    /// The device has no space for writes and creations until the fault is taken back.
    NoSpace,
    /// The same, for whoever writes for us: there is space, but none that we may use.
    NoQuota,
    /// No file can be opened or created until the fault is taken back: every descriptor is in use.
    NoHandles,
    /// A write or a sync fails because the system has no memory, which says nothing about what reached the device.
    NoMemory,
    /// A write stores only its first half and fails.
    ShortWrite,
    /// A sync fails.
    FailedSync,
    /// A sync of a file says that it is done, and does nothing.
    SkippedSync,
    /// The same for directories.
    SkippedDirectorySync,
    /// A read returns one flipped bit.
    FlippedBit,
}

/// A disk with faults. Clones share them.
#[derive(Clone)]
pub struct FaultyDisk {
    inner: Arc<dyn Disk>,
    plan: Arc<Mutex<Plan>>,
}

#[derive(Default)]
struct Plan {
    fault: Option<Fault>,
    /// Only files whose name contains this.
    only: String,
    /// Calls the fault could have hit that still go well.
    spare: u64,
    hits: u64,
}

impl FaultyDisk {
    /// No faults yet.
    pub fn new(inner: impl Disk) -> Self {
        Self { inner: Arc::new(inner), plan: Arc::default() }
    }

    /// From the `after`th matching call on, `fault` hits files whose name contains `only`. Until [`FaultyDisk::heal`].
    pub fn inject(&self, fault: Fault, only: &str, after: u64) {
        *self.plan() = Plan { fault: Some(fault), only: only.to_owned(), spare: after, hits: 0 };
    }

    /// Everything goes well again.
    pub fn heal(&self) {
        *self.plan() = Plan::default();
    }

    /// How often the present fault has hit.
    #[must_use]
    pub fn hits(&self) -> u64 {
        self.plan().hits
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The fault that hits this call, if any of `possible` does.
    fn strikes(&self, name: &str, possible: &[Fault]) -> Option<Fault> {
        let mut plan = self.plan();
        let fault = plan.fault.filter(|fault| possible.contains(fault) && name.contains(&plan.only))?;
        if plan.spare > 0 {
            plan.spare -= 1;
            return None;
        }
        plan.hits += 1;
        Some(fault)
    }

    fn wrap(&self, name: &str, file: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        Arc::new(FaultyFile { disk: self.clone(), name: name.to_owned(), inner: file })
    }
}

fn error_of(fault: Fault) -> io::Error {
    match fault {
        Fault::NoSpace => io::Error::from(io::ErrorKind::StorageFull),
        Fault::NoQuota => io::Error::from(io::ErrorKind::QuotaExceeded),
        Fault::NoHandles => io::Error::from(rustix::io::Errno::MFILE),
        Fault::NoMemory => io::Error::from(rustix::io::Errno::NOMEM),
        other => io::Error::other(format!("injected: {other:?}")),
    }
}

impl Disk for FaultyDisk {
    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        match self.strikes(name, &[Fault::NoHandles]) {
            Some(fault) => opening(Err(error_of(fault))),
            None => self.inner.open(name).map(|file| self.wrap(name, file)),
        }
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        match self.strikes(name, &[Fault::Error, Fault::NoSpace, Fault::NoQuota, Fault::NoHandles]) {
            Some(fault) => opening(Err(error_of(fault))),
            None => self.inner.create(name).map(|file| self.wrap(name, file)),
        }
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        match self.strikes(name, &[Fault::Error]) {
            Some(fault) => Err(error_of(fault)),
            None => self.inner.remove(name),
        }
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
        match self.strikes(directory, &[Fault::FailedSync, Fault::SkippedDirectorySync]) {
            Some(Fault::SkippedDirectorySync) => Ok(()),
            Some(fault) => Err(error_of(fault)),
            None => self.inner.sync_directory(directory),
        }
    }

    fn available_bytes(&self) -> io::Result<u64> {
        if self.plan().fault == Some(Fault::NoSpace) { Ok(0) } else { self.inner.available_bytes() }
    }
}

struct FaultyFile {
    disk: FaultyDisk,
    name: String,
    inner: Arc<dyn DiskFile>,
}

impl DiskFile for FaultyFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let fault = self.disk.strikes(&self.name, &[Fault::FlippedBit]);
        let count = self.inner.read_at(buffer, offset)?;
        if fault.is_some()
            && let Some(byte) = buffer.get_mut(count / 2)
        {
            *byte ^= 1;
        }
        Ok(count)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let possible = [Fault::Error, Fault::NoSpace, Fault::NoQuota, Fault::NoMemory, Fault::ShortWrite];
        match self.disk.strikes(&self.name, &possible) {
            Some(Fault::ShortWrite) => {
                self.inner.write_at(bytes.get(..bytes.len() / 2).unwrap_or_default(), offset)?;
                Err(error_of(Fault::ShortWrite))
            }
            Some(fault) => Err(error_of(fault)),
            None => self.inner.write_at(bytes, offset),
        }
    }

    fn sync(&self) -> io::Result<()> {
        match self.disk.strikes(&self.name, &[Fault::FailedSync, Fault::SkippedSync, Fault::NoMemory]) {
            Some(Fault::SkippedSync) => Ok(()),
            Some(fault) => Err(error_of(fault)),
            None => self.inner.sync(),
        }
    }

    fn length(&self) -> io::Result<u64> {
        self.inner.length()
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.inner.set_length(length)
    }
}
