//! What all kinds of blobs share: addressing one, its properties, reading it, deleting it.

use access::{
    Authorized, Operation,
    need::{Need, Part, Place, Rule, Service},
};
use concurrency::{
    conditions::{Conditions, Resource, WriteRule},
    gate::{Guarded, Guards},
    lease::{Leasable, Lease, LeaseId, LeaseProperties, LeaseUse},
};
use store::{
    Read, Txn,
    content::{self, Holdings},
};
use types::{ContentId, ETag, ServiceVersion, Timestamp, UnitId, names::BlobName, names::ContainerName};

use crate::{
    container,
    errors::{About, BlobError},
    keys, permissions,
    records::{Blob, BlobKind, HttpHeaders, Metadata},
};

/// Names a blob.
#[derive(Clone, Debug)]
pub struct Address {
    /// The account.
    pub account: UnitId,
    /// The container.
    pub container: ContainerName,
    /// The blob.
    pub blob: BlobName,
}

impl Address {
    pub(crate) fn need(&self, rule: Rule) -> Need<'_> {
        let place = Place::Object { container: self.container.as_str(), path: self.blob.as_str(), part: Part::Base };
        Need { account: self.account, service: Service::Blob, place, rule }
    }

    /// What writers of this blob queue on: the name, since the row cannot be known before the container is read.
    #[must_use]
    pub fn latch(&self) -> Vec<u8> {
        [
            self.account.number().to_be_bytes().as_slice(),
            self.container.as_str().as_bytes(),
            b"/",
            self.blob.as_str().as_bytes(),
        ]
        .concat()
    }
}

/// What a blob says about itself.
#[derive(Clone, Debug)]
pub struct BlobProperties {
    /// Block, page or append.
    pub kind: BlobKind,
    /// Its ETag.
    pub etag: ETag,
    /// When it last changed.
    pub last_modified: Timestamp,
    /// When it was created.
    pub created: Timestamp,
    /// Its length.
    pub length: u64,
    /// How it is served.
    pub headers: HttpHeaders,
    /// Its metadata.
    pub metadata: Metadata,
    /// Its lease.
    pub lease: LeaseProperties,
}

impl BlobProperties {
    pub(crate) fn of(blob: Blob, now: Timestamp) -> Self {
        Self {
            kind: blob.kind,
            etag: blob.etag,
            last_modified: blob.last_modified,
            created: blob.created,
            length: blob.length,
            headers: blob.headers,
            metadata: blob.metadata,
            lease: blob.lease.properties(now),
        }
    }
}

/// Get Blob and Get Blob Properties.
#[derive(Clone, Debug)]
pub struct ReadBlob<'a> {
    /// Which.
    pub address: Address,
    /// The service version.
    pub version: ServiceVersion,
    /// The lease id that was sent.
    pub lease_id: Option<LeaseId>,
    /// The conditions.
    pub conditions: Conditions<'a>,
}

impl Operation for ReadBlob<'_> {
    fn need(&self) -> Need<'_> {
        self.address.need(permissions::READ_BLOB)
    }
}

/// A blob as a reader finds it: what it is, and where its bytes are.
#[derive(Clone, Debug)]
pub struct FoundBlob {
    /// What it says about itself.
    pub properties: BlobProperties,
    /// The owner of its bytes: hold it before the bytes are read, then look again that it is still this.
    pub content: ContentId,
    /// Where they are.
    pub holdings: Holdings,
}

/// Reads a blob's row.
///
/// # Errors
/// It does not exist, a lease or condition stands against it, or the store failed.
pub async fn read(
    rows: &impl Read,
    request: &Authorized<ReadBlob<'_>>,
    now: Timestamp,
) -> Result<FoundBlob, BlobError> {
    let blob = find(rows, &request.address).await?.1;
    let guards = Guards { version: request.version, lease_id: request.lease_id, conditions: request.conditions };
    guards.admit_read(guarded(blob.as_ref()), now).map_err(|refusal| BlobError::read(About::Blob, refusal))?;
    let blob = blob.ok_or(BlobError::BlobNotFound)?;
    Ok(FoundBlob { content: blob.content, holdings: blob.holdings, properties: BlobProperties::of(blob, now) })
}

/// Delete Blob.
#[derive(Clone, Debug)]
pub struct DeleteBlob<'a> {
    /// Which.
    pub address: Address,
    /// The service version.
    pub version: ServiceVersion,
    /// The lease id that was sent.
    pub lease_id: Option<LeaseId>,
    /// The conditions.
    pub conditions: Conditions<'a>,
}

impl Operation for DeleteBlob<'_> {
    fn need(&self) -> Need<'_> {
        self.address.need(permissions::DELETE_BLOB)
    }
}

/// Deletes a blob.
///
/// # Errors
/// It does not exist, a lease or condition stands against it, or the store failed.
pub async fn delete(txn: &Txn, request: &Authorized<DeleteBlob<'_>>) -> Result<(), BlobError> {
    request.confirm(txn).await?;
    let (container, blob) = find(txn, &request.address).await?;
    let guards = Guards { version: request.version, lease_id: request.lease_id, conditions: request.conditions };
    guards
        .admit_write(WriteRule::EXISTING, LeaseUse::Delete, guarded(blob.as_ref()), txn.now())
        .map_err(|refusal| BlobError::write(About::Blob, refusal))?;
    let blob = blob.ok_or(BlobError::BlobNotFound)?;
    txn.delete(keys::blob(container, &request.address.blob));
    release(txn, &blob).await
}

/// The bytes of a blob that is gone, or replaced, belong to nobody any more.
pub(crate) async fn release(txn: &Txn, blob: &Blob) -> Result<(), BlobError> {
    match blob.holdings {
        Holdings::Nothing => Ok(()),
        holdings => Ok(content::release(txn, blob.content, holdings).await?),
    }
}

/// The container's unit, and the blob if it exists.
pub(crate) async fn find(rows: &impl Read, address: &Address) -> Result<(UnitId, Option<Blob>), BlobError> {
    let container = container::find(rows, address.account, &address.container).await?.unit;
    let row = rows.get(&keys::blob(container, &address.blob)).await?;
    Ok((container, row.map(|row| Blob::decode(&row)).transpose()?))
}

/// A blob as the rules see it.
pub(crate) fn guarded(blob: Option<&Blob>) -> Guarded {
    match blob {
        Some(blob) => Guarded {
            kind: Leasable::Blob,
            resource: Resource::Present { etag: blob.etag, last_modified: blob.last_modified },
            lease: blob.lease,
        },
        None => Guarded { kind: Leasable::Blob, resource: Resource::Absent, lease: Lease::default() },
    }
}
