//! Shares that lost a snapshot: the rows of their histories that no snapshot sees any more.
//!
//! A snapshot that is taken meanwhile sees none of them: it reads at the present epoch, and what is in the history ended
//! at or before it.

use store::{Direction, Read, Row, Store, StoreError, Txn};
use types::UnitId;

use super::{first, scope};
use crate::{errors::FileError, history, keys, records::WalkRecord, share_snapshot, sharing};

/// Rows looked at in one transaction.
const BATCH: usize = 512;
/// Shares looked at in a step, in one transaction each.
const SHARES: usize = 32;

/// What is walked over.
const STAGES: [u8; 2] = [keys::NODE_HISTORY, keys::ENTRY_HISTORY];

pub(super) async fn step(store: &Store) -> Result<bool, FileError> {
    let shares = first(store, keys::all(keys::PRUNE), SHARES).await?;
    let mut series = store.series();
    for row in &shares {
        let share = UnitId::new(keys::parse_one(&row.key, keys::PRUNE)?);
        series.transact(scope(), |txn| async move { walk(&txn, share).await }).await?;
    }
    series.durable().await?;
    Ok(!shares.is_empty())
}

async fn walk(txn: &Txn, share: UnitId) -> Result<(), FileError> {
    let key = keys::one(keys::PRUNE, share);
    let Some(row) = txn.get(&key).await? else { return Ok(()) };
    let WalkRecord { mut stage, mut reached } = WalkRecord::decode(&row)?;
    if txn.get(&keys::one(keys::SWEEP, share)).await?.is_some() {
        txn.delete(key); // the share is gone, and its sweep sees to everything
        return Ok(());
    }
    let snapshots = share_snapshot::epochs(txn, share).await?;
    let mut left = BATCH;
    while let Some(kind) = STAGES.get(usize::from(stage)) {
        let range = keys::of_share(*kind, share).after(&reached);
        let rows = if range.is_empty() { Vec::new() } else { txn.scan(range, Direction::Ascending).take(left).await? };
        for row in &rows {
            look(txn, *kind, row, &snapshots).await?;
        }
        left -= rows.len();
        match rows.last() {
            Some(last) if left == 0 => {
                let next = WalkRecord { stage, reached: last.key.to_vec() };
                txn.put(key, next.encode());
                return Ok(());
            }
            _ => (stage, reached) = (stage + 1, Vec::new()),
        }
    }
    txn.delete(key);
    Ok(())
}

/// Removes a row when no snapshot sees it.
async fn look(txn: &Txn, kind: u8, row: &Row, snapshots: &[u64]) -> Result<(), StoreError> {
    let until = match kind {
        keys::NODE_HISTORY => keys::parse_node_history(&row.key)?.2,
        _ => keys::parse_entry_history(&row.key)?.3,
    };
    if history::is_seen(snapshots, history::since(&row.value)?, until) {
        return Ok(());
    }
    txn.delete(row.key.clone());
    if kind == keys::NODE_HISTORY
        && let Some(content) = sharing::content_of(&row.value)?
    {
        sharing::history_lets_go(txn, &row.key, content).await?;
    }
    Ok(())
}
