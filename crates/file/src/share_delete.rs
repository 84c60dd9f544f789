//! Delete Share, of a share or of one snapshot, and Restore Share.
//!
//! A share goes by a few rows, however much is in it: its name is free at once, and a sweep sees to the rest. While the account
//! keeps deleted shares, the share moves to a row of its own instead, until it is restored or its time is over.
//!
//! **Invariant.** A share's rows are those of one that exists, of one that can be restored, or of one that is swept: exactly
//! one of its rows `UNIT`, `DELETED_UNIT` and `SWEEP` is there.

use std::time::Duration;

use access::{
    Asked, Authorized, Operation,
    acl::{self, Acl},
    need::{Need, PublicAccess},
};
use concurrency::lease::{Leasable, LeaseCheckRefusal, LeaseUse};
use store::{Direction, Read, Txn};
use types::{Timestamp, UnitId, names::ShareName};

use crate::{
    Files,
    errors::{About, FileError},
    keys, needs,
    records::{DeletedShare, DeletedUnit, UnitRecord, WalkRecord},
    share::{self, ShareAddress},
    share_acl::holder,
    share_properties::{SharePreconditions, ShareWritten},
    share_snapshot,
    state::Share,
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What happens to the snapshots of a share that is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeleteShareSnapshots {
    /// There must be none.
    #[default]
    Refuse,
    /// They go too, and none of them may be leased.
    Include,
    /// They go too, leased or not.
    IncludeLeased,
}

/// Delete Share.
#[derive(Clone, Debug)]
pub struct DeleteShare<'a> {
    /// The share, or the one snapshot that is deleted.
    pub share: ShareAddress,
    /// What it is decided by.
    pub preconditions: SharePreconditions<'a>,
    /// What happens to its snapshots.
    pub snapshots: DeleteShareSnapshots,
}

impl Operation for DeleteShare<'_> {
    fn need(&self) -> Need<'_> {
        self.share.need(needs::DELETE_SHARE)
    }
}

impl Files {
    /// Deletes a share with everything in it, or one snapshot.
    ///
    /// # Errors
    /// It does not exist, has snapshots that were not to go, a lease or condition stands against it, or the store failed.
    pub async fn delete_share(&self, asked: &Asked<DeleteShare<'_>>) -> Result<(), FileError> {
        let delete = |txn| async move { delete(&txn, &asked.authorize(&txn).await?).await };
        if let Some(share) = self.transact_reclaiming(delete).await? {
            self.changes.share_deleted(share);
        }
        Ok(())
    }

    /// Brings back a share that was deleted, with its snapshots and its policies.
    ///
    /// # Errors
    /// It was not deleted or its time is over ([`FileError::ShareNotFound`]), a share of the name exists, or the store
    /// failed.
    pub async fn restore_share(&self, asked: &Asked<RestoreShare>) -> Result<ShareWritten, FileError> {
        self.transact(|txn| async move { restore(&txn, &asked.authorize(&txn).await?).await }).await
    }
}

/// The share that is gone with everything in it; `None` when it was a snapshot.
async fn delete(txn: &Txn, request: &Authorized<'_, DeleteShare<'_>>) -> Result<Option<UnitId>, FileError> {
    let ShareAddress { account, name, snapshot } = &request.share;
    let share = share::find(txn, *account, name).await?;
    if let Some(time) = snapshot {
        return delete_snapshot(txn, request, share, *time).await.map(|()| None);
    }
    request.preconditions.admit(LeaseUse::Delete, Leasable::Share, &share, txn.now())?;
    if share.snapshots > 0 {
        match request.snapshots {
            DeleteShareSnapshots::Refuse => return Err(FileError::ShareHasSnapshots),
            DeleteShareSnapshots::Include => none_is_leased(txn, share.unit).await?,
            DeleteShareSnapshots::IncludeLeased => {}
        }
    }
    let holder = holder(*account, name.as_str());
    let (unit, days) = (share.unit, account::share_retention_days(txn, *account).await?);
    txn.delete(keys::share(*account, name));
    txn.delete(keys::unit(share.unit));
    match days {
        Some(days) => {
            let policies = acl::read(txn, holder).await?.policies;
            keep(txn, (*account, name.as_str()), share, days, policies).await?;
        }
        None => sweep(txn, share.unit),
    }
    acl::write(txn, holder, &Acl::default())?;
    Ok(Some(unit))
}

/// Puts a share down for the sweep.
pub(crate) fn sweep(txn: &Txn, share: UnitId) {
    txn.put(keys::one(keys::SWEEP, share), WalkRecord::default().encode());
}

