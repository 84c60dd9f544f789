//! What a file says about itself, in the words of SMB: FILETIMEs, attributes, sizes.

use file::object::NodeProperties;
use types::{FileTime, Timestamp};

use crate::wire::create::{FileTimes, attributes};

/// What a file takes is told in units of so many bytes.
pub(crate) const CLUSTER_BYTES: u64 = 4096;

/// A file, in the words of SMB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Described {
    pub(crate) created: u64,
    pub(crate) accessed: u64,
    pub(crate) written: u64,
    pub(crate) changed: u64,
    pub(crate) attributes: u32,
    pub(crate) length: u64,
    pub(crate) allocation: u64,
    pub(crate) inode: u64,
    pub(crate) is_directory: bool,
}

impl Described {
    pub(crate) fn of(properties: &NodeProperties) -> Self {
        let length = properties.file.as_ref().map_or(0, |file| file.length);
        let bits = properties.smb.attributes.0;
        Self {
            created: properties.smb.created.filetime(),
            accessed: properties.smb.accessed.filetime(),
            written: properties.smb.written.filetime(),
            changed: properties.smb.changed.filetime(),
            // No attribute at all has a name of its own.
            attributes: if bits == 0 { attributes::NORMAL } else { bits },
            length,
            allocation: length.div_ceil(CLUSTER_BYTES).saturating_mul(CLUSTER_BYTES),
            inode: properties.inode.number(),
            is_directory: properties.file.is_none(),
        }
    }

    pub(crate) const fn times(&self) -> FileTimes {
        FileTimes {
            creation_time: self.created,
            last_access_time: self.accessed,
            last_write_time: self.written,
            change_time: self.changed,
        }
    }
}

/// A time as SMB has it.
pub(crate) const fn filetime(time: Timestamp) -> u64 {
    FileTime::of(time).filetime()
}
