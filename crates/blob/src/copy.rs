//! Copies. Copy Blob, Copy Blob From URL and Put Blob From URL of a blob of the same account share its bytes and are done at
//! once. What has to be fetched, or is a very large map, is a pending copy: a row that says how far it is, so that it goes
//! on after a crash.
//!
//! **Invariants.** The source is its own authorised read, decided in the transaction of the copy. A blob that is being
//! copied into shows nothing of it before the copy has ended.

use std::time::Duration;

use access::{Authorized, Operation, need::Need};
use concurrency::{
    conditions::{Conditions, Resource, SourceRefusal},
    lease::{Lease, LeaseUse},
    tag_condition::TagExpression,
};
use store::{
    ChunkRef, Read, Store, StoreError, Txn,
    content::{self, Holdings},
    content_map::{self, MapWriter},
    epoch::Epochs,
};
use types::{ContentId, Timestamp, limits};

use crate::{
    block_blob::{Made, NewBlob, admit_new, store_new},
    blocks,
    errors::BlobError,
    object::{Address, FoundBlob, SnapshotTime, find_part, find_to_replace},
    permissions,
    preconditions::{Preconditions, resource},
    properties::{BlobProperties, Written},
    records::{Blob, BlobKind, CopyProgress, CopyState, CopyStatus, HttpHeaders, Metadata, RehydratePriority, Tags},
    tier::{self, AccessTier},
};

mod fetched;
mod job;

pub use fetched::put_fetched;
pub(crate) use job::step;
pub use job::{
    AbortCopy, CopyCursor, ForeignSource, PendingCopy, abort, append_piece, begin_foreign, fail, finish, pending,
};

/// Rows of a map that are copied in the transaction of the request.
const AT_ONCE: usize = 16 * 1024;
/// Rows of a map read at a time.
const PIECE: usize = 1024;

/// The source of a copy, or of an operation From URL, that is a blob of this account: an operation of its own.
#[derive(Clone, Debug)]
pub struct SourceBlob<'a> {
    /// Which.
    pub address: Address,
    /// A snapshot of it.
    pub snapshot: Option<SnapshotTime>,
    /// `x-ms-source-if-…`
    pub conditions: Conditions<'a>,
    /// `x-ms-source-if-tags`
    pub if_tags: Option<TagExpression<'a>>,
    /// Its tags are wanted too.
    pub tags: bool,
}

impl Operation for SourceBlob<'_> {
    fn need(&self) -> Need<'_> {
        let rule = permissions::with_tags(permissions::READ_BLOB, self.tags || self.if_tags.is_some());
        self.address.need_part(self.snapshot.as_ref(), rule)
    }
}

/// Finds the source of an operation that reads its bytes: Put Block From URL, Append Block From URL, Put Page From URL.
///
/// # Errors
/// It does not exist or is archived, a condition is not met, or the store failed.
pub async fn source(
    rows: &impl Read,
    request: &Authorized<SourceBlob<'_>>,
    now: Timestamp,
) -> Result<FoundBlob, BlobError> {
    let (row, container, blob) = admitted_source(rows, request, now).await?;
    tier::refuse_archived(&blob, now).map_err(|_| BlobError::SourceArchived)?;
    let snapshot = request.snapshot.as_ref().map(|snapshot| snapshot.time);
    Ok(FoundBlob {
        content: blob.content,
        holdings: blob.holdings,
        epoch: blob.extra().epoch,
        row,
        place: (container, request.address.blob.as_str().to_owned()),
        kept: None,
        properties: BlobProperties::of(blob, snapshot, now),
    })
}

