//! Uncommitted blocks: Put Block, Get Block List, and the end of an upload.
//!
//! The uncommitted blocks of a blob form an upload. It has an id of its own, which owns their bytes and becomes the id of
//! the content that a Put Block List makes of them; whatever the list leaves out is removed afterwards, in steps.
//!
//! **Invariant.** Every change of an upload changes its row, so a Put Block List that read it notices.

use access::{Asked, Authorized, Operation, need::Need};
use bytes::Bytes;
use concurrency::{
    lease::{Leasable, Lease, LeaseId, LeaseUse, check::refuse_while_copying},
    tag_condition::TagExpression,
};
use store::{
    ChunkRef, Direction, PendingChunk, Read, Snapshot, Store, StoreError, Txn,
    content::{self, Holdings},
    manifest::Manifest,
};
use types::{ContentId, ETag, ServiceVersion, Timestamp, limits};

use crate::{
    Blobs,
    body::{Begun, Body},
    errors::{About, BlobError},
    keys,
    lifecycle::Place,
    object::{Address, find_at, find_part, find_to_replace},
    part::NamedPart,
    permissions,
    properties::Written,
    records::{BlockRecord, DroppedUpload, Upload},
    state::{Blob, BlobKind, Extra, HttpHeaders},
    tier,
};

/// Blocks of a manifest read at a time.
const PIECE: usize = 4096;

/// Put Block, and Put Block From URL once its bytes are here. It takes no conditions.
#[derive(Clone, Debug)]
pub struct PutBlock {
    /// The blob whose upload the block joins.
    pub address: Address,
    /// The service version.
    pub version: ServiceVersion,
    /// The lease id that was sent.
    pub lease_id: Option<LeaseId>,
    /// The id of the block, out of its Base64.
    pub block_id: Bytes,
}

impl Operation for PutBlock {
    fn need(&self) -> Need<'_> {
        self.address.need(permissions::PUT_BLOCK)
    }
}

/// The largest block of a service version.
#[must_use]
pub fn block_limit(version: ServiceVersion) -> u64 {
    match version {
        version if version.at_least(2019, 12, 12) => limits::BLOCK_MAX_BYTES,
        version if version.at_least(2016, 5, 31) => limits::BLOCK_MAX_BYTES_2016_05_31,
        _ => limits::BLOCK_MAX_BYTES_OLDEST,
    }
}

impl Blobs {
    /// Begins Put Block: decides early, before a body is read or fetched; `length` is that of a body that was sent. What
    /// it allows is decided again by [`Self::put_block`].
    ///
    /// # Errors
    /// The container does not exist, the lease stands against it, the blob is of another kind, or the store failed.
    pub async fn begin_put_block(&self, asked: &Asked<PutBlock>, length: Option<u64>) -> Result<Begun<'_>, BlobError> {
        if let Some((rows, allowed, now)) = self.allow_body(asked, length).await? {
            begin(&rows, &allowed, now).await?;
        }
        Ok(self.begun())
    }

    /// Stages a block, with the bytes that have come. The blob's ETag stays; a blob that does not exist begins to, as
    /// one of uncommitted blocks.
    ///
    /// # Errors
    /// As [`Self::begin_put_block`]; also when the id has another length than the ones before, or there are too many
    /// blocks.
    pub async fn put_block(&self, asked: &Asked<PutBlock>, body: &Body) -> Result<(), BlobError> {
        let chunk = body.chunk();
        let put = |txn: Txn| async move { finish(&txn, &asked.authorize(&txn).await?, chunk).await };
        self.on_blob(&asked.address, put).await
    }

    /// Lists the blocks of a blob, from one state of it.
    ///
    /// # Errors
    /// The blob does not exist, is of another kind or archived, a lease or condition stands against it, or the store
    /// failed.
    pub async fn get_block_list(&self, asked: &Asked<GetBlockList<'_>>) -> Result<BlockList, BlobError> {
        let (rows, now) = self.view();
        list(&self.store, &rows, &asked.authorize(&rows).await?, now).await
    }
}

async fn begin(rows: &impl Read, request: &Authorized<'_, PutBlock>, now: Timestamp) -> Result<(), BlobError> {
    check_id(&request.block_id)?;
    let (_, blob) = find_at(rows, &request.address, now).await?;
    admit(request, blob.as_ref(), now).map(|_| ())
}

