//! The record of a blob or a snapshot. What most blobs do not have stands behind one option, so that a plain blob stays
//! small on disk and quick to make.

use std::borrow::Cow;

use bytes::Bytes;
use concurrency::{lease::Lease, sequence_number::SequenceNumber};
use serde::{Deserialize, Serialize};
use store::{ChunkRef, StoreError, content::Holdings, epoch::Epochs};
use types::{ContentId, ETag, Timestamp};

use super::{HttpHeaders, Metadata, Tags, decode, encode, lease};

const BLOB_FORMAT: u8 = 2;

/// A base blob, or the state of one that a snapshot keeps.
#[derive(Clone, Debug)]
pub(crate) struct Blob {
    pub(crate) content: ContentId,
    pub(crate) kind: BlobKind,
    pub(crate) etag: ETag,
    pub(crate) last_modified: Timestamp,
    pub(crate) created: Timestamp,
    pub(crate) length: u64,
    pub(crate) holdings: Holdings,
    pub(crate) headers: HttpHeaders,
    pub(crate) metadata: Metadata,
    pub(crate) lease: Lease,
    pub(crate) extra: Option<Box<Extra>>,
}

/// The three kinds of blobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BlobKind {
    /// Written whole or in blocks.
    Block,
    /// Written in pages at any place.
    Page,
    /// Written at its end.
    Append,
}

/// What most blobs do not have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Extra {
    /// True while there is nothing but uncommitted blocks: the blob does not exist for most operations.
    pub(crate) uncommitted: bool,
    /// The uncommitted blocks.
    pub(crate) upload: Option<u64>,
    /// How many snapshots the blob has.
    pub(crate) snapshots: u64,
    /// The time of the newest snapshot it ever had.
    pub(crate) last_snapshot: u64,
    /// Snapshots up to this time are gone, also while their rows are still there.
    pub(crate) snapshots_gone_to: u64,
    /// True when something besides this row may need the content.
    pub(crate) shared: bool,
    /// Map contents: what is written now belongs to this epoch; a snapshot reads at it.
    pub(crate) epoch: u64,
    /// The newest epoch that others still read.
    pub(crate) newest_shared_epoch: Option<u64>,
    /// Behind the end of the blob the map may hold what was cut off.
    pub(crate) untrimmed: bool,
    pub(crate) sequence_number: u64,
    /// Blocks of an append blob.
    pub(crate) append_blocks: u32,
    pub(crate) sealed: bool,
    pub(crate) tags: Tags,
    pub(crate) tier: Option<Tier>,
    pub(crate) copy: Option<CopyState>,
    pub(crate) expiry: Option<u64>,
}

/// The access tier that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tier {
    pub(crate) tier: crate::tier::AccessTier,
    pub(crate) changed: u64,
    pub(crate) rehydration: Option<Rehydration>,
}

/// An archived blob on its way back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rehydration {
    pub(crate) to: crate::tier::AccessTier,
    pub(crate) priority: RehydratePriority,
    /// From then on the blob has the tier.
    pub(crate) due: u64,
}

/// How soon an archived blob shall be readable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RehydratePriority {
    /// In its turn.
    #[default]
    Standard,
    /// Before others.
    High,
}

/// How a copy into a blob stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyState {
    /// Its id.
    pub id: String,
    /// The source, as the client named it.
    pub source: String,
    /// Whether it runs, or how it ended.
    pub status: CopyStatus,
    /// Why it did not succeed.
    pub description: Option<String>,
    pub(crate) progress: CopyProgress,
    pub(crate) completed: Option<u64>,
}

/// How far a copy is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CopyProgress {
    pub(crate) copied: u64,
    pub(crate) total: u64,
}

impl CopyState {
    /// Bytes that are there, and bytes in all.
    #[must_use]
    pub const fn progress(&self) -> (u64, u64) {
        (self.progress.copied, self.progress.total)
    }

    /// When it ended, however it ended.
    #[must_use]
    pub fn completed(&self) -> Option<Timestamp> {
        self.completed.map(Timestamp::from_ticks)
    }
}

/// The states of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CopyStatus {
    /// It runs.
    Pending,
    /// It is done.
    Success,
    /// Somebody ended it.
    Aborted,
    /// It could not be done.
    Failed,
}

static PLAIN: Extra = Extra {
    uncommitted: false,
    upload: None,
    snapshots: 0,
    last_snapshot: 0,
    snapshots_gone_to: 0,
    shared: false,
    epoch: 0,
    newest_shared_epoch: None,
    untrimmed: false,
    sequence_number: 0,
    append_blocks: 0,
    sealed: false,
    tags: Vec::new(),
    tier: None,
    copy: None,
    expiry: None,
};

