//! Manifests: a committed block list as one immutable chunk of fixed-size records, found by binary search.
//!
//! Layout: a header of 16 bytes (`LZMANIF1`, the number of records as a little-endian `u64`), then one record of 112
//! bytes per block: where the block ends in the whole content (`u64`), its chunk (32 bytes), the length of its id (one
//! byte), its id padded with zeros to 64 bytes, 7 bytes of zeros.

use bytes::{BufMut, Bytes, BytesMut};

use crate::{
    chunk::{ChunkRef, ChunkSource},
    error::StoreError,
};

const MAGIC: &[u8; 8] = b"LZMANIF1";
const HEADER_BYTES: u64 = 16;
const RECORD_BYTES: usize = 112;
/// Longest block id after base64 decoding.
pub const BLOCK_ID_BYTES: usize = 64;

/// One block of a committed block list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Where the block ends in the whole content; it begins where the one before ends.
    pub end: u64,
    /// Where its bytes are.
    pub chunk: ChunkRef,
    /// Its id, at most [`BLOCK_ID_BYTES`].
    pub id: Bytes,
}

/// Encodes a manifest piece by piece, so that 50,000 blocks need no second copy in memory.
#[derive(Debug, Default)]
pub struct Encoder {
    end: u64,
}

impl Encoder {
    /// The header of a manifest with this many blocks.
    #[must_use]
    pub fn header(count: u64) -> Bytes {
        let mut header = BytesMut::with_capacity(16);
        header.put_slice(MAGIC);
        header.put_u64_le(count);
        header.freeze()
    }

    /// The record of the next block.
    ///
    /// # Errors
    /// The id is too long, or the content too large.
    pub fn block(&mut self, chunk: ChunkRef, id: &[u8]) -> Result<Bytes, StoreError> {
        let id_length = u8::try_from(id.len()).ok().filter(|_| id.len() <= BLOCK_ID_BYTES);
        let limit = BLOCK_ID_BYTES;
        let id_length = id_length.ok_or(StoreError::TooLarge { what: "a block id", actual: id.len(), limit })?;
        let end = self.end.checked_add(chunk.length);
        self.end = end.ok_or(StoreError::TooLarge { what: "a content", actual: usize::MAX, limit: usize::MAX })?;
        let mut record = BytesMut::with_capacity(RECORD_BYTES);
        record.put_u64_le(self.end);
        record.put_slice(&chunk.encode());
        record.put_u8(id_length);
        record.put_slice(id);
        record.put_bytes(0, RECORD_BYTES - record.len());
        Ok(record.freeze())
    }
}

/// A manifest open for reading.
pub struct Manifest<'a> {
    source: &'a dyn ChunkSource,
    count: u64,
}

impl<'a> Manifest<'a> {
    /// Reads the header.
    ///
    /// # Errors
    /// The chunk cannot be read or is no manifest.
    pub async fn open(source: &'a dyn ChunkSource) -> Result<Self, StoreError> {
        let header = read_exactly(source, 0, 16).await?;
        match header.strip_prefix(MAGIC).and_then(|rest| rest.first_chunk::<8>()) {
            Some(count) => Ok(Self { source, count: u64::from_le_bytes(*count) }),
            None => Err(StoreError::corrupt("a manifest without its header")),
        }
    }

    /// The number of blocks.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Up to `limit` blocks from number `first` on.
    ///
    /// # Errors
    /// The chunk cannot be read or a record is corrupt.
    pub async fn blocks(&self, first: u64, limit: usize) -> Result<Vec<Block>, StoreError> {
        let left = usize::try_from(self.count.saturating_sub(first)).unwrap_or(usize::MAX);
        let wanted = left.min(limit);
        let bytes = read_exactly(self.source, record_offset(first), wanted * RECORD_BYTES).await?;
        bytes.chunks_exact(RECORD_BYTES).map(decode).collect()
    }

    /// The number of the block that holds the byte at `offset`, or the count when the content ends before it.
    ///
    /// # Errors
    /// The chunk cannot be read.
    pub async fn find(&self, offset: u64) -> Result<u64, StoreError> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            let end = read_exactly(self.source, record_offset(middle), 8).await?;
            let end = end.first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            if end <= offset {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }
}

fn record_offset(number: u64) -> u64 {
    HEADER_BYTES + number * u64::try_from(RECORD_BYTES).unwrap_or(0)
}

pub(crate) fn decode(record: &[u8]) -> Result<Block, StoreError> {
    let corrupt = || StoreError::corrupt("a block of a manifest");
    let (end, rest) = record.split_first_chunk::<8>().ok_or_else(corrupt)?;
    let (chunk, rest) = rest.split_first_chunk::<{ ChunkRef::ENCODED_BYTES }>().ok_or_else(corrupt)?;
    let (id_length, rest) = rest.split_first().ok_or_else(corrupt)?;
    let id = rest.get(..usize::from(*id_length)).filter(|id| id.len() <= BLOCK_ID_BYTES).ok_or_else(corrupt)?;
    Ok(Block { end: u64::from_le_bytes(*end), chunk: ChunkRef::decode(chunk), id: Bytes::copy_from_slice(id) })
}

/// Reads a range that must exist whole.
///
/// # Errors
/// The chunk ends before the range does, or cannot be read.
pub async fn read_exactly(source: &dyn ChunkSource, offset: u64, length: usize) -> Result<Bytes, StoreError> {
    let first = source.read(offset, length).await?;
    if first.len() == length {
        return Ok(first);
    }
    let mut whole = BytesMut::from(&*first);
    while whole.len() < length {
        let place = offset + u64::try_from(whole.len()).unwrap_or(u64::MAX);
        let piece = source.read(place, length - whole.len()).await?;
        if piece.is_empty() {
            return Err(StoreError::corrupt("a chunk that ends too early"));
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole.freeze())
}
