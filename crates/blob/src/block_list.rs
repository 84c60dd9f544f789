//! Put Block List: makes a blob of blocks, at once.
//!
//! The list can have 50,000 blocks, so it is resolved and its manifest written before the transaction; the transaction
//! decides again and looks whether what the list was resolved against is still there. If not, all of it is done again.

use std::collections::HashMap;

use access::{Asked, Authorized, Operation, need::Need};
use bytes::Bytes;
use concurrency::lease::LeaseUse;
use store::{
    ChunkRef, PendingChunk, Read, Store, StoreError, Txn,
    content::{self, Holdings},
    manifest::Encoder,
};
use types::{ContentId, Timestamp, limits};

use crate::{
    Blobs,
    block_blob::{Made, NewBlob, admit_new, store_new},
    blocks,
    errors::BlobError,
    keys,
    object::{Address, find_at, find_to_replace},
    permissions,
    preconditions::Preconditions,
    properties::Written,
    records::Upload,
    sharing,
    state::{Blob, BlobKind},
};

/// How often a list is resolved again because others staged blocks meanwhile.
const ATTEMPTS: u32 = 32;

/// Where a block is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockSearch {
    /// Among the committed blocks.
    Committed,
    /// Among the uncommitted blocks.
    Uncommitted,
    /// Among the uncommitted blocks, then among the committed ones.
    Latest,
}

/// Put Block List.
#[derive(Clone, Debug)]
pub struct PutBlockList<'a> {
    /// The blob that is made of the blocks.
    pub address: Address,
    /// What it is decided by.
    pub preconditions: Preconditions<'a>,
    /// What the blob is made with.
    pub new: NewBlob,
    /// Its blocks in order, by their ids out of Base64.
    pub blocks: Vec<(BlockSearch, Bytes)>,
}

impl Operation for PutBlockList<'_> {
    fn need(&self) -> Need<'_> {
        self.address
            .need(self.preconditions.need(permissions::with_tags(permissions::PUT_BLOB, !self.new.tags.is_empty())))
    }
}

/// What a list was resolved against: it must not have changed when the blob is made.
#[derive(PartialEq, Eq)]
struct Basis {
    content: Option<(ContentId, Holdings)>,
    upload: Option<(ContentId, u64)>,
}

impl Basis {
    async fn of(rows: &impl Read, old: Option<&Blob>) -> Result<Self, BlobError> {
        let content = old.map(|old| (old.content, old.holdings));
        let Some(id) = old.and_then(Blob::upload) else { return Ok(Self { content, upload: None }) };
        let row = rows.get(&keys::upload(id)).await?;
        let changes = row.map(|row| Upload::decode(&row)).transpose()?.map_or(0, |upload| upload.changes);
        Ok(Self { content, upload: Some((id, changes)) })
    }
}

/// A resolved list.
struct Resolved {
    basis: Basis,
    length: u64,
    /// The manifest; a list without blocks has none.
    manifest: Option<PendingChunk>,
    reuses_committed: bool,
}

impl Blobs {
    /// Makes the blob of the blocks that the list names.
    ///
    /// # Errors
    /// A block does not exist, the list is too long, a lease or condition stands against it, or the store failed.
    pub async fn put_block_list(&self, asked: &Asked<PutBlockList<'_>>) -> Result<Written, BlobError> {
        for _ in 0..ATTEMPTS {
            let resolved = &resolve(&self.store, asked).await?;
            let commit = |txn: Txn| async move { commit(&txn, &asked.authorize(&txn).await?, resolved).await };
            if let Some(written) = self.on_blob(&asked.address, commit).await? {
                return Ok(written);
            }
        }
        Err(StoreError::Busy { attempts: ATTEMPTS }.into())
    }
}

fn admit(
    request: &Authorized<'_, PutBlockList<'_>>,
    old: Option<&Blob>,
    now: Timestamp,
) -> Result<concurrency::lease::Lease, BlobError> {
    let may_overwrite = request.may_overwrite();
    admit_new(&request.preconditions, BlobKind::Block, LeaseUse::Write, old, may_overwrite, now)
}

