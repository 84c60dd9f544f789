//! Snapshots of shares: Snapshot Share, and what there is of them.
//!
//! Taking one raises the epoch in the share's row and writes one row, however much is in the share: writers from then on
//! keep what it sees, see `history`.
//!
//! **Invariants.** Times of snapshots of one share are unique and ascending, and so are their epochs. The share's
//! `newest_snapshot` is the epoch of the newest snapshot that exists, always below its own.

use access::{Asked, Authorized, Operation, need::Need};
use concurrency::lease::Lease;
use store::{Direction, Read, StoreError, Txn};
use types::{ETag, Metadata, Timestamp, UnitId, limits};

use crate::{Files, errors::FileError, keys, needs, share::ShareAddress, share_properties::ShareWritten, state::Share};

/// Snapshot Share.
#[derive(Clone, Debug)]
pub struct SnapshotShare {
    /// The share; no snapshot.
    pub share: ShareAddress,
    /// The metadata of the snapshot; that of the share when there is none.
    pub metadata: Option<Metadata>,
}

impl Operation for SnapshotShare {
    fn need(&self) -> Need<'_> {
        self.share.need(needs::SNAPSHOT_SHARE)
    }
}

/// A new snapshot of a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareSnapshotTaken {
    /// The time that names it.
    pub snapshot: Timestamp,
    /// Its ETag and Last-Modified: those of the share, unless it has metadata of its own.
    pub written: ShareWritten,
}

impl Files {
    /// Takes a snapshot of a share. The share's ETag stays.
    ///
    /// # Errors
    /// The share does not exist or is a snapshot, it has as many snapshots as it can have, or the store failed.
    pub async fn snapshot_share(&self, asked: &Asked<SnapshotShare>) -> Result<ShareSnapshotTaken, FileError> {
        let share = asked.share.writable(&self.view().0).await.map(|share| share.unit);
        // What was written through handles is in the snapshot. A share that is not there is refused below.
        if let Ok(share) = share {
            self.flush_share(share).await?;
        }
        self.transact(|txn| async move { take(&txn, &asked.authorize(&txn).await?).await }).await
    }
}

async fn take(txn: &Txn, request: &Authorized<'_, SnapshotShare>) -> Result<ShareSnapshotTaken, FileError> {
    let mut share = request.share.writable(txn).await?;
    if usize::try_from(share.snapshots).is_ok_and(|count| count >= limits::SHARE_SNAPSHOTS_MAX) {
        return Err(FileError::ShareSnapshotCountExceeded);
    }
    let now = txn.now();
    let time = now.max(Timestamp::from_ticks(share.last_snapshot.ticks().saturating_add(1)));
    let mut snapshot = Share {
        lease: Lease::default(),
        newest_snapshot: None,
        snapshots: 0,
        last_snapshot: Timestamp::EPOCH,
        ..share.clone()
    };
    if let Some(metadata) = &request.metadata {
        snapshot.metadata.clone_from(metadata);
        snapshot.etag = ETag::next(Some(share.etag), now, txn.fresh_id());
        snapshot.last_modified = now;
    }
    share.newest_snapshot = Some(share.epoch);
    share.epoch += 1;
    share.snapshots += 1;
    share.last_snapshot = time;
    txn.put(keys::share_snapshot(share.unit, time), snapshot.encode());
    txn.put(keys::share(request.share.account, &request.share.name), share.encode());
    Ok(ShareSnapshotTaken { snapshot: time, written: ShareWritten::of(&snapshot) })
}

/// The epochs that the snapshots of a share read at, ascending.
pub(crate) async fn epochs(rows: &impl Read, share: UnitId) -> Result<Vec<u64>, StoreError> {
    let mut epochs = Vec::new();
    let mut scan = rows.scan(keys::share_snapshots(share), Direction::Ascending);
    while let Some(row) = scan.next().await? {
        epochs.push(Share::decode(&row.value)?.epoch);
    }
    Ok(epochs)
}

/// The epoch of the newest snapshot of a share other than the one of this time.
pub(crate) async fn newest_besides(
    rows: &impl Read,
    share: UnitId,
    gone: Timestamp,
) -> Result<Option<u64>, StoreError> {
    let mut scan = rows.scan(keys::share_snapshots(share), Direction::Descending);
    while let Some(row) = scan.next().await? {
        if keys::parse_share_snapshot(&row.key)?.1 != gone {
            return Ok(Some(Share::decode(&row.value)?.epoch));
        }
    }
    Ok(None)
}
