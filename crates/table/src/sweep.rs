//! Sweeping deleted tables: their entities go in bounded steps, whose state is in rows.

use bytes::Bytes;
use jobs::{Job, Progress};
use store::{Direction, Read, Scope, Store, Txn, key::KeyRange};
use types::UnitId;

use crate::{errors::TableError, keys, records, table};

/// Entities removed in one transaction.
const BATCH: usize = 512;
/// Tables looked at in a step, in one transaction each.
const TABLES: usize = 64;

/// Removes the entities of tables that are gone. What is done are tables looked at.
#[derive(Debug)]
pub struct SweepTables;

impl Job for SweepTables {
    const NAME: &'static str = "tables";
    type Cursor = ();
    type Error = TableError;

    async fn step(store: &Store, (): &mut ()) -> Result<Progress, TableError> {
        let sweeps = store.snapshot().scan(keys::sweeps(), Direction::Ascending).take(TABLES).await?;
        let mut series = store.series();
        for row in &sweeps {
            let (swept, progress) = (keys::parse_sweep(&row.key)?, &row.key);
            let scope = Scope::new().reclaims();
            series.transact(scope, |txn| async move { remove_some(&txn, swept, progress).await }).await?;
        }
        series.durable().await?;
        Ok(Progress::found(sweeps.len()))
    }
}

async fn remove_some(txn: &Txn, swept: UnitId, progress: &Bytes) -> Result<(), TableError> {
    // The key at which the last step ended: what it removed is not walked over again.
    let Some(reached) = txn.get(progress).await? else { return Ok(()) };
    let reached = records::decode_sweep(&reached)?;
    let all = table::contents(swept);
    let rest = KeyRange { start: all.start.max(reached), end: all.end };
    let rows = txn.scan(rest, Direction::Ascending).take(BATCH).await?;
    for row in &rows {
        txn.delete(row.key.clone());
    }
    match rows.last() {
        Some(last) if rows.len() == BATCH => txn.put(progress.clone(), records::encode_sweep(&last.key)),
        _ => txn.delete(progress.clone()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use store_memory::MemoryEngine;

    use super::*;
    use crate::EntityKey;

    async fn more(store: &Store) -> bool {
        SweepTables::step(store, &mut ()).await.unwrap().more
    }

    #[tokio::test]
    async fn a_step_goes_on_where_the_last_one_ended() {
        let store = Store::new(std::sync::Arc::new(MemoryEngine::default()));
        let (gone, other) = (UnitId::new(7), UnitId::new(8));
        let key = |table, row: usize| keys::entity(table, &EntityKey::new("p", format!("{row:04}")).unwrap());
        let filled = store.transact(Scope::new(), |txn| async move {
            (0..2 * BATCH).for_each(|row| txn.put(key(gone, row), Bytes::new()));
            txn.put(key(other, 0), Bytes::new());
            txn.put(keys::sweep(gone), records::encode_sweep(b""));
            Ok::<_, TableError>(())
        });
        filled.await.unwrap();
        let left = async || {
            let rows = store.snapshot();
            let entities = rows.scan(keys::all_entities(), Direction::Ascending).take(usize::MAX).await.unwrap();
            let progress = rows.get(&keys::sweep(gone)).await.unwrap();
            (entities.len(), progress.map(|row| records::decode_sweep(&row).unwrap()))
        };
        for (rows, reached) in [(BATCH, Some(key(gone, BATCH - 1))), (0, Some(key(gone, 2 * BATCH - 1))), (0, None)] {
            assert!(more(&store).await);
            assert_eq!(left().await, (rows + 1, reached), "and the one of another table");
        }
        assert!(!more(&store).await);
    }

    #[tokio::test]
    async fn tables_that_come_and_go_were_swept_one_a_step() {
        let store = Store::new(std::sync::Arc::new(MemoryEngine::default()));
        let deleted = store.transact(Scope::new(), |txn| async move {
            for table in 0..100 {
                txn.put(keys::entity(UnitId::new(table), &EntityKey::new("p", "r").unwrap()), Bytes::new());
                txn.put(keys::sweep(UnitId::new(table)), records::encode_sweep(b""));
            }
            Ok::<_, TableError>(())
        });
        deleted.await.unwrap();
        let mut steps = 0;
        while more(&store).await {
            steps += 1;
        }
        assert_eq!(steps, 2);
        let rows = store.snapshot();
        assert!(rows.scan(keys::all_entities(), Direction::Ascending).next().await.unwrap().is_none());
    }
}
