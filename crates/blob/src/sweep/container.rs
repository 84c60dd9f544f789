//! Sweeping deleted containers: their blobs, then their snapshots.

use bytes::Bytes;
use jobs::{Job, Progress};
use store::{Direction, Read, Row, Store, Txn, key::KeyRange};
use types::UnitId;

use super::{first, scope};
use crate::{
    errors::BlobError,
    keys,
    lifecycle::{self, Place},
    records::SweepRecord,
    sharing,
    state::Blob,
};

/// Blobs removed in one transaction: also with the longest names, all tags and everything else that goes with a blob, about
/// 50 KiB of keys each, they fit into one.
const BATCH: usize = 128;

/// Containers looked at in a step, in one transaction each.
const CONTAINERS: usize = 32;

/// Removes what is in deleted containers. What is done are containers looked at.
#[derive(Debug)]
pub struct SweepContainers;

impl Job for SweepContainers {
    const NAME: &'static str = "containers";
    type Cursor = ();
    type Error = BlobError;

    async fn step(store: &Store, (): &mut ()) -> Result<Progress, BlobError> {
        step(store).await
    }
}

async fn step(store: &Store) -> Result<Progress, BlobError> {
    let sweeps = first(store, keys::all(keys::SWEEP), CONTAINERS).await?;
    let mut series = store.series();
    for row in &sweeps {
        let container = UnitId::new(keys::parse_one(&row.key, keys::SWEEP)?);
        series.transact(scope(), |txn| async move { remove_some(&txn, container).await }).await?;
    }
    series.durable().await?;
    Ok(Progress::found(sweeps.len()))
}

async fn remove_some(txn: &Txn, container: UnitId) -> Result<(), BlobError> {
    let Some(row) = txn.get(&keys::sweep(container)).await? else { return Ok(()) };
    let sweep = &SweepRecord::decode(&row)?;
    let mut reached = blobs(txn, sweep, container).await?;
    if reached.is_none() {
        reached = snapshots(txn, sweep, container).await?;
    }
    match reached {
        Some(reached) => {
            let next = SweepRecord { account: sweep.account, reached: reached.to_vec() };
            txn.put(keys::sweep(container), next.encode());
        }
        None => txn.delete(keys::sweep(container)),
    }
    Ok(())
}

/// The next rows of a range, behind what was removed before.
async fn next(txn: &Txn, range: KeyRange, sweep: &SweepRecord) -> Result<Vec<Row>, BlobError> {
    let range = range.after(&sweep.reached);
    if range.end.as_ref().is_some_and(|end| range.start >= *end) {
        return Ok(Vec::new());
    }
    Ok(txn.scan(range, Direction::Ascending).take(BATCH).await?)
}

/// Where to go on when there was a full batch.
fn last(rows: Vec<Row>) -> Option<Bytes> {
    if rows.len() < BATCH { None } else { rows.into_iter().last().map(|row| row.key) }
}

/// Removes some blobs.
async fn blobs(txn: &Txn, sweep: &SweepRecord, container: UnitId) -> Result<Option<Bytes>, BlobError> {
    let rows = next(txn, keys::blobs(container, ""), sweep).await?;
    for row in &rows {
        let (_, name) = keys::parse_blob(&row.key)?;
        let place = Place { account: UnitId::new(sweep.account), container, name: &name };
        lifecycle::replace(txn, place, &Blob::decode(&row.value)?).await?;
        txn.delete(row.key.clone());
    }
    Ok(last(rows))
}

/// Removes some snapshots, whose blobs are gone.
async fn snapshots(txn: &Txn, sweep: &SweepRecord, container: UnitId) -> Result<Option<Bytes>, BlobError> {
    let rows = next(txn, keys::snapshots_of_container(container), sweep).await?;
    for row in &rows {
        let (_, name, time) = keys::parse_snapshot(&row.key)?;
        let place = Place { account: UnitId::new(sweep.account), container, name: &name };
        sharing::snapshot_goes(txn, place, &Blob::decode(&row.value)?, time.ticks(), None).await?;
        txn.delete(row.key.clone());
    }
    Ok(last(rows))
}
