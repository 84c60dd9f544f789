//! Copies of maps that have too many parts for one transaction: the background copies their rows in steps.
//!
//! **Invariant.** The state that is copied stays what it is: its writers keep its epoch, the prune of its map knows of it by
//! a row (`keys::copy_source`), and a pin keeps its content when its file, its snapshot or its share is gone.

use access::Authorized;
use bytes::Bytes;
use jobs::{Job, Progress};
use store::{
    Read, Scope, Store, StoreError, Txn, content as contents,
    content_map::{self, MapWriter},
};
use types::{ContentId, CopyStatus, Inode, UnitId, limits};

use super::{
    Copied, CopyFile, Destination, NEW_MAP, SourceFile,
    job::{CopyCursor, Running, key, walk},
};
use crate::{
    download::keep_epoch,
    errors::FileError,
    keys,
    records::{CopyJob, CopySource, CopySourceRecord},
    tree::Tree,
};

/// Rows of a map copied in one step.
const STEP: usize = 4096;
/// Copies that go on in one step, and rows of copies that a step looks at.
const AT_ONCE: usize = 256;
const LOOKED_AT: usize = 1024;

/// From now on the source stays what it is, for a copy into `staged`. False, with nothing done, when it is going.
pub(super) async fn keep(txn: &Txn, from: &SourceFile, staged: ContentId) -> Result<bool, FileError> {
    let (file, tree) = (from.file()?, Tree::of(&from.share));
    // A copy that takes longer has failed by then.
    let until = txn.now().saturating_add(limits::COPY_MAX * 2);
    if !contents::pin(txn, file.content, staged.number(), until).await? {
        return Ok(false);
    }
    let prune = keys::prune_map(from.share.unit, from.node.inode, file.content);
    // Read too, so that a prune that is under way and this exclude each other, and the prune begins anew.
    txn.get(&prune).await?;
    txn.put(prune, Bytes::new());
    keep_epoch(txn, &tree, from.at, &from.node).await?;
    Ok(true)
}

/// Begins the copy of a map that was kept.
pub(super) async fn begin(
    txn: &Txn,
    request: &Authorized<'_, CopyFile<'_>>,
    from: &SourceFile,
    made: Destination,
    staged: ContentId,
) -> Result<Copied, FileError> {
    let (share, inode, file) = (made.place.0.unit, made.node.inode, from.file()?);
    let job = CopyJob {
        account: request.address.share.account,
        id: request.copy_id.clone(),
        started: txn.now(),
        staged,
        total: file.length,
        copied: 0,
        held: 0,
        source: CopySource::Map {
            share: from.share.unit,
            inode: from.node.inode,
            content: file.content,
            epoch: file.epoch,
            next: 0,
        },
    };
    txn.put(keys::copy_source(file.content, file.epoch, staged), CopySourceRecord { share, inode }.encode());
    txn.put(key(share, inode), job.encode());
    made.put(txn, request.state(CopyStatus::Pending, file.length, txn.now())).await
}

/// A copy does not read its source any more, if that was a map.
pub(super) async fn source_ends(txn: &Txn, job: &CopyJob) -> Result<(), StoreError> {
    let CopySource::Map { share, inode, content, epoch, .. } = &job.source else { return Ok(()) };
    txn.delete(keys::copy_source(*content, *epoch, job.staged));
    contents::unpin(txn, *content, job.staged.number()).await?;
    txn.put(keys::prune_map(*share, *inode, *content), Bytes::new());
    Ok(())
}

/// Goes on with copies of maps, and gives up copies that take too long, of a bounded number of rows behind the cursor. What
/// is done are copies that went on.
#[derive(Debug)]
pub struct CopyMaps;

impl Job for CopyMaps {
    const NAME: &'static str = "file-copies";
    type Cursor = CopyCursor;
    type Error = FileError;

    async fn step(store: &Store, cursor: &mut CopyCursor) -> Result<Progress, FileError> {
        let is_overdue = |job: &CopyJob| store.now().saturating_since(job.started) > limits::COPY_MAX;
        let mut jobs = walk(&store.snapshot(), cursor, LOOKED_AT).await?;
        // Copies from elsewhere that wait for their turn must not stand before the others.
        jobs.retain(|(_, _, job)| matches!(job.source, CopySource::Map { .. }) || is_overdue(job));
        if jobs.len() > AT_ONCE {
            jobs.truncate(AT_ONCE);
            cursor.0 = jobs.last().map(|(share, inode, _)| key(*share, *inode));
        }
        // A round that is not over is gone on with soon.
        let (unfinished, mut done) = (!cursor.is_at_start(), 0);
        for (share, inode, job) in jobs {
            let (overdue, id) = (is_overdue(&job), job.id.as_str());
            let scope = if overdue { Scope::new().reclaims() } else { Scope::new() };
            let went_on = store.transact(scope, |txn| async move { go_on(&txn, (share, inode), id, overdue).await });
            match went_on.await {
                Ok(()) => done += 1,
                Err(FileError::NoPendingCopyOperation) => {} // it ended meanwhile
                Err(error) => return Err(error),
            }
        }
        let found = Progress::found(done);
        Ok(Progress { more: found.more || unfinished, ..found })
    }
}

async fn go_on(txn: &Txn, (share, inode): (UnitId, Inode), copy_id: &str, overdue: bool) -> Result<(), FileError> {
    let mut running = Running::find(txn, share, inode, copy_id).await?;
    if overdue {
        let why = Some("the copy did not end in time");
        return running.end(txn, CopyStatus::Failed, why).await.map(|_| ());
    }
    let job = &mut running.job;
    let CopySource::Map { content, epoch, next, .. } = &mut job.source else { return Ok(()) };
    let (parts, more) = content_map::read(txn, *content, *epoch, (*next, job.total), STEP).await?;
    let mut map = MapWriter::new(txn, job.staged, NEW_MAP);
    job.held += map.append_all(&parts);
    map.finish().await?;
    *next = more.unwrap_or(job.total);
    job.copied = *next;
    match more {
        Some(_) => running.put_progress(txn).await,
        None => running.succeed(txn).await.map(|_| ()),
    }
}
