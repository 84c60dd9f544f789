//! What is revoked after a proof was given counts for reads too.

use std::net::IpAddr;

use access::{
    AccountKey, Accounts, Authorized,
    need::Service,
    sas::{self, Fields, SignedTarget, sign::sign},
};
use queue::{
    Messages,
    errors::QueueError,
    message::PeekMessages,
    queue::{Address, CreateQueue},
};
use store::Scope;
use store_memory::{ManualTime, MemoryEngine};
use types::names::{AccountName, QueueName};

#[test]
fn a_peek_after_its_key_was_rotated_is_denied() {
    let peeks = async {
        let (store, key) = (MemoryEngine::new(ManualTime::default()).store(), AccountKey::new(&[1; 64]));
        let (name, messages) = (AccountName::parse("mine").unwrap(), Messages::new(store.clone()));
        let accounts = Accounts::open(&store, []).await.unwrap();
        accounts.add(&store, &name, std::slice::from_ref(&key)).await.unwrap();
        let account = accounts.get("mine").unwrap();
        let address = Address { account: account.unit, queue: QueueName::parse("jobs").unwrap() };
        let create = &Authorized::for_tests(CreateQueue { address: address.clone(), metadata: Vec::new() });
        let created = store.transact(Scope::new(), |txn| async move { queue::queue::create(&txn, create).await });
        created.await.unwrap();

        let fields = Fields {
            version: Some("2019-02-02"),
            services: Some("q"),
            resource_types: Some("o"),
            permissions: Some("r"),
            expiry: Some("2099-01-01"),
            ..Fields::default()
        };
        let signed = sign(&key, Service::Queue, "mine", None, None, &fields).unwrap();
        let query: Vec<(&str, &str)> = signed.iter().map(|(name, value)| (*name, &**value)).collect();
        let target = SignedTarget {
            service: Service::Queue,
            account: "mine",
            container: Some("jobs"),
            path: Some("messages"),
            query: &query,
            headers: &[],
            peer: IpAddr::from([127, 0, 0, 1]),
            secure: false,
        };
        let fields = Fields::find(&query).unwrap().unwrap();
        let grant = sas::verify(&accounts, &account, &target, &fields, None, store.now()).unwrap();
        let peek = grant.authorize(&store.snapshot(), PeekMessages { address, number: 1 }).await.unwrap();
        let before = messages.peek(&peek).await;
        accounts.rotate_key(&store, &name, 1, &AccountKey::new(&[2; 64])).await.unwrap();
        (before, messages.peek(&peek).await)
    };
    let (before, after) = tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(peeks);
    assert!(before.unwrap().is_empty());
    assert!(matches!(after, Err(QueueError::Denied(_))), "{after:?}");
}
