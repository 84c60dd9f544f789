//! This build and another one of the same server, in turns: what became slower? A row's ratio is the median of its rounds'
//! ratios, because what disturbs a machine lasts longer than a round.

use std::{path::Path, sync::Arc, time::Duration};

use super::{
    client::Connection,
    load::{self, Client, Request},
    peers::Peer,
    queue::{self, Messages},
    scene::{Who, median, settle},
    signer::Signer,
    table::{self, Entities},
    whole::{self, Blobs, LARGE, READ, SMALL},
};
use crate::{Arguments, report::Report};

/// More than this of the other build's rate is lost in noise.
const GOAL: f64 = 0.95;
const QUEUED: u64 = 1000;
const ENTITIES: usize = 10_000;
const OVERWRITERS: usize = 8;
const OVERWRITTEN: usize = 60_000;

struct Turns {
    /// This build, and the other one.
    pair: [Peer; 2],
    report: Report,
    rounds: usize,
    time: Duration,
    /// Only the rows whose name has this in it.
    only: Option<String>,
}

pub(crate) async fn run(arguments: &Arguments, other: &Path) -> anyhow::Result<Report> {
    let directory = tempfile::tempdir_in(&arguments.directory)?;
    let ours = Peer::lazuli(&directory.path().join("ours"))?;
    let other = Peer::lazuli_of(other, &directory.path().join("other"))?;
    let (rounds, seconds) = if arguments.quick { (3, 1) } else { (7, 2) };
    let mut turns = Turns {
        pair: [ours, other],
        report: Report::default(),
        rounds,
        time: Duration::from_secs(seconds),
        only: arguments.row.clone(),
    };
    overwrites(&mut turns, &directory.path().join("ours")).await?;
    blobs(&mut turns).await?;
    messages(&mut turns).await?;
    entities(&mut turns).await?;
    // The last one: it writes so much that nothing else stays in the page cache.
    let (signer, large) = (Signer::new()?, Arc::new(vec![0x5A; LARGE]));
    turns.time = Duration::from_secs(1);
    turns.row("Put Blob 4 MiB, 64 clients", |_| Ok(Blobs::put(&signer, &large))).await?;
    Ok(turns.report)
}

/// Eight clients overwrite eight blobs over and over: how fast, and how large the data directory is by it. The first row,
/// because it looks at the whole directory.
async fn overwrites(turns: &mut Turns, data: &Path) -> anyhow::Result<()> {
    let signer = Signer::new()?;
    for peer in &turns.pair {
        let head = signer.head("PUT", "/over", &[("restype", "container")], 0, &[]);
        Request { head, body: vec![], wanted: 201 }.send(&mut Connection::open(peer.port).await?).await?;
    }
    let clients = |_| {
        let kind = [("x-ms-blob-type", "BlockBlob")];
        let head = |number| signer.head("PUT", &format!("/over/{number}"), &[], OVERWRITTEN, &kind);
        let client = |number| Overwrites(Request { head: head(number), body: vec![0x5A; OVERWRITTEN], wanted: 201 });
        Ok((0..OVERWRITERS).map(client).collect())
    };
    turns.row("Put Blob 60 KB over and over, 8 clients", clients).await?;
    let megabytes = tree_bytes(data)? as f64 / f64::from(1 << 20);
    turns.report.limit("  the data directory after it", "MiB", megabytes, 600.0);
    Ok(())
}

/// A client that sends the same blob again and again.
struct Overwrites(Request);

impl Client for Overwrites {
    fn port(peer: &Peer) -> u16 {
        peer.port
    }

    async fn once(&mut self, connection: &mut Connection) -> anyhow::Result<u64> {
        self.0.send(connection).await.map(|()| 1)
    }
}

fn tree_bytes(path: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        // Files come and go while they are looked at.
        bytes += match entry.metadata() {
            Ok(found) if found.is_dir() => tree_bytes(&entry.path())?,
            Ok(found) => found.len(),
            Err(_) => 0,
        };
    }
    Ok(bytes)
}

