//! The Blob service beyond whole blobs: blocks, appends, conditional overwrites, the end of a large container, a snapshot
//! of a scattered page blob; and what it costs to know who asks.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Context as _;

use super::{
    client::Connection,
    load::{self, CLIENTS, Client, Request},
    machine::{one_task_loop, write_loop},
    peers::Peer,
    scene::{Scene, Who, median},
    signer::Signer,
    whole,
};

const BLOCK: usize = 4 * 1024 * 1024;
/// Block ids of one blob before the next is begun.
const BLOCKS: u64 = 40_000;
const APPEND: usize = 1024;
/// Blocks of one append blob before the next is begun.
const APPENDS: u64 = 49_000;
const PAGE: usize = 512;

pub(crate) async fn run(scene: &mut Scene) -> anyhow::Result<()> {
    for peer in scene.both() {
        let head = Signer::new()?.head("PUT", "/bench", &[("restype", "container")], 0, &[]);
        Request { head, body: vec![], wanted: 201 }.send(&mut Connection::open(peer.port).await?).await?;
    }
    blocks(scene).await?;
    appends(scene).await?;
    scene.azurite = None;
    overwrites(scene).await?;
    // On a thread without a runtime: the reference engine brings its own.
    let micros = tokio::task::spawn_blocking(authentication).await??;
    scene.report.limit("verify a Shared Key", "us", micros, 5.0);
    snapshot(scene).await?;
    deletion(scene).await
}

/// What a client does, over and over.
#[derive(Clone, Copy)]
enum Work {
    PutBlob,
    PutBlock,
    Append,
}

struct Blocks {
    work: Work,
    signer: Signer,
    data: Arc<Vec<u8>>,
    /// The append blob, and the request that appends to it.
    append: (u64, String),
}

static NUMBER: AtomicU64 = AtomicU64::new(0);

impl Blocks {
    fn clients(work: Work, bytes: usize) -> anyhow::Result<Vec<Self>> {
        NUMBER.store(NUMBER.load(Ordering::Relaxed).next_multiple_of(APPENDS * BLOCKS), Ordering::Relaxed);
        let (signer, data) = (Signer::new()?, Arc::new(vec![0x5A; bytes]));
        let client =
            || Self { work, signer: signer.clone(), data: Arc::clone(&data), append: (u64::MAX, String::new()) };
        Ok(std::iter::repeat_with(client).take(CLIENTS).collect())
    }

    async fn append(&mut self, connection: &mut Connection, number: u64) -> anyhow::Result<()> {
        let blob = number / APPENDS;
        let path = format!("/bench/append{blob}");
        if number.is_multiple_of(APPENDS) {
            let head = self.signer.head("PUT", &path, &[], 0, &[("x-ms-blob-type", "AppendBlob")]);
            return Request { head, body: vec![], wanted: 201 }.send(connection).await;
        }
        if self.append.0 != blob {
            let head = self.signer.head("PUT", &path, &[("comp", "appendblock")], self.data.len(), &[]);
            self.append = (blob, head);
        }
        let (status, _) = connection.call(&self.append.1, &self.data).await?;
        // The first appends may be quicker than the one that creates their blob.
        anyhow::ensure!(matches!(status, 201 | 404), "answered {status}");
        Ok(())
    }
}

impl Client for Blocks {
    fn port(peer: &Peer) -> u16 {
        peer.port
    }

    async fn once(&mut self, connection: &mut Connection) -> anyhow::Result<u64> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let (signer, length) = (&self.signer, self.data.len());
        let head = match self.work {
            Work::Append => return self.append(connection, number).await.map(|()| 1),
            Work::PutBlob => {
                signer.head("PUT", &format!("/bench/b{number}"), &[], length, &[("x-ms-blob-type", "BlockBlob")])
            }
            Work::PutBlock => {
                let id = format!("{:08}", number % BLOCKS);
                let query = [("blockid", id.as_str()), ("comp", "block")];
                signer.head("PUT", &format!("/bench/blocks{}", number / BLOCKS), &query, length, &[])
            }
        };
        let (status, _) = connection.call(&head, &self.data).await?;
        anyhow::ensure!(status == 201, "answered {status}");
        Ok(1)
    }
}

