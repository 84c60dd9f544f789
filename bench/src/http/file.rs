//! The File service beside the same work on page blobs of the same server, in turns: ranges and pages of 4 KiB, reads of
//! 4 KiB, an upload of 1 GiB beside a plain write; and what only files have: create, list, properties.

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
    load::{self, Client, Measured, Request},
    machine, million,
    peers::Peer,
    scene::{Scene, median, settle},
    signer::Signer,
};

/// Clients at once.
pub(crate) const CLIENTS: usize = 16;
const SMALL: usize = 4 * 1024;
const LARGE: usize = 4 * 1024 * 1024;
/// Bytes of a file whose ranges are written once.
const SPARSE: u64 = 64 << 30;
/// Ranges of a file that are written over and over.
const RANGES: u64 = 256;
/// Files, and blobs, that are read by each client.
const READ: u64 = 64;
/// Entries of the directory that is listed.
const LISTED: u64 = 5000;

/// What is worked on: both are at the same paths, in a share and in a container.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Page,
}

/// What a client does over and over.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Writes 4 KiB where nothing was.
    Grow,
    /// Writes 4 KiB over what was there.
    Overwrite,
    /// Reads 4 KiB, as a whole.
    Read,
    /// Creates an empty file.
    Create,
    /// Lists a directory.
    List,
    /// Reads properties.
    Properties,
}

/// Whether each client has a file of its own, or all have the same one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Where {
    Own,
    One,
}

pub(crate) async fn run(scene: &mut Scene) -> anyhow::Result<()> {
    scene.azurite = None;
    prepare(&scene.ours).await?;
    for (place, words) in [(Where::Own, "own files"), (Where::One, "one file")] {
        beside(scene, &format!("Put Range 4 KiB, new, {words}"), Work::Grow, place).await?;
        beside(scene, &format!("Put Range 4 KiB, over, {words}"), Work::Overwrite, place).await?;
        beside(scene, &format!("Get File 4 KiB, {words}"), Work::Read, place).await?;
    }
    alone(scene, "Create File, empty", Work::Create).await?;
    alone(scene, "Get File Properties", Work::Properties).await?;
    alone(scene, "List Directories and Files, 5,000 entries", Work::List).await?;
    upload(scene).await?;
    million::run(scene).await
}

/// Files and page blobs in turns. Who begins changes from round to round.
async fn beside(scene: &mut Scene, what: &str, work: Work, place: Where) -> anyhow::Result<()> {
    let time = Duration::from_secs(scene.size(1, 3));
    let (mut rates, mut ratios, mut tails, mut cpu) = (vec![], vec![], [vec![], vec![]], [vec![], vec![]]);
    for round in 0..scene.size(3, 7) {
        let mut both = [0.0; 2];
        for turn in 0..2 {
            let which = (turn + round) % 2;
            let measured = if which == 0 {
                load::run(&scene.ours, Calls::<FILES>::clients(Kind::File, work, place)?, time).await?
            } else {
                load::run(&scene.ours, Calls::<BLOBS>::clients(Kind::Page, work, place)?, time).await?
            };
            settle().await?;
            both[which] = measured.rate;
            tails[which].push(measured.p99_micros);
            cpu[which].push(measured.cpu_micros);
        }
        rates.push(both[0]);
        ratios.push(both[0] / both[1]);
    }
    let (ours, [cpu, cpu_of_pages], [tail, tail_of_pages]) = (median(rates), cpu.map(median), tails.map(median));
    // The peer's number is the one that gives the median of the ratios.
    let what = format!("{what} ({cpu:.0} us CPU each, {cpu_of_pages:.0})");
    scene.report.ratio(&what, "/s", ours, ("page blob", ours / median(ratios)), 0.8);
    scene.report.beside("  its p99", "us", tail, ("page blob", tail_of_pages));
    Ok(())
}

