//! The Table service over HTTP: all clients on one table, and for inserts on one partition.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use super::{
    client::{Connection, Signer},
    peers::Peer,
    rows::median,
};
use crate::{Arguments, report::Report, store::commits};

const CLIENTS: usize = 64;
/// Entities that point queries look for and scans read.
const FEW: usize = 10_000;
const BATCH: usize = 100;
const PAGE: usize = 1000;

pub(crate) async fn run(arguments: &Arguments, time: Duration, rounds: usize) -> anyhow::Result<Report> {
    let mut report = Report::default();
    let directory = tempfile::tempdir_in(&arguments.directory)?;
    let path = directory.path();
    let ours = Peer::lazuli(&path.join("lazuli"))?;
    let azurite = Peer::azurite(&path.join("azurite"))?;
    fill(&ours, "few", FEW).await?;
    make(&ours, "writes").await?;
    if let Some(azurite) = &azurite {
        // Enough to read a page and to look for one.
        fill_one_by_one(azurite, "few", 2 * PAGE).await?;
        make(azurite, "writes").await?;
    }
    let inserted = inserts(&ours, azurite.as_ref(), path, time, rounds, &mut report).await?;
    let reads =
        [("point query", Work::Point { entities: 2 * PAGE }, 22.0), ("scan of 1,000 rows of 1 KiB", Work::Scan, 6.0)];
    for (what, work, goal) in reads {
        let (mut own, mut cpu, mut theirs) = (vec![], vec![], vec![]);
        for _ in 0..rounds {
            let measured = load(&ours, "few", work, time).await?;
            own.push(measured.rate);
            cpu.push(measured.cpu_micros);
            if let Some(azurite) = &azurite {
                theirs.push(load(azurite, "few", work, time).await?.rate);
            }
        }
        let what = format!("{what}, {CLIENTS} clients ({:.0} us CPU each)", median(cpu));
        if azurite.is_some() {
            report.ratio(&what, "/s", median(own), ("Azurite", median(theirs)), goal);
        }
    }
    drop(azurite);
    let batches = load(&ours, "writes", Work::Batch, time).await?;
    let entities = batches.rate * BATCH as f64;
    let what = format!("batch of {BATCH} ({:.0} us CPU each), entities", batches.cpu_micros);
    report.ratio(&what, "/s", entities, ("Insert Entity", inserted), 3.0);
    let many = if arguments.quick { 200_000 } else { 10_000_000 };
    fill(&ours, "many", many).await?;
    let (mut among_few, mut among_many) = (vec![], vec![]);
    for _ in 0..rounds.max(2) {
        among_few.push(load(&ours, "few", Work::Point { entities: FEW }, time).await?.rate);
        among_many.push(load(&ours, "many", Work::Point { entities: many }, time).await?.rate);
    }
    let what = format!("point query among {many} entities");
    report.ratio(&what, "/s", median(among_many), ("10,000", median(among_few)), 1.0 / 1.5);
    Ok(report)
}

/// Insert Entity into one partition, beside Azurite and beside the loop of durable commits. Returns our rate.
async fn inserts(
    ours: &Peer,
    azurite: Option<&Peer>,
    path: &Path,
    time: Duration,
    rounds: usize,
    report: &mut Report,
) -> anyhow::Result<f64> {
    let (mut own, mut cpu, mut theirs, mut loops) = (vec![], vec![], vec![], vec![]);
    for _ in 0..rounds {
        let measured = load(ours, "writes", Work::Insert, time).await?;
        own.push(measured.rate);
        cpu.push(measured.cpu_micros);
        if let Some(azurite) = azurite {
            theirs.push(load(azurite, "writes", Work::Insert, time).await?.rate);
        }
        let target = tempfile::tempdir_in(path)?;
        let commits = target.path().join("commits");
        loops.push(tokio::task::spawn_blocking(move || commits::group_commit_loop(&commits, time)).await??);
    }
    let what = format!("Insert Entity 1 KiB, one partition, {CLIENTS} clients ({:.0} us CPU each)", median(cpu));
    let own = median(own);
    if azurite.is_some() {
        report.ratio(&what, "/s", own, ("Azurite", median(theirs)), 10.0);
    }
    report.ratio_or(&what, "/s", own, ("commit loop", median(loops)), (0.4, 10_000.0));
    Ok(own)
}

