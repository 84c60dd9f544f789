//! The Blob service beyond whole blobs: blocks, appends, conditional overwrites, the end of a large container, a snapshot
//! of a scattered page blob; and what it costs to know who asks.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Context as _;

use super::{
    client::{Connection, Signer},
    peers::Peer,
    rows::{fill, median, settle},
};
use crate::{Arguments, report::Report, store::commits};

const CLIENTS: u64 = 64;
const BLOCK: usize = 4 * 1024 * 1024;
const APPEND: usize = 1024;
/// Blocks of one append blob before the next is begun.
const APPENDS: u64 = 49_000;
const PAGE: usize = 512;

pub(crate) async fn run(arguments: &Arguments, time: Duration, rounds: usize) -> anyhow::Result<Report> {
    let mut report = Report::default();
    let directory = tempfile::tempdir_in(&arguments.directory)?;
    let path = directory.path();
    let ours = Peer::lazuli(&path.join("lazuli"))?;
    let azurite = Peer::azurite(&path.join("azurite"))?;
    for peer in [Some(&ours), azurite.as_ref()].into_iter().flatten() {
        created(peer, "bench").await?;
    }
    blocks(&ours, azurite.as_ref(), path, time, rounds, &mut report).await?;
    appends(&ours, azurite.as_ref(), time, rounds, &mut report).await?;
    drop(azurite);
    overwrites(&ours, path, time, rounds, &mut report).await?;
    // On a thread without a runtime: the reference engine brings its own.
    let micros = tokio::task::spawn_blocking(authentication).await??;
    report.limit("verify a Shared Key", "us", micros, 5.0);
    snapshot(&ours, if arguments.quick { 20_000 } else { 100_000 }, &mut report).await?;
    deletion(&ours, if arguments.quick { 50_000 } else { 1_000_000 }, &mut report).await?;
    Ok(report)
}

async fn created(peer: &Peer, container: &str) -> anyhow::Result<()> {
    let head = Signer::new()?.head("PUT", &format!("/{container}"), &[("restype", "container")], 0, &[]);
    let (status, _) = Connection::open(peer.port).await?.call(&head, &[]).await?;
    anyhow::ensure!(status == 201, "creating the container answered {status}");
    Ok(())
}

/// What every connection does, over and over.
#[derive(Clone, Copy)]
enum Work {
    PutBlob,
    PutBlock,
    Append,
}

static NUMBER: AtomicU64 = AtomicU64::new(0);

impl Work {
    async fn once(self, connection: &mut Connection, signer: &Signer, data: &[u8]) -> anyhow::Result<()> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let head = match self {
            Self::PutBlob => {
                signer.head("PUT", &format!("/bench/b{number}"), &[], data.len(), &[("x-ms-blob-type", "BlockBlob")])
            }
            Self::PutBlock => {
                let id = format!("{:08}", number % 40_000);
                let query = [("blockid", id.as_str()), ("comp", "block")];
                signer.head("PUT", &format!("/bench/blocks{}", number / 40_000), &query, data.len(), &[])
            }
            Self::Append => {
                let blob = format!("/bench/append{}", number / APPENDS);
                if number.is_multiple_of(APPENDS) {
                    let head = signer.head("PUT", &blob, &[], 0, &[("x-ms-blob-type", "AppendBlob")]);
                    let (status, _) = connection.call(&head, &[]).await?;
                    anyhow::ensure!(status == 201, "creating an append blob answered {status}");
                    return Ok(());
                }
                signer.head("PUT", &blob, &[("comp", "appendblock")], data.len(), &[])
            }
        };
        let (status, _) = connection.call(&head, data).await?;
        // The first appends may be quicker than the one that creates their blob.
        anyhow::ensure!(status == 201 || (status == 404 && matches!(self, Self::Append)), "answered {status}");
        Ok(())
    }
}

