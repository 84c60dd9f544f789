//! Byte-range locks of one file: shared and exclusive, held by opens.
//!
//! Owns the locks, who conflicts with whom, and what they forbid to reads and writes. Must never wait: a lock that cannot
//! be had is refused with the one in its way, and the caller decides whether to try again.
//!
//! Invariants: an exclusive lock overlaps no other lock, except a shared one that its own holder put on top; a refused
//! request changes nothing, also when it asks for several ranges; the number of locks is bounded.

/// The most locks on one file.
pub const MAX_LOCKS_PER_FILE: usize = types::limits::LOCKS_PER_FILE_MAX;

/// Who holds a lock: one open of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LockOwner(u64);

impl LockOwner {
    /// The open with this number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }
}

/// A range of bytes that ends inside the numbers of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ByteRange {
    offset: u64,
    length: u64,
}

impl ByteRange {
    /// Every byte that a file can have.
    pub const WHOLE_FILE: Self = Self { offset: 0, length: u64::MAX };

    /// The range, `None` when its last byte would lie beyond 2^64 - 1.
    #[must_use]
    pub const fn new(offset: u64, length: u64) -> Option<Self> {
        match length.checked_sub(1) {
            Some(last) if offset.checked_add(last).is_none() => None,
            _ => Some(Self { offset, length }),
        }
    }

    /// Where it begins.
    #[must_use]
    pub const fn offset(self) -> u64 {
        self.offset
    }

    /// How long it is.
    #[must_use]
    pub const fn length(self) -> u64 {
        self.length
    }

    /// Whether two ranges overlap. A range of no bytes lies between two bytes: it overlaps a range that has bytes on
    /// both sides of it, and never another empty one.
    ///
    /// ```
    /// use concurrency::range_lock::ByteRange;
    /// let range = |offset, length| ByteRange::new(offset, length).unwrap();
    /// assert!(range(0, 10).overlaps(range(9, 1)) && !range(0, 10).overlaps(range(10, 5)));
    /// assert!(range(0, 10).overlaps(range(5, 0)) && !range(0, 10).overlaps(range(0, 0)));
    /// ```
    #[must_use]
    pub fn overlaps(self, other: Self) -> bool {
        self.begins_before_the_end_of(other) && other.begins_before_the_end_of(self)
    }

    fn begins_before_the_end_of(self, other: Self) -> bool {
        // The end may be 2^64, which needs more than 64 bits.
        u128::from(self.offset) < u128::from(other.offset) + u128::from(other.length)
    }
}

/// Shared with readers, or for its holder alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockKind {
    /// Others may share and read; nobody writes.
    Shared,
    /// Nobody else reads or writes.
    Exclusive,
}

/// One lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RangeLock {
    /// Who holds it.
    pub owner: LockOwner,
    /// The bytes that it covers; the file may end before them.
    pub range: ByteRange,
    /// Shared or exclusive.
    pub kind: LockKind,
}

impl RangeLock {
    /// Whether a held lock stands in the way of a requested one.
    #[must_use]
    pub fn refuses(&self, requested: &Self) -> bool {
        let compatible = match (self.kind, requested.kind) {
            (LockKind::Shared, LockKind::Shared) => true,
            (LockKind::Exclusive, LockKind::Shared) => self.owner == requested.owner,
            // Also against one's own lock: an open cannot take a range twice for itself.
            (LockKind::Shared | LockKind::Exclusive, LockKind::Exclusive) => false,
        };
        !compatible && self.range.overlaps(requested.range)
    }
}

/// What is done to the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Io {
    /// Bytes are looked at, and stay.
    Read,
    /// A write, or a change of the length.
    Write,
}

/// Why locks are refused. Nothing was locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LockRefusal {
    /// Another lock is in the way (SMB lock not granted).
    #[error("the range is locked by {:?}", .0.owner)]
    Conflict(RangeLock),
    /// The file has [`MAX_LOCKS_PER_FILE`] locks.
    #[error("the file has too many locks")]
    TooMany,
}

/// The open holds no lock on exactly this range (SMB range not locked).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the range is not locked by this open")]
pub struct RangeNotLocked;

/// Bytes are locked against the read or write (SMB file lock conflict, REST 409 FileLockConflict).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a portion of the file is locked")]
pub struct FileLockConflict;

