//! What is answered after a sync failed: the request that was on its way may have happened, later ones have not.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use ::queue::Queues;
use account::Settings;
use queue_rest::QueueService;
use store::{
    Answer, Engine, Sequence, Store, StoreError,
    engine::{Commit, SequenceError},
    testing::Around,
};
use store_memory::MemoryEngine;
use table::Tables;
use table_rest::TableService;
use testkit::{Parts, RestService};

/// An engine whose device fails when it is told to, at the next sync.
struct Failing {
    inner: MemoryEngine,
    device_fails: Arc<AtomicBool>,
    poisoned: AtomicBool,
}

fn poisoned() -> StoreError {
    StoreError::Poisoned("the device failed".into())
}

impl Around for Failing {
    fn inner(&self) -> &dyn Engine {
        &self.inner
    }

    fn sequence(&self, commit: Commit) -> Answer<'_, Result<Sequence, SequenceError>> {
        if self.poisoned.load(Ordering::Relaxed) {
            return Answer::now(Err(poisoned().into()));
        }
        self.inner.sequence(commit)
    }

    fn durable(&self, sequence: Sequence) -> Answer<'_, Result<(), StoreError>> {
        if self.device_fails.load(Ordering::Relaxed) {
            self.poisoned.store(true, Ordering::Relaxed);
            return Answer::now(Err(poisoned()));
        }
        self.inner.durable(sequence)
    }
}

fn tables(parts: Parts) -> Arc<dyn rest::Service> {
    let (tables, settings) = (Tables::new(parts.store.clone()), Settings::new(parts.store));
    Arc::new(TableService::new(tables, settings, parts.accounts))
}

fn queues(parts: Parts) -> Arc<dyn rest::Service> {
    let (queues, settings) = (Queues::new(parts.store.clone()), Settings::new(parts.store));
    Arc::new(QueueService::new(queues, settings, parts.accounts, || Some(7)))
}

async fn on_a_failing_device(build: fn(Parts) -> Arc<dyn rest::Service>) -> (RestService, Arc<AtomicBool>) {
    let device_fails = Arc::<AtomicBool>::default();
    let engine = Failing {
        inner: MemoryEngine::default(),
        device_fails: Arc::clone(&device_fails),
        poisoned: AtomicBool::new(false),
    };
    (RestService::over(Store::new(Arc::new(engine)), build).await.unwrap(), device_fails)
}

#[tokio::test]
async fn a_write_that_was_on_its_way_when_the_sync_failed_is_not_said_to_be_refused() {
    let (queues, device_fails) = on_a_failing_device(queues).await;
    assert_eq!(queues.call("PUT", "/before", &[], b"").await.status, 201);
    device_fails.store(true, Ordering::Relaxed);
    let on_its_way = queues.call("PUT", "/on-its-way", &[], b"").await;
    let later = queues.call("PUT", "/later", &[], b"").await;
    assert_eq!(on_its_way.verdict(), (500, "InternalError"));
    assert!(on_its_way.text().contains("Whether the operation has happened is unknown."), "{on_its_way:?}");
    assert_eq!(later.verdict(), (503, "ServerBusy"));
    assert!(later.text().contains("does not accept writes"), "{later:?}");
}

#[tokio::test]
async fn a_refusal_that_rests_on_what_is_not_durable_is_not_unknown() {
    let (tables, device_fails) = on_a_failing_device(tables).await;
    let create = |name: &'static str| {
        let body = format!(r#"{{"TableName":"{name}"}}"#);
        let tables = &tables;
        async move { tables.call("POST", "/Tables", &[("Content-Type", "application/json")], body.as_bytes()).await }
    };
    device_fails.store(true, Ordering::Relaxed);
    assert_eq!(create("Once").await.status, 500);
    // It would be 409, and nobody knows whether that is true. It changes nothing.
    assert_eq!(create("Once").await.status, 503);
}
