//! The file `VERSION`: which format a data directory has, and the number that only this store knows.
//!
//! The number goes into the checksum of every frame header, so that no client can write bytes that look like a frame of
//! this log: small chunks stand inline in the log, and recovery searches it for frames.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    io,
};

use crate::{
    disk::Disk,
    open::{FORMAT, OLDEST_FORMAT, OpenError},
};

pub(crate) const VERSION_FILE: &str = "VERSION";
const TEMPORARY: &str = "VERSION.new";

/// What tells one store from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) salt: u64,
}

impl Identity {
    /// A new store's. Unpredictable: a hasher without input has nothing but its random keys.
    pub(crate) fn new() -> Self {
        Self { salt: RandomState::new().build_hasher().finish() }
    }

    /// The one of an existing store of a format that this build reads; `None` when there is no store yet.
    pub(crate) fn read(disk: &dyn Disk) -> Result<Option<Self>, OpenError> {
        let file = match disk.open(VERSION_FILE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mut bytes = [0; 64];
        let count = file.read_at(&mut bytes, 0)?;
        let text = String::from_utf8_lossy(bytes.get(..count).unwrap_or_default()).into_owned();
        let mut lines = text.lines();
        let format = lines.next().and_then(|line| line.strip_prefix("lazuli ")?.parse::<u32>().ok());
        match format {
            Some(found) if found > FORMAT => return Err(OpenError::Newer { found }),
            Some(found @ 1..OLDEST_FORMAT) => return Err(OpenError::Older { found }),
            Some(OLDEST_FORMAT..) => {}
            _ => return Err(OpenError::NotOurs(text)),
        }
        let salt = lines.next().and_then(|line| u64::from_str_radix(line.strip_prefix("salt ")?, 16).ok());
        salt.map(|salt| Some(Self { salt })).ok_or(OpenError::NotOurs(text))
    }

    /// Says that there is a store: last of all, when its directories and the first frame of its log are there for good.
    pub(crate) fn write(self, disk: &dyn Disk) -> io::Result<()> {
        disk.sync_directory("")?;
        match disk.remove(TEMPORARY) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = disk.create(TEMPORARY)?;
        file.write_at(format!("lazuli {FORMAT}\nsalt {:016x}\n", self.salt).as_bytes(), 0)?;
        file.sync()?;
        disk.rename(TEMPORARY, VERSION_FILE)?;
        disk.sync_directory("")
    }
}
