//! Lease Blob: every action, in every state, by the rules of `concurrency`.

use access::{Asked, Authorized, Operation, need::Need};
use concurrency::{
    conditions::{Conditions, WriteRule},
    lease::{Leasable, LeaseOperation, LeaseOutcome, check::refuse_while_copying},
    tag_condition::TagExpression,
};
use store::Txn;

use crate::{
    Blobs,
    errors::{About, BlobError},
    object::{Address, find},
    permissions,
    preconditions::resource,
    properties::Written,
};

/// Lease Blob.
#[derive(Clone, Debug)]
pub struct LeaseBlob<'a> {
    /// The blob that is leased.
    pub address: Address,
    /// `If-Match`, `If-None-Match` and the two dates.
    pub conditions: Conditions<'a>,
    /// `x-ms-if-tags`
    pub if_tags: Option<TagExpression<'a>>,
    /// Acquire, renew, change, release or break.
    pub operation: LeaseOperation,
}

impl Operation for LeaseBlob<'_> {
    fn need(&self) -> Need<'_> {
        let rule = match self.operation {
            LeaseOperation::Break { .. } => permissions::BREAK_BLOB_LEASE,
            _ => permissions::LEASE_BLOB,
        };
        self.address.need(permissions::with_tags(rule, self.if_tags.is_some()))
    }
}

/// What a lease operation answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseAnswer {
    /// ETag and Last-Modified, unchanged.
    pub written: Written,
    /// The lease id, or the time that is left of it.
    pub outcome: LeaseOutcome,
}

impl Blobs {
    /// Does a lease operation on a blob, which may be one of uncommitted blocks. Its ETag stays.
    ///
    /// # Errors
    /// The blob does not exist, its lease or a condition stands against it, or the store failed.
    pub async fn lease_blob(&self, asked: &Asked<LeaseBlob<'_>>) -> Result<LeaseAnswer, BlobError> {
        self.on_blob(&asked.address, |txn| async move { lease(&txn, &asked.authorize(&txn).await?).await }).await
    }
}

async fn lease(txn: &Txn, request: &Authorized<'_, LeaseBlob<'_>>) -> Result<LeaseAnswer, BlobError> {
    let (container, blob) = find(txn, &request.address).await?;
    let mut blob = blob.ok_or(BlobError::BlobNotFound)?;
    if blob.extra().uncommitted {
        if request.conditions != Conditions::default() {
            return Err(BlobError::BlobNotFound); // for conditions there is no blob
        }
    } else {
        request
            .conditions
            .check_write(WriteRule::EXISTING, resource(&blob), false)
            .map_err(|refusal| BlobError::condition(About::Blob, refusal))?;
    }
    if let Some(condition) = &request.if_tags {
        condition.check(|name| blob.tag(name)).map_err(|_| BlobError::TagConditionNotMet)?;
    }
    refuse_while_copying(blob.is_copying()).map_err(|_| BlobError::PendingCopyOperation)?;
    let change = blob.lease.apply(Leasable::Blob, request.operation, txn.now());
    let change = change.map_err(BlobError::LeaseOperation)?;
    blob.lease = change.lease;
    request.address.place(container).put(txn, &blob);
    Ok(LeaseAnswer { written: Written::of(&blob), outcome: change.outcome })
}