async fn admitted_source(
    rows: &impl Read,
    request: &SourceBlob<'_>,
    now: Timestamp,
) -> Result<(bytes::Bytes, types::UnitId, Blob), BlobError> {
    let found = find_part(rows, &request.address, request.snapshot.as_ref(), now).await;
    // The container that does not exist is that of the source, which the client must be able to tell.
    let (row, container, blob) = found.map_err(|error| match error {
        BlobError::ContainerNotFound => BlobError::Source(SourceRefusal::NotFound),
        other => other,
    })?;
    let blob = blob.filter(|blob| blob.exists(now));
    let seen = blob.as_ref().map_or(Resource::Absent, resource);
    request.conditions.check_source(seen).map_err(BlobError::Source)?;
    let blob = blob.ok_or(BlobError::BlobNotFound)?;
    if let Some(condition) = &request.if_tags {
        condition.check(|name| blob.tag(name)).map_err(|_| BlobError::SourceTagConditionNotMet)?;
    }
    if blob.is_copying() {
        return Err(BlobError::PendingCopyOperation);
    }
    Ok((row, container, blob))
}

/// Which of the three copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyMode {
    /// Copy Blob: any kind of blob, may be pending.
    CopyBlob,
    /// Copy Blob From URL: block blobs up to 256 MiB, done when it is answered.
    CopyBlobFromUrl,
    /// Put Blob From URL: makes a block blob, and remembers nothing of the source.
    PutBlobFromUrl,
}

impl CopyMode {
    const fn lease_use(self) -> LeaseUse {
        match self {
            Self::CopyBlob | Self::CopyBlobFromUrl => LeaseUse::CopyInto,
            Self::PutBlobFromUrl => LeaseUse::Write,
        }
    }

    const fn limit(self) -> u64 {
        match self {
            Self::CopyBlob => u64::MAX,
            Self::CopyBlobFromUrl => limits::COPY_BLOB_FROM_URL_MAX_BYTES,
            Self::PutBlobFromUrl => limits::PUT_BLOB_MAX_BYTES,
        }
    }

    fn kind(self, source: BlobKind) -> Result<BlobKind, BlobError> {
        match (self, source) {
            (Self::CopyBlob, kind) => Ok(kind),
            (Self::PutBlobFromUrl, _) | (Self::CopyBlobFromUrl, BlobKind::Block) => Ok(BlobKind::Block),
            (Self::CopyBlobFromUrl, _) => Err(BlobError::InvalidSourceBlobType),
        }
    }
}

/// Copy Blob, Copy Blob From URL, Put Blob From URL: the destination.
#[derive(Clone, Debug)]
pub struct CopyBlob<'a> {
    /// Which.
    pub address: Address,
    /// What it is decided by.
    pub preconditions: Preconditions<'a>,
    /// Which of the three.
    pub mode: CopyMode,
    /// The source as the client named it, without a signature.
    pub source_url: String,
    /// A fresh id for the copy.
    pub copy_id: String,
    /// Its metadata; that of the source when there is none (never that of the source for Put Blob From URL).
    pub metadata: Option<Metadata>,
    /// Its HTTP properties; those of the source when there are none.
    pub headers: Option<HttpHeaders>,
    /// Its tags.
    pub tags: Tags,
    /// Take the tags of the source; not together with tags.
    pub copy_tags: bool,
    /// Its tier. An archived source needs another one than that.
    pub tier: Option<AccessTier>,
    /// How fast out of the archive.
    pub priority: Option<RehydratePriority>,
    /// How long that takes.
    pub rehydration: Duration,
    /// Seal the copy of an append blob, or do not; without a wish it is sealed as its source is.
    pub seal: Option<bool>,
}

impl Operation for CopyBlob<'_> {
    fn need(&self) -> Need<'_> {
        let tags = !self.tags.is_empty() || self.copy_tags;
        self.address.need(self.preconditions.need(permissions::with_tags(permissions::PUT_BLOB, tags)))
    }
}

/// What a copy answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The ETag of the destination, and when.
    pub written: Written,
    /// The id of the copy.
    pub copy_id: String,
    /// Done, or pending.
    pub status: CopyStatus,
    /// Where the CRC-64 of the content is known from.
    pub crc64: CopiedCrc64,
}

/// The CRC-64 of what was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopiedCrc64 {
    /// This.
    Known(u64),
    /// That of the blocks of a list, one behind the other; [`block_checksums`] reads them.
    Blocks(ChunkRef),
    /// Nobody asks for it: the copy is answered before its bytes are there, or they are those of a map.
    Unknown,
}

