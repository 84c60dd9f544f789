//! Append blobs: create, Append Block, seal.
//!
//! An append writes the chunk, one row of the map and the blob's row, and reads nothing of what is there already.

use access::{Asked, Authorized, Operation, need::Need};
use concurrency::{append_condition::AppendConditions, conditions::WriteRule, lease::LeaseUse};
use store::{
    PendingChunk, Read, Txn,
    content::{self, Holdings},
    content_map::{MapWriter, Slice},
};
use types::{ContentId, ServiceVersion, Timestamp, limits};

use crate::{
    Blobs,
    block_blob::{Made, NewBlob, admit_new, store_new},
    body::{Begun, Body},
    errors::BlobError,
    object::{Address, find, find_at, find_to_replace},
    permissions,
    preconditions::Preconditions,
    properties::Written,
    state::{Blob, BlobKind},
};

/// Put Blob of an append blob: one without blocks.
#[derive(Clone, Debug)]
pub struct CreateAppendBlob<'a> {
    /// The blob to create or replace.
    pub address: Address,
    /// What it is decided by.
    pub preconditions: Preconditions<'a>,
    /// What it is made with.
    pub new: NewBlob,
}

impl Operation for CreateAppendBlob<'_> {
    fn need(&self) -> Need<'_> {
        self.address
            .need(self.preconditions.need(permissions::with_tags(permissions::PUT_BLOB, !self.new.tags.is_empty())))
    }
}

impl Blobs {
    /// Creates or replaces an append blob.
    ///
    /// # Errors
    /// A lease or condition stands against it, or the store failed.
    pub async fn create_append_blob(&self, asked: &Asked<CreateAppendBlob<'_>>) -> Result<Written, BlobError> {
        self.on_blob(&asked.address, |txn| async move { create(&txn, &asked.authorize(&txn).await?).await }).await
    }
}

async fn create(txn: &Txn, request: &Authorized<'_, CreateAppendBlob<'_>>) -> Result<Written, BlobError> {
    let (container, old) = find_to_replace(txn, &request.address).await?;
    let (preconditions, may_overwrite) = (&request.preconditions, request.may_overwrite());
    let lease = admit_new(preconditions, BlobKind::Append, LeaseUse::Write, old.as_ref(), may_overwrite, txn.now())?;
    let content = ContentId::new(txn.fresh_id());
    let made = Made { kind: BlobKind::Append, content, length: 0, holdings: Holdings::Map, lease };
    let blob = made.blob(txn, &request.new, old.as_ref())?;
    store_new(txn, request.address.place(container), &blob, old.as_ref()).await?;
    Ok(Written::of(&blob))
}

/// Append Block, and Append Block From URL once its bytes are here. Seal takes the position only.
#[derive(Clone, Debug)]
pub struct AppendBlock<'a> {
    /// The append blob that gets a block at its end.
    pub address: Address,
    /// What it is decided by.
    pub preconditions: Preconditions<'a>,
    /// The conditions on position and size.
    pub append: AppendConditions,
}

impl Operation for AppendBlock<'_> {
    fn need(&self) -> Need<'_> {
        self.address.need(self.preconditions.need(permissions::APPEND_BLOCK))
    }
}

/// What an append answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The new ETag, and when.
    pub written: Written,
    /// Where the block begins.
    pub offset: u64,
    /// How many blocks the blob has now.
    pub committed_block_count: u32,
}

/// The largest block of an append blob in a service version.
#[must_use]
pub fn block_limit(version: ServiceVersion) -> u64 {
    if version.at_least(2022, 11, 2) { limits::APPEND_BLOCK_MAX_BYTES } else { limits::APPEND_BLOCK_MAX_BYTES_OLDEST }
}

fn admit(
    preconditions: &Preconditions<'_>,
    append: &AppendConditions,
    blob: Option<Blob>,
    length: u64,
    now: Timestamp,
) -> Result<Blob, BlobError> {
    let lease = preconditions.admit_change(WriteRule::EXISTING, LeaseUse::Write, blob.as_ref(), now)?;
    let mut blob = blob.filter(|blob| blob.exists(now)).ok_or(BlobError::BlobNotFound)?;
    if blob.kind != BlobKind::Append {
        return Err(BlobError::InvalidBlobType);
    }
    append.check(blob.length, length).map_err(BlobError::Append)?;
    blob.lease = lease;
    Ok(blob)
}

