//! The rows of the table: what is measured, against whom, and the goal.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    client::{Connection, Signer},
    load::{self, Work},
    peers::Peer,
};
use crate::{Arguments, report::Report, store::commits};

const SMALL: usize = 4 * 1024;
const LARGE: usize = 4 * 1024 * 1024;
const CLIENTS: usize = 64;

pub(crate) async fn run(arguments: &Arguments, time: Duration, rounds: usize) -> anyhow::Result<Report> {
    let mut report = Report::default();
    let directory = tempfile::tempdir_in(&arguments.directory)?;
    let path = directory.path();
    for (name, bytes) in [("small", SMALL), ("large", LARGE)] {
        std::fs::write(path.join(name), vec![0x5A; bytes])?;
    }
    let ours = Peer::lazuli(&path.join("lazuli"))?;
    report.limit("first answer after start on an empty store", "ms", ours.start.as_secs_f64() * 1e3, 150.0);
    report.limit("resident memory, idle", "MiB", ours.resident_mib(), 40.0);
    let azurite = Peer::azurite(&path.join("azurite"))?;
    let nginx = Peer::nginx(path)?;
    prepare(&ours).await?;
    if let Some(azurite) = &azurite {
        prepare(azurite).await?;
    }

    let small = Work::Put(Arc::new(vec![0x5A; SMALL]));
    let large = Work::Put(Arc::new(vec![0x5A; LARGE]));
    let get = |bytes| Work::Get { names: if bytes == SMALL { 1000 } else { 16 }, bytes };
    let file = |name: &str, bytes| Work::File { path: format!("/{name}"), bytes };
    let rows = [
        Row { what: "Put Blob 4 KiB", work: small, azurite: 28.0, other: Other::Commits(0.5) },
        Row { what: "Get Blob 4 KiB", work: get(SMALL), azurite: 30.0, other: Other::Nginx(file("small", SMALL), 0.6) },
        Row { what: "Get Blob 4 MiB", work: get(LARGE), azurite: 2.0, other: Other::Nginx(file("large", LARGE), 0.8) },
        // The last one: it writes so much that nothing else stays in the page cache.
        Row { what: "Put Blob 4 MiB", work: large, azurite: 3.0, other: Other::Md5Loop(0.7) },
    ];
    let mut measured = Vec::new();
    for row in rows {
        measured.push(row.measure(&ours, azurite.as_ref(), nginx.as_ref(), path, time, rounds, &mut report).await?);
    }
    if let [(put, commits), (_, reads), ..] = *measured
        && nginx.is_some()
    {
        // Somebody must speak HTTP before anything is committed, and nobody does it with less than nginx.
        let bound = 1.0 / (1.0 / reads + 1.0 / commits);
        report.ratio("Put Blob 4 KiB, 64 clients", "/s", put, ("nginx, then commit", bound), 0.5);
    }
    drop((azurite, nginx));
    listings(arguments, &ours, &mut report).await?;
    restarts(ours, &path.join("lazuli"), &mut report)?;
    Ok(report)
}

/// The physical limit, or the peer for reads.
enum Other {
    Commits(f64),
    Md5Loop(f64),
    Nginx(Work, f64),
}

struct Row {
    what: &'static str,
    work: Work,
    azurite: f64,
    other: Other,
}

impl Row {
    #[expect(clippy::too_many_arguments, reason = "one caller, and each is a part of the scene")]
    async fn measure(
        self,
        ours: &Peer,
        azurite: Option<&Peer>,
        nginx: Option<&Peer>,
        path: &Path,
        time: Duration,
        rounds: usize,
        report: &mut Report,
    ) -> anyhow::Result<(f64, f64)> {
        let (mut own, mut cpu, mut theirs, mut others) = (vec![], vec![], vec![], vec![]);
        for _ in 0..rounds {
            let others_wait = azurite.map(Peer::hold);
            let measured = load::run(ours, self.work.clone(), CLIENTS, time).await?;
            own.push(measured.rate);
            cpu.push(measured.cpu_micros);
            drop(others_wait);
            if let Some(azurite) = azurite {
                let _ours_waits = ours.hold();
                theirs.push(load::run(azurite, self.work.clone(), CLIENTS, time).await?.rate);
                settle().await?;
            }
            let _both_wait = (ours.hold(), azurite.map(Peer::hold));
            match (&self.other, nginx) {
                (Other::Commits(_), _) => {
                    let directory = tempfile::tempdir_in(path)?;
                    let target = directory.path().join("commits");
                    let loop_ = move || commits::group_commit_loop(&target, time);
                    others.push(tokio::task::spawn_blocking(loop_).await??);
                }
                (Other::Md5Loop(_), _) => {
                    let target = path.join("md5");
                    others.push(tokio::task::spawn_blocking(move || md5_loop(&target, time)).await??);
                }
                (Other::Nginx(work, _), Some(nginx)) => {
                    others.push(load::run(nginx, work.clone(), CLIENTS, time).await?.rate);
                }
                (Other::Nginx(..), None) => {}
            }
        }
        let what = format!("{}, {CLIENTS} clients ({:.0} us CPU each)", self.what, median(cpu));
        let (own, other) = (median(own), median(others));
        if azurite.is_some() {
            report.ratio(&what, "/s", own, ("Azurite", median(theirs)), self.azurite);
        }
        match self.other {
            Other::Commits(goal) => report.ratio(&what, "/s", own, ("commit loop", other), goal),
            Other::Md5Loop(goal) => report.ratio(&what, "/s", own, ("MD5+write+sync", other), goal),
            Other::Nginx(_, goal) if nginx.is_some() => report.ratio(&what, "/s", own, ("nginx", other), goal),
            Other::Nginx(..) => eprintln!("  nginx is not installed: that comparison is left out"),
        }
        Ok((own, other))
    }
}

