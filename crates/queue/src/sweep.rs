//! Sweeping what Clear Messages and Delete Queue left behind: in bounded steps, whose state is in rows.
//!
//! Nobody else writes to such a line, except the expiry of its messages; both read the message they remove.

use bytes::Bytes;
use store::{Direction, Read, Scope, Store, Txn};

use crate::{
    errors::QueueError,
    keys::{self, Line},
    message, records,
    records::Stored,
};

/// Messages removed in one transaction.
const BATCH: usize = 256;
/// Lines looked at in a step, in one transaction each.
const LINES: usize = 64;

/// Does one bounded step. True when another would find something to do.
///
/// # Errors
/// The store failed.
pub async fn step(store: &Store) -> Result<bool, QueueError> {
    let sweeps = store.snapshot().scan(keys::sweeps(), Direction::Ascending).take(LINES).await?;
    let mut series = store.series();
    for row in &sweeps {
        let (line, progress) = (keys::parse_sweep(&row.key)?, &row.key);
        let scope = Scope::new().reclaims();
        series.transact(scope, |txn| async move { remove_some(&txn, line, progress).await }).await?;
    }
    series.durable().await?;
    Ok(!sweeps.is_empty())
}

async fn remove_some(txn: &Txn, line: Line, progress: &Bytes) -> Result<(), QueueError> {
    // Where the last step ended: what it removed is not walked over again.
    let Some(from) = txn.get(progress).await? else { return Ok(()) };
    let from = records::decode_place(&from)?;
    let rows = txn.scan(keys::messages_from(line, from), Direction::Ascending).take(BATCH).await?;
    for row in &rows {
        let (_, place) = keys::parse_message(&row.key)?;
        message::remove(txn, line, place, &Stored::decode(place, &row.value)?);
    }
    match rows.last() {
        Some(last) if rows.len() == BATCH => {
            let (_, place) = keys::parse_message(&last.key)?;
            txn.put(progress.clone(), records::encode_place(place.next()));
        }
        _ => {
            for row in txn.scan(keys::tallies(line), Direction::Ascending).take(usize::MAX).await? {
                txn.delete(row.key);
            }
            txn.delete(keys::mark(line));
            txn.delete(progress.clone());
        }
    }
    Ok(())
}
