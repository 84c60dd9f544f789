//! What a lease means to an operation on the data, and what the operation does to the lease.
//!
//! Owns the rule for reads, writes, deletes and copies in every state. Allocates nothing: it stands in front of every
//! request. Must never be asked outside the transaction of the write that it allows.

use types::{ServiceVersion, Timestamp};

use super::{Grant, Leasable, Lease, LeaseId, LeaseRecord};

/// How an operation on the data uses the leased resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeaseUse {
    /// Reads, and takes snapshots: no id needed, an id that is sent must hold the lease. All Get operations, Query,
    /// Snapshot Blob.
    Read,
    /// Writes content, properties or metadata: Put Blob, Put Block, Put Block List, Append Block, Put Page, Create File,
    /// Put Range, Rename, Abort Copy, and the Set operations that are not named below.
    Write,
    /// Writes what lies beside the content, Set Blob Tags and Set Blob Tier: an ended lease stays as it is.
    Annotate,
    /// Deletes the resource and its lease with it.
    Delete,
    /// Is the destination of a copy, which may go on after the answer: a lease must be infinite.
    CopyInto,
}

/// Why the lease refuses an operation on the data. All are answered 412; nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeaseCheckRefusal {
    /// Locked, and no id was sent (LeaseIdMissing).
    #[error("there is currently a lease and no lease id was specified")]
    IdMissing,
    /// Locked by another id (LeaseIdMismatchWith...Operation).
    #[error("the lease id does not match the lease")]
    IdMismatch,
    /// An id was sent, and there is no lease it ever held (LeaseNotPresentWith...Operation).
    #[error("there is currently no lease")]
    NotPresent,
    /// An id was sent whose lease was released, broken or expired (LeaseLost).
    #[error("a lease id was specified, but the lease has expired")]
    Lost,
    /// The destination of a copy has a finite lease (InfiniteLeaseDurationRequired).
    #[error("the destination of a copy needs an infinite lease")]
    InfiniteDurationRequired,
}

impl Leasable {
    /// Whether a locked lease refuses this use without the id.
    #[must_use]
    pub const fn needs_id(self, usage: LeaseUse) -> bool {
        match (self, usage) {
            (_, LeaseUse::Read) => false,
            (_, LeaseUse::Delete) => true,
            (Self::Container, _) => false,
            (Self::Blob | Self::Share | Self::ShareSnapshot | Self::File, _) => true,
        }
    }
}

impl Lease {
    /// Decides whether an operation on the data may go on.
    ///
    /// # Errors
    /// A [`LeaseCheckRefusal`].
    ///
    /// ```
    /// use concurrency::lease::{Grant, Leasable, Lease, LeaseCheckRefusal, LeaseId, LeaseRecord, LeaseUse};
    /// use types::Timestamp;
    ///
    /// let (now, id) = (Timestamp::from_seconds(100), LeaseId::from_u128(1));
    /// let lease = Lease::from_record(LeaseRecord::Leased { id, grant: Grant::Infinite }, now);
    /// assert_eq!(lease.check(Leasable::Blob, LeaseUse::Read, None, now), Ok(()));
    /// assert_eq!(lease.check(Leasable::Blob, LeaseUse::Write, None, now), Err(LeaseCheckRefusal::IdMissing));
    /// assert_eq!(lease.check(Leasable::Container, LeaseUse::Write, None, now), Ok(()));
    /// ```
    pub fn check(
        &self,
        kind: Leasable,
        usage: LeaseUse,
        id: Option<LeaseId>,
        now: Timestamp,
    ) -> Result<(), LeaseCheckRefusal> {
        match (self.state(now).is_locked(), id) {
            (true, None) if kind.needs_id(usage) => Err(LeaseCheckRefusal::IdMissing),
            (_, None) => Ok(()),
            (true, Some(id)) if self.id() != Some(id) => Err(LeaseCheckRefusal::IdMismatch),
            (true, Some(_)) if usage == LeaseUse::CopyInto && !self.is_granted_for_ever() => {
                Err(LeaseCheckRefusal::InfiniteDurationRequired)
            }
            (true, Some(_)) => Ok(()),
            (false, Some(id)) if self.remembers(id) => Err(LeaseCheckRefusal::Lost),
            (false, Some(_)) => Err(LeaseCheckRefusal::NotPresent),
        }
    }

