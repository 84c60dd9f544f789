//! Sweeping what Clear Messages and Delete Queue left behind: in bounded steps, whose state is in rows.
//!
//! Nobody else writes to such a line, except the expiry of its messages; both read the message they remove.

use store::{Direction, Read, Scope, Store};
use types::UnitId;

use crate::{errors::QueueError, keys, message, records, records::Stored};

/// Messages removed in one transaction.
const BATCH: usize = 256;

/// Does one bounded step. True when another would find something to do.
///
/// # Errors
/// The store failed.
pub async fn step(store: &Store) -> Result<bool, QueueError> {
    let sweeps = store.snapshot().scan(keys::sweeps(), Direction::Ascending).take(1).await?;
    let Some(row) = sweeps.first() else { return Ok(false) };
    let (line, progress) = (keys::parse_sweep(&row.key)?, &row.key);
    store
        .transact(Scope::unit(UnitId::new(0)).reclaims(), |txn| async move {
            // Where the last step ended: what it removed is not walked over again.
            let Some(from) = txn.get(progress).await? else { return Ok(()) };
            let from = records::decode_place(&from)?;
            let rows = txn.scan(keys::messages_from(line, from), Direction::Ascending).take(BATCH).await?;
            for row in &rows {
                let (_, place) = keys::parse_message(&row.key)?;
                message::remove(&txn, line, place, &Stored::decode(place, &row.value)?);
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
            Ok::<_, QueueError>(())
        })
        .await?;
    Ok(true)
}
