//! Sweeping deleted containers: their blobs go in bounded steps, whose state is in rows.

use store::{Direction, Read, Scope, Store};
use types::UnitId;

use crate::{errors::BlobError, keys, object, records::Blob};

/// Blobs removed in one transaction.
const BATCH: usize = 256;

/// Does one bounded step. True when another would find something to do.
///
/// # Errors
/// The store failed.
pub async fn step(store: &Store) -> Result<bool, BlobError> {
    let sweeps = store.snapshot().scan(keys::sweeps(), Direction::Ascending).take(1).await?;
    let Some(row) = sweeps.first() else { return Ok(false) };
    let container = keys::parse_sweep(&row.key)?;
    store
        .transact(Scope::unit(UnitId::new(0)).reclaims(), |txn| async move {
            let rows = txn.scan(keys::blobs(container, ""), Direction::Ascending).take(BATCH).await?;
            for row in &rows {
                object::release(&txn, &Blob::decode(&row.value)?).await?;
                txn.delete(row.key.clone());
            }
            if rows.len() < BATCH {
                txn.delete(keys::sweep(container));
            }
            Ok::<_, BlobError>(())
        })
        .await?;
    Ok(true)
}
