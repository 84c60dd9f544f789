//! What a share says about itself and how that is changed: Get Share Properties and Metadata, Set Share Properties, Set
//! Share Metadata.
//!
//! Unlike a container's, a share's lease protects everything that can be set, see `concurrency::lease`.

use access::{Asked, Authorized, Operation, need::Need};
use concurrency::{
    conditions::{Conditions, Resource, WriteRule},
    gate::{Guarded, Guards},
    lease::{Leasable, Lease, LeaseId, LeaseUse},
};
use store::{Read, Txn};
use types::{ETag, Metadata, ServiceVersion, Timestamp};

use crate::{
    Files,
    errors::{About, FileError},
    keys, needs,
    share::{ShareAddress, ShareProperties, ShareSettings, ShareTier},
    state::Share,
};

/// What the operations on a share are decided by.
#[derive(Clone, Copy, Debug)]
pub struct SharePreconditions<'a> {
    /// The service version.
    pub version: ServiceVersion,
    /// The lease id that was sent.
    pub lease_id: Option<LeaseId>,
    /// The conditions. Azure documents none for shares, and is known to decide by them where they are sent.
    pub conditions: Conditions<'a>,
}

impl Default for SharePreconditions<'_> {
    fn default() -> Self {
        Self { version: ServiceVersion::NEWEST, lease_id: None, conditions: Conditions::default() }
    }
}

impl SharePreconditions<'_> {
    /// Decides, and returns the lease to store.
    pub(crate) fn admit(
        &self,
        usage: LeaseUse,
        kind: Leasable,
        share: &Share,
        now: Timestamp,
    ) -> Result<Lease, FileError> {
        let guards = Guards { version: self.version, lease_id: self.lease_id, conditions: self.conditions };
        let resource = Resource::Present { etag: share.etag, last_modified: share.last_modified };
        let target = Guarded { kind, resource, lease: share.lease };
        let admitted = guards.admit_write(WriteRule::EXISTING, usage, target, now);
        admitted.map_err(|refusal| FileError::write(About::Share, refusal))
    }
}

impl ShareAddress {
    /// What of the two is leased.
    pub(crate) const fn leasable(&self) -> Leasable {
        if self.snapshot.is_some() { Leasable::ShareSnapshot } else { Leasable::Share }
    }
}

/// The new ETag of a share, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareWritten {
    /// Its ETag.
    pub etag: ETag,
    /// When it last changed.
    pub last_modified: Timestamp,
    /// Its quota, which some answers tell.
    pub quota_gib: u32,
}

impl ShareWritten {
    pub(crate) const fn of(share: &Share) -> Self {
        Self { etag: share.etag, last_modified: share.last_modified, quota_gib: share.settings.quota_gib }
    }
}

/// Get Share Properties and Get Share Metadata.
#[derive(Clone, Debug)]
pub struct GetShareProperties<'a> {
    /// The share or the snapshot.
    pub share: ShareAddress,
    /// What it is decided by.
    pub preconditions: SharePreconditions<'a>,
}

impl Operation for GetShareProperties<'_> {
    fn need(&self) -> Need<'_> {
        self.share.need(needs::GET_SHARE)
    }
}

impl Files {
    /// Reads the properties of a share or of a snapshot.
    ///
    /// # Errors
    /// It does not exist, the lease id does not hold it, a condition is not met, or the store failed.
    pub async fn get_share_properties(
        &self,
        asked: &Asked<GetShareProperties<'_>>,
    ) -> Result<ShareProperties, FileError> {
        let (rows, now) = self.view();
        properties(&rows, &asked.authorize(&rows).await?, now).await
    }
}

async fn properties(
    rows: &impl Read,
    request: &Authorized<'_, GetShareProperties<'_>>,
    now: Timestamp,
) -> Result<ShareProperties, FileError> {
    let (share, _) = request.share.readable(rows).await?;
    request.preconditions.admit(LeaseUse::Read, request.share.leasable(), &share, now)?;
    Ok(ShareProperties::of(share, now))
}

