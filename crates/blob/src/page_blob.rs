//! Page blobs: create, Put Page, clear, and the cutting of a map that became shorter.
//!
//! **Invariant.** Behind the end of a blob nothing is visible. What a shorter length cut off may still be in the map; it
//! is removed before the blob grows over it again.

use access::{Asked, Authorized, Operation, need::Need};
use concurrency::{
    conditions::WriteRule,
    lease::{Leasable, LeaseUse},
    sequence_number::{SequenceNumber, SequenceNumberConditions},
};
use store::{
    PendingChunk, Read, Txn,
    content::{self, Holdings},
    content_map::{self, MapWriter, Slice},
};
use types::{ContentId, Timestamp, limits};

use crate::{
    Blobs,
    block_blob::{Made, NewBlob, admit_new, store_new},
    body::{Begun, Body},
    errors::{About, BlobError},
    keys,
    lifecycle::Place,
    object::{Address, find, find_at, find_to_replace},
    permissions,
    preconditions::Preconditions,
    properties::Written,
    records::PlaceRecord,
    state::{Blob, BlobKind},
};

/// Written parts that one transaction clears.
const CLEARED_AT_ONCE: usize = 8192;

/// Put Blob of a page blob: pages that are all zero.
#[derive(Clone, Debug)]
pub struct CreatePageBlob<'a> {
    /// The blob to create or replace.
    pub address: Address,
    /// What it is decided by.
    pub preconditions: Preconditions<'a>,
    /// What it is made with.
    pub new: NewBlob,
    /// Its length: whole pages.
    pub length: u64,
    /// Its sequence number.
    pub sequence_number: SequenceNumber,
}

impl Operation for CreatePageBlob<'_> {
    fn need(&self) -> Need<'_> {
        self.address
            .need(self.preconditions.need(permissions::with_tags(permissions::PUT_BLOB, !self.new.tags.is_empty())))
    }
}

impl Blobs {
    /// Creates or replaces a page blob.
    ///
    /// # Errors
    /// The length is not allowed, a lease or condition stands against it, or the store failed.
    pub async fn create_page_blob(&self, asked: &Asked<CreatePageBlob<'_>>) -> Result<Written, BlobError> {
        self.on_blob(&asked.address, |txn| async move { create(&txn, &asked.authorize(&txn).await?).await }).await
    }
}

async fn create(txn: &Txn, request: &Authorized<'_, CreatePageBlob<'_>>) -> Result<Written, BlobError> {
    check_length(request.length)?;
    let (container, old) = find_to_replace(txn, &request.address).await?;
    let (preconditions, may_overwrite) = (&request.preconditions, request.may_overwrite());
    let lease = admit_new(preconditions, BlobKind::Page, LeaseUse::Write, old.as_ref(), may_overwrite, txn.now())?;
    let made = Made {
        kind: BlobKind::Page,
        content: ContentId::new(txn.fresh_id()),
        length: request.length,
        holdings: Holdings::Map,
        lease,
    };
    let mut blob = made.blob(txn, &request.new, old.as_ref())?;
    blob.extra_mut().sequence_number = request.sequence_number;
    store_new(txn, request.address.place(container), &blob, old.as_ref()).await?;
    Ok(Written::of(&blob))
}

/// Whole pages, and not more than the largest page blob.
pub(crate) const fn check_length(length: u64) -> Result<(), BlobError> {
    if length.is_multiple_of(limits::PAGE_BYTES) && length <= limits::PAGE_BLOB_MAX_BYTES {
        Ok(())
    } else {
        Err(BlobError::InvalidPageBlobLength(length))
    }
}

/// Put Page: update, clear, and From URL once its bytes are here.
#[derive(Clone, Debug)]
pub struct PutPages<'a> {
    /// The page blob that is written.
    pub address: Address,
    /// What it is decided by.
    pub preconditions: Preconditions<'a>,
    /// The conditions on the sequence number.
    pub sequence_number: SequenceNumberConditions,
    /// Where the pages begin.
    pub start: u64,
    /// Where they end, excluded.
    pub end: u64,
}

