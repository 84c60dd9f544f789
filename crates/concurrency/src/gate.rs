//! Lease and conditions together, in one order for every service.
//!
//! Owns the order: an operation that needs an existing resource asks for it first; then the lease; then the conditions,
//! because the holder of the lease may overwrite in spite of `If-None-Match: *`. Which check comes first shows only when
//! both fail. Allocates nothing.

use types::{ServiceVersion, Timestamp};

use crate::{
    conditions::{Conditions, ReadRefusal, Resource, WriteRefusal, WriteRule},
    lease::{Leasable, Lease, LeaseCheckRefusal, LeaseId, LeaseUse},
};

/// What a request brings that leases and conditions are decided by.
#[derive(Clone, Copy, Debug)]
pub struct Guards<'a> {
    /// The service version of the request.
    pub version: ServiceVersion,
    /// The id of `x-ms-lease-id`.
    pub lease_id: Option<LeaseId>,
    /// The conditional headers.
    pub conditions: Conditions<'a>,
}

/// What they are decided against.
#[derive(Clone, Copy, Debug)]
pub struct Guarded {
    /// What is leased.
    pub kind: Leasable,
    /// Whether it exists, and the ETag and date that conditions compare with.
    pub resource: Resource,
    /// Its lease; of an absent resource the default.
    pub lease: Lease,
}

/// Why a read is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadGateRefusal {
    /// By the lease.
    #[error(transparent)]
    Lease(#[from] LeaseCheckRefusal),
    /// By a condition, or because there is nothing.
    #[error(transparent)]
    Condition(#[from] ReadRefusal),
}

/// Why a write is refused. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteGateRefusal {
    /// By the lease.
    #[error(transparent)]
    Lease(#[from] LeaseCheckRefusal),
    /// By a condition, or because there is nothing.
    #[error(transparent)]
    Condition(#[from] WriteRefusal),
}

impl Guards<'_> {
    /// Decides a read.
    ///
    /// # Errors
    /// A [`ReadGateRefusal`].
    ///
    /// ```
    /// use concurrency::{conditions::{Conditions, Resource}, gate::{Guarded, Guards}, lease::{Leasable, Lease}};
    /// use types::{ETag, ServiceVersion, Timestamp};
    ///
    /// let now = Timestamp::from_seconds(100);
    /// let guards = Guards { version: ServiceVersion::NEWEST, lease_id: None, conditions: Conditions::default() };
    /// let resource = Resource::Present { etag: ETag::new(7), last_modified: now };
    /// let target = Guarded { kind: Leasable::Blob, resource, lease: Lease::default() };
    /// assert!(guards.admit_read(target, now).is_ok());
    /// ```
    pub fn admit_read(&self, target: Guarded, now: Timestamp) -> Result<(), ReadGateRefusal> {
        if target.resource != Resource::Absent {
            target.lease.check(target.kind, LeaseUse::Read, self.lease_id, now)?;
        }
        Ok(self.conditions.check_read(self.version, target.resource)?)
    }

    /// Decides a write and returns the lease to store with it.
    ///
    /// # Errors
    /// A [`WriteGateRefusal`].
    ///
    /// ```
    /// use concurrency::conditions::{Conditions, ETagCondition, Resource, WriteRule};
    /// use concurrency::gate::{Guarded, Guards};
    /// use concurrency::lease::{Grant, Leasable, Lease, LeaseId, LeaseRecord, LeaseUse};
    /// use types::{ETag, ServiceVersion, Timestamp};
    ///
    /// let (now, id) = (Timestamp::from_seconds(100), LeaseId::from_u128(1));
    /// let lease = Lease::from_record(LeaseRecord::Leased { id, grant: Grant::Infinite }, now);
    /// let resource = Resource::Present { etag: ETag::new(7), last_modified: now };
    /// let conditions = Conditions { if_none_match: Some(ETagCondition::ANY), ..Conditions::default() };
    /// let guards = Guards { version: ServiceVersion::NEWEST, lease_id: Some(id), conditions };
    /// let target = Guarded { kind: Leasable::Blob, resource, lease };
    /// assert_eq!(guards.admit_write(WriteRule::CREATING, LeaseUse::Write, target, now), Ok(lease));
    /// ```
    pub fn admit_write(
        &self,
        rule: WriteRule,
        usage: LeaseUse,
        target: Guarded,
        now: Timestamp,
    ) -> Result<Lease, WriteGateRefusal> {
        if target.resource == Resource::Absent {
            if rule.creates {
                Lease::check_absent(self.version, self.lease_id)?;
            }
            self.conditions.check_write(rule, target.resource, false)?;
            return Ok(Lease::default());
        }
        let lease = target.lease.admit(target.kind, usage, self.lease_id, now)?;
        // The holder may overwrite in spite of `If-None-Match: *`, but not by a copy.
        let holds_lease =
            usage != LeaseUse::CopyInto && self.lease_id.is_some_and(|id| target.lease.is_held_by(id, now));
        self.conditions.check_write(rule, target.resource, holds_lease)?;
        Ok(lease)
    }
}

#[cfg(test)]
mod tests;