async fn finish(txn: &Txn, request: &Authorized<'_, PutBlock>, body: &PendingChunk) -> Result<(), BlobError> {
    check_id(&request.block_id)?;
    let chunk = body.reference();
    let limit = block_limit(request.version);
    if chunk.length > limit {
        return Err(BlobError::TooLarge(limit));
    }
    let (container, old) = find_to_replace(txn, &request.address).await?;
    let place = request.address.place(container);
    let lease = admit(request, old.as_ref(), txn.now())?;
    let (id, mut upload) = current(txn, place, old, lease, &request.block_id).await?;

    let expected = usize::from(upload.id_length);
    if request.block_id.len() != expected {
        return Err(BlobError::BlockIdLength { found: request.block_id.len(), expected });
    }
    let key = keys::block(id, &request.block_id);
    match txn.get(&key).await? {
        Some(row) => {
            content::free(txn, BlockRecord::decode(&row)?.chunk(), id).await?;
        }
        None => {
            if usize::try_from(upload.count).unwrap_or(usize::MAX) >= limits::UNCOMMITTED_BLOCKS_MAX {
                return Err(BlobError::BlockCountExceedsLimit(limits::UNCOMMITTED_BLOCKS_MAX));
            }
            upload.count += 1;
        }
    }
    content::link(txn, body, id);
    upload.changes += 1;
    upload.last_staged = txn.now().ticks();
    txn.put(key, BlockRecord::new(chunk, upload.changes).encode());
    txn.put(keys::upload(id), upload.encode());
    Ok(())
}

const fn check_id(id: &Bytes) -> Result<(), BlobError> {
    match id.len() {
        1..=limits::BLOCK_ID_MAX_BYTES => Ok(()),
        length => Err(BlobError::InvalidBlockId(length)),
    }
}

fn admit(request: &PutBlock, blob: Option<&Blob>, now: Timestamp) -> Result<Lease, BlobError> {
    let refused = |refusal| BlobError::Lease(About::Blob, refusal);
    let Some(blob) = blob else {
        return Lease::check_absent(request.version, request.lease_id).map(|()| Lease::default()).map_err(refused);
    };
    let lease = blob.lease.admit(Leasable::Blob, LeaseUse::Write, request.lease_id, now).map_err(refused)?;
    if blob.kind != BlobKind::Block {
        return Err(BlobError::InvalidBlobType);
    }
    refuse_while_copying(blob.is_copying()).map_err(|_| BlobError::PendingCopyOperation)?;
    tier::refuse_archived(blob, now)?;
    Ok(lease)
}

/// The blob's upload, which begins with its first block.
async fn current(
    txn: &Txn,
    place: Place<'_>,
    old: Option<Blob>,
    lease: Lease,
    block_id: &Bytes,
) -> Result<(ContentId, Upload), BlobError> {
    if let Some(old) = &old
        && let Some(id) = old.upload()
    {
        if old.lease != lease {
            place.put(txn, &Blob { lease, ..old.clone() });
        }
        let row = txn.get(&keys::upload(id)).await?;
        let row = row.ok_or_else(|| StoreError::corrupt(format!("a blob has the upload {id:?}, which has no row")))?;
        return Ok((id, Upload::decode(&row)?));
    }
    let id = ContentId::new(txn.fresh_id());
    let mut blob = match old {
        Some(old) => Blob { lease, ..old },
        None => shell(txn),
    };
    blob.extra_mut().upload = Some(id);
    place.put(txn, &blob);
    let upload = Upload {
        container: place.container.number(),
        blob: place.name.to_owned(),
        count: 0,
        id_length: u8::try_from(block_id.len()).unwrap_or(u8::MAX),
        changes: 0,
        last_staged: txn.now().ticks(),
        deadline: txn.now().saturating_add(limits::UNCOMMITTED_BLOCKS_AGE).ticks(),
    };
    txn.put(keys::upload_deadline(Timestamp::from_ticks(upload.deadline), id), Bytes::new());
    Ok((id, upload))
}

/// What stands for a blob while it has nothing but uncommitted blocks.
fn shell(txn: &Txn) -> Blob {
    let content = ContentId::new(txn.fresh_id());
    Blob {
        content,
        kind: BlobKind::Block,
        etag: ETag::next(None, txn.now(), content.number()),
        last_modified: txn.now(),
        created: txn.now(),
        length: 0,
        holdings: Holdings::Nothing,
        headers: HttpHeaders::default(),
        metadata: Vec::new(),
        lease: Lease::default(),
        extra: Some(Box::new(Extra { uncommitted: true, ..Extra::default() })),
    }
}

/// The upload is over. What `manifest` lists lives on under the upload's id; everything else is removed in steps.
pub(crate) async fn drop_upload(txn: &Txn, upload: ContentId, manifest: Option<ChunkRef>) -> Result<(), BlobError> {
    let key = keys::upload(upload);
    if let Some(row) = txn.get(&key).await? {
        txn.delete(keys::upload_deadline(Timestamp::from_ticks(Upload::decode(&row)?.deadline), upload));
        txn.delete(key);
    }
    txn.put(keys::dropped_upload(upload), DroppedUpload::new(manifest).encode());
    Ok(())
}

/// Which blocks Get Block List shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockListType {
    /// The committed ones.
    #[default]
    Committed,
    /// The uncommitted ones.
    Uncommitted,
    /// The committed and the uncommitted ones, apart.
    All,
}