impl Operation for PutPages<'_> {
    fn need(&self) -> Need<'_> {
        self.address.need(self.preconditions.need(permissions::PUT_PAGE))
    }
}

/// What a write of pages answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PagesWritten {
    /// The new ETag, and when.
    pub written: Written,
    /// The sequence number.
    pub sequence_number: SequenceNumber,
}

impl PutPages<'_> {
    fn admit(&self, blob: Option<&Blob>, now: Timestamp) -> Result<Blob, BlobError> {
        let lease = self.preconditions.admit_change(WriteRule::EXISTING, LeaseUse::Write, blob, now)?;
        let blob = blob.filter(|blob| blob.exists(now)).ok_or(BlobError::BlobNotFound)?;
        if blob.kind != BlobKind::Page {
            return Err(BlobError::InvalidBlobType);
        }
        let met = self.sequence_number.check(blob.sequence_number());
        met.map_err(|_| BlobError::SequenceNumberConditionNotMet)?;
        let Self { start, end, .. } = *self;
        let whole = start.is_multiple_of(limits::PAGE_BYTES) && end.is_multiple_of(limits::PAGE_BYTES);
        if !whole || start >= end || end > blob.length {
            return Err(BlobError::InvalidPageRange { start, end });
        }
        Ok(Blob { lease, ..blob.clone() })
    }
}

impl Blobs {
    /// Begins Put Page: decides early, before a body is read or fetched; `length` is that of a body that was sent. What
    /// it allows is decided again by [`Self::put_page`].
    ///
    /// # Errors
    /// As [`Self::put_page`].
    pub async fn begin_put_page(
        &self,
        asked: &Asked<PutPages<'_>>,
        length: Option<u64>,
    ) -> Result<Begun<'_>, BlobError> {
        if let Some((rows, allowed, now)) = self.allow_body(asked, length).await? {
            begin(&rows, &allowed, now).await?;
        }
        Ok(self.begun())
    }

    /// Writes pages, with the bytes that have come.
    ///
    /// # Errors
    /// The blob does not exist or is no page blob, the range is not within it, a lease or condition stands against it, or
    /// the store failed.
    pub async fn put_page(&self, asked: &Asked<PutPages<'_>>, body: &Body) -> Result<PagesWritten, BlobError> {
        let chunk = body.chunk();
        let put = |txn: Txn| async move { update(&txn, &asked.authorize(&txn).await?, chunk).await };
        self.on_blob(&asked.address, put).await
    }

    /// Clears pages. A range with very many written parts takes several transactions. Each is a write with an ETag of its
    /// own, so that no two states of the blob have the same; the conditions are those of the first. Each goes on where the
    /// one before ended, so what others write behind it stays.
    ///
    /// # Errors
    /// As [`Self::put_page`]. A lease that somebody takes between two steps ends it with what was cleared until then.
    pub async fn clear_page(&self, asked: &Asked<PutPages<'_>>) -> Result<PagesWritten, BlobError> {
        let mut begun = None;
        loop {
            let clear = |txn: Txn| async move { clear_step(&txn, &asked.authorize(&txn).await?, begun).await };
            match self.on_blob(&asked.address, clear).await? {
                ClearStep { next: None, written, .. } => return Ok(written),
                step => begun = Some(step),
            }
        }
    }
}

async fn begin(rows: &impl Read, request: &Authorized<'_, PutPages<'_>>, now: Timestamp) -> Result<(), BlobError> {
    let (_, blob) = find_at(rows, &request.address, now).await?;
    request.admit(blob.as_ref(), now).map(|_| ())
}