impl CopiedCrc64 {
    const fn of(holdings: Holdings) -> Self {
        match holdings {
            Holdings::Nothing => Self::Known(0),
            Holdings::Chunk(chunk) => Self::Known(chunk.crc64),
            Holdings::Manifest { manifest, .. } => Self::Blocks(manifest),
            Holdings::Map => Self::Unknown,
        }
    }
}

/// The CRC-64 and the length of each block of a list, in order.
///
/// # Errors
/// The store failed, or the list is gone with the blob that had it.
pub async fn block_checksums(store: &Store, list: ChunkRef) -> Result<Vec<(u64, u64)>, BlobError> {
    let chunks = blocks::listed(store, list).await?;
    Ok(chunks.into_iter().map(|(_, chunk)| (chunk.crc64, chunk.length)).collect())
}

impl CopyBlob<'_> {
    fn new_blob(&self, source: &Blob) -> Result<NewBlob, BlobError> {
        if self.copy_tags && !self.tags.is_empty() {
            return Err(BlobError::BothTags);
        }
        let metadata = match (&self.metadata, self.mode) {
            (Some(metadata), _) => metadata.clone(),
            (None, CopyMode::PutBlobFromUrl) => Metadata::new(),
            (None, _) => source.metadata.clone(),
        };
        Ok(NewBlob {
            headers: self.headers.as_ref().unwrap_or(&source.headers).clone(),
            metadata,
            tags: if self.copy_tags { source.extra().tags.clone() } else { self.tags.clone() },
            tier: self.tier,
            expiry: None,
        })
    }

    fn state(&self, status: CopyStatus, total: u64, now: Timestamp) -> CopyState {
        let done = status == CopyStatus::Success;
        CopyState {
            id: self.copy_id.clone(),
            source: self.source_url.clone(),
            status,
            description: None,
            progress: CopyProgress { copied: if done { total } else { 0 }, total },
            completed: done.then(|| now.ticks()),
        }
    }
}

/// Decides early whether the destination may be copied into, before a source elsewhere is asked for.
///
/// # Errors
/// A lease or condition stands against it, or the store failed.
pub async fn begin(
    rows: &impl Read,
    request: &Authorized<CopyBlob<'_>>,
    kind: BlobKind,
    now: Timestamp,
) -> Result<(), BlobError> {
    let (_, _, old) = find_part(rows, &request.address, None, now).await?;
    admit(request, request.mode.kind(kind)?, old.as_ref(), now).map(|_| ())
}

fn admit(
    request: &Authorized<CopyBlob<'_>>,
    kind: BlobKind,
    old: Option<&Blob>,
    now: Timestamp,
) -> Result<Lease, BlobError> {
    admit_new(&request.preconditions, kind, request.mode.lease_use(), old, request.may_overwrite(), now)
}

