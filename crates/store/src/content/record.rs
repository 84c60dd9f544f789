//! The stored records of contents and chunks.

use bytes::Bytes;
use types::ContentId;

use super::{Reader, Writer};
use crate::{chunk::ChunkRef, error::StoreError};

const CHUNK_VERSION: u8 = 1;
const HOLDINGS_VERSION: u8 = 1;

/// The row of a live chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkRecord {
    /// The content it belongs to.
    pub owner: ContentId,
    /// Its reference; the key of the row has the token of it.
    pub chunk: ChunkRef,
    /// The rows of a content map that refer to it; none for chunks outside maps.
    pub slices: Slices,
}

/// The rows of a content map that refer to one chunk. Old epochs count too, so the bytes are an upper bound of what is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slices {
    /// How many rows.
    pub rows: u64,
    /// The sum of their lengths.
    pub bytes: u64,
    /// Where in the content the chunk was first written: its rows are found from there on.
    pub offset: u64,
}

impl ChunkRecord {
    pub(crate) fn encode(&self) -> Bytes {
        let Slices { rows, bytes, offset } = self.slices;
        let writer = self.chunk.write(Writer::new(CHUNK_VERSION).number(self.owner.number()));
        writer.number(rows).number(bytes).number(offset).build()
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// The record is of an unknown version, or of another length.
    pub fn decode(record: &[u8]) -> Result<Self, StoreError> {
        let mut reader = Reader::new("a chunk's row", record, CHUNK_VERSION)?;
        let owner = ContentId::new(reader.number()?);
        let chunk = ChunkRef::read(&mut reader)?;
        let slices = Slices { rows: reader.number()?, bytes: reader.number()?, offset: reader.number()? };
        reader.end()?;
        Ok(Self { owner, chunk, slices })
    }
}

/// Where the chunks of a content are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holdings {
    /// It never had any.
    Nothing,
    /// One chunk.
    Chunk(ChunkRef),
    /// The blocks of a manifest, from this record on, and the manifest itself.
    Manifest {
        /// The chunk that lists the blocks. It is freed last.
        manifest: ChunkRef,
        /// Records before this one are freed already.
        next: u64,
    },
    /// The rows of a content map.
    Map,
}

impl Holdings {
    /// The stored form.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let writer = Writer::new(HOLDINGS_VERSION);
        match self {
            Self::Nothing => writer.byte(0).build(),
            Self::Chunk(chunk) => chunk.write(writer.byte(1)).build(),
            Self::Manifest { manifest, next } => manifest.write(writer.byte(2)).number(*next).build(),
            Self::Map => writer.byte(3).build(),
        }
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// The record is of an unknown version or kind, or of another length.
    pub fn decode(record: &[u8]) -> Result<Self, StoreError> {
        let mut reader = Reader::new("the holdings of a content", record, HOLDINGS_VERSION)?;
        let holdings = match reader.byte()? {
            0 => Self::Nothing,
            1 => Self::Chunk(ChunkRef::read(&mut reader)?),
            2 => Self::Manifest { manifest: ChunkRef::read(&mut reader)?, next: reader.number()? },
            3 => Self::Map,
            kind => return Err(StoreError::corrupt(format!("the holdings of a content have kind {kind}"))),
        };
        reader.end()?;
        Ok(holdings)
    }
}
