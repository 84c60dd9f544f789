//! What a request brings that decides whether it may go on: the lease id, the conditions, the tag condition.
//!
//! The rules are those of `concurrency`; here they meet the states that only blobs have: uncommitted, archived, being
//! copied into.

use access::need::Rule;
use concurrency::{
    conditions::{Conditions, Resource, WriteRule},
    gate::{Guarded, Guards},
    lease::{Leasable, Lease, LeaseId, LeaseUse, check::refuse_while_copying},
    tag_condition::TagExpression,
};
use types::{ServiceVersion, Timestamp};

use crate::{
    errors::{About, BlobError},
    permissions,
    state::Blob,
    tier,
};

/// What a request brings that it is decided by.
#[derive(Clone, Debug)]
pub struct Preconditions<'a> {
    /// The service version.
    pub version: ServiceVersion,
    /// The lease id that was sent.
    pub lease_id: Option<LeaseId>,
    /// `If-Match`, `If-None-Match` and the two dates.
    pub conditions: Conditions<'a>,
    /// `x-ms-if-tags`
    pub if_tags: Option<TagExpression<'a>>,
}

impl Default for Preconditions<'_> {
    fn default() -> Self {
        Self { version: ServiceVersion::NEWEST, lease_id: None, conditions: Conditions::default(), if_tags: None }
    }
}

impl<'a> Preconditions<'a> {
    /// What an operation needs that is decided by these: a condition on tags needs the permission to read them.
    pub(crate) const fn need(&self, rule: Rule) -> Rule {
        permissions::with_tags(rule, self.if_tags.is_some())
    }

    fn guards(&self) -> Guards<'a> {
        Guards { version: self.version, lease_id: self.lease_id, conditions: self.conditions }
    }

    /// Decides a read of a blob or a snapshot.
    pub(crate) fn admit_read(&self, blob: Option<&Blob>, now: Timestamp) -> Result<(), BlobError> {
        let blob = blob.filter(|blob| blob.exists(now));
        self.guards().admit_read(guarded(blob), now).map_err(|refusal| BlobError::read(About::Blob, refusal))?;
        self.check_tags(blob)
    }

    /// Decides a write and returns the lease to store with it. `blob` may be uncommitted, never expired.
    pub(crate) fn admit_write(
        &self,
        rule: WriteRule,
        usage: LeaseUse,
        blob: Option<&Blob>,
        now: Timestamp,
    ) -> Result<Lease, BlobError> {
        let lease = match blob {
            Some(blob) if blob.extra().uncommitted => self.admit_uncommitted(rule, usage, blob, now)?,
            blob => self
                .guards()
                .admit_write(rule, usage, guarded(blob), now)
                .map_err(|refusal| BlobError::write(About::Blob, refusal))?,
        };
        self.check_tags(blob)?;
        let copying = blob.is_some_and(Blob::is_copying);
        refuse_while_copying(copying).map_err(|_| BlobError::PendingCopyOperation)?;
        Ok(lease)
    }

    /// The same, for a write that an archived blob refuses.
    pub(crate) fn admit_change(
        &self,
        rule: WriteRule,
        usage: LeaseUse,
        blob: Option<&Blob>,
        now: Timestamp,
    ) -> Result<Lease, BlobError> {
        let lease = self.admit_write(rule, usage, blob, now)?;
        blob.map_or(Ok(()), |blob| tier::refuse_archived(blob, now))?;
        Ok(lease)
    }

    /// A blob of uncommitted blocks can be leased, and counts as absent for every condition.
    fn admit_uncommitted(
        &self,
        rule: WriteRule,
        usage: LeaseUse,
        blob: &Blob,
        now: Timestamp,
    ) -> Result<Lease, BlobError> {
        let lease = blob.lease.admit(Leasable::Blob, usage, self.lease_id, now);
        let lease = lease.map_err(|refusal| BlobError::Lease(About::Blob, refusal))?;
        if rule.creates || self.conditions != Conditions::default() {
            self.conditions
                .check_write(rule, Resource::Absent, false)
                .map_err(|refusal| BlobError::condition(About::Blob, refusal))?;
        }
        Ok(lease)
    }

    fn check_tags(&self, blob: Option<&Blob>) -> Result<(), BlobError> {
        let Some(condition) = &self.if_tags else { return Ok(()) };
        condition.check(|name| blob.and_then(|blob| blob.tag(name))).map_err(|_| BlobError::TagConditionNotMet)
    }
}

/// A blob as the rules see it.
pub(crate) fn guarded(blob: Option<&Blob>) -> Guarded {
    match blob {
        Some(blob) => Guarded { kind: Leasable::Blob, resource: resource(blob), lease: blob.lease },
        None => Guarded { kind: Leasable::Blob, resource: Resource::Absent, lease: Lease::default() },
    }
}

/// A blob that exists, as the conditions see it.
pub(crate) const fn resource(blob: &Blob) -> Resource {
    Resource::Present { etag: blob.etag, last_modified: blob.last_modified }
}
