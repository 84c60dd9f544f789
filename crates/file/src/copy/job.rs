//! Pending copies: rows that say what is copied into which file and how far it is.
//!
//! The bytes of a foreign source are brought by somebody who knows networks, piece by piece; a large map of this server
//! is copied by the background (`maps`). Both gather under a content that nothing points to. The end of the copy is one
//! transaction.

use access::{Asked, Authorized, Operation, need::Need};
use bytes::Bytes;
use concurrency::{
    lease::{LeaseId, LeaseUse},
    rest_open::{RestOperation, RestRequest},
};
use store::{
    Direction, PendingChunk, Read, Txn,
    content::{self as contents, Holdings},
    content_map::{MapWriter, Slice},
};
use types::{ContentId, CopyStatus, HttpHeaders, Inode, Metadata, UnitId};

use super::{Copied, CopyFile, Destination, NEW_MAP, maps};
use crate::{
    Files,
    body::{Body, BodyWriter},
    changes::{ChangeAction, ChangeKinds},
    content, create,
    errors::FileError,
    history::At,
    keys, needs,
    object::Address,
    opens::FileKey,
    records::{CopyJob, CopySource},
    share,
    state::{File, Node, Share},
    tree::Tree,
    usage,
    write::{Changing, OnPath, Preconditions, Written},
};

/// What is known of a source that is no file of this server.
#[derive(Clone, Debug, Default)]
pub struct ForeignSource {
    /// Where the bytes are, with whatever it takes to get them.
    pub url: String,
    /// The ETag that the source must keep.
    pub etag: Option<String>,
    /// How long the source says it is; the copy fails if it turns out otherwise.
    pub length: u64,
    /// Its HTTP properties.
    pub headers: HttpHeaders,
    /// Its metadata.
    pub metadata: Metadata,
}

/// A copy of a foreign source that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingCopy {
    /// The account that pays for it: copies take turns by account.
    pub account: UnitId,
    /// The share of the destination.
    pub share: UnitId,
    /// The destination, wherever its directory is moved.
    pub inode: Inode,
    /// The id of the copy.
    pub copy_id: String,
    /// Where the bytes are.
    pub url: String,
    /// The ETag that the source must keep.
    pub etag: Option<String>,
    /// Bytes that are here: go on from there.
    pub copied: u64,
    /// Bytes in all.
    pub total: u64,
}

impl PendingCopy {
    /// The copy of a row; `None` when it is not a foreign one.
    fn of(share: UnitId, inode: Inode, job: CopyJob) -> Option<Self> {
        let CopySource::Foreign { url, etag } = job.source else { return None };
        let (account, copy_id, copied, total) = (job.account, job.id, job.copied, job.total);
        Some(Self { account, share, inode, copy_id, url, etag, copied, total })
    }
}

pub(super) fn key(share: UnitId, inode: Inode) -> Bytes {
    keys::node(keys::COPY, share, inode).build()
}

/// `None` when the destination is not the one that was asked about.
pub(super) async fn begin_foreign(
    txn: &Txn,
    request: &Authorized<'_, CopyFile<'_>>,
    source: &ForeignSource,
    replaced: Option<Inode>,
) -> Result<Option<(Copied, PendingCopy)>, FileError> {
    let Some(place) = create::place_of(txn, &request.address, replaced).await? else { return Ok(None) };
    let with = (&request.smb.of_others(), &source.metadata, &source.headers);
    let made = Destination::make(txn, request, replaced, place, with).await?;
    made.check_quota(txn, source.length).await?;
    let (share, inode) = (made.place.0.unit, made.node.inode);
    let job = CopyJob {
        account: request.address.share.account,
        id: request.copy_id.clone(),
        started: txn.now(),
        staged: ContentId::new(txn.fresh_id()),
        total: source.length,
        copied: 0,
        held: 0,
        source: CopySource::Foreign { url: source.url.clone(), etag: source.etag.clone() },
    };
    // In the same transaction: a file that says pending has a job, also after a crash.
    txn.put(key(share, inode), job.encode());
    let copied = made.put(txn, request.state(CopyStatus::Pending, source.length, txn.now())).await?;
    Ok(PendingCopy::of(share, inode, job).map(|pending| (copied, pending)))
}

