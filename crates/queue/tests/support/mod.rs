//! What the tests of the domain share: a queue on an engine, and short ways to use it.

#![allow(dead_code, reason = "each test file uses its part")]

use std::{future::Future, sync::Arc, time::Duration};

use access::Asked;
use concurrency::visibility::{PutTimes, VisibilityTimeout};
use jobs::Job as _;
use queue::{
    Queues, Receipt,
    audit::audit,
    errors::QueueError,
    expiry::{self, ExpireMessages},
    message,
    message::{DeleteMessage, GetMessages, GotMessage, Hold, MessageId, PeekMessages, PutMessage, UpdateMessage},
    queue::{Address, ClearMessages, CreateQueue, Created, DeleteQueue, GetQueueMetadata, QueueProperties},
    sweep::SweepQueues,
};
use store::Store;
use store_embedded::{EmbeddedEngine, Options, disk::SimulatedDisk};
use store_memory::{ManualTime, MemoryEngine};
use tempfile::TempDir;
use types::{ServiceVersion, UnitId, names::QueueName};

pub(crate) const ACCOUNT: UnitId = UnitId::new(7);

pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(test)
}

pub(crate) fn address(name: &str) -> Address {
    Address { account: ACCOUNT, queue: QueueName::parse(name).unwrap() }
}

/// A fresh value; tests that run one step after another never see one twice.
pub(crate) fn fresh(store: &Store) -> u128 {
    u128::from(store.fresh_id()) << 64
}

/// The engine under a rig.
pub(crate) enum Engine {
    Memory(MemoryEngine),
    Embedded(SimulatedDisk, TempDir, Arc<EmbeddedEngine>),
}

/// A queue service on an engine, with a clock that only tests move.
pub(crate) struct Rig {
    pub(crate) time: ManualTime,
    pub(crate) engine: Engine,
    pub(crate) store: Store,
    pub(crate) queues: Queues,
    pub(crate) cursor: expiry::Cursor,
}

impl Rig {
    pub(crate) fn memory() -> Self {
        let time = ManualTime::default();
        let engine = MemoryEngine::new(time.clone());
        let store = engine.store();
        Self::on(time, Engine::Memory(engine), store)
    }

    pub(crate) fn embedded() -> Self {
        let (time, disk, index) = (ManualTime::default(), SimulatedDisk::new(), tempfile::tempdir().unwrap());
        let engine = open(&disk, &index, &time);
        let store = Store::new(Arc::<EmbeddedEngine>::clone(&engine));
        Self::on(time, Engine::Embedded(disk, index, engine), store)
    }

    pub(crate) fn on(time: ManualTime, engine: Engine, store: Store) -> Self {
        let queues = Queues::new(store.clone());
        Self { time, engine, store, queues, cursor: expiry::Cursor::default() }
    }

    /// The process ends without warning and a new one begins.
    pub(crate) fn crash(self) -> Self {
        let Self { time, engine, store, queues, .. } = self;
        drop((store, queues));
        match engine {
            Engine::Memory(engine) => {
                let engine = engine.restart();
                let store = engine.store();
                Self::on(time, Engine::Memory(engine), store)
            }
            Engine::Embedded(disk, index, engine) => {
                drop(engine);
                disk.restart_process();
                let engine = open(&disk, &index, &time);
                let store = Store::new(Arc::<EmbeddedEngine>::clone(&engine));
                Self::on(time, Engine::Embedded(disk, index, engine), store)
            }
        }
    }

    pub(crate) fn pass(&self, seconds: u64) {
        self.time.advance(Duration::from_secs(seconds));
    }

    pub(crate) async fn create(&self, name: &str) -> Result<Created, QueueError> {
        self.create_with(name, &[]).await
    }

    pub(crate) async fn create_with(&self, name: &str, metadata: &[(&str, &str)]) -> Result<Created, QueueError> {
        let metadata = metadata.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        self.queues.create_queue(&Asked::for_tests(CreateQueue { address: address(name), metadata })).await
    }

