//! Planted bugs: an engine with a flaw of each class behind a real service, and the checker, which must find it soon. The
//! same workloads without a flaw are explained, so it is the flaw that is found.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use ::blob::Blobs;
use ::file::Files;
use ::queue::Queues;
use account::Settings;
use blob_rest::BlobService;
use file_rest::FileService;
use queue_rest::QueueService;
use store::{Store, clock::SystemTime};
use store_memory::MemoryEngine;
use table::Tables;
use table_rest::TableService;
use testkit::{
    Answer, Nowhere, Parts, RestService,
    client::{Client, InProcess, Request},
    flawed::{Flaw, FlawedEngine},
    linearizability::{
        Bounds, History, Model, Verdict, check,
        models::{blob::Blob, files, message::Message, partition::Partition},
    },
    workload::{self, blob::BlobPlan, files::FilesPlan, partition::PartitionPlan, queue},
};
use tokio::sync::Mutex;
use transfer::{Here, Transfers};

/// In so many histories a bug must be found.
const HISTORIES: u64 = 100;
const CLIENTS: usize = 4;
const CALLS: usize = 12;
/// Power failures in one history: each leaves calls of which nobody knows whether they took effect.
const CRASHES: u64 = 1;

type Build = fn(Parts) -> Arc<dyn rest::Service>;

fn blobs(parts: Parts) -> Arc<dyn rest::Service> {
    let transfers = Transfers::new(Arc::new(Nowhere), Here::default());
    let (blobs, settings) = (Blobs::new(parts.store.clone()), Settings::new(parts.store));
    Arc::new(BlobService::new(blobs, settings, parts.accounts, Arc::new(transfers)))
}

fn queues(parts: Parts) -> Arc<dyn rest::Service> {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    let next = || Some(u128::from(NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)));
    let (queues, settings) = (Queues::new(parts.store.clone()), Settings::new(parts.store));
    Arc::new(QueueService::new(queues, settings, parts.accounts, next))
}

fn tables(parts: Parts) -> Arc<dyn rest::Service> {
    let (tables, settings) = (Tables::new(parts.store.clone()), Settings::new(parts.store));
    Arc::new(TableService::new(tables, settings, parts.accounts))
}

fn shares(parts: Parts) -> Arc<dyn rest::Service> {
    let transfers = Transfers::new(Arc::new(Nowhere), Here::default());
    let (files, settings) = (Files::new(parts.store.clone()), Settings::new(parts.store));
    Arc::new(FileService::new(files, settings, parts.accounts, Arc::new(transfers)))
}

fn store(engine: &MemoryEngine, flaw: Option<Flaw>) -> Store {
    match flaw {
        Some(flaw) => Store::new(Arc::new(FlawedEngine::new(Arc::new(engine.clone()), flaw))),
        None => engine.store(),
    }
}

/// A service on a flawed engine, and what is made before anything goes wrong.
async fn service(build: Build, flaw: Option<Flaw>, made: Request) -> InProcess {
    let engine = MemoryEngine::new(SystemTime::default());
    let sound = InProcess(Arc::new(RestService::over(engine.store(), build).await.unwrap()));
    make(sound, made).await;
    InProcess(Arc::new(RestService::over(store(&engine, flaw), build).await.unwrap()))
}

async fn make(mut service: impl Client, request: Request) {
    let answer = service.call(&request).await.unwrap();
    assert!((200..300).contains(&answer.status), "{request:?}: {answer:?}");
}

fn found<M: Model>(model: &M, history: &History<M::Op, M::Answer>) -> bool {
    match check(model, history, Bounds::default()) {
        Verdict::Linearizable => false,
        Verdict::NotLinearizable { .. } => true,
        Verdict::Unknown { why } => unreachable!("{why}"),
    }
}

fn container() -> Request {
    Request::new("PUT", "/box?restype=container")
}

/// True when the history of a new blob cannot be explained.
async fn blob_is_wrong(flaw: Option<Flaw>, seed: u64) -> bool {
    let service = service(blobs, flaw, container()).await;
    let plan = |client| BlobPlan::new("/box/b", client);
    // An answer that no plan knows says nothing about the checker.
    match workload::run(vec![service; CLIENTS], plan, seed, CALLS).await {
        Ok(history) => found(&Blob, &history),
        Err(_) => false,
    }
}

