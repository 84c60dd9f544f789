//! Writing a chunk of any length: small ones wait in memory and stand inline in the log, larger ones are streamed to an extent,
//! one buffer being filled while another is written, and synced at the end.

use std::{
    io,
    sync::{Arc, atomic::Ordering},
};

use bytes::{Bytes, BytesMut};
use crc_fast::{CrcAlgorithm, Digest};
use store::{Answer, BoxFuture, ChunkRef, ChunkToken, PendingChunk, StoreError, chunk::ChunkWriter};

use super::{
    aligned::Aligned,
    file::Hold,
    format::{BLOCK_BYTES, INLINE_BYTES, Place, STORED_BLOCK_BYTES},
    small::{Attached, Written},
    table::Taken,
};
use crate::{
    disk::{PAGE_BYTES, is_exhausted, opened},
    io_pool::Running,
    options::Durability,
    shared::Shared,
};

/// Blocks written at once.
const WRITE_BYTES: usize = 16 * STORED_BLOCK_BYTES;
/// With what a write of whole pages leaves for the next one.
const BUFFER_BYTES: usize = (WRITE_BYTES + PAGE_BYTES).next_multiple_of(PAGE_BYTES);
/// Bytes after which a sync is begun while the stream goes on, so that the last one has little left to do.
const SYNC_BYTES: u64 = 32 * 1024 * 1024;

pub(crate) struct StreamWriter {
    shared: Arc<Shared>,
    /// Data so far of a small chunk; empty once the chunk is streamed. One piece is kept as it came.
    small: BytesMut,
    first: Option<Bytes>,
    streamed: Option<Streamed>,
    digest: Digest,
    length: u64,
}

/// The part of a writer that has an extent to itself.
struct Streamed {
    hold: Hold,
    /// `None` once an unfinished chunk is being cut off.
    taken: Option<Taken>,
    shared: Arc<Shared>,
    start: u64,
    /// Where the buffer begins in the extent: the whole pages before it are written or being written.
    position: u64,
    buffer: Aligned,
    /// Data bytes of the last, unfinished block in the buffer.
    block_fill: usize,
    writing: Option<Running<Result<Aligned, StoreError>>>,
    syncing: Option<Running<Result<(), StoreError>>>,
    unsynced: u64,
    finished: bool,
}

impl StreamWriter {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let streamed = None;
        let (small, first) = (BytesMut::new(), None);
        Self { shared, small, first, streamed, digest: Digest::new(CrcAlgorithm::Crc64Nvme), length: 0 }
    }

    async fn stream(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let streamed = match &mut self.streamed {
            Some(streamed) => streamed,
            None => {
                let mut streamed = Streamed::begin(&self.shared).await?;
                streamed.append(&self.first.take().unwrap_or_default()).await?;
                streamed.append(&std::mem::take(&mut self.small)).await?;
                self.streamed.insert(streamed)
            }
        };
        streamed.append(bytes).await
    }

    /// Ends the chunk.
    pub(crate) async fn end(mut self) -> Result<Written, StoreError> {
        let crc64 = self.digest.finalize();
        if let Some(streamed) = self.streamed.take() {
            return streamed.finish(self.length, crc64).await;
        }
        let data = match self.first.take() {
            Some(first) if self.small.is_empty() => first,
            first => {
                let mut whole = BytesMut::from(&*first.unwrap_or_default());
                whole.extend_from_slice(&self.small);
                whole.freeze()
            }
        };
        let place = || self.shared.extents.place_small(data.clone(), crc64);
        self.shared.retrying(place).await.map_err(|error| self.shared.full_or(error))
    }

    async fn end_pending(self) -> Result<PendingChunk, StoreError> {
        if self.length == 0 {
            // It has no place, so its token says nothing.
            let token = ChunkToken::new([0; ChunkToken::BYTES]);
            let empty = ChunkRef { token, length: 0, crc64: self.digest.finalize() };
            return Ok(PendingChunk::new(empty, Arc::new(())));
        }
        let written = self.end().await?;
        Ok(PendingChunk::new(written.reference(), written.attached))
    }
}

impl ChunkWriter for StreamWriter {
    fn write(&mut self, bytes: Bytes) -> Answer<'_, Result<(), StoreError>> {
        self.digest.update(&bytes);
        self.length += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if self.streamed.is_none() && self.length <= u64::try_from(INLINE_BYTES).unwrap_or(0) {
            if self.first.is_none() {
                self.first = Some(bytes);
            } else {
                self.small.extend_from_slice(&bytes);
            }
            return Answer::now(Ok(()));
        }
        Answer::Later(Box::pin(async move { self.stream(&bytes).await }))
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<PendingChunk, StoreError>> {
        Box::pin(self.end_pending())
    }
}

impl Streamed {
    async fn begin(shared: &Arc<Shared>) -> Result<Self, StoreError> {
        let sync = shared.options.durability == Durability::Sync;
        let mut taken = Self::take(shared, sync).await;
        if let Err(StoreError::Exhausted(_)) = taken {
            // Until the system has a handle for it; the disk is asked again on a thread that may wait for it.
            shared.retrying(|| shared.extents.prepare()).await?;
            taken = Self::take(shared, sync).await;
        }
        let taken = taken?;
        // Every chunk begins with a page, so that whole pages are written.
        let page = u64::try_from(PAGE_BYTES).unwrap_or(1);
        let start = taken.extent.end.load(Ordering::Relaxed).next_multiple_of(page);
        Ok(Self {
            hold: Hold::new(&taken.extent),
            taken: Some(taken),
            shared: Arc::clone(shared),
            start,
            position: start,
            buffer: Aligned::with_capacity(BUFFER_BYTES),
            block_fill: 0,
            writing: None,
            syncing: None,
            unsynced: 0,
            finished: false,
        })
    }

