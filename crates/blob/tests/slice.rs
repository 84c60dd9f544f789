//! The first operations of the Blob service on the reference engine, compared with a plain map.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;

use access::Authorized;
use blob::{
    HttpHeaders, PublicAccess,
    block_blob::{self, PutBlob},
    container::{self, CreateContainer, DeleteContainer},
    errors::BlobError,
    list::{self, ListBlobs, Listed},
    object::{self, Address, DeleteBlob, ReadBlob},
    sweep,
};
use bytes::Bytes;
use concurrency::conditions::{Conditions, ETagCondition};
use proptest::prelude::*;
use store::{Scope, Store, StoreError, content::Holdings};
use store_memory::MemoryEngine;
use types::{
    ServiceVersion, UnitId,
    names::{BlobName, ContainerName},
};

const ACCOUNT: UnitId = UnitId::new(7);
const VERSION: ServiceVersion = ServiceVersion::NEWEST;

const fn authorized<Op>(operation: Op) -> Authorized<Op> {
    Authorized::for_tests(operation)
}

fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(test)
}

fn name() -> ContainerName {
    ContainerName::parse("things").unwrap()
}

fn address(blob: &str) -> Address {
    Address { account: ACCOUNT, container: name(), blob: BlobName::parse(blob).unwrap() }
}

async fn create(store: &Store) -> Result<(), BlobError> {
    let request =
        CreateContainer { account: ACCOUNT, name: name(), public_access: PublicAccess::Private, metadata: Vec::new() };
    let request = &authorized(request);
    store.transact(Scope::unit(ACCOUNT), |txn| async move { container::create(&txn, request).await }).await?;
    Ok(())
}

async fn drop_container(store: &Store) -> Result<(), BlobError> {
    let request = &authorized(DeleteContainer {
        account: ACCOUNT,
        name: name(),
        version: VERSION,
        lease_id: None,
        if_modified_since: None,
        if_unmodified_since: None,
    });
    store.transact(Scope::unit(ACCOUNT), |txn| async move { container::delete(&txn, request).await }).await
}

async fn put(store: &Store, blob: &str, data: &[u8], conditions: Conditions<'_>) -> Result<types::ETag, BlobError> {
    let request = &authorized(PutBlob {
        address: address(blob),
        version: VERSION,
        lease_id: None,
        conditions,
        headers: HttpHeaders::default(),
        metadata: Vec::new(),
    });
    block_blob::begin(&store.snapshot(), request, store.now()).await?;
    let mut writer = store.write_chunk(None)?;
    writer.write(Bytes::copy_from_slice(data)).await?;
    let body = &writer.finish().await?;
    let finish =
        store.transact(Scope::unit(ACCOUNT), |txn| async move { block_blob::finish(&txn, request, body, None).await });
    Ok(finish.await?.etag)
}

async fn get(store: &Store, blob: &str) -> Result<Vec<u8>, BlobError> {
    let request = authorized(ReadBlob {
        address: address(blob),
        version: VERSION,
        lease_id: None,
        conditions: Conditions::default(),
    });
    let found = object::read(&store.snapshot(), &request, store.now()).await?;
    match found.holdings {
        Holdings::Chunk(chunk) => {
            let source = store.open_chunk(chunk).await?;
            let length = usize::try_from(chunk.length).unwrap();
            Ok(store::manifest::read_exactly(&*source, 0, length).await?.to_vec())
        }
        _ => Ok(Vec::new()),
    }
}

async fn delete(store: &Store, blob: &str) -> Result<(), BlobError> {
    let request = &authorized(DeleteBlob {
        address: address(blob),
        version: VERSION,
        lease_id: None,
        conditions: Conditions::default(),
    });
    store.transact(Scope::unit(ACCOUNT), |txn| async move { object::delete(&txn, request).await }).await
}

/// Every page of a listing.
async fn listing(store: &Store, prefix: &str, delimiter: Option<&str>, limit: usize) -> Vec<String> {
    let mut names = Vec::new();
    let mut marker = None;
    loop {
        let request = authorized(ListBlobs {
            account: ACCOUNT,
            container: name(),
            prefix: prefix.into(),
            delimiter: delimiter.map(str::to_owned),
            marker: marker.take(),
            limit,
        });
        let page = list::blobs(&store.snapshot(), &request, store.now()).await.unwrap();
        assert!(page.items.len() <= limit);
        names.extend(page.items.into_iter().map(|item| match item {
            Listed::Blob(name, _) => name,
            Listed::Prefix(prefix) => format!("{prefix}…"),
        }));
        match page.next {
            Some(next) => marker = Some(next),
            None => return names,
        }
    }
}

