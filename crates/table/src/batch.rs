//! Entity group transactions: up to 100 changes of entities with one PartitionKey, all or nothing, in one transaction.

use std::collections::HashSet;

use access::{Asked, Authorized};
use store::{Read, Scope, Txn};
use types::limits::ENTITY_BATCH_MAX;

use crate::{
    Tables,
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

impl Tables {
    /// Does all changes of an entity group transaction or none, in order.
    ///
    /// No latch is taken: a batch has many rows, and holding several latches could wait in a circle. What another writer
    /// was first with is found at the commit, and the batch is run again.
    ///
    /// # Errors
    /// The first change that is not allowed, or else the first that cannot be done.
    pub async fn entity_group_transaction(
        &self,
        asked: &[Asked<ChangeEntity<'_>>],
    ) -> Result<Vec<Changed>, BatchError> {
        if asked.len() > ENTITY_BATCH_MAX {
            return Err(BatchError { index: ENTITY_BATCH_MAX - 1, reason: BatchRefusal::TooMany });
        }
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let execute = |txn| async move { execute(&txn, &authorize(&txn, asked).await?).await };
        self.store.transact(Scope::new(), execute).await
    }

    /// Whether these changes are allowed by now: for a batch whose later parts cannot be read. Who may not do what stands
    /// before is told that, and no more.
    ///
    /// # Errors
    /// The first change that is not allowed.
    pub async fn may_change_entities(&self, asked: &[Asked<ChangeEntity<'_>>]) -> Result<(), BatchError> {
        authorize(&self.store.snapshot(), asked).await.map(drop)
    }
}

async fn authorize<'a, 'b>(
    rows: &impl Read,
    asked: &'a [Asked<ChangeEntity<'b>>],
) -> Result<Vec<Authorized<'a, ChangeEntity<'b>>>, BatchError> {
    let mut allowed = Vec::with_capacity(asked.len());
    for (index, change) in asked.iter().enumerate() {
        allowed.push(change.authorize(rows).await.map_err(|denied| BatchError::at(index)(denied.into()))?);
    }
    Ok(allowed)
}

async fn execute(txn: &Txn, changes: &[Authorized<'_, ChangeEntity<'_>>]) -> Result<Vec<Changed>, BatchError> {
    one_group(changes)?;
    let Some(first) = changes.first() else { return Ok(Vec::new()) };
    let table = find(txn, &first.table).await.map_err(BatchError::at(0))?.unit;
    let mut changed = Vec::with_capacity(changes.len());
    for (index, change) in changes.iter().enumerate() {
        changed.push(apply(txn, table, change).await.map_err(BatchError::at(index))?);
    }
    Ok(changed)
}

/// All changes are about different entities of one table and one PartitionKey.
fn one_group(changes: &[Authorized<'_, ChangeEntity<'_>>]) -> Result<(), BatchError> {
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