async fn update(
    txn: &Txn,
    request: &Authorized<'_, PutPages<'_>>,
    body: &PendingChunk,
) -> Result<PagesWritten, BlobError> {
    let (container, blob) = find(txn, &request.address).await?;
    let mut blob = request.admit(blob.as_ref(), txn.now())?;
    let (start, end, chunk) = (request.start, request.end, body.reference());
    if end - start > limits::PUT_PAGE_MAX_BYTES {
        return Err(BlobError::TooLarge(limits::PUT_PAGE_MAX_BYTES));
    }
    if chunk.length != end - start {
        return Err(BlobError::InvalidPageRange { start, end });
    }
    content::link(txn, body, blob.content);
    let mut map = MapWriter::new(txn, blob.content, blob.epochs());
    map.write(start, Slice { chunk, skip: 0, length: chunk.length }).await?;
    map.finish().await?;
    changed(txn, request.address.place(container), &mut blob)
}

fn changed(txn: &Txn, place: Place<'_>, blob: &mut Blob) -> Result<PagesWritten, BlobError> {
    blob.touch(txn.now(), txn.fresh_id());
    place.put(txn, blob);
    Ok(PagesWritten { written: Written::of(blob), sequence_number: blob.sequence_number() })
}

/// How far a clear is.
#[derive(Clone, Copy)]
struct ClearStep {
    /// Where to go on; `None` when it is done.
    next: Option<u64>,
    content: ContentId,
    written: PagesWritten,
}

async fn clear_step(
    txn: &Txn,
    request: &Authorized<'_, PutPages<'_>>,
    begun: Option<ClearStep>,
) -> Result<ClearStep, BlobError> {
    let (container, blob) = find(txn, &request.address).await?;
    let mut blob = match begun {
        None => request.admit(blob.as_ref(), txn.now())?,
        Some(begun) => match blob {
            Some(blob) if blob.content == begun.content => {
                let lease =
                    blob.lease.admit(Leasable::Blob, LeaseUse::Write, request.preconditions.lease_id, txn.now());
                Blob { lease: lease.map_err(|refusal| BlobError::Lease(About::Blob, refusal))?, ..blob }
            }
            // It was deleted or replaced meanwhile, with everything that was to be cleared.
            _ => return Ok(ClearStep { next: None, ..begun }),
        },
    };
    let start = begun.and_then(|begun| begun.next).unwrap_or(request.start);
    let next = clear_some(txn, &blob, start, request.end).await?;
    let written = changed(txn, request.address.place(container), &mut blob)?;
    Ok(ClearStep { next, content: blob.content, written })
}

/// Clears up to a number of written parts. Returns where to go on, `None` when the range is clear.
async fn clear_some(txn: &Txn, blob: &Blob, start: u64, end: u64) -> Result<Option<u64>, BlobError> {
    let epoch = blob.epochs().current;
    let (_, next) = content_map::read(txn, blob.content, epoch, (start, end), CLEARED_AT_ONCE).await?;
    let mut map = MapWriter::new(txn, blob.content, blob.epochs());
    map.clear(start, next.unwrap_or(end)).await?;
    map.finish().await?;
    Ok(next)
}

/// Cuts the map behind the blob's new end, as far as one transaction goes.
pub(crate) async fn cut(txn: &Txn, place: Place<'_>, blob: &mut Blob) -> Result<(), BlobError> {
    let done = clear_some(txn, blob, blob.length, u64::MAX).await?.is_none();
    let (key, content) = (keys::trim(place.container, place.name), blob.content.number());
    if done {
        txn.delete(key);
    } else {
        txn.put(key, PlaceRecord { id: content }.encode());
    }
    blob.extra_mut().untrimmed = !done;
    Ok(())
}

/// Goes on cutting. True when nothing is left to cut.
pub(crate) async fn trim(txn: &Txn, place: Place<'_>) -> Result<bool, BlobError> {
    let key = keys::trim(place.container, place.name);
    let row = txn.get(&place.key()).await?;
    let Some(mut blob) = row.map(|row| Blob::decode(&row)).transpose()?.filter(|blob| blob.extra().untrimmed) else {
        txn.delete(key);
        return Ok(true);
    };
    cut(txn, place, &mut blob).await?;
    place.put(txn, &blob);
    Ok(!blob.extra().untrimmed)
}

#[cfg(test)]
mod tests;
