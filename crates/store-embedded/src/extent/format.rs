//! The layout of an extent: a header of one sector, then chunks, each a run of blocks. `docs/format.md` draws it.

use std::fmt;

use crc_fast::crc64_nvme;
use store::{ChunkToken, StoreError};

use super::DIRECTORY;

/// Data bytes of a full block; the last block of a chunk is shorter.
pub(crate) const BLOCK_BYTES: usize = 64 * 1024;
pub(crate) const CHECKSUM_BYTES: usize = 8;
/// A block with its checksum.
pub(crate) const STORED_BLOCK_BYTES: usize = BLOCK_BYTES + CHECKSUM_BYTES;
/// Chunks up to this stand inline in the log.
pub(crate) const INLINE_BYTES: usize = BLOCK_BYTES;
/// Bytes before the first chunk.
pub(crate) const HEADER_BYTES: u64 = 512;
const MAGIC: &[u8; 8] = b"LZEXTNT1";

pub(crate) fn file_name(id: u64) -> String {
    format!("{DIRECTORY}/{id:016x}.ext")
}

pub(crate) fn parse_name(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".ext").filter(|digits| digits.len() == 16)?;
    u64::from_str_radix(digits, 16).ok()
}

/// The header: magic, id, CRC-64 of both, zeros.
pub(crate) fn header(id: u64) -> [u8; 512] {
    let mut header = [0; 512];
    let mut fields = [0; 16];
    for (place, byte) in fields.iter_mut().zip(MAGIC.iter().copied().chain(id.to_le_bytes())) {
        *place = byte;
    }
    let crc = crc64_nvme(&fields).to_le_bytes();
    for (place, byte) in header.iter_mut().zip(fields.into_iter().chain(crc)) {
        *place = byte;
    }
    header
}

/// Bytes that `length` data bytes take as blocks, each with its checksum.
pub(crate) fn stored_bytes(length: u64) -> u64 {
    let (block, checksum) = (widened(BLOCK_BYTES), widened(CHECKSUM_BYTES));
    length.saturating_add(length.div_ceil(block).saturating_mul(checksum))
}

fn widened(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// Where a chunk or one of its blocks stands: its extent, and its offset in it. The place is part of a block's checksum, so
/// that one which was written or read at the wrong place is found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) extent: u64,
    pub(crate) offset: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {} of {}", self.offset, file_name(self.extent))
    }
}

impl Place {
    /// The place where the chunk of a token was first written. Big-endian, so that the chunks of an extent are neighbours
    /// among the rows of all chunks.
    pub(crate) fn of(token: ChunkToken) -> Self {
        let (extent, offset) = token.bytes().split_first_chunk().unwrap_or((&[0; 8], &[]));
        let offset = offset.first_chunk().map_or(0, |offset| u64::from_be_bytes(*offset));
        Self { extent: u64::from_be_bytes(*extent), offset }
    }

    /// The token of the chunk that is first written here. Extents are never used again, so there is no other.
    pub(crate) fn token(self) -> ChunkToken {
        let both = u128::from(self.extent) << 64 | u128::from(self.offset);
        ChunkToken::new(both.to_be_bytes())
    }

    /// The checksum of a block at this place.
    pub(crate) fn checksum(self, block: &[u8]) -> [u8; CHECKSUM_BYTES] {
        self.checksum_of(crc64_nvme(block))
    }

    /// The same, of a block whose CRC-64 is known.
    pub(crate) fn checksum_of(self, crc64: u64) -> [u8; CHECKSUM_BYTES] {
        let mixed = self.extent.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ self.offset.wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (crc64 ^ mixed).to_le_bytes()
    }

    pub(crate) fn after(self, bytes: usize) -> Self {
        Self { offset: self.offset + widened(bytes), ..self }
    }
}

/// Appends the blocks of a chunk that begins at this place. The CRC-64 is that of all data.
pub(crate) fn put_blocks(place: Place, data: &[u8], crc64: u64, stored: &mut Vec<u8>) {
    if data.len() <= BLOCK_BYTES {
        stored.extend_from_slice(data);
        stored.extend_from_slice(&place.checksum_of(crc64));
        return;
    }
    let mut place = place;
    for block in data.chunks(BLOCK_BYTES) {
        stored.extend_from_slice(block);
        stored.extend_from_slice(&place.checksum(block));
        place = place.after(block.len() + CHECKSUM_BYTES);
    }
}

/// The place of a block: its number, where it is in the chunk's stored bytes, and how many data bytes it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockPlace {
    pub(crate) number: u64,
    pub(crate) stored_offset: u64,
    pub(crate) data_bytes: usize,
}

/// The block of a chunk that holds the data byte at `offset`; `None` at or behind the end.
pub(crate) fn block_at(chunk_bytes: u64, offset: u64) -> Option<BlockPlace> {
    let left = chunk_bytes.checked_sub(offset).filter(|left| *left > 0)?;
    let block_bytes = widened(BLOCK_BYTES);
    let number = offset / block_bytes;
    let data_bytes = (left + offset % block_bytes).min(block_bytes);
    Some(BlockPlace {
        number,
        stored_offset: stored_bytes(number * block_bytes),
        data_bytes: usize::try_from(data_bytes).ok()?,
    })
}

/// Checks a stored block and returns how many of its bytes are data.
pub(crate) fn verify(place: Place, stored: &[u8]) -> Result<usize, ()> {
    let (data, checksum) = stored.split_last_chunk::<CHECKSUM_BYTES>().ok_or(())?;
    if place.checksum(data) == *checksum { Ok(data.len()) } else { Err(()) }
}

pub(crate) fn damaged(id: u64, offset: u64, block: u64) -> StoreError {
    StoreError::corrupt(format!("{} at byte {offset}: block {block} of the chunk fails its checksum", file_name(id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_the_first_place_and_sorts_like_it() {
        let places = [(0, 0), (0, 512), (1, 0), (1, 255), (1, 256), (256, 0), (u64::MAX, u64::MAX)];
        let places = places.map(|(extent, offset)| Place { extent, offset });
        assert!(places.is_sorted_by_key(|place| place.token()));
        assert_eq!(places.map(|place| Place::of(place.token())), places);
    }

    #[test]
    fn every_byte_is_in_exactly_one_block() {
        let length = 3 * 65_536 + 5;
        let chunk = Place { extent: 9, offset: 512 };
        let (data, mut stored) = (vec![7; 3 * 65_536 + 5], Vec::new());
        put_blocks(chunk, &data, crc64_nvme(&data), &mut stored);
        assert_eq!(u64::try_from(stored.len()).unwrap(), stored_bytes(length));
        for offset in [0, 1, 65_535, 65_536, 131_072, 196_608, 196_612] {
            let block = block_at(length, offset).unwrap();
            let start = usize::try_from(block.stored_offset).unwrap();
            let bytes = &stored[start..start + block.data_bytes + 8];
            let place = chunk.after(start);
            assert_eq!(verify(place, bytes), Ok(block.data_bytes), "{offset}");
            assert_eq!(verify(place.after(512), bytes), Err(()), "at another offset");
            assert_eq!(verify(Place { extent: 10, ..place }, bytes), Err(()), "in another extent");
            assert_eq!(block.number, offset / 65_536);
        }
        let (data, mut stored) = (vec![8; 700], Vec::new());
        put_blocks(chunk, &data, crc64_nvme(&data), &mut stored);
        assert_eq!(verify(chunk, &stored), Ok(700), "one block");
        assert_eq!(block_at(length, length), None);
        assert_eq!(block_at(0, 0), None);
    }
}
