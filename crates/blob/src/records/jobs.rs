//! The records of uploads and of work that is done later, in steps.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use store::{ChunkRef, StoreError};

use super::{decode, encode};

macro_rules! stored {
    ($($name:ident $what:literal $format:literal)*) => {
        $(impl $name {
            pub(crate) fn encode(&self) -> Result<Bytes, StoreError> {
                encode($format, self)
            }

            pub(crate) fn decode(row: &[u8]) -> Result<Self, StoreError> {
                decode($what, $format, row)
            }
        })*
    };
}

stored! {
    Upload "an upload" 1
    BlockRecord "a block" 1
    DroppedUpload "a dropped upload" 1
    PruneRecord "a prune" 1
    AdoptionRecord "an adoption" 1
    PlaceRecord "a place" 1
    SweepRecord "a sweep" 1
    CopyJob "a copy" 1
}

/// A run of uncommitted blocks of one blob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Upload {
    pub(crate) container: u64,
    pub(crate) blob: String,
    pub(crate) count: u32,
    /// Bytes of every block id.
    pub(crate) id_length: u8,
    /// Raised by every Put Block.
    pub(crate) changes: u64,
    pub(crate) last_staged: u64,
    /// The time of its row among the deadlines.
    pub(crate) deadline: u64,
}

/// An uncommitted block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BlockRecord {
    chunk: [u8; ChunkRef::ENCODED_BYTES],
    /// The place among the changes of its upload: blocks are listed in this order.
    pub(crate) order: u64,
}

impl BlockRecord {
    pub(crate) fn new(chunk: ChunkRef, order: u64) -> Self {
        Self { chunk: chunk.encode(), order }
    }

    pub(crate) fn chunk(&self) -> ChunkRef {
        ChunkRef::decode(&self.chunk)
    }
}

/// An upload whose rows are being removed, with the manifest that took some of its blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DroppedUpload {
    manifest: Option<[u8; ChunkRef::ENCODED_BYTES]>,
}

impl DroppedUpload {
    pub(crate) fn new(manifest: Option<ChunkRef>) -> Self {
        Self { manifest: manifest.map(|chunk| chunk.encode()) }
    }

    pub(crate) fn manifest(&self) -> Option<ChunkRef> {
        self.manifest.as_ref().map(ChunkRef::decode)
    }
}

/// A map that is being pruned, and the blob it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PruneRecord {
    pub(crate) container: u64,
    pub(crate) blob: String,
    pub(crate) from: u64,
}

/// A content that takes over blocks, listed in its manifest, from the record `next` on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AdoptionRecord {
    manifest: [u8; ChunkRef::ENCODED_BYTES],
    pub(crate) next: u64,
}

impl AdoptionRecord {
    pub(crate) fn new(manifest: ChunkRef, next: u64) -> Self {
        Self { manifest: manifest.encode(), next }
    }

    pub(crate) fn manifest(&self) -> ChunkRef {
        ChunkRef::decode(&self.manifest)
    }
}

/// A deleted container whose rows are being removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SweepRecord {
    pub(crate) account: u64,
    /// The last row that was removed. What is before it is graves, which a log-structured index would walk over again.
    pub(crate) reached: Vec<u8>,
}

/// One number: the content of a trim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PlaceRecord {
    pub(crate) id: u64,
}

/// A copy that has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CopyJob {
    pub(crate) account: u64,
    pub(crate) id: String,
    pub(crate) started: u64,
    /// Where the bytes are gathered. The blob points to it when all are there.
    pub(crate) staged: u64,
    pub(crate) pieces: u32,
    pub(crate) total: u64,
    pub(crate) copied: u64,
    pub(crate) source: CopySource,
}

/// Where a copy reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum CopySource {
    /// Another server, or another account: somebody brings the bytes.
    Foreign {
        /// The URL.
        url: String,
        /// The ETag that the source must keep.
        etag: Option<String>,
    },
    /// The map of a blob of this account, at an epoch that is kept for this copy.
    Map {
        container: u64,
        blob: String,
        content: u64,
        epoch: u64,
        append_blocks: u32,
        /// Rows before this offset are copied.
        next: u64,
    },
}
