//! The header of a frame. `docs/format.md` draws it byte by byte.

use crc_fast::crc64_nvme;
use types::Timestamp;

const MAGIC: u64 = u64::from_le_bytes(*b"LZFRAME1");
/// Frames begin at multiples of this: what a device writes whole or not at all.
pub(crate) const SECTOR_BYTES: u64 = 512;
/// Bytes before the payload.
pub(crate) const HEADER_BYTES: usize = FIELDS * 8 + 8;
const FIELDS: usize = 10;

/// What a frame says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    /// The segment it was written to: tells it from what a reused file held before.
    pub(crate) segment: u64,
    /// Frames are numbered without gaps from 1 on.
    pub(crate) number: u64,
    /// The last frame known to be synced when this one was written.
    pub(crate) synced: u64,
    /// The last sequence of all frames before this one.
    pub(crate) previous_sequence: u64,
    /// The last sequence in this frame; the previous one's when it holds no commit.
    pub(crate) last_sequence: u64,
    /// The high-water mark of server time.
    pub(crate) time: Timestamp,
    /// No id at or above this was ever given out.
    pub(crate) id_limit: u64,
    /// Bytes of the payload.
    pub(crate) payload_bytes: u64,
    /// CRC-64/NVME of the payload.
    pub(crate) payload_crc64: u64,
}

impl FrameHeader {
    /// The stored form. The salt is the store's own: bytes of a client never pass for a header.
    pub(crate) fn encode(&self, salt: u64) -> [u8; HEADER_BYTES] {
        let fields: [u64; FIELDS] = [
            MAGIC,
            self.segment,
            self.number,
            self.synced,
            self.previous_sequence,
            self.last_sequence,
            self.time.ticks(),
            self.id_limit,
            self.payload_bytes,
            self.payload_crc64,
        ];
        let mut bytes = [0; HEADER_BYTES];
        let (body, crc) = bytes.split_at_mut(FIELDS * 8);
        for (place, field) in body.chunks_exact_mut(8).zip(fields) {
            place.copy_from_slice(&field.to_le_bytes());
        }
        crc.copy_from_slice(&(crc64_nvme(body) ^ salt).to_le_bytes());
        bytes
    }

    /// Reads a header; `None` when these bytes are none, or not an intact one.
    pub(crate) fn decode(bytes: &[u8], salt: u64) -> Option<Self> {
        let bytes = bytes.first_chunk::<HEADER_BYTES>()?;
        let (body, crc) = bytes.split_at(FIELDS * 8);
        let mut fields = [0; FIELDS];
        for (field, place) in fields.iter_mut().zip(body.chunks_exact(8)) {
            *field = u64::from_le_bytes(place.try_into().ok()?);
        }
        let [
            magic,
            segment,
            number,
            synced,
            previous_sequence,
            last_sequence,
            time,
            id_limit,
            payload_bytes,
            payload_crc64,
        ] = fields;
        if magic != MAGIC || crc != (crc64_nvme(body) ^ salt).to_le_bytes() {
            return None;
        }
        let time = Timestamp::from_ticks(time);
        Some(Self {
            segment,
            number,
            synced,
            previous_sequence,
            last_sequence,
            time,
            id_limit,
            payload_bytes,
            payload_crc64,
        })
    }

    /// Bytes the frame takes in its segment, padding included.
    pub(crate) fn frame_bytes(&self) -> u64 {
        frame_bytes(self.payload_bytes)
    }
}

pub(crate) fn frame_bytes(payload_bytes: u64) -> u64 {
    let header = u64::try_from(HEADER_BYTES).unwrap_or(u64::MAX);
    header.saturating_add(payload_bytes).div_ceil(SECTOR_BYTES).saturating_mul(SECTOR_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_back_and_no_flipped_bit_passes() {
        let header = FrameHeader {
            segment: 1,
            number: 2,
            synced: 3,
            previous_sequence: 4,
            last_sequence: 5,
            time: Timestamp::from_ticks(6),
            id_limit: 7,
            payload_bytes: 8,
            payload_crc64: 9,
        };
        let bytes = header.encode(77);
        assert_eq!(FrameHeader::decode(&bytes, 77), Some(header));
        for bit in 0..HEADER_BYTES * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(FrameHeader::decode(&flipped, 77), None, "bit {bit}");
        }
        assert_eq!(FrameHeader::decode(&bytes[..HEADER_BYTES - 1], 77), None);
        assert_eq!(FrameHeader::decode(&bytes, 78), None, "another store's");
    }
}
