//! Sweeping what Clear Messages and Delete Queue left behind: in bounded steps, whose state is in rows.
//!
//! Nobody else writes to such an index, except the expiry of its messages; both read the message they remove.

use bytes::Bytes;
use jobs::{Job, Progress};
use store::{Direction, Read, Scope, Store, Txn};

use crate::{
    errors::QueueError,
    keys::{self, MessageIndex},
    message, records,
    records::StoredMessage,
};

/// Messages removed in one transaction.
const BATCH: usize = 256;
/// Indexes looked at in a step, in one transaction each.
const INDEXES: usize = 64;

/// Removes the messages of indexes that are gone. What is done are indexes looked at.
#[derive(Debug)]
pub struct SweepQueues;

impl Job for SweepQueues {
    const NAME: &'static str = "queues";
    type Cursor = ();
    type Error = QueueError;

    async fn step(store: &Store, (): &mut ()) -> Result<Progress, QueueError> {
        let sweeps = store.snapshot().scan(keys::sweeps(), Direction::Ascending).take(INDEXES).await?;
        let mut series = store.series();
        for row in &sweeps {
            let (index, progress) = (keys::parse_sweep(&row.key)?, &row.key);
            let scope = Scope::new().reclaims();
            series.transact(scope, |txn| async move { remove_some(&txn, index, progress).await }).await?;
        }
        series.durable().await?;
        Ok(Progress::found(sweeps.len()))
    }
}

async fn remove_some(txn: &Txn, index: MessageIndex, progress: &Bytes) -> Result<(), QueueError> {
    // Where the last step ended: what it removed is not walked over again.
    let Some(from) = txn.get(progress).await? else { return Ok(()) };
    let from = records::decode_place(&from)?;
    let rows = txn.scan(keys::messages_from(index, from), Direction::Ascending).take(BATCH).await?;
    for row in &rows {
        let (_, place) = keys::parse_message(&row.key)?;
        message::remove(txn, index, place, &StoredMessage::decode(place, &row.value)?);
    }
    match rows.last() {
        Some(last) if rows.len() == BATCH => {
            let (_, place) = keys::parse_message(&last.key)?;
            txn.put(progress.clone(), records::encode_place(place.next()));
        }
        _ => {
            for row in txn.scan(keys::tallies(index), Direction::Ascending).take(usize::MAX).await? {
                txn.delete(row.key);
            }
            txn.delete(keys::mark(index));
            txn.delete(progress.clone());
        }
    }
    Ok(())
}
