//! Claims: REST operations, and the reads and writes of handles, between their decision and the outcome of their
//! transaction.
//!
//! Owns what is under way on a file, by kind. Claims never conflict with each other; an open, a lock or a delete mark
//! that conflicts with one waits until it is dropped, because its outcome is known in a moment.

use std::sync::Arc;

use concurrency::{
    file_open::OpenRequest,
    range_lock::{Io, LockKind, RangeLock},
    rest_open::RestOperation,
    share_mode::{Access, OpenMode, ShareMode},
};

use super::{place::FileKey, table::Table};

/// What is under way, as far as it matters for what waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClaimKind {
    /// Looks at properties.
    Look,
    /// Reads data.
    Read,
    /// Writes data or properties.
    Write,
    /// Replaces the file.
    Replace,
    /// Deletes it.
    Delete,
    /// Gives it another name.
    Move,
    /// Takes the REST lease.
    Lease,
}

impl ClaimKind {
    const ALL: [Self; 7] = [Self::Look, Self::Read, Self::Write, Self::Replace, Self::Delete, Self::Move, Self::Lease];

    /// `None` for a listing, which looks at names and not at the file.
    pub(super) const fn of(operation: RestOperation) -> Option<Self> {
        Some(match operation {
            RestOperation::ListFiles => return None,
            RestOperation::GetProperties | RestOperation::GetMetadata => Self::Look,
            RestOperation::GetFile | RestOperation::ListRanges => Self::Read,
            RestOperation::SetProperties | RestOperation::SetMetadata | RestOperation::PutRange => Self::Write,
            RestOperation::CreateFile | RestOperation::RenameDestination | RestOperation::CopyDestination => {
                Self::Replace
            }
            RestOperation::DeleteFile => Self::Delete,
            RestOperation::RenameSource => Self::Move,
            RestOperation::LeaseFile => Self::Lease,
        })
    }

    pub(super) const fn of_io(io: Io) -> Self {
        match io {
            Io::Read => Self::Read,
            Io::Write => Self::Write,
        }
    }

    const fn bit(self) -> u8 {
        match self {
            Self::Look => 1,
            Self::Read => 2,
            Self::Write => 4,
            Self::Replace => 8,
            Self::Delete => 16,
            Self::Move => 32,
            Self::Lease => 64,
        }
    }

    /// The momentary open that it stands for.
    const fn mode(self) -> OpenMode {
        let (access, share) = match self {
            Self::Look => (Access::NONE, ShareMode::ALL),
            Self::Read => (Access::READ, ShareMode::ALL),
            Self::Write => (Access::WRITE, ShareMode::ALL),
            Self::Replace => (Access::WRITE_DELETE, ShareMode::ALL),
            Self::Delete | Self::Move => (Access::DELETE, ShareMode::ALL),
            Self::Lease => (Access::ALL, ShareMode::READ),
        };
        OpenMode { access, share }
    }

    /// The file's name or existence is at stake: nobody else may be in the middle of opening it.
    pub(super) const fn excludes_tentative(self) -> bool {
        matches!(self, Self::Delete | Self::Move)
    }

    fn conflicts_with_open(self, request: OpenRequest) -> bool {
        self.excludes_tentative() || request.delete.delete_on_close || self.mode().conflicts_with(request.mode)
    }

    fn conflicts_with_lock(self, lock: &RangeLock) -> bool {
        match self {
            Self::Write | Self::Replace => true,
            Self::Read => lock.kind == LockKind::Exclusive,
            Self::Look | Self::Delete | Self::Move | Self::Lease => false,
        }
    }
}

/// A set of kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kinds(u8);

impl Kinds {
    pub(super) const MOVE: Self = Self(ClaimKind::Move.bit());
    /// Those after which what a client has read is old.
    const CHANGES: Self = Self(ClaimKind::Write.bit() | ClaimKind::Replace.bit() | ClaimKind::Delete.bit());

    pub(super) const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    fn those(matching: impl Fn(ClaimKind) -> bool) -> Self {
        let bits = ClaimKind::ALL.into_iter().filter(|kind| matching(*kind)).map(ClaimKind::bit);
        Self(bits.fold(0, |all, bit| all | bit))
    }

    /// What an open waits for.
    pub(super) fn in_the_way_of_open(request: OpenRequest) -> Self {
        Self::those(|kind| kind.conflicts_with_open(request))
    }

    /// What locks wait for.
    pub(super) fn in_the_way_of_locks(locks: &[RangeLock]) -> Self {
        Self::those(|kind| locks.iter().any(|lock| kind.conflicts_with_lock(lock)))
    }

    /// What a delete mark waits for: everything that it would refuse.
    pub(super) fn all() -> Self {
        Self::those(|_| true)
    }
}

/// The claims on one file.
#[derive(Debug, Default)]
pub(super) struct Claims {
    look: u32,
    read: u32,
    write: u32,
    replace: u32,
    delete: u32,
    moving: u32,
    lease: u32,
}

impl Claims {
    const fn slot(&mut self, kind: ClaimKind) -> &mut u32 {
        match kind {
            ClaimKind::Look => &mut self.look,
            ClaimKind::Read => &mut self.read,
            ClaimKind::Write => &mut self.write,
            ClaimKind::Replace => &mut self.replace,
            ClaimKind::Delete => &mut self.delete,
            ClaimKind::Move => &mut self.moving,
            ClaimKind::Lease => &mut self.lease,
        }
    }

    pub(super) const fn add(&mut self, kind: ClaimKind) {
        let slot = self.slot(kind);
        *slot = slot.saturating_add(1);
    }

    pub(super) const fn remove(&mut self, kind: ClaimKind) {
        let slot = self.slot(kind);
        *slot = slot.saturating_sub(1);
    }

    /// The kinds that are under way.
    pub(super) const fn kinds(&self) -> Kinds {
        const fn bit(count: u32, kind: ClaimKind) -> u8 {
            if count > 0 { kind.bit() } else { 0 }
        }
        Kinds(
            bit(self.look, ClaimKind::Look)
                | bit(self.read, ClaimKind::Read)
                | bit(self.write, ClaimKind::Write)
                | bit(self.replace, ClaimKind::Replace)
                | bit(self.delete, ClaimKind::Delete)
                | bit(self.moving, ClaimKind::Move)
                | bit(self.lease, ClaimKind::Lease),
        )
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.kinds().0 == 0
    }

    /// What is read now may be old in a moment.
    pub(super) const fn change_data(&self) -> bool {
        self.kinds().meets(Kinds::CHANGES)
    }
}

/// An operation that was decided and whose outcome is not known yet. Hold it until the transaction has ended, well or
/// not; dropping it lets those in who wait.
#[derive(Debug)]
#[must_use = "a claim holds only as long as it lives"]
pub struct Claim {
    table: Arc<Table>,
    file: FileKey,
    kind: Option<ClaimKind>,
}

impl Claim {
    /// The caller has counted it.
    pub(super) const fn new(table: Arc<Table>, file: FileKey, kind: Option<ClaimKind>) -> Self {
        Self { table, file, kind }
    }

    /// The file.
    #[must_use]
    pub const fn file(&self) -> FileKey {
        self.file
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(kind) = self.kind {
            self.table.end_claim(self.file, kind);
        }
    }
}
