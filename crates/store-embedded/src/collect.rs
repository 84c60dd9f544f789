//! The collector: empties extents that are mostly dead, or while the disk is full those that hold anything dead, by moving
//! their live chunks, so that the files can be deleted.
//!
//! A move is a copy, then one transaction that compares and swaps the chunk's row. References stay as they are: a
//! forwarding row says where the chunk is now. Steps are bounded; nothing is remembered between them.

use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use store::{
    Direction, PendingChunk, Read, Scope, Store, StoreError,
    chunk::ChunkWriter,
    content::{self, ChunkRecord, Located},
};
use types::UnitId;

use crate::{
    engine::EmbeddedEngine,
    extent::{HEADER_BYTES, PlacedChunk, RIDE_BYTES, StreamWriter, block_at},
};

/// Bytes moved in a step.
const STEP_BYTES: u64 = 64 * 1024 * 1024;
/// Chunks moved in one transaction, and their bytes: small chunks ride in the log.
const BATCH: usize = 256;
const BATCH_BYTES: u64 = 1024 * 1024;
/// Dead bytes that make an extent worth the trouble.
const WORTHWHILE_BYTES: u64 = 1024 * 1024;
/// Dead bytes in all extents at which the collector does not wait for its time, when as many are not live.
const URGENT_BYTES: u64 = 64 * 1024 * 1024;
/// What streamed chunks are rounded up to, and the least that is worth a move while the disk is full.
const PAGE: u64 = 4096;

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

/// An extent that could be emptied.
struct Candidate {
    id: u64,
    length: u64,
    live: u64,
    dead: u64,
}

impl EmbeddedEngine {
    /// Moves live chunks out of the extent with the most dead bytes, and deletes files that hold nothing live. Usually an
    /// extent is emptied when more than half of it is dead; while the disk is full, whatever gives a page back.
    ///
    /// # Errors
    /// The store failed; what was moved is moved, the rest is where it was.
    pub async fn collect(&self, store: &Store) -> Result<Collected, StoreError> {
        let mut collected = Collected::default();
        let next = if self.shared().space.is_full() { self.any_dead(store).await? } else { self.mostly_dead()? };
        if let Some(extent) = next {
            collected.more = true;
            self.empty(store, extent, &mut collected).await?;
        }
        collected.deleted = self.delete_dead_extents()?;
        Ok(collected)
    }

    /// True when the collector should not wait: the disk is full, or most of what the extents take is dead.
    #[must_use]
    pub fn wants_collection(&self) -> bool {
        if self.shared().space.is_full() {
            return true;
        }
        let Ok(extents) = self.by_dead_bytes() else { return false };
        let (dead, live) = extents.iter().fold((0, 0), |sums, extent| (sums.0 + extent.dead, sums.1 + extent.live));
        dead >= URGENT_BYTES && dead >= live
    }

    /// The extents that hold something live, those with the most dead bytes first.
    fn by_dead_bytes(&self) -> Result<Vec<Candidate>, StoreError> {
        let sizes = self.shared().extents.sizes()?;
        let state = self.shared().sequencer.lock();
        let candidate = |(id, length): (u64, u64)| {
            let live = state.live.get(&id).and_then(|bytes| u64::try_from(*bytes).ok()).filter(|live| *live > 0)?;
            Some(Candidate { id, length, live, dead: length.saturating_sub(live) })
        };
        let mut extents: Vec<Candidate> = sizes.into_iter().filter_map(candidate).collect();
        drop(state);
        extents.sort_unstable_by_key(|extent| std::cmp::Reverse(extent.dead));
        Ok(extents)
    }

    /// The extent to empty next: more than half of it is dead.
    fn mostly_dead(&self) -> Result<Option<u64>, StoreError> {
        self.shared().padded.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let worthwhile = |extent: &Candidate| extent.dead > extent.live && extent.dead >= WORTHWHILE_BYTES;
        let mut extents = self.by_dead_bytes()?.into_iter().filter(worthwhile);
        Ok(extents.find(|extent| self.shared().extents.seal(extent.id)).map(|extent| extent.id))
    }

    /// The extent to empty next while the disk is full: that a page is won is enough. What is moved takes room before any
    /// is given back, so an extent with more in it than there is room for has to wait for others. Some stays for the log.
    async fn any_dead(&self, store: &Store) -> Result<Option<u64>, StoreError> {
        let available = self.shared().space.available_bytes();
        let room = available - available / 4;
        for extent in self.by_dead_bytes()? {
            let known = {
                let padded = self.shared().padded.lock().unwrap_or_else(PoisonError::into_inner);
                padded.get(&extent.id) == Some(&extent.dead)
            };
            if known || extent.live > room {
                continue;
            }
            let Needed { bytes, rides } = needed(store, extent.id).await?;
            if bytes + rides > room {
                continue;
            }
            if extent.length < bytes + PAGE {
                self.shared().padded.lock().unwrap_or_else(PoisonError::into_inner).insert(extent.id, extent.dead);
            } else if self.shared().extents.seal(extent.id) {
                return Ok(Some(extent.id));
            }
        }
        Ok(None)
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

/// What the live chunks of an extent take when they are moved.
struct Needed {
    /// In a file, with what stands between them.
    bytes: u64,
    /// In the log.
    rides: u64,
}

async fn needed(store: &Store, extent: u64) -> Result<Needed, StoreError> {
    let snapshot = store.snapshot();
    let mut scan = snapshot.scan(content::chunks_of_extent(extent), Direction::Ascending);
    let mut needed = Needed { bytes: HEADER_BYTES, rides: 0 };
    while let Some(row) = scan.next().await? {
        let length = ChunkRecord::decode(&row.value)?.chunk.length;
        let stored = u64::try_from(content::stored_bytes(length)).unwrap_or_default();
        let streamed = length > u64::try_from(RIDE_BYTES).unwrap_or(u64::MAX);
        needed.bytes += if streamed { stored.next_multiple_of(PAGE) } else { stored };
        needed.rides += if streamed { 0 } else { stored };
    }
    Ok(needed)
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
