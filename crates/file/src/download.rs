//! Get File: all of a file, or a range of it, as one state of the file has it.
//!
//! **Invariant.** The caller is authorised, the file found and decided on, and its bytes opened in one view. A file that
//! changes before its bytes are open is found again, with all of that. Of a map that is short everything is opened at once; a longer
//! one is read at an epoch of its own, which its writers keep.

use std::{ops::Range, sync::Arc};

use access::{Asked, Operation, need::Need};
use bytes::Bytes;
use concurrency::{
    range_lock::ByteRange,
    rest_open::{RestOperation, RestRequest},
};
use store::{Read, Scope, Snapshot, StoreError, Txn, content_map, reader::ContentReader};

use crate::{
    Files,
    errors::FileError,
    handle_io::Look,
    history::At,
    keys, needs,
    object::{Address, NodeProperties},
    share,
    state::{Node, Share},
    tree::Tree,
    write::Preconditions,
};

/// How often a file is looked for again because it changed while it was opened.
const ATTEMPTS: usize = 64;
/// After so many of them a file that is written all the time is kept at once.
const UNKEPT: usize = 4;
/// Parts of a map that are opened at once.
const OPENED_AT_ONCE: usize = 512;

/// Get File.
#[derive(Clone, Debug)]
pub struct GetFile<'a> {
    /// The file that is read.
    pub address: Address,
    /// What it is decided by.
    pub preconditions: Preconditions<'a>,
    /// The bytes that are wanted: the first one, and the end, excluded, or all that follow; `None` for all.
    pub range: Option<(u64, Option<u64>)>,
}

impl Operation for GetFile<'_> {
    fn need(&self) -> Need<'_> {
        self.address.need(needs::READ)
    }
}

impl GetFile<'_> {
    pub(crate) fn open(&self) -> RestRequest {
        let range = self.range.and_then(|(start, end)| {
            let length = end.map_or(u64::MAX - start, |end| end.saturating_sub(start));
            ByteRange::new(start, length)
        });
        RestRequest { operation: RestOperation::GetFile, range, ignores_read_only: false }
    }

    fn wanted(&self, length: u64) -> Result<Range<u64>, FileError> {
        match self.range {
            None => Ok(0..length),
            Some((start, _)) if start >= length => Err(FileError::RangeBehindTheEnd { length }),
            Some((start, end)) => Ok(start..end.map_or(length, |end| end.min(length))),
        }
    }
}

/// A file that is open for reading.
pub struct Download {
    /// What it says about itself.
    pub properties: NodeProperties,
    /// Its bytes.
    pub reader: FileReader,
    /// Those that are wanted.
    pub range: Range<u64>,
}

/// The bytes of one state of a file.
pub struct FileReader(ContentReader);

impl FileReader {
    /// Up to `length` bytes from `offset`; fewer where the store prefers smaller pieces, none at the end. Reading on from
    /// where the last read ended is the quick way.
    ///
    /// # Errors
    /// The store failed.
    pub async fn read(&mut self, offset: u64, length: usize) -> Result<Bytes, FileError> {
        Ok(self.0.read(offset, length).await?)
    }

    /// A range as a whole, which must fit into memory.
    ///
    /// # Errors
    /// The store failed.
    pub async fn collect(&mut self, range: Range<u64>) -> Result<Bytes, FileError> {
        Ok(self.0.collect(range).await?)
    }

    /// The same in pieces that are not copied.
    pub(crate) async fn pieces(&mut self, range: Range<u64>) -> Result<Vec<Bytes>, FileError> {
        Ok(self.0.pieces(range).await?)
    }
}

