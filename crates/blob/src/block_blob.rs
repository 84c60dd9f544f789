//! Block blobs written whole: Put Blob, and Put Blob From URL once its bytes are here.

use access::{Asked, Authorized, Operation, need::Need};
use bytes::Bytes;
use concurrency::{
    conditions::WriteRule,
    lease::{Lease, LeaseUse},
};
use store::{
    PendingChunk, Read, Txn,
    content::{self, Holdings},
};
use types::{ContentId, ETag, Timestamp};

use crate::{
    Blobs,
    body::{Begun, Body},
    errors::BlobError,
    keys,
    lifecycle::{self, Place},
    object::{Address, find_at, find_to_replace},
    permissions,
    preconditions::Preconditions,
    settings::Expiry,
    state::{Blob, BlobKind, Extra, HttpHeaders, Metadata, Tags},
    tags,
    tier::{self, AccessTier},
};

pub use crate::properties::Written;

/// What a new blob is made with, whatever its kind.
#[derive(Clone, Debug, Default)]
pub struct NewBlob {
    /// How it is served.
    pub headers: HttpHeaders,
    /// Its metadata.
    pub metadata: Metadata,
    /// Its tags.
    pub tags: Tags,
    /// Its access tier.
    pub tier: Option<AccessTier>,
    /// When it is gone.
    pub expiry: Option<Expiry>,
}

/// Put Blob of a block blob.
#[derive(Clone, Debug)]
pub struct PutBlob<'a> {
    /// The blob to create or replace.
    pub address: Address,
    /// What it is decided by.
    pub preconditions: Preconditions<'a>,
    /// What it is made with.
    pub new: NewBlob,
}

impl Operation for PutBlob<'_> {
    fn need(&self) -> Need<'_> {
        self.address
            .need(self.preconditions.need(permissions::with_tags(permissions::PUT_BLOB, !self.new.tags.is_empty())))
    }
}

impl Blobs {
    /// Begins Put Blob: decides early, before a body is read or fetched; `length` is that of a body that was sent. What
    /// it allows is decided again by [`Self::put_blob`].
    ///
    /// # Errors
    /// The container does not exist, a lease or condition stands against it, or the store failed.
    pub async fn begin_put_blob(
        &self,
        asked: &Asked<PutBlob<'_>>,
        length: Option<u64>,
    ) -> Result<Begun<'_>, BlobError> {
        if let Some((rows, allowed, now)) = self.allow_body(asked, length).await? {
            begin(&rows, &allowed, now).await?;
        }
        Ok(self.begun())
    }

    /// Puts a block blob, with the bytes that have come and their MD5.
    ///
    /// # Errors
    /// The container does not exist, a lease or condition stands against it, or the store failed.
    pub async fn put_blob(
        &self,
        asked: &Asked<PutBlob<'_>>,
        body: &Body,
        content_md5: Option<[u8; 16]>,
    ) -> Result<Written, BlobError> {
        let chunk = body.chunk();
        let put = |txn: Txn| async move { finish(&txn, &asked.authorize(&txn).await?, chunk, content_md5).await };
        self.on_blob(&asked.address, put).await
    }
}

async fn begin(rows: &impl Read, request: &Authorized<'_, PutBlob<'_>>, now: Timestamp) -> Result<(), BlobError> {
    let (_, blob) = find_at(rows, &request.address, now).await?;
    let may_overwrite = request.may_overwrite();
    admit_new(&request.preconditions, BlobKind::Block, LeaseUse::Write, blob.as_ref(), may_overwrite, now).map(|_| ())
}