/// What every connection does, over and over.
#[derive(Clone, Copy)]
pub(crate) enum Work {
    Insert,
    Batch,
    Point { entities: usize },
    Scan,
}

static ROW: AtomicU64 = AtomicU64::new(0);

/// An entity of about 1 KiB.
fn entity(row: u64) -> String {
    format!(
        "{{\"PartitionKey\":\"one\",\"RowKey\":\"{row:012}\",\"Text\":\"{}\",\"Number\":{},\"Ratio\":0.5,\"Yes\":true}}",
        "x".repeat(900),
        1_000_000 + row % 1_000_000 // as many digits for every row
    )
}

/// Inserts of entities with these rows.
fn batch(table: &str, rows: impl Iterator<Item = u64>) -> String {
    let mut body = String::from("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n");
    for row in rows {
        body.push_str(&format!(
            "--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
             POST http://127.0.0.1/devstoreaccount1/{table} HTTP/1.1\r\nContent-Type: application/json\r\n\
             Accept: application/json;odata=nometadata\r\nPrefer: return-no-content\r\nDataServiceVersion: 3.0\r\n\r\n{}\r\n",
            entity(row)
        ));
    }
    body.push_str("--c--\r\n--b--\r\n");
    body
}

const JSON: &str = "application/json";
const MULTIPART: &str = "multipart/mixed; boundary=b";
const QUIET: [(&str, &str); 2] = [("Accept", "application/json;odata=nometadata"), ("Prefer", "return-no-content")];

/// Loads a server that somebody else started.
pub(crate) async fn load_running(port: u16, work: Work, time: Duration) -> anyhow::Result<()> {
    let peer = Peer::running(port)?;
    if fill(&peer, "loaded", FEW).await.is_err() {
        eprintln!("the table is there already");
    }
    ROW.fetch_add(u64::from(std::process::id()) << 20, Ordering::Relaxed);
    println!("{:.0}/s", load(&peer, "loaded", work, time).await?.rate);
    Ok(())
}

impl Work {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "insert" => Some(Self::Insert),
            "batch" => Some(Self::Batch),
            "point" => Some(Self::Point { entities: FEW }),
            "scan" => Some(Self::Scan),
            _ => None,
        }
    }

    /// The heads that one connection sends in turn. Signed before the clock starts: the load generator shares the machine
    /// with what it measures, and no signature of the Table service covers the body.
    fn heads(self, signer: &Signer, table: &str, connection: usize) -> Vec<String> {
        let accept = &QUIET[..1];
        match self {
            Self::Insert => vec![signer.table_head("POST", &format!("/{table}"), JSON, entity(0).len(), &QUIET)],
            Self::Batch => vec![signer.table_head("POST", "/$batch", MULTIPART, self.body(table).len(), &[])],
            Self::Scan => {
                let path = format!("/{table}()?$filter=PartitionKey%20eq%20'one'");
                vec![signer.table_head("GET", &path, "", 0, accept)]
            }
            Self::Point { entities } => (0..1000)
                .map(|number| {
                    let row = (number * CLIENTS + connection) * 7919 % entities;
                    let path = format!("/{table}(PartitionKey='one',RowKey='{row:012}')");
                    signer.table_head("GET", &path, "", 0, accept)
                })
                .collect(),
        }
    }

    fn body(self, table: &str) -> String {
        match self {
            Self::Insert => entity(ROW.fetch_add(1, Ordering::Relaxed)),
            Self::Batch => batch(table, (0..BATCH).map(|_| ROW.fetch_add(1, Ordering::Relaxed))),
            Self::Point { .. } | Self::Scan => String::new(),
        }
    }

    async fn once(self, connection: &mut Connection, head: &str, table: &str) -> anyhow::Result<()> {
        let wanted = match self {
            Self::Insert => 204,
            Self::Batch => 202,
            Self::Point { .. } | Self::Scan => 200,
        };
        let (status, bytes) = connection.call(head, self.body(table).as_bytes()).await?;
        anyhow::ensure!(status == wanted, "answered {status}");
        anyhow::ensure!(!matches!(self, Self::Scan) || bytes > PAGE * 900, "a page of {bytes} bytes");
        Ok(())
    }
}

