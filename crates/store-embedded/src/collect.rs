//! The collector: empties extents that are mostly dead, or while the disk is full those that hold anything dead, by moving
//! their live chunks, so that the files can be deleted.
//!
//! A move is a copy, then one commit of the engine's own that says where the chunk is now. Its row and all references stay
//! as they are. Steps are bounded; nothing is remembered between them.

use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use store::{
    ChunkRef, StoreError,
    chunk::ChunkWriter,
    engine::{Commit, Engine, Horizon, SequenceError, View},
    limits,
};

use crate::{
    effects::Effects,
    engine::EmbeddedEngine,
    extent::{HEADER_BYTES, INLINE_BYTES, Place, PlacedChunk, StreamWriter, Written, block_at, stored_bytes},
    views::IndexView,
};

/// Bytes moved in a step.
const STEP_BYTES: u64 = 64 * 1024 * 1024;
/// Chunks moved in one commit, and their bytes: small chunks stand inline in the log.
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
    /// How many bytes were moved.
    pub bytes: u64,
    /// Extent files deleted.
    pub deleted: usize,
    /// True when another step would find something to do.
    pub more: bool,
}

/// A live chunk, and a copy of it elsewhere.
struct Move {
    chunk: ChunkRef,
    from: Place,
    to: Written,
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
    pub async fn collect(&self) -> Result<Collected, StoreError> {
        let mut collected = Collected::default();
        let next = if self.shared().space.is_full() { self.any_dead()? } else { self.mostly_dead()? };
        if let Some(extent) = next {
            collected.more = true;
            self.empty(extent, &mut collected).await?;
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
    fn any_dead(&self) -> Result<Option<u64>, StoreError> {
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
            let Needed { bytes, inline } = self.needed(extent.id)?;
            if bytes + inline > room {
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

    async fn empty(&self, extent: u64, collected: &mut Collected) -> Result<(), StoreError> {
        let view = IndexView::new(Arc::clone(self.shared()), Horizon::Durable);
        let mut residents = self.shared().residents(extent, view.bound());
        let mut batch: Vec<Move> = Vec::new();
        let mut batch_bytes = 0;
        while collected.bytes + batch_bytes < STEP_BYTES
            && let Some(resident) = residents.next()
        {
            let (record, from) = resident?;
            let chunk = record.chunk;
            batch.push(Move { chunk, from, to: self.copy(chunk, from).await? });
            batch_bytes += chunk.length;
            if batch.len() == BATCH || batch_bytes >= BATCH_BYTES {
                collected.count(self.relocate(&batch).await?);
                batch.clear();
                batch_bytes = 0;
            }
        }
        collected.count(self.relocate(&batch).await?);
        Ok(())
    }

    /// Moves one chunk, as the collector does with all of an extent. False when it was freed.
    ///
    /// # Errors
    /// The store failed; the chunk is where it was.
    pub async fn move_chunk(&self, chunk: ChunkRef) -> Result<bool, StoreError> {
        let view = IndexView::new(Arc::clone(self.shared()), Horizon::Durable);
        if self.shared().record_of(chunk.token, view.bound())?.is_none() {
            return Ok(false);
        }
        let from = self.shared().place_of(chunk.token, view.bound())?;
        let to = self.copy(chunk, from).await?;
        Ok(self.relocate(&[Move { chunk, from, to }]).await?.0 > 0)
    }

    /// Copies a chunk's bytes to a new place, past the space reserve: it is given back with interest.
    async fn copy(&self, chunk: ChunkRef, from: Place) -> Result<Written, StoreError> {
        let extent = self.shared().extents.get(from.extent)?.ok_or(StoreError::ChunkGone(chunk))?;
        let placed = PlacedChunk { extent, offset: from.offset, chunk };
        let mut writer = StreamWriter::new(Arc::clone(self.shared()));
        let mut offset = 0;
        while let Some(place) = block_at(chunk.length, offset) {
            let placed = placed.clone();
            let block: Bytes = self.shared().pool.run(move || placed.read_block(place)).wait().await??;
            offset += u64::try_from(block.len()).unwrap_or(u64::MAX);
            writer.write(block).await?;
        }
        writer.end().await
    }

    /// Says where copied chunks are from now on, except those that were freed or moved meanwhile. Returns how many were moved,
    /// and their bytes.
    async fn relocate(&self, batch: &[Move]) -> Result<(u64, u64), StoreError> {
        for Move { chunk, .. } in batch {
            // Before the commit: whoever frees one of them after it must look for its place.
            self.shared().emptied.note(Place::of(chunk.token).extent);
        }
        for _ in 0..limits::ATTEMPTS {
            self.shared().stall.wait().await;
            let view = IndexView::new(Arc::clone(self.shared()), Horizon::Sequenced);
            let (effects, moved) = self.shared().retrying(|| self.still_there(batch, view.bound())).await?;
            if moved.0 == 0 {
                return Ok(moved);
            }
            let commit = Commit { read_at: view.instant(), reclaims: true, ..Commit::default() };
            match self.sequence_with(commit, effects) {
                Ok(sequence) => {
                    self.durable(sequence).await?;
                    return Ok(moved);
                }
                Err(SequenceError::Conflict) => {}
                Err(SequenceError::Store(error)) => return Err(error),
            }
        }
        Err(StoreError::Busy { attempts: limits::ATTEMPTS })
    }

    /// The moves of those chunks that are live and where they were when they were copied.
    fn still_there(&self, batch: &[Move], bound: u64) -> Result<(Effects, (u64, u64)), StoreError> {
        let (mut effects, mut moved) = (Effects::default(), (0, 0));
        for Move { chunk, from, to } in batch {
            let live = self.shared().record_of(chunk.token, bound)?.is_some();
            if live && self.shared().place_of(chunk.token, bound)? == *from {
                effects.relocate(chunk.token, *from, to);
                moved = (moved.0 + 1, moved.1 + chunk.length);
            }
        }
        Ok((effects, moved))
    }

    /// What the live chunks of an extent take when they are moved.
    fn needed(&self, extent: u64) -> Result<Needed, StoreError> {
        let view = IndexView::new(Arc::clone(self.shared()), Horizon::Durable);
        let mut needed = Needed { bytes: HEADER_BYTES, inline: 0 };
        for resident in self.shared().residents(extent, view.bound()) {
            let length = resident?.0.chunk.length;
            let stored = stored_bytes(length);
            let streamed = length > u64::try_from(INLINE_BYTES).unwrap_or(u64::MAX);
            needed.bytes += if streamed { stored.next_multiple_of(PAGE) } else { stored };
            needed.inline += if streamed { 0 } else { stored };
        }
        Ok(needed)
    }
}

impl Collected {
    fn count(&mut self, (chunks, bytes): (u64, u64)) {
        self.chunks += chunks;
        self.bytes += bytes;
    }
}

/// What the live chunks of an extent take when they are moved.
struct Needed {
    /// In a file, with what stands between them.
    bytes: u64,
    /// In the log.
    inline: u64,
}
