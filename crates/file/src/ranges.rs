//! Put Range: update, clear, and From URL once its bytes are here.
//!
//! **Invariant.** A range is written in one transaction: no reader sees half of it. A clear of very many written parts is
//! several writes, each with an ETag of its own.

use access::{Asked, Authorized, Operation, need::Need};
use concurrency::{
    lease::LeaseUse,
    rest_open::{RestOperation, RestRequest},
};
use store::{
    Txn, content as chunks,
    content_map::{MapWriter, Slice},
};
use types::{ContentId, FileTime, Timestamp, limits};

use crate::{
    Files,
    body::{Begun, Body, is_decided_early},
    content,
    errors::FileError,
    handle_io::Look,
    needs,
    object::Address,
    smb_change::TimeChange,
    state::{File, Node, Share},
    tree::Tree,
    usage,
    write::{Changing, OnPath, Preconditions, Written},
};

/// Put Range.
#[derive(Clone, Debug)]
pub struct PutRange<'a> {
    /// The file that is written.
    pub address: Address,
    /// What it is decided by.
    pub preconditions: Preconditions<'a>,
    /// Where the range begins.
    pub start: u64,
    /// Where it ends, excluded.
    pub end: u64,
    /// When its bytes were last written: now, unless the request says otherwise.
    pub written: Option<TimeChange>,
}

impl Operation for PutRange<'_> {
    fn need(&self) -> Need<'_> {
        self.address.need(needs::WRITE)
    }
}

impl OnPath for PutRange<'_> {
    fn address(&self) -> &Address {
        &self.address
    }

    fn open(&self) -> RestRequest {
        RestRequest { operation: RestOperation::PutRange, range: None, ignores_read_only: false }
    }
}

/// What a write of a range answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeWritten {
    /// The new ETag, and when.
    pub written: Written,
    /// When the bytes of the file were last written.
    pub last_write: FileTime,
}

impl PutRange<'_> {
    /// Decides the write of a file, and gives it its lease to store.
    fn admit(&self, node: &mut Node, now: Timestamp) -> Result<(), FileError> {
        self.preconditions.admit(LeaseUse::Write, node, now)?;
        let file = node.file.as_ref().ok_or(FileError::ResourceTypeMismatch)?;
        refuse_while_copying(file)?;
        let Self { start, end, .. } = *self;
        if start >= end || end > file.length {
            return Err(FileError::InvalidRange { start, end });
        }
        Ok(())
    }
}

/// What a copy is being written into is not changed by others.
pub(crate) fn refuse_while_copying(file: &File) -> Result<(), FileError> {
    if file.is_copying() { Err(FileError::PendingCopyOperation) } else { Ok(()) }
}

impl Files {
    /// Begins Put Range: decides early, before a body is read or fetched; `length` is that of a body that was sent. What
    /// it allows is decided again by [`Self::put_range`].
    ///
    /// # Errors
    /// As [`Self::put_range`].
    pub async fn begin_put_range(
        &self,
        asked: &Asked<PutRange<'_>>,
        length: Option<u64>,
    ) -> Result<Begun<'_>, FileError> {
        if is_decided_early(length) {
            let Look { now, share, mut node, .. } = self.look(asked, &asked.address).await?;
            asked.address.share.refuse_snapshot()?;
            let _claim = self.claim(share.unit, &node, asked.open())?;
            asked.admit(&mut node, now)?;
        } else {
            self.admit(asked).await?;
        }
        Ok(self.begun())
    }

    /// Writes a range, with the bytes that have come.
    ///
    /// # Errors
    /// The file does not exist or is a directory, the range is not within it, what is open, a lease, a condition or the
    /// read-only attribute stands against it, the share is full, or the store failed.
    pub async fn put_range(&self, asked: &Asked<PutRange<'_>>, body: &Body) -> Result<RangeWritten, FileError> {
        self.change(asked, |changing| async move {
            let request = asked.authorize(&changing.txn).await?;
            update(changing, &request, body).await
        })
        .await
    }

    /// Clears a range: it reads as zeros and holds nothing. A range with very many written parts takes several transactions.
    /// Each goes on where the one before ended, so what others write behind it stays.
    ///
    /// # Errors
    /// As [`Self::put_range`].
    pub async fn clear_range(&self, asked: &Asked<PutRange<'_>>) -> Result<RangeWritten, FileError> {
        let mut begun = None;
        loop {
            let step = self.change(asked, |changing| async move {
                let request = asked.authorize(&changing.txn).await?;
                clear(changing, &request, begun).await
            });
            match step.await? {
                ClearStep { next: None, written, .. } => return Ok(written),
                step => begun = Some(step),
            }
        }
    }
}

