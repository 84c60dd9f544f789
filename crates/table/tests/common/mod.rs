//! What the tests of the Table service share: engines, and short ways to the operations.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::sync::Arc;

use access::Authorized;
use concurrency::table_etag::{EntityOperation, IfMatch};
use store::{Scope, Store};
use store_embedded::{EmbeddedEngine, Options};
use store_memory::MemoryEngine;
use table::{
    Entity, EntityKey, Value,
    batch::{self, BatchError},
    entity::{self, ChangeEntity, Changed, GetEntity},
    errors::TableError,
    properties::Properties,
    query::{self, Continuation, EntityPage, QueryEntities},
    table::{CreateTable, DeleteTable, TableAddress},
};
use types::{UnitId, names::TableName};

pub(crate) const ACCOUNT: UnitId = UnitId::new(7);

/// A store, and the directory it lives in if it does.
pub(crate) struct Place {
    pub(crate) store: Store,
    directory: Option<tempfile::TempDir>,
}

pub(crate) fn memory() -> Place {
    Place { store: Store::new(Arc::new(MemoryEngine::default())), directory: None }
}

pub(crate) fn embedded() -> Place {
    let directory = tempfile::tempdir().unwrap();
    let engine = EmbeddedEngine::open(directory.path(), Options::default()).unwrap();
    Place { store: Store::new(Arc::new(engine)), directory: Some(directory) }
}

pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(test)
}

pub(crate) fn address() -> TableAddress {
    TableAddress::new(ACCOUNT, TableName::parse("People").unwrap())
}

pub(crate) async fn create(store: &Store, address: TableAddress) -> Result<(), TableError> {
    let request = &Authorized::for_tests(CreateTable { address });
    store.transact(Scope::new(), |txn| async move { table::table::create(&txn, request).await }).await
}

pub(crate) async fn delete(store: &Store, address: TableAddress) -> Result<(), TableError> {
    let request = &Authorized::for_tests(DeleteTable { address });
    store.transact(Scope::new(), |txn| async move { table::table::delete(&txn, request).await }).await
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
) -> Authorized<ChangeEntity<'a>> {
    Authorized::for_tests(ChangeEntity { table: address(), key, operation, if_match, properties })
}

pub(crate) async fn upsert(store: &Store, key: EntityKey, properties: Properties) -> Changed {
    let request = change(EntityOperation::Replace, IfMatch::Absent, key, properties);
    entity::change(store, &request).await.unwrap()
}

pub(crate) async fn get(store: &Store, key: EntityKey) -> Result<Entity, TableError> {
    entity::get(&store.snapshot(), &Authorized::for_tests(GetEntity { table: address(), key, filter: None })).await
}

pub(crate) async fn execute(
    store: &Store,
    changes: &[Authorized<ChangeEntity<'_>>],
) -> Result<Vec<Changed>, BatchError> {
    batch::execute(store, changes).await
}

pub(crate) async fn page(
    store: &Store,
    filter: Option<&str>,
    top: usize,
    next: Option<Continuation>,
) -> Result<EntityPage, TableError> {
    let filter = filter.map(|filter| query::parse(filter).unwrap());
    let request = Authorized::for_tests(QueryEntities { table: address(), filter, top, next });
    query::entities(&store.snapshot(), &request).await
}

/// Every page of a query.
pub(crate) async fn everything(store: &Store, filter: Option<&str>, top: usize) -> Vec<Entity> {
    let (mut entities, mut next) = (Vec::new(), None);
    loop {
        let mut page = page(store, filter, top, next).await.unwrap();
        assert!(page.entities.len() <= top);
        entities.append(&mut page.entities);
        next = page.next;
        if next.is_none() {
            return entities;
        }
    }
}
