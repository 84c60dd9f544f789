//! Whole blobs: Put and Get, one page of a listing, and how long the server takes to start.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use super::{
    client::Connection,
    load::{self, CLIENTS, Client, Measured, Request},
    machine::{group_commit_loop, group_commit_loop_with_chunks, md5_loop},
    peers::Peer,
    scene::{Medians, Scene, Who},
    signer::Signer,
};

pub(crate) const SMALL: usize = 4 * 1024;
pub(crate) const LARGE: usize = 4 * 1024 * 1024;
/// Blobs that are read: how many, and how large.
pub(crate) const READ: [(u64, usize); 2] = [(1000, SMALL), (16, LARGE)];

pub(crate) async fn run(scene: &mut Scene) -> anyhow::Result<()> {
    let start = scene.ours.start.as_secs_f64() * 1e3;
    scene.report.limit("first answer after start on an empty store", "ms", start, 150.0);
    scene.report.limit("resident memory, idle", "MiB", scene.ours.resident_mib(), 40.0);
    // As many files as there are blobs: a single one would stay in the processor's cache.
    for (names, bytes) in READ {
        for name in 0..names {
            std::fs::write(scene.path().join(format!("g{name}-{bytes}")), vec![0x5A; bytes])?;
        }
    }
    scene.nginx = Peer::nginx(scene.path())?;
    for peer in scene.both() {
        prepare(peer).await?;
    }
    let (put, commits) = small_puts(scene).await?;
    let reads = gets(scene, "Get Blob 4 KiB", READ[0], (30.0, 0.6)).await?;
    if let Some(reads) = reads {
        // Somebody must speak HTTP before anything is committed, and nobody does it with less than nginx.
        let bound = 1.0 / (1.0 / reads + 1.0 / commits);
        scene.report.beside("Put Blob 4 KiB", "/s", put, ("nginx, then commit", bound));
    }
    gets(scene, "Get Blob 4 MiB", READ[1], (2.0, 0.8)).await?;
    // The last one: it writes so much that nothing else stays in the page cache.
    large_puts(scene).await?;
    (scene.azurite, scene.nginx) = (None, None);
    listings(scene).await?;
    restarts(scene)
}

/// What a row says, with the processor time of a request.
fn described(what: &str, medians: &Medians) -> String {
    format!("{what}, {CLIENTS} clients ({:.0} us CPU each)", medians.cpu_micros)
}

/// Put Blob of 4 KiB. Returns our rate and the commit loop's.
async fn small_puts(scene: &mut Scene) -> anyhow::Result<(f64, f64)> {
    let signer = Signer::new()?;
    let data = Arc::new(vec![0x5A; SMALL]);
    let clients = |who, _| Ok(if who == Who::Nginx { vec![] } else { Blobs::put(&signer, &data) });
    let medians = scene.turns(clients, &[group_commit_loop, group_commit_loop_with_chunks]).await?;
    let what = described("Put Blob 4 KiB", &medians);
    if let Some(azurite) = medians.azurite {
        scene.report.ratio(&what, "/s", medians.ours, ("Azurite", azurite), 28.0);
    }
    let [commits, same_bytes] = medians.machine[..] else { anyhow::bail!("two loops were run") };
    scene.report.ratio(&what, "/s", medians.ours, ("commit loop", commits), 0.5);
    scene.report.beside(&what, "/s", medians.ours, ("the same with 4 KiB", same_bytes));
    Ok((medians.ours, commits))
}

/// Get Blob, beside a plain GET of as many files. Returns nginx's rate.
async fn gets(
    scene: &mut Scene,
    what: &str,
    (names, bytes): (u64, usize),
    goals: (f64, f64),
) -> anyhow::Result<Option<f64>> {
    let signer = Signer::new()?;
    let clients = |who, _| {
        Ok(match who {
            Who::Ours | Who::Azurite => Blobs::get(&signer, names, bytes),
            Who::Nginx => Blobs::file(&signer, names, bytes),
        })
    };
    let medians = scene.turns(clients, &[]).await?;
    let what = described(what, &medians);
    if let Some(azurite) = medians.azurite {
        scene.report.ratio(&what, "/s", medians.ours, ("Azurite", azurite), goals.0);
    }
    match medians.nginx {
        Some(nginx) => scene.report.ratio(&what, "/s", medians.ours, ("nginx", nginx), goals.1),
        None => eprintln!("  nginx is not installed: that comparison is left out"),
    }
    Ok(medians.nginx)
}