/// Get Block List.
#[derive(Clone, Debug)]
pub struct GetBlockList<'a> {
    /// The blob whose blocks are listed.
    pub address: Address,
    /// The part of it that is meant.
    pub part: NamedPart,
    /// The lease id that was sent.
    pub lease_id: Option<LeaseId>,
    /// `x-ms-if-tags`; it takes no other condition.
    pub if_tags: Option<TagExpression<'a>>,
    /// The committed ones unless it is said.
    pub list: BlockListType,
}

impl Operation for GetBlockList<'_> {
    fn need(&self) -> Need<'_> {
        let rule = permissions::with_tags(permissions::READ_BLOB, self.if_tags.is_some());
        self.address.need_part(&self.part, rule)
    }
}

/// A block as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedBlock {
    /// Its id, out of its Base64.
    pub id: Bytes,
    /// How many bytes it has.
    pub length: u64,
}

/// What Get Block List answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockList {
    /// ETag and Last-Modified; only when there is a committed blob.
    pub written: Option<Written>,
    /// The length of the committed blob.
    pub length: u64,
    /// Committed blocks, in their order; `None` when they were not asked for.
    pub committed: Option<Vec<ListedBlock>>,
    /// Uncommitted blocks, in the order in which they were staged; `None` when they were not asked for.
    pub uncommitted: Option<Vec<ListedBlock>>,
}

/// The snapshot is held until the list is read: until then nothing that it refers to can go.
async fn list(
    store: &Store,
    rows: &Snapshot,
    request: &Authorized<'_, GetBlockList<'_>>,
    now: Timestamp,
) -> Result<BlockList, BlobError> {
    let (_, _, blob) = find_part(rows, &request.address, request.part.by_time(), now).await?;
    let blob = blob.ok_or(BlobError::BlobNotFound)?;
    let checked = blob.lease.check(Leasable::Blob, LeaseUse::Read, request.lease_id, now);
    checked.map_err(|refusal| BlobError::Lease(About::Blob, refusal))?;
    if let Some(condition) = &request.if_tags {
        condition.check(|name| blob.tag(name)).map_err(|_| BlobError::TagConditionNotMet)?;
    }
    if blob.kind != BlobKind::Block {
        return Err(BlobError::InvalidBlobType);
    }
    tier::refuse_archived(&blob, now)?;
    let committed = match request.list {
        BlockListType::Uncommitted => None,
        _ => {
            let blocks = committed(store, &blob).await?;
            Some(blocks.into_iter().map(|(id, chunk)| ListedBlock { id, length: chunk.length }).collect())
        }
    };
    let uncommitted = match (request.list, blob.upload()) {
        (BlockListType::Committed, _) => None,
        (_, None) => Some(Vec::new()),
        (_, Some(upload)) => {
            let mut found = uncommitted(rows, upload).await?;
            found.sort_unstable_by_key(|(_, record)| record.order);
            let listed = |(id, record): (Bytes, BlockRecord)| ListedBlock { id, length: record.chunk().length };
            Some(found.into_iter().map(listed).collect())
        }
    };
    let written = blob.exists(now).then(|| Written::of(&blob));
    Ok(BlockList { written, length: blob.length, committed, uncommitted })
}

/// The committed blocks of a blob, in order. Blobs that were written whole have none. The caller holds the snapshot.
pub(crate) async fn committed(store: &Store, blob: &Blob) -> Result<Vec<(Bytes, ChunkRef)>, BlobError> {
    let Holdings::Manifest { manifest, .. } = blob.holdings else { return Ok(Vec::new()) };
    listed(store, manifest).await
}

/// The blocks of a list, in order.
pub(crate) async fn listed(store: &Store, list: ChunkRef) -> Result<Vec<(Bytes, ChunkRef)>, BlobError> {
    let source = store.open_chunk(list).await?;
    let manifest = Manifest::open(&*source).await?;
    let mut blocks = Vec::new();
    loop {
        let first = u64::try_from(blocks.len()).unwrap_or(u64::MAX);
        let piece = manifest.blocks(first, PIECE).await?;
        let done = piece.len() < PIECE;
        blocks.extend(piece.into_iter().map(|block| (block.id, block.chunk)));
        if done {
            return Ok(blocks);
        }
    }
}

/// The uncommitted blocks of an upload, by id.
pub(crate) async fn uncommitted(rows: &impl Read, upload: ContentId) -> Result<Vec<(Bytes, BlockRecord)>, BlobError> {
    let mut blocks = Vec::new();
    let mut scan = rows.scan(keys::blocks(upload), Direction::Ascending);
    while let Some(row) = scan.next().await? {
        blocks.push((keys::parse_block(&row.key)?.1, BlockRecord::decode(&row.value)?));
    }
    Ok(blocks)
}
