//! Chunks: bytes written once and never changed. A row links a chunk by its [`ChunkRef`]; a content owns it.
//!
//! A reference holds a token that the engine made. What it means is the engine's own affair: nothing above it looks inside,
//! and it stays the name of the chunk for as long as the chunk lives, wherever the engine keeps the bytes meanwhile.

use std::{any::Any, fmt, sync::Arc};

use bytes::Bytes;

use crate::{
    answer::{Answer, BoxFuture},
    error::StoreError,
    record::{Reader, Writer},
};

/// What an engine calls a chunk: made and understood by the engine alone, never given out twice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChunkToken([u8; Self::BYTES]);

impl ChunkToken {
    /// How long every token is.
    pub const BYTES: usize = 16;

    /// A token of these bytes. For engines.
    #[must_use]
    pub const fn new(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    /// Its bytes. Rows of chunks stand in their order.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }
}

impl fmt::Display for ChunkToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for ChunkToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChunkToken({self})")
    }
}

/// Names a chunk: the engine's token, its length, and the CRC-64/NVME of its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChunkRef {
    /// What the engine calls it. Says nothing for the empty chunk, which needs no bytes to be found.
    pub token: ChunkToken,
    /// How many bytes it has.
    pub length: u64,
    /// CRC-64/NVME of all of them.
    pub crc64: u64,
}

impl ChunkRef {
    /// Length of the stored form.
    pub const ENCODED_BYTES: usize = ChunkToken::BYTES + 16;

    /// The stored form, fixed width: token, length, checksum; the numbers little-endian.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::ENCODED_BYTES] {
        let mut bytes = [0; Self::ENCODED_BYTES];
        let fields = [self.length.to_le_bytes(), self.crc64.to_le_bytes()];
        for (place, byte) in bytes.iter_mut().zip(self.token.0.iter().chain(fields.as_flattened())) {
            *place = *byte;
        }
        bytes
    }

    /// Reads the stored form.
    #[must_use]
    pub fn decode(bytes: &[u8; Self::ENCODED_BYTES]) -> Self {
        let (token, numbers) = bytes.split_first_chunk().unwrap_or((&[0; ChunkToken::BYTES], &[]));
        let mut fields = numbers.chunks_exact(8).filter_map(|field| field.try_into().ok().map(u64::from_le_bytes));
        let mut next = || fields.next().unwrap_or_default();
        Self { token: ChunkToken(*token), length: next(), crc64: next() }
    }

    pub(crate) fn write(&self, writer: Writer) -> Writer {
        writer.raw(&self.encode())
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, StoreError> {
        reader.take().map(|bytes| Self::decode(&bytes))
    }
}

impl fmt::Display for ChunkRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.token, self.length)
    }
}

impl fmt::Debug for ChunkRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChunkRef({self})")
    }
}

/// A chunk being written. Dropping it unfinished gives its space back.
pub trait ChunkWriter: Send {
    /// Appends bytes. Waits when the disk is slower than the sender, so memory does not grow.
    fn write(&mut self, bytes: Bytes) -> Answer<'_, Result<(), StoreError>>;

    /// Ends the chunk. When this answers, its bytes are durable, or will be with the transaction that links it.
    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<PendingChunk, StoreError>>;
}

/// A chunk open for reading.
pub trait ChunkSource: Send + Sync {
    /// Up to `length` bytes from `offset`, verified. Shorter only at the end of the chunk or when the engine prefers
    /// smaller pieces; empty only at the end.
    fn read(&self, offset: u64, length: usize) -> Answer<'_, Result<Bytes, StoreError>>;
}

/// What an engine keeps for a chunk that is not linked yet: its own, opaque to everybody else.
pub type Attachment = Arc<dyn Any + Send + Sync>;

/// A finished chunk that nothing links yet. It dies with this value unless a transaction links it first.
pub struct PendingChunk {
    chunk: ChunkRef,
    attachment: Attachment,
}

impl PendingChunk {
    /// For engines: the attachment keeps the chunk until it is linked, and comes back with the commit that links it.
    #[must_use]
    pub fn new(chunk: ChunkRef, attachment: Attachment) -> Self {
        Self { chunk, attachment }
    }

    /// The reference to store in rows.
    #[must_use]
    pub const fn reference(&self) -> ChunkRef {
        self.chunk
    }

    pub(crate) fn linked(&self) -> LinkedChunk {
        LinkedChunk { chunk: self.chunk, attachment: Arc::clone(&self.attachment) }
    }
}

/// A chunk that a commit makes live.
#[derive(Clone, Debug)]
pub struct LinkedChunk {
    /// Its name, as rows have it.
    pub chunk: ChunkRef,
    /// What the engine gave its [`PendingChunk`].
    pub attachment: Attachment,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_comes_back_and_stands_in_the_order_of_its_token() {
        let token = ChunkToken::new(*b"0123456789abcdef");
        let chunk = ChunkRef { token, length: 0x0102, crc64: u64::MAX - 1 };
        let encoded = chunk.encode();
        assert_eq!(ChunkRef::decode(&encoded), chunk);
        assert_eq!(&encoded[..16], b"0123456789abcdef");
        assert_eq!(encoded[16..24], [2, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(chunk.to_string(), "30313233343536373839616263646566+258");
    }
}
