//! Leases: the pessimistic lock of the REST services, as one state machine for everything that can be leased.
//!
//! Owns the stored record, the state derived from it, the lease operations ([`operation`]) and what a lease means to
//! the operations on the data ([`check`]). Must never read a clock or make an id: both come in as arguments, and the
//! caller stores what comes back in the same transaction as the write that the decision allowed.
//!
//! Invariants: at most one id holds a lease; nothing outlives its stored instant; a refusal changes nothing; a clock
//! that goes backwards never takes back what was decided, because each record remembers the instant of its last change
//! and no decision is made at an earlier one.

pub mod check;
mod duration;
mod id;
pub mod operation;
mod stored;

pub use check::{LeaseCheckRefusal, LeaseUse};
pub use duration::{
    BreakPeriod, FixedDuration, InvalidBreakPeriod, InvalidLeaseDuration, LeaseDuration, MAX_BREAK_SECONDS,
    MAX_LEASE_SECONDS, MIN_LEASE_SECONDS,
};
pub use id::{InvalidLeaseId, LeaseId};
pub use operation::{LeaseChange, LeaseOperation, LeaseOutcome, LeaseRefusal};
pub use stored::{InvalidStoredLease, STORED_BYTES};

use types::Timestamp;

/// What is leased. It selects the rules where they differ; the machine is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Leasable {
    /// Every write needs the id; a write without it ends a Broken or Expired lease.
    Blob,
    /// Only the delete needs the id; elsewhere an id that is sent is checked.
    Container,
    /// Every write needs the id.
    Share,
    /// As a share, with a lease of its own.
    ShareSnapshot,
    /// Three states: infinite leases only, no renew, no break period.
    File,
}

/// How a lease was granted, with the instant that follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Grant {
    /// Until it is released or broken.
    Infinite,
    /// Until the expiry instant.
    Fixed {
        /// The granted duration; a renew grants it again.
        duration: FixedDuration,
        /// The instant from which the lease is Expired.
        expiry: Timestamp,
    },
}

/// What is stored of a lease. Expired, and Broken after Breaking, are not stored: they follow from the instants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeaseRecord {
    /// No lease. The last id is remembered to tell a lease that was lost from one that never was.
    Available {
        /// The id of the lease that was released, or ended by a write, most recently.
        last_held: Option<LeaseId>,
    },
    /// Granted to an id.
    Leased {
        /// Whoever sends this id holds it.
        id: LeaseId,
        /// Until when, or without an end.
        grant: Grant,
    },
    /// Broken, but in place until an instant.
    Breaking {
        /// Whoever sends this id holds it, until then.
        id: LeaseId,
        /// The instant from which the lease is Broken.
        break_at: Timestamp,
    },
    /// Broken; anybody may acquire.
    Broken {
        /// The former holder, who may still release.
        id: LeaseId,
    },
}

/// The five states of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeaseState {
    /// No lease.
    Available,
    /// Locked by its holder.
    Leased,
    /// The finite duration has passed; unlocked.
    Expired,
    /// Broken, but locked until the break period ends.
    Breaking,
    /// Broken; unlocked.
    Broken,
}

impl LeaseState {
    /// True while writes need the id: Leased and Breaking.
    #[must_use]
    pub const fn is_locked(self) -> bool {
        matches!(self, Self::Leased | Self::Breaking)
    }

    /// The word of `x-ms-lease-state`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Available => "available",
            Self::Leased => "leased",
            Self::Expired => "expired",
            Self::Breaking => "breaking",
            Self::Broken => "broken",
        }
    }
}

/// What the service reports about a lease.
///
/// ```
/// use concurrency::lease::Lease;
/// use types::Timestamp;
/// let reported = Lease::default().properties(Timestamp::EPOCH);
/// assert_eq!((reported.status(), reported.state.as_str(), reported.duration()), ("unlocked", "available", None));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseProperties {
    /// One of the five, at the instant that was asked for.
    pub state: LeaseState,
    /// Whether a Leased lease is infinite; `None` in every other state.
    pub infinite: Option<bool>,
}