/// Waits until the device has everything: what one peer leaves unsynced is not for the next one to pay.
pub(crate) async fn settle() -> anyhow::Result<()> {
    let synced = tokio::task::spawn_blocking(|| std::process::Command::new("sync").status()).await??;
    anyhow::ensure!(synced.success(), "sync failed");
    Ok(())
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Loads a server that somebody else started.
pub(crate) async fn load(port: u16, verb: &str, bytes: usize, time: Duration) -> anyhow::Result<()> {
    let peer = Peer::running(port)?;
    prepare(&peer).await?;
    let work = match verb {
        "put" => Work::Put(Arc::new(vec![0x5A; bytes])),
        _ => Work::Get { names: 16, bytes },
    };
    let measured = load::run(&peer, work, CLIENTS, time).await?;
    println!("{:.0}/s", measured.rate);
    Ok(())
}

/// The container and the blobs that are read.
async fn prepare(peer: &Peer) -> anyhow::Result<()> {
    let signer = Signer::new()?;
    let mut connection = Connection::open(peer.port).await?;
    let head = signer.head("PUT", "/bench", &[("restype", "container")], 0, &[]);
    let (status, _) = connection.call(&head, &[]).await?;
    anyhow::ensure!(matches!(status, 201 | 409), "creating the container answered {status}");
    for (names, bytes) in [(1000, SMALL), (16, LARGE)] {
        let data = vec![0x5A; bytes];
        for number in 0..names {
            let path = format!("/bench/g{number}-{bytes}");
            let head = signer.head("PUT", &path, &[], bytes, &[("x-ms-blob-type", "BlockBlob")]);
            let (status, _) = connection.call(&head, &data).await?;
            anyhow::ensure!(status == 201, "putting a blob answered {status}");
        }
    }
    Ok(())
}

/// What Put Blob cannot do without: MD5 of the bytes, a write, a sync; two threads, as the machine has two cores.
fn md5_loop(path: &Path, time: Duration) -> anyhow::Result<f64> {
    use md5::{Digest, Md5};
    use std::os::unix::fs::FileExt;
    let start = Instant::now();
    let threads: Vec<_> = (0..2)
        .map(|number| {
            let path = path.with_extension(number.to_string());
            std::thread::spawn(move || -> anyhow::Result<u64> {
                let file = std::fs::File::create(&path)?;
                let data = vec![0x5A; LARGE];
                let (mut count, mut offset) = (0, 0);
                while start.elapsed() < time {
                    std::hint::black_box(Md5::digest(&data));
                    file.write_all_at(&data, offset)?;
                    file.sync_data()?;
                    offset += LARGE as u64;
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

/// One page of 5,000 from a large and from a small container.
async fn listings(arguments: &Arguments, ours: &Peer, report: &mut Report) -> anyhow::Result<()> {
    let (small, large) = if arguments.quick { (10_000, 50_000) } else { (10_000, 1_000_000) };
    let signer = Signer::new()?;
    let mut times = Vec::new();
    for (container, count) in [("small", small), ("large", large)] {
        fill(ours, container, count).await?;
        let mut connection = Connection::open(ours.port).await?;
        let mut fastest = Duration::MAX;
        for _ in 0..15 {
            let query = [("comp", "list"), ("restype", "container")];
            let head = signer.head("GET", &format!("/{container}"), &query, 0, &[]);
            let start = Instant::now();
            let (status, _) = connection.call(&head, &[]).await?;
            anyhow::ensure!(status == 200, "listing answered {status}");
            fastest = fastest.min(start.elapsed());
        }
        times.push(fastest.as_secs_f64() * 1e3);
    }
    let what = format!("List Blobs, 5,000 of {large} against 5,000 of {small}");
    report.limit(&what, "%", times[1] / times[0] * 100.0, 130.0);
    Ok(())
}

pub(crate) async fn fill(ours: &Peer, container: &'static str, count: u64) -> anyhow::Result<()> {
    let signer = Signer::new()?;
    let mut connection = Connection::open(ours.port).await?;
    let head = signer.head("PUT", &format!("/{container}"), &[("restype", "container")], 0, &[]);
    connection.call(&head, &[]).await?;
    let port = ours.port;
    let tasks: Vec<_> = (0..128)
        .map(|task| {
            let signer = signer.clone();
            tokio::spawn(async move {
                let mut connection = Connection::open(port).await?;
                for number in (task..count).step_by(128) {
                    let path = format!("/{container}/blob-{number:08}");
                    let head = signer.head("PUT", &path, &[], 0, &[("x-ms-blob-type", "BlockBlob")]);
                    let (status, _) = connection.call(&head, &[]).await?;
                    anyhow::ensure!(status == 201, "filling answered {status}");
                }
                Ok::<_, anyhow::Error>(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    Ok(())
}

/// Start-up after a clean stop and after `kill -9`.
fn restarts(ours: Peer, data: &Path, report: &mut Report) -> anyhow::Result<()> {
    ours.kill()?;
    let crashed = Peer::lazuli(data)?;
    report.limit("first answer after kill -9", "ms", crashed.start.as_secs_f64() * 1e3, 2000.0);
    drop(crashed);
    let clean = Peer::lazuli(data)?;
    report.limit("first answer after a clean stop", "ms", clean.start.as_secs_f64() * 1e3, 150.0);
    Ok(())
}
