//! Sweeping deleted containers: their blobs, then their snapshots.

use store::{Direction, Read, Store, Txn};
use types::UnitId;

use super::{first, scope};
use crate::{
    errors::BlobError,
    keys,
    lifecycle::{self, Place},
    records::{Blob, PlaceRecord},
    sharing,
};

/// Blobs removed in one transaction.
const BATCH: usize = 256;

pub(super) async fn step(store: &Store) -> Result<bool, BlobError> {
    let sweeps = first(store, keys::all(keys::SWEEP), 1).await?;
    let Some(row) = sweeps.first() else { return Ok(false) };
    let container = UnitId::new(keys::parse_one(&row.key, keys::SWEEP)?);
    let account = UnitId::new(PlaceRecord::decode(&row.value)?.id);
    store
        .transact(scope(), |txn| async move {
            if !blobs(&txn, account, container).await? && !snapshots(&txn, account, container).await? {
                txn.delete(keys::sweep(container));
            }
            Ok::<_, BlobError>(())
        })
        .await?;
    Ok(true)
}

/// Removes some blobs. True when there was a full batch of them.
async fn blobs(txn: &Txn, account: UnitId, container: UnitId) -> Result<bool, BlobError> {
    let rows = txn.scan(keys::blobs(container, ""), Direction::Ascending).take(BATCH).await?;
    for row in &rows {
        let (_, name) = keys::parse_blob(&row.key)?;
        let place = Place { account, container, name: &name };
        lifecycle::replace(txn, place, &Blob::decode(&row.value)?).await?;
        txn.delete(row.key.clone());
    }
    Ok(rows.len() == BATCH)
}

/// Removes some snapshots, whose blobs are gone. True when there was a full batch of them.
async fn snapshots(txn: &Txn, account: UnitId, container: UnitId) -> Result<bool, BlobError> {
    let rows = txn.scan(keys::snapshots_of_container(container), Direction::Ascending).take(BATCH).await?;
    for row in &rows {
        let (_, name, time) = keys::parse_snapshot(&row.key)?;
        let place = Place { account, container, name: &name };
        sharing::snapshot_goes(txn, place, &Blob::decode(&row.value)?, time.ticks(), None).await?;
        txn.delete(row.key.clone());
    }
    Ok(rows.len() == BATCH)
}