/// What page blobs have nothing like.
async fn alone(scene: &mut Scene, what: &str, work: Work) -> anyhow::Result<()> {
    let (mut rates, mut tails, mut cpu) = (vec![], vec![], vec![]);
    for _ in 0..scene.rounds() {
        let clients = Calls::<FILES>::clients(Kind::File, work, Where::Own)?;
        let measured = load::run(&scene.ours, clients, scene.time()).await?;
        settle().await?;
        rates.push(measured.rate);
        tails.push(measured.p99_micros);
        cpu.push(measured.cpu_micros);
    }
    scene.report.plain(&format!("{what} ({:.0} us CPU each)", median(cpu)), "/s", median(rates));
    scene.report.plain("  its p99", "us", median(tails));
    Ok(())
}

/// One file of 1 GiB in ranges of 4 MiB, beside a plain write that syncs each of them.
async fn upload(scene: &mut Scene) -> anyhow::Result<()> {
    let bytes: u64 = scene.size(256 << 20, 1 << 30);
    let (mut ours, mut plain) = (vec![], vec![]);
    for round in 0..scene.rounds() {
        let path = format!("/files/upload{round}");
        make(&scene.ours, Kind::File, &path, bytes).await?;
        let (signer, data) = (Signer::new()?, vec![0x5A; LARGE]);
        let request = move |number: u64| Request {
            head: write_head(&signer, Kind::File, &path, number * LARGE as u64, LARGE),
            body: data.clone(),
            wanted: 201,
        };
        let start = Instant::now();
        load::fill(scene.ours.file_port, CLIENTS, bytes / LARGE as u64, request).await?;
        ours.push(bytes as f64 / (1 << 20) as f64 / start.elapsed().as_secs_f64());
        settle().await?;
        plain.push(scene.in_process(plain_write).await?);
        settle().await?;
    }
    let what = format!("upload of {} MiB in ranges of 4 MiB, {CLIENTS} clients", bytes >> 20);
    scene.report.ratio(&what, "MiB/s", median(ours), ("write+fdatasync", median(plain)), 0.5);
    Ok(())
}

/// MiB a second of a plain write of 1 GiB that syncs each 4 MiB.
fn plain_write(directory: &Path, _time: Duration) -> anyhow::Result<f64> {
    machine::plain_write(directory, 1 << 30)
}

const FILES: bool = true;
const BLOBS: bool = false;

/// One client, of the File service or of the Blob service.
pub(crate) struct Calls<const OF_FILES: bool> {
    kind: Kind,
    work: Work,
    signer: Signer,
    path: String,
    data: Arc<Vec<u8>>,
    prepared: Vec<String>,
    sent: u64,
    /// The bytes that an answer has at least.
    bytes: usize,
}

/// Where the next write of a sparse file goes, or the name of the next file.
static NEXT: AtomicU64 = AtomicU64::new(0);

impl<const OF_FILES: bool> Calls<OF_FILES> {
    pub(crate) fn clients(kind: Kind, work: Work, place: Where) -> anyhow::Result<Vec<Self>> {
        let (signer, data) = (Signer::new()?, Arc::new(vec![0x5A; SMALL]));
        let client = |client: usize| {
            let number = if place == Where::Own { client } else { CLIENTS };
            let path = match work {
                Work::Grow => format!("/files/sparse{number}"),
                _ => format!("/files/dense{number}"),
            };
            let heads = match work {
                Work::Grow | Work::Create => vec![],
                Work::Overwrite => {
                    let at = |range: u64| (range * 7919 + client as u64 * 31) % RANGES * SMALL as u64;
                    (0..RANGES).map(|range| write_head(&signer, kind, &path, at(range), SMALL)).collect()
                }
                Work::Read | Work::Properties => {
                    let method = if work == Work::Read { "GET" } else { "HEAD" };
                    let names = if place == Where::Own { READ } else { 1 };
                    (0..names)
                        .map(|name| signer.head(method, &format!("/files/read{number}-{name}"), &[], 0, &[]))
                        .collect()
                }
                Work::List => {
                    let query = [("comp", "list"), ("restype", "directory")];
                    vec![signer.head("GET", "/files/listed", &query, 0, &[])]
                }
            };
            let bytes = match work {
                Work::Read => SMALL,
                Work::List => LISTED as usize * 50,
                _ => 0,
            };
            Self { kind, work, signer: signer.clone(), path, data: Arc::clone(&data), prepared: heads, sent: 0, bytes }
        };
        Ok((0..CLIENTS).map(client).collect())
    }