impl Blobs {
    /// Begins Append Block: decides early, before a body is read or fetched; `length` is that of a body that was sent. What
    /// it allows is decided again by [`Self::append_block`].
    ///
    /// # Errors
    /// As [`Self::append_block`].
    pub async fn begin_append_block(
        &self,
        asked: &Asked<AppendBlock<'_>>,
        length: Option<u64>,
    ) -> Result<Begun<'_>, BlobError> {
        if let Some((rows, allowed, now)) = self.allow_body(asked, length).await? {
            begin(&rows, &allowed, length.unwrap_or_default(), now).await?;
        }
        Ok(self.begun())
    }

    /// Appends the bytes that have come.
    ///
    /// # Errors
    /// The blob does not exist, is no append blob or is sealed, a lease or condition stands against it, there are too
    /// many blocks, or the store failed.
    pub async fn append_block(&self, asked: &Asked<AppendBlock<'_>>, body: &Body) -> Result<Appended, BlobError> {
        let chunk = body.chunk();
        let append = |txn: Txn| async move { finish(&txn, &asked.authorize(&txn).await?, chunk).await };
        self.on_blob(&asked.address, append).await
    }
}

async fn begin(
    rows: &impl Read,
    request: &Authorized<'_, AppendBlock<'_>>,
    length: u64,
    now: Timestamp,
) -> Result<(), BlobError> {
    let (_, blob) = find_at(rows, &request.address, now).await?;
    let blob = admit(&request.preconditions, &request.append, blob, length, now)?;
    check_room(&blob, length, request.preconditions.version)
}

fn check_room(blob: &Blob, length: u64, version: ServiceVersion) -> Result<(), BlobError> {
    let limit = block_limit(version);
    if blob.extra().sealed {
        return Err(BlobError::BlobIsSealed);
    }
    if length > limit {
        return Err(BlobError::TooLarge(limit));
    }
    if usize::try_from(blob.extra().append_blocks).unwrap_or(usize::MAX) >= limits::APPEND_BLOCKS_MAX {
        return Err(BlobError::BlockCountExceedsLimit(limits::APPEND_BLOCKS_MAX));
    }
    Ok(())
}

async fn finish(
    txn: &Txn,
    request: &Authorized<'_, AppendBlock<'_>>,
    body: &PendingChunk,
) -> Result<Appended, BlobError> {
    let chunk = body.reference();
    let (container, blob) = find(txn, &request.address).await?;
    let mut blob = admit(&request.preconditions, &request.append, blob, chunk.length, txn.now())?;
    check_room(&blob, chunk.length, request.preconditions.version)?;
    content::link(txn, body, blob.content);
    let offset = blob.length;
    if chunk.length > 0 {
        let mut map = MapWriter::new(txn, blob.content, blob.epochs());
        map.append(offset, Slice { chunk, skip: 0, length: chunk.length });
        map.finish().await?;
    }
    blob.length += chunk.length;
    blob.touch(txn.now(), txn.fresh_id());
    let extra = blob.extra_mut();
    extra.append_blocks += 1;
    let committed_block_count = extra.append_blocks;
    request.address.place(container).put(txn, &blob);
    Ok(Appended { written: Written::of(&blob), offset, committed_block_count })
}

/// Append Blob Seal.
#[derive(Clone, Debug)]
pub struct SealBlob<'a> {
    /// The append blob that takes no more blocks.
    pub address: Address,
    /// What it is decided by.
    pub preconditions: Preconditions<'a>,
    /// The length that the blob must have.
    pub append_position: Option<u64>,
}

impl Operation for SealBlob<'_> {
    fn need(&self) -> Need<'_> {
        self.address.need(self.preconditions.need(permissions::SEAL_BLOB))
    }
}

impl Blobs {
    /// Seals an append blob: it takes no more blocks. It has another ETag then; to seal again changes nothing.
    ///
    /// # Errors
    /// The blob does not exist or is no append blob, a lease or condition stands against it, or the store failed.
    pub async fn seal_append_blob(&self, asked: &Asked<SealBlob<'_>>) -> Result<Written, BlobError> {
        self.on_blob(&asked.address, |txn| async move { seal(&txn, &asked.authorize(&txn).await?).await }).await
    }
}

async fn seal(txn: &Txn, request: &Authorized<'_, SealBlob<'_>>) -> Result<Written, BlobError> {
    let (container, blob) = find(txn, &request.address).await?;
    let append = AppendConditions { position: request.append_position, max_size: None };
    let mut blob = admit(&request.preconditions, &append, blob, 0, txn.now())?;
    if !blob.extra().sealed {
        blob.extra_mut().sealed = true;
        blob.touch(txn.now(), txn.fresh_id());
    }
    request.address.place(container).put(txn, &blob);
    Ok(Written::of(&blob))
}
