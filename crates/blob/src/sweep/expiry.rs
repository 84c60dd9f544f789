//! Blobs whose time is over, and snapshots whose blob is gone: their rows and their space.

use jobs::{Job, Progress};
use store::{Read, Store, Txn};
use types::{Timestamp, UnitId};

use super::{first, scope};
use crate::{
    errors::BlobError,
    keys,
    lifecycle::{self, Place},
    records::UnitRecord,
    snapshot,
    state::Blob,
};

/// Blobs removed in a step.
const BATCH: usize = 256;
/// Snapshots of one blob removed in one transaction.
const SNAPSHOTS: usize = 256;

/// Removes blobs whose time is over. What is done are blobs.
#[derive(Debug)]
pub struct ExpireBlobs;

impl Job for ExpireBlobs {
    const NAME: &'static str = "blobs";
    type Cursor = ();
    type Error = BlobError;

    async fn step(store: &Store, (): &mut ()) -> Result<Progress, BlobError> {
        step(store).await
    }
}

async fn step(store: &Store) -> Result<Progress, BlobError> {
    let due = first(store, keys::due(keys::EXPIRY, store.now()), BATCH).await?;
    let mut series = store.series();
    for row in &due {
        let (time, container, name) = &keys::parse_expiry(&row.key)?;
        series.transact(scope(), |txn| async move { expire(&txn, *time, *container, name).await }).await?;
    }
    series.durable().await?;
    Ok(Progress::found(due.len()))
}

async fn expire(txn: &Txn, time: Timestamp, container: UnitId, name: &str) -> Result<(), BlobError> {
    let key = keys::expiry(time, container, name);
    if txn.get(&key).await?.is_none() {
        return Ok(()); // somebody was faster
    }
    txn.delete(key);
    let Some(unit) = txn.get(&keys::unit(container)).await? else {
        return Ok(()); // the container is gone, and its sweep sees to everything
    };
    let account = UnitId::new(UnitRecord::decode(&unit)?.account);
    let place = Place { account, container, name };
    match txn.get(&place.key()).await?.map(|row| Blob::decode(&row)).transpose()? {
        Some(blob) if blob.is_expired(txn.now()) => lifecycle::delete(txn, place, &blob).await,
        Some(mut blob) => {
            if snapshot::remove_some(txn, place, Some(&mut blob), SNAPSHOTS).await? > 0 {
                place.put(txn, &blob);
            }
            Ok(())
        }
        None => snapshot::remove_some(txn, place, None, SNAPSHOTS).await.map(|_| ()),
    }
}
