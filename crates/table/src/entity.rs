//! One entity: insert, update, merge, the two upserts, delete, and the query of one by its keys.
//!
//! What `If-Match` means for each is decided in `concurrency`. Writers of one entity queue on its row; writers of one
//! partition do not meet at all.

use access::{Asked, Authorized, Operation, need::Need};
use bytes::Bytes;
use concurrency::table_etag::{EntityETag, EntityEffect, EntityOperation, EntityRefusal, IfMatch};
use store::{Read, Row, Scope, StoreError, Txn};
use types::{Timestamp, UnitId};

use crate::{
    DateTime, EntityKey, Tables, ValueRef,
    errors::TableError,
    keys, permissions,
    properties::{PARTITION_KEY, Properties, ROW_KEY, TIMESTAMP},
    query::{Filter, range::authorised},
    records::{EntityRecord, PropertyIter},
    table::{TableAddress, find},
};

/// An entity as it was read: its properties are taken from the row when they are asked for.
#[derive(Clone, Debug)]
pub struct Entity {
    key: EntityKey,
    record: EntityRecord,
}

impl Entity {
    pub(crate) fn decode(row: Row) -> Result<Self, StoreError> {
        let (_, key) = keys::parse_entity(&row.key)?;
        Self::new(key, row.value)
    }

    fn new(key: EntityKey, row: Bytes) -> Result<Self, StoreError> {
        Ok(Self { key, record: EntityRecord::decode(row)? })
    }

    /// PartitionKey and RowKey.
    #[must_use]
    pub const fn key(&self) -> &EntityKey {
        &self.key
    }

    /// When it was last written.
    #[must_use]
    pub const fn timestamp(&self) -> Timestamp {
        self.record.timestamp()
    }

    /// Its ETag.
    #[must_use]
    pub const fn etag(&self) -> EntityETag {
        EntityETag::new(self.timestamp())
    }

    /// Bytes that its row takes.
    pub(crate) const fn row_bytes(&self) -> usize {
        self.record.bytes()
    }

    /// Its properties without the three of the system, in the order they were first written.
    #[must_use]
    pub fn properties(&self) -> PropertyIter<'_> {
        self.record.properties()
    }

    /// The value of a property, of the system or of the user.
    ///
    /// # Errors
    /// The row cannot be read.
    pub fn get(&self, name: &str) -> Result<Option<ValueRef<'_>>, StoreError> {
        match name {
            PARTITION_KEY => Ok(Some(ValueRef::String(self.key.partition()))),
            ROW_KEY => Ok(Some(ValueRef::String(self.key.row()))),
            TIMESTAMP => Ok(Some(ValueRef::DateTime(DateTime::of(self.timestamp())))),
            _ => {
                for property in self.properties() {
                    let (found, value) = property?;
                    if found == name {
                        return Ok(Some(value));
                    }
                }
                Ok(None)
            }
        }
    }
}

/// A change of one entity.
#[derive(Clone, Debug)]
pub struct ChangeEntity<'a> {
    /// The table that the entity is or will be in.
    pub table: TableAddress,
    /// PartitionKey and RowKey.
    pub key: EntityKey,
    /// What to do; never [`EntityOperation::Query`].
    pub operation: EntityOperation,
    /// If-Match
    pub if_match: IfMatch<'a>,
    /// The new properties; none for a delete.
    pub properties: Properties,
}

impl Operation for ChangeEntity<'_> {
    fn need(&self) -> Need<'_> {
        let rule = permissions::entity_rule(self.operation, self.if_match);
        permissions::entities(self.table.account(), self.table.folded(), rule)
    }
}

/// What a change left behind: the entity with its new ETag, or nothing after a delete.
pub type Changed = Option<Entity>;

impl Tables {
    /// Inserts, updates, merges or deletes one entity, as [`ChangeEntity::operation`] says.
    ///
    /// # Errors
    /// It is not allowed, the table does not exist, the entity's state or its limits are against it, or the store failed.
    pub async fn change_entity(&self, asked: &Asked<ChangeEntity<'_>>) -> Result<Changed, TableError> {
        let object = keys::entity_latch(&asked.table, &asked.key);
        let mut scope = Scope::of(&object);
        if asked.operation == EntityOperation::Delete {
            scope = scope.reclaims();
        }
        let change = |txn| async move {
            let request = asked.authorize(&txn).await?;
            let table = find(&txn, &request.table).await?.unit;
            apply(&txn, table, &request).await
        };
        self.store.transact(scope, change).await
    }

    /// Reads one entity.
    ///
    /// # Errors
    /// It is not allowed, the table or the entity does not exist, its filter does not hold, or the store failed.
    pub async fn get_entity(&self, asked: &Asked<GetEntity>) -> Result<Entity, TableError> {
        let rows = self.store.snapshot();
        get(&rows, &asked.authorize(&rows).await?).await
    }
}

/// Does one change inside a transaction.
pub(crate) async fn apply(
    txn: &Txn,
    table: UnitId,
    request: &Authorized<'_, ChangeEntity<'_>>,
) -> Result<Changed, TableError> {
    if !authorised(request).contains(&request.key) {
        return Err(TableError::OutsideOfRange);
    }
    let row_key = keys::entity(table, &request.key);
    let old = match txn.get(&row_key).await? {
        Some(row) => Some(Entity::new(request.key.clone(), row)?),
        None => None,
    };
    let old_etag = old.as_ref().map(Entity::etag);
    let merged;
    let properties = match (request.operation.decide(request.if_match, old_etag)?, &old) {
        (EntityEffect::Delete, _) => {
            txn.delete(row_key);
            return Ok(None);
        }
        (EntityEffect::Read, _) => return Ok(old),
        (EntityEffect::Merge, Some(old)) => {
            let older = old.properties().collect::<Result<Vec<_>, _>>()?;
            merged = request.properties.over(older.into_iter())?;
            &merged
        }
        (EntityEffect::Insert | EntityEffect::Replace | EntityEffect::Merge, _) => &request.properties,
    };
    properties.check_size(&request.key)?;
    let etag = EntityETag::after(old_etag, txn.now());
    let row = EntityRecord::encode(etag.timestamp(), properties);
    txn.put(row_key, row.clone());
    Ok(Some(Entity::new(request.key.clone(), row)?))
}

/// Query of one entity by its keys.
#[derive(Clone, Debug)]
pub struct GetEntity {
    /// The table that the entity is in.
    pub table: TableAddress,
    /// PartitionKey and RowKey.
    pub key: EntityKey,
    /// What must hold for it; otherwise it is not found.
    pub filter: Option<Filter>,
}

impl Operation for GetEntity {
    fn need(&self) -> Need<'_> {
        let rule = permissions::entity_rule(EntityOperation::Query, IfMatch::Absent);
        permissions::entities(self.table.account(), self.table.folded(), rule)
    }
}

async fn get(rows: &impl Read, request: &Authorized<'_, GetEntity>) -> Result<Entity, TableError> {
    let table = find(rows, &request.table).await?.unit;
    if !authorised(request).contains(&request.key) {
        return Err(TableError::OutsideOfRange);
    }
    let row = rows.get(&keys::entity(table, &request.key)).await?.ok_or(EntityRefusal::NotFound)?;
    let entity = Entity::new(request.key.clone(), row)?;
    match &request.filter {
        Some(filter) if !filter.matches(&|name: &str| entity.get(name))? => Err(EntityRefusal::NotFound.into()),
        _ => Ok(entity),
    }
}
