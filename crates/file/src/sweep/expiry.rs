//! Deleted shares whose time is over.

use store::{Read, Store, Txn};

use super::{first, scope};
use crate::{errors::FileError, keys, records::DeletedShare, share_delete};

/// Shares looked at in a step.
const BATCH: usize = 64;

pub(super) async fn step(store: &Store) -> Result<bool, FileError> {
    let due = first(store, keys::due(keys::DELETED_SHARE_DEADLINE, store.now()), BATCH).await?;
    let mut series = store.series();
    for row in &due {
        series.transact(scope(), |txn| async move { expire(&txn, &row.key).await }).await?;
    }
    series.durable().await?;
    Ok(!due.is_empty())
}

async fn expire(txn: &Txn, deadline: &bytes::Bytes) -> Result<(), FileError> {
    if txn.get(deadline).await?.is_none() {
        return Ok(()); // restored, or somebody was faster
    }
    let (_, account, name, version) = keys::parse_deleted_share_deadline(deadline)?;
    txn.delete(deadline.clone());
    let key = keys::deleted_share(account, &name, version);
    if let Some(row) = txn.get(&key).await? {
        let unit = DeletedShare::decode(&row)?.share.unit;
        txn.delete(key);
        txn.delete(keys::one(keys::DELETED_UNIT, unit));
        share_delete::sweep(txn, unit);
    }
    Ok(())
}
