//! What credentials reach, where the rows of the permissions alone do not say it; and what is revoked before an operation
//! looks at its rows counts, because it is allowed by the same view or transaction that does it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;

use access::{
    Account, AccountKey, Accounts, Asked, Denied, Grant,
    acl::StoredAccessPolicy,
    need::Service,
    sas::Fields,
    testing::{Used, signature},
};
use concurrency::table_etag::{EntityOperation, IfMatch};
use store::Store;
use store_memory::MemoryEngine;
use table::{
    EntityKey, Tables,
    acl::SetTableAcl,
    batch::{BatchError, BatchRefusal},
    entity::{ChangeEntity, GetEntity},
    errors::TableError,
    properties::Properties,
    query::QueryEntities,
    table::{CreateTable, QueryTables, TableAddress},
};
use types::{
    Timestamp,
    names::{AccountName, TableName},
};

/// An account without tables.
struct World {
    store: Store,
    accounts: Accounts,
    account: Arc<Account>,
    tables: Tables,
}

fn key() -> AccountKey {
    AccountKey::new(&[1; 64])
}

impl World {
    async fn new() -> Self {
        let store = Store::new(Arc::new(MemoryEngine::default()));
        let configured = [(AccountName::parse("mine").unwrap(), vec![key()])];
        let accounts = Accounts::open(&store, configured).await.unwrap();
        let (account, tables) = (accounts.get("mine").unwrap(), Tables::new(store.clone()));
        Self { store, accounts, account, tables }
    }

    /// Somebody who shows a signature with these fields.
    fn signature(&self, container: &str, fields: &Fields<'_>) -> Grant {
        let fields = Fields { version: Some("2019-02-02"), ..*fields };
        let used = Used { service: Service::Table, container, path: None };
        signature((&self.accounts, &self.account), &key(), used, &fields, self.store.now()).unwrap()
    }

    fn address(&self, name: &str) -> TableAddress {
        TableAddress::new(self.account.unit, TableName::parse(name).unwrap())
    }

    async fn create(&self, name: &str) {
        self.tables.create_table(&Asked::for_tests(CreateTable { address: self.address(name) })).await.unwrap();
    }

    /// Replaces the stored access policies of a table.
    async fn set_policies(&self, name: &str, policies: Vec<StoredAccessPolicy>) {
        let request = SetTableAcl { address: self.address(name), policies };
        self.tables.set_table_acl(&Asked::for_tests(request)).await.unwrap();
    }

    fn upsert(&self, name: &str, row: &str) -> ChangeEntity<'static> {
        ChangeEntity {
            table: self.address(name),
            key: EntityKey::new("p", row).unwrap(),
            operation: EntityOperation::Replace,
            if_match: IfMatch::Absent,
            properties: Properties::default(),
        }
    }
}

#[tokio::test]
async fn query_tables_takes_an_account_signature_for_containers() {
    let world = World::new().await;
    for (types, allowed) in [("c", true), ("sco", true), ("s", false), ("o", false)] {
        let fields = Fields {
            services: Some("t"),
            resource_types: Some(types),
            permissions: Some("l"),
            expiry: Some("2099-01-01"),
            ..Fields::default()
        };
        let request = QueryTables { account: world.account.unit, filter: None, top: 1, next: None };
        let asked = world.signature("Tables", &fields).ask(request);
        match world.tables.query_tables(&asked).await {
            Ok(_) => assert!(allowed, "{types}"),
            Err(TableError::Denied(Denied::ResourceTypeMismatch)) => assert!(!allowed, "{types}"),
            Err(other) => panic!("{types}: {other:?}"),
        }
    }
}

fn policy() -> StoredAccessPolicy {
    let (id, expiry, permissions) = ("p".into(), Some(Timestamp::NEVER), Some("raud".into()));
    StoredAccessPolicy { id, start: None, expiry, permissions }
}

#[tokio::test]
async fn a_policy_that_is_removed_after_a_request_arrived_serves_nobody() {
    let world = World::new().await;
    world.create("people").await;
    world.set_policies("people", vec![policy()]).await;
    let fields = Fields { table: Some("people"), policy: Some("p"), ..Fields::default() };
    let (somebody, table) = (world.signature("people", &fields), world.address("people"));
    let everything = QueryEntities { table: table.clone(), filter: None, top: 10, next: None };
    let query = somebody.ask(everything.clone());
    let get = somebody.ask(GetEntity { table, key: EntityKey::new("p", "r").unwrap(), filter: None });
    let (change, batch) = (somebody.ask(world.upsert("people", "r")), [somebody.ask(world.upsert("people", "s"))]);

    world.tables.change_entity(&change).await.unwrap();
    world.tables.get_entity(&get).await.unwrap();
    assert_eq!(world.tables.query_entities(&query).await.unwrap().entities.len(), 1);

    world.set_policies("people", Vec::new()).await;
    let refused = [
        world.tables.query_entities(&query).await.map(drop),
        world.tables.get_entity(&get).await.map(drop),
        world.tables.change_entity(&change).await.map(drop),
    ];
    for refused in refused {
        assert!(matches!(refused, Err(TableError::Denied(Denied::Authentication(_)))), "{refused:?}");
    }
    let refused = world.tables.entity_group_transaction(&batch).await.unwrap_err();
    assert!(matches!(refused.reason, BatchRefusal::Change(TableError::Denied(_))), "{refused:?}");
    let found = world.tables.query_entities(&Asked::for_tests(everything)).await.unwrap();
    assert_eq!(found.entities.len(), 1, "the batch changed nothing");
}

#[tokio::test]
async fn every_change_of_a_batch_is_allowed_before_any_is_looked_at() {
    let world = World::new().await;
    world.create("people").await;
    world.set_policies("people", vec![policy()]).await;
    let fields = Fields { table: Some("people"), policy: Some("p"), ..Fields::default() };
    let somebody = world.signature("people", &fields);
    // The second is an error in itself, a change of another table; but nobody is told so who may not change that table.
    let batch = [somebody.ask(world.upsert("people", "1")), somebody.ask(world.upsert("pets", "1"))];
    for refused in
        [world.tables.entity_group_transaction(&batch).await.map(drop), world.tables.may_change_entities(&batch).await]
    {
        let Err(BatchError { index: 1, reason: BatchRefusal::Change(TableError::Denied(_)) }) = refused else {
            panic!("{refused:?}")
        };
    }
    world.tables.may_change_entities(&batch[..1]).await.unwrap();
    let everything = QueryEntities { table: world.address("people"), filter: None, top: 10, next: None };
    let found = world.tables.query_entities(&Asked::for_tests(everything)).await.unwrap();
    assert!(found.entities.is_empty());
}
