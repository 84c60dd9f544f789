//! The lease operations: acquire, renew, change, release and break, in every state.
//!
//! Owns the transitions of the five-state machine; the three-state machine of files is the same one with the
//! operations and durations that lead to the other two states refused. A lease operation never touches an ETag.

use types::Timestamp;

use super::{BreakPeriod, Grant, Leasable, Lease, LeaseDuration, LeaseId, LeaseRecord, LeaseState};

/// A lease operation with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseOperation {
    /// Take the lease.
    Acquire {
        /// The id the caller proposes.
        proposed: Option<LeaseId>,
        /// A freshly generated id, used when none is proposed.
        fresh: LeaseId,
        /// Seconds, or without an end.
        duration: LeaseDuration,
    },
    /// Restart the clock of the lease.
    Renew {
        /// The id of the lease.
        id: LeaseId,
    },
    /// Give the lease another id.
    Change {
        /// The id of the lease.
        id: LeaseId,
        /// The id it shall have.
        proposed: LeaseId,
    },
    /// Give the lease back.
    Release {
        /// The id of the lease.
        id: LeaseId,
    },
    /// End the lease of whoever holds it. An id sent along is not compared.
    Break {
        /// How long the lease may stay in place.
        period: Option<BreakPeriod>,
    },
}

/// What a lease operation answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseOutcome {
    /// Acquired under this id.
    Acquired(LeaseId),
    /// Renewed under this id.
    Renewed(LeaseId),
    /// Changed to this id.
    Changed(LeaseId),
    /// Released.
    Released,
    /// Broken, now or soon.
    Broken {
        /// Whole seconds until the lease is Broken, rounded up; 0 when it is.
        seconds_left: u64,
    },
}

/// The new state and the answer of a lease operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseChange {
    /// The lease to store.
    pub lease: Lease,
    /// What to answer.
    pub outcome: LeaseOutcome,
}

/// Why a lease operation is refused. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeaseRefusal {
    /// Acquire while another id holds the lease (409 LeaseAlreadyPresent).
    #[error("there is already a lease present")]
    AlreadyPresent,
    /// The id is not the one of the lease (409 LeaseIdMismatchWithLeaseOperation).
    #[error("the lease id does not match the lease")]
    IdMismatch,
    /// There is no lease to change or break (409 LeaseNotPresentWithLeaseOperation).
    #[error("there is currently no lease")]
    NotPresent,
    /// The holder acquires again while Breaking (409 LeaseIsBreakingAndCannotBeAcquired).
    #[error("the lease is breaking and cannot be acquired until it is broken")]
    BreakingCannotBeAcquired,
    /// The holder changes the id while Breaking (409 LeaseIsBreakingAndCannotBeChanged).
    #[error("the lease is breaking and cannot be changed")]
    BreakingCannotBeChanged,
    /// The holder renews after a break (409 LeaseIsBrokenAndCannotBeRenewed).
    #[error("the lease is broken and cannot be renewed")]
    BrokenCannotBeRenewed,
    /// A file lease cannot be renewed (400, the action is not a valid value).
    #[error("this kind of lease cannot be renewed")]
    RenewNotSupported,
    /// A file lease is infinite (400, the duration is not a valid value).
    #[error("this kind of lease is infinite only")]
    FixedDurationNotSupported,
    /// A file lease breaks at once (400, the header is not supported).
    #[error("this kind of lease has no break period")]
    BreakPeriodNotSupported,
}

impl Lease {
    /// Performs a lease operation.
    ///
    /// # Errors
    /// A [`LeaseRefusal`]; the lease is then as it was.
    ///
    /// ```
    /// use concurrency::lease::{Leasable, Lease, LeaseDuration, LeaseId, LeaseOperation, LeaseRefusal};
    /// use types::Timestamp;
    ///
    /// let (now, a, b) = (Timestamp::from_seconds(100), LeaseId::from_u128(1), LeaseId::from_u128(2));
    /// let acquire = |id| LeaseOperation::Acquire { proposed: Some(id), fresh: id, duration: LeaseDuration::Infinite };
    /// let leased = Lease::default().apply(Leasable::Blob, acquire(a), now)?.lease;
    /// assert_eq!(leased.apply(Leasable::Blob, acquire(b), now), Err(LeaseRefusal::AlreadyPresent));
    /// # Ok::<(), LeaseRefusal>(())
    /// ```
    pub fn apply(
        &self,
        kind: Leasable,
        operation: LeaseOperation,
        now: Timestamp,
    ) -> Result<LeaseChange, LeaseRefusal> {
        if kind == Leasable::File {
            refuse_what_files_lack(operation)?;
        }
        let now = self.not_before_last_change(now);
        let (record, outcome) = match operation {
            LeaseOperation::Acquire { proposed, fresh, duration } => self.acquire(proposed, fresh, duration, now)?,
            LeaseOperation::Renew { id } => self.renew(id, now)?,
            LeaseOperation::Change { id, proposed } => self.change(id, proposed, now)?,
            LeaseOperation::Release { id } => self.release(id)?,
            LeaseOperation::Break { period } => self.break_lease(period, now)?,
        };
        Ok(LeaseChange { lease: Lease::from_record(record, now), outcome })
    }

