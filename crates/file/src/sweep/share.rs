//! Sweeping deleted shares: every row of every kind that a share has, one kind behind the other.
//!
//! **Invariant.** Each content is released once, with the last row that names it. Of one inode those rows follow each other, so
//! what a row of the history names is looked for in the row behind it, and the present one is the last of all.

use store::{
    Direction, Read, Row, Store, StoreError, Txn,
    content::{self, Holdings},
};
use types::UnitId;

use super::{first, scope};
use crate::{
    copy,
    errors::FileError,
    keys,
    records::{CopyJob, WalkRecord},
    sharing::{content_behind, content_of},
};

/// Rows removed in one transaction. Their keys fit into it, also with the longest names.
const BATCH: usize = 512;
/// Shares looked at in a step, in one transaction each.
const SHARES: usize = 32;

/// The kinds of rows that a share has, in the order in which they go. The share's own rows went when it was deleted.
const STAGES: [u8; 11] = [
    keys::NODE_HISTORY,
    keys::NODE,
    keys::ENTRY_HISTORY,
    keys::ENTRY,
    keys::PERMISSION,
    keys::USAGE,
    keys::SHARE_SNAPSHOT,
    keys::PRUNE,
    keys::PRUNE_MAP,
    keys::TRIM,
    keys::COPY,
];

pub(super) async fn step(store: &Store) -> Result<bool, FileError> {
    let sweeps = first(store, keys::all(keys::SWEEP), SHARES).await?;
    let mut series = store.series();
    for row in &sweeps {
        let share = UnitId::new(keys::parse_one(&row.key, keys::SWEEP)?);
        series.transact(scope(), |txn| async move { remove_some(&txn, share).await }).await?;
    }
    series.durable().await?;
    Ok(!sweeps.is_empty())
}

async fn remove_some(txn: &Txn, share: UnitId) -> Result<(), FileError> {
    let key = keys::one(keys::SWEEP, share);
    let Some(row) = txn.get(&key).await? else { return Ok(()) };
    let WalkRecord { mut stage, mut reached } = WalkRecord::decode(&row)?;
    // Several stages in one transaction, as long as it is small: most shares have few rows.
    let mut left = BATCH;
    while let Some(kind) = STAGES.get(usize::from(stage)) {
        let range = keys::of_share(*kind, share).after(&reached);
        let rows = if range.is_empty() { Vec::new() } else { txn.scan(range, Direction::Ascending).take(left).await? };
        for row in &rows {
            remove(txn, *kind, row).await?;
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

async fn remove(txn: &Txn, kind: u8, row: &Row) -> Result<(), StoreError> {
    match kind {
        keys::NODE_HISTORY => {
            if let Some(content) = content_of(&row.value)?
                && content_behind(txn, &row.key).await? != Some(content)
            {
                content::release(txn, content, Holdings::Map).await?;
            }
        }
        keys::NODE => {
            if let Some(content) = content_of(&row.value)? {
                content::release(txn, content, Holdings::Map).await?;
            }
        }
        keys::COPY => copy::let_go(txn, &CopyJob::decode(&row.value)?).await?,
        _ => {}
    }
    txn.delete(row.key.clone());
    Ok(())
}
