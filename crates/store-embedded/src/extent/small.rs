//! Small chunks: they share an extent, ride in the log, and are written to their extent by the log's thread, all of a
//! group at once. Until then their holds have their bytes.
//!
//! **Invariant.** A small chunk is in its extent, or its hold has it, as long as anybody can see it; and it is in its extent
//! before the log lets go of it.

use std::sync::{Arc, atomic::Ordering};

use bytes::Bytes;
use store::{ChunkRef, StoreError, chunk::Ride};

use super::{
    file::{Extent, Hold},
    format::{Place, header, put_blocks, stored_bytes},
    table::{Extents, SMALL_TARGET_BYTES},
};
use crate::disk::is_no_room;

/// The buffer for what is written at once is given back to the allocator when a large group made it grow past this.
const BUFFER_BYTES: usize = 1024 * 1024;
/// Memory that small chunks may take which are owed to their extents while there is no room; beyond it the log waits.
const OWED_BYTES: usize = 64 * 1024 * 1024;
/// What a small chunk may take beside its bytes: mostly the buffer of its connection, which it is a slice of.
const RIDE_OVERHEAD_BYTES: usize = 8 * 1024;

/// Small chunks that found no room in their extents yet.
#[derive(Default)]
pub(super) struct Owed {
    rides: Vec<Ride>,
    bytes: usize,
}

impl Owed {
    fn memory(rides: &[Ride]) -> usize {
        rides.iter().map(|ride| RIDE_OVERHEAD_BYTES + ride.bytes.len()).sum()
    }

    /// False when that is more than may be owed.
    fn add(&mut self, rides: Vec<Ride>) -> bool {
        let bytes = self.bytes + Self::memory(&rides);
        if bytes > OWED_BYTES {
            return false;
        }
        self.bytes = bytes;
        self.rides.extend(rides);
        true
    }

    /// Takes the first ones off.
    fn paid(&mut self, count: usize) -> Vec<Ride> {
        let paid: Vec<Ride> = self.rides.drain(..count).collect();
        self.bytes -= Self::memory(&paid);
        paid
    }
}

impl Extents {
    /// Gives a small chunk its place.
    pub(crate) fn place_small(&self, data: Bytes, crc64: u64) -> Result<(ChunkRef, Hold), StoreError> {
        let length = u64::try_from(data.len()).unwrap_or(u64::MAX);
        let mut state = self.state();
        let full = |extent: &Arc<Extent>| extent.end.load(Ordering::Relaxed) >= SMALL_TARGET_BYTES;
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

    /// Writes small chunks to their places; durable only with the log. What has no room is owed: the log carries it, its
    /// hold has it for readers, and [`Extents::write_owed`] tries again.
    pub(crate) fn write_small<'a>(
        &self,
        rides: impl Iterator<Item = &'a Ride> + Clone,
        buffer: &mut Vec<u8>,
    ) -> Result<(), StoreError> {
        match self.write_runs(rides.clone(), buffer) {
            Err(StoreError::Io(error)) if is_no_room(&error) && self.state().owed.add(rides.cloned().collect()) => {
                Ok(())
            }
            written => written,
        }
    }

    /// Writes what is owed. Before a checkpoint lets go of the log that carries it; only one at a time.
    pub(crate) fn write_owed(&self) -> Result<(), StoreError> {
        let owed = self.state().owed.rides.clone();
        if !owed.is_empty() {
            self.write_runs(owed.iter(), &mut Vec::new())?;
            // What came meanwhile stands behind it.
            let paid = self.state().owed.paid(owed.len());
            drop(paid);
        }
        Ok(())
    }

    /// Writes them, neighbours at once. Writing them again does no harm.
    fn write_runs<'a>(&self, rides: impl Iterator<Item = &'a Ride>, buffer: &mut Vec<u8>) -> Result<(), StoreError> {
        let mut rides: Vec<&Ride> = rides.collect();
        rides.sort_unstable_by_key(|ride| (ride.chunk.extent, ride.chunk.offset));
        let mut rest = &*rides;
        while let Some((first, _)) = rest.split_first() {
            let start = Place { extent: first.chunk.extent, offset: first.chunk.offset };
            let mut next = start;
            buffer.clear();
            let neighbours = rest.iter().take_while(|ride| {
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
            rest = rest.get(count..).unwrap_or_default();
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
        self.write_runs(rides.iter(), buffer)
    }
}