/// Requests a second, and the processor time of each.
async fn load(peer: &Peer, work: Work, bytes: usize, time: Duration) -> anyhow::Result<(f64, f64)> {
    NUMBER.store(NUMBER.load(Ordering::Relaxed).next_multiple_of(APPENDS * 40_000), Ordering::Relaxed);
    let signer = Signer::new()?;
    let data = Arc::new(vec![0x5A; bytes]);
    let (port, cpu, start) = (peer.port, peer.cpu_seconds(), Instant::now());
    if matches!(work, Work::Append) {
        work.once(&mut Connection::open(port).await?, &signer, &data).await?;
    }
    let tasks: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let (signer, data) = (signer.clone(), Arc::clone(&data));
            tokio::spawn(async move {
                let mut connection = Connection::open(port).await?;
                let mut count = 0_u64;
                while start.elapsed() < time {
                    work.once(&mut connection, &signer, &data).await?;
                    count += 1;
                }
                Ok::<_, anyhow::Error>(count)
            })
        })
        .collect();
    let mut requests = 0;
    for task in tasks {
        requests += task.await??;
    }
    let seconds = start.elapsed().as_secs_f64();
    Ok((requests as f64 / seconds, (peer.cpu_seconds() - cpu) * 1e6 / requests.max(1) as f64))
}

async fn blocks(
    ours: &Peer,
    azurite: Option<&Peer>,
    path: &Path,
    time: Duration,
    rounds: usize,
    report: &mut Report,
) -> anyhow::Result<()> {
    let (mut own, mut cpu, mut theirs, mut loops) = (vec![], vec![], vec![], vec![]);
    for _ in 0..rounds {
        let measured = load(ours, Work::PutBlock, BLOCK, time).await?;
        own.push(measured.0);
        cpu.push(measured.1);
        if let Some(azurite) = azurite {
            theirs.push(load(azurite, Work::PutBlob, BLOCK, time).await?.0);
            settle().await?;
        }
        let target = path.join("writes");
        loops.push(tokio::task::spawn_blocking(move || write_loop(&target, time)).await??);
    }
    let what = format!("Put Block 4 MiB, {CLIENTS} clients ({:.0} us CPU each)", median(cpu));
    let own = median(own);
    if azurite.is_some() {
        report.ratio(&what, "/s", own, ("Azurite's Put Blob", median(theirs)), 3.0);
    }
    report.ratio(&what, "/s", own, ("write+sync", median(loops)), 0.7);
    Ok(())
}

/// What a block cannot do without: a write and a sync, on two threads, as the machine has two cores.
fn write_loop(path: &Path, time: Duration) -> anyhow::Result<f64> {
    use std::os::unix::fs::FileExt;
    let start = Instant::now();
    let threads: Vec<_> = (0..2)
        .map(|number| {
            let path = path.with_extension(number.to_string());
            std::thread::spawn(move || -> anyhow::Result<u64> {
                let file = std::fs::File::create(&path)?;
                let data = vec![0x5A; BLOCK];
                let (mut count, mut offset) = (0, 0);
                while start.elapsed() < time {
                    file.write_all_at(&data, offset)?;
                    file.sync_data()?;
                    offset += BLOCK as u64;
                    count += 1;
                }
                std::fs::remove_file(&path)?;
                Ok(count)
            })
        })
        .collect();
    let mut count = 0;
    for thread in threads {
        count += thread.join().map_err(|_| anyhow::anyhow!("a thread panicked"))??;
    }
    Ok(count as f64 / start.elapsed().as_secs_f64())
}

async fn appends(
    ours: &Peer,
    azurite: Option<&Peer>,
    time: Duration,
    rounds: usize,
    report: &mut Report,
) -> anyhow::Result<()> {
    let (mut own, mut cpu, mut theirs) = (vec![], vec![], vec![]);
    for _ in 0..rounds {
        let measured = load(ours, Work::Append, APPEND, time).await?;
        own.push(measured.0);
        cpu.push(measured.1);
        if let Some(azurite) = azurite {
            theirs.push(load(azurite, Work::Append, APPEND, time).await?.0);
        }
    }
    let what = format!("Append Block 1 KiB, one blob, {CLIENTS} clients ({:.0} us CPU each)", median(cpu));
    let own = median(own);
    if azurite.is_some() {
        report.ratio(&what, "/s", own, ("Azurite", median(theirs)), 20.0);
    }
    report.ratio(&what, "/s", own, ("the goal", 5000.0), 1.0);
    Ok(())
}

