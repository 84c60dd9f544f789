//! Share modes: which opens of one file can stand side by side.
//!
//! Owns the comparison of access and share mode. Must never know the protocol that opened: SMB and REST bring the same
//! two values. Invariant: compatibility is mutual, so the order of two opens never decides whether they conflict.

/// What an open does to the file's data. Rights to attributes, to the security descriptor and to synchronise are not
/// counted: such opens take no part in sharing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Access {
    /// Reads data or executes.
    pub read: bool,
    /// Writes or appends data.
    pub write: bool,
    /// Deletes or renames.
    pub delete: bool,
}

impl Access {
    /// Attributes only.
    pub const NONE: Self = Self { read: false, write: false, delete: false };
    /// Reads.
    pub const READ: Self = Self { read: true, ..Self::NONE };
    /// Writes.
    pub const WRITE: Self = Self { write: true, ..Self::NONE };
    /// Deletes.
    pub const DELETE: Self = Self { delete: true, ..Self::NONE };
    /// Writes and deletes.
    pub const WRITE_DELETE: Self = Self { write: true, delete: true, ..Self::NONE };
    /// All three.
    pub const ALL: Self = Self { read: true, ..Self::WRITE_DELETE };

    /// The access that the rights of an open stand for in the check.
    ///
    /// ```
    /// use concurrency::share_mode::{Access, FileRights};
    /// let rights = FileRights { execute: true, ..FileRights::default() };
    /// assert_eq!(Access::of(rights), Access::READ);
    /// assert_eq!(Access::of(FileRights { overwrite: true, ..rights }), Access { write: true, ..Access::READ });
    /// ```
    #[must_use]
    pub const fn of(rights: FileRights) -> Self {
        Self {
            read: rights.read_data || rights.execute,
            write: rights.write_data || rights.append_data || rights.overwrite,
            delete: rights.delete,
        }
    }

    /// True when nothing is accessed that sharing is about.
    #[must_use]
    pub const fn is_none(self) -> bool {
        !self.read && !self.write && !self.delete
    }
}

/// The rights of an open that count for sharing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FileRights {
    /// Read data.
    pub read_data: bool,
    /// Write data.
    pub write_data: bool,
    /// Append data.
    pub append_data: bool,
    /// Execute, which reads.
    pub execute: bool,
    /// Delete, which a rename needs too.
    pub delete: bool,
    /// The open itself truncates or replaces the file, whatever rights it asks for.
    pub overwrite: bool,
}

/// What an open lets the other opens do meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ShareMode {
    /// Others may read.
    pub read: bool,
    /// Others may write.
    pub write: bool,
    /// Others may delete.
    pub delete: bool,
}

impl ShareMode {
    /// Nothing: an exclusive open.
    pub const NONE: Self = Self { read: false, write: false, delete: false };
    /// Reading.
    pub const READ: Self = Self { read: true, ..Self::NONE };
    /// Everything.
    pub const ALL: Self = Self { read: true, write: true, delete: true };

    const fn allows(self, access: Access) -> bool {
        (self.read || !access.read) && (self.write || !access.write) && (self.delete || !access.delete)
    }
}

/// Access and share mode of one open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct OpenMode {
    /// What it does.
    pub access: Access,
    /// What it lets others do.
    pub share: ShareMode,
}

impl OpenMode {
    /// Whether two opens of one file cannot stand side by side.
    ///
    /// ```
    /// use concurrency::share_mode::{Access, OpenMode, ShareMode};
    /// let reader = OpenMode { access: Access::READ, share: ShareMode::READ };
    /// let writer = OpenMode { access: Access::WRITE, share: ShareMode::ALL };
    /// assert!(!reader.conflicts_with(reader) && reader.conflicts_with(writer));
    /// ```
    #[must_use]
    pub const fn conflicts_with(self, other: Self) -> bool {
        if self.access.is_none() || other.access.is_none() {
            return false;
        }
        !self.share.allows(other.access) || !other.share.allows(self.access)
    }
}

/// The open conflicts with another one (SMB sharing violation, REST 409 SharingViolation).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the file is in use by another open with a conflicting share mode")]
pub struct SharingViolation;

/// Decides whether a file can be opened beside the opens that exist.
///
/// # Errors
/// [`SharingViolation`].
///
/// ```
/// use concurrency::share_mode::{Access, OpenMode, ShareMode, check_open};
/// let exclusive = OpenMode { access: Access::WRITE, share: ShareMode::NONE };
/// assert!(check_open([], exclusive).is_ok());
/// assert!(check_open([exclusive], OpenMode { access: Access::READ, share: ShareMode::ALL }).is_err());
/// assert!(check_open([exclusive], OpenMode::default()).is_ok(), "attributes only");
/// ```
pub fn check_open(opens: impl IntoIterator<Item = OpenMode>, requested: OpenMode) -> Result<(), SharingViolation> {
    if opens.into_iter().any(|open| open.conflicts_with(requested)) { Err(SharingViolation) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