async fn large_puts(scene: &mut Scene) -> anyhow::Result<()> {
    let signer = Signer::new()?;
    let data = Arc::new(vec![0x5A; LARGE]);
    let clients = |who, _| Ok(if who == Who::Nginx { vec![] } else { Blobs::put(&signer, &data) });
    let medians = scene.turns(clients, &[md5_loop]).await?;
    let what = described("Put Blob 4 MiB", &medians);
    if let Some(azurite) = medians.azurite {
        scene.report.ratio(&what, "/s", medians.ours, ("Azurite", azurite), 3.0);
    }
    scene.report.ratio(&what, "/s", medians.ours, ("MD5+write+sync", medians.machine[0]), 0.7);
    Ok(())
}

/// Sends requests that were signed before; more are signed when a Put has used them up.
pub(crate) struct Blobs {
    signer: Signer,
    prepared: Vec<String>,
    sent: usize,
    /// What is put; nothing when blobs are read.
    data: Option<Arc<Vec<u8>>>,
    /// What a read must bring.
    bytes: usize,
}

static NAME: AtomicU64 = AtomicU64::new(0);

impl Blobs {
    /// Put Blob of a new name each time.
    pub(crate) fn put(signer: &Signer, data: &Arc<Vec<u8>>) -> Vec<Self> {
        let ahead = if data.len() > 64 * 1024 { 100 } else { 3000 };
        let heads = |_| (0..ahead).map(|_| put_head(signer, data.len())).collect();
        Self::each(signer, heads, Some(data), 0)
    }

    /// Get Blob of one of so many names.
    pub(crate) fn get(signer: &Signer, names: u64, bytes: usize) -> Vec<Self> {
        let head = |name: &str| signer.head("GET", &format!("/bench/{name}"), &[], 0, &[]);
        Self::each(signer, |client| read(client, names, bytes, head), None, bytes)
    }

    /// A plain GET of one of so many files, for a server that knows no signatures.
    fn file(signer: &Signer, names: u64, bytes: usize) -> Vec<Self> {
        let head = |name: &str| format!("GET /{name} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
        Self::each(signer, |client| read(client, names, bytes, head), None, bytes)
    }

    fn each(
        signer: &Signer,
        heads: impl Fn(u64) -> Vec<String>,
        data: Option<&Arc<Vec<u8>>>,
        bytes: usize,
    ) -> Vec<Self> {
        let client = |client| Self {
            signer: signer.clone(),
            prepared: heads(client),
            sent: 0,
            data: data.map(Arc::clone),
            bytes,
        };
        (0..CLIENTS as u64).map(client).collect()
    }
}

/// What one client reads in turn.
fn read(client: u64, names: u64, bytes: usize, head: impl Fn(&str) -> String) -> Vec<String> {
    (0..names).map(|number| head(&format!("g{}-{bytes}", (client * 7919 + number) % names))).collect()
}

fn put_head(signer: &Signer, bytes: usize) -> String {
    let name = NAME.fetch_add(1, Ordering::Relaxed);
    signer.head("PUT", &format!("/bench/p{name:010}"), &[], bytes, &[("x-ms-blob-type", "BlockBlob")])
}

impl Client for Blobs {
    fn port(peer: &Peer) -> u16 {
        peer.port
    }