async fn blocks(scene: &mut Scene) -> anyhow::Result<()> {
    let clients = |who, _| match who {
        Who::Ours => Blocks::clients(Work::PutBlock, BLOCK),
        Who::Azurite => Blocks::clients(Work::PutBlob, BLOCK),
        Who::Nginx => Ok(vec![]),
    };
    let medians = scene.turns(clients, &[write_loop]).await?;
    let what = format!("Put Block 4 MiB, {CLIENTS} clients ({:.0} us CPU each)", medians.cpu_micros);
    if let Some(azurite) = medians.azurite {
        scene.report.ratio(&what, "/s", medians.ours, ("Azurite's Put Blob", azurite), 3.0);
    }
    scene.report.ratio(&what, "/s", medians.ours, ("write+sync", medians.machine[0]), 0.7);
    Ok(())
}

async fn appends(scene: &mut Scene) -> anyhow::Result<()> {
    let clients = |who, _| if who == Who::Nginx { Ok(vec![]) } else { Blocks::clients(Work::Append, APPEND) };
    let medians = scene.turns(clients, &[]).await?;
    let what = format!("Append Block 1 KiB, one blob, {CLIENTS} clients ({:.0} us CPU each)", medians.cpu_micros);
    if let Some(azurite) = medians.azurite {
        scene.report.ratio(&what, "/s", medians.ours, ("Azurite", azurite), 20.0);
    }
    scene.report.ratio(&what, "/s", medians.ours, ("the goal", 5000.0), 1.0);
    Ok(())
}

/// One client, one blob, each write with the ETag of the last.
async fn overwrites(scene: &mut Scene) -> anyhow::Result<()> {
    let (mut own, mut loops) = (vec![], vec![]);
    for _ in 0..scene.rounds() {
        let (port, time) = (scene.ours.port, scene.time());
        own.push(tokio::task::spawn_blocking(move || overwrite_loop(port, time)).await??);
        loops.push(scene.in_process(one_task_loop).await?);
    }
    let what = "Put Blob with If-Match, one blob, 1 client";
    scene.report.ratio(what, "/s", median(own), ("commit loop, 1 task", median(loops)), 0.6);
    Ok(())
}

/// The one client has a thread to itself: hops between threads of the load generator are not the server's.
fn overwrite_loop(port: u16, time: Duration) -> anyhow::Result<f64> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let signer = Signer::new()?;
        let mut connection = Connection::open(port).await?;
        let kind = [("x-ms-blob-type", "BlockBlob")];
        let head = signer.head("PUT", "/bench/one", &[], 0, &kind);
        let mut etag = connection.call_for_etag(&head).await?;
        let (start, mut count) = (Instant::now(), 0_u64);
        while start.elapsed() < time {
            let head = signer.conditional_head("PUT", "/bench/one", &etag, &kind);
            etag = connection.call_for_etag(&head).await?;
            count += 1;
        }
        Ok(count as f64 / start.elapsed().as_secs_f64())
    })
}

