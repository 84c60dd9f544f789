//! One open extent, and reading chunks from it.

use std::{
    collections::HashMap,
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use bytes::{Bytes, BytesMut};
use store::{Answer, ChunkRef, StoreError, chunk::ChunkSource};

use super::{
    buffers::Buffer,
    format::{BLOCK_BYTES, BlockPlace, CHECKSUM_BYTES, Place, block_at, damaged, put_blocks, verify},
};
use crate::{disk::DiskFile, io_pool::IoPool};

/// An open extent.
pub(crate) struct Extent {
    pub(crate) id: u64,
    pub(crate) file: Arc<dyn DiskFile>,
    /// Where the next chunk begins.
    pub(crate) end: AtomicU64,
    /// Chunks that are being written, or are finished and not linked yet.
    pending: AtomicU64,
    /// Small chunks that the log's thread has yet to write, by their offset. Until then they are read from here.
    unwritten: Mutex<HashMap<u64, Bytes>>,
    /// Bytes were written that are not synced.
    pub(crate) dirty: AtomicBool,
}

impl Extent {
    pub(crate) fn new(id: u64, file: Arc<dyn DiskFile>, end: u64) -> Self {
        Self {
            id,
            file,
            end: AtomicU64::new(end),
            pending: AtomicU64::new(0),
            unwritten: Mutex::default(),
            dirty: AtomicBool::new(false),
        }
    }

    /// Makes what was written durable.
    pub(crate) fn sync(&self) -> io::Result<()> {
        // Cleared first: what is written meanwhile is dirty again.
        self.dirty.store(false, Ordering::Release);
        self.file.sync().inspect_err(|_| self.dirty.store(true, Ordering::Release))
    }

    pub(crate) fn is_pending(&self) -> bool {
        self.pending.load(Ordering::Acquire) > 0
    }

    /// The small chunks that are not in the file yet.
    pub(crate) fn held(&self) -> Held {
        let chunks = self.unwritten().iter().map(|(offset, data)| (*offset, data.clone())).collect();
        Held { extent: self.id, chunks }
    }

    fn unwritten(&self) -> MutexGuard<'_, HashMap<u64, Bytes>> {
        self.unwritten.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Small chunks that were not in their extent at some moment.
pub(crate) struct Held {
    extent: u64,
    chunks: Vec<(u64, Bytes)>,
}

impl Held {
    /// Writes them to their places in a copy of the extent.
    pub(crate) fn write_to(&self, file: &dyn DiskFile) -> io::Result<()> {
        let mut stored = Vec::new();
        for (offset, data) in &self.chunks {
            stored.clear();
            let place = Place { extent: self.extent, offset: *offset };
            put_blocks(place, data, crc_fast::crc64_nvme(data), &mut stored);
            file.write_at(&stored, *offset)?;
        }
        Ok(())
    }
}

/// Keeps the collector away from an extent while a chunk in it is not linked yet, and the bytes of a small chunk readable
/// while they are not written yet.
pub(crate) struct Hold {
    pub(crate) extent: Arc<Extent>,
    unwritten: Option<u64>,
}

impl Hold {
    pub(crate) fn new(extent: &Arc<Extent>) -> Self {
        extent.pending.fetch_add(1, Ordering::AcqRel);
        Self { extent: Arc::clone(extent), unwritten: None }
    }

    /// For a small chunk. The last one who has this has written the bytes, or does not want them any more.
    pub(crate) fn unwritten(extent: &Arc<Extent>, offset: u64, data: Bytes) -> Self {
        let mut hold = Self::new(extent);
        hold.unwritten = Some(offset);
        extent.unwritten().insert(offset, data);
        hold
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(offset) = self.unwritten {
            self.extent.unwritten().remove(&offset);
        }
        self.extent.pending.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A chunk at its present place. It stays readable while this lives, also when the extent is deleted.
#[derive(Clone)]
pub(crate) struct PlacedChunk {
    pub(crate) extent: Arc<Extent>,
    pub(crate) offset: u64,
    pub(crate) chunk: ChunkRef,
}

impl PlacedChunk {
    /// Reads and verifies one block, from the page cache only when `cached`: `None` when it is not there.
    fn block(&self, place: BlockPlace, cached: bool) -> Result<Option<Bytes>, StoreError> {
        if self.extent.is_pending()
            && let Some(whole) = self.extent.unwritten().get(&self.offset)
        {
            let start =
                usize::try_from(place.number).unwrap_or(usize::MAX).saturating_mul(BLOCK_BYTES).min(whole.len());
            return Ok(Some(whole.slice(start..whole.len().min(start + place.data_bytes))));
        }
        let mut stored = Buffer::take(place.data_bytes + CHECKSUM_BYTES);
        let at = self.offset + place.stored_offset;
        let file = &self.extent.file;
        let room = stored.bytes_mut();
        let count = if cached { file.read_cached_at(room, at)? } else { Some(file.read_at(room, at)?) };
        let Some(count) = count else { return Ok(None) };
        if count < room.len() {
            return Err(damaged(self.extent.id, at, place.number));
        }
        let data = verify(Place { extent: self.extent.id, offset: at }, room)
            .map_err(|()| damaged(self.extent.id, at, place.number))?;
        Ok(Some(stored.freeze(data)))
    }

    /// Reads and verifies one block, waiting for the device if need be.
    pub(crate) fn read_block(&self, place: BlockPlace) -> Result<Bytes, StoreError> {
        Ok(self.block(place, false)?.unwrap_or_default())
    }

    /// All bytes, for chunks that fit into memory.
    pub(crate) fn read_whole(&self) -> Result<Bytes, StoreError> {
        let mut whole = BytesMut::new();
        let mut offset = 0;
        while let Some(place) = block_at(self.chunk.length, offset) {
            let block = self.read_block(place)?;
            offset += u64::try_from(block.len()).unwrap_or(u64::MAX);
            if place.number == 0 && offset == self.chunk.length {
                return Ok(block);
            }
            whole.extend_from_slice(&block);
        }
        Ok(whole.freeze())
    }

    /// Reads every block and compares the checksum of the whole.
    pub(crate) fn verify(&self) -> Result<(), StoreError> {
        let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc64Nvme);
        let mut offset = 0;
        while let Some(place) = block_at(self.chunk.length, offset) {
            let block = self.read_block(place)?;
            offset += u64::try_from(block.len()).unwrap_or(u64::MAX);
            digest.update(&block);
        }
        if digest.finalize() == self.chunk.crc64 {
            Ok(())
        } else {
            Err(StoreError::corrupt(format!("chunk {} is not what was written: its checksum differs", self.chunk)))
        }
    }
}

/// A chunk open for a caller.
pub(crate) struct Source {
    pub(crate) placed: PlacedChunk,
    pub(crate) pool: Arc<IoPool>,
}

impl ChunkSource for Source {
    fn read(&self, offset: u64, length: usize) -> Answer<'_, Result<Bytes, StoreError>> {
        let Some(place) = block_at(self.placed.chunk.length, offset) else { return Answer::now(Ok(Bytes::new())) };
        let within = usize::try_from(offset % 65_536).unwrap_or(0);
        let part = move |block: Bytes| {
            let end = block.len().min(within.saturating_add(length));
            block.slice(within.min(end)..end)
        };
        match self.placed.block(place, true) {
            Ok(Some(block)) => Answer::now(Ok(part(block))),
            Err(error) => Answer::now(Err(error)),
            Ok(None) => {
                let placed = self.placed.clone();
                let reading = self.pool.run(move || placed.read_block(place));
                Answer::Later(Box::pin(async move {
                    let block = reading.wait().await??;
                    Ok(part(block))
                }))
            }
        }
    }
}

/// The empty chunk.
pub(crate) struct Nothing;

impl ChunkSource for Nothing {
    fn read(&self, _: u64, _: usize) -> Answer<'_, Result<Bytes, StoreError>> {
        Answer::now(Ok(Bytes::new()))
    }
}