    fn next(&self) -> String {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        match self.work {
            Work::Create => create_head(&self.signer, &format!("/files/created/f{number:010}"), 0),
            _ => write_head(&self.signer, self.kind, &self.path, number * SMALL as u64 % SPARSE, SMALL),
        }
    }
}

impl<const OF_FILES: bool> Client for Calls<OF_FILES> {
    fn port(peer: &Peer) -> u16 {
        if OF_FILES { peer.file_port } else { peer.port }
    }

    async fn once(&mut self, connection: &mut Connection) -> anyhow::Result<u64> {
        let next;
        let head = match self.prepared.len() as u64 {
            0 => {
                next = self.next();
                &next
            }
            prepared => &self.prepared[(self.sent % prepared) as usize],
        };
        self.sent += 1;
        let (body, wanted): (&[u8], _) = match self.work {
            Work::Grow | Work::Overwrite => (&self.data, 201),
            Work::Create => (&[], 201),
            Work::Properties => {
                let status = connection.call_for_head(head).await?;
                anyhow::ensure!(status == 200, "answered {status}");
                return Ok(1);
            }
            Work::Read | Work::List => (&[], 200),
        };
        let (status, bytes) = connection.call(head, body).await?;
        anyhow::ensure!(status == wanted && bytes >= self.bytes, "answered {status} and {bytes} bytes");
        Ok(1)
    }
}

/// Put Range or Put Page.
fn write_head(signer: &Signer, kind: Kind, path: &str, start: u64, bytes: usize) -> String {
    let range = format!("bytes={start}-{}", start + bytes as u64 - 1);
    let (write, comp) = match kind {
        Kind::File => ("x-ms-write", "range"),
        Kind::Page => ("x-ms-page-write", "page"),
    };
    signer.head("PUT", path, &[("comp", comp)], bytes, &[("x-ms-range", &range), (write, "update")])
}

pub(crate) fn create_head(signer: &Signer, path: &str, length: u64) -> String {
    let length = length.to_string();
    signer.head("PUT", path, &[], 0, &[("x-ms-content-length", &length), ("x-ms-type", "file")])
}

/// A file or a page blob without bytes.
async fn make(peer: &Peer, kind: Kind, path: &str, length: u64) -> anyhow::Result<()> {
    let (signer, text) = (Signer::new()?, length.to_string());
    let (port, head) = match kind {
        Kind::File => (peer.file_port, create_head(&signer, path, length)),
        Kind::Page => {
            let extra = [("x-ms-blob-content-length", text.as_str()), ("x-ms-blob-type", "PageBlob")];
            (peer.port, signer.head("PUT", path, &[], 0, &extra))
        }
    };
    Request { head, body: vec![], wanted: 201 }.send(&mut Connection::open(port).await?).await
}

/// A share, or a directory of one, unless it is there.
pub(crate) async fn make_directory(peer: &Peer, path: &str, restype: &str) -> anyhow::Result<()> {
    let head = Signer::new()?.head("PUT", path, &[("restype", restype)], 0, &[]);
    let (status, _) = Connection::open(peer.file_port).await?.call(&head, &[]).await?;
    anyhow::ensure!(matches!(status, 201 | 409), "{path}: answered {status}");
    Ok(())
}

