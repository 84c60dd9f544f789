//! Chunks: bytes by their token, written once. Their rows say which of them are live.
//!
//! A pending chunk is here but unreachable until a commit links it, and leaves with its [`store::PendingChunk`]
//! otherwise. An open source has its own hold on the bytes.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use crc_fast::{CrcAlgorithm, checksum};
use store::{
    Answer, BoxFuture, ChunkRef, ChunkToken, PendingChunk, StoreError,
    chunk::{ChunkSource, ChunkWriter},
};

use crate::Shared;

pub(crate) struct MemoryWriter {
    shared: Arc<Shared>,
    bytes: BytesMut,
}

impl MemoryWriter {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self { shared: Arc::clone(shared), bytes: BytesMut::new() }
    }
}

impl ChunkWriter for MemoryWriter {
    fn write(&mut self, bytes: Bytes) -> Answer<'_, Result<(), StoreError>> {
        self.bytes.extend_from_slice(&bytes);
        Answer::now(Ok(()))
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<PendingChunk, StoreError>> {
        let Self { shared, bytes } = *self;
        let crc64 = checksum(CrcAlgorithm::Crc64Nvme, &bytes);
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let kept = shared.state().keep(bytes.freeze());
        Box::pin(async move {
            let token = kept?;
            Ok(PendingChunk::new(ChunkRef { token, length, crc64 }, Arc::new(Hold { shared, token })))
        })
    }
}

/// Keeps a pending chunk. Dropped, it removes the chunk unless a row links it by then.
struct Hold {
    shared: Arc<Shared>,
    token: ChunkToken,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.shared.state().drop_unless_linked(self.token);
    }
}

struct MemorySource(Bytes);

/// The bytes of a chunk, verified.
pub(crate) fn source(chunk: ChunkRef, bytes: Bytes) -> Result<Box<dyn ChunkSource>, StoreError> {
    if checksum(CrcAlgorithm::Crc64Nvme, &bytes) == chunk.crc64 {
        Ok(Box::new(MemorySource(bytes)))
    } else {
        Err(StoreError::corrupt(format!("chunk {chunk} is not what was written")))
    }
}

impl ChunkSource for MemorySource {
    fn read(&self, offset: u64, length: usize) -> Answer<'_, Result<Bytes, StoreError>> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.0.len());
        let end = start.saturating_add(length).min(self.0.len());
        Answer::now(Ok(self.0.slice(start..end)))
    }
}