impl LeaseProperties {
    /// The word of `x-ms-lease-status`.
    #[must_use]
    pub const fn status(self) -> &'static str {
        if self.state.is_locked() { "locked" } else { "unlocked" }
    }

    /// The word of `x-ms-lease-duration`, absent unless Leased.
    #[must_use]
    pub const fn duration(self) -> Option<&'static str> {
        match self.infinite {
            Some(true) => Some("infinite"),
            Some(false) => Some("fixed"),
            None => None,
        }
    }
}

/// The lease of one resource.
///
/// ```
/// use concurrency::lease::{Leasable, Lease, LeaseDuration, LeaseId, LeaseOperation, LeaseState};
/// use types::Timestamp;
///
/// let (now, id) = (Timestamp::from_seconds(100), LeaseId::from_u128(1));
/// let acquire = LeaseOperation::Acquire { proposed: None, fresh: id, duration: LeaseDuration::from_seconds(15)? };
/// let leased = Lease::default().apply(Leasable::Blob, acquire, now)?.lease;
/// assert_eq!(leased.state(Timestamp::from_seconds(114)), LeaseState::Leased);
/// assert_eq!(leased.state(Timestamp::from_seconds(115)), LeaseState::Expired);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    record: LeaseRecord,
    changed_at: Timestamp,
}

impl Default for Lease {
    /// Available and never leased: the lease of a new, recreated or undeleted resource.
    fn default() -> Self {
        Self { record: LeaseRecord::Available { last_held: None }, changed_at: Timestamp::EPOCH }
    }
}

impl Lease {
    /// The lease that was stored as `record` at the instant `changed_at`.
    #[must_use]
    pub const fn from_record(record: LeaseRecord, changed_at: Timestamp) -> Self {
        Self { record, changed_at }
    }

    /// What to store.
    #[must_use]
    pub const fn record(&self) -> LeaseRecord {
        self.record
    }

    /// The instant of the last change, to be stored with the record.
    #[must_use]
    pub const fn changed_at(&self) -> Timestamp {
        self.changed_at
    }

    /// The state at an instant.
    #[must_use]
    pub fn state(&self, now: Timestamp) -> LeaseState {
        let now = self.not_before_last_change(now);
        match self.record {
            LeaseRecord::Available { .. } => LeaseState::Available,
            LeaseRecord::Leased { grant: Grant::Fixed { expiry, .. }, .. } if now >= expiry => LeaseState::Expired,
            LeaseRecord::Leased { .. } => LeaseState::Leased,
            LeaseRecord::Breaking { break_at, .. } if now >= break_at => LeaseState::Broken,
            LeaseRecord::Breaking { .. } => LeaseState::Breaking,
            LeaseRecord::Broken { .. } => LeaseState::Broken,
        }
    }

    /// What the service reports at an instant.
    #[must_use]
    pub fn properties(&self, now: Timestamp) -> LeaseProperties {
        let state = self.state(now);
        let infinite = match (state, self.record) {
            (LeaseState::Leased, LeaseRecord::Leased { grant, .. }) => Some(grant == Grant::Infinite),
            _ => None,
        };
        LeaseProperties { state, infinite }
    }

    /// True when `id` holds a Leased or Breaking lease.
    #[must_use]
    pub fn is_held_by(&self, id: LeaseId, now: Timestamp) -> bool {
        self.state(now).is_locked() && self.id() == Some(id)
    }

    /// The id of the lease in every state but Available.
    #[must_use]
    pub const fn id(&self) -> Option<LeaseId> {
        match self.record {
            LeaseRecord::Available { .. } => None,
            LeaseRecord::Leased { id, .. } | LeaseRecord::Breaking { id, .. } | LeaseRecord::Broken { id } => Some(id),
        }
    }

    /// A clock that was set back must not revive or lengthen what a later instant already decided.
    fn not_before_last_change(&self, now: Timestamp) -> Timestamp {
        now.max(self.changed_at)
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
