//! The records of what goes on behind the requests: shares that are deleted, how far walks over rows are, and copies.

use access::acl::StoredAccessPolicy;
use bytes::Bytes;
use store::{
    StoreError,
    record::{Reader, Writer},
};
use types::{ContentId, Inode, Timestamp, UnitId};

use crate::state::Share;

/// The newest versions.
const DELETED_SHARE: u8 = 1;
const DELETED_UNIT: u8 = 1;
const WALK: u8 = 1;
const PRUNE_MAP: u8 = 1;
const COPY: u8 = 1;
const COPY_SOURCE: u8 = 1;

/// A share that was deleted and can be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeletedShare {
    /// As it was, without its lease.
    pub(crate) share: Share,
    pub(crate) deleted: Timestamp,
    /// From then on it is gone.
    pub(crate) until: Timestamp,
    /// The days that it was to be kept.
    pub(crate) retention_days: u32,
    /// Its stored access policies.
    pub(crate) policies: Vec<StoredAccessPolicy>,
}

impl DeletedShare {
    pub(crate) fn encode(&self) -> Bytes {
        let writer = Writer::new(DELETED_SHARE)
            .bytes(&self.share.encode())
            .time(self.deleted)
            .time(self.until)
            .small(self.retention_days)
            .small(u32::try_from(self.policies.len()).unwrap_or(u32::MAX));
        let policy = |writer: Writer, policy: &StoredAccessPolicy| {
            writer
                .text(&policy.id)
                .optional(policy.start, Writer::time)
                .optional(policy.expiry, Writer::time)
                .optional(policy.permissions.as_deref(), Writer::text)
        };
        self.policies.iter().fold(writer, policy).build()
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self, StoreError> {
        let mut reader = Reader::new("the row of a deleted share", row, DELETED_SHARE)?;
        let share = Share::decode(reader.bytes()?)?;
        let (deleted, until) = (reader.time()?, reader.time()?);
        let (retention_days, count) = (reader.small()?, reader.small()?);
        let mut policies = Vec::new();
        for _ in 0..count {
            policies.push(StoredAccessPolicy {
                id: reader.string()?,
                start: reader.optional(Reader::time)?,
                expiry: reader.optional(Reader::time)?,
                permissions: reader.optional(Reader::string)?,
            });
        }
        reader.end()?;
        Ok(Self { share, deleted, until, retention_days, policies })
    }
}

/// Where a deleted share stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeletedUnit {
    pub(crate) account: UnitId,
    pub(crate) name: String,
    pub(crate) version: Timestamp,
}

impl DeletedUnit {
    pub(crate) fn encode(&self) -> Bytes {
        Writer::new(DELETED_UNIT).number(self.account.number()).text(&self.name).time(self.version).build()
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self, StoreError> {
        let mut reader = Reader::new("the place of a deleted share", row, DELETED_UNIT)?;
        let account = UnitId::new(reader.number()?);
        let record = Self { account, name: reader.string()?, version: reader.time()? };
        reader.end()?;
        Ok(record)
    }
}

/// How far a walk over rows of a share is: one kind of rows behind the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WalkRecord {
    /// Which of the kinds.
    pub(crate) stage: u8,
    /// The last key of it that was looked at.
    pub(crate) reached: Vec<u8>,
}

impl WalkRecord {
    pub(crate) fn encode(&self) -> Bytes {
        Writer::new(WALK).byte(self.stage).bytes(&self.reached).build()
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self, StoreError> {
        let mut reader = Reader::new("how far a walk over a share is", row, WALK)?;
        let record = Self { stage: reader.byte()?, reached: reader.bytes()?.to_vec() };
        reader.end()?;
        Ok(record)
    }
}

/// How far the prune of a map is. A row without a record has not begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PruneMapRecord {
    /// The offsets before this one are done.
    pub(crate) from: u64,
}

impl PruneMapRecord {
    pub(crate) fn encode(&self) -> Bytes {
        Writer::new(PRUNE_MAP).number(self.from).build()
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self, StoreError> {
        if row.is_empty() {
            return Ok(Self::default());
        }
        let mut reader = Reader::new("how far the prune of a map is", row, PRUNE_MAP)?;
        let record = Self { from: reader.number()? };
        reader.end()?;
        Ok(record)
    }
}

/// A copy into a file that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CopyJob {
    /// The account that pays for it.
    pub(crate) account: UnitId,
    pub(crate) id: String,
    pub(crate) started: Timestamp,
    /// Where the bytes are gathered. The file has it when all are there.
    pub(crate) staged: ContentId,
    pub(crate) total: u64,
    pub(crate) copied: u64,
    /// Bytes that are written there: a source may have holes.
    pub(crate) held: u64,
    pub(crate) source: CopySource,
}

/// Where a copy reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CopySource {
    /// Another server: somebody brings the bytes.
    Foreign {
        url: String,
        /// The ETag that the source must keep.
        etag: Option<String>,
    },
    /// The map of a file here, at an epoch that is kept for this copy.
    Map {
        share: UnitId,
        inode: Inode,
        content: ContentId,
        epoch: u64,
        /// What is before this offset is copied.
        next: u64,
    },
}

impl CopyJob {
    pub(crate) fn encode(&self) -> Bytes {
        let writer = Writer::new(COPY)
            .number(self.account.number())
            .text(&self.id)
            .time(self.started)
            .number(self.staged.number())
            .number(self.total)
            .number(self.copied)
            .number(self.held);
        let writer = match &self.source {
            CopySource::Foreign { url, etag } => writer.byte(0).text(url).optional(etag.as_deref(), Writer::text),
            CopySource::Map { share, inode, content, epoch, next } => writer
                .byte(1)
                .number(share.number())
                .number(inode.number())
                .number(content.number())
                .number(*epoch)
                .number(*next),
        };
        writer.build()
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self, StoreError> {
        let mut reader = Reader::new("the row of a copy", row, COPY)?;
        let job = Self {
            account: UnitId::new(reader.number()?),
            id: reader.string()?,
            started: reader.time()?,
            staged: ContentId::new(reader.number()?),
            total: reader.number()?,
            copied: reader.number()?,
            held: reader.number()?,
            source: match reader.byte()? {
                0 => CopySource::Foreign { url: reader.string()?, etag: reader.optional(Reader::string)? },
                1 => CopySource::Map {
                    share: UnitId::new(reader.number()?),
                    inode: Inode::new(reader.number()?),
                    content: ContentId::new(reader.number()?),
                    epoch: reader.number()?,
                    next: reader.number()?,
                },
                other => return Err(reader.malformed(&format!("a source of the kind {other}"))),
            },
        };
        reader.end()?;
        Ok(job)
    }
}

/// The copy that reads a state of a map: into which file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CopySourceRecord {
    pub(crate) share: UnitId,
    pub(crate) inode: Inode,
}

impl CopySourceRecord {
    pub(crate) fn encode(&self) -> Bytes {
        Writer::new(COPY_SOURCE).number(self.share.number()).number(self.inode.number()).build()
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self, StoreError> {
        let mut reader = Reader::new("what a copy reads", row, COPY_SOURCE)?;
        let record = Self { share: UnitId::new(reader.number()?), inode: Inode::new(reader.number()?) };
        reader.end()?;
        Ok(record)
    }
}
