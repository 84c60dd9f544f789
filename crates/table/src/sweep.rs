//! Sweeping deleted tables: their entities go in bounded steps, whose state is in rows.

use store::{Direction, Read, Scope, Store, key::KeyRange};
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
    let (swept, progress) = (keys::parse_sweep(&row.key)?, &row.key);
    store
        .transact(Scope::unit(UnitId::new(0)).reclaims(), |txn| async move {
            // The key at which the last step ended: what it removed is not walked over again.
            let Some(reached) = txn.get(progress).await? else { return Ok(()) };
            let all = table::contents(swept);
            let rest = KeyRange { start: all.start.max(reached), end: all.end };
            let rows = txn.scan(rest, Direction::Ascending).take(BATCH).await?;
            for row in &rows {
                txn.delete(row.key.clone());
            }
            match rows.last() {
                Some(last) if rows.len() == BATCH => txn.put(progress.clone(), last.key.clone()),
                _ => txn.delete(progress.clone()),
            }
            Ok::<_, TableError>(())
        })
        .await?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use store_memory::MemoryEngine;

    use super::*;
    use crate::EntityKey;

    #[tokio::test]
    async fn a_step_goes_on_where_the_last_one_ended() {
        let store = Store::new(std::sync::Arc::new(MemoryEngine::default()));
        let (gone, other) = (UnitId::new(7), UnitId::new(8));
        let key = |table, row: usize| keys::entity(table, &EntityKey::new("p", format!("{row:04}")).unwrap());
        let filled = store.transact(Scope::unit(gone), |txn| async move {
            (0..2 * BATCH).for_each(|row| txn.put(key(gone, row), Bytes::new()));
            txn.put(key(other, 0), Bytes::new());
            txn.put(keys::sweep(gone), Bytes::new());
            Ok::<_, TableError>(())
        });
        filled.await.unwrap();
        let left = async || {
            let rows = store.snapshot();
            let entities = rows.scan(keys::all_entities(), Direction::Ascending).take(usize::MAX).await.unwrap();
            (entities.len(), rows.get(&keys::sweep(gone)).await.unwrap())
        };
        for (rows, reached) in [(BATCH, Some(key(gone, BATCH - 1))), (0, Some(key(gone, 2 * BATCH - 1))), (0, None)] {
            assert!(step(&store).await.unwrap());
            assert_eq!(left().await, (rows + 1, reached), "and the one of another table");
        }
        assert!(!step(&store).await.unwrap());
    }
}