    pub(crate) async fn delete_queue(&self, name: &str) -> Result<(), QueueError> {
        self.queues.delete_queue(&Asked::for_tests(DeleteQueue { address: address(name) })).await
    }

    pub(crate) async fn clear(&self, name: &str) -> Result<(), QueueError> {
        self.queues.clear_messages(&Asked::for_tests(ClearMessages { address: address(name) })).await
    }

    pub(crate) async fn metadata(&self, name: &str) -> Result<QueueProperties, QueueError> {
        self.queues.get_queue_metadata(&Asked::for_tests(GetQueueMetadata { address: address(name) })).await
    }

    pub(crate) async fn count(&self, name: &str) -> u64 {
        self.metadata(name).await.unwrap().approximate_messages_count
    }

    pub(crate) async fn put_with(
        &self,
        name: &str,
        text: &str,
        timeout: i64,
        ttl: i64,
    ) -> Result<(MessageId, Hold), QueueError> {
        let request = PutMessage {
            address: address(name),
            id: MessageId::new(fresh(&self.store)),
            receipt: fresh(&self.store),
            times: PutTimes::new(ServiceVersion::NEWEST, Some(timeout), Some(ttl)).unwrap(),
            text: text.into(),
        };
        let (properties, hold) = self.queues.put_message(&Asked::for_tests(request)).await?;
        Ok((properties.id, hold))
    }

    pub(crate) async fn put(&self, name: &str, text: &str) -> (MessageId, Hold) {
        self.put_with(name, text, 0, 604_800).await.unwrap()
    }

    pub(crate) async fn get(&self, name: &str, number: u8, timeout: i64) -> Result<Vec<GotMessage>, QueueError> {
        let request = GetMessages {
            address: address(name),
            number,
            timeout: VisibilityTimeout::for_get(Some(timeout)).unwrap(),
            receipt: fresh(&self.store),
        };
        self.queues.get_messages(&Asked::for_tests(request)).await
    }

    /// The texts of what a Get takes.
    pub(crate) async fn texts(&self, name: &str, number: u8, timeout: i64) -> Vec<String> {
        self.get(name, number, timeout).await.unwrap().into_iter().map(|message| message.text).collect()
    }

    pub(crate) async fn peek(&self, name: &str, number: u8) -> Result<Vec<message::PeekedMessage>, QueueError> {
        self.queues.peek_messages(&Asked::for_tests(PeekMessages { address: address(name), number })).await
    }

    pub(crate) async fn update(
        &self,
        name: &str,
        id: MessageId,
        sent: Receipt,
        timeout: i64,
        text: Option<&str>,
    ) -> Result<Hold, QueueError> {
        let request = UpdateMessage {
            address: address(name),
            id,
            sent,
            timeout: VisibilityTimeout::for_update(Some(timeout)).unwrap(),
            receipt: fresh(&self.store),
            text: text.map(str::to_owned),
        };
        self.queues.update_message(&Asked::for_tests(request)).await
    }

    pub(crate) async fn delete(&self, name: &str, id: MessageId, sent: Receipt) -> Result<(), QueueError> {
        self.queues.delete_message(&Asked::for_tests(DeleteMessage { address: address(name), id, sent })).await
    }

    pub(crate) async fn expire(&mut self) {
        while ExpireMessages::step(&self.store, &mut self.cursor).await.unwrap().more {}
    }

    pub(crate) async fn sweep(&self) {
        while SweepQueues::step(&self.store, &mut ()).await.unwrap().more {}
    }

    /// Nothing is wrong with the rows. Returns how many there are.
    pub(crate) async fn audit(&self) -> u64 {
        let found = audit(&self.store.snapshot()).await.unwrap();
        assert_eq!(found.problems, Vec::<String>::new());
        found.rows
    }
}

fn open(disk: &SimulatedDisk, index: &TempDir, time: &ManualTime) -> Arc<EmbeddedEngine> {
    let options = Options { reserve_bytes: 0, background: false, log_segment_bytes: 256 * 1024, ..Options::default() };
    let opened = EmbeddedEngine::open_on(Arc::new(disk.clone()), index.path(), time.clone(), options);
    Arc::new(opened.unwrap())
}