async fn update(
    changing: Changing,
    request: &Authorized<'_, PutRange<'_>>,
    body: &Body,
) -> Result<RangeWritten, FileError> {
    let tree = changing.tree();
    let Changing { txn, share, found } = changing;
    let mut node = found.node;
    request.admit(&mut node, txn.now())?;
    if request.end - request.start > limits::PUT_RANGE_MAX_BYTES {
        return Err(FileError::TooLarge(limits::PUT_RANGE_MAX_BYTES));
    }
    if body.length() != request.end - request.start {
        return Err(FileError::InvalidRange { start: request.start, end: request.end });
    }
    tree.renew(&mut node);
    write(&txn, &share, &mut node, request.start, body).await?;
    changed(&txn, &tree, node, request.written).await
}

/// Puts bytes into a renewed or new file.
pub(crate) async fn write(txn: &Txn, share: &Share, node: &mut Node, start: u64, body: &Body) -> Result<(), FileError> {
    let inode = node.inode;
    let Some(file) = &mut node.file else { return Err(FileError::ResourceTypeMismatch) };
    let chunk = body.chunk().reference();
    chunks::link(txn, body.chunk(), file.content);
    let mut map = MapWriter::new(txn, file.content, file.epochs());
    map.write(start, Slice { chunk, skip: 0, length: chunk.length }).await?;
    let replaced = map.replaced();
    map.finish().await?;
    let grown = content::signed(chunk.length) - content::signed(replaced);
    file.allocated = file.allocated.saturating_add_signed(grown);
    usage::change(txn, share, inode, grown).await
}

/// Puts the first bytes into a file that is being made.
pub(crate) async fn fill(txn: &Txn, share: &Share, node: &mut Node, body: &Body) -> Result<(), FileError> {
    let length = node.file.as_ref().map_or(0, |file| file.length);
    if body.length() > length {
        return Err(FileError::InvalidRange { start: 0, end: body.length() });
    }
    if body.length() > 0 { write(txn, share, node, 0, body).await } else { Ok(()) }
}

async fn changed(
    txn: &Txn,
    tree: &Tree,
    mut node: Node,
    written: Option<TimeChange>,
) -> Result<RangeWritten, FileError> {
    let now = txn.now();
    match written {
        Some(TimeChange::Preserve) => {}
        Some(TimeChange::At(time)) => node.smb.written = time,
        Some(TimeChange::Now) | None => node.smb.written = now.into(),
    }
    node.smb.changed = now.into();
    node.touch(now, txn.fresh_id());
    tree.put_node(txn, &node).await?;
    Ok(RangeWritten { written: Written::of(&node), last_write: node.smb.written })
}

/// How far a clear is.
#[derive(Clone, Copy)]
struct ClearStep {
    /// Where to go on; `None` when it is done.
    next: Option<u64>,
    content: ContentId,
    written: RangeWritten,
}

async fn clear(
    changing: Changing,
    request: &Authorized<'_, PutRange<'_>>,
    begun: Option<ClearStep>,
) -> Result<ClearStep, FileError> {
    let tree = changing.tree();
    let Changing { txn, found, .. } = changing;
    let mut node = found.node;
    let of_begun = |step: &ClearStep| node.file.as_ref().is_some_and(|file| file.content == step.content);
    match begun {
        None => request.admit(&mut node, txn.now())?,
        Some(step) if of_begun(&step) => {}
        // It was replaced meanwhile, with everything that was to be cleared.
        Some(step) => return Ok(ClearStep { next: None, ..step }),
    }
    tree.renew(&mut node);
    let inode = node.inode;
    let Some(file) = &mut node.file else { return Err(FileError::ResourceTypeMismatch) };
    let start = begun.and_then(|step| step.next).unwrap_or(request.start);
    let next = content::clear(&txn, &tree, inode, file, (start, request.end)).await?;
    let content = file.content;
    let written = changed(&txn, &tree, node, request.written).await?;
    Ok(ClearStep { next, content, written })
}
