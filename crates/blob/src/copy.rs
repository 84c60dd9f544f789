//! Copies. Copy Blob, Copy Blob From URL and Put Blob From URL of a blob of the same account share its bytes and are done at
//! once. What has to be fetched, or is a very large map, is a pending copy: a row that says how far it is, so that it goes
//! on after a crash.
//!
//! **Invariants.** The source is its own authorised read, decided in the transaction of the copy. A blob that is being
//! copied into shows nothing of it before the copy has ended.

use std::time::Duration;

use access::{Asked, Authorized, Denied, Operation, need::Need};
use concurrency::{
    conditions::{Conditions, Resource, SourceRefusal},
    lease::{Lease, LeaseUse},
    tag_condition::TagExpression,
};
use store::{
    ChunkRef, Read, StoreError, Txn,
    content::{self, Holdings},
    content_map::{self, MapWriter},
    epoch::Epochs,
};
use types::{ContentId, Timestamp, limits};

use crate::{
    Blobs,
    block_blob::{Made, NewBlob, admit_new, store_new},
    blocks,
    body::{Begun, Body},
    errors::BlobError,
    object::{Address, FoundBlob, find_part, find_to_replace},
    part::{BlobPart, NamedPart},
    permissions,
    preconditions::{Preconditions, resource},
    properties::{BlobProperties, Written},
    state::{Blob, BlobKind, CopyState, CopyStatus, HttpHeaders, Metadata, RehydratePriority, Tags},
    tier::{self, AccessTier},
};

mod fetched;
mod job;

use fetched::put_fetched;
use job::begin_foreign;
pub use job::{AbortCopy, CopyCursor, CopyMaps, ForeignSource, PendingCopy};

/// Rows of a map that are copied in the transaction of the request.
const AT_ONCE: usize = 16 * 1024;

/// The source of a copy, or of an operation From URL, that is a blob of this account: an operation of its own.
#[derive(Clone, Debug)]
pub struct SourceBlob<'a> {
    /// The blob that is read.
    pub address: Address,
    /// The part of it that is meant.
    pub part: NamedPart,
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
        self.address.need_part(&self.part, rule)
    }
}

/// Decides whether a source may be read. The refusal is told apart from that of the destination.
pub(crate) async fn authorize_source<'a, 'b>(
    rows: &impl Read,
    asked: &'a Asked<SourceBlob<'b>>,
) -> Result<Authorized<'a, SourceBlob<'b>>, BlobError> {
    asked.authorize(rows).await.map_err(|denied| match denied {
        Denied::Store(error) => BlobError::Store(error),
        denied => BlobError::SourceDenied(denied),
    })
}

/// Finds the source of an operation that reads its bytes: Put Block From URL, Append Block From URL, Put Page From URL.
pub(crate) async fn source(
    rows: &impl Read,
    request: &Authorized<'_, SourceBlob<'_>>,
    now: Timestamp,
) -> Result<FoundBlob, BlobError> {
    let (row, container, blob) = admitted_source(rows, request, now).await?;
    tier::refuse_archived(&blob, now).map_err(|_| BlobError::SourceArchived)?;
    Ok(FoundBlob {
        content: blob.content,
        holdings: blob.holdings,
        epoch: blob.extra().epoch,
        row,
        place: (container, request.address.blob.as_str().to_owned()),
        kept: None,
        properties: BlobProperties::of(blob, request.part.by_time(), now),
    })
}

async fn admitted_source(
    rows: &impl Read,
    request: &SourceBlob<'_>,
    now: Timestamp,
) -> Result<(bytes::Bytes, types::UnitId, Blob), BlobError> {
    let found = find_part(rows, &request.address, request.part.by_time(), now).await;
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
    /// The blob that is copied into.
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
    /// It is this.
    Known(u64),
    /// That of the blocks of a list, one behind the other; [`Blobs::block_checksums`] reads them.
    Blocks(CopiedBlocks),
    /// Nobody asks for it: the copy is answered before its bytes are there, or they are those of a map.
    Unknown,
}

impl CopiedCrc64 {
    const fn of(holdings: Holdings) -> Self {
        match holdings {
            Holdings::Nothing => Self::Known(0),
            Holdings::Chunk(chunk) => Self::Known(chunk.crc64),
            Holdings::Manifest { manifest, .. } => Self::Blocks(CopiedBlocks(manifest)),
            Holdings::Map => Self::Unknown,
        }
    }
}

/// The blocks of what was copied, to be asked for their checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopiedBlocks(ChunkRef);

