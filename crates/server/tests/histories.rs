//! Concurrent clients against the built program, and whether one order of their calls explains what they saw.
//!
//! `LAZULI_TEST_HISTORIES` is how many histories of each kind are recorded, `LAZULI_TEST_CRASHES` how often the program is
//! killed under its clients; a long campaign takes more.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use testkit::{
    Answer, Lazuli, Random, Wire,
    client::{Client, Request},
    linearizability::{
        Bounds, History, Model, Verdict, check,
        models::{
            append_blob::AppendBlob, blob::Blob, files::Files, message::Message, page_blob::PageBlob,
            partition::Partition,
        },
    },
    workload::{
        self, append_blob::AppendPlan, blob::BlobPlan, files::FilesPlan, page_blob, partition::PartitionPlan, queue,
    },
};

/// Clients of one object.
const CLIENTS: usize = 5;
/// Calls of each.
const CALLS: usize = 12;
/// Objects that are worked on at the same time.
const AT_ONCE: usize = 4;

/// Calls of each client of a server that is killed.
const CALLS_ACROSS: usize = 30;

fn histories() -> u64 {
    count("LAZULI_TEST_HISTORIES", 1000)
}

fn count(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().and_then(|count| count.parse().ok()).unwrap_or(usual)
}

fn server() -> (Lazuli, tempfile::TempDir) {
    let home = tempfile::tempdir().unwrap();
    (Lazuli::start(env!("CARGO_BIN_EXE_lazuli").as_ref(), home.path()).unwrap(), home)
}

async fn make(server: &Lazuli, service: &'static str, request: Request) {
    let answer = server.client(service).call(&request).await.unwrap();
    assert!((200..300).contains(&answer.status), "{request:?}: {answer:?}");
}

fn explained<M: Model>(model: &M, history: &History<M::Op, M::Answer>, seed: u64) {
    match check(model, history, Bounds::default()) {
        Verdict::Linearizable => {}
        verdict => {
            let mut calls: Vec<_> = history.iter().collect();
            calls.sort_by_key(|call| call.called_at);
            let lines: Vec<_> = calls.iter().map(|call| format!("{call:?}")).collect();
            panic!("seed {seed}: {verdict:?}\nall calls:\n{}", lines.join("\n"))
        }
    }
}

