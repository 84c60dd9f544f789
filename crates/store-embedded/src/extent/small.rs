//! Small chunks: they share an extent, stand inline in the log, and are written to their extent by the log's thread, all of
//! a group at once. Until then their holds have their bytes.
//!
//! **Invariant.** A small chunk is in its extent, or its hold has it, as long as anybody can see it; and it is in its extent
//! before the log lets go of it.

use std::sync::{Arc, atomic::Ordering};

use bytes::Bytes;
use store::{ChunkRef, StoreError};

use super::{
    file::{Extent, Hold},
    format::{Place, header, put_blocks, stored_bytes},
    table::{Extents, SMALL_TARGET_BYTES},
};
use crate::disk::is_no_room;

/// The buffer for what is written at once is given back to the allocator when a large group made it grow past this.
const BUFFER_BYTES: usize = 1024 * 1024;
/// Memory that small chunks may take which wait for room in their extents; beyond it the log waits.
const BACKLOG_BYTES: usize = 64 * 1024 * 1024;
/// What a small chunk may take beside its bytes: mostly the buffer of its connection, which it is a slice of.
const OVERHEAD_BYTES: usize = 8 * 1024;

/// A chunk at its place that nothing links yet.
pub(crate) struct Written {
    pub(crate) place: Place,
    pub(crate) length: u64,
    pub(crate) crc64: u64,
    pub(crate) attached: Arc<Attached>,
}

impl Written {
    pub(crate) fn reference(&self) -> ChunkRef {
        ChunkRef { token: self.place.token(), length: self.length, crc64: self.crc64 }
    }
}

/// What the engine attaches to a chunk until it is linked.
pub(crate) struct Attached {
    /// The bytes of a small chunk: the log carries them.
    pub(crate) inline: Option<Bytes>,
    /// Keeps the collector away from its extent.
    pub(crate) _hold: Hold,
}

/// A small chunk whose bytes the log carries, on its way to its extent.
#[derive(Clone)]
pub(crate) struct InlineChunk {
    pub(crate) place: Place,
    pub(crate) crc64: u64,
    pub(crate) bytes: Bytes,
    /// Keeps it readable until it is where it belongs; none when the log is read back.
    pub(crate) _attached: Option<Arc<Attached>>,
}

impl InlineChunk {
    /// `None` for a chunk that is in its extent already.
    pub(crate) fn of(place: Place, crc64: u64, attached: &Arc<Attached>) -> Option<Self> {
        let bytes = attached.inline.clone()?;
        Some(Self { place, crc64, bytes, _attached: Some(Arc::clone(attached)) })
    }
}

/// Small chunks that found no room in their extents yet.
#[derive(Default)]
pub(super) struct Backlog {
    chunks: Vec<InlineChunk>,
    bytes: usize,
}

impl Backlog {
    fn memory(chunks: &[InlineChunk]) -> usize {
        chunks.iter().map(|chunk| OVERHEAD_BYTES + chunk.bytes.len()).sum()
    }

    /// False when that is more than may wait.
    fn add(&mut self, chunks: Vec<InlineChunk>) -> bool {
        let bytes = self.bytes + Self::memory(&chunks);
        if bytes > BACKLOG_BYTES {
            return false;
        }
        self.bytes = bytes;
        self.chunks.extend(chunks);
        true
    }

    /// Takes the first ones off.
    fn take(&mut self, count: usize) -> Vec<InlineChunk> {
        let taken: Vec<InlineChunk> = self.chunks.drain(..count).collect();
        self.bytes -= Self::memory(&taken);
        taken
    }
}

impl Extents {
    /// Gives a small chunk its place.
    pub(crate) fn place_small(&self, data: Bytes, crc64: u64) -> Result<Written, StoreError> {
        let length = u64::try_from(data.len()).unwrap_or(u64::MAX);
        let mut state = self.state();
        let full = |extent: &Arc<Extent>| extent.end.load(Ordering::Relaxed) >= SMALL_TARGET_BYTES;
        let extent = match state.small.take().filter(|extent| !full(extent)) {
            Some(extent) => extent,
            None => self.create(&mut state)?,
        };
        state.small = Some(Arc::clone(&extent));
        let offset = extent.end.fetch_add(stored_bytes(length), Ordering::Relaxed);
        let hold = Hold::unwritten(&extent, offset, data.clone());
        drop(state);
        let attached = Arc::new(Attached { inline: Some(data), _hold: hold });
        Ok(Written { place: Place { extent: extent.id, offset }, length, crc64, attached })
    }

    /// Writes small chunks to their places; durable only with the log. What has no room goes to the backlog: the log carries
    /// it, its hold has it for readers, and [`Extents::write_backlog`] tries again.
    pub(crate) fn write_small<'a>(
        &self,
        chunks: impl Iterator<Item = &'a InlineChunk> + Clone,
        buffer: &mut Vec<u8>,
    ) -> Result<(), StoreError> {
        match self.write_runs(chunks.clone(), buffer) {
            Err(StoreError::Io(error)) if is_no_room(&error) && self.state().backlog.add(chunks.cloned().collect()) => {
                Ok(())
            }
            written => written,
        }
    }

    /// Writes the backlog. Before a checkpoint lets go of the log that carries it; only one at a time.
    pub(crate) fn write_backlog(&self) -> Result<(), StoreError> {
        let waiting = self.state().backlog.chunks.clone();
        if !waiting.is_empty() {
            self.write_runs(waiting.iter(), &mut Vec::new())?;
            // What came meanwhile stands behind it.
            let written = self.state().backlog.take(waiting.len());
            drop(written);
        }
        Ok(())
    }

    /// Writes them, neighbours at once. Writing them again does no harm.
    fn write_runs<'a>(
        &self,
        chunks: impl Iterator<Item = &'a InlineChunk>,
        buffer: &mut Vec<u8>,
    ) -> Result<(), StoreError> {
        let mut chunks: Vec<&InlineChunk> = chunks.collect();
        chunks.sort_unstable_by_key(|chunk| chunk.place);
        let mut rest = &*chunks;
        while let Some((first, _)) = rest.split_first() {
            let start = first.place;
            let mut next = start;
            buffer.clear();
            let neighbours = rest.iter().take_while(|chunk| {
                if chunk.place != next {
                    return false;
                }
                put_blocks(chunk.place, &chunk.bytes, chunk.crc64, buffer);
                next = start.after(buffer.len());
                true
            });
            let count = neighbours.count();
            let extent = self.get(start.extent)?;
            let missing = || StoreError::corrupt(format!("a chunk belongs to {start}, which does not exist"));
            let extent = extent.ok_or_else(missing)?;
            let written = extent.file.write_at(buffer, start.offset);
            // Only now: a sync that began before must not clear the mark of bytes that came after it.
            self.mark_dirty(&extent);
            written?;
            rest = rest.get(count..).unwrap_or_default();
        }
        if buffer.capacity() > BUFFER_BYTES {
            *buffer = Vec::new();
        }
        Ok(())
    }

    /// Writes small chunks again that the log carried, also when their extent was lost with the power.
    pub(crate) fn replay(&self, chunks: &[InlineChunk], buffer: &mut Vec<u8>) -> Result<(), StoreError> {
        for chunk in chunks {
            let extent = self.get_or_create(chunk.place.extent)?;
            extent.file.write_at(&header(extent.id), 0)?;
        }
        self.write_runs(chunks.iter(), buffer)
    }
}