async fn resolve(store: &Store, asked: &Asked<PutBlockList<'_>>) -> Result<Resolved, BlobError> {
    let snapshot = store.snapshot();
    let request = &asked.authorize(&snapshot).await?;
    if request.blocks.len() > limits::COMMITTED_BLOCKS_MAX {
        return Err(BlobError::BlockListTooLong(request.blocks.len()));
    }
    let (_, old) = find_at(&snapshot, &request.address, store.now()).await?;
    admit(request, old.as_ref(), store.now())?;
    let basis = Basis::of(&snapshot, old.as_ref()).await?;

    let wants = |search| request.blocks.iter().any(|(wanted, _)| *wanted == search || *wanted == BlockSearch::Latest);
    let mut uncommitted: HashMap<Bytes, ChunkRef> = HashMap::new();
    if let Some((upload, _)) = basis.upload
        && wants(BlockSearch::Uncommitted)
    {
        let found = blocks::uncommitted(&snapshot, upload).await?;
        uncommitted.extend(found.into_iter().map(|(id, record)| (id, record.chunk())));
    }
    let mut committed: HashMap<Bytes, ChunkRef> = HashMap::new();
    if let Some(old) = &old
        && wants(BlockSearch::Committed)
    {
        committed.extend(blocks::committed(store, old).await?);
    }
    drop(snapshot);

    let mut chunks = Vec::with_capacity(request.blocks.len());
    let (mut reuses_committed, mut length) = (false, 0_u64);
    for (search, id) in &request.blocks {
        let staged = uncommitted.get(id).filter(|_| *search != BlockSearch::Committed);
        let kept = committed.get(id).filter(|_| *search != BlockSearch::Uncommitted && staged.is_none());
        reuses_committed |= kept.is_some();
        let chunk = staged.or(kept).ok_or(BlobError::InvalidBlockList)?;
        length = length.saturating_add(chunk.length);
        chunks.push((*chunk, id));
    }
    let manifest = if chunks.is_empty() { None } else { Some(write(store, &chunks).await?) };
    Ok(Resolved { basis, length, manifest, reuses_committed })
}

async fn write(store: &Store, chunks: &[(ChunkRef, &Bytes)]) -> Result<PendingChunk, BlobError> {
    let count = u64::try_from(chunks.len()).unwrap_or(u64::MAX);
    let mut writer = store.write_chunk(None)?;
    writer.write(Encoder::header(count)).await?;
    let mut encoder = Encoder::default();
    for (chunk, id) in chunks {
        writer.write(encoder.block(*chunk, id)?).await?;
    }
    Ok(writer.finish().await?)
}

/// Makes the blob. `None` when the list must be resolved again.
async fn commit(
    txn: &Txn,
    request: &Authorized<'_, PutBlockList<'_>>,
    resolved: &Resolved,
) -> Result<Option<Written>, BlobError> {
    let (container, mut old) = find_to_replace(txn, &request.address).await?;
    let lease = admit(request, old.as_ref(), txn.now())?;
    if Basis::of(txn, old.as_ref()).await? != resolved.basis {
        return Ok(None);
    }
    // The staged bytes belong to the upload: the blob's content takes over its id.
    let upload = resolved.basis.upload.map(|(id, _)| id);
    let content = upload.unwrap_or_else(|| ContentId::new(txn.fresh_id()));
    let holdings = match &resolved.manifest {
        None => Holdings::Nothing,
        Some(manifest) => {
            content::link(txn, manifest, content);
            Holdings::Manifest { manifest: manifest.reference(), next: 0 }
        }
    };
    let made = Made { kind: BlobKind::Block, content, length: resolved.length, holdings, lease };
    let blob = made.blob(txn, &request.new, old.as_ref())?;
    if let Some(old) = &mut old {
        old.extra.as_deref_mut().map(|extra| extra.upload.take());
        if resolved.reuses_committed && !content::add_edge(txn, old.content, content).await? {
            return Err(StoreError::corrupt(format!("the content {:?} of a blob is being swept", old.content)).into());
        }
    }
    store_new(txn, request.address.place(container), &blob, old.as_ref()).await?;
    if let Some(upload) = upload {
        let manifest = resolved.manifest.as_ref().map(PendingChunk::reference);
        blocks::drop_upload(txn, upload, manifest).await?;
    }
    if let Some(old) = &old
        && resolved.reuses_committed
        && !old.extra().shared
    {
        sharing::ask_to_adopt(txn, content, old.content, holdings)?;
    }
    Ok(Some(Written::of(&blob)))
}