impl Files {
    /// Opens a file, or the state of one that a snapshot of the share keeps, for reading.
    ///
    /// # Errors
    /// It does not exist or is a directory, what is open, a lease or a condition stands against it, the range begins behind
    /// its end, it changes too often, or the store failed.
    pub async fn get_file(&self, asked: &Asked<GetFile<'_>>) -> Result<Download, FileError> {
        for attempt in 0..ATTEMPTS {
            // The view is held until the bytes are open: until then nothing it refers to can go.
            let Look { rows, now, share, at, node } = self.look(asked, &asked.address).await?;
            let _claim = self.claim_at(at, share.unit, &node, asked.open())?;
            asked.preconditions.admit_read(&node, now)?;
            let Some(file) = &node.file else { return Err(FileError::ResourceTypeMismatch) };
            let range = asked.wanted(file.length)?;
            let opened = self.open_content(&rows, &share, at, &node, range.clone(), attempt >= UNKEPT).await?;
            if let Some(reader) = opened {
                return Ok(Download { properties: NodeProperties::of(node, now), reader, range });
            }
        }
        Err(FileError::ChangesTooOften)
    }

    /// Opens the bytes of a file as it was found. `None` when it changed meanwhile: find it again.
    pub(crate) async fn open_content(
        &self,
        rows: &Snapshot,
        share: &Share,
        at: At,
        node: &Node,
        range: Range<u64>,
        keep: bool,
    ) -> Result<Option<FileReader>, FileError> {
        let store = &self.store;
        let Some(file) = &node.file else { return Err(FileError::ResourceTypeMismatch) };
        let (content, epoch) = (file.content, file.epoch);
        if !keep {
            let wanted = (range.start, range.end);
            let (parts, more) = content_map::read(rows, content, epoch, wanted, OPENED_AT_ONCE).await?;
            if more.is_none() {
                return Ok(ContentReader::opened(store, parts, range.end).await?.map(FileReader));
            }
        }
        let pin = Arc::new(store.pins().hold(content));
        let unit = share.unit;
        // Asked of what is sequenced, as the prune asks: what is not durable yet may be pruned already.
        let kept = store.transact(Scope::new().reclaims(), |txn| async move {
            let Some(share) = share::of_unit(&txn, unit).await? else { return Ok(false) };
            let tree = Tree::of(&share);
            // Also what a snapshot shows may be the present row, whose writers keep it only as long as the snapshot is there.
            Ok(keep_epoch(&txn, &tree, at, node).await? || is_still(&txn, &tree, at, node).await?)
        });
        let kept = match kept.await {
            // Nobody writes any more.
            Err(FileError::Store(StoreError::Poisoned(_))) => {
                is_still(&store.snapshot(), &Tree::of(share), at, node).await?
            }
            kept => kept?,
        };
        Ok(kept.then(|| FileReader(ContentReader::map(store, content, epoch, range.end, pin))))
    }
}

/// What a snapshot keeps is what it was found as: the sweep of its content has not begun, and will see that it is held.
async fn is_still(rows: &impl Read, tree: &Tree, at: At, found: &Node) -> Result<bool, FileError> {
    let node = tree.node(rows, found.inode, at).await?;
    Ok(at != At::Present && node.is_some_and(|node| is_same(&node, found)))
}

/// True for the same state of the same content.
fn is_same(node: &Node, found: &Node) -> bool {
    let state = |node: &Node| node.file.as_ref().map(|file| (file.content, file.epoch));
    state(node) == state(found)
}

/// Moves the map of a file whose present state is read to its next epoch, so that its writers keep that. What they kept is
/// pruned once the content is not held any more. False when the file changed since, or is not the one that is read.
pub(crate) async fn keep_epoch(txn: &Txn, tree: &Tree, at: At, found: &Node) -> Result<bool, FileError> {
    let Some(mut node) = tree.node(txn, found.inode, At::Present).await? else { return Ok(false) };
    let seen = match at {
        At::Present => true,
        At::Epoch(epoch) => node.since <= epoch,
    };
    if !seen || !is_same(&node, found) || node.etag != found.etag {
        return Ok(false);
    }
    let before = node.file.as_ref().map(|file| file.epoch);
    tree.renew(&mut node);
    let Some(file) = &mut node.file else { return Ok(false) };
    if before == Some(file.epoch) {
        file.newest_shared_epoch = Some(file.epoch);
        file.epoch += 1;
    }
    txn.put(keys::prune_map(tree.share, node.inode, file.content), Bytes::new());
    tree.put_node(txn, &node).await?;
    Ok(true)
}
