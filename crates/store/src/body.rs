//! Bytes on their way into a content: from the decision of a service that lets them in, through a chunk, to the operation
//! that makes them visible.
//!
//! **Invariant.** Nothing refers to them before the operation's own transaction does; what is left behind is collected.

use bytes::Bytes;

use crate::{
    chunk::{ChunkWriter, PendingChunk},
    error::StoreError,
    transact::Store,
};

/// An operation whose bytes may come.
#[derive(Clone, Copy)]
pub struct Begun<'a> {
    store: &'a Store,
}

impl<'a> Begun<'a> {
    /// Bytes may come into this store.
    #[must_use]
    pub const fn new(store: &'a Store) -> Self {
        Self { store }
    }

    /// Takes a body of this length.
    ///
    /// # Errors
    /// The disk is full, or the store does not take writes.
    pub fn writer(self, length: u64) -> Result<BodyWriter, StoreError> {
        Ok(BodyWriter(self.store.write_chunk(Some(length))?))
    }
}

/// A body that is coming.
pub struct BodyWriter(Box<dyn ChunkWriter>);

impl BodyWriter {
    /// Takes the next bytes. Waits when the disk is slower than the sender.
    ///
    /// # Errors
    /// The store failed.
    pub async fn write(&mut self, bytes: Bytes) -> Result<(), StoreError> {
        self.0.write(bytes).await
    }

    /// Ends the body.
    ///
    /// # Errors
    /// The store failed.
    pub async fn finish(self) -> Result<Body, StoreError> {
        Ok(Body(self.0.finish().await?))
    }
}

/// A body that has come.
pub struct Body(PendingChunk);

impl Body {
    /// Its bytes.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.0.reference().length
    }

    /// The CRC-64 of its bytes.
    #[must_use]
    pub const fn crc64(&self) -> u64 {
        self.0.reference().crc64
    }

    /// The chunk that holds them, not linked yet.
    #[must_use]
    pub const fn chunk(&self) -> &PendingChunk {
        &self.0
    }
}
