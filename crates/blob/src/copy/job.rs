//! Pending copies: rows that say what is copied into which blob and how far it is.
//!
//! The bytes of a foreign source are brought by somebody who knows networks, piece by piece; a large map of this account
//! is copied by the background. Both gather under an id that nothing points to. The end of the copy is one transaction.

use access::{Asked, Authorized, Operation, need::Need};
use bytes::Bytes;
use concurrency::lease::{Leasable, LeaseId, LeaseUse};
use jobs::{Job, Progress};
use store::{
    Direction, PendingChunk, Read, Scope, Store, Txn,
    content::{self, Holdings},
    content_map::{self, MapWriter, Slice},
};
use types::{ContentId, Timestamp, UnitId, limits};

use super::{Copied, CopiedCrc64, CopyBlob, CopyMode, FIRST_EPOCH, admit};
use crate::{
    Blobs,
    block_blob::{Made, NewBlob, store_new},
    body::{Body, BodyWriter},
    errors::{About, BlobError},
    keys,
    lifecycle::{self, Place},
    object::{Address, find, find_to_replace},
    page_blob, permissions,
    properties::Written,
    records::{CopyJob, CopySource},
    sharing,
    state::{Blob, BlobKind, CopyStatus, HttpHeaders, Metadata, Tags},
};

/// Rows of a map copied in one step.
const STEP: usize = 4096;
/// Copies that go on in one step, and rows of copies that a step looks at.
const AT_ONCE: usize = 256;
const LOOKED_AT: usize = 1024;

/// What is known of a source elsewhere before its bytes are fetched.
#[derive(Clone, Debug)]
pub struct ForeignSource {
    /// Where the bytes are, with whatever it takes to get them.
    pub url: String,
    /// The ETag that the source must keep.
    pub etag: Option<String>,
    /// What it will be here.
    pub kind: BlobKind,
    /// How long the source says it is; the copy fails if it turns out otherwise.
    pub length: u64,
    /// Its HTTP properties.
    pub headers: HttpHeaders,
    /// Its metadata.
    pub metadata: Metadata,
    /// Its tags, as far as they were asked for.
    pub tags: Tags,
    /// True for an append blob that takes no more blocks.
    pub sealed: bool,
}

/// A copy of a foreign source that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingCopy {
    /// The account that pays for it: copies take turns by account.
    pub account: UnitId,
    /// The container of the destination.
    pub container: UnitId,
    /// The name of the destination.
    pub blob: String,
    /// The id of the copy.
    pub copy_id: String,
    /// Where the bytes are.
    pub url: String,
    /// The ETag that the source must keep.
    pub etag: Option<String>,
    /// When it began.
    pub started: Timestamp,
    /// Bytes that are here: go on from there.
    pub copied: u64,
    /// Bytes in all.
    pub total: u64,
}

impl PendingCopy {
    fn place(&self) -> Place<'_> {
        Place { account: self.account, container: self.container, name: &self.blob }
    }

    /// The copy of this row; `None` when it is not a foreign one.
    fn of(key: &[u8], job: CopyJob) -> Result<Option<Self>, BlobError> {
        let CopySource::Foreign { url, etag } = job.source else { return Ok(None) };
        let (container, blob) = keys::parse_named(key, keys::COPY)?;
        Ok(Some(Self {
            account: UnitId::new(job.account),
            container,
            blob,
            copy_id: job.id,
            url,
            etag,
            started: Timestamp::from_ticks(job.started),
            copied: job.copied,
            total: job.total,
        }))
    }
}

/// The length and the holdings of a blob while it is copied into. If the copy does not succeed it stays like that, so what
/// can be written to in place has its map already.
pub(super) const fn nothing_yet(kind: BlobKind, length: u64) -> (u64, Holdings) {
    match kind {
        BlobKind::Block => (0, Holdings::Nothing),
        BlobKind::Page => (length, Holdings::Map),
        BlobKind::Append => (0, Holdings::Map),
    }
}