/// Where a walk over the pending copies is. Memory only: after a restart it begins anew.
#[derive(Clone, Debug, Default)]
pub struct CopyCursor(pub(super) Option<Bytes>);

impl CopyCursor {
    /// True at the beginning: before the first look, and when a round is over.
    #[must_use]
    pub const fn is_at_start(&self) -> bool {
        self.0.is_none()
    }
}

impl Files {
    /// The foreign copies that have not ended, of so many rows behind the cursor, which goes on; at the end of them all it
    /// is at their beginning again. Those into a deleted share wait until it is restored.
    ///
    /// # Errors
    /// The store failed.
    pub async fn pending_copies(
        &self,
        cursor: &mut CopyCursor,
        looked_at: usize,
    ) -> Result<Vec<PendingCopy>, FileError> {
        let rows = self.store.snapshot();
        let mut found = Vec::new();
        for (share, inode, job) in walk(&rows, cursor, looked_at).await? {
            if let Some(copy) = PendingCopy::of(share, inode, job)
                && is_there(&rows, share).await?
            {
                found.push(copy);
            }
        }
        Ok(found)
    }

    /// Takes a piece of so many bytes of a pending copy.
    ///
    /// # Errors
    /// The disk is full, or the store does not take writes.
    pub fn copied_piece(&self, _copy: &PendingCopy, length: u64) -> Result<BodyWriter, FileError> {
        Ok(self.begun().writer(length)?)
    }

    /// Adds a piece of the source of a pending copy at its place. To add a piece again is harmless.
    ///
    /// # Errors
    /// The copy was aborted or the file is gone (`NoPendingCopyOperation`), or the store failed.
    pub async fn append_copied(&self, copy: &PendingCopy, offset: u64, piece: &Body) -> Result<(), FileError> {
        let chunk = piece.chunk();
        self.transact(|txn| async move { append_piece(&txn, copy, offset, chunk).await }).await
    }

    /// Ends a copy of which everything is here: the file has its content. When its share has no room for it, it has failed.
    ///
    /// # Errors
    /// The copy was aborted or the file is gone (`NoPendingCopyOperation`), or the store failed.
    pub async fn finish_copy(&self, copy: &PendingCopy) -> Result<Written, FileError> {
        let succeed = |txn: Txn| async move {
            Running::find(&txn, copy.share, copy.inode, &copy.copy_id).await?.succeed(&txn).await
        };
        let written = self.transact(succeed).await?;
        self.tell_changed(FileKey { share: copy.share, inode: copy.inode }).await;
        Ok(written)
    }

    /// Ends a copy that cannot be done, and says why.
    ///
    /// # Errors
    /// The copy was aborted or the file is gone (`NoPendingCopyOperation`), or the store failed.
    pub async fn fail_copy(&self, copy: &PendingCopy, why: &str) -> Result<Written, FileError> {
        self.transact_reclaiming(|txn| async move {
            let running = Running::find(&txn, copy.share, copy.inode, &copy.copy_id).await?;
            running.end(&txn, CopyStatus::Failed, Some(why)).await
        })
        .await
    }
}

/// Whether a share is there, and not only to be restored.
async fn is_there(rows: &impl Read, share: UnitId) -> Result<bool, FileError> {
    Ok(rows.get(&keys::unit(share)).await?.is_some())
}

