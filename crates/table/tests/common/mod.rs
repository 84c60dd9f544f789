//! What the tests of the Table service share: engines, and short ways to the operations.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::sync::Arc;

use access::Asked;
use concurrency::table_etag::{EntityOperation, IfMatch};
use store::Store;
use store_embedded::{EmbeddedEngine, Options};
use store_memory::MemoryEngine;
use table::{
    Entity, EntityKey, Tables, Value,
    batch::BatchError,
    entity::{ChangeEntity, Changed, GetEntity},
    errors::TableError,
    properties::Properties,
    query::{self, Continuation, EntityPage, QueryEntities},
    table::{CreateTable, DeleteTable, TableAddress},
};
use types::{UnitId, names::TableName};

pub(crate) const ACCOUNT: UnitId = UnitId::new(7);

/// A store and the service on it, and the directory it lives in if it does.
pub(crate) struct Place {
    pub(crate) store: Store,
    pub(crate) tables: Tables,
    directory: Option<tempfile::TempDir>,
}

pub(crate) fn memory() -> Place {
    on(Store::new(Arc::new(MemoryEngine::default())), None)
}

pub(crate) fn embedded() -> Place {
    let directory = tempfile::tempdir().unwrap();
    let engine = EmbeddedEngine::open(directory.path(), Options::default()).unwrap();
    on(Store::new(Arc::new(engine)), Some(directory))
}

fn on(store: Store, directory: Option<tempfile::TempDir>) -> Place {
    Place { tables: Tables::new(store.clone()), store, directory }
}

pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(test)
}

pub(crate) fn address() -> TableAddress {
    TableAddress::new(ACCOUNT, TableName::parse("People").unwrap())
}

pub(crate) async fn create(tables: &Tables, address: TableAddress) -> Result<(), TableError> {
    tables.create_table(&Asked::for_tests(CreateTable { address })).await
}

pub(crate) async fn delete(tables: &Tables, address: TableAddress) -> Result<(), TableError> {
    tables.delete_table(&Asked::for_tests(DeleteTable { address })).await
}

pub(crate) fn key(partition: &str, row: &str) -> EntityKey {
    EntityKey::new(partition, row).unwrap()
}

pub(crate) fn properties<const N: usize>(properties: [(&str, Value); N]) -> Properties {
    Properties::new(properties.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()).unwrap()
}

pub(crate) fn change<'a>(
    operation: EntityOperation,
    if_match: IfMatch<'a>,
    key: EntityKey,
    properties: Properties,
) -> Asked<ChangeEntity<'a>> {
    Asked::for_tests(ChangeEntity { table: address(), key, operation, if_match, properties })
}

pub(crate) async fn upsert(tables: &Tables, key: EntityKey, properties: Properties) -> Changed {
    let request = change(EntityOperation::Replace, IfMatch::Absent, key, properties);
    tables.change_entity(&request).await.unwrap()
}

pub(crate) async fn get(tables: &Tables, key: EntityKey) -> Result<Entity, TableError> {
    tables.get_entity(&Asked::for_tests(GetEntity { table: address(), key, filter: None })).await
}

pub(crate) async fn execute(tables: &Tables, changes: &[Asked<ChangeEntity<'_>>]) -> Result<Vec<Changed>, BatchError> {
    tables.entity_group_transaction(changes).await
}

pub(crate) async fn page(
    tables: &Tables,
    filter: Option<&str>,
    top: usize,
    next: Option<Continuation>,
) -> Result<EntityPage, TableError> {
    let filter = filter.map(|filter| query::parse(filter).unwrap());
    let request = Asked::for_tests(QueryEntities { table: address(), filter, top, next });
    tables.query_entities(&request).await
}

/// Every page of a query.
pub(crate) async fn everything(tables: &Tables, filter: Option<&str>, top: usize) -> Vec<Entity> {
    let (mut entities, mut next) = (Vec::new(), None);
    loop {
        let mut page = page(tables, filter, top, next).await.unwrap();
        assert!(page.entities.len() <= top);
        entities.append(&mut page.entities);
        next = page.next;
        if next.is_none() {
            return entities;
        }
    }
}
