//! What a share, a directory and a file are while rules are applied to them. How they are stored, `records` says.

use concurrency::lease::Lease;
use store::epoch::Epochs;
use types::{ContentId, CopyState, CopyStatus, ETag, FileTime, HttpHeaders, Inode, Metadata, Timestamp, UnitId};

use crate::{permission::PermissionKey, share::ShareSettings};

/// A share, or the state of one that a snapshot keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) unit: UnitId,
    /// Its topmost directory.
    pub(crate) root: Inode,
    pub(crate) etag: ETag,
    pub(crate) last_modified: Timestamp,
    pub(crate) lease: Lease,
    pub(crate) metadata: Metadata,
    pub(crate) settings: ShareSettings,
    /// What is written now belongs to this epoch; of a snapshot, what it reads at.
    pub(crate) epoch: u64,
    /// The epoch of the newest snapshot that there is.
    pub(crate) newest_snapshot: Option<u64>,
    pub(crate) snapshots: u64,
    /// The time of the newest snapshot it ever had; the epoch when it never had one.
    pub(crate) last_snapshot: Timestamp,
}

impl Share {
    /// What writers of rows of the share need to know.
    pub(crate) const fn epochs(&self) -> Epochs {
        Epochs { current: self.epoch, newest_snapshot: self.newest_snapshot }
    }

    /// It was changed: a new ETag, and the time.
    pub(crate) fn touch(&mut self, now: Timestamp, salt: u64) {
        self.etag = ETag::next(Some(self.etag), now, salt);
        self.last_modified = now.max(self.last_modified);
    }
}

/// What a name in a directory means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The epoch of the share since which it is so.
    pub(crate) since: u64,
    pub(crate) inode: Inode,
    pub(crate) is_directory: bool,
    /// The name with its case.
    pub(crate) name: String,
}

/// A directory or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// The epoch of the share since which it is so.
    pub(crate) since: u64,
    pub(crate) inode: Inode,
    /// The directory it is in; its own for the topmost one.
    pub(crate) parent: Inode,
    pub(crate) etag: ETag,
    pub(crate) last_modified: Timestamp,
    pub(crate) smb: SmbProperties,
    pub(crate) metadata: Metadata,
    /// `None` for a directory.
    pub(crate) file: Option<Box<File>>,
}

impl Node {
    /// It was written: a new ETag, and the time. Time never goes back, also not for a file.
    pub(crate) fn touch(&mut self, now: Timestamp, salt: u64) {
        self.etag = ETag::next(Some(self.etag), now, salt);
        self.last_modified = now.max(self.last_modified);
    }

    pub(crate) const fn is_directory(&self) -> bool {
        self.file.is_none()
    }
}

/// What SMB calls attributes and times, and the key of the security descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmbProperties {
    /// The bits of FILE_ATTRIBUTE_*.
    pub attributes: FileAttributes,
    /// When it was created.
    pub created: FileTime,
    /// When its bytes were last written.
    pub written: FileTime,
    /// When anything of it last changed.
    pub changed: FileTime,
    /// When it was last read, as far as anybody said so.
    pub accessed: FileTime,
    /// Its security descriptor.
    pub permission: PermissionKey,
}

/// The attributes of a directory or a file, as SMB numbers them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileAttributes(pub u32);

impl FileAttributes {
    /// Nothing else.
    pub const NORMAL: Self = Self(0x80);
    /// Cannot be written or deleted.
    pub const READ_ONLY: Self = Self(0x01);
    /// A directory.
    pub const DIRECTORY: Self = Self(0x10);
    /// Changed since the last backup.
    pub const ARCHIVE: Self = Self(0x20);

    /// True when all of these are set.
    #[must_use]
    pub const fn has(self, wanted: Self) -> bool {
        self.0 & wanted.0 == wanted.0
    }
}

/// What only a file has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct File {
    pub(crate) content: ContentId,
    pub(crate) length: u64,
    /// Bytes that were written and not cleared.
    pub(crate) allocated: u64,
    /// What is written now belongs to this epoch of the map; what is kept for a snapshot reads at it.
    pub(crate) epoch: u64,
    /// The newest epoch of the map that others still read.
    pub(crate) newest_shared_epoch: Option<u64>,
    /// Behind the end of the file the map may hold what was cut off.
    pub(crate) untrimmed: bool,
    pub(crate) headers: HttpHeaders,
    pub(crate) lease: Lease,
    pub(crate) copy: Option<CopyState>,
}

impl File {
    /// A copy into it has not ended.
    pub(crate) fn is_copying(&self) -> bool {
        self.copy.as_ref().is_some_and(|copy| copy.status == CopyStatus::Pending)
    }

    /// What writers of the map need to know.
    pub(crate) const fn epochs(&self) -> Epochs {
        Epochs { current: self.epoch, newest_snapshot: self.newest_shared_epoch }
    }
}