pub(super) async fn walk(
    rows: &impl Read,
    cursor: &mut CopyCursor,
    looked_at: usize,
) -> Result<Vec<(UnitId, Inode, CopyJob)>, FileError> {
    let mut range = keys::all(keys::COPY);
    if let Some(place) = &cursor.0 {
        range = range.after(place);
    }
    let seen = rows.scan(range, Direction::Ascending).take(looked_at).await?;
    cursor.0 = seen.last().filter(|_| seen.len() == looked_at).map(|row| row.key.clone());
    let parsed = seen.into_iter().map(|row| {
        let (share, inode) = keys::parse_two(&row.key, keys::COPY)?;
        Ok((UnitId::new(share), Inode::new(inode), CopyJob::decode(&row.value)?))
    });
    parsed.collect()
}

/// A copy that still runs.
pub(super) struct Running {
    pub(super) job: CopyJob,
    share: Share,
    node: Node,
    file: Box<File>,
}

impl Running {
    pub(super) async fn find(txn: &Txn, share: UnitId, inode: Inode, copy_id: &str) -> Result<Self, FileError> {
        let job = txn.get(&key(share, inode)).await?.map(|row| CopyJob::decode(&row)).transpose()?;
        let job = job.filter(|job| job.id == copy_id).ok_or(FileError::NoPendingCopyOperation)?;
        let found = if is_there(txn, share).await? { share::of_unit(txn, share).await? } else { None };
        let share = found.ok_or(FileError::NoPendingCopyOperation)?;
        let node = Tree::of(&share).node(txn, inode, At::Present).await?;
        let mut node = node.ok_or(FileError::NoPendingCopyOperation)?;
        let file = node.file.take().filter(|file| file.is_copying()).ok_or(FileError::NoPendingCopyOperation)?;
        Ok(Self { job, share, node, file })
    }

    fn tree(&self) -> Tree {
        Tree::of(&self.share)
    }

    /// Writes down how far it is.
    pub(super) async fn put_progress(mut self, txn: &Txn) -> Result<(), FileError> {
        txn.put(key(self.share.unit, self.node.inode), self.job.encode());
        if let Some(copy) = &mut self.file.copy {
            copy.copied = self.job.copied.min(self.job.total);
        }
        self.put(txn).await.map(|_| ())
    }

    async fn put(mut self, txn: &Txn) -> Result<Written, FileError> {
        let tree = self.tree();
        self.node.file = Some(self.file);
        tree.renew(&mut self.node);
        tree.put_node(txn, &self.node).await?;
        Ok(Written::of(&self.node))
    }

    /// The file has what was gathered.
    pub(super) async fn succeed(mut self, txn: &Txn) -> Result<Written, FileError> {
        let (inode, tree) = (self.node.inode, self.tree());
        match usage::change(txn, &self.share, inode, content::signed(self.job.held)).await {
            Ok(()) => {}
            Err(FileError::ShareSizeLimitReached) => {
                return self.end(txn, CopyStatus::Failed, Some("the share has reached its size limit")).await;
            }
            Err(error) => return Err(error),
        }
        content::let_go(txn, &tree, inode, &self.file, tree.epochs.keeps(self.node.since)).await?;
        let CopyJob { staged, total, held, .. } = self.job;
        let empty = create::empty(txn, total, self.file.headers.clone(), self.file.lease);
        *self.file = File { content: staged, allocated: held, copy: self.file.copy.take(), ..empty };
        if let Some(state) = &mut self.file.copy {
            state.copied = total;
        }
        // What a snapshot shows is the empty file, and not this content at another epoch.
        self.node.since = tree.epochs.current;
        maps::source_ends(txn, &self.job).await?;
        txn.delete(key(tree.share, inode));
        self.ended(txn, CopyStatus::Success, None).await
    }

    /// It ends before everything is there: what was gathered goes, and the file stays empty.
    pub(super) async fn end(self, txn: &Txn, status: CopyStatus, why: Option<&str>) -> Result<Written, FileError> {
        txn.delete(key(self.share.unit, self.node.inode));
        let_go(txn, &self.job).await?;
        self.ended(txn, status, why).await
    }

