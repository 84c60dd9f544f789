//! What all kinds of blobs share: addressing one, finding it, reading it, deleting it.

use std::sync::Arc;

use access::{
    Asked, Authorized, Operation,
    need::{Need, Part, Place as NeedPlace, Rule, Service},
};
use bytes::Bytes;
use concurrency::{conditions::WriteRule, lease::LeaseUse};
use store::{
    Read, Txn,
    content::{Holdings, PinGuard},
};
use types::{ContentId, Timestamp, UnitId, names::BlobName, names::ContainerName};

use crate::{
    Blobs, container,
    errors::BlobError,
    keys,
    lifecycle::{self, Place},
    part::{BlobPart, NamedPart, NamedTime},
    permissions,
    preconditions::Preconditions,
    snapshot,
    state::Blob,
    tier,
};

pub use crate::{properties::BlobProperties, state::BlobKind};

/// Names a blob.
#[derive(Clone, Debug)]
pub struct Address {
    /// The account that the container is in.
    pub account: UnitId,
    /// The name of its container.
    pub container: ContainerName,
    /// Its own name.
    pub blob: BlobName,
}

impl Address {
    pub(crate) fn need(&self, rule: Rule) -> Need<'_> {
        self.need_part(&NamedPart::Base, rule)
    }

    pub(crate) fn need_part<'a>(&'a self, part: &'a NamedPart, rule: Rule) -> Need<'a> {
        let part = match part {
            BlobPart::Base => Part::Base,
            BlobPart::Snapshot(named) => Part::Snapshot(&named.text),
            BlobPart::Version(named) => Part::Version(&named.text),
        };
        let place = NeedPlace::Object { container: self.container.as_str(), path: self.blob.as_str(), part };
        Need { account: self.account, service: Service::Blob, place, rule }
    }

    pub(crate) fn place(&self, container: UnitId) -> Place<'_> {
        Place { account: self.account, container, name: self.blob.as_str() }
    }

    /// What writers of this blob queue on: the name, since the row cannot be known before the container is read.
    pub(crate) fn latch(&self) -> Vec<u8> {
        [
            self.account.number().to_be_bytes().as_slice(),
            self.container.as_str().as_bytes(),
            b"/",
            self.blob.as_str().as_bytes(),
        ]
        .concat()
    }
}

/// Get Blob, Get Blob Properties and Get Blob Metadata.
#[derive(Clone, Debug)]
pub struct ReadBlob<'a> {
    /// The blob that is read.
    pub address: Address,
    /// The part of it that is read.
    pub part: NamedPart,
    /// What it is decided by.
    pub preconditions: Preconditions<'a>,
}

impl Operation for ReadBlob<'_> {
    fn need(&self) -> Need<'_> {
        self.address.need_part(&self.part, self.preconditions.need(permissions::READ_BLOB))
    }
}

/// A blob as a reader finds it: what it is, and where its bytes are.
#[derive(Clone, Debug)]
pub(crate) struct FoundBlob {
    /// What it says about itself.
    pub(crate) properties: BlobProperties,
    pub(crate) content: ContentId,
    pub(crate) holdings: Holdings,
    pub(crate) epoch: u64,
    /// Where it was found, to look again.
    pub(crate) row: Bytes,
    pub(crate) place: (UnitId, String),
    /// Its writers keep its bytes as they were found, as long as this is held.
    pub(crate) kept: Option<Arc<PinGuard>>,
}

impl Blobs {
    /// Reads what a blob says about itself, for Get Blob Properties and Get Blob Metadata; an archived blob has them too.
    ///
    /// # Errors
    /// It does not exist, a lease or condition stands against it, or the store failed.
    pub async fn get_blob_properties(&self, asked: &Asked<ReadBlob<'_>>) -> Result<BlobProperties, BlobError> {
        let (rows, now) = self.view();
        let allowed = asked.authorize(&rows).await?;
        let ReadBlob { address, part, preconditions } = &*allowed;
        let (found, _) = admitted(&rows, address, part.by_time(), preconditions, now).await?;
        Ok(found.properties)
    }
}