async fn finish(
    txn: &Txn,
    request: &Authorized<'_, PutBlob<'_>>,
    body: &PendingChunk,
    content_md5: Option<[u8; 16]>,
) -> Result<Written, BlobError> {
    let (container, old) = find_to_replace(txn, &request.address).await?;
    let (preconditions, may_overwrite) = (&request.preconditions, request.may_overwrite());
    let lease = admit_new(preconditions, BlobKind::Block, LeaseUse::Write, old.as_ref(), may_overwrite, txn.now())?;
    let content = ContentId::new(txn.fresh_id());
    let chunk = body.reference();
    content::link(txn, body, content);
    let made = Made {
        kind: BlobKind::Block,
        content,
        length: chunk.length,
        holdings: if chunk.length == 0 { Holdings::Nothing } else { Holdings::Chunk(chunk) },
        lease,
    };
    let mut blob = made.blob(txn, &request.new, old.as_ref())?;
    blob.headers.content_md5 = blob.headers.content_md5.or(content_md5.map(Into::into));
    store_new(txn, request.address.place(container), &blob, old.as_ref()).await?;
    Ok(Written::of(&blob))
}

/// Decides whether a blob may be created or replaced by one of this kind; returns the lease to store with it.
pub(crate) fn admit_new(
    preconditions: &Preconditions<'_>,
    kind: BlobKind,
    usage: LeaseUse,
    old: Option<&Blob>,
    may_overwrite: bool,
    now: Timestamp,
) -> Result<Lease, BlobError> {
    let lease = preconditions.admit_change(WriteRule::CREATING, usage, old, now)?;
    match old {
        Some(old) if old.kind != kind => Err(BlobError::InvalidBlobType),
        Some(old) if !may_overwrite && old.exists(now) => Err(BlobError::UnauthorizedBlobOverwrite),
        _ => Ok(lease),
    }
}

/// The new state of a blob that is created or replaced.
pub(crate) struct Made {
    pub(crate) kind: BlobKind,
    pub(crate) content: ContentId,
    pub(crate) length: u64,
    pub(crate) holdings: Holdings,
    pub(crate) lease: Lease,
}

impl Made {
    /// The row of it. Of the one before, its creation time, its snapshots and a tier that was set stay.
    pub(crate) fn blob(self, txn: &Txn, new: &NewBlob, old: Option<&Blob>) -> Result<Blob, BlobError> {
        let now = txn.now();
        let existing = old.filter(|old| !old.extra().uncommitted);
        let mut blob = Blob {
            content: self.content,
            kind: self.kind,
            etag: ETag::next(old.map(|old| old.etag), now, self.content.number()),
            last_modified: old.map_or(now, |old| now.max(old.last_modified)),
            created: existing.map_or(now, |old| old.created),
            length: self.length,
            holdings: self.holdings,
            headers: new.headers.clone(),
            metadata: new.metadata.clone(),
            lease: self.lease,
            extra: None,
        };
        if let Some(kept) = existing.and_then(|old| old.extra.as_deref())
            && kept.last_snapshot > Timestamp::EPOCH
        {
            blob.extra = Some(Box::new(Extra {
                snapshots: kept.snapshots,
                last_snapshot: kept.last_snapshot,
                snapshots_gone_to: kept.snapshots_gone_to,
                ..Extra::default()
            }));
        }
        if let Some(tier) = tier::at_creation(new.tier, existing, (self.kind, self.length), now)? {
            blob.extra_mut().tier = Some(tier);
        }
        if let Some(expiry) = new.expiry.map(|expiry| expiry.resolve(blob.created, now)).transpose()?.flatten() {
            blob.extra_mut().expiry = Some(expiry);
        }
        if !new.tags.is_empty() {
            blob.extra_mut().tags = tags::check(new.tags.clone())?;
        }
        if blob.holdings == Holdings::Map {
            blob.extra_mut().epoch = 1;
        }
        Ok(blob)
    }
}

/// Writes the row of a blob that is created or replaced.
pub(crate) async fn store_new(txn: &Txn, place: Place<'_>, blob: &Blob, old: Option<&Blob>) -> Result<(), BlobError> {
    if let Some(old) = old {
        lifecycle::replace(txn, place, old).await?;
    }
    tags::index(txn, place, &blob.extra().tags);
    if let Some(expiry) = blob.extra().expiry {
        txn.put(keys::expiry(expiry, place.container, place.name), Bytes::new());
    }
    place.put(txn, blob);
    Ok(())
}
