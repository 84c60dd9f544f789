//! What can be set on a blob besides its content: Set Blob Properties, Set Blob Metadata, Set Blob Expiry.

use std::time::Duration;

use access::{Asked, Authorized, Operation, need::Need};
use bytes::Bytes;
use concurrency::{
    conditions::WriteRule,
    lease::LeaseUse,
    sequence_number::{SequenceNumber, SequenceNumberAction},
};
use store::Txn;
use types::{Timestamp, UnitId};

use crate::{
    Blobs,
    errors::BlobError,
    keys,
    object::{Address, find},
    page_blob, permissions,
    preconditions::Preconditions,
    properties::Written,
    state::{Blob, BlobKind, HttpHeaders, Metadata},
};

/// Set Blob Properties.
#[derive(Clone, Debug)]
pub struct SetProperties<'a> {
    /// The blob that gets the properties.
    pub address: Address,
    /// What it is decided by.
    pub preconditions: Preconditions<'a>,
    /// All HTTP properties it shall have; `None` when the request is about a page blob's length or sequence number only,
    /// and they stay.
    pub headers: Option<HttpHeaders>,
    /// The new length of a page blob.
    pub length: Option<u64>,
    /// How the sequence number of a page blob changes.
    pub sequence_number: Option<SequenceNumberAction>,
}

impl Operation for SetProperties<'_> {
    fn need(&self) -> Need<'_> {
        self.address.need(self.preconditions.need(permissions::SET_BLOB))
    }
}

/// What Set Blob Properties answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PropertiesSet {
    /// The new ETag, and when.
    pub written: Written,
    /// The sequence number of a page blob.
    pub sequence_number: Option<SequenceNumber>,
}

/// A blob that exists and may be changed, with the lease to store.
async fn admitted(
    txn: &Txn,
    address: &Address,
    preconditions: &Preconditions<'_>,
) -> Result<(UnitId, Blob), BlobError> {
    let (container, blob) = find(txn, address).await?;
    let lease = preconditions.admit_change(WriteRule::EXISTING, LeaseUse::Write, blob.as_ref(), txn.now())?;
    let blob = blob.filter(|blob| blob.exists(txn.now())).ok_or(BlobError::BlobNotFound)?;
    Ok((container, Blob { lease, ..blob }))
}

impl Blobs {
    /// Sets properties; the length and the sequence number are those of page blobs.
    ///
    /// # Errors
    /// The blob does not exist or is of another kind, a lease or condition stands against it, or the store failed.
    pub async fn set_blob_properties(&self, asked: &Asked<SetProperties<'_>>) -> Result<PropertiesSet, BlobError> {
        let address = &asked.address;
        loop {
            let set = |txn: Txn| async move { set_properties(&txn, &asked.authorize(&txn).await?).await };
            match self.on_blob(address, set).await? {
                Step::Done(done) => return Ok(done),
                // What a shorter length once cut off must be gone before the blob grows over it.
                Step::TrimFirst(container) => {
                    let trim = |txn: Txn| async move { page_blob::trim(&txn, address.place(container)).await };
                    self.on_blob(address, trim).await?;
                }
            }
        }
    }
}

enum Step {
    Done(PropertiesSet),
    TrimFirst(UnitId),
}

async fn set_properties(txn: &Txn, request: &Authorized<'_, SetProperties<'_>>) -> Result<Step, BlobError> {
    let (container, mut blob) = admitted(txn, &request.address, &request.preconditions).await?;
    let place = request.address.place(container);
    if blob.kind != BlobKind::Page && (request.length.is_some() || request.sequence_number.is_some()) {
        return Err(BlobError::InvalidBlobType);
    }
    if let Some(headers) = &request.headers {
        blob.headers.clone_from(headers);
    }
    if blob.extra().copy.is_some() {
        // It is not any more what was copied. One that is pending was refused above.
        blob.extra_mut().copy = None;
    }
    if let Some(action) = request.sequence_number {
        let next = action.apply(blob.sequence_number());
        blob.extra_mut().sequence_number = next.map_err(|_| BlobError::SequenceNumberIncrementTooLarge)?;
    }
    if let Some(length) = request.length {
        page_blob::check_length(length)?;
        if let Some(tier) = &blob.extra().tier {
            tier.tier.check(BlobKind::Page, length).map_err(|_| BlobError::ContentLengthLargerThanTierLimit)?;
        }
        if length > blob.length && blob.extra().untrimmed {
            return Ok(Step::TrimFirst(container));
        }
        let shrinks = length < blob.length;
        blob.length = length;
        if shrinks {
            page_blob::cut(txn, place, &mut blob).await?;
        }
    }
    blob.touch(txn.now(), txn.fresh_id());
    place.put(txn, &blob);
    let sequence_number = (blob.kind == BlobKind::Page).then(|| blob.sequence_number());
    Ok(Step::Done(PropertiesSet { written: Written::of(&blob), sequence_number }))
}