/// The locks on one file.
///
/// ```
/// use concurrency::range_lock::{ByteRange, Io, LockKind, LockOwner, RangeLock, RangeLocks};
///
/// let (one, other) = (LockOwner::new(1), LockOwner::new(2));
/// let range = ByteRange::new(0, 100).unwrap();
/// let mut locks = RangeLocks::default();
/// locks.lock(&[RangeLock { owner: one, range, kind: LockKind::Exclusive }])?;
/// assert!(locks.lock(&[RangeLock { owner: other, range, kind: LockKind::Shared }]).is_err());
/// assert!(locks.check_io(Some(other), range, Io::Read).is_err());
/// assert!(locks.check_io(Some(one), range, Io::Write).is_ok());
/// assert!(locks.unlock(one, range).is_ok() && locks.is_empty());
/// # Ok::<(), concurrency::range_lock::LockRefusal>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeLocks {
    held: Vec<RangeLock>,
}

impl RangeLocks {
    /// Decides whether all ranges of a request can be locked, one after the other.
    ///
    /// # Errors
    /// A [`LockRefusal`].
    pub fn check(&self, requested: &[RangeLock]) -> Result<(), LockRefusal> {
        for (earlier, lock) in requested.iter().enumerate() {
            let mut in_force = self.held.iter().chain(requested.iter().take(earlier));
            if let Some(held) = in_force.find(|held| held.refuses(lock)) {
                return Err(LockRefusal::Conflict(*held));
            }
            if self.held.len() + earlier >= MAX_LOCKS_PER_FILE {
                return Err(LockRefusal::TooMany);
            }
        }
        Ok(())
    }

    /// Locks all ranges of a request, one after the other, or none of them.
    ///
    /// # Errors
    /// A [`LockRefusal`]; the locks are then as they were.
    pub fn lock(&mut self, requested: &[RangeLock]) -> Result<(), LockRefusal> {
        self.check(requested)?;
        self.held.extend_from_slice(requested);
        Ok(())
    }

    /// Takes back a lock that its owner never learned of: the newest one that is equal.
    pub fn take_back(&mut self, lock: &RangeLock) {
        if let Some(found) = self.held.iter().rposition(|held| held == lock) {
            self.held.remove(found);
        }
    }

    /// Unlocks exactly this range: of several equal ones the exclusive one first, then the oldest.
    ///
    /// # Errors
    /// [`RangeNotLocked`]; part of a locked range cannot be unlocked.
    pub fn unlock(&mut self, owner: LockOwner, range: ByteRange) -> Result<(), RangeNotLocked> {
        let same = |lock: &RangeLock| lock.owner == owner && lock.range == range;
        let exclusive = self.held.iter().position(|lock| same(lock) && lock.kind == LockKind::Exclusive);
        let found = exclusive.or_else(|| self.held.iter().position(same)).ok_or(RangeNotLocked)?;
        self.held.remove(found);
        Ok(())
    }

    /// Unlocks everything that an open holds: it closes.
    pub fn release_owner(&mut self, owner: LockOwner) {
        self.held.retain(|lock| lock.owner != owner);
    }

    /// Decides a read or write of bytes by an open, or by nobody's open (`None`: REST).
    ///
    /// A shared lock forbids writing to everybody, its holder included.
    ///
    /// # Errors
    /// [`FileLockConflict`].
    pub fn check_io(&self, owner: Option<LockOwner>, range: ByteRange, io: Io) -> Result<(), FileLockConflict> {
        let forbids = |lock: &RangeLock| match (lock.kind, io) {
            (LockKind::Shared, Io::Read) => false,
            (LockKind::Shared, Io::Write) => true,
            (LockKind::Exclusive, _) => Some(lock.owner) != owner,
        };
        // A transfer of no bytes touches none, also where a lock lies.
        let conflict = range.length > 0
            && self.held.iter().any(|lock| lock.range.length > 0 && forbids(lock) && lock.range.overlaps(range));
        if conflict { Err(FileLockConflict) } else { Ok(()) }
    }

    /// True when nothing is locked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// The locks, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &RangeLock> {
        self.held.iter()
    }
}

#[cfg(test)]
mod tests;