pub(super) async fn begin_foreign(
    txn: &Txn,
    request: &Authorized<'_, CopyBlob<'_>>,
    source: &ForeignSource,
) -> Result<(Copied, PendingCopy), BlobError> {
    let kind = request.mode.kind(source.kind)?;
    let (container, old) = find_to_replace(txn, &request.address).await?;
    let lease = admit(request, kind, old.as_ref(), txn.now())?;
    let place = request.address.place(container);
    let new = NewBlob {
        headers: request.headers.as_ref().unwrap_or(&source.headers).clone(),
        metadata: request.metadata.as_ref().unwrap_or(&source.metadata).clone(),
        tags: request.tags.clone(),
        tier: request.tier,
        expiry: None,
    };
    if kind == BlobKind::Page {
        page_blob::check_length(source.length)?;
    }
    // The destination is replaced at once, and is empty or zeros until the copy has ended.
    let (length, holdings) = nothing_yet(kind, source.length);
    let content = ContentId::new(txn.fresh_id());
    let made = Made { kind, content, length, holdings, lease };
    let mut blob = made.blob(txn, &new, old.as_ref())?;
    blob.extra_mut().copy = Some(request.state(CopyStatus::Pending, source.length, txn.now()));
    blob.extra_mut().sealed = kind == BlobKind::Append && request.seal.unwrap_or(source.sealed);
    store_new(txn, place, &blob, old.as_ref()).await?;
    // In the same transaction: a blob that says pending has a job, also after a crash.
    let job = CopyJob {
        account: place.account.number(),
        id: request.copy_id.clone(),
        started: txn.now().ticks(),
        staged: txn.fresh_id(),
        pieces: 0,
        total: source.length,
        copied: 0,
        source: CopySource::Foreign { url: source.url.clone(), etag: source.etag.clone() },
    };
    let key = keys::copy(place.container, place.name);
    txn.put(key.clone(), job.encode());
    let pending = PendingCopy::of(&key, job)?.ok_or(BlobError::NoPendingCopyOperation)?;
    let (written, copy_id) = (Written::of(&blob), request.copy_id.clone());
    Ok((Copied { written, copy_id, status: CopyStatus::Pending, crc64: CopiedCrc64::Unknown }, pending))
}