/// Reads a blob's row, for Get Blob: an archived blob refuses.
pub(crate) async fn read_content(
    rows: &impl Read,
    request: &ReadBlob<'_>,
    now: Timestamp,
) -> Result<FoundBlob, BlobError> {
    let (found, archived) =
        admitted(rows, &request.address, request.part.by_time(), &request.preconditions, now).await?;
    archived.map(|()| found)
}

/// A blob or snapshot that may be read, and whether its content may.
pub(crate) async fn admitted(
    rows: &impl Read,
    address: &Address,
    part: BlobPart,
    preconditions: &Preconditions<'_>,
    now: Timestamp,
) -> Result<(FoundBlob, Result<(), BlobError>), BlobError> {
    let (row, container, blob) = find_part(rows, address, part, now).await?;
    preconditions.admit_read(blob.as_ref(), now)?;
    let blob = blob.ok_or(BlobError::BlobNotFound)?;
    let archived = tier::refuse_archived(&blob, now);
    let found = FoundBlob {
        content: blob.content,
        holdings: blob.holdings,
        epoch: blob.extra().epoch,
        row,
        place: (container, address.blob.as_str().to_owned()),
        kept: None,
        properties: BlobProperties::of(blob, part, now),
    };
    Ok((found, archived))
}

/// What to do with the snapshots of a blob that is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeleteSnapshots {
    /// The blob and all of them.
    Include,
    /// All of them, and not the blob.
    Only,
}

/// Delete Blob.
#[derive(Clone, Debug)]
pub struct DeleteBlob<'a> {
    /// The blob whose parts are deleted.
    pub address: Address,
    /// The blob itself, or only this part of it.
    pub part: NamedPart,
    /// What it is decided by.
    pub preconditions: Preconditions<'a>,
    /// `x-ms-delete-snapshots`
    pub snapshots: Option<DeleteSnapshots>,
    /// `x-ms-access-tier-if-modified-since`
    pub tier_modified_since: Option<Timestamp>,
    /// `x-ms-access-tier-if-unmodified-since`
    pub tier_unmodified_since: Option<Timestamp>,
}

impl Operation for DeleteBlob<'_> {
    fn need(&self) -> Need<'_> {
        self.address.need_part(&self.part, self.preconditions.need(permissions::DELETE_BLOB))
    }
}

impl Blobs {
    /// Deletes a blob, its snapshots, or one of them.
    ///
    /// # Errors
    /// It does not exist, it has snapshots, a lease or condition stands against it, or the store failed.
    pub async fn delete_blob(&self, asked: &Asked<DeleteBlob<'_>>) -> Result<(), BlobError> {
        self.on_blob_reclaiming(&asked.address, |txn| async move { delete(&txn, &asked.authorize(&txn).await?).await })
            .await
    }
}

async fn delete(txn: &Txn, request: &Authorized<'_, DeleteBlob<'_>>) -> Result<(), BlobError> {
    let now = txn.now();
    let (container, base) = find(txn, &request.address).await?;
    let place = request.address.place(container);
    let preconditions = &request.preconditions;
    if let BlobPart::Snapshot(NamedTime { time, .. }) = request.part {
        let found = find_snapshot(txn, container, place.name, base.as_ref(), time).await?;
        preconditions.admit_write(WriteRule::EXISTING, LeaseUse::Delete, found.as_ref(), now)?;
        let (base, found) = (base.ok_or(BlobError::BlobNotFound)?, found.ok_or(BlobError::BlobNotFound)?);
        request.check_tier(&found, now)?;
        return snapshot::remove_one(txn, place, base, &found, time).await;
    }
    // Nothing writes versions, so none is found.
    let base = base.filter(|_| request.part.is_base());
    preconditions.admit_write(WriteRule::EXISTING, LeaseUse::Delete, base.as_ref(), now)?;
    let base = base.ok_or(BlobError::BlobNotFound)?;
    request.check_tier(&base, now)?;
    match request.snapshots {
        None if base.extra().snapshots > 0 => Err(BlobError::SnapshotsPresent),
        Some(DeleteSnapshots::Only) => snapshot::remove_all_of(txn, place, base).await,
        None | Some(DeleteSnapshots::Include) => lifecycle::delete(txn, place, &base).await,
    }
}