/// Copies a blob of the same account. Done at once, unless it is a map of very many parts: then it is pending, and the
/// background goes on with it (Copy Blob only).
///
/// # Errors
/// [`BlobError::TooManyParts`] when it would be pending and must not, or when its bytes must be looked at; the source does not exist or is archived, a
/// condition or lease of either stands against it, or the store failed.
pub async fn copy(
    txn: &Txn,
    request: &Authorized<CopyBlob<'_>>,
    source_request: &Authorized<SourceBlob<'_>>,
) -> Result<Copied, BlobError> {
    request.confirm(txn).await?;
    source_request.confirm(txn).await?;
    let now = txn.now();
    let (source_row, source_container, mut source) = admitted_source(txn, source_request, now).await?;
    let kind = request.mode.kind(source.kind)?;
    // Put Blob From URL answers with a checksum, and the parts of a map have none of their own.
    if request.mode == CopyMode::PutBlobFromUrl && source.holdings == Holdings::Map {
        return Err(BlobError::TooManyParts);
    }
    if source.length > request.mode.limit() {
        return Err(BlobError::SourceTooLarge { length: source.length, limit: request.mode.limit() });
    }
    let archived = tier::refuse_archived(&source, now).is_err();
    if archived && request.tier.is_none_or(|tier| tier == AccessTier::Archive) {
        return Err(BlobError::SourceArchived);
    }
    let (container, mut old) = find_to_replace(txn, &request.address).await?;
    let lease = admit(request, kind, old.as_ref(), now)?;
    let place = request.address.place(container);

    let content = ContentId::new(txn.fresh_id());
    let shared = share(txn, &source, content).await?;
    let (length, holdings) = match (shared, kind) {
        (true, _) => (source.length, source.holdings),
        (false, kind) => job::nothing_yet(kind, source.length),
    };
    let made = Made { kind, content, length, holdings, lease };
    let mut blob = made.blob(txn, &request.new_blob(&source)?, old.as_ref())?;
    if let (true, Some(tier)) = (archived, request.tier) {
        blob.extra_mut().tier =
            Some(tier::begin_rehydration(&source, tier, request.priority, request.rehydration, now));
    }
    inherit(&mut blob, &source, request.seal);
    if !shared {
        blob.extra_mut().append_blocks = 0; // it has them when it has their bytes
    }
    let status = if shared { CopyStatus::Success } else { CopyStatus::Pending };
    if request.mode != CopyMode::PutBlobFromUrl {
        blob.extra_mut().copy = Some(request.state(status, source.length, now));
    }
    if !shared {
        if request.mode != CopyMode::CopyBlob {
            return Err(BlobError::TooManyParts);
        }
        // Copied onto itself, the blob lets go of a content that the copy needs.
        if let Some(old) = &mut old
            && old.content == source.content
        {
            old.extra_mut().shared = true;
        }
        let from = source_request.address.place(source_container);
        let is_base = source_request.snapshot.is_none();
        job::begin_map(txn, request, (from, &mut source, is_base.then_some(source_row)), place).await?;
    }
    store_new(txn, place, &blob, old.as_ref()).await?;
    let copy_id = request.copy_id.clone();
    Ok(Copied { written: Written::of(&blob), copy_id, status, crc64: CopiedCrc64::of(blob.holdings) })
}

/// What a copy has of its source besides bytes, headers and metadata.
fn inherit(blob: &mut Blob, source: &Blob, seal: Option<bool>) {
    match blob.kind {
        BlobKind::Block => {}
        BlobKind::Page => blob.extra_mut().sequence_number = source.extra().sequence_number,
        BlobKind::Append => {
            let extra = blob.extra_mut();
            extra.append_blocks = source.extra().append_blocks;
            extra.sealed = seal.unwrap_or(source.extra().sealed);
        }
    }
}

/// Gives `content` the bytes of a blob. False when its map has too many parts for one transaction.
async fn share(txn: &Txn, source: &Blob, content: ContentId) -> Result<bool, BlobError> {
    match source.holdings {
        Holdings::Nothing => Ok(true),
        Holdings::Chunk(_) | Holdings::Manifest { .. } => {
            if content::add_edge(txn, source.content, content).await? {
                Ok(true)
            } else {
                Err(StoreError::corrupt(format!("the content {:?} of a blob is being swept", source.content)).into())
            }
        }
        Holdings::Map => {
            let mut segments = Vec::new();
            let mut from = Some(0);
            while let Some(start) = from {
                let range = (start, source.length);
                let (piece, next) = content_map::read(txn, source.content, source.extra().epoch, range, PIECE).await?;
                segments.extend(piece);
                if segments.len() > AT_ONCE {
                    return Ok(false);
                }
                from = next;
            }
            let mut map = MapWriter::new(txn, content, FIRST_EPOCH);
            for segment in segments {
                map.append(segment.offset, segment.slice);
            }
            map.finish().await?;
            Ok(true)
        }
    }
}

/// The epoch of a map that is new.
const FIRST_EPOCH: Epochs = Epochs { current: 1, newest_snapshot: None };
