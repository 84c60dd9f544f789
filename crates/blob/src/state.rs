//! What a container and a blob are while rules are applied to them. How they are stored, `records` says; how they are shown,
//! `properties`.

use concurrency::{lease::Lease, sequence_number::SequenceNumber};
use store::{content::Holdings, epoch::Epochs};
use types::{ContentId, ETag, Timestamp, UnitId};

pub use types::{CopyState, CopyStatus, HttpHeaders, Metadata};

use crate::tier::AccessTier;

/// The tags of a blob, in the order of their keys.
pub type Tags = Vec<(String, String)>;

/// A container. Who may read it without a credential stands in its access control list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Container {
    pub(crate) unit: UnitId,
    pub(crate) etag: ETag,
    pub(crate) last_modified: Timestamp,
    pub(crate) lease: Lease,
    pub(crate) metadata: Metadata,
}

/// A base blob, or the state of one that a snapshot or version keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// What most blobs do not have stands behind one option, so that a plain blob is quick to make.
    pub(crate) extra: Option<Box<Extra>>,
}

/// The three kinds of blobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlobKind {
    /// Written whole or in blocks.
    Block,
    /// Written in pages at any place.
    Page,
    /// Written at its end.
    Append,
}

/// What most blobs do not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extra {
    /// True while there is nothing but uncommitted blocks: the blob does not exist for most operations.
    pub(crate) uncommitted: bool,
    /// The uncommitted blocks.
    pub(crate) upload: Option<ContentId>,
    /// How many snapshots the blob has.
    pub(crate) snapshots: u64,
    /// The time of the newest snapshot it ever had; the epoch when it never had one.
    pub(crate) last_snapshot: Timestamp,
    /// Snapshots up to this time are gone, also while their rows are still there.
    pub(crate) snapshots_gone_to: Timestamp,
    /// True when something besides this row may need the content.
    pub(crate) shared: bool,
    /// Map contents: what is written now belongs to this epoch; a snapshot reads at it.
    pub(crate) epoch: u64,
    /// The newest epoch that others still read.
    pub(crate) newest_shared_epoch: Option<u64>,
    /// Behind the end of the blob the map may hold what was cut off.
    pub(crate) untrimmed: bool,
    pub(crate) sequence_number: SequenceNumber,
    /// Blocks of an append blob.
    pub(crate) append_blocks: u32,
    pub(crate) sealed: bool,
    pub(crate) tags: Tags,
    pub(crate) tier: Option<Tier>,
    pub(crate) copy: Option<CopyState>,
    pub(crate) expiry: Option<Timestamp>,
    /// Deleted, and kept for a while. Any part of a blob can be that; nothing makes one so yet.
    pub(crate) deleted: Option<SoftDeleted>,
}

/// The state of a part that was deleted and can still be brought back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SoftDeleted {
    pub(crate) at: Timestamp,
    /// From then on it is gone.
    pub(crate) until: Timestamp,
}

/// The access tier that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tier {
    pub(crate) tier: AccessTier,
    pub(crate) changed: Timestamp,
    pub(crate) rehydration: Option<Rehydration>,
}

/// An archived blob on its way back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rehydration {
    pub(crate) to: AccessTier,
    pub(crate) priority: RehydratePriority,
    /// From then on the blob has the tier.
    pub(crate) due: Timestamp,
}

/// How soon an archived blob shall be readable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RehydratePriority {
    /// In its turn.
    #[default]
    Standard,
    /// Before others.
    High,
}

static PLAIN: Extra = Extra {
    uncommitted: false,
    upload: None,
    snapshots: 0,
    last_snapshot: Timestamp::EPOCH,
    snapshots_gone_to: Timestamp::EPOCH,
    shared: false,
    epoch: 0,
    newest_shared_epoch: None,
    untrimmed: false,
    sequence_number: SequenceNumber::ZERO,
    append_blocks: 0,
    sealed: false,
    tags: Vec::new(),
    tier: None,
    copy: None,
    expiry: None,
    deleted: None,
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
        self.extra().upload
    }

    /// False for the shell around uncommitted blocks, for a blob whose time is over, and for one that was deleted.
    pub(crate) fn exists(&self, now: Timestamp) -> bool {
        !self.extra().uncommitted && !self.is_expired(now) && self.extra().deleted.is_none()
    }

    pub(crate) fn is_expired(&self, now: Timestamp) -> bool {
        self.extra().expiry.is_some_and(|expiry| expiry <= now)
    }

    pub(crate) fn is_copying(&self) -> bool {
        self.extra().copy.as_ref().is_some_and(|copy| copy.status == CopyStatus::Pending)
    }

    pub(crate) fn epochs(&self) -> Epochs {
        let extra = self.extra();
        Epochs { current: extra.epoch, newest_snapshot: extra.newest_shared_epoch }
    }

    pub(crate) fn sequence_number(&self) -> SequenceNumber {
        self.extra().sequence_number
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
