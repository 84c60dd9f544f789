//! The bytes of a file as a map: what happens to it when the file is written, cut or gone.
//!
//! **Invariants.** Behind the end of a file nothing is visible: what a shorter length cut off may still be in the map, and is
//! removed before the file grows over it again. A content is released when neither the node nor anything that is kept of
//! it for snapshots needs it, in the transaction that takes the last one.

use bytes::Bytes;
use store::{
    Txn,
    content::{self, Holdings},
    content_map::{self, MapWriter},
};
use types::Inode;

use crate::{
    errors::FileError,
    keys,
    state::{File, Node},
    tree::Tree,
    usage,
};

/// Written parts that one transaction clears.
const CLEARED_AT_ONCE: usize = 8192;

/// A number of bytes as a change of a count.
pub(crate) fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// The node lets go of a content, which a snapshot keeps (`kept`) or may keep in an older state.
pub(crate) async fn let_go(txn: &Txn, tree: &Tree, inode: Inode, file: &File, kept: bool) -> Result<(), FileError> {
    if kept {
        return Ok(());
    }
    if file.newest_shared_epoch.is_some() && tree.history_needs(txn, inode, file.content).await? {
        txn.put(keys::prune_map(tree.share, inode, file.content), Bytes::new());
        return Ok(());
    }
    Ok(content::release(txn, file.content, Holdings::Map).await?)
}

/// Clears up to a number of written parts of a renewed file. Returns where to go on, `None` when the range is clear.
pub(crate) async fn clear(
    txn: &Txn,
    tree: &Tree,
    inode: Inode,
    file: &mut File,
    (start, end): (u64, u64),
) -> Result<Option<u64>, FileError> {
    let epochs = file.epochs();
    let (_, next) = content_map::read(txn, file.content, epochs.current, (start, end), CLEARED_AT_ONCE).await?;
    let mut map = MapWriter::new(txn, file.content, epochs);
    map.clear(start, next.unwrap_or(end)).await?;
    let freed = map.replaced();
    map.finish().await?;
    file.allocated = file.allocated.saturating_sub(freed);
    usage::shrink(txn, tree.share, inode, freed).await?;
    Ok(next)
}

/// Gives a renewed file another length, and cuts its map as far as one transaction goes. False when the file cannot grow
/// before what was cut off once is gone: see [`trim`].
pub(crate) async fn resize(txn: &Txn, tree: &Tree, node: &mut Node, length: u64) -> Result<bool, FileError> {
    let inode = node.inode;
    let Some(file) = &mut node.file else { return Err(FileError::ResourceTypeMismatch) };
    if length > file.length {
        if file.untrimmed {
            return Ok(false);
        }
        file.length = length;
    } else if length < file.length {
        file.length = length;
        cut(txn, tree, inode, file).await?;
    }
    Ok(true)
}

/// Cuts the map behind the end of a renewed file, as far as one transaction goes.
async fn cut(txn: &Txn, tree: &Tree, inode: Inode, file: &mut File) -> Result<(), FileError> {
    let done = clear(txn, tree, inode, file, (file.length, u64::MAX)).await?.is_none();
    let key = keys::node(keys::TRIM, tree.share, inode).build();
    if done {
        txn.delete(key)
    } else {
        txn.put(key, Bytes::new())
    }
    file.untrimmed = !done;
    Ok(())
}

/// Goes on cutting a file that was made shorter. True when nothing is left to cut.
pub(crate) async fn trim(txn: &Txn, tree: &Tree, inode: Inode) -> Result<bool, FileError> {
    let node = tree.node(txn, inode, crate::history::At::Present).await?;
    let Some(mut node) = node.filter(|node| node.file.as_ref().is_some_and(|file| file.untrimmed)) else {
        txn.delete(keys::node(keys::TRIM, tree.share, inode).build());
        return Ok(true);
    };
    tree.renew(&mut node);
    let Some(file) = &mut node.file else { return Ok(true) };
    cut(txn, tree, inode, file).await?;
    let done = !file.untrimmed;
    tree.put_node(txn, &node).await?;
    Ok(done)
}