    fn acquire(
        &self,
        proposed: Option<LeaseId>,
        fresh: LeaseId,
        duration: LeaseDuration,
        now: Timestamp,
    ) -> Result<(LeaseRecord, LeaseOutcome), LeaseRefusal> {
        // Only an id that the caller proposes can be the holder's: a generated one is nobody's yet.
        let by_holder = proposed.is_some() && proposed == self.id();
        match (self.state(now), by_holder) {
            (LeaseState::Breaking, true) => return Err(LeaseRefusal::BreakingCannotBeAcquired),
            (LeaseState::Leased | LeaseState::Breaking, false) => return Err(LeaseRefusal::AlreadyPresent),
            (LeaseState::Leased, true) | (LeaseState::Available | LeaseState::Expired | LeaseState::Broken, _) => {}
        }
        let id = proposed.unwrap_or(fresh);
        Ok((LeaseRecord::Leased { id, grant: granted(duration, now) }, LeaseOutcome::Acquired(id)))
    }

    fn renew(&self, id: LeaseId, now: Timestamp) -> Result<(LeaseRecord, LeaseOutcome), LeaseRefusal> {
        match self.record {
            // A write or another lease since the expiry has replaced the record, so an Expired record is untouched.
            LeaseRecord::Leased { id: held, grant } if held == id => {
                let grant = match grant {
                    Grant::Infinite => Grant::Infinite,
                    Grant::Fixed { duration, .. } => granted(LeaseDuration::Fixed(duration), now),
                };
                Ok((LeaseRecord::Leased { id, grant }, LeaseOutcome::Renewed(id)))
            }
            LeaseRecord::Breaking { id: held, .. } | LeaseRecord::Broken { id: held } if held == id => {
                Err(LeaseRefusal::BrokenCannotBeRenewed)
            }
            _ => Err(LeaseRefusal::IdMismatch),
        }
    }

    fn change(
        &self,
        id: LeaseId,
        proposed: LeaseId,
        now: Timestamp,
    ) -> Result<(LeaseRecord, LeaseOutcome), LeaseRefusal> {
        match (self.state(now), self.record) {
            // A client that repeats a change after a lost answer sends the old id and proposes the present one.
            (LeaseState::Leased, LeaseRecord::Leased { id: held, grant }) if held == id || held == proposed => {
                Ok((LeaseRecord::Leased { id: proposed, grant }, LeaseOutcome::Changed(proposed)))
            }
            (LeaseState::Breaking, _) if self.id() == Some(id) => Err(LeaseRefusal::BreakingCannotBeChanged),
            (LeaseState::Leased | LeaseState::Breaking, _) => Err(LeaseRefusal::IdMismatch),
            (LeaseState::Available | LeaseState::Expired | LeaseState::Broken, _) => Err(LeaseRefusal::NotPresent),
        }
    }

    fn release(&self, id: LeaseId) -> Result<(LeaseRecord, LeaseOutcome), LeaseRefusal> {
        if self.id() == Some(id) {
            Ok((LeaseRecord::Available { last_held: Some(id) }, LeaseOutcome::Released))
        } else {
            Err(LeaseRefusal::IdMismatch)
        }
    }

    fn break_lease(
        &self,
        period: Option<BreakPeriod>,
        now: Timestamp,
    ) -> Result<(LeaseRecord, LeaseOutcome), LeaseRefusal> {
        let requested_end = period.map(|period| now.saturating_add(period.length()));
        let (id, end) = match self.record {
            LeaseRecord::Available { .. } => return Err(LeaseRefusal::NotPresent),
            LeaseRecord::Leased { id, grant: Grant::Infinite } => (id, requested_end.unwrap_or(now)),
            // A break may shorten what is left, never lengthen it.
            LeaseRecord::Leased { id, grant: Grant::Fixed { expiry: end, .. } }
            | LeaseRecord::Breaking { id, break_at: end } => (id, requested_end.map_or(end, |asked| asked.min(end))),
            LeaseRecord::Broken { id } => (id, now),
        };
        let record = if end > now { LeaseRecord::Breaking { id, break_at: end } } else { LeaseRecord::Broken { id } };
        Ok((record, LeaseOutcome::Broken { seconds_left: whole_seconds_left(end, now) }))
    }
}

fn granted(duration: LeaseDuration, now: Timestamp) -> Grant {
    match duration {
        LeaseDuration::Infinite => Grant::Infinite,
        LeaseDuration::Fixed(duration) => Grant::Fixed { duration, expiry: now.saturating_add(duration.length()) },
    }
}

/// Rounded up, so that 0 is said only of a lease that is Broken.
fn whole_seconds_left(end: Timestamp, now: Timestamp) -> u64 {
    let left = end.saturating_since(now);
    left.as_secs().saturating_add(u64::from(left.subsec_nanos() > 0))
}

fn refuse_what_files_lack(operation: LeaseOperation) -> Result<(), LeaseRefusal> {
    match operation {
        LeaseOperation::Renew { .. } => Err(LeaseRefusal::RenewNotSupported),
        LeaseOperation::Break { period: Some(_) } => Err(LeaseRefusal::BreakPeriodNotSupported),
        LeaseOperation::Acquire { duration: LeaseDuration::Fixed(_), .. } => {
            Err(LeaseRefusal::FixedDurationNotSupported)
        }
        LeaseOperation::Acquire { .. }
        | LeaseOperation::Change { .. }
        | LeaseOperation::Release { .. }
        | LeaseOperation::Break { period: None } => Ok(()),
    }
}