/// Begins the copy of a map that is too large for one transaction: its present state is kept until the copy has ended.
pub(super) async fn begin_map(
    txn: &Txn,
    request: &CopyBlob<'_>,
    (from, source, base): (Place<'_>, &mut Blob, Option<Bytes>),
    place: Place<'_>,
) -> Result<(), BlobError> {
    debug_assert!(request.mode == CopyMode::CopyBlob);
    let (epoch, staged) = (source.extra().epoch, txn.fresh_id());
    sharing::begin(txn, source.content, epoch, staged);
    if let Some(row) = base {
        let extra = source.extra_mut();
        extra.epoch = epoch + 1;
        extra.newest_shared_epoch = Some(epoch);
        extra.shared = true;
        txn.put(row, source.encode());
    }
    let job = CopyJob {
        account: place.account.number(),
        id: request.copy_id.clone(),
        started: txn.now().ticks(),
        staged,
        pieces: 0,
        total: source.length,
        copied: 0,
        source: CopySource::Map {
            container: from.container.number(),
            blob: from.name.to_owned(),
            content: source.content.number(),
            epoch,
            append_blocks: source.extra().append_blocks,
            next: 0,
        },
    };
    txn.put(keys::copy(place.container, place.name), job.encode());
    Ok(())
}

/// Where a walk over the pending copies is. Memory only: after a restart it begins anew.
#[derive(Clone, Debug, Default)]
pub struct CopyCursor(Option<Bytes>);

impl CopyCursor {
    /// True at the beginning: before the first look, and when a round is over.
    #[must_use]
    pub const fn is_at_start(&self) -> bool {
        self.0.is_none()
    }
}

impl Blobs {
    /// The foreign copies that have not ended, of so many rows behind the cursor, which goes on; at the end of them all it
    /// is at their beginning again.
    ///
    /// # Errors
    /// The store failed.
    pub async fn pending_copies(
        &self,
        cursor: &mut CopyCursor,
        looked_at: usize,
    ) -> Result<Vec<PendingCopy>, BlobError> {
        let mut found = Vec::new();
        for (key, job) in walk(&self.store.snapshot(), cursor, looked_at).await? {
            found.extend(PendingCopy::of(&key, job)?);
        }
        Ok(found)
    }

    /// Takes a piece of so many bytes of a pending copy.
    ///
    /// # Errors
    /// The disk is full, or the store does not take writes.
    pub fn copied_piece(&self, _copy: &PendingCopy, length: u64) -> Result<BodyWriter, BlobError> {
        Ok(self.begun().writer(length)?)
    }

    /// Adds a piece of the source of a pending copy at its place. To add a piece again is harmless.
    ///
    /// # Errors
    /// The copy was aborted or the blob is gone (`NoPendingCopyOperation`), or the store failed.
    pub async fn append_copied(&self, copy: &PendingCopy, offset: u64, piece: &Body) -> Result<(), BlobError> {
        let chunk = piece.chunk();
        self.transact(|txn| async move { append_piece(&txn, copy, offset, chunk).await }).await
    }

    /// Ends a copy of which everything is here: the blob has its content.
    ///
    /// # Errors
    /// The copy was aborted or the blob is gone (`NoPendingCopyOperation`), or the store failed.
    pub async fn finish_copy(&self, copy: &PendingCopy) -> Result<Written, BlobError> {
        self.transact(|txn| async move { succeed(&txn, copy.place(), &copy.copy_id).await }).await
    }

    /// Ends a copy that cannot be done, and says why.
    ///
    /// # Errors
    /// The copy was aborted or the blob is gone (`NoPendingCopyOperation`), or the store failed.
    pub async fn fail_copy(&self, copy: &PendingCopy, why: &str) -> Result<Written, BlobError> {
        self.transact(|txn| async move { fail(&txn, copy, why).await }).await
    }
}

async fn walk(rows: &impl Read, cursor: &mut CopyCursor, looked_at: usize) -> Result<Vec<(Bytes, CopyJob)>, BlobError> {
    let mut range = keys::all(keys::COPY);
    if let Some(place) = &cursor.0 {
        range = range.after(place);
    }
    let seen = rows.scan(range, Direction::Ascending).take(looked_at).await?;
    cursor.0 = seen.last().filter(|_| seen.len() == looked_at).map(|row| row.key.clone());
    seen.into_iter().map(|row| Ok((row.key, CopyJob::decode(&row.value)?))).collect()
}

/// The job and the blob of a copy, if it still runs.
async fn running(txn: &Txn, place: Place<'_>, copy_id: &str) -> Result<(CopyJob, Blob), BlobError> {
    let job = txn.get(&keys::copy(place.container, place.name)).await?;
    let job = job.map(|row| CopyJob::decode(&row)).transpose()?.filter(|job| job.id == copy_id);
    let blob = txn.get(&place.key()).await?.map(|row| Blob::decode(&row)).transpose()?;
    match (job, blob.filter(Blob::is_copying)) {
        (Some(job), Some(blob)) => Ok((job, blob)),
        _ => Err(BlobError::NoPendingCopyOperation),
    }
}

async fn append_piece(txn: &Txn, copy: &PendingCopy, offset: u64, piece: &PendingChunk) -> Result<(), BlobError> {
    let place = copy.place();
    let (mut job, mut blob) = running(txn, place, &copy.copy_id).await?;
    let (staged, chunk) = (ContentId::new(job.staged), piece.reference());
    content::link(txn, piece, staged);
    if chunk.length > 0 {
        let mut map = MapWriter::new(txn, staged, FIRST_EPOCH);
        map.write(offset, Slice { chunk, skip: 0, length: chunk.length }).await?;
        map.finish().await?;
    }
    job.pieces = job.pieces.saturating_add(1);
    job.copied = job.copied.max(offset.saturating_add(chunk.length));
    show_progress(&mut blob, &job);
    txn.put(keys::copy(place.container, place.name), job.encode());
    place.put(txn, &blob);
    Ok(())
}

fn show_progress(blob: &mut Blob, job: &CopyJob) {
    if let Some(copy) = &mut blob.extra_mut().copy {
        copy.copied = job.copied.min(job.total);
    }
}

async fn succeed(txn: &Txn, place: Place<'_>, copy_id: &str) -> Result<Written, BlobError> {
    let (job, mut blob) = running(txn, place, copy_id).await?;
    blob.content = ContentId::new(job.staged);
    blob.holdings = Holdings::Map;
    blob.length = job.total;
    let extra = blob.extra_mut();
    extra.epoch = 1;
    if blob.kind == BlobKind::Append {
        blob.extra_mut().append_blocks = match &job.source {
            CopySource::Foreign { .. } => job.pieces,
            CopySource::Map { append_blocks, .. } => *append_blocks,
        };
    }
    if let Some(state) = &mut blob.extra_mut().copy {
        state.copied = job.total;
    }
    if let CopySource::Map { container, blob, content, epoch, .. } = &job.source {
        let source = Place { account: place.account, container: UnitId::new(*container), name: blob };
        sharing::copy_ends(txn, source, ContentId::new(*content), *epoch, job.staged).await?;
    }
    txn.delete(keys::copy(place.container, place.name));
    end(txn, place, blob, CopyStatus::Success, None)
}

async fn fail(txn: &Txn, copy: &PendingCopy, why: &str) -> Result<Written, BlobError> {
    let place = copy.place();
    let (_, blob) = running(txn, place, &copy.copy_id).await?;
    lifecycle::end_copy(txn, place).await?;
    end(txn, place, blob, CopyStatus::Failed, Some(why.to_owned()))
}

fn end(
    txn: &Txn,
    place: Place<'_>,
    mut blob: Blob,
    status: CopyStatus,
    description: Option<String>,
) -> Result<Written, BlobError> {
    if let Some(state) = &mut blob.extra_mut().copy {
        state.end(status, description, txn.now());
    }
    blob.touch(txn.now(), txn.fresh_id());
    place.put(txn, &blob);
    Ok(Written::of(&blob))
}

/// Abort Copy Blob. It takes no conditions.
#[derive(Clone, Debug)]
pub struct AbortCopy {
    /// The blob that is being copied into.
    pub address: Address,
    /// The lease id that was sent.
    pub lease_id: Option<LeaseId>,
    /// The id of the copy.
    pub copy_id: String,
}

impl Operation for AbortCopy {
    fn need(&self) -> Need<'_> {
        self.address.need(permissions::SET_BLOB)
    }
}

