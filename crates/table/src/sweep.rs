//! Sweeping deleted tables: their entities go in bounded steps, whose state is in rows.

use store::{Direction, Read, Scope, Store};
use types::UnitId;

use crate::{errors::TableError, keys, table};

/// Entities removed in one transaction.
const BATCH: usize = 512;

/// Does one bounded step. True when another would find something to do.
///
/// # Errors
/// The store failed.
pub async fn step(store: &Store) -> Result<bool, TableError> {
    let sweeps = store.snapshot().scan(keys::sweeps(), Direction::Ascending).take(1).await?;
    let Some(row) = sweeps.first() else { return Ok(false) };
    let swept = keys::parse_sweep(&row.key)?;
    store
        .transact(Scope::unit(UnitId::new(0)).reclaims(), |txn| async move {
            let rows = txn.scan(table::contents(swept), Direction::Ascending).take(BATCH).await?;
            for row in &rows {
                txn.delete(row.key.clone());
            }
            if rows.len() < BATCH {
                txn.delete(keys::sweep(swept));
            }
            Ok::<_, TableError>(())
        })
        .await?;
    Ok(true)
}