/// Verifying a Shared Key, as every request needs it: microseconds.
fn authentication() -> anyhow::Result<f64> {
    use access::{
        AccountKey, Accounts,
        account::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY},
        need::Service,
        shared_key::{self, Scheme, SignedParts},
    };
    use hmac::Mac;
    const ROUNDS: u32 = 100_000;
    let store = store_memory::MemoryEngine::default().store();
    let key = AccountKey::parse(DEVELOPMENT_KEY)?;
    let configured = [(types::AccountName::parse(DEVELOPMENT_ACCOUNT)?, vec![key])];
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    // On a thread of its own: this one already has a runtime.
    let opened =
        std::thread::scope(|scope| scope.spawn(|| runtime.block_on(Accounts::open(&store, configured))).join());
    let accounts = opened.map_err(|_| anyhow::anyhow!("a thread panicked"))??;
    let account = accounts.get(DEVELOPMENT_ACCOUNT).context("no account")?;
    let now = store.now();
    let headers = [
        ("host", "127.0.0.1"),
        ("content-length", "4096"),
        ("x-ms-blob-type", "BlockBlob"),
        ("x-ms-client-request-id", "5b8c9f6e-3c7d-4f10-9d7e-2f4f3f9b6f11"),
        ("x-ms-date", "Sun, 15 Nov 2026 12:00:00 GMT"),
        ("x-ms-version", "2026-10-06"),
    ];
    let parts = SignedParts {
        service: Service::Blob,
        method: "PUT",
        raw_path: "/devstoreaccount1/container/a/blob/of/usual/length.bin",
        path_style: true,
        query: &[],
        headers: &headers,
        version: types::ServiceVersion::NEWEST,
        date: Some(now),
    };
    let text = shared_key::string_to_sign(DEVELOPMENT_ACCOUNT, Scheme::SharedKey, &parts);
    let mut mac = Signer::new()?.mac();
    mac.update(text.as_bytes());
    let signature = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, mac.finalize().into_bytes());
    let authorization = format!("{DEVELOPMENT_ACCOUNT}:{signature}");
    let start = Instant::now();
    for _ in 0..ROUNDS {
        let verified = shared_key::verify(&accounts, &account, Scheme::SharedKey, &authorization, &parts, now);
        anyhow::ensure!(std::hint::black_box(verified).is_ok(), "the signature is refused");
    }
    Ok(start.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS))
}

/// A snapshot of a page blob in which every second page is written.
async fn snapshot(scene: &mut Scene) -> anyhow::Result<()> {
    let (signer, ranges, port) = (Signer::new()?, scene.size(20_000, 100_000), scene.ours.port);
    let length = (ranges * 2 * PAGE as u64).to_string();
    let mut connection = Connection::open(port).await?;
    let create = [("x-ms-blob-content-length", length.as_str()), ("x-ms-blob-type", "PageBlob")];
    let head = signer.head("PUT", "/bench/pages", &[], 0, &create);
    Request { head, body: vec![], wanted: 201 }.send(&mut connection).await?;
    let put = |signer: Signer| {
        move |number: u64| {
            let start = number * 2 * PAGE as u64;
            let range = format!("bytes={start}-{}", start + PAGE as u64 - 1);
            let extra = [("x-ms-page-write", "update"), ("x-ms-range", range.as_str())];
            let head = signer.head("PUT", "/bench/pages", &[("comp", "page")], PAGE, &extra);
            Request { head, body: vec![0x5A; PAGE], wanted: 201 }
        }
    };
    load::fill(port, CLIENTS, ranges, put(signer.clone())).await?;
    let mut slowest = Duration::ZERO;
    for _ in 0..5 {
        let head = signer.head("PUT", "/bench/pages", &[("comp", "snapshot")], 0, &[]);
        let (start, request) = (Instant::now(), Request { head, body: vec![], wanted: 201 });
        request.send(&mut connection).await?;
        slowest = slowest.max(start.elapsed());
    }
    let what = format!("Snapshot of a page blob with {ranges} ranges, slowest of 5");
    scene.report.limit(&what, "ms", slowest.as_secs_f64() * 1e3, 20.0);
    Ok(())
}

/// The end of a large container, whose name is free at once.
async fn deletion(scene: &mut Scene) -> anyhow::Result<()> {
    let (signer, blobs) = (Signer::new()?, scene.size(50_000, 1_000_000));
    whole::fill(&scene.ours, "doomed", blobs).await?;
    let mut connection = Connection::open(scene.ours.port).await?;
    let container = |method, wanted| Request {
        head: signer.head(method, "/doomed", &[("restype", "container")], 0, &[]),
        body: vec![],
        wanted,
    };
    let start = Instant::now();
    container("DELETE", 202).send(&mut connection).await?;
    let taken = start.elapsed();
    container("PUT", 201).send(&mut connection).await?;
    let what = format!("Delete Container with {blobs} blobs");
    scene.report.limit(&what, "ms", taken.as_secs_f64() * 1e3, 100.0);
    Ok(())
}