impl Blobs {
    /// Ends a pending copy. The blob stays, empty, with its metadata.
    ///
    /// # Errors
    /// The blob does not exist, no copy or another one is pending, the lease stands against it, or the store failed.
    pub async fn abort_copy_blob(&self, asked: &Asked<AbortCopy>) -> Result<(), BlobError> {
        self.on_blob_reclaiming(&asked.address, |txn| async move { abort(&txn, &asked.authorize(&txn).await?).await })
            .await
    }
}

async fn abort(txn: &Txn, request: &Authorized<'_, AbortCopy>) -> Result<(), BlobError> {
    let (container, blob) = find(txn, &request.address).await?;
    let blob = blob.filter(|blob| blob.exists(txn.now()));
    let mut blob = blob.ok_or(BlobError::BlobNotFound)?;
    let lease = blob.lease.admit(Leasable::Blob, LeaseUse::Write, request.lease_id, txn.now());
    blob.lease = lease.map_err(|refusal| BlobError::Lease(About::Blob, refusal))?;
    match &blob.extra().copy {
        Some(copy) if copy.status == CopyStatus::Pending && copy.id != request.copy_id => {
            return Err(BlobError::CopyIdMismatch);
        }
        Some(copy) if copy.status == CopyStatus::Pending => {}
        _ => return Err(BlobError::NoPendingCopyOperation),
    }
    let place = request.address.place(container);
    lifecycle::end_copy(txn, place).await?;
    blob.length = 0;
    end(txn, place, blob, CopyStatus::Aborted, None)?;
    Ok(())
}

