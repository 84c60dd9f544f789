//! Writing frames: one write and one sync for everything that waited.

use std::{io, time::Duration};

use store::{StoreError, engine::Sequence};
use types::Timestamp;

use super::{
    frame::{FrameHeader, HEADER_BYTES, SECTOR_BYTES, frame_bytes},
    record::Record,
    segment::{Segment, SegmentSource, is_worth_waiting},
};

/// What goes into one frame.
pub(crate) struct Group<'a> {
    pub(crate) commits: &'a [(Sequence, Record)],
    pub(crate) time: Timestamp,
    pub(crate) id_limit: u64,
}

/// A segment that is full or left behind, with the last sequence in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sealed {
    pub(crate) number: u64,
    pub(crate) size: u64,
    pub(crate) last_sequence: u64,
}

/// Writes the log.
pub(crate) struct LogWriter {
    source: SegmentSource,
    salt: u64,
    current: Option<Open>,
    sealed: Vec<Sealed>,
    frame: u64,
    synced_frame: u64,
    /// When the first frame was written that is not synced; without meaning while none is.
    unsynced_since: Timestamp,
    last_sequence: u64,
    buffer: Vec<u8>,
}

struct Open {
    segment: Segment,
    position: u64,
}

/// Why a frame was not written.
#[derive(Debug)]
pub(crate) enum WriteError {
    /// There is no room, or no file can be opened: the frame has no place yet, and can be written to the same one again.
    Wait(io::Error),
    /// The device failed: nobody knows what was written.
    Failed(io::Error),
}

impl WriteError {
    /// Only room, and a handle to open a file with, are worth waiting for.
    pub(crate) fn of(error: io::Error) -> Self {
        if is_worth_waiting(&error) { Self::Wait(error) } else { Self::Failed(error) }
    }

    /// The same, when the store says it.
    pub(crate) fn of_store(error: StoreError) -> Self {
        match error {
            StoreError::Io(error) | StoreError::Exhausted(error) => Self::of(io::Error::new(error.kind(), error)),
            other => Self::Failed(io::Error::other(other)),
        }
    }
}

/// The frame buffer is given back to the allocator when a large group made it grow past this.
const BUFFER_BYTES: usize = 1024 * 1024;

impl LogWriter {
    /// Goes on behind what recovery found.
    pub(crate) fn new(
        source: SegmentSource,
        salt: u64,
        last_frame: u64,
        last_sequence: u64,
        sealed: Vec<Sealed>,
    ) -> Self {
        Self {
            source,
            salt,
            current: None,
            sealed,
            frame: last_frame,
            synced_frame: last_frame,
            unsynced_since: Timestamp::EPOCH,
            last_sequence,
            buffer: Vec::new(),
        }
    }

    /// Writes a group as one frame. Not durable before [`LogWriter::sync`].
    pub(crate) fn write(&mut self, group: &Group<'_>) -> Result<(), WriteError> {
        let payload: usize = group.commits.iter().map(|(_, record)| record.framed_bytes()).sum();
        self.buffer.clear();
        self.buffer.reserve(HEADER_BYTES + payload + usize::try_from(SECTOR_BYTES).unwrap_or(0));
        self.buffer.resize(HEADER_BYTES, 0);
        for (sequence, record) in group.commits {
            record.put(*sequence, &mut self.buffer).map_err(|error| WriteError::Failed(io::Error::other(error)))?;
        }
        let payload = self.buffer.get(HEADER_BYTES..).unwrap_or_default();
        let payload_bytes = u64::try_from(payload.len()).unwrap_or(u64::MAX);
        let payload_crc64 = crc_fast::crc64_nvme(payload);
        let total = frame_bytes(payload_bytes);
        let position = self.make_room(total)?;
        let Some(open) = &mut self.current else { return Err(WriteError::Wait(io::Error::other("no segment"))) };

        let last_sequence = group.commits.last().map_or(self.last_sequence, |(sequence, _)| sequence.0);
        let header = FrameHeader {
            segment: open.segment.number,
            number: self.frame + 1,
            synced: self.synced_frame,
            previous_sequence: self.last_sequence,
            last_sequence,
            time: group.time,
            id_limit: group.id_limit,
            payload_bytes,
            payload_crc64,
        };
        if let Some(place) = self.buffer.first_chunk_mut::<HEADER_BYTES>() {
            *place = header.encode(self.salt);
        }
        self.buffer.resize(usize::try_from(total).unwrap_or(0), 0);
        open.segment.file.write_at(&self.buffer, position).map_err(WriteError::of)?;
        open.position = position + total;
        if self.frame == self.synced_frame {
            self.unsynced_since = group.time;
        }
        self.frame += 1;
        self.last_sequence = last_sequence;
        if position == 0 {
            // A segment's first frame tells recovery what went before it, so it is never torn under a second one.
            self.sync().map_err(WriteError::Failed)?;
        }
        if self.buffer.capacity() > BUFFER_BYTES {
            self.buffer = Vec::new();
        }
        Ok(())
    }

    /// Makes every written frame durable.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        if let Some(open) = &self.current {
            open.segment.file.sync()?;
        }
        self.synced_frame = self.frame;
        Ok(())
    }

    /// Lets go of what is kept for later. Failing to do so costs space and time, not safety.
    pub(crate) fn tidy(&self) {
        if let Err(error) = self.source.remove_spares() {
            tracing::warn!(%error, "a log segment that is no longer needed was not removed");
        }
    }

    /// Writes and syncs a frame without commits.
    pub(crate) fn mark(&mut self, time: Timestamp, id_limit: u64) -> io::Result<()> {
        match self.write(&Group { commits: &[], time, id_limit }) {
            Ok(()) => self.sync(),
            Err(WriteError::Wait(error) | WriteError::Failed(error)) => Err(error),
        }
    }

    /// True when a written frame is not synced yet.
    pub(crate) const fn is_dirty(&self) -> bool {
        self.frame != self.synced_frame
    }

    /// How long a written frame has been unsynced.
    pub(crate) fn unsynced_for(&self, now: Timestamp) -> Duration {
        if self.is_dirty() { now.saturating_since(self.unsynced_since) } else { Duration::ZERO }
    }

    /// The last commit that was written.
    pub(crate) const fn last_sequence(&self) -> u64 {
        self.last_sequence
    }

    fn make_room(&mut self, total: u64) -> Result<u64, WriteError> {
        if let Some(open) = &self.current {
            if open.segment.size - open.position >= total {
                return Ok(open.position);
            }
            // Frames of the old segment must be durable before any of the next: recovery reads them in order.
            if self.frame != self.synced_frame {
                open.segment.file.sync().map_err(WriteError::Failed)?;
                self.synced_frame = self.frame;
            }
        }
        let segment = self.source.take(total).map_err(WriteError::of)?;
        if let Some(full) = self.current.replace(Open { segment, position: 0 }) {
            let Segment { number, size, .. } = full.segment;
            self.sealed.push(Sealed { number, size, last_sequence: self.last_sequence });
        }
        Ok(0)
    }

    /// Gives back the segments whose last sequence is in the index. Failing to remove one costs space, not safety.
    pub(crate) fn forget(&mut self, persisted: Sequence) {
        let (old, kept) = self.sealed.iter().partition(|sealed| sealed.last_sequence <= persisted.0);
        self.sealed = kept;
        let old: Vec<Sealed> = old;
        for Sealed { number, size, .. } in old {
            if let Err(error) = self.source.give_back(number, size) {
                tracing::warn!(segment = number, %error, "a log segment that is no longer needed was not removed");
            }
        }
    }
}