impl DeleteBlob<'_> {
    fn check_tier(&self, blob: &Blob, now: Timestamp) -> Result<(), BlobError> {
        let changed = tier::properties(blob, now).and_then(|tier| tier.changed).unwrap_or(blob.created).seconds();
        let holds = self.tier_modified_since.is_none_or(|date| changed > date.seconds())
            && self.tier_unmodified_since.is_none_or(|date| changed <= date.seconds());
        if holds { Ok(()) } else { Err(BlobError::TierConditionNotMet) }
    }
}

/// The container's unit, and the blob if there is one, committed or not. An expired one is gone.
pub(crate) async fn find(txn: &Txn, address: &Address) -> Result<(UnitId, Option<Blob>), BlobError> {
    find_at(txn, address, txn.now()).await
}

/// The same, from any rows.
pub(crate) async fn find_at(
    rows: &impl Read,
    address: &Address,
    now: Timestamp,
) -> Result<(UnitId, Option<Blob>), BlobError> {
    let container = container::find(rows, address.account, &address.container).await?.unit;
    let row = rows.get(&keys::blob(container, address.blob.as_str())).await?;
    let blob = row.map(|row| Blob::decode(&row)).transpose()?;
    Ok((container, blob.filter(|blob| !blob.is_expired(now))))
}

/// The same, for a write that may create: what is left of an expired blob goes with it.
pub(crate) async fn find_to_replace(txn: &Txn, address: &Address) -> Result<(UnitId, Option<Blob>), BlobError> {
    let container = container::find(txn, address.account, &address.container).await?.unit;
    let Some(row) = txn.get(&keys::blob(container, address.blob.as_str())).await? else { return Ok((container, None)) };
    let blob = Blob::decode(&row)?;
    if !blob.is_expired(txn.now()) {
        return Ok((container, Some(blob)));
    }
    lifecycle::delete(txn, address.place(container), &blob).await?;
    Ok((container, None))
}

/// A snapshot, if the blob still has it.
pub(crate) async fn find_snapshot(
    rows: &impl Read,
    container: UnitId,
    name: &str,
    base: Option<&Blob>,
    time: Timestamp,
) -> Result<Option<Blob>, BlobError> {
    let Some(base) = base.filter(|base| snapshot::belongs(base, time)) else { return Ok(None) };
    if base.extra().snapshots == 0 {
        return Ok(None);
    }
    let row = rows.get(&keys::snapshot(container, name, time)).await?;
    Ok(row.map(|row| Blob::decode(&row)).transpose()?)
}

/// A part of a blob with the key of its row, and the container's unit.
pub(crate) async fn find_part(
    rows: &impl Read,
    address: &Address,
    part: BlobPart,
    now: Timestamp,
) -> Result<(Bytes, UnitId, Option<Blob>), BlobError> {
    let (container, base) = find_at(rows, address, now).await?;
    let name = address.blob.as_str();
    let key = keys::part(container, name, part);
    let found = match part {
        BlobPart::Base => base,
        BlobPart::Snapshot(time) => find_snapshot(rows, container, name, base.as_ref(), time).await?,
        // A version needs no blob beside it.
        BlobPart::Version(_) => rows.get(&key).await?.map(|row| Blob::decode(&row)).transpose()?,
    };
    Ok((key, container, found))
}
