//! What a blob says about itself: everything that an answer about it carries.

use concurrency::{lease::LeaseProperties, sequence_number::SequenceNumber};
use types::{ETag, Timestamp};

use crate::{
    part::BlobPart,
    state::{Blob, BlobKind, CopyState, HttpHeaders, Metadata, Tags},
    tier::{self, TierProperties},
};

/// What a blob says about itself.
#[derive(Clone, Debug)]
pub struct BlobProperties {
    /// Block, page or append.
    pub kind: BlobKind,
    /// Its ETag.
    pub etag: ETag,
    /// When it last changed.
    pub last_modified: Timestamp,
    /// When it was created.
    pub created: Timestamp,
    /// Bytes of the content; of a page blob also those never written.
    pub length: u64,
    /// How it is served.
    pub headers: HttpHeaders,
    /// Its metadata.
    pub metadata: Metadata,
    /// Its lease; only the blob itself has one.
    pub lease: Option<LeaseProperties>,
    /// Whether this is the blob itself, or which of its parts.
    pub part: BlobPart,
    /// False for the shell around uncommitted blocks, which only a listing shows.
    pub committed: bool,
    /// Of page blobs.
    pub sequence_number: Option<SequenceNumber>,
    /// Blocks of append blobs.
    pub committed_block_count: Option<u32>,
    /// True for an append blob that takes no more blocks.
    pub sealed: bool,
    /// Its tags.
    pub tags: Tags,
    /// Its access tier.
    pub tier: Option<TierProperties>,
    /// The last copy into it.
    pub copy: Option<CopyState>,
    /// When it will be gone.
    pub expiry: Option<Timestamp>,
}

impl BlobProperties {
    pub(crate) fn of(blob: Blob, part: BlobPart, now: Timestamp) -> Self {
        let tier = tier::properties(&blob, now);
        let sequence_number = (blob.kind == BlobKind::Page).then(|| blob.sequence_number());
        let lease = part.is_base().then(|| blob.lease.properties(now));
        let extra = blob.extra.map(|extra| *extra).unwrap_or_default();
        Self {
            kind: blob.kind,
            etag: blob.etag,
            last_modified: blob.last_modified,
            created: blob.created,
            length: blob.length,
            headers: blob.headers,
            metadata: blob.metadata,
            lease,
            part,
            committed: !extra.uncommitted,
            sequence_number,
            committed_block_count: (blob.kind == BlobKind::Append).then_some(extra.append_blocks),
            sealed: extra.sealed,
            tags: extra.tags,
            tier,
            copy: extra.copy,
            expiry: extra.expiry,
        }
    }
}

/// What a write answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// The new ETag.
    pub etag: ETag,
    /// When it was written.
    pub last_modified: Timestamp,
}

impl Written {
    pub(crate) const fn of(blob: &Blob) -> Self {
        Self { etag: blob.etag, last_modified: blob.last_modified }
    }
}
