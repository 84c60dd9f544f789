//! Maps that hold more than anybody needs: rows of epochs that nobody reads any more, and what lies behind the end of a file
//! that was made shorter.

use bytes::Bytes;
use store::{
    Direction, Read, Store, StoreError, Txn,
    content::{self, Holdings, Pins},
    content_map::{self, Readers},
};
use types::{ContentId, Inode, UnitId};

use super::{first, scope};
use crate::{
    content::trim as go_on_cutting, errors::FileError, keys, records::PruneMapRecord, share, state::Node, tree::Tree,
};

/// Files looked at in a step.
const BATCH: usize = 64;
/// Rows of a map looked at in one transaction.
const ROWS: usize = 2048;

/// How far the walk over maps with something to prune is: those that downloads read wait, and nothing behind them does.
#[derive(Clone, Debug, Default)]
pub(super) struct MapCursor {
    reached: Option<Bytes>,
    /// Something was done since the walk began.
    worked: bool,
}

/// Prunes maps. One that a download reads is left alone until it has ended.
pub(super) async fn prune(store: &Store, cursor: &mut MapCursor) -> Result<bool, FileError> {
    let mut range = keys::all(keys::PRUNE_MAP);
    if let Some(reached) = &cursor.reached {
        range = range.after(reached);
    }
    let rows = first(store, range, BATCH).await?;
    let mut series = store.series();
    for row in &rows {
        let prune = |txn: Txn| async move { prune_some(&txn, &row.key, store.pins()).await };
        cursor.worked |= series.transact(scope(), prune).await?;
    }
    series.durable().await?;
    if rows.len() == BATCH {
        cursor.reached = rows.into_iter().last().map(|row| row.key);
        return Ok(true);
    }
    // The end: once more when something was done, else whoever is left waits for a download.
    Ok(std::mem::take(cursor).worked)
}

/// Who reads a map.
struct Needs {
    /// The epochs that rows of the history and copies read at, ascending.
    epochs: Vec<u64>,
    /// The present row, when it names the content.
    present: Option<Node>,
}

async fn needs(txn: &Txn, share: UnitId, inode: Inode, content: ContentId) -> Result<Needs, StoreError> {
    let epoch_of = |node: &Node| node.file.as_ref().filter(|file| file.content == content).map(|file| file.epoch);
    let mut epochs = Vec::new();
    let mut scan = txn.scan(keys::node(keys::NODE_HISTORY, share, inode).range(), Direction::Ascending);
    while let Some(row) = scan.next().await? {
        if let Some(epoch) = epoch_of(&Node::decode(&row.value)?)
            && epochs.last() != Some(&epoch)
        {
            epochs.push(epoch);
        }
    }
    let mut copies = txn.scan(keys::copy_sources(content), Direction::Ascending);
    while let Some(row) = copies.next().await? {
        let (_, epoch, _) = keys::parse_copy_source(&row.key)?;
        if let Err(place) = epochs.binary_search(&epoch) {
            epochs.insert(place, epoch);
        }
    }
    let row = txn.get(&keys::node(keys::NODE, share, inode).build()).await?;
    let present = row.map(|row| Node::decode(&row)).transpose()?.filter(|node| epoch_of(node).is_some());
    Ok(Needs { epochs, present })
}

/// Prunes a part of a map. False when it has to wait.
async fn prune_some(txn: &Txn, key: &Bytes, pins: &Pins) -> Result<bool, FileError> {
    let Some(row) = txn.get(key).await? else { return Ok(true) };
    let (share, inode, content) = keys::parse_prune_map(key)?;
    let from = PruneMapRecord::decode(&row)?.from;
    if txn.get(&keys::one(keys::SWEEP, share)).await?.is_some() {
        txn.delete(key.clone()); // the share is gone, and its sweep sees to everything
        return Ok(true);
    }
    let Needs { epochs, present } = needs(txn, share, inode, content).await?;
    if present.is_none() && epochs.is_empty() {
        // Two who let go of it at the same moment may both have left it to the other. To release it twice does no harm.
        content::release(txn, content, Holdings::Map).await?;
        txn.delete(key.clone());
        return Ok(true);
    }
    // A reader that comes after this look asks for the file again, in a transaction behind this one.
    if pins.is_held(content) {
        return Ok(false);
    }
    let readers = Readers { snapshots: &epochs, present: present.is_some() };
    // Before anything else, so that writers leave nothing behind where it has been already. Nobody sees it, so the row holds
    // since when it held.
    if let Some(mut node) = present
        && let Some(file) = &mut node.file
        && file.newest_shared_epoch != epochs.last().copied()
    {
        file.newest_shared_epoch = epochs.last().copied();
        txn.put(keys::node(keys::NODE, share, inode).build(), node.encode());
    }
    match content_map::prune(txn, content, readers, from, ROWS).await? {
        Some(from) => txn.put(key.clone(), PruneMapRecord { from }.encode()),
        None => txn.delete(key.clone()),
    }
    Ok(true)
}

/// Goes on cutting the maps of files that were made shorter.
pub(super) async fn trim(store: &Store) -> Result<bool, FileError> {
    let rows = first(store, keys::all(keys::TRIM), BATCH).await?;
    let mut series = store.series();
    for row in &rows {
        let (share, inode) = keys::parse_two(&row.key, keys::TRIM)?;
        let (share, inode) = (UnitId::new(share), Inode::new(inode));
        series.transact(scope(), |txn| async move { trim_some(&txn, share, inode).await }).await?;
    }
    series.durable().await?;
    Ok(!rows.is_empty())
}

async fn trim_some(txn: &Txn, share: UnitId, inode: Inode) -> Result<(), FileError> {
    match share::of_unit(txn, share).await? {
        Some(share) => go_on_cutting(txn, &Tree::of(&share), inode).await.map(|_| ()),
        None => {
            txn.delete(keys::node(keys::TRIM, share, inode).build()); // its sweep sees to everything
            Ok(())
        }
    }
}
