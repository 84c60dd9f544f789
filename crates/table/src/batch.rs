//! Entity group transactions: up to 100 changes of entities with one PartitionKey, all or nothing, in one transaction.

use std::collections::HashSet;

use access::Authorized;
use store::{Scope, Store};
use types::limits::ENTITY_BATCH_MAX;

use crate::{
    entity::{ChangeEntity, Changed, apply},
    errors::TableError,
    table::find,
};

/// Why a batch was refused: the whole of it, because of one change. Nothing changed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{index}: {reason}")]
pub struct BatchError {
    /// The change, counted from zero.
    pub index: usize,
    /// What is wrong with it.
    pub reason: BatchRefusal,
}

/// What is wrong with a change of a batch.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BatchRefusal {
    /// There are more changes than a batch may have.
    #[error("the batch has more than 100 changes")]
    TooMany,
    /// Another PartitionKey, or another table, than the first change.
    #[error("all changes of a batch have the same table and PartitionKey")]
    OtherPartition,
    /// The entity stands in the batch twice.
    #[error("an entity is changed more than once in the batch")]
    Duplicate,
    /// It failed as it would have failed alone.
    #[error(transparent)]
    Change(#[from] TableError),
}

impl BatchError {
    fn at(index: usize) -> impl Fn(TableError) -> Self {
        move |error| Self { index, reason: error.into() }
    }
}

impl From<store::StoreError> for BatchError {
    fn from(error: store::StoreError) -> Self {
        Self { index: 0, reason: BatchRefusal::Change(error.into()) }
    }
}

/// Does all changes or none, in order.
///
/// No latch is taken: a batch has many rows, and holding several latches could wait in a circle. What another writer was
/// first with is found at the commit, and the batch is run again.
///
/// # Errors
/// The first change that cannot be done.
pub async fn execute(store: &Store, changes: &[Authorized<ChangeEntity<'_>>]) -> Result<Vec<Changed>, BatchError> {
    check(changes)?;
    let Some(first) = changes.first() else { return Ok(Vec::new()) };
    store
        .transact(Scope::new(), |txn| async move {
            let table = find(&txn, &first.table).await.map_err(BatchError::at(0))?.unit;
            let mut changed = Vec::with_capacity(changes.len());
            for (index, change) in changes.iter().enumerate() {
                changed.push(apply(&txn, table, change).await.map_err(BatchError::at(index))?);
            }
            Ok(changed)
        })
        .await
}

fn check(changes: &[Authorized<ChangeEntity<'_>>]) -> Result<(), BatchError> {
    if changes.len() > ENTITY_BATCH_MAX {
        return Err(BatchError { index: ENTITY_BATCH_MAX - 1, reason: BatchRefusal::TooMany });
    }
    let Some(first) = changes.first() else { return Ok(()) };
    let mut seen = HashSet::with_capacity(changes.len());
    for (index, change) in changes.iter().enumerate() {
        let reason = if change.table != first.table || change.key.partition() != first.key.partition() {
            BatchRefusal::OtherPartition
        } else if !seen.insert(change.key.row()) {
            BatchRefusal::Duplicate
        } else {
            continue;
        };
        return Err(BatchError { index, reason });
    }
    Ok(())
}
