//! Expiry: messages whose time to live is over are removed in bounded steps, in the order of their expiry.
//!
//! Nobody is shown an expired message before it is removed; this gives back what it takes.

use std::{collections::BTreeMap, time::Duration};

use jobs::{Job, Progress};
use store::{Direction, Read, Scope, Store, StoreError, Txn};
use types::Timestamp;

use crate::{
    errors::QueueError,
    keys::{self, MessageIndex},
    message, records,
    records::StoredMessage,
    tally,
};

/// Messages removed in one transaction.
const BATCH: usize = 512;
/// What was looked through is looked through again for this long, because a slow Put Message may still be on its way
/// there. A message lives for a second at least.
const AGAIN: Duration = Duration::from_mins(10);

/// Up to when everything was removed. Only saves scanning over tombstones: a new one finds the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cursor(Timestamp);

/// Removes expired messages. What is done are messages.
#[derive(Debug)]
pub struct ExpireMessages;

impl Job for ExpireMessages {
    const NAME: &'static str = "messages";
    type Cursor = Cursor;
    type Error = QueueError;

    async fn step(store: &Store, cursor: &mut Cursor) -> Result<Progress, QueueError> {
        step(store, cursor).await
    }
}

async fn step(store: &Store, cursor: &mut Cursor) -> Result<Progress, QueueError> {
    let now = store.now();
    let due = store.snapshot().scan(keys::expiries(cursor.0, now), Direction::Ascending).take(BATCH).await?;
    let Some(last) = due.last() else {
        cursor.0 = earlier(now, AGAIN).max(cursor.0);
        return Ok(Progress::default());
    };
    let reached = keys::parse_expiry(&last.key)?.0;
    let due = &due;
    store
        .transact(Scope::new().reclaims(), |txn| async move {
            let mut gone: BTreeMap<MessageIndex, i64> = BTreeMap::new();
            for row in due {
                if let Some(index) = remove(&txn, &row.key, now).await? {
                    *gone.entry(index).or_default() += 1;
                }
            }
            for (index, count) in gone {
                tally::add(&txn, index, tally::BACKGROUND, -count).await?;
            }
            Ok::<_, QueueError>(())
        })
        .await?;
    cursor.0 = reached.min(earlier(now, AGAIN)).max(cursor.0);
    Ok(Progress { more: due.len() == BATCH, ..Progress::found(due.len()) })
}

/// Removes the message that a row of the expiry index leads to. `None` when somebody else did.
async fn remove(txn: &Txn, key: &[u8], now: Timestamp) -> Result<Option<MessageIndex>, StoreError> {
    let Some(row) = txn.get(key).await? else { return Ok(None) };
    let ((_, index, _), place) = (keys::parse_expiry(key)?, records::decode_place(&row)?);
    let Some(found) = txn.get(&keys::message(index, place)).await? else {
        return Err(StoreError::corrupt("the expiry of a message leads nowhere"));
    };
    let stored = StoredMessage::decode(place, &found)?;
    if stored.message.expiry > now {
        return Err(StoreError::corrupt("the expiry of a message is not its own"));
    }
    message::remove(txn, index, place, &stored);
    Ok(Some(index))
}

fn earlier(instant: Timestamp, by: Duration) -> Timestamp {
    let passed = instant.saturating_since(Timestamp::EPOCH).saturating_sub(by);
    Timestamp::EPOCH.saturating_add(passed)
}
