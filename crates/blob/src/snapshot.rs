//! Snapshots: Snapshot Blob, and the end of snapshots.
//!
//! A snapshot is a row that shares the content of its blob. Taking one writes three rows, however large the blob is: a
//! map moves to its next epoch, everything else never changes anyway.
//!
//! **Invariants.** A snapshot belongs to the blob of its name that was there when it was taken: it is gone with it at
//! once, also while its row is still there. Times of snapshots of one blob are unique and ascending.

use access::{Asked, Authorized, Operation, need::Need};
use concurrency::{
    conditions::WriteRule,
    lease::{Lease, LeaseUse},
};
use store::{Direction, Read, Txn, content::Holdings};
use types::{ETag, Timestamp};

use crate::{
    Blobs,
    errors::BlobError,
    keys,
    lifecycle::Place,
    object::{Address, find},
    permissions,
    preconditions::Preconditions,
    properties::Written,
    sharing,
    state::{Blob, Metadata},
};

/// Snapshots removed in the transaction of a delete; the rows of more of them go later.
const AT_ONCE: usize = 500;

/// Snapshot Blob.
#[derive(Clone, Debug)]
pub struct SnapshotBlob<'a> {
    /// The blob whose present state is kept.
    pub address: Address,
    /// What it is decided by.
    pub preconditions: Preconditions<'a>,
    /// The metadata of the snapshot; that of the blob when there is none.
    pub metadata: Option<Metadata>,
}

impl Operation for SnapshotBlob<'_> {
    fn need(&self) -> Need<'_> {
        self.address.need(self.preconditions.need(permissions::SNAPSHOT_BLOB))
    }
}

/// A new snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotTaken {
    /// The time that names it.
    pub snapshot: Timestamp,
    /// Its ETag and Last-Modified: those of the blob, unless it has metadata of its own.
    pub written: Written,
}

impl Blobs {
    /// Takes a snapshot. The blob's ETag stays.
    ///
    /// # Errors
    /// The blob does not exist or is archived, a lease or condition stands against it, or the store failed.
    pub async fn snapshot_blob(&self, asked: &Asked<SnapshotBlob<'_>>) -> Result<SnapshotTaken, BlobError> {
        self.on_blob(&asked.address, |txn| async move { take(&txn, &asked.authorize(&txn).await?).await }).await
    }
}

async fn take(txn: &Txn, request: &Authorized<'_, SnapshotBlob<'_>>) -> Result<SnapshotTaken, BlobError> {
    let now = txn.now();
    let (container, blob) = find(txn, &request.address).await?;
    let place = request.address.place(container);
    let blob = blob.filter(|blob| blob.exists(now));
    request.preconditions.admit_change(WriteRule::EXISTING, LeaseUse::Read, blob.as_ref(), now)?;
    let mut blob = blob.ok_or(BlobError::BlobNotFound)?;

    let time = now.max(Timestamp::from_ticks(blob.extra().last_snapshot.ticks().saturating_add(1)));
    let mut snapshot = blob.clone();
    snapshot.lease = Lease::default();
    if let Some(metadata) = &request.metadata {
        snapshot.metadata.clone_from(metadata);
        snapshot.etag = ETag::next(Some(blob.etag), now, txn.fresh_id());
        snapshot.last_modified = now;
    }
    let epoch = blob.extra().epoch;
    let kept = snapshot.extra_mut();
    kept.upload = None;
    kept.snapshots = 0;
    kept.last_snapshot = Timestamp::EPOCH;
    kept.shared = false;
    kept.newest_shared_epoch = None;
    kept.untrimmed = false;
    kept.expiry = None;
    sharing::begin(txn, blob.content, epoch, time.ticks());
    txn.put(keys::snapshot(container, place.name, time), snapshot.encode());

    let is_map = blob.holdings == Holdings::Map;
    let extra = blob.extra_mut();
    extra.snapshots += 1;
    extra.last_snapshot = time;
    extra.shared = true;
    if is_map {
        extra.newest_shared_epoch = Some(epoch);
        extra.epoch = epoch + 1;
    }
    place.put(txn, &blob);
    Ok(SnapshotTaken { snapshot: time, written: Written::of(&snapshot) })
}

/// True when a snapshot of this time is one of this blob, and not of one that had its name before.
pub(crate) fn belongs(base: &Blob, time: Timestamp) -> bool {
    time >= base.created && time > base.extra().snapshots_gone_to
}

/// Removes one snapshot.
pub(crate) async fn remove_one(
    txn: &Txn,
    place: Place<'_>,
    mut base: Blob,
    snapshot: &Blob,
    time: Timestamp,
) -> Result<(), BlobError> {
    sharing::snapshot_goes(txn, place, snapshot, time.ticks(), Some(&mut base)).await?;
    txn.delete(keys::snapshot(place.container, place.name, time));
    let extra = base.extra_mut();
    extra.snapshots = extra.snapshots.saturating_sub(1);
    place.put(txn, &base);
    Ok(())
}

/// Removes all snapshots of a blob that stays: at once for every reader, the rows of many of them in steps.
pub(crate) async fn remove_all_of(txn: &Txn, place: Place<'_>, mut base: Blob) -> Result<(), BlobError> {
    let extra = base.extra_mut();
    extra.snapshots = 0;
    extra.snapshots_gone_to = extra.last_snapshot;
    remove_some(txn, place, Some(&mut base), AT_ONCE).await?;
    place.put(txn, &base);
    Ok(())
}

/// Removes the snapshots of a blob that is gone.
pub(crate) async fn remove_orphans(txn: &Txn, place: Place<'_>) -> Result<(), BlobError> {
    remove_some(txn, place, None, AT_ONCE).await.map(|_| ())
}

/// Removes up to `limit` snapshots that do not belong to the blob any more. When more are left, an entry in the index of
/// expiries makes the sweep go on. Returns how many were removed.
pub(crate) async fn remove_some(
    txn: &Txn,
    place: Place<'_>,
    mut base: Option<&mut Blob>,
    limit: usize,
) -> Result<usize, BlobError> {
    let mut scan = txn.scan(keys::snapshots(place.container, place.name), Direction::Ascending);
    let mut removed = 0;
    while let Some(row) = scan.next().await? {
        let (_, _, time) = keys::parse_snapshot(&row.key)?;
        if base.as_deref().is_some_and(|base| belongs(base, time)) {
            break; // this one and all that follow
        }
        if removed == limit {
            txn.put(keys::expiry(txn.now(), place.container, place.name), bytes::Bytes::new());
            break;
        }
        sharing::snapshot_goes(txn, place, &Blob::decode(&row.value)?, time.ticks(), base.as_deref_mut()).await?;
        txn.delete(row.key);
        removed += 1;
    }
    Ok(removed)
}
