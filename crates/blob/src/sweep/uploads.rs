//! Uploads that were abandoned, and the rows of uploads that are over.

use std::collections::HashSet;

use jobs::{Job, Progress};
use store::{ChunkRef, Direction, Read, Store, StoreError, Txn, content, manifest::Manifest};
use types::{ContentId, Timestamp, UnitId, limits};

use super::{first, scope};
use crate::{
    blocks,
    errors::BlobError,
    keys,
    lifecycle::{self, Place},
    records::{BlockRecord, DroppedUpload, Upload},
    state::Blob,
};

/// Uploads looked at in a step.
const BATCH: usize = 256;
/// Blocks removed in one transaction.
const BLOCKS: usize = 512;
/// Transactions on one upload in a step: the blocks that stay are looked up once for all of them.
const ROUNDS: usize = 8;

/// Drops uploads to which nobody staged a block for a week. What is done are uploads.
#[derive(Debug)]
pub struct ExpireUploads;

impl Job for ExpireUploads {
    const NAME: &'static str = "uploads";
    type Cursor = ();
    type Error = BlobError;

    async fn step(store: &Store, (): &mut ()) -> Result<Progress, BlobError> {
        abandoned(store).await
    }
}

/// Removes the rows of uploads that are over, and the bytes of blocks that no list took. What is done are uploads looked at.
#[derive(Debug)]
pub struct SweepUploads;

impl Job for SweepUploads {
    const NAME: &'static str = "uploaded-blocks";
    type Cursor = ();
    type Error = BlobError;

    async fn step(store: &Store, (): &mut ()) -> Result<Progress, BlobError> {
        dropped(store).await
    }
}

async fn abandoned(store: &Store) -> Result<Progress, BlobError> {
    let due = first(store, keys::due(keys::UPLOAD_DEADLINE, store.now()), BATCH).await?;
    let mut series = store.series();
    for row in &due {
        let (time, upload) = keys::parse_two(&row.key, keys::UPLOAD_DEADLINE)?;
        let (time, upload) = (Timestamp::from_ticks(time), ContentId::new(upload));
        series.transact(scope(), |txn| async move { look(&txn, time, upload).await }).await?;
    }
    series.durable().await?;
    Ok(Progress::found(due.len()))
}

async fn look(txn: &Txn, time: Timestamp, id: ContentId) -> Result<(), BlobError> {
    let row = txn.get(&keys::upload(id)).await?;
    let Some(mut upload) = row.map(|row| Upload::decode(&row)).transpose()? else {
        txn.delete(keys::upload_deadline(time, id));
        return Ok(());
    };
    let deadline = Timestamp::from_ticks(upload.last_staged).saturating_add(limits::UNCOMMITTED_BLOCKS_AGE);
    if deadline > txn.now() {
        txn.delete(keys::upload_deadline(time, id));
        txn.put(keys::upload_deadline(deadline, id), bytes::Bytes::new());
        upload.deadline = deadline.ticks();
        txn.put(keys::upload(id), upload.encode());
        return Ok(());
    }
    // Blobs of uncommitted blocks have no tags, so the account does not matter.
    let place = Place { account: UnitId::new(0), container: UnitId::new(upload.container), name: &upload.blob };
    match txn.get(&place.key()).await?.map(|row| Blob::decode(&row)).transpose()? {
        Some(blob) if blob.upload() == Some(id) && blob.extra().uncommitted => {
            lifecycle::delete(txn, place, &blob).await
        }
        Some(mut blob) if blob.upload() == Some(id) => {
            blob.extra_mut().upload = None;
            place.put(txn, &blob);
            blocks::drop_upload(txn, id, None).await
        }
        _ => blocks::drop_upload(txn, id, None).await,
    }
}

async fn dropped(store: &Store) -> Result<Progress, BlobError> {
    let dropped = first(store, keys::all(keys::DROPPED_UPLOAD), BATCH).await?;
    let (mut series, mut transactions) = (store.series(), 0);
    for row in &dropped {
        let upload = ContentId::new(keys::parse_one(&row.key, keys::DROPPED_UPLOAD)?);
        let taken = &taken(store, DroppedUpload::decode(&row.value)?.manifest()).await?;
        for _ in 0..ROUNDS {
            transactions += 1;
            if series.transact(scope(), |txn| async move { remove(&txn, upload, taken).await }).await? {
                break;
            }
        }
        if transactions >= BATCH {
            break;
        }
    }
    series.durable().await?;
    Ok(Progress::found(dropped.len()))
}

/// The blocks that a list took. When its manifest is gone, so is the blob, and everything may go.
async fn taken(store: &Store, manifest: Option<ChunkRef>) -> Result<HashSet<ChunkRef>, BlobError> {
    let mut taken = HashSet::new();
    let Some(manifest) = manifest else { return Ok(taken) };
    let source = match store.open_chunk(manifest).await {
        Ok(source) => source,
        Err(StoreError::ChunkGone(_)) => return Ok(taken),
        Err(error) => return Err(error.into()),
    };
    let manifest = Manifest::open(&*source).await?;
    let mut next = 0;
    loop {
        let blocks = manifest.blocks(next, 4096).await?;
        if blocks.is_empty() {
            return Ok(taken);
        }
        next += u64::try_from(blocks.len()).unwrap_or(u64::MAX);
        taken.extend(blocks.into_iter().map(|block| block.chunk));
    }
}

async fn remove(txn: &Txn, upload: ContentId, taken: &HashSet<ChunkRef>) -> Result<bool, BlobError> {
    let rows = txn.scan(keys::blocks(upload), Direction::Ascending).take(BLOCKS).await?;
    for row in &rows {
        let chunk = BlockRecord::decode(&row.value)?.chunk();
        if !taken.contains(&chunk) {
            content::free(txn, chunk, upload).await?;
        }
        txn.delete(row.key.clone());
    }
    let done = rows.len() < BLOCKS;
    if done {
        txn.delete(keys::dropped_upload(upload));
    }
    Ok(done)
}
