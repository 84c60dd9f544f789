//! Lease Share: every action, on a share or on a snapshot of one, by the rules of `concurrency`.

use access::{Asked, Authorized, Operation, need::Need};
use concurrency::{
    conditions::{Conditions, Resource, WriteRule},
    lease::{LeaseOperation, LeaseOutcome},
};
use store::Txn;

use crate::{Files, errors::FileError, keys, needs, share::ShareAddress, share_properties::ShareWritten};

/// Lease Share.
#[derive(Clone, Debug)]
pub struct LeaseShare<'a> {
    /// The share or the snapshot.
    pub share: ShareAddress,
    /// The conditions.
    pub conditions: Conditions<'a>,
    /// What to do.
    pub operation: LeaseOperation,
}

impl Operation for LeaseShare<'_> {
    fn need(&self) -> Need<'_> {
        self.share.need(match self.operation {
            LeaseOperation::Break { .. } => needs::BREAK_SHARE_LEASE,
            _ => needs::LEASE_SHARE,
        })
    }
}

/// What a lease operation on a share answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareLeaseAnswer {
    /// ETag and Last-Modified, unchanged.
    pub written: ShareWritten,
    /// The lease id, or the time that is left of it.
    pub outcome: LeaseOutcome,
}

impl Files {
    /// Does a lease operation on a share or a snapshot, which has a lease of its own. The ETag stays.
    ///
    /// # Errors
    /// It does not exist, its lease or a condition stands against it, or the store failed.
    pub async fn lease_share(&self, asked: &Asked<LeaseShare<'_>>) -> Result<ShareLeaseAnswer, FileError> {
        self.transact(|txn| async move { lease(&txn, &asked.authorize(&txn).await?).await }).await
    }
}

async fn lease(txn: &Txn, request: &Authorized<'_, LeaseShare<'_>>) -> Result<ShareLeaseAnswer, FileError> {
    let (mut share, _) = request.share.readable(txn).await?;
    let resource = Resource::Present { etag: share.etag, last_modified: share.last_modified };
    let met = request.conditions.check_write(WriteRule::EXISTING, resource, false);
    met.map_err(FileError::Condition)?;
    let change = share.lease.apply(request.share.leasable(), request.operation, txn.now());
    let change = change.map_err(FileError::LeaseOperation)?;
    share.lease = change.lease;
    let key = match request.share.snapshot {
        Some(time) => keys::share_snapshot(share.unit, time),
        None => keys::share(request.share.account, &request.share.name),
    };
    txn.put(key, share.encode());
    Ok(ShareLeaseAnswer { written: ShareWritten::of(&share), outcome: change.outcome })
}
