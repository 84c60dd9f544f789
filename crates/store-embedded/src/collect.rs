//! The collector: empties extents that are mostly dead by moving their live chunks, so that the files can be deleted.
//!
//! A move is a copy, then one transaction that compares and swaps the chunk's row. References stay as they are: a
//! forwarding row says where the chunk is now. Steps are bounded; nothing is remembered between them.

use std::sync::Arc;

use bytes::Bytes;
use store::{
    Direction, PendingChunk, Read, Scope, Store, StoreError,
    chunk::ChunkWriter,
    content::{self, ChunkRecord, Located},
};
use types::UnitId;

use crate::{
    engine::EmbeddedEngine,
    extent::{PlacedChunk, StreamWriter, block_at},
};

/// Bytes moved in a step.
const STEP_BYTES: u64 = 64 * 1024 * 1024;
/// Chunks moved in one transaction, and their bytes: small chunks ride in the log.
const BATCH: usize = 64;
const BATCH_BYTES: u64 = 1024 * 1024;
/// Dead bytes that make an extent worth the trouble.
const WORTHWHILE_BYTES: u64 = 1024 * 1024;

/// What a step did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Chunks moved.
    pub chunks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Extent files deleted.
    pub deleted: usize,
    /// True when another step would find something to do.
    pub more: bool,
}

impl EmbeddedEngine {
    /// Moves live chunks out of the extent with the most dead bytes, and deletes files that hold nothing live.
    ///
    /// # Errors
    /// The store failed; what was moved is moved, the rest is where it was.
    pub async fn collect(&self, store: &Store) -> Result<Collected, StoreError> {
        let mut collected = Collected::default();
        if let Some(extent) = self.most_dead()? {
            collected.more = true;
            self.empty(store, extent, &mut collected).await?;
        }
        collected.deleted = self.delete_dead_extents()?;
        Ok(collected)
    }

    /// The extent to empty next: more than half of it is dead.
    fn most_dead(&self) -> Result<Option<u64>, StoreError> {
        let live = self.shared().sequencer.lock().live.clone();
        let mut worst = None;
        for id in self.shared().extents.ids() {
            let live = live.get(&id).and_then(|bytes| u64::try_from(*bytes).ok()).unwrap_or_default();
            let Some(extent) = self.shared().extents.get(id)?.filter(|_| live > 0) else { continue };
            let dead = extent.file.length()?.saturating_sub(live);
            let better = worst.is_none_or(|(_, most)| dead > most);
            if dead > live && dead >= WORTHWHILE_BYTES && better && self.shared().extents.seal(id) {
                worst = Some((id, dead));
            }
        }
        Ok(worst.map(|(id, _)| id))
    }

    async fn empty(&self, store: &Store, extent: u64, collected: &mut Collected) -> Result<(), StoreError> {
        let snapshot = store.snapshot();
        let mut scan = snapshot.scan(content::chunks_of_extent(extent), Direction::Ascending);
        let mut batch: Vec<(Located, PendingChunk)> = Vec::new();
        let mut batch_bytes = 0;
        while collected.bytes + batch_bytes < STEP_BYTES
            && let Some(row) = scan.next().await?
        {
            let (extent, offset) = content::parse_chunk_key(&row.key)?;
            let from = Located { extent, offset, record: ChunkRecord::decode(&row.value)? };
            batch.push((from, self.copy(&from).await?));
            batch_bytes += from.record.chunk.length;
            if batch.len() == BATCH || batch_bytes >= BATCH_BYTES {
                relocate(store, &batch, collected).await?;
                batch.clear();
                batch_bytes = 0;
            }
        }
        relocate(store, &batch, collected).await
    }

    /// Copies a chunk's bytes to a new place, past the space reserve: it is given back with interest.
    async fn copy(&self, from: &Located) -> Result<PendingChunk, StoreError> {
        let chunk = from.record.chunk;
        let extent = self.shared().extents.get(from.extent)?.ok_or(StoreError::ChunkGone(chunk))?;
        let placed = PlacedChunk { extent, offset: from.offset, chunk };
        let mut writer = Box::new(StreamWriter::new(Arc::clone(self.shared())));
        let mut offset = 0;
        while let Some(place) = block_at(chunk.length, offset) {
            let placed = placed.clone();
            let block: Bytes = self.shared().pool.run(move || placed.read_block(place)).wait().await??;
            offset += u64::try_from(block.len()).unwrap_or(u64::MAX);
            writer.write(block).await?;
        }
        writer.finish().await
    }
}

async fn relocate(
    store: &Store,
    batch: &[(Located, PendingChunk)],
    collected: &mut Collected,
) -> Result<(), StoreError> {
    if batch.is_empty() {
        return Ok(());
    }
    let moved = store
        .transact(Scope::unit(UnitId::new(0)).reclaims(), |txn| async move {
            let mut moved = (0, 0);
            for (from, to) in batch {
                if content::relocate(&txn, from, to).await? {
                    moved = (moved.0 + 1, moved.1 + from.record.chunk.length);
                }
            }
            Ok::<_, StoreError>(moved)
        })
        .await?;
    collected.chunks += moved.0;
    collected.bytes += moved.1;
    Ok(())
}
