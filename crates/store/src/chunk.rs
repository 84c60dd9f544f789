//! Chunks: bytes written once and never changed. A row links a chunk by its [`ChunkRef`]; a content owns it.
//!
//! A reference names the place where the chunk was first written. When the collector moves a chunk it leaves a
//! forwarding row, so references in rows, manifests and maps stay true for ever and are never rewritten.

use std::{any::Any, fmt, sync::Arc};

use bytes::Bytes;

use crate::{
    answer::{Answer, BoxFuture},
    error::StoreError,
    record::{Reader, Writer},
};

/// Names a chunk: its first place, its length, and the CRC-64/NVME of its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChunkRef {
    /// The extent it was first written to. Extents are never reused.
    pub extent: u64,
    /// Where in that extent it begins.
    pub offset: u64,
    /// How many bytes it has.
    pub length: u64,
    /// CRC-64/NVME of all of them.
    pub crc64: u64,
}

impl ChunkRef {
    /// Length of the stored form.
    pub const ENCODED_BYTES: usize = 32;

    /// The stored form, fixed width.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::ENCODED_BYTES] {
        let mut bytes = [0; Self::ENCODED_BYTES];
        let fields = [self.extent, self.offset, self.length, self.crc64];
        for (place, field) in bytes.chunks_exact_mut(8).zip(fields) {
            place.copy_from_slice(&field.to_le_bytes());
        }
        bytes
    }

    /// Reads the stored form.
    #[must_use]
    pub fn decode(bytes: &[u8; Self::ENCODED_BYTES]) -> Self {
        let mut fields = [0; 4];
        for (field, place) in fields.iter_mut().zip(bytes.chunks_exact(8)) {
            *field = place.try_into().map_or(0, u64::from_le_bytes);
        }
        let [extent, offset, length, crc64] = fields;
        Self { extent, offset, length, crc64 }
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
        write!(f, "{:x}:{:x}+{}", self.extent, self.offset, self.length)
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

/// A finished chunk that nothing links yet. It dies with this value unless a transaction links it first.
pub struct PendingChunk {
    chunk: ChunkRef,
    ride: Option<Bytes>,
    hold: Arc<dyn Any + Send + Sync>,
}

impl PendingChunk {
    /// For engines: `ride` carries the bytes of a small chunk that becomes durable with its transaction, `hold` keeps
    /// the collector away, and goes with the ride.
    #[must_use]
    pub fn new(chunk: ChunkRef, ride: Option<Bytes>, hold: Arc<dyn Any + Send + Sync>) -> Self {
        Self { chunk, ride, hold }
    }

    /// The reference to store in rows.
    #[must_use]
    pub const fn reference(&self) -> ChunkRef {
        self.chunk
    }

    pub(crate) fn ride(&self) -> Option<Ride> {
        self.ride.clone().map(|bytes| Ride { chunk: self.chunk, bytes, hold: Arc::clone(&self.hold) })
    }
}

/// A small chunk that becomes durable with the commit it rides in.
#[derive(Clone, Debug)]
pub struct Ride {
    /// Where it belongs.
    pub chunk: ChunkRef,
    /// Its bytes.
    pub bytes: Bytes,
    /// What the engine keeps for it until it is where it belongs.
    pub hold: Arc<dyn Any + Send + Sync>,
}