async fn partition_is_wrong(flaw: Option<Flaw>, seed: u64) -> bool {
    let create = Request::new("POST", "/Tables").header("Content-Type", "application/json");
    let service = service(tables, flaw, create.body(r#"{"TableName":"histories"}"#)).await;
    let plan = |_| PartitionPlan::new("histories", "p");
    match workload::run(vec![service; CLIENTS], plan, seed, CALLS).await {
        Ok(history) => found(&Partition, &history),
        Err(_) => false,
    }
}

async fn files_are_wrong(flaw: Option<Flaw>, seed: u64) -> bool {
    // The topmost directory of a share is a directory.
    let service = service(shares, flaw, Request::new("PUT", "/box?restype=share")).await;
    let plan = |client| FilesPlan::new("/box", client);
    match workload::run(vec![service; CLIENTS], plan, seed, CALLS).await {
        Ok(history) => found(&files::Files, &history),
        Err(_) => false,
    }
}

async fn queue_is_wrong(flaw: Option<Flaw>, seed: u64) -> bool {
    let service = service(queues, flaw, Request::new("PUT", "/histories")).await;
    let plan = |_| queue::QueuePlan::new("/histories");
    match workload::run(vec![service; CLIENTS], plan, seed, CALLS).await {
        Ok(history) => queue::by_message(&history).iter().any(|message| found(&Message, message)),
        Err(_) => false,
    }
}

/// A service that is lost with its power and comes back with what was durable. Who calls while it is away waits for it: a
/// client that goes on calling makes nothing but calls of which nobody knows what became of them.
#[derive(Clone)]
struct Fallible(Arc<Mutex<(MemoryEngine, InProcess)>>);

impl Fallible {
    /// The power fails; what was not durable is lost.
    async fn crash(&self, flaw: Option<Flaw>) {
        let mut running = self.0.lock().await;
        let engine = running.0.restart();
        engine.hold();
        let service = InProcess(Arc::new(RestService::over(store(&engine, flaw), blobs).await.unwrap()));
        *running = (engine, service);
    }

    async fn engine(&self) -> MemoryEngine {
        self.0.lock().await.0.clone()
    }
}

impl Client for Fallible {
    async fn call(&mut self, request: &Request) -> Option<Answer> {
        let mut service = self.0.lock().await.1.clone();
        let answer = service.call(request).await?;
        // One that was under way when the power failed.
        (answer.status < 500).then_some(answer)
    }
}

/// Lets the clients go on.
async fn a_while() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

/// The disk takes a while for each sync, and the power fails in between.
async fn blob_is_wrong_after_crashes(flaw: Option<Flaw>, seed: u64) -> bool {
    let engine = MemoryEngine::new(SystemTime::default());
    let sound = InProcess(Arc::new(RestService::over(engine.store(), blobs).await.unwrap()));
    make(sound.clone(), container()).await;
    let service = Fallible(Arc::new(Mutex::new((engine, sound))));
    service.crash(flaw).await;
    let plan = |client| BlobPlan::new("/box/b", client);
    let mut running = std::pin::pin!(workload::run(vec![service.clone(); CLIENTS], plan, seed, CALLS));
    let mut turn = 0_u64;
    let history = loop {
        tokio::select! {
            biased;
            history = &mut running => break history,
            () = a_while() => {
                turn += 1;
                if turn.is_multiple_of(5) && turn <= 5 * CRASHES { service.crash(flaw).await } else { service.engine().await.sync() }
            }
        }
    };
    found(&Blob, &history.unwrap())
}

/// How many histories it takes to find something; `None` when nothing is found.
async fn found_in<F: Future<Output = bool>>(wrong: impl Fn(u64) -> F) -> Option<u64> {
    for seed in 0..HISTORIES {
        if wrong(seed).await {
            return Some(seed + 1);
        }
    }
    None
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_early_answer_is_found() {
    let taken = found_in(|seed| blob_is_wrong_after_crashes(Some(Flaw::EarlyAnswer), seed)).await;
    println!("histories: {taken:?}");
    assert!(taken.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stale_read_is_found() {
    for wrong in [
        found_in(|seed| blob_is_wrong(Some(Flaw::StaleRead), seed)).await,
        found_in(|seed| partition_is_wrong(Some(Flaw::StaleRead), seed)).await,
        found_in(|seed| files_are_wrong(Some(Flaw::StaleRead), seed)).await,
    ] {
        println!("histories: {wrong:?}");
        assert!(wrong.is_some());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_update_is_found() {
    for wrong in [
        found_in(|seed| blob_is_wrong(Some(Flaw::LostUpdate), seed)).await,
        found_in(|seed| partition_is_wrong(Some(Flaw::LostUpdate), seed)).await,
        found_in(|seed| files_are_wrong(Some(Flaw::LostUpdate), seed)).await,
    ] {
        println!("histories: {wrong:?}");
        assert!(wrong.is_some());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_double_delivery_is_found() {
    let taken = found_in(|seed| queue_is_wrong(Some(Flaw::DoubleDelivery), seed)).await;
    println!("histories: {taken:?}");
    assert!(taken.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_held_twice_is_found() {
    let taken = found_in(|seed| blob_is_wrong(Some(Flaw::LeaseHeldTwice), seed)).await;
    println!("histories: {taken:?}");
    assert!(taken.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_flaw_everything_is_explained() {
    assert_eq!(found_in(|seed| blob_is_wrong(None, seed)).await, None);
    assert_eq!(found_in(|seed| partition_is_wrong(None, seed)).await, None);
    assert_eq!(found_in(|seed| files_are_wrong(None, seed)).await, None);
    assert_eq!(found_in(|seed| queue_is_wrong(None, seed)).await, None);
    assert_eq!(found_in(|seed| blob_is_wrong_after_crashes(None, seed)).await, None);
}