/// Runs one workload for every seed, some at the same time.
async fn each<F: Future<Output = ()> + Send + 'static>(run: impl Fn(u64) -> F) {
    let mut running = tokio::task::JoinSet::new();
    for seed in 0..histories() {
        if running.len() == AT_ONCE {
            running.join_next().await.unwrap().unwrap();
        }
        running.spawn(run(seed));
    }
    while let Some(ended) = running.join_next().await {
        ended.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blobs_are_linearizable() {
    let (server, _home) = server();
    make(&server, "blob", Request::new("PUT", "/histories?restype=container")).await;
    each(|seed| {
        let clients = (0..CLIENTS).map(|_| server.client("blob")).collect();
        async move {
            let plan = |client| BlobPlan::new(format!("/histories/blob-{seed}"), client);
            explained(&Blob, &workload::run(clients, plan, seed, CALLS).await.unwrap(), seed);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn append_blobs_are_linearizable() {
    let (server, _home) = server();
    make(&server, "blob", Request::new("PUT", "/histories?restype=container")).await;
    for seed in 0..histories() {
        let create = Request::new("PUT", format!("/histories/append-{seed}")).header("x-ms-blob-type", "AppendBlob");
        make(&server, "blob", create).await;
    }
    each(|seed| {
        let clients = (0..CLIENTS).map(|_| server.client("blob")).collect();
        async move {
            let plan = |_| AppendPlan { path: format!("/histories/append-{seed}"), blocks: 0 };
            explained(&AppendBlob, &workload::run(clients, plan, seed, CALLS).await.unwrap(), seed);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn page_blobs_are_linearizable() {
    let (server, _home) = server();
    make(&server, "blob", Request::new("PUT", "/histories?restype=container")).await;
    for seed in 0..histories() {
        let create = Request::new("PUT", format!("/histories/page-{seed}")).header("x-ms-blob-type", "PageBlob");
        make(&server, "blob", create.header("x-ms-blob-content-length", (page_blob::PAGES * 512).to_string())).await;
    }
    each(|seed| {
        let clients = (0..CLIENTS).map(|_| server.client("blob")).collect();
        async move {
            let plan = |_| page_blob::PagePlan { path: format!("/histories/page-{seed}") };
            let history = workload::run(clients, plan, seed, CALLS).await.unwrap();
            explained(&PageBlob { pages: page_blob::PAGES }, &history, seed);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entities_are_linearizable() {
    let (server, _home) = server();
    let create = Request::new("POST", "/Tables").header("Content-Type", "application/json");
    make(&server, "table", create.body(r#"{"TableName":"histories"}"#)).await;
    each(|seed| {
        let clients = (0..CLIENTS).map(|_| server.client("table")).collect();
        async move {
            let plan = |_| PartitionPlan::new("histories", format!("p{seed}"));
            explained(&Partition, &workload::run(clients, plan, seed, CALLS).await.unwrap(), seed);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_are_linearizable() {
    let (server, _home) = server();
    for seed in 0..histories() {
        make(&server, "queue", Request::new("PUT", format!("/histories-{seed}"))).await;
    }
    each(|seed| {
        let clients = (0..CLIENTS).map(|_| server.client("queue")).collect();
        async move {
            let plan = |_| queue::QueuePlan::new(format!("/histories-{seed}"));
            let history = workload::run(clients, plan, seed, CALLS).await.unwrap();
            for message in queue::by_message(&history) {
                explained(&Message, &message, seed);
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_linearizable() {
    let (server, _home) = server();
    make(&server, "file", Request::new("PUT", "/histories?restype=share")).await;
    for seed in 0..histories() {
        make(&server, "file", Request::new("PUT", format!("/histories/d{seed}?restype=directory"))).await;
    }
    each(|seed| {
        let clients = (0..CLIENTS).map(|_| server.client("file")).collect();
        async move {
            let plan = |client| FilesPlan::new(format!("/histories/d{seed}"), client);
            explained(&Files, &workload::run(clients, plan, seed, CALLS).await.unwrap(), seed);
        }
    })
    .await;
}

/// A server that is killed now and then; whoever asks meanwhile waits until it is back.
#[derive(Clone)]
struct Mortal {
    server: Arc<tokio::sync::RwLock<Lazuli>>,
    lives: Arc<AtomicU64>,
    calls: Arc<AtomicU64>,
}

impl Mortal {
    fn client(&self, service: &'static str) -> Survivor {
        Survivor { mortal: self.clone(), service, wire: None }
    }

    /// Kills the server when its clients have made so many calls, and starts it again.
    async fn die_at(&self, calls: u64) {
        while self.calls.load(Ordering::Relaxed) < calls {
            tokio::task::yield_now().await;
        }
        let mut server = self.server.write().await;
        server.kill_and_start().unwrap();
        // Before anybody can ask again: the ports are new.
        self.lives.fetch_add(1, Ordering::Relaxed);
    }
}

/// A client of such a server. It never learns what became of a call that was under way when the server was killed.
struct Survivor {
    mortal: Mortal,
    service: &'static str,
    wire: Option<(u64, Wire)>,
}

impl Client for Survivor {
    async fn call(&mut self, request: &Request) -> Option<Answer> {
        let (life, new) = {
            let server = self.mortal.server.read().await;
            (self.mortal.lives.load(Ordering::Relaxed), server.client(self.service))
        };
        let mut wire = self.wire.take().filter(|(known, _)| *known == life).map_or(new, |(_, wire)| wire);
        self.mortal.calls.fetch_add(1, Ordering::Relaxed);
        let answer = wire.call(request).await;
        self.wire = Some((life, wire));
        answer
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_is_explained_across_kills() {
    const CLIENTS: usize = 3;
    let (server, _home) = server();
    make(&server, "blob", Request::new("PUT", "/histories?restype=container")).await;
    let create = Request::new("POST", "/Tables").header("Content-Type", "application/json");
    make(&server, "table", create.body(r#"{"TableName":"histories"}"#)).await;
    make(&server, "file", Request::new("PUT", "/histories?restype=share")).await;
    let server = Arc::new(tokio::sync::RwLock::new(server));
    for seed in 0..count("LAZULI_TEST_CRASHES", 25) {
        let mortal = Mortal { server: Arc::clone(&server), lives: Arc::default(), calls: Arc::default() };
        make(&*server.read().await, "queue", Request::new("PUT", format!("/histories-{seed}"))).await;
        make(&*server.read().await, "file", Request::new("PUT", format!("/histories/d{seed}?restype=directory"))).await;
        let clients = |service| (0..CLIENTS).map(|_| mortal.client(service)).collect();
        let blob = |client| BlobPlan::new(format!("/histories/across-{seed}"), client);
        let partition = |_| PartitionPlan::new("histories", format!("across-{seed}"));
        let queue = |_| queue::QueuePlan::new(format!("/histories-{seed}"));
        let at = Random::new(seed).below(u64::try_from(4 * CLIENTS * CALLS_ACROSS).unwrap());
        let directory = |client| FilesPlan::new(format!("/histories/d{seed}"), client);
        let (blobs, partitions, messages, files, ()) = tokio::join!(
            workload::run(clients("blob"), blob, seed, CALLS_ACROSS),
            workload::run(clients("table"), partition, seed, CALLS_ACROSS),
            workload::run(clients("queue"), queue, seed, CALLS_ACROSS),
            workload::run(clients("file"), directory, seed, CALLS_ACROSS),
            mortal.die_at(at),
        );
        explained(&Blob, &blobs.unwrap(), seed);
        explained(&Partition, &partitions.unwrap(), seed);
        explained(&Files, &files.unwrap(), seed);
        for message in queue::by_message(&messages.unwrap()) {
            explained(&Message, &message, seed);
        }
    }
}