/// Set Blob Metadata.
#[derive(Clone, Debug)]
pub struct SetMetadata<'a> {
    /// The blob that gets the metadata.
    pub address: Address,
    /// What it is decided by.
    pub preconditions: Preconditions<'a>,
    /// All metadata it shall have.
    pub metadata: Metadata,
}

impl Operation for SetMetadata<'_> {
    fn need(&self) -> Need<'_> {
        self.address.need(self.preconditions.need(permissions::SET_BLOB))
    }
}

impl Blobs {
    /// Replaces the metadata of a blob.
    ///
    /// # Errors
    /// The blob does not exist, a lease or condition stands against it, or the store failed.
    pub async fn set_blob_metadata(&self, asked: &Asked<SetMetadata<'_>>) -> Result<Written, BlobError> {
        self.on_blob(&asked.address, |txn| async move { set_metadata(&txn, &asked.authorize(&txn).await?).await }).await
    }
}

async fn set_metadata(txn: &Txn, request: &Authorized<'_, SetMetadata<'_>>) -> Result<Written, BlobError> {
    let (container, mut blob) = admitted(txn, &request.address, &request.preconditions).await?;
    blob.metadata.clone_from(&request.metadata);
    blob.touch(txn.now(), txn.fresh_id());
    request.address.place(container).put(txn, &blob);
    Ok(Written::of(&blob))
}

/// When a blob is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// So long after it was created.
    RelativeToCreation(Duration),
    /// So long after now.
    RelativeToNow(Duration),
    /// At this time.
    Absolute(Timestamp),
    /// Never.
    Never,
}

impl Expiry {
    /// The instant from which on a blob is gone that was created then; it is in the future.
    pub(crate) fn resolve(self, created: Timestamp, now: Timestamp) -> Result<Option<Timestamp>, BlobError> {
        let expiry = match self {
            Self::RelativeToCreation(after) => Some(created.saturating_add(after)),
            Self::RelativeToNow(after) => Some(now.saturating_add(after)),
            Self::Absolute(time) => Some(time),
            Self::Never => None,
        };
        if expiry.is_some_and(|expiry| expiry <= now) { Err(BlobError::InvalidExpiry) } else { Ok(expiry) }
    }
}

/// Set Blob Expiry.
#[derive(Clone, Debug)]
pub struct SetExpiry<'a> {
    /// The blob that is to be gone.
    pub address: Address,
    /// What it is decided by: the lease id.
    pub preconditions: Preconditions<'a>,
    /// When it is gone.
    pub expiry: Expiry,
}

impl Operation for SetExpiry<'_> {
    fn need(&self) -> Need<'_> {
        self.address.need(self.preconditions.need(permissions::SET_BLOB))
    }
}

impl Blobs {
    /// Sets when a blob is gone. From that instant on nobody finds it or its snapshots; their space is given back later.
    ///
    /// # Errors
    /// The blob does not exist, the time is not in the future, a lease stands against it, or the store failed.
    pub async fn set_blob_expiry(&self, asked: &Asked<SetExpiry<'_>>) -> Result<Written, BlobError> {
        self.on_blob(&asked.address, |txn| async move { set_expiry(&txn, &asked.authorize(&txn).await?).await }).await
    }
}

async fn set_expiry(txn: &Txn, request: &Authorized<'_, SetExpiry<'_>>) -> Result<Written, BlobError> {
    let (container, mut blob) = admitted(txn, &request.address, &request.preconditions).await?;
    let (place, now) = (request.address.place(container), txn.now());
    let expiry = request.expiry.resolve(blob.created, now)?;
    if let Some(before) = blob.extra().expiry {
        txn.delete(keys::expiry(before, container, place.name));
    }
    if let Some(expiry) = expiry {
        txn.put(keys::expiry(expiry, container, place.name), Bytes::new());
    }
    blob.extra_mut().expiry = expiry;
    blob.touch(now, txn.fresh_id());
    place.put(txn, &blob);
    Ok(Written::of(&blob))
}
