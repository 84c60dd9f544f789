//! Shares: what they are set to, create, and how one is found.

use access::{Asked, Authorized, Operation, need::Need};
use concurrency::lease::{Lease, LeaseProperties};
use store::{Read, StoreError, Txn};
use types::{ETag, Inode, Metadata, Timestamp, UnitId, limits, names::ShareName};

use crate::{
    Files,
    errors::FileError,
    history::At,
    keys, needs, permission,
    records::{DeletedShare, DeletedUnit, UnitRecord},
    security::SecurityDescriptor,
    state::{FileAttributes, Node, Share, SmbProperties},
    tree::Tree,
};

/// How a share behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareSettings {
    /// The most that it may hold, in GiB.
    pub quota_gib: u32,
    /// What it is optimised for.
    pub tier: ShareTier,
    /// When somebody last chose the tier.
    pub tier_changed: Option<Timestamp>,
    /// Operations a second that were paid for.
    pub provisioned_iops: Option<u64>,
    /// MiB a second that were paid for.
    pub provisioned_bandwidth_mibps: Option<u64>,
    /// Whether more may be used for more money.
    pub paid_bursting: bool,
    /// The most operations a second then.
    pub paid_bursting_max_iops: Option<u64>,
    /// The most MiB a second then.
    pub paid_bursting_max_bandwidth_mibps: Option<u64>,
    /// Whether SMB shows a directory of snapshots.
    pub snapshot_virtual_directory: Option<bool>,
    /// Whether SMB clients may lease directories.
    pub smb_directory_lease: Option<bool>,
}

impl Default for ShareSettings {
    fn default() -> Self {
        Self {
            quota_gib: limits::SHARE_QUOTA_MAX_GIB,
            tier: ShareTier::TransactionOptimized,
            tier_changed: None,
            provisioned_iops: None,
            provisioned_bandwidth_mibps: None,
            paid_bursting: false,
            paid_bursting_max_iops: None,
            paid_bursting_max_bandwidth_mibps: None,
            snapshot_virtual_directory: None,
            smb_directory_lease: None,
        }
    }
}

/// The access tiers of shares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShareTier {
    /// TransactionOptimized
    #[default]
    TransactionOptimized,
    /// Hot
    Hot,
    /// Cool
    Cool,
    /// Premium
    Premium,
}

/// What a share, or a snapshot of one, says about itself.
#[derive(Clone, Debug)]
pub struct ShareProperties {
    /// Its ETag.
    pub etag: ETag,
    /// When it last changed.
    pub last_modified: Timestamp,
    /// Its lease; a snapshot has one of its own.
    pub lease: LeaseProperties,
    /// Its metadata.
    pub metadata: Metadata,
    /// How it behaves.
    pub settings: ShareSettings,
}

impl ShareProperties {
    pub(crate) fn of(share: Share, now: Timestamp) -> Self {
        Self {
            etag: share.etag,
            last_modified: share.last_modified,
            lease: share.lease.properties(now),
            metadata: share.metadata,
            settings: share.settings,
        }
    }
}

/// Names a share, or a snapshot of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareAddress {
    /// The account that the share is in.
    pub account: UnitId,
    /// The name of the share.
    pub name: ShareName,
    /// The snapshot that is meant.
    pub snapshot: Option<Timestamp>,
}

impl ShareAddress {
    pub(crate) fn need(&self, rule: access::need::Rule) -> Need<'_> {
        needs::share(self.account, &self.name, rule)
    }

    /// The share that is meant, which can be written: no snapshot.
    ///
    /// # Errors
    /// It is a snapshot, there is no such share, or the store failed.
    pub(crate) async fn writable(&self, rows: &impl Read) -> Result<Share, FileError> {
        self.refuse_snapshot()?;
        find(rows, self.account, &self.name).await
    }

    pub(crate) const fn refuse_snapshot(&self) -> Result<(), FileError> {
        if self.snapshot.is_some() { Err(FileError::ShareSnapshotOperationNotSupported) } else { Ok(()) }
    }

    /// The share or snapshot that is meant, and at which state its rows are to be read.
    ///
    /// # Errors
    /// There is no such share or snapshot, or the store failed.
    pub(crate) async fn readable(&self, rows: &impl Read) -> Result<(Share, At), FileError> {
        let share = find(rows, self.account, &self.name).await?;
        let Some(time) = self.snapshot else { return Ok((share, At::Present)) };
        let row = rows.get(&keys::share_snapshot(share.unit, time)).await?;
        let snapshot = Share::decode(&row.ok_or(FileError::ShareSnapshotNotFound)?)?;
        let at = At::Epoch(snapshot.epoch);
        Ok((snapshot, at))
    }
}

