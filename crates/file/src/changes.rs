//! The change feed: what changes in a directory is told to those who watch it, or a directory above it.
//!
//! Every operation that changes names, attributes, sizes, times or security descriptors says so here, whatever protocol it came
//! by, when the change is durable. The one exception are writes through handles: they are told when they are answered, as
//! everybody sees them from then on.
//!
//! ```text
//!   operation ---- about() ----> transaction ----> told()        a number, taken inside the transaction
//!                                            ----> undone()      nothing is told
//!                                            ----> drop          nobody knows: who watches has to look
//!
//!   watcher   ---- next() -----> the changes that are there, or the next ones
//! ```
//!
//! **Invariants.** Changes are told in the order of the numbers that were taken inside their transactions, so of two that depend on
//! each other the first is told first. No change is lost: who cannot be told what changed is told to look for itself
//! ([`Told::Enumerate`]). What watchers hold is bounded, each for itself, for its owner and for all. When nobody watches,
//! a change costs one load and allocates nothing.

mod table;
mod telling;
#[cfg(test)]
mod tests;
mod watcher;

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use types::{UnitId, limits};

use self::table::Table;
pub(crate) use self::telling::Telling;
pub use self::{
    table::{Feed, TooManyWatchers},
    watcher::{Next, Watcher},
};
use crate::{
    Files,
    handle_io::found,
    history::At,
    opens::{Bell, FileKey, Place},
    smb_change::{SmbChange, TimeChange},
};

/// What happened to a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeAction {
    /// It is there now.
    Added,
    /// It is gone.
    Removed,
    /// What has this name changed.
    Modified,
    /// It was the name of what has the next one now.
    RenamedFrom,
    /// It is the name of what had the one before.
    RenamedTo,
}

/// Kinds of changes, as the completion filters of MS-FSCC number them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ChangeKinds(pub u32);

impl ChangeKinds {
    /// The name of a file.
    pub const FILE_NAME: Self = Self(0x001);
    /// The name of a directory.
    pub const DIRECTORY_NAME: Self = Self(0x002);
    /// Attributes.
    pub const ATTRIBUTES: Self = Self(0x004);
    /// The length of a file.
    pub const SIZE: Self = Self(0x008);
    /// The time of the last write, and what was written.
    pub const LAST_WRITE: Self = Self(0x010);
    /// The time of the last read.
    pub const LAST_ACCESS: Self = Self(0x020);
    /// The time of its creation.
    pub const CREATION: Self = Self(0x040);
    /// The security descriptor.
    pub const SECURITY: Self = Self(0x100);

    /// What a write changes.
    pub(crate) const WRITTEN: Self = Self::SIZE.and(Self::LAST_WRITE);
    /// What changes of a file that is made anew in its place.
    pub(crate) const REPLACED: Self =
        Self::WRITTEN.and(Self::ATTRIBUTES).and(Self::CREATION).and(Self::SECURITY).and(Self::LAST_ACCESS);
    /// What a rename of a file changes beside its name.
    const MOVED: Self = Self::ATTRIBUTES.and(Self::CREATION);

    /// These and those.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether they have one in common.
    #[must_use]
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Of a name.
    pub(crate) const fn name(is_directory: bool) -> Self {
        if is_directory { Self::DIRECTORY_NAME } else { Self::FILE_NAME }
    }

    /// What a request says that it sets, whether or not it is so already.
    pub(crate) fn set_by(change: &SmbChange) -> Self {
        let said = |time: Option<TimeChange>| matches!(time, Some(TimeChange::Now | TimeChange::At(_)));
        let all = [
            (change.attributes.is_some(), Self::ATTRIBUTES),
            (said(change.created), Self::CREATION),
            (said(change.written), Self::LAST_WRITE),
            (said(change.accessed), Self::LAST_ACCESS),
            (change.permission.is_some(), Self::SECURITY),
        ];
        all.into_iter().filter(|(is_set, _)| *is_set).fold(Self::default(), |sum, (_, kind)| sum.and(kind))
    }
}

/// One change, at its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) place: Place,
    pub(crate) action: ChangeAction,
    pub(crate) kinds: ChangeKinds,
    /// Who wants these is told by another one.
    unless: ChangeKinds,
}

impl Change {
    pub(crate) const fn new(place: Place, action: ChangeAction, kinds: ChangeKinds) -> Self {
        Self { place, action, kinds, unless: ChangeKinds(0) }
    }
}

/// A change as a watcher is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// What happened.
    pub action: ChangeAction,
    /// To what: its path from the watched directory, with `/` between names.
    pub path: Box<str>,
}