impl Blobs {
    /// The CRC-64 and the length of each block that was copied, in order.
    ///
    /// # Errors
    /// The store failed, or the list is gone with the blob that had it.
    pub async fn block_checksums(&self, copied: CopiedBlocks) -> Result<Vec<(u64, u64)>, BlobError> {
        let chunks = blocks::listed(&self.store, copied.0).await?;
        Ok(chunks.into_iter().map(|(_, chunk)| (chunk.crc64, chunk.length)).collect())
    }
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
            copied: if done { total } else { 0 },
            total,
            completed: done.then_some(now),
        }
    }
}

impl Blobs {
    /// Begins a copy of bytes: decides early whether the destination may be copied into as a block blob, before a source is
    /// asked for. What it allows is decided again by [`Self::put_copied`].
    ///
    /// # Errors
    /// A lease or condition stands against it, or the store failed.
    pub async fn begin_copy(&self, asked: &Asked<CopyBlob<'_>>) -> Result<Begun<'_>, BlobError> {
        let (rows, now) = self.view();
        let request = &asked.authorize(&rows).await?;
        let (_, _, old) = find_part(&rows, &request.address, BlobPart::Base, now).await?;
        admit(request, request.mode.kind(BlobKind::Block)?, old.as_ref(), now)?;
        Ok(self.begun())
    }

    /// Copies a blob of the same account by sharing its bytes. Done at once, unless it is a map of very many parts: then
    /// it is pending, and the background goes on with it (Copy Blob only).
    ///
    /// # Errors
    /// [`BlobError::TooManyParts`] when it would be pending and must not, or when its bytes must be looked at; the source
    /// may not be read ([`BlobError::SourceDenied`]), does not exist or is archived, a condition or lease of either stands
    /// against it, or the store failed.
    pub async fn copy_blob(
        &self,
        asked: &Asked<CopyBlob<'_>>,
        source: &Asked<SourceBlob<'_>>,
    ) -> Result<Copied, BlobError> {
        let share = |txn: Txn| async move {
            let request = &asked.authorize(&txn).await?;
            copy(&txn, request, &authorize_source(&txn, source).await?).await
        };
        self.on_blob(&asked.address, share).await
    }

    /// Makes a block blob of bytes that were fetched, at once: Copy Blob From URL and Put Blob From URL of a source
    /// elsewhere, or of one here whose bytes had to be read.
    ///
    /// # Errors
    /// A lease or condition stands against it, or the store failed.
    pub async fn put_copied(
        &self,
        asked: &Asked<CopyBlob<'_>>,
        source: &ForeignSource,
        body: &Body,
        content_md5: Option<[u8; 16]>,
    ) -> Result<Copied, BlobError> {
        let chunk = body.chunk();
        let put = |txn: Txn| async move {
            put_fetched(&txn, &asked.authorize(&txn).await?, source, chunk, content_md5).await
        };
        self.on_blob(&asked.address, put).await
    }

    /// Begins a copy from elsewhere. The blob is there at once: empty, or of the right length and all zeros for pages.
    /// Its bytes are brought with [`Self::append_copied`].
    ///
    /// # Errors
    /// A lease or condition stands against it, or the store failed.
    pub async fn begin_pending_copy(
        &self,
        asked: &Asked<CopyBlob<'_>>,
        source: &ForeignSource,
    ) -> Result<(Copied, PendingCopy), BlobError> {
        let begin = |txn: Txn| async move { begin_foreign(&txn, &asked.authorize(&txn).await?, source).await };
        self.on_blob(&asked.address, begin).await
    }
}

fn admit(
    request: &Authorized<'_, CopyBlob<'_>>,
    kind: BlobKind,
    old: Option<&Blob>,
    now: Timestamp,
) -> Result<Lease, BlobError> {
    admit_new(&request.preconditions, kind, request.mode.lease_use(), old, request.may_overwrite(), now)
}

async fn copy(
    txn: &Txn,
    request: &Authorized<'_, CopyBlob<'_>>,
    source_request: &Authorized<'_, SourceBlob<'_>>,
) -> Result<Copied, BlobError> {
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
        let is_base = source_request.part.is_base();
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
            let (epoch, range) = (source.extra().epoch, (0, source.length));
            let (segments, more) = content_map::read(txn, source.content, epoch, range, AT_ONCE).await?;
            if more.is_some() {
                return Ok(false);
            }
            let mut map = MapWriter::new(txn, content, FIRST_EPOCH);
            map.append_all(&segments);
            map.finish().await?;
            Ok(true)
        }
    }
}

/// The epoch of a map that is new.
const FIRST_EPOCH: Epochs = Epochs { current: 1, newest_snapshot: None };