async fn swept(store: &Store) -> Result<(), StoreError> {
    while sweep::step(store).await.map_err(|error| StoreError::corrupt(error.to_string()))? {}
    while store::sweep::step(store).await?.more {}
    Ok(())
}

#[test]
fn a_deleted_container_gives_its_name_back_at_once_and_its_space_later() {
    run(async {
        let engine = MemoryEngine::default();
        let store = engine.store();
        create(&store).await.unwrap();
        for number in 0..600 {
            put(&store, &format!("b{number}"), b"bytes", Conditions::default()).await.unwrap();
        }
        drop_container(&store).await.unwrap();
        assert!(matches!(get(&store, "b1").await, Err(BlobError::ContainerNotFound)));
        create(&store).await.unwrap();
        assert!(matches!(get(&store, "b1").await, Err(BlobError::BlobNotFound)));
        put(&store, "b1", b"new", Conditions::default()).await.unwrap();
        swept(&store).await.unwrap();
        assert_eq!(engine.stored_chunks(), 1, "only the new blob's bytes are left");
        assert_eq!(get(&store, "b1").await.unwrap(), b"new");
    });
}

#[test]
fn the_second_of_two_conditional_writes_is_refused_and_changes_nothing() {
    run(async {
        let store = MemoryEngine::default().store();
        create(&store).await.unwrap();
        let first = put(&store, "b", b"one", Conditions::default()).await.unwrap();
        let text = format!("\"{first}\"");
        let if_first = Conditions { if_match: Some(ETagCondition::parse(&text).unwrap()), ..Conditions::default() };
        let second = put(&store, "b", b"two", if_first).await.unwrap();
        assert!(second > first);
        assert!(matches!(put(&store, "b", b"three", if_first).await, Err(BlobError::Write(_))));
        assert_eq!(get(&store, "b").await.unwrap(), b"two");
    });
}

#[derive(Clone, Debug)]
enum Step {
    Put(String, Vec<u8>),
    Delete(String),
    List(String, Option<String>, usize),
}

fn names() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "/", "é", "-"]), 1..5)
        .prop_map(|parts| parts.concat())
        .prop_filter("a name ends with no slash", |name| !name.ends_with('/'))
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (names(), prop::collection::vec(any::<u8>(), 0..20)).prop_map(|(name, data)| Step::Put(name, data)),
        1 => names().prop_map(Step::Delete),
        1 => ("[ab]?/?", prop::option::of(Just("/".to_owned())), 1_usize..5)
            .prop_map(|(prefix, delimiter, limit)| Step::List(prefix, delimiter, limit)),
    ]
}

/// What a listing should say, from a plain map.
fn expected(model: &BTreeMap<String, Vec<u8>>, prefix: &str, delimiter: Option<&str>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for name in model.keys().filter(|name| name.starts_with(prefix)) {
        let cut = delimiter.and_then(|text| name[prefix.len()..].find(text).map(|at| prefix.len() + at + text.len()));
        let line = cut.map_or_else(|| name.clone(), |end| format!("{}…", &name[..end]));
        if lines.last() != Some(&line) {
            lines.push(line);
        }
    }
    lines
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn puts_deletes_and_listings_match_a_plain_map(history in prop::collection::vec(steps(), 1..60)) {
        run(async {
            let store = MemoryEngine::default().store();
            create(&store).await.unwrap();
            let mut model = BTreeMap::new();
            for step in history {
                match step {
                    Step::Put(name, data) => {
                        put(&store, &name, &data, Conditions::default()).await.unwrap();
                        model.insert(name, data);
                    }
                    Step::Delete(name) => {
                        assert_eq!(delete(&store, &name).await.is_ok(), model.remove(&name).is_some());
                    }
                    Step::List(prefix, delimiter, limit) => {
                        let delimiter = delimiter.as_deref();
                        assert_eq!(
                            listing(&store, &prefix, delimiter, limit).await,
                            expected(&model, &prefix, delimiter)
                        );
                    }
                }
            }
            for (name, data) in &model {
                assert_eq!(&get(&store, name).await.unwrap(), data);
            }
        });
    }
}
