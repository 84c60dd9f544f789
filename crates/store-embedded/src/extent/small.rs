//! Small chunks: they share an extent, ride in the log, and are written to their extent by the log's thread, all of a
//! group at once. Until then their holds have their bytes.
//!
//! **Invariant.** A small chunk is in its extent before anybody but transactions can see it.

use std::sync::{Arc, atomic::Ordering};

use bytes::Bytes;
use store::{ChunkRef, StoreError, chunk::Ride};

use super::{
    file::{Extent, Hold},
    format::{Place, header, put_blocks, stored_bytes},
    table::{Extents, TARGET_BYTES},
};

/// The buffer for what is written at once is given back to the allocator when a large group made it grow past this.
const BUFFER_BYTES: usize = 1024 * 1024;

impl Extents {
    /// Gives a small chunk its place.
    pub(crate) fn place_small(&self, data: Bytes, crc64: u64) -> Result<(ChunkRef, Hold), StoreError> {
        let length = u64::try_from(data.len()).unwrap_or(u64::MAX);
        let mut state = self.state();
        let full = |extent: &Arc<Extent>| extent.end.load(Ordering::Relaxed) >= TARGET_BYTES;
        let extent = match state.small.take().filter(|extent| !full(extent)) {
            Some(extent) => extent,
            None => self.create(&mut state)?,
        };
        state.small = Some(Arc::clone(&extent));
        let offset = extent.end.fetch_add(stored_bytes(length), Ordering::Relaxed);
        let hold = Hold::unwritten(&extent, offset, data);
        drop(state);
        Ok((ChunkRef { extent: extent.id, offset, length, crc64 }, hold))
    }

    /// Writes small chunks to their places. Durable only with the log; writing them again does no harm.
    pub(crate) fn write_small<'a>(
        &self,
        rides: impl Iterator<Item = &'a Ride>,
        buffer: &mut Vec<u8>,
    ) -> Result<(), StoreError> {
        let mut rides: Vec<&Ride> = rides.collect();
        rides.sort_unstable_by_key(|ride| (ride.chunk.extent, ride.chunk.offset));
        while let Some((first, _)) = rides.split_first() {
            let start = Place { extent: first.chunk.extent, offset: first.chunk.offset };
            let mut next = start;
            buffer.clear();
            // Those that are neighbours are written at once.
            let neighbours = rides.iter().take_while(|ride| {
                let place = Place { extent: ride.chunk.extent, offset: ride.chunk.offset };
                if place != next {
                    return false;
                }
                put_blocks(place, &ride.bytes, ride.chunk.crc64, buffer);
                next = start.after(buffer.len());
                true
            });
            let count = neighbours.count();
            let extent = self.get(start.extent)?.ok_or(StoreError::ChunkGone(first.chunk))?;
            let written = extent.file.write_at(buffer, start.offset);
            // Only now: a sync that began before must not clear the mark of bytes that came after it.
            self.mark_dirty(&extent);
            written?;
            rides.drain(..count);
        }
        if buffer.capacity() > BUFFER_BYTES {
            *buffer = Vec::new();
        }
        Ok(())
    }

    /// Writes small chunks again that the log carried, also when their extent was lost with the power.
    pub(crate) fn replay(&self, rides: &[Ride], buffer: &mut Vec<u8>) -> Result<(), StoreError> {
        for ride in rides {
            let extent = self.get_or_create(ride.chunk.extent)?;
            extent.file.write_at(&header(extent.id), 0)?;
        }
        self.write_small(rides.iter(), buffer)
    }
}
