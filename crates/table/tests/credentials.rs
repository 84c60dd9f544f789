//! What credentials reach, where the rows of the permissions alone do not say it.

use std::net::IpAddr;

use access::{
    AccountKey, Accounts, Denied,
    need::Service,
    sas::{self, Fields, SignedTarget, sign::sign},
};
use store_memory::MemoryEngine;
use table::table::QueryTables;
use types::names::AccountName;

#[tokio::test]
async fn query_tables_takes_an_account_signature_for_containers() {
    let (store, key) = (store::Store::new(std::sync::Arc::new(MemoryEngine::default())), AccountKey::new(&[1; 64]));
    let configured = [(AccountName::parse("mine").unwrap(), vec![key.clone()])];
    let accounts = Accounts::open(&store, configured).await.unwrap();
    let account = accounts.get("mine").unwrap();
    for (types, allowed) in [("c", true), ("sco", true), ("s", false), ("o", false)] {
        let fields = Fields {
            version: Some("2019-02-02"),
            services: Some("t"),
            resource_types: Some(types),
            permissions: Some("l"),
            expiry: Some("2099-01-01"),
            ..Fields::default()
        };
        let signed = sign(&key, Service::Table, "mine", None, None, &fields).unwrap();
        let query: Vec<(&str, &str)> = signed.iter().map(|(name, value)| (*name, &**value)).collect();
        let target = SignedTarget {
            service: Service::Table,
            account: "mine",
            container: Some("Tables"),
            path: None,
            query: &query,
            headers: &[],
            peer: IpAddr::from([127, 0, 0, 1]),
            secure: false,
        };
        let fields = Fields::find(&query).unwrap().unwrap();
        let grant = sas::verify(&accounts, &account, &target, &fields, None, store.now()).unwrap();
        let request = QueryTables { account: account.unit, filter: None, top: 1, next: None };
        let outcome = grant.authorize(&store.snapshot(), request).await;
        match outcome {
            Ok(_) => assert!(allowed, "{types}"),
            Err(denied) => assert!(!allowed && matches!(denied, Denied::ResourceTypeMismatch), "{types}: {denied:?}"),
        }
    }
}