async fn blobs(turns: &mut Turns) -> anyhow::Result<()> {
    for peer in &turns.pair {
        whole::prepare(peer).await?;
    }
    let (signer, small) = (Signer::new()?, Arc::new(vec![0x5A; SMALL]));
    turns.row("Put Blob 4 KiB, 64 clients", |_| Ok(Blobs::put(&signer, &small))).await?;
    turns.row("Put Blob 4 KiB, 1 client", |_| Ok(one(Blobs::put(&signer, &small)))).await?;
    turns.row("Get Blob 4 KiB, 64 clients", |_| Ok(Blobs::get(&signer, READ[0].0, SMALL))).await?;
    turns.row("Get Blob 4 KiB, 1 client", |_| Ok(one(Blobs::get(&signer, READ[0].0, SMALL)))).await?;
    turns.row("Get Blob 4 MiB, 64 clients", |_| Ok(Blobs::get(&signer, READ[1].0, LARGE))).await
}

async fn messages(turns: &mut Turns) -> anyhow::Result<()> {
    for peer in &turns.pair {
        queue::fill(peer, "turns", QUEUED).await?;
        for round in 0..turns.rounds {
            queue::fill(peer, &format!("put-{round}"), 0).await?;
        }
    }
    let put = |round| Messages::clients(Who::Ours, &format!("put-{round}"), queue::Work::Put);
    turns.row("Put Message, 64 clients", put).await?;
    let all = |_| Messages::clients(Who::Ours, "turns", queue::Work::PutGetDelete);
    turns.row("Put, Get + Delete Message, 64 clients", all).await
}

async fn entities(turns: &mut Turns) -> anyhow::Result<()> {
    for peer in &turns.pair {
        table::fill(peer, "few", ENTITIES).await?;
        table::make(peer, "writes").await?;
    }
    let insert = |_| Entities::clients(Who::Ours, "writes", table::Work::Insert);
    turns.row("Insert Entity 1 KiB, 64 clients", insert).await?;
    let point = |_| Entities::clients(Who::Ours, "few", table::Work::Point { entities: ENTITIES });
    turns.row("point query, 64 clients", point).await?;
    let scan = |_| Entities::clients(Who::Ours, "few", table::Work::Scan);
    turns.row("scan of 1,000 rows, 64 clients", scan).await
}

fn one<C>(mut clients: Vec<C>) -> Vec<C> {
    clients.truncate(1);
    clients
}

impl Turns {
    async fn row<C: Client>(
        &mut self,
        what: &str,
        clients: impl Fn(usize) -> anyhow::Result<Vec<C>>,
    ) -> anyhow::Result<()> {
        if self.only.as_ref().is_some_and(|only| !what.contains(only.as_str())) {
            return Ok(());
        }
        let mut rates = [vec![], vec![]];
        let mut tails = [vec![], vec![]];
        let mut ratios = vec![];
        for round in 0..self.rounds {
            let mut both = [0.0; 2];
            // Who begins changes from round to round: the first of a pair finds the machine as the last round left it.
            for turn in 0..2 {
                let who = (turn + round) % 2;
                let held = self.pair[1 - who].hold();
                let measured = load::run(&self.pair[who], clients(round)?, self.time).await?;
                settle().await?;
                drop(held);
                both[who] = measured.rate;
                rates[who].push(measured.rate);
                tails[who].push(measured.p99_micros);
            }
            ratios.push(both[0] / both[1]);
        }
        let [ours, _] = rates.map(median);
        // The peer's number is the one that gives the median of the ratios.
        self.report.ratio(what, "/s", ours, ("before", ours / median(ratios)), GOAL);
        let [ours, other] = tails.map(median);
        self.report.beside(&format!("  its p99 ({what})"), "us", ours, ("before", other));
        Ok(())
    }
}
