//! Reading the log back after a stop of any kind.
//!
//! Frames are numbered without gaps. A frame that is missing or damaged is *torn* when no later frame says it was
//! synced: nobody was told of it, it is cut. It is *corrupt* when a later frame says it was synced: then the store
//! refuses to open and says where, because skipping it would lose what somebody was promised.
//!
//! Frames that no later frame proves may be in the page cache only: after a process died, or after a sync failed. They
//! are written again and synced, so that whatever was seen once stays.

use bytes::Bytes;
use crc_fast::crc64_nvme;
use store::{StoreError, engine::Sequence};
use types::Timestamp;

use super::{
    frame::{FrameHeader, HEADER_BYTES, SECTOR_BYTES},
    record::Record,
    segment::{DIRECTORY, file_name, parse_name},
    writer::Sealed,
};
use crate::disk::{Disk, DiskFile, read_exactly_at};

/// A frame that was read and that nothing proves to be durable.
#[derive(Clone, Copy, Debug)]
struct Unproven {
    frame: u64,
    segment: u64,
    offset: u64,
    bytes: u64,
}

/// What the log held.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) last_frame: u64,
    pub(crate) last_sequence: u64,
    pub(crate) time: Timestamp,
    pub(crate) id_limit: u64,
    pub(crate) next_segment: u64,
    pub(crate) sealed: Vec<Sealed>,
    /// Frames read, and frames cut because they were torn.
    pub(crate) frames: u64,
    pub(crate) torn: u64,
    unproven: Vec<Unproven>,
}

/// Reads every frame in order and hands its commits to `apply`. Commits up to `persisted` are in the index already and
/// need not be there any more.
pub(crate) fn recover(
    disk: &dyn Disk,
    salt: u64,
    persisted: Sequence,
    mut apply: impl FnMut(Sequence, Record) -> Result<(), StoreError>,
) -> Result<Recovered, StoreError> {
    let mut numbers: Vec<u64> = disk.list(DIRECTORY)?.iter().filter_map(|name| parse_name(name)).collect();
    numbers.sort_unstable();
    let mut recovered = Recovered {
        last_frame: 0,
        last_sequence: persisted.0,
        time: Timestamp::EPOCH,
        id_limit: 0,
        next_segment: numbers.last().map_or(1, |last| last + 1),
        sealed: Vec::new(),
        frames: 0,
        torn: 0,
        unproven: Vec::new(),
    };
    for number in numbers {
        let file = disk.open(&file_name(number))?;
        let mut walk = Walk { file: &*file, size: file.length()?, segment: number, salt, position: 0 };
        let size = walk.size;
        // The place of the first frame that should be there and is not.
        let mut bad: Option<u64> = None;
        loop {
            let at = walk.position;
            let Some((header, payload)) = walk.frame()? else {
                bad.get_or_insert(at);
                if walk.skip_to_next_frame()? {
                    continue;
                }
                break;
            };
            if let Some(problem) = recovered.place(&header, persisted, at, bad) {
                match problem {
                    Problem::Torn => recovered.torn += 1,
                    Problem::Corrupt => {
                        return Err(StoreError::corrupt(format!(
                            "the log is damaged in {} at byte {}: frame {} was synced but is not readable",
                            file_name(number),
                            bad.unwrap_or(at),
                            recovered.last_frame + 1,
                        )));
                    }
                }
                continue;
            }
            replay(payload, persisted, &mut apply)?;
            recovered.note(&header, at);
            bad = None; // only the very first frame may stand behind something unreadable: older frames, long applied
        }
        recovered.sealed.push(Sealed { number, size, last_sequence: recovered.last_sequence });
    }
    recovered.prove(disk)?;
    Ok(recovered)
}

enum Problem {
    Torn,
    Corrupt,
}

