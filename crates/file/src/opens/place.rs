//! How a file, a handle and a cache are named in the table of opens, and where a file is.

use types::{Inode, UnitId};

/// One directory or file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileKey {
    /// The share.
    pub share: UnitId,
    /// The directory or file in it.
    pub inode: Inode,
}

/// A handle: unique in the process, larger than every one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HandleId(u64);

impl HandleId {
    /// The handle with this number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number, as List Handles shows it.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// Under which a client caches a file through all of its handles: the client and the key that it chose. A key is of one
/// file at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeaseKey {
    /// The account as which the client has logged on: how clients call themselves is theirs to say.
    pub account: UnitId,
    /// The client.
    pub client: [u8; 16],
    /// Its key.
    pub key: [u8; 16],
}

/// Whose cache it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CacheKey {
    /// The oplock of one handle.
    Oplock(HandleId),
    /// A lease of a client, shared by its handles on the file.
    Lease(LeaseKey),
}

/// One directory on the way to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) inode: Inode,
    pub(super) name: Box<str>,
}

/// Where a file is: every directory from the root of the share down to it.
///
/// ```
/// use file::opens::Place;
/// use types::{Inode, UnitId};
/// let place = Place::root(UnitId::new(1), Inode::new(2)).child(Inode::new(3), "docs").child(Inode::new(4), "a.txt");
/// assert_eq!(place.file().inode, Inode::new(4));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    share: UnitId,
    above: Vec<Step>,
    last: Step,
}

impl Place {
    /// The root directory of a share.
    #[must_use]
    pub fn root(share: UnitId, inode: Inode) -> Self {
        Self { share, above: Vec::new(), last: Step { inode, name: "".into() } }
    }

    /// What has this name in the directory.
    #[must_use]
    pub fn child(mut self, inode: Inode, name: &str) -> Self {
        let parent = std::mem::replace(&mut self.last, Step { inode, name: name.into() });
        self.above.push(parent);
        self
    }

    /// The directory or file that is there.
    #[must_use]
    pub const fn file(&self) -> FileKey {
        FileKey { share: self.share, inode: self.last.inode }
    }

    /// The directory that it is in; `None` for the root directory of the share.
    #[must_use]
    pub fn directory(&self) -> Option<FileKey> {
        self.directories().next()
    }

    /// The directories that it is in, the innermost first.
    pub(crate) fn directories(&self) -> impl Iterator<Item = FileKey> {
        self.above.iter().rev().map(|step| FileKey { share: self.share, inode: step.inode })
    }

    /// Its path from one of these directories, with `/` between names.
    pub(crate) fn path_from(&self, directory: FileKey) -> Box<str> {
        let mut names: Vec<&str> =
            self.above.iter().rev().take_while(|step| step.inode != directory.inode).map(|step| &*step.name).collect();
        names.reverse();
        names.push(&self.last.name);
        names.join("/").into()
    }

    /// True for the root directory of the share.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.above.is_empty()
    }

    pub(super) const fn share(&self) -> UnitId {
        self.share
    }

    /// The directories above, the root first, and the file itself.
    pub(super) fn steps(&self) -> impl Iterator<Item = &Step> {
        self.above.iter().chain([&self.last])
    }
}