    /// An extent whose name is durable.
    async fn take(shared: &Arc<Shared>, sync: bool) -> Result<Taken, StoreError> {
        let extents = Arc::clone(&shared.extents);
        let taking = shared.pool.run(move || {
            let taken = extents.take()?;
            let synced = if sync { extents.sync_directory() } else { Ok(()) };
            Ok((taken, synced))
        });
        let (taken, synced): (Taken, io::Result<()>) = taking.wait().await?.map_err(|error| shared.full_or(error))?;
        match synced {
            Ok(()) => Ok(taken),
            Err(error) if is_exhausted(&error) => Err(opened(error)),
            // After a failed sync nobody knows whether the extent's name will be there.
            Err(error) => Err(shared.poison(&StoreError::from(error))),
        }
    }

    async fn append(&mut self, mut bytes: &[u8]) -> Result<(), StoreError> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK_BYTES - self.block_fill));
            self.buffer.extend(now);
            self.block_fill += now.len();
            bytes = later;
            if self.block_fill == BLOCK_BYTES {
                self.end_block();
                if self.buffer.len() >= WRITE_BYTES {
                    self.write_buffer().await?;
                }
            }
        }
        Ok(())
    }

    fn end_block(&mut self) {
        let start = self.buffer.len() - self.block_fill;
        let offset = self.position + u64::try_from(start).unwrap_or(u64::MAX);
        let block = self.buffer.bytes().get(start..).unwrap_or_default();
        let checksum = Place { extent: self.hold.extent.id, offset }.checksum(block);
        self.buffer.extend(&checksum);
        self.block_fill = 0;
    }

    /// Hands the whole pages of the buffer to the disk and takes the one that was written before.
    async fn write_buffer(&mut self) -> Result<(), StoreError> {
        let mut next = self.written().await?;
        let (pages, rest) = self.buffer.pages();
        next.extend(rest);
        let bytes = u64::try_from(pages.len()).unwrap_or(u64::MAX);
        let full = std::mem::replace(&mut self.buffer, next);
        let (file, at) = (Arc::clone(&self.hold.extent.file), self.position);
        self.position += bytes;
        self.unsynced += bytes;
        // What is made durable goes straight to the device, which has to have it anyway; what is not, into memory.
        let direct = self.shared.options.durability == Durability::Sync;
        self.writing = Some(self.shared.pool.run(move || {
            let (pages, _) = full.pages();
            if direct {
                file.write_direct_at(pages, at)?
            } else {
                file.write_at(pages, at)?
            }
            Ok(full)
        }));
        if self.unsynced >= SYNC_BYTES && self.shared.options.durability == Durability::Sync {
            self.synced().await?;
            self.unsynced = 0;
            let file = Arc::clone(&self.hold.extent.file);
            self.syncing = Some(self.shared.pool.run(move || Ok(file.sync()?)));
        }
        Ok(())
    }

    /// Waits for the write under way. Returns an empty buffer.
    async fn written(&mut self) -> Result<Aligned, StoreError> {
        let Some(writing) = &mut self.writing else { return Ok(Aligned::with_capacity(BUFFER_BYTES)) };
        let written = writing.wait_here().await;
        // Only now: when the caller goes away while it waits, the place must not be used again before the write is over.
        self.writing = None;
        let mut buffer = written?.map_err(|error| self.shared.full_or(error))?;
        buffer.clear();
        Ok(buffer)
    }

    async fn synced(&mut self) -> Result<(), StoreError> {
        match self.syncing.take() {
            Some(syncing) => syncing.wait().await?.map_err(|error| self.shared.poison(&error)),
            None => Ok(()),
        }
    }

    async fn finish(mut self, length: u64, crc64: u64) -> Result<Written, StoreError> {
        if self.block_fill > 0 {
            self.end_block();
        }
        self.buffer.pad();
        self.write_buffer().await?;
        self.written().await?;
        self.synced().await?;
        let extent = Arc::clone(&self.hold.extent);
        if self.shared.options.durability == Durability::Sync {
            let file = Arc::clone(&extent.file);
            let syncing = self.shared.pool.run(move || file.sync());
            syncing.wait().await?.map_err(|error| self.shared.poison(&StoreError::from(error)))?;
        } else {
            self.shared.extents.note_unsynced(&extent);
        }
        extent.end.store(self.position, Ordering::Relaxed);
        self.finished = true;
        let place = Place { extent: extent.id, offset: self.start };
        let attached = Arc::new(Attached { inline: None, _hold: Hold::new(&extent) });
        Ok(Written { place, length, crc64, attached })
    }
}

impl Drop for Streamed {
    /// An unfinished chunk leaves no bytes behind: what it wrote is cut off before the extent is used again.
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        let (extent, taken) = (Arc::clone(&self.hold.extent), self.taken.take());
        let (writing, syncing, start) = (self.writing.take(), self.syncing.take(), self.start);
        let cut = move || {
            // The pool runs jobs in order of arrival on several threads: wait for what is still being written.
            drop((writing.map(Running::block), syncing.map(Running::block)));
            if let Err(error) = extent.file.set_length(start) {
                tracing::warn!(extent = extent.id, %error, "the space of an unfinished chunk was not given back");
            }
            drop(taken);
        };
        drop(self.shared.pool.run(cut));
    }
}
