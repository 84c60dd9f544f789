//! Reading a blob's bytes: one reader over every way in which they are kept. What it gives is one state of the blob, from
//! its first byte to its last, also while the blob is overwritten, deleted or collected.
//!
//! - One chunk never changes, and stays readable once it is open.
//! - A manifest never changes; its content is held, so that its blocks stay.
//! - Of a map that is short, everything is opened at once. A longer one is read at an epoch: appends never change what is
//!   before them, and a page blob moves to its next epoch for the reader, so that its writers keep what the reader sees.

use std::{ops::Range, sync::Arc};

use access::Asked;
use bytes::Bytes;
use store::{Read, Scope, Snapshot, Store, StoreError, Txn, content::Holdings, content_map, reader::ContentReader};
use types::UnitId;

use crate::{
    download::GetBlob,
    errors::BlobError,
    lifecycle::Place,
    object::{self, FoundBlob},
    sharing,
    state::{Blob, BlobKind},
};

/// Parts of a map that are opened at once.
const OPENED_AT_ONCE: usize = 512;

/// The bytes of one state of a blob.
pub struct BlobReader(ContentReader);

/// Opens what was found in `snapshot`, to read `range` of it. `None` when the blob changed meanwhile: find it again.
pub(crate) async fn open(
    store: &Store,
    snapshot: &Snapshot,
    found: &FoundBlob,
    range: Range<u64>,
) -> Result<Option<BlobReader>, BlobError> {
    let (content, end) = (found.content, range.end.min(found.properties.length));
    let opened = match found.holdings {
        Holdings::Nothing => Some(ContentReader::zeros(store, end)),
        // The snapshot keeps its place until it is open.
        Holdings::Chunk(chunk) => ContentReader::chunk(store, chunk, end).await?,
        Holdings::Manifest { manifest, .. } => {
            let pin = Arc::new(store.pins().hold(content));
            if !is_still(&store.snapshot(), found).await? {
                return Ok(None);
            }
            ContentReader::manifest(store, manifest, end, pin).await?
        }
        Holdings::Map => {
            if let Some(kept) = &found.kept {
                let reader = ContentReader::map(store, content, found.epoch, end, Arc::clone(kept));
                return Ok(Some(BlobReader(reader)));
            }
            let wanted = (range.start, end);
            let (segments, more) = content_map::read(snapshot, content, found.epoch, wanted, OPENED_AT_ONCE).await?;
            if more.is_none() {
                return Ok(ContentReader::opened(store, segments, end).await?.map(BlobReader));
            }
            let pin = Arc::new(store.pins().hold(content));
            let changes = changes(found);
            let scope = Scope::new().reclaims();
            // Asked of what is sequenced, as the prune asks: what is not durable yet may be pruned already.
            let kept = store.transact(scope, |txn| async move {
                if changes { keep_epoch(&txn, found).await } else { is_still(&txn, found).await }
            });
            let kept = match kept.await {
                // Nobody writes any more, and so nobody prunes.
                Err(BlobError::Store(StoreError::Poisoned(_) | StoreError::OutcomeUnknown(_))) => {
                    is_still(&store.snapshot(), found).await?
                }
                kept => kept?,
            };
            kept.then(|| ContentReader::map(store, content, found.epoch, end, pin))
        }
    };
    Ok(opened.map(BlobReader))
}

/// Finds a blob for Get Blob and keeps it as it is found, however often it is written: what is open afterwards is that. It
/// queues with the writers, so it is for a blob that changed whenever it was to be opened.
pub(crate) async fn find_and_keep(store: &Store, asked: &Asked<GetBlob<'_>>) -> Result<FoundBlob, BlobError> {
    let address = &asked.read.address;
    let latch = address.latch();
    let scope = Scope::of(&latch).reclaims();
    store
        .transact(scope, |txn| async move {
            let allowed = asked.authorize(&txn).await?;
            let mut found = object::read_content(&txn, &allowed.read, txn.now()).await?;
            if found.holdings == Holdings::Map && changes(&found) {
                found.kept = Some(Arc::new(store.pins().hold(found.content)));
                keep_epoch(&txn, &found).await?;
            }
            Ok(found)
        })
        .await
}

/// True for what is written in place.
fn changes(found: &FoundBlob) -> bool {
    found.properties.kind == BlobKind::Page && found.properties.part.is_base()
}

/// True while the row still names the content: its sweep has not begun, and will see that it is held.
async fn is_still(rows: &impl Read, found: &FoundBlob) -> Result<bool, BlobError> {
    let row = rows.get(&found.row).await?;
    let blob = row.map(|row| Blob::decode(&row)).transpose()?;
    let grows = found.properties.kind == BlobKind::Append;
    Ok(blob.is_some_and(|blob| blob.content == found.content && (grows || blob.holdings == found.holdings)))
}

/// Moves a page blob to its next epoch, so that its writers keep what is read. What they kept is pruned once the content
/// is not held any more. False when the blob changed.
async fn keep_epoch(txn: &Txn, found: &FoundBlob) -> Result<bool, BlobError> {
    let (container, name) = &found.place;
    let place = Place { account: UnitId::new(0), container: *container, name };
    let row = txn.get(&found.row).await?;
    let Some(mut blob) = row.map(|row| Blob::decode(&row)).transpose()? else { return Ok(false) };
    if blob.content != found.content || blob.etag != found.properties.etag || blob.extra().epoch != found.epoch {
        return Ok(false);
    }
    let extra = blob.extra_mut();
    extra.epoch = found.epoch + 1;
    extra.newest_shared_epoch = Some(found.epoch);
    place.put(txn, &blob);
    sharing::ask_to_prune(txn, place, blob.content)?;
    Ok(true)
}

impl BlobReader {
    /// Up to `length` bytes from `offset`; fewer where the store prefers smaller pieces, none at the end. Reading on from
    /// where the last read ended is the quick way.
    ///
    /// # Errors
    /// The store failed.
    pub async fn read(&mut self, offset: u64, length: usize) -> Result<Bytes, BlobError> {
        Ok(self.0.read(offset, length).await?)
    }

    /// A range as a whole, which must fit into memory.
    ///
    /// # Errors
    /// The store failed.
    pub async fn collect(&mut self, range: Range<u64>) -> Result<Bytes, BlobError> {
        Ok(self.0.collect(range).await?)
    }
}

#[cfg(test)]
mod tests;