/// A share and a container with everything that is written and read.
async fn prepare(peer: &Peer) -> anyhow::Result<()> {
    let signer = Signer::new()?;
    make_directory(peer, "/files", "share").await?;
    for path in ["/files/created", "/files/listed"] {
        make_directory(peer, path, "directory").await?;
    }
    let container = signer.head("PUT", "/files", &[("restype", "container")], 0, &[]);
    Request { head: container, body: vec![], wanted: 201 }.send(&mut Connection::open(peer.port).await?).await?;
    for (kind, port) in [(Kind::File, peer.file_port), (Kind::Page, peer.port)] {
        for client in 0..=CLIENTS {
            make(peer, kind, &format!("/files/sparse{client}"), SPARSE).await?;
            let path = format!("/files/dense{client}");
            make(peer, kind, &path, RANGES * SMALL as u64).await?;
            write_all(&signer, port, kind, path, RANGES).await?;
            for name in 0..READ {
                let path = format!("/files/read{client}-{name}");
                make(peer, kind, &path, SMALL as u64).await?;
                write_all(&signer, port, kind, path, 1).await?;
            }
        }
    }
    let listed = move |number| Request {
        head: create_head(&signer, &format!("/files/listed/a-file-of-usual-length-{number:05}.bin"), 0),
        body: vec![],
        wanted: 201,
    };
    load::fill(peer.file_port, CLIENTS, LISTED, listed).await
}

async fn write_all(signer: &Signer, port: u16, kind: Kind, path: String, ranges: u64) -> anyhow::Result<()> {
    let signer = signer.clone();
    let request = move |range: u64| Request {
        head: write_head(&signer, kind, &path, range * SMALL as u64, SMALL),
        body: vec![0x5A; SMALL],
        wanted: 201,
    };
    load::fill(port, CLIENTS.min(ranges as usize), ranges, request).await
}

/// Loads a server that somebody else started, at both ports, for profiling it: one kind of work, both services in turns.
pub(crate) async fn load_running(peer: &Peer, verb: &str, time: Duration) -> anyhow::Result<Measured> {
    // The first of the two finds nothing, the second finds what the first made.
    if Connection::open(peer.file_port).await?.call(&read_head()?, &[]).await?.0 != 200 {
        prepare(peer).await?;
    }
    NEXT.store(u64::from(std::process::id()) << 20, Ordering::Relaxed);
    let (name, place) = match verb.strip_suffix("-one") {
        Some(name) => (name, Where::One),
        None => (verb, Where::Own),
    };
    match name {
        "grow-page" => load::run(peer, Calls::<BLOBS>::clients(Kind::Page, Work::Grow, place)?, time).await,
        "put-page" => load::run(peer, Calls::<BLOBS>::clients(Kind::Page, Work::Overwrite, place)?, time).await,
        "get-page" => load::run(peer, Calls::<BLOBS>::clients(Kind::Page, Work::Read, place)?, time).await,
        "grow-range" => load::run(peer, Calls::<FILES>::clients(Kind::File, Work::Grow, place)?, time).await,
        "put-range" => load::run(peer, Calls::<FILES>::clients(Kind::File, Work::Overwrite, place)?, time).await,
        "get-file" => load::run(peer, Calls::<FILES>::clients(Kind::File, Work::Read, place)?, time).await,
        "create-file" => load::run(peer, Calls::<FILES>::clients(Kind::File, Work::Create, place)?, time).await,
        "list-files" => load::run(peer, Calls::<FILES>::clients(Kind::File, Work::List, place)?, time).await,
        "file-properties" => load::run(peer, Calls::<FILES>::clients(Kind::File, Work::Properties, place)?, time).await,
        other => anyhow::bail!("unknown work {other}"),
    }
}

fn read_head() -> anyhow::Result<String> {
    Ok(Signer::new()?.head("GET", "/files/read0-0", &[], 0, &[]))
}