/// Goes on with copies of maps, and gives up copies that take too long, of a bounded number of rows behind the cursor. What
/// is done are copies that went on.
#[derive(Debug)]
pub struct CopyMaps;

impl Job for CopyMaps {
    const NAME: &'static str = "copies";
    type Cursor = CopyCursor;
    type Error = BlobError;

    async fn step(store: &Store, cursor: &mut CopyCursor) -> Result<Progress, BlobError> {
        step(store, cursor).await
    }
}

async fn step(store: &Store, cursor: &mut CopyCursor) -> Result<Progress, BlobError> {
    let is_overdue =
        |job: &CopyJob| store.now().saturating_since(Timestamp::from_ticks(job.started)) > limits::COPY_MAX;
    let mut jobs = walk(&store.snapshot(), cursor, LOOKED_AT).await?;
    // Copies from elsewhere that wait for their turn must not stand before the others.
    jobs.retain(|(_, job)| matches!(job.source, CopySource::Map { .. }) || is_overdue(job));
    if jobs.len() > AT_ONCE {
        jobs.truncate(AT_ONCE);
        cursor.0 = jobs.last().map(|(key, _)| key.clone());
    }
    // A round that is not over is gone on with soon.
    let (unfinished, mut done) = (!cursor.is_at_start(), 0);
    for (key, job) in jobs {
        let (container, name) = keys::parse_named(&key, keys::COPY)?;
        let place = Place { account: UnitId::new(job.account), container, name: &name };
        let (overdue, id) = (is_overdue(&job), &job.id);
        let scope = Scope::new();
        let went_on = store
            .transact(scope, |txn| async move {
                if overdue { give_up(&txn, place, id).await } else { copy_rows(&txn, place, id).await }
            })
            .await;
        match went_on {
            Ok(()) => done += 1,
            Err(BlobError::NoPendingCopyOperation) => {} // it ended meanwhile
            Err(error) => return Err(error),
        }
    }
    let found = Progress::found(done);
    Ok(Progress { more: found.more || unfinished, ..found })
}

async fn give_up(txn: &Txn, place: Place<'_>, copy_id: &str) -> Result<(), BlobError> {
    let (_, blob) = running(txn, place, copy_id).await?;
    lifecycle::end_copy(txn, place).await?;
    let why = Some("the copy did not end in time".to_owned());
    end(txn, place, blob, CopyStatus::Failed, why).map(|_| ())
}

async fn copy_rows(txn: &Txn, place: Place<'_>, copy_id: &str) -> Result<(), BlobError> {
    let (mut job, mut blob) = running(txn, place, copy_id).await?;
    let CopySource::Map { content, epoch, next, .. } = &mut job.source else { return Ok(()) };
    let range = (*next, job.total);
    let (segments, more) = content_map::read(txn, ContentId::new(*content), *epoch, range, STEP).await?;
    let mut map = MapWriter::new(txn, ContentId::new(job.staged), FIRST_EPOCH);
    map.append_all(&segments);
    map.finish().await?;
    *next = more.unwrap_or(job.total);
    job.copied = *next;
    show_progress(&mut blob, &job);
    txn.put(keys::copy(place.container, place.name), job.encode());
    place.put(txn, &blob);
    if more.is_none() {
        succeed(txn, place, copy_id).await?;
    }
    Ok(())
}