/// One client, one blob, each write with the ETag of the last.
async fn overwrites(
    ours: &Peer,
    path: &Path,
    time: Duration,
    rounds: usize,
    report: &mut Report,
) -> anyhow::Result<()> {
    let (mut own, mut loops) = (vec![], vec![]);
    for _ in 0..rounds {
        let port = ours.port;
        own.push(tokio::task::spawn_blocking(move || overwrite_loop(port, time)).await??);
        let target = tempfile::tempdir_in(path)?;
        let commits = target.path().join("commits");
        loops.push(tokio::task::spawn_blocking(move || commits::one_task_loop(&commits, time)).await??);
    }
    let what = "Put Blob with If-Match, one blob, 1 client";
    report.ratio(what, "/s", median(own), ("commit loop, 1 task", median(loops)), 0.6);
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
async fn snapshot(ours: &Peer, ranges: u64, report: &mut Report) -> anyhow::Result<()> {
    let signer = Signer::new()?;
    let length = (ranges * 2 * PAGE as u64).to_string();
    let mut connection = Connection::open(ours.port).await?;
    let create = [("x-ms-blob-content-length", length.as_str()), ("x-ms-blob-type", "PageBlob")];
    let (status, _) = connection.call(&signer.head("PUT", "/bench/pages", &[], 0, &create), &[]).await?;
    anyhow::ensure!(status == 201, "creating a page blob answered {status}");
    let port = ours.port;
    let tasks: Vec<_> = (0..CLIENTS)
        .map(|task| {
            let signer = signer.clone();
            tokio::spawn(async move {
                let mut connection = Connection::open(port).await?;
                for number in (task..ranges).step_by(CLIENTS as usize) {
                    let start = number * 2 * PAGE as u64;
                    let range = format!("bytes={start}-{}", start + PAGE as u64 - 1);
                    let extra = [("x-ms-page-write", "update"), ("x-ms-range", range.as_str())];
                    let head = signer.head("PUT", "/bench/pages", &[("comp", "page")], PAGE, &extra);
                    let (status, _) = connection.call(&head, &[0x5A; PAGE]).await?;
                    anyhow::ensure!(status == 201, "Put Page answered {status}");
                }
                Ok::<_, anyhow::Error>(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    let mut slowest = Duration::ZERO;
    for _ in 0..5 {
        let head = signer.head("PUT", "/bench/pages", &[("comp", "snapshot")], 0, &[]);
        let start = Instant::now();
        let (status, _) = connection.call(&head, &[]).await?;
        anyhow::ensure!(status == 201, "Snapshot Blob answered {status}");
        slowest = slowest.max(start.elapsed());
    }
    let what = format!("Snapshot of a page blob with {ranges} ranges, slowest of 5");
    report.limit(&what, "ms", slowest.as_secs_f64() * 1e3, 20.0);
    Ok(())
}

/// The end of a large container, whose name is free at once.
async fn deletion(ours: &Peer, blobs: u64, report: &mut Report) -> anyhow::Result<()> {
    let signer = Signer::new()?;
    fill(ours, "doomed", blobs).await?;
    let mut connection = Connection::open(ours.port).await?;
    let container = |method| signer.head(method, "/doomed", &[("restype", "container")], 0, &[]);
    let start = Instant::now();
    let (status, _) = connection.call(&container("DELETE"), &[]).await?;
    let taken = start.elapsed();
    anyhow::ensure!(status == 202, "Delete Container answered {status}");
    let (status, _) = connection.call(&container("PUT"), &[]).await?;
    anyhow::ensure!(status == 201, "creating the container again answered {status}");
    report.limit(&format!("Delete Container with {blobs} blobs"), "ms", taken.as_secs_f64() * 1e3, 100.0);
    Ok(())
}