    /// Decides as [`Lease::check`] and returns the lease to store with the write.
    ///
    /// An overwrite with the right id leaves the lease unchanged. A write to a blob whose lease is Broken or Expired
    /// makes it Available, so that the former holder cannot renew after somebody else wrote. A delete ends the lease.
    ///
    /// # Errors
    /// A [`LeaseCheckRefusal`]; the lease is then as it was.
    ///
    /// ```
    /// use concurrency::lease::{Leasable, Lease, LeaseId, LeaseRecord, LeaseState, LeaseUse};
    /// use types::Timestamp;
    ///
    /// let (now, id) = (Timestamp::from_seconds(100), LeaseId::from_u128(1));
    /// let broken = Lease::from_record(LeaseRecord::Broken { id }, now);
    /// assert_eq!(broken.admit(Leasable::Blob, LeaseUse::Write, None, now)?.state(now), LeaseState::Available);
    /// assert_eq!(broken.admit(Leasable::Container, LeaseUse::Write, None, now)?.state(now), LeaseState::Broken);
    /// # Ok::<(), concurrency::lease::LeaseCheckRefusal>(())
    /// ```
    pub fn admit(
        &self,
        kind: Leasable,
        usage: LeaseUse,
        id: Option<LeaseId>,
        now: Timestamp,
    ) -> Result<Self, LeaseCheckRefusal> {
        self.check(kind, usage, id, now)?;
        Ok(match usage {
            LeaseUse::Read | LeaseUse::Annotate => *self,
            LeaseUse::Delete => Self::default(),
            LeaseUse::Write | LeaseUse::CopyInto => self.after_write(kind, now),
        })
    }

    /// Decides for an operation that creates: the resource is absent, so no id can hold a lease on it.
    ///
    /// # Errors
    /// [`LeaseCheckRefusal::NotPresent`] when an id is sent, from version 2013-08-15 on.
    ///
    /// ```
    /// use concurrency::lease::{Lease, LeaseId};
    /// use types::ServiceVersion;
    /// let id = Some(LeaseId::from_u128(1));
    /// assert!(Lease::check_absent(ServiceVersion::NEWEST, id).is_err());
    /// assert!(Lease::check_absent(ServiceVersion::new(2012, 2, 12), id).is_ok());
    /// ```
    pub fn check_absent(version: ServiceVersion, id: Option<LeaseId>) -> Result<(), LeaseCheckRefusal> {
        if id.is_some() && version.at_least(2013, 8, 15) { Err(LeaseCheckRefusal::NotPresent) } else { Ok(()) }
    }

    fn after_write(&self, kind: Leasable, now: Timestamp) -> Self {
        let now = self.not_before_last_change(now);
        match (kind, self.id()) {
            (Leasable::Blob, Some(id)) if !self.state(now).is_locked() => {
                Self::from_record(LeaseRecord::Available { last_held: Some(id) }, now)
            }
            _ => *self,
        }
    }

    const fn is_granted_for_ever(&self) -> bool {
        matches!(self.record, LeaseRecord::Leased { grant: Grant::Infinite, .. })
    }

    fn remembers(&self, id: LeaseId) -> bool {
        match self.record {
            LeaseRecord::Available { last_held } => last_held == Some(id),
            LeaseRecord::Leased { id: held, .. }
            | LeaseRecord::Breaking { id: held, .. }
            | LeaseRecord::Broken { id: held } => held == id,
        }
    }
}

/// A copy into the resource is still running (409 PendingCopyOperation).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is currently a pending copy operation")]
pub struct PendingCopyOperation;

/// Refuses every lease operation, modification and snapshot of the destination of a running copy.
///
/// # Errors
/// [`PendingCopyOperation`] while the copy runs.
///
/// ```
/// use concurrency::lease::check::refuse_while_copying;
/// assert!(refuse_while_copying(true).is_err() && refuse_while_copying(false).is_ok());
/// ```
pub const fn refuse_while_copying(copy_is_pending: bool) -> Result<(), PendingCopyOperation> {
    if copy_is_pending { Err(PendingCopyOperation) } else { Ok(()) }
}
