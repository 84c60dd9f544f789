//! The records of uploads, of names of units, and of work that is done later, in steps.

use bytes::Bytes;
use store::{
    ChunkRef, StoreError,
    record::{Reader, Writer},
};

macro_rules! stored {
    ($($name:ident $what:literal $version:literal)*) => {
        $(impl $name {
            pub(crate) fn encode(&self) -> Bytes {
                self.write(Writer::new($version)).build()
            }

            pub(crate) fn decode(row: &[u8]) -> Result<Self, StoreError> {
                let mut reader = Reader::new($what, row, $version)?;
                let record = Self::read(&mut reader)?;
                reader.end()?;
                Ok(record)
            }
        })*
    };
}

// The newest version of each.
stored! {
    UnitRecord "the row of a container's unit" 1
    Upload "the row of an upload" 1
    BlockRecord "the row of a block" 1
    DroppedUpload "the row of a dropped upload" 1
    PruneRecord "the row of a prune" 1
    AdoptionRecord "the row of an adoption" 1
    PlaceRecord "the row of a place" 1
    SweepRecord "the row of a sweep" 1
    CopyJob "the row of a copy" 1
}

/// The account and the name of a container, found by its unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnitRecord {
    pub(crate) account: u64,
    pub(crate) name: String,
}

impl UnitRecord {
    fn write(&self, writer: Writer) -> Writer {
        writer.number(self.account).text(&self.name)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, StoreError> {
        Ok(Self { account: reader.number()?, name: reader.text()?.to_owned() })
    }
}

/// A run of uncommitted blocks of one blob.
#[derive(Clone, Debug, PartialEq, Eq)]
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

impl Upload {
    fn write(&self, writer: Writer) -> Writer {
        writer
            .number(self.container)
            .text(&self.blob)
            .small(self.count)
            .byte(self.id_length)
            .number(self.changes)
            .number(self.last_staged)
            .number(self.deadline)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            container: reader.number()?,
            blob: reader.text()?.to_owned(),
            count: reader.small()?,
            id_length: reader.byte()?,
            changes: reader.number()?,
            last_staged: reader.number()?,
            deadline: reader.number()?,
        })
    }
}

/// An uncommitted block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlockRecord {
    chunk: ChunkRef,
    /// The place among the changes of its upload: blocks are listed in this order.
    pub(crate) order: u64,
}

impl BlockRecord {
    pub(crate) const fn new(chunk: ChunkRef, order: u64) -> Self {
        Self { chunk, order }
    }

    pub(crate) const fn chunk(&self) -> ChunkRef {
        self.chunk
    }

    fn write(&self, writer: Writer) -> Writer {
        writer.raw(&self.chunk.encode()).number(self.order)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, StoreError> {
        Ok(Self { chunk: chunk(reader)?, order: reader.number()? })
    }
}

fn chunk(reader: &mut Reader<'_>) -> Result<ChunkRef, StoreError> {
    reader.take().map(|bytes| ChunkRef::decode(&bytes))
}

/// An upload whose rows are being removed, with the manifest that took some of its blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DroppedUpload {
    manifest: Option<ChunkRef>,
}

impl DroppedUpload {
    pub(crate) const fn new(manifest: Option<ChunkRef>) -> Self {
        Self { manifest }
    }

    pub(crate) const fn manifest(&self) -> Option<ChunkRef> {
        self.manifest
    }

    fn write(&self, writer: Writer) -> Writer {
        writer.optional(self.manifest, |writer, manifest| writer.raw(&manifest.encode()))
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, StoreError> {
        Ok(Self { manifest: reader.optional(chunk)? })
    }
}

/// A map that is being pruned, and the blob it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PruneRecord {
    pub(crate) container: u64,
    pub(crate) blob: String,
    pub(crate) from: u64,
}

impl PruneRecord {
    fn write(&self, writer: Writer) -> Writer {
        writer.number(self.container).text(&self.blob).number(self.from)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, StoreError> {
        Ok(Self { container: reader.number()?, blob: reader.text()?.to_owned(), from: reader.number()? })
    }
}

/// A content that takes over blocks, listed in its manifest, from the record `next` on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AdoptionRecord {
    manifest: ChunkRef,
    pub(crate) next: u64,
}

impl AdoptionRecord {
    pub(crate) const fn new(manifest: ChunkRef, next: u64) -> Self {
        Self { manifest, next }
    }

    pub(crate) const fn manifest(&self) -> ChunkRef {
        self.manifest
    }

    fn write(&self, writer: Writer) -> Writer {
        writer.raw(&self.manifest.encode()).number(self.next)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, StoreError> {
        Ok(Self { manifest: chunk(reader)?, next: reader.number()? })
    }
}

/// A deleted container whose rows are being removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SweepRecord {
    pub(crate) account: u64,
    /// The last row that was removed. What is before it is tombstones, which a log-structured index would walk over again.
    pub(crate) reached: Vec<u8>,
}

impl SweepRecord {
    fn write(&self, writer: Writer) -> Writer {
        writer.number(self.account).bytes(&self.reached)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, StoreError> {
        Ok(Self { account: reader.number()?, reached: reader.bytes()?.to_owned() })
    }
}

/// One number: the content of a trim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlaceRecord {
    pub(crate) id: u64,
}

impl PlaceRecord {
    fn write(&self, writer: Writer) -> Writer {
        writer.number(self.id)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, StoreError> {
        Ok(Self { id: reader.number()? })
    }
}

/// A copy that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
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

impl CopyJob {
    fn write(&self, writer: Writer) -> Writer {
        let writer = writer
            .number(self.account)
            .text(&self.id)
            .number(self.started)
            .number(self.staged)
            .small(self.pieces)
            .number(self.total)
            .number(self.copied);
        match &self.source {
            CopySource::Foreign { url, etag } => writer.byte(0).text(url).optional(etag.as_deref(), Writer::text),
            CopySource::Map { container, blob, content, epoch, append_blocks, next } => writer
                .byte(1)
                .number(*container)
                .text(blob)
                .number(*content)
                .number(*epoch)
                .small(*append_blocks)
                .number(*next),
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            account: reader.number()?,
            id: reader.text()?.to_owned(),
            started: reader.number()?,
            staged: reader.number()?,
            pieces: reader.small()?,
            total: reader.number()?,
            copied: reader.number()?,
            source: match reader.byte()? {
                0 => CopySource::Foreign { url: reader.text()?.to_owned(), etag: reader.optional(Reader::string)? },
                1 => CopySource::Map {
                    container: reader.number()?,
                    blob: reader.text()?.to_owned(),
                    content: reader.number()?,
                    epoch: reader.number()?,
                    append_blocks: reader.small()?,
                    next: reader.number()?,
                },
                other => return Err(reader.malformed(&format!("a source of the kind {other}"))),
            },
        })
    }
}
