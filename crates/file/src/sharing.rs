//! Which rows name a content: the present row of a file, and rows of its history that snapshots keep.
//!
//! **Invariants.** A content belongs to one inode, and a file that got a new content never takes up an old one: in the order
//! of the history, with the present last, the rows that name one content follow each other. A content is released in the
//! transaction that removes the last row that names it.

use bytes::Bytes;
use store::{
    Direction, Read, StoreError, Txn,
    content::{self, Holdings},
};
use types::ContentId;

use crate::{keys, state::Node};

/// The content that a row of a node names.
pub(crate) fn content_of(row: &[u8]) -> Result<Option<ContentId>, StoreError> {
    Ok(Node::decode(row)?.file.map(|file| file.content))
}

/// The content that the row behind one of the history names, of the same inode: a later one of the history, or the present.
pub(crate) async fn content_behind(txn: &Txn, history: &Bytes) -> Result<Option<ContentId>, StoreError> {
    let (share, inode, _) = keys::parse_node_history(history)?;
    let behind = keys::node(keys::NODE_HISTORY, share, inode).range().after(history);
    let next = match txn.scan(behind, Direction::Ascending).next().await? {
        Some(row) => Some(row.value),
        None => txn.get(&keys::node(keys::NODE, share, inode).build()).await?,
    };
    Ok(next.map(|row| content_of(&row)).transpose()?.flatten())
}

/// A row of the history that named this content is gone: the content is released, or its map pruned when another row names
/// it. Should the present row let go of it at the same moment and see the row that is gone here, the prune releases it.
pub(crate) async fn history_lets_go(txn: &Txn, gone: &Bytes, content: ContentId) -> Result<(), StoreError> {
    let (share, inode, _) = keys::parse_node_history(gone)?;
    let mut before = keys::node(keys::NODE_HISTORY, share, inode).range();
    before.end = Some(gone.clone());
    let before = txn.scan(before, Direction::Descending).next().await?;
    let before = before.map(|row| content_of(&row.value)).transpose()?.flatten();
    if before == Some(content) || content_behind(txn, gone).await? == Some(content) {
        txn.put(keys::prune_map(share, inode, content), Bytes::new());
        return Ok(());
    }
    content::release(txn, content, Holdings::Map).await
}