    async fn once(&mut self, connection: &mut Connection) -> anyhow::Result<u64> {
        let turn = self.sent;
        self.sent += 1;
        let Some(data) = &self.data else {
            let (status, bytes) = connection.call(&self.prepared[turn % self.prepared.len()], &[]).await?;
            anyhow::ensure!((status, bytes) == (200, self.bytes), "answered {status} and {bytes} bytes");
            return Ok(1);
        };
        let more;
        let head = match self.prepared.get(turn) {
            Some(head) => head,
            None => {
                more = put_head(&self.signer, data.len());
                &more
            }
        };
        let (status, _) = connection.call(head, data).await?;
        anyhow::ensure!(status == 201, "answered {status}");
        Ok(1)
    }
}

/// Loads a server that somebody else started.
pub(crate) async fn load_running(peer: &Peer, puts: bool, bytes: usize, time: Duration) -> anyhow::Result<Measured> {
    prepare(peer).await?;
    NAME.store(u64::from(std::process::id()) << 24, Ordering::Relaxed);
    let signer = Signer::new()?;
    let clients = match puts {
        true => Blobs::put(&signer, &Arc::new(vec![0x5A; bytes])),
        false => Blobs::get(&signer, if bytes == SMALL { READ[0].0 } else { READ[1].0 }, bytes),
    };
    load::run(peer, clients, time).await
}

/// The container and the blobs that are read.
pub(crate) async fn prepare(peer: &Peer) -> anyhow::Result<()> {
    let signer = Signer::new()?;
    let head = signer.head("PUT", "/bench", &[("restype", "container")], 0, &[]);
    let (status, _) = Connection::open(peer.port).await?.call(&head, &[]).await?;
    anyhow::ensure!(matches!(status, 201 | 409), "creating the container answered {status}");
    for (names, bytes) in READ {
        let signer = signer.clone();
        let request = move |number| Request {
            head: signer.head(
                "PUT",
                &format!("/bench/g{number}-{bytes}"),
                &[],
                bytes,
                &[("x-ms-blob-type", "BlockBlob")],
            ),
            body: vec![0x5A; bytes],
            wanted: 201,
        };
        load::fill(peer.port, 1, names, request).await?;
    }
    Ok(())
}

/// One page of 5,000 from a large and from a small container.
async fn listings(scene: &mut Scene) -> anyhow::Result<()> {
    let (small, large) = (10_000, scene.size(50_000, 1_000_000));
    let signer = Signer::new()?;
    let mut times = Vec::new();
    for (container, count) in [("small", small), ("large", large)] {
        fill(&scene.ours, container, count).await?;
        let mut connection = Connection::open(scene.ours.port).await?;
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
    scene.report.limit(&what, "%", times[1] / times[0] * 100.0, 130.0);
    Ok(())
}

/// Makes a container with so many empty blobs.
pub(crate) async fn fill(ours: &Peer, container: &'static str, count: u64) -> anyhow::Result<()> {
    let signer = Signer::new()?;
    let head = signer.head("PUT", &format!("/{container}"), &[("restype", "container")], 0, &[]);
    Request { head, body: vec![], wanted: 201 }.send(&mut Connection::open(ours.port).await?).await?;
    let request = move |number| {
        let path = format!("/{container}/blob-{number:08}");
        let head = signer.head("PUT", &path, &[], 0, &[("x-ms-blob-type", "BlockBlob")]);
        Request { head, body: vec![], wanted: 201 }
    };
    load::fill(ours.port, 2 * CLIENTS, count, request).await
}

/// Start-up after `kill -9` and after a clean stop.
fn restarts(scene: &mut Scene) -> anyhow::Result<()> {
    let again = |data: &Path| -> anyhow::Result<(Peer, f64)> {
        let peer = Peer::lazuli(data)?;
        let millis = peer.start.as_secs_f64() * 1e3;
        Ok((peer, millis))
    };
    scene.ours.kill()?;
    let (crashed, millis) = again(&scene.data)?;
    scene.report.limit("first answer after kill -9", "ms", millis, 2000.0);
    drop(crashed);
    let (clean, millis) = again(&scene.data)?;
    scene.report.limit("first answer after a clean stop", "ms", millis, 150.0);
    scene.ours = clean;
    Ok(())
}