/// The share with this name.
pub(crate) async fn find(rows: &impl Read, account: UnitId, name: &ShareName) -> Result<Share, FileError> {
    match rows.get(&keys::share(account, name)).await? {
        Some(row) => Ok(Share::decode(&row)?),
        None => Err(FileError::ShareNotFound),
    }
}

/// Create Share.
#[derive(Clone, Debug)]
pub struct CreateShare {
    /// The account that the share is in.
    pub account: UnitId,
    /// The name of the share.
    pub name: ShareName,
    /// Its metadata.
    pub metadata: Metadata,
    /// How it shall behave.
    pub settings: ShareSettings,
}

impl Operation for CreateShare {
    fn need(&self) -> Need<'_> {
        needs::share(self.account, &self.name, needs::CREATE_SHARE)
    }
}

impl Files {
    /// Creates a share, with its topmost directory.
    ///
    /// # Errors
    /// It exists, or the store failed.
    pub async fn create_share(&self, asked: &Asked<CreateShare>) -> Result<ShareProperties, FileError> {
        self.transact(|txn| async move { create(&txn, &asked.authorize(&txn).await?).await }).await
    }
}

async fn create(txn: &Txn, request: &Authorized<'_, CreateShare>) -> Result<ShareProperties, FileError> {
    let key = keys::share(request.account, &request.name);
    if txn.get(&key).await?.is_some() {
        return Err(FileError::ShareAlreadyExists);
    }
    let (unit, now) = (txn.fresh_id(), txn.now());
    let share = Share {
        unit: UnitId::new(unit),
        root: Inode::new(txn.fresh_id()),
        etag: ETag::next(None, now, unit),
        last_modified: now,
        lease: Lease::default(),
        metadata: request.metadata.clone(),
        settings: request.settings.clone(),
        epoch: 0,
        newest_snapshot: None,
        snapshots: 0,
        last_snapshot: Timestamp::EPOCH,
    };
    let smb = SmbProperties {
        attributes: FileAttributes::DIRECTORY,
        created: now.into(),
        written: now.into(),
        changed: now.into(),
        accessed: now.into(),
        permission: permission::keep(txn, share.unit, &SecurityDescriptor::of_root()?).await?,
    };
    let root = Node {
        since: share.epoch,
        inode: share.root,
        parent: share.root,
        etag: share.etag,
        last_modified: now,
        smb,
        metadata: Metadata::new(),
        file: None,
    };
    let named = UnitRecord { account: request.account, name: request.name.as_str().to_owned() };
    txn.put(key, share.encode());
    txn.put(keys::unit(share.unit), named.encode());
    Tree::of(&share).put_node(txn, &root).await?;
    Ok(ShareProperties::of(share, now))
}

/// The share with this id.
///
/// # Errors
/// There is none, also when it can be restored ([`FileError::ShareNotFound`]), or the store failed.
pub(crate) async fn live(rows: &impl Read, unit: UnitId) -> Result<Share, FileError> {
    live_named(rows, unit).await.map(|(_, share)| share)
}

/// The same with its name.
pub(crate) async fn live_named(rows: &impl Read, unit: UnitId) -> Result<(String, Share), FileError> {
    let named = rows.get(&keys::unit(unit)).await?.ok_or(FileError::ShareNotFound)?;
    let named = UnitRecord::decode(&named)?;
    let row = rows.get(&keys::share_marker(named.account, &named.name)).await?;
    Ok((named.name, Share::decode(&row.ok_or(FileError::ShareNotFound)?)?))
}

/// The share with this id, also one that is deleted and can be restored; `None` when it is gone.
pub(crate) async fn of_unit(rows: &impl Read, unit: UnitId) -> Result<Option<Share>, StoreError> {
    if let Some(row) = rows.get(&keys::unit(unit)).await? {
        let named = UnitRecord::decode(&row)?;
        let row = rows.get(&keys::share_marker(named.account, &named.name)).await?;
        return row.map(|row| Share::decode(&row)).transpose();
    }
    let Some(row) = rows.get(&keys::one(keys::DELETED_UNIT, unit)).await? else { return Ok(None) };
    let place = DeletedUnit::decode(&row)?;
    let row = rows.get(&keys::deleted_share(place.account, &place.name, place.version)).await?;
    Ok(row.map(|row| DeletedShare::decode(&row)).transpose()?.map(|deleted| deleted.share))
}