    async fn ended(mut self, txn: &Txn, status: CopyStatus, why: Option<&str>) -> Result<Written, FileError> {
        if let Some(state) = &mut self.file.copy {
            state.end(status, why.map(str::to_owned), txn.now());
        }
        self.node.touch(txn.now(), txn.fresh_id());
        self.put(txn).await
    }
}

/// What a copy gathered goes, and it reads its source no longer.
pub(crate) async fn let_go(txn: &Txn, job: &CopyJob) -> Result<(), store::StoreError> {
    contents::release(txn, job.staged, Holdings::Map).await?;
    maps::source_ends(txn, job).await
}

/// The file that is copied into goes, and the copy with it.
pub(crate) async fn give_up(txn: &Txn, share: UnitId, inode: Inode) -> Result<(), FileError> {
    let key = key(share, inode);
    let Some(row) = txn.get(&key).await? else { return Ok(()) };
    txn.delete(key);
    Ok(let_go(txn, &CopyJob::decode(&row)?).await?)
}

async fn append_piece(txn: &Txn, copy: &PendingCopy, offset: u64, piece: &PendingChunk) -> Result<(), FileError> {
    let mut running = Running::find(txn, copy.share, copy.inode, &copy.copy_id).await?;
    let (job, chunk) = (&mut running.job, piece.reference());
    contents::link(txn, piece, job.staged);
    if chunk.length > 0 {
        let mut map = MapWriter::new(txn, job.staged, NEW_MAP);
        map.write(offset, Slice { chunk, skip: 0, length: chunk.length }).await?;
        job.held = (job.held + chunk.length).saturating_sub(map.replaced());
        map.finish().await?;
    }
    job.copied = job.copied.max(offset.saturating_add(chunk.length));
    running.put_progress(txn).await
}

/// Abort Copy File.
#[derive(Clone, Debug)]
pub struct AbortCopy {
    /// The file that is being copied into.
    pub address: Address,
    /// The lease id that was sent.
    pub lease_id: Option<LeaseId>,
    /// The id of the copy.
    pub copy_id: String,
}

impl Operation for AbortCopy {
    fn need(&self) -> Need<'_> {
        self.address.need(needs::WRITE)
    }
}

impl OnPath for AbortCopy {
    fn address(&self) -> &Address {
        &self.address
    }

    fn open(&self) -> RestRequest {
        // The copy may have been asked to make it read-only.
        RestRequest { operation: RestOperation::SetProperties, range: None, ignores_read_only: true }
    }

    fn tells(&self, _: bool) -> Option<(ChangeAction, ChangeKinds)> {
        None
    }
}

impl Files {
    /// Ends a pending copy. The file stays, empty, with its metadata.
    ///
    /// # Errors
    /// The file does not exist, no copy or another one is pending, what is open or the lease stands against it, or the
    /// store failed.
    pub async fn abort_copy_file(&self, asked: &Asked<AbortCopy>) -> Result<(), FileError> {
        self.change_reclaiming(asked, |changing| async move {
            let request = asked.authorize(&changing.txn).await?;
            let Changing { txn, share, found } = changing;
            let mut node = found.node;
            let preconditions = Preconditions { lease_id: request.lease_id, ..Preconditions::default() };
            preconditions.admit(LeaseUse::Write, &mut node, txn.now())?;
            let file = node.file.as_deref().ok_or(FileError::ResourceTypeMismatch)?;
            match &file.copy {
                Some(copy) if copy.status == CopyStatus::Pending && copy.id != request.copy_id => {
                    return Err(FileError::CopyIdMismatch);
                }
                Some(copy) if copy.status == CopyStatus::Pending => {}
                _ => return Err(FileError::NoPendingCopyOperation),
            }
            let mut running = Running::find(&txn, share.unit, node.inode, &request.copy_id).await?;
            running.file.lease = file.lease;
            running.end(&txn, CopyStatus::Aborted, None).await.map(|_| ())
        })
        .await
    }
}