impl Recovered {
    /// Why this frame cannot be the next one; `None` when it is.
    fn place(&self, header: &FrameHeader, persisted: Sequence, at: u64, bad: Option<u64>) -> Option<Problem> {
        if self.last_frame == 0 {
            // The first frame of all: older ones are gone because their commits are in the index, or are missing.
            return (header.previous_sequence > persisted.0).then_some(Problem::Corrupt);
        }
        let expected = self.last_frame + 1;
        if header.number == expected && bad.is_none() {
            return None;
        }
        // Segments between two others may be gone, removed or used again, when all their commits are in the index. A
        // segment's first frame is never torn before a second one, so one that stands first follows all of its past.
        if at == 0 && header.number > expected && header.previous_sequence <= persisted.0 {
            return None;
        }
        // Behind a damaged place in the same segment even the expected number would be out of order.
        if header.synced >= expected || header.number <= self.last_frame || header.number == expected {
            Some(Problem::Corrupt)
        } else {
            Some(Problem::Torn)
        }
    }

    fn note(&mut self, header: &FrameHeader, at: u64) {
        self.unproven.retain(|unproven| unproven.frame > header.synced);
        self.unproven.push(Unproven {
            frame: header.number,
            segment: header.segment,
            offset: at,
            bytes: header.frame_bytes(),
        });
        self.last_frame = header.number;
        self.last_sequence = self.last_sequence.max(header.last_sequence);
        self.time = self.time.max(header.time);
        self.id_limit = self.id_limit.max(header.id_limit);
        self.frames += 1;
    }

    /// Makes the last frames durable: they will be called synced from now on.
    fn prove(&self, disk: &dyn Disk) -> Result<(), StoreError> {
        for frames in self.unproven.chunk_by(|one, next| one.segment == next.segment) {
            let Some(first) = frames.first() else { continue };
            let file = disk.open(&file_name(first.segment))?;
            for frame in frames {
                let mut bytes = vec![0; usize::try_from(frame.bytes).unwrap_or(0)];
                let count = file.read_at(&mut bytes, frame.offset)?;
                file.write_at(bytes.get(..count).unwrap_or_default(), frame.offset)?;
            }
            file.sync()?;
        }
        Ok(())
    }
}

fn replay(
    mut payload: Bytes,
    persisted: Sequence,
    apply: &mut impl FnMut(Sequence, Record) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    while !payload.is_empty() {
        let (sequence, record) = Record::take(&mut payload)?;
        if sequence > persisted {
            apply(sequence, record)?;
        }
    }
    Ok(())
}

/// Walks the frames of one segment.
struct Walk<'a> {
    file: &'a dyn DiskFile,
    size: u64,
    segment: u64,
    salt: u64,
    position: u64,
}

impl Walk<'_> {
    /// The intact frame at the present position, or `None`.
    fn frame(&mut self) -> Result<Option<(FrameHeader, Bytes)>, StoreError> {
        let mut head = [0; HEADER_BYTES];
        if self.file.read_at(&mut head, self.position)? < HEADER_BYTES {
            return Ok(None);
        }
        let Some(header) = FrameHeader::decode(&head, self.salt).filter(|header| header.segment == self.segment) else {
            return Ok(None);
        };
        let payload_start = self.position + u64::try_from(HEADER_BYTES).unwrap_or(0);
        if payload_start.saturating_add(header.payload_bytes) > self.size {
            return Ok(None);
        }
        let mut payload = vec![0; usize::try_from(header.payload_bytes).unwrap_or(0)];
        read_exactly_at(self.file, &mut payload, payload_start)?;
        if crc64_nvme(&payload) != header.payload_crc64 {
            return Ok(None);
        }
        self.position += header.frame_bytes();
        Ok(Some((header, Bytes::from(payload))))
    }

    /// Moves on to the next place where an intact header of this segment stands. False at the end.
    fn skip_to_next_frame(&mut self) -> Result<bool, StoreError> {
        let mut window = vec![0; 1024 * 1024];
        let sector = usize::try_from(SECTOR_BYTES).unwrap_or(512);
        self.position += SECTOR_BYTES;
        while self.position < self.size {
            let count = self.file.read_at(&mut window, self.position)?;
            let read = window.get(..count).unwrap_or_default();
            for (place, offset) in read.chunks(sector).zip((self.position..).step_by(sector)) {
                if FrameHeader::decode(place, self.salt).is_some_and(|header| header.segment == self.segment) {
                    self.position = offset;
                    return Ok(true);
                }
            }
            self.position += u64::try_from(window.len()).unwrap_or(0);
        }
        Ok(false)
    }
}