struct Measured {
    rate: f64,
    cpu_micros: f64,
}

/// The closed loop on one table.
async fn load(peer: &Peer, table: &str, work: Work, time: Duration) -> anyhow::Result<Measured> {
    let (signer, port) = (Signer::new()?, peer.table_port);
    let table: Arc<str> = table.into();
    let heads: Vec<Vec<String>> = (0..CLIENTS).map(|task| work.heads(&signer, &table, task)).collect();
    let (cpu_before, start) = (peer.cpu_seconds(), Instant::now());
    let tasks = heads.into_iter().map(|heads| {
        let table = Arc::clone(&table);
        tokio::spawn(async move {
            let mut connection = Connection::open(port).await?;
            let mut count = 0;
            for head in heads.iter().cycle() {
                if start.elapsed() >= time {
                    break;
                }
                work.once(&mut connection, head, &table).await?;
                count += 1;
            }
            Ok::<_, anyhow::Error>(count)
        })
    });
    let mut calls = 0;
    for task in tasks.collect::<Vec<_>>() {
        calls += task.await??;
    }
    let (seconds, cpu) = (start.elapsed().as_secs_f64(), peer.cpu_seconds() - cpu_before);
    Ok(Measured { rate: calls as f64 / seconds, cpu_micros: cpu * 1e6 / calls.max(1) as f64 })
}

async fn make(peer: &Peer, table: &str) -> anyhow::Result<()> {
    let body = format!("{{\"TableName\":\"{table}\"}}");
    let head = Signer::new()?.table_head("POST", "/Tables", JSON, body.len(), &QUIET);
    let (status, _) = Connection::open(peer.table_port).await?.call(&head, body.as_bytes()).await?;
    anyhow::ensure!(status == 204, "Create Table answered {status}");
    Ok(())
}

/// The same as [`fill`], for a peer that answers 500 to batches of this form.
async fn fill_one_by_one(peer: &Peer, table: &str, count: usize) -> anyhow::Result<()> {
    make(peer, table).await?;
    let (signer, mut connection) = (Signer::new()?, Connection::open(peer.table_port).await?);
    for row in 0..count {
        let body = entity(row as u64);
        let head = signer.table_head("POST", &format!("/{table}"), JSON, body.len(), &QUIET);
        let (status, _) = connection.call(&head, body.as_bytes()).await?;
        anyhow::ensure!(status == 204, "Insert Entity answered {status}");
    }
    Ok(())
}

/// Makes a table with so many entities in one partition, whose rows are numbered.
async fn fill(peer: &Peer, table: &str, count: usize) -> anyhow::Result<()> {
    make(peer, table).await?;
    let (signer, port) = (Signer::new()?, peer.table_port);
    let table: Arc<str> = table.into();
    let tasks = (0..8).map(|task| {
        let (signer, table) = (signer.clone(), Arc::clone(&table));
        tokio::spawn(async move {
            let mut connection = Connection::open(port).await?;
            for start in (task * BATCH..count).step_by(8 * BATCH) {
                let body = batch(&table, (start..count.min(start + BATCH)).map(|row| row as u64));
                let head = signer.table_head("POST", "/$batch", MULTIPART, body.len(), &[]);
                let (status, _) = connection.call(&head, body.as_bytes()).await?;
                anyhow::ensure!(status == 202, "a batch answered {status}");
            }
            Ok::<_, anyhow::Error>(())
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await??;
    }
    Ok(())
}