/// The settings that a request names. The others stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShareSettingsChange {
    /// The most that it may hold, in GiB.
    pub quota_gib: Option<u32>,
    /// What it is optimised for.
    pub tier: Option<ShareTier>,
    /// Operations a second.
    pub provisioned_iops: Option<u64>,
    /// MiB a second.
    pub provisioned_bandwidth_mibps: Option<u64>,
    /// Whether more may be used for more money.
    pub paid_bursting: Option<bool>,
    /// The most operations a second then.
    pub paid_bursting_max_iops: Option<u64>,
    /// The most MiB a second then.
    pub paid_bursting_max_bandwidth_mibps: Option<u64>,
    /// Whether SMB shows a directory of snapshots.
    pub snapshot_virtual_directory: Option<bool>,
    /// Whether SMB clients may lease directories.
    pub smb_directory_lease: Option<bool>,
}

impl ShareSettingsChange {
    fn apply(&self, settings: &mut ShareSettings, now: Timestamp) {
        settings.quota_gib = self.quota_gib.unwrap_or(settings.quota_gib);
        if let Some(tier) = self.tier {
            settings.tier = tier;
            settings.tier_changed = Some(now);
        }
        settings.provisioned_iops = self.provisioned_iops.or(settings.provisioned_iops);
        settings.provisioned_bandwidth_mibps =
            self.provisioned_bandwidth_mibps.or(settings.provisioned_bandwidth_mibps);
        settings.paid_bursting = self.paid_bursting.unwrap_or(settings.paid_bursting);
        settings.paid_bursting_max_iops = self.paid_bursting_max_iops.or(settings.paid_bursting_max_iops);
        settings.paid_bursting_max_bandwidth_mibps =
            self.paid_bursting_max_bandwidth_mibps.or(settings.paid_bursting_max_bandwidth_mibps);
        settings.snapshot_virtual_directory = self.snapshot_virtual_directory.or(settings.snapshot_virtual_directory);
        settings.smb_directory_lease = self.smb_directory_lease.or(settings.smb_directory_lease);
    }
}

/// Set Share Properties.
#[derive(Clone, Debug)]
pub struct SetShareProperties<'a> {
    /// The share; no snapshot.
    pub share: ShareAddress,
    /// What it is decided by.
    pub preconditions: SharePreconditions<'a>,
    /// What becomes different.
    pub change: ShareSettingsChange,
}

impl Operation for SetShareProperties<'_> {
    fn need(&self) -> Need<'_> {
        self.share.need(needs::SET_SHARE)
    }
}

/// Set Share Metadata.
#[derive(Clone, Debug)]
pub struct SetShareMetadata<'a> {
    /// The share; no snapshot.
    pub share: ShareAddress,
    /// What it is decided by.
    pub preconditions: SharePreconditions<'a>,
    /// All metadata it shall have.
    pub metadata: Metadata,
}

impl Operation for SetShareMetadata<'_> {
    fn need(&self) -> Need<'_> {
        self.share.need(needs::SET_SHARE)
    }
}

impl Files {
    /// Changes how a share behaves.
    ///
    /// # Errors
    /// It does not exist or is a snapshot, a lease or condition stands against it, or the store failed.
    pub async fn set_share_properties(&self, asked: &Asked<SetShareProperties<'_>>) -> Result<ShareWritten, FileError> {
        self.transact(|txn| async move {
            let request = asked.authorize(&txn).await?;
            let change = |share: &mut Share| request.change.apply(&mut share.settings, txn.now());
            set(&txn, &request.share, request.preconditions, change).await
        })
        .await
    }

    /// Replaces the metadata of a share.
    ///
    /// # Errors
    /// It does not exist or is a snapshot, a lease or condition stands against it, or the store failed.
    pub async fn set_share_metadata(&self, asked: &Asked<SetShareMetadata<'_>>) -> Result<ShareWritten, FileError> {
        self.transact(|txn| async move {
            let request = asked.authorize(&txn).await?;
            let change = |share: &mut Share| share.metadata.clone_from(&request.metadata);
            set(&txn, &request.share, request.preconditions, change).await
        })
        .await
    }
}

/// Changes a share that exists, when its lease and the conditions allow it.
pub(crate) async fn set(
    txn: &Txn,
    address: &ShareAddress,
    preconditions: SharePreconditions<'_>,
    change: impl FnOnce(&mut Share),
) -> Result<ShareWritten, FileError> {
    let mut share = address.writable(txn).await?;
    share.lease = preconditions.admit(LeaseUse::Write, Leasable::Share, &share, txn.now())?;
    change(&mut share);
    share.touch(txn.now(), txn.fresh_id());
    txn.put(keys::share(address.account, &address.name), share.encode());
    Ok(ShareWritten::of(&share))
}