/// What a watcher is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// These changes, the oldest first.
    Changes(Vec<Seen>),
    /// More than it can hold: look at the directory.
    Enumerate,
    /// It watches no more.
    Ended(WatchEnd),
}

/// Why a request of a watcher ends without a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchEnd {
    /// The watcher is closed.
    Closed,
    /// The directory is going to be deleted, or its share is.
    Deleted,
}

/// What is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// The directory.
    pub directory: FileKey,
    /// And everything below it.
    pub tree: bool,
    /// Which changes are told.
    pub kinds: ChangeKinds,
    /// Bytes of changes that are kept between two requests, as SMB counts them.
    pub limit: usize,
    /// Whose watcher it is: those of one owner have bounds together.
    pub owner: u64,
}

/// The feed; clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// So many are registered.
    watchers: AtomicUsize,
    table: Mutex<Table>,
}

impl Changes {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the table, and wakes who has something afterwards.
    fn with<T>(&self, change: impl FnOnce(&mut Table, &mut Vec<Arc<Bell>>) -> T) -> T {
        let mut bells = Vec::new();
        let result = {
            let mut table = self.table();
            let result = change(&mut table, &mut bells);
            self.0.watchers.store(table.watchers(), Ordering::SeqCst);
            result
        };
        bells.iter().for_each(|bell| bell.ring());
        result
    }

    /// Whether anybody watches anything.
    pub(crate) fn is_watched(&self) -> bool {
        self.0.watchers.load(Ordering::SeqCst) > 0
    }

    /// An operation that is going to change something.
    pub(crate) fn telling<W>(&self) -> Telling<'_, W> {
        Telling::new(self)
    }

    /// Tells what is so already.
    pub(crate) fn tell(&self, changes: impl FnOnce() -> Vec<Change>) {
        if self.is_watched() {
            let changes = changes();
            self.with(|table, bells| {
                let number = table.begin();
                table.end(number, changes, bells);
            });
        }
    }

    /// Something changed in the first of these directories, which are in the others; nobody knows what it is called.
    fn changed_below(&self, directories: &[FileKey]) {
        self.with(|table, bells| table.changed_below(directories, bells));
    }

    /// A directory is going to be deleted: nobody waits for changes of it any longer.
    pub(crate) fn deleted(&self, directory: FileKey) {
        if self.is_watched() {
            self.with(|table, bells| table.deleted(|watched| watched == directory, bells));
        }
    }

    /// The same for everything in a share.
    pub(crate) fn share_deleted(&self, share: UnitId) {
        if self.is_watched() {
            self.with(|table, bells| table.deleted(|watched| watched.share == share, bells));
        }
    }

    /// How much it holds.
    pub(crate) fn feed(&self) -> Feed {
        self.table().feed()
    }
}

impl Files {
    /// The background changed a file, of which it knows the inode and not the name: who watches its directory has to look.
    pub(crate) async fn tell_changed(&self, file: FileKey) {
        if !self.changes.is_watched() {
            return;
        }
        let (rows, _) = self.view();
        let (mut at, mut directories) = (file.inode, Vec::new());
        for _ in 0..limits::FILE_PATH_DEPTH_MAX {
            let Ok((_, node)) = found(&rows, FileKey { inode: at, ..file }, At::Present).await else { break };
            if node.parent == at {
                break;
            }
            at = node.parent;
            directories.push(FileKey { inode: at, ..file });
        }
        self.changes.changed_below(&directories);
    }
}

/// What a rename tells: of a file that it replaced, and of what was moved. Those who do not ask for the names of files are told
/// that one has changed, as Windows has it.
pub(crate) fn renamed(from: Place, to: Place, is_directory: bool, replaces: bool) -> Vec<Change> {
    let (name, mut changes) = (ChangeKinds::name(is_directory), Vec::with_capacity(4));
    if replaces {
        changes.push(Change::new(to.clone(), ChangeAction::Removed, ChangeKinds::FILE_NAME));
    }
    // Whoever watches one of two directories sees something go, or come.
    let (left, came) = if from.directory() == to.directory() {
        (ChangeAction::RenamedFrom, ChangeAction::RenamedTo)
    } else {
        (ChangeAction::Removed, ChangeAction::Added)
    };
    changes.push(Change::new(from, left, name));
    changes.push(Change::new(to.clone(), came, name));
    if !is_directory {
        let moved = Change::new(to, ChangeAction::Modified, ChangeKinds::MOVED);
        changes.push(Change { unless: name, ..moved });
    }
    changes
}