impl Blob {
    /// What most blobs do not have.
    pub(crate) fn extra(&self) -> &Extra {
        self.extra.as_deref().unwrap_or(&PLAIN)
    }

    /// The same, to change it.
    pub(crate) fn extra_mut(&mut self) -> &mut Extra {
        self.extra.get_or_insert_default()
    }

    pub(crate) fn upload(&self) -> Option<ContentId> {
        self.extra().upload.map(ContentId::new)
    }

    /// False for the shell around uncommitted blocks, and for a blob whose time is over.
    pub(crate) fn exists(&self, now: Timestamp) -> bool {
        !self.extra().uncommitted && !self.is_expired(now)
    }

    pub(crate) fn is_expired(&self, now: Timestamp) -> bool {
        self.extra().expiry.is_some_and(|expiry| expiry <= now.ticks())
    }

    pub(crate) fn is_copying(&self) -> bool {
        self.extra().copy.as_ref().is_some_and(|copy| copy.status == CopyStatus::Pending)
    }

    pub(crate) fn epochs(&self) -> Epochs {
        let extra = self.extra();
        Epochs { current: extra.epoch, newest_snapshot: extra.newest_shared_epoch }
    }

    pub(crate) fn sequence_number(&self) -> SequenceNumber {
        SequenceNumber::new(self.extra().sequence_number).unwrap_or(SequenceNumber::MAX)
    }

    pub(crate) fn tag(&self, name: &str) -> Option<&str> {
        self.extra().tags.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The blob was written: a new ETag, and the time. Time never goes back, also not for a blob.
    pub(crate) fn touch(&mut self, now: Timestamp, salt: u64) {
        self.etag = ETag::next(Some(self.etag), now, salt);
        self.last_modified = now.max(self.last_modified);
    }
}

#[derive(Serialize, Deserialize)]
struct BlobRecord<'a> {
    content: u64,
    kind: BlobKind,
    etag: u64,
    last_modified: u64,
    created: u64,
    length: u64,
    holdings: HoldingsRecord,
    headers: Cow<'a, HttpHeaders>,
    metadata: Cow<'a, [(String, String)]>,
    lease: Cow<'a, [u8]>,
    extra: Option<Cow<'a, Extra>>,
}

#[derive(Serialize, Deserialize)]
enum HoldingsRecord {
    Nothing,
    Chunk([u8; ChunkRef::ENCODED_BYTES]),
    Manifest([u8; ChunkRef::ENCODED_BYTES]),
    Map,
}

impl From<Holdings> for HoldingsRecord {
    fn from(holdings: Holdings) -> Self {
        match holdings {
            Holdings::Nothing => Self::Nothing,
            Holdings::Chunk(chunk) => Self::Chunk(chunk.encode()),
            Holdings::Manifest { manifest, .. } => Self::Manifest(manifest.encode()),
            Holdings::Map => Self::Map,
        }
    }
}

impl From<HoldingsRecord> for Holdings {
    fn from(record: HoldingsRecord) -> Self {
        match record {
            HoldingsRecord::Nothing => Self::Nothing,
            HoldingsRecord::Chunk(chunk) => Self::Chunk(ChunkRef::decode(&chunk)),
            HoldingsRecord::Manifest(chunk) => Self::Manifest { manifest: ChunkRef::decode(&chunk), next: 0 },
            HoldingsRecord::Map => Self::Map,
        }
    }
}

impl Blob {
    pub(crate) fn encode(&self) -> Result<Bytes, StoreError> {
        let lease = self.lease.to_stored();
        encode(
            BLOB_FORMAT,
            &BlobRecord {
                content: self.content.number(),
                kind: self.kind,
                etag: self.etag.value(),
                last_modified: self.last_modified.ticks(),
                created: self.created.ticks(),
                length: self.length,
                holdings: self.holdings.into(),
                headers: Cow::Borrowed(&self.headers),
                metadata: Cow::Borrowed(&self.metadata),
                lease: Cow::Borrowed(lease.as_ref().map_or(&[], |stored| stored.as_slice())),
                extra: self.extra.as_deref().map(Cow::Borrowed),
            },
        )
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self, StoreError> {
        let record: BlobRecord<'_> = decode("a blob", BLOB_FORMAT, row)?;
        Ok(Self {
            content: ContentId::new(record.content),
            kind: record.kind,
            etag: ETag::new(record.etag),
            last_modified: Timestamp::from_ticks(record.last_modified),
            created: Timestamp::from_ticks(record.created),
            length: record.length,
            holdings: record.holdings.into(),
            headers: record.headers.into_owned(),
            metadata: record.metadata.into_owned(),
            lease: lease(&record.lease)?,
            extra: record.extra.map(|extra| Box::new(extra.into_owned())),
        })
    }
}
