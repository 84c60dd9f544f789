//! What is revoked before an operation looks at its rows counts, for reads and for writes: an operation is allowed by the
//! same view or transaction that does it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;

use access::{
    Account, AccountKey, Accounts, Asked, Grant,
    acl::{Acl, StoredAccessPolicy},
    need::Service,
    sas::Fields,
    testing::{Used, signature},
};
use concurrency::visibility::{PutTimes, VisibilityTimeout};
use queue::{
    Queues, SetQueueAcl,
    errors::QueueError,
    message::{DeleteMessage, GetMessages, MessageId, PeekMessages, PutMessage, UpdateMessage},
    queue::{Address, CreateQueue, GetQueueMetadata},
};
use store::Store;
use store_memory::{ManualTime, MemoryEngine};
use types::{
    ServiceVersion, Timestamp,
    names::{AccountName, QueueName},
};

/// An account with one queue.
struct World {
    store: Store,
    accounts: Accounts,
    account: Arc<Account>,
    queues: Queues,
}

fn key() -> AccountKey {
    AccountKey::new(&[1; 64])
}

fn name() -> AccountName {
    AccountName::parse("mine").unwrap()
}

impl World {
    async fn new() -> Self {
        let store = MemoryEngine::new(ManualTime::default()).store();
        let accounts = Accounts::open(&store, []).await.unwrap();
        accounts.add(&store, &name(), &[key()]).await.unwrap();
        let (account, queues) = (accounts.get("mine").unwrap(), Queues::new(store.clone()));
        let world = Self { store, accounts, account, queues };
        let create = CreateQueue { address: world.address(), metadata: Vec::new() };
        world.queues.create_queue(&Asked::for_tests(create)).await.unwrap();
        world
    }

    fn address(&self) -> Address {
        Address { account: self.account.unit, queue: QueueName::parse("jobs").unwrap() }
    }

    /// Replaces the stored access policies.
    async fn set_policies(&self, policies: Vec<StoredAccessPolicy>) {
        let request = SetQueueAcl { address: self.address(), acl: Acl { policies, ..Acl::default() } };
        self.queues.set_queue_acl(&Asked::for_tests(request)).await.unwrap();
    }

    /// Somebody who shows a signature with these fields.
    fn signature(&self, fields: &Fields<'_>) -> Grant {
        let fields = Fields { version: Some("2019-02-02"), ..*fields };
        let used = Used { service: Service::Queue, container: "jobs", path: Some("messages") };
        signature((&self.accounts, &self.account), &key(), used, &fields, self.store.now()).unwrap()
    }
}

#[tokio::test]
async fn a_peek_after_its_key_was_rotated_is_denied() {
    let world = World::new().await;
    let fields = Fields {
        services: Some("q"),
        resource_types: Some("o"),
        permissions: Some("r"),
        expiry: Some("2099-01-01"),
        ..Fields::default()
    };
    let peek = world.signature(&fields).ask(PeekMessages { address: world.address(), number: 1 });
    assert!(world.queues.peek_messages(&peek).await.unwrap().is_empty());
    world.accounts.rotate_key(&world.store, &name(), 1, &AccountKey::new(&[2; 64])).await.unwrap();
    let after = world.queues.peek_messages(&peek).await;
    assert!(matches!(after, Err(QueueError::Denied(_))), "{after:?}");
}

#[tokio::test]
async fn a_policy_that_is_removed_after_a_request_arrived_serves_nobody() {
    let world = World::new().await;
    let policy = StoredAccessPolicy {
        id: "workers".into(),
        start: None,
        expiry: Some(Timestamp::NEVER),
        permissions: Some("raup".into()),
    };
    world.set_policies(vec![policy]).await;
    let (somebody, address) =
        (world.signature(&Fields { policy: Some("workers"), ..Fields::default() }), world.address());
    let (id, receipt) = (MessageId::new(1), 1);
    let times = PutTimes::new(ServiceVersion::NEWEST, None, None).unwrap();
    let put = somebody.ask(PutMessage { address: address.clone(), id, receipt, times, text: "work".into() });
    let peek = somebody.ask(PeekMessages { address: address.clone(), number: 1 });
    let metadata = somebody.ask(GetQueueMetadata { address: address.clone() });
    let timeout = VisibilityTimeout::for_get(None).unwrap();
    let get = somebody.ask(GetMessages { address: address.clone(), number: 1, timeout, receipt });

    let (_, hold) = world.queues.put_message(&put).await.unwrap();
    assert_eq!(world.queues.peek_messages(&peek).await.unwrap().len(), 1);
    assert_eq!(world.queues.get_queue_metadata(&metadata).await.unwrap().approximate_messages_count, 1);

    world.set_policies(Vec::new()).await;
    let timeout = VisibilityTimeout::for_update(Some(0)).unwrap();
    let sent = hold.receipt;
    let update = somebody.ask(UpdateMessage {
        address: address.clone(),
        id,
        sent,
        timeout,
        receipt,
        text: Some("other".into()),
    });
    let delete = somebody.ask(DeleteMessage { address, id, sent });
    let refused = [
        world.queues.peek_messages(&peek).await.map(drop),
        world.queues.get_queue_metadata(&metadata).await.map(drop),
        world.queues.put_message(&put).await.map(drop),
        world.queues.get_messages(&get).await.map(drop),
        world.queues.update_message(&update).await.map(drop),
        world.queues.delete_message(&delete).await.map(drop),
    ];
    for refused in refused {
        assert!(matches!(refused, Err(QueueError::Denied(_))), "{refused:?}");
    }
    let found = world.queues.peek_messages(&Asked::for_tests(PeekMessages::clone(&peek))).await.unwrap();
    assert_eq!((found.len(), found[0].text.as_str()), (1, "work"), "nothing was changed");
}