/// Keeps a share that is deleted.
async fn keep(
    txn: &Txn,
    (account, name): (UnitId, &str),
    mut share: Share,
    retention_days: u32,
    policies: Vec<access::acl::StoredAccessPolicy>,
) -> Result<(), FileError> {
    let deleted = txn.now();
    let until = deleted.saturating_add(DAY.saturating_mul(retention_days));
    let mut version = deleted;
    while txn.get(&keys::deleted_share(account, name, version)).await?.is_some() {
        version = Timestamp::from_ticks(version.ticks().saturating_add(1));
    }
    let unit = share.unit;
    share.lease = concurrency::lease::Lease::default();
    let kept = DeletedShare { share, deleted, until, retention_days, policies };
    txn.put(keys::deleted_share(account, name, version), kept.encode());
    txn.put(keys::deleted_share_deadline(until, account, name, version), bytes::Bytes::new());
    let place = DeletedUnit { account, name: name.to_owned(), version };
    txn.put(keys::one(keys::DELETED_UNIT, unit), place.encode());
    Ok(())
}

/// Refuses when a snapshot of the share is leased. They stay so until the transaction is over.
async fn none_is_leased(txn: &Txn, share: UnitId) -> Result<(), FileError> {
    let mut scan = txn.scan(keys::share_snapshots(share), Direction::Ascending);
    while let Some(row) = scan.next().await? {
        // Read by its key, so that who leases it meanwhile is seen.
        let Some(row) = txn.get(&row.key).await? else { continue };
        if Share::decode(&row)?.lease.state(txn.now()).is_locked() {
            return Err(FileError::Lease(About::Share, LeaseCheckRefusal::IdMissing));
        }
    }
    Ok(())
}

async fn delete_snapshot(
    txn: &Txn,
    request: &Authorized<'_, DeleteShare<'_>>,
    mut share: Share,
    time: Timestamp,
) -> Result<(), FileError> {
    let key = keys::share_snapshot(share.unit, time);
    let row = txn.get(&key).await?.ok_or(FileError::ShareSnapshotNotFound)?;
    request.preconditions.admit(LeaseUse::Delete, Leasable::ShareSnapshot, &Share::decode(&row)?, txn.now())?;
    txn.delete(key);
    share.snapshots = share.snapshots.saturating_sub(1);
    share.newest_snapshot = share_snapshot::newest_besides(txn, share.unit, time).await?;
    txn.put(keys::share(request.share.account, &request.share.name), share.encode());
    // From the beginning, also when one that went before is still being seen to.
    txn.put(keys::one(keys::PRUNE, share.unit), WalkRecord::default().encode());
    Ok(())
}

/// Restore Share.
#[derive(Clone, Debug)]
pub struct RestoreShare {
    /// The account that the share was in.
    pub account: UnitId,
    /// The name that it shall have.
    pub name: ShareName,
    /// The name that it had.
    pub deleted_name: ShareName,
    /// Which of the deleted shares of that name.
    pub version: Timestamp,
}

impl Operation for RestoreShare {
    fn need(&self) -> Need<'_> {
        needs::share(self.account, &self.name, needs::RESTORE_SHARE)
    }
}

async fn restore(txn: &Txn, request: &Authorized<'_, RestoreShare>) -> Result<ShareWritten, FileError> {
    let RestoreShare { account, name, deleted_name, version } = &**request;
    let key = keys::deleted_share(*account, deleted_name.as_str(), *version);
    let deleted = txn.get(&key).await?.map(|row| DeletedShare::decode(&row)).transpose()?;
    let deleted = deleted.filter(|deleted| deleted.until > txn.now()).ok_or(FileError::ShareNotFound)?;
    let target = keys::share(*account, name);
    if txn.get(&target).await?.is_some() {
        return Err(FileError::ShareAlreadyExists);
    }
    let mut share = deleted.share;
    share.touch(txn.now(), txn.fresh_id());
    txn.delete(key);
    txn.delete(keys::deleted_share_deadline(deleted.until, *account, deleted_name.as_str(), *version));
    txn.delete(keys::one(keys::DELETED_UNIT, share.unit));
    txn.put(target, share.encode());
    let named = UnitRecord { account: *account, name: name.as_str().to_owned() };
    txn.put(keys::unit(share.unit), named.encode());
    let acl = Acl { public_access: PublicAccess::Private, policies: deleted.policies };
    acl::write(txn, holder(*account, name.as_str()), &acl)?;
    Ok(ShareWritten::of(&share))
}
