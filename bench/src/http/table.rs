//! The Table service over HTTP: all clients on one table, and for inserts on one partition.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use super::{
    client::Connection,
    load::{self, CLIENTS, Client, Measured, Request},
    machine::group_commit_loop,
    peers::Peer,
    scene::{Scene, Who, median},
    signer::Signer,
};

/// Entities that point queries look for and scans read.
const FEW: usize = 10_000;
const BATCH: usize = 100;
const PAGE: usize = 1000;

pub(crate) async fn run(scene: &mut Scene) -> anyhow::Result<()> {
    fill(&scene.ours, "few", FEW).await?;
    if let Some(azurite) = &scene.azurite {
        // Enough to read a page and to look for one.
        fill_one_by_one(azurite, "few", 2 * PAGE).await?;
    }
    for peer in scene.both() {
        make(peer, "writes").await?;
    }
    let inserted = inserts(scene).await?;
    reads(scene, "point query", Work::Point { entities: 2 * PAGE }, 22.0).await?;
    reads(scene, "scan of 1,000 rows of 1 KiB", Work::Scan, 6.0).await?;
    scene.azurite = None;
    batches(scene, inserted).await?;
    among_many(scene).await
}

/// Insert Entity into one partition, beside Azurite and beside the loop of durable commits. Returns our rate.
async fn inserts(scene: &mut Scene) -> anyhow::Result<f64> {
    let medians = scene.turns(|who, _| Entities::clients(who, "writes", Work::Insert), &[group_commit_loop]).await?;
    let what = format!("Insert Entity 1 KiB, one partition, {CLIENTS} clients ({:.0} us CPU each)", medians.cpu_micros);
    if let Some(azurite) = medians.azurite {
        scene.report.ratio(&what, "/s", medians.ours, ("Azurite", azurite), 10.0);
    }
    scene.report.ratio_or(&what, "/s", medians.ours, ("commit loop", medians.machine[0]), (0.4, 10_000.0));
    Ok(medians.ours)
}

async fn reads(scene: &mut Scene, what: &str, work: Work, goal: f64) -> anyhow::Result<()> {
    let medians = scene.turns(|who, _| Entities::clients(who, "few", work), &[]).await?;
    let what = format!("{what}, {CLIENTS} clients ({:.0} us CPU each)", medians.cpu_micros);
    if let Some(azurite) = medians.azurite {
        scene.report.ratio(&what, "/s", medians.ours, ("Azurite", azurite), goal);
    }
    Ok(())
}

async fn batches(scene: &mut Scene, inserted: f64) -> anyhow::Result<()> {
    let medians = scene.turns(|who, _| Entities::clients(who, "writes", Work::Batch), &[]).await?;
    let what = format!("batch of {BATCH} ({:.0} us CPU each), entities", medians.cpu_micros);
    scene.report.ratio(&what, "/s", medians.ours * BATCH as f64, ("Insert Entity", inserted), 3.0);
    Ok(())
}

async fn among_many(scene: &mut Scene) -> anyhow::Result<()> {
    let many = scene.size(200_000, 10_000_000);
    fill(&scene.ours, "many", many).await?;
    let (mut among_few, mut among_many) = (vec![], vec![]);
    for _ in 0..scene.rounds().max(2) {
        for (table, entities, rates) in [("few", FEW, &mut among_few), ("many", many, &mut among_many)] {
            let clients = Entities::clients(Who::Ours, table, Work::Point { entities })?;
            rates.push(load::run(&scene.ours, clients, scene.time()).await?.rate);
        }
    }
    let what = format!("point query among {many} entities");
    scene.report.ratio(&what, "/s", median(among_many), ("10,000", median(among_few)), 1.0 / 1.5);
    Ok(())
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
pub(crate) async fn load_running(peer: &Peer, work: Work, time: Duration) -> anyhow::Result<Measured> {
    if fill(peer, "loaded", FEW).await.is_err() {
        eprintln!("the table is there already");
    }
    ROW.fetch_add(u64::from(std::process::id()) << 20, Ordering::Relaxed);
    load::run(peer, Entities::clients(Who::Ours, "loaded", work)?, time).await
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
}

pub(crate) struct Entities {
    work: Work,
    table: Arc<str>,
    heads: Vec<String>,
    sent: usize,
}

impl Entities {
    pub(crate) fn clients(who: Who, table: &str, work: Work) -> anyhow::Result<Vec<Self>> {
        let (signer, table) = (Signer::new()?, Arc::<str>::from(table));
        let count = if who == Who::Nginx { 0 } else { CLIENTS };
        let heads = (0..count).map(|client| work.heads(&signer, &table, client));
        Ok(heads.map(|heads| Self { work, table: Arc::clone(&table), heads, sent: 0 }).collect())
    }
}

impl Client for Entities {
    fn port(peer: &Peer) -> u16 {
        peer.table_port
    }

    async fn once(&mut self, connection: &mut Connection) -> anyhow::Result<u64> {
        let wanted = match self.work {
            Work::Insert => 204,
            Work::Batch => 202,
            Work::Point { .. } | Work::Scan => 200,
        };
        let head = &self.heads[self.sent % self.heads.len()];
        self.sent += 1;
        let (status, bytes) = connection.call(head, self.work.body(&self.table).as_bytes()).await?;
        anyhow::ensure!(status == wanted, "answered {status}");
        anyhow::ensure!(!matches!(self.work, Work::Scan) || bytes > PAGE * 900, "a page of {bytes} bytes");
        Ok(1)
    }
}

pub(crate) async fn make(peer: &Peer, table: &str) -> anyhow::Result<()> {
    let body = format!("{{\"TableName\":\"{table}\"}}");
    let head = Signer::new()?.table_head("POST", "/Tables", JSON, body.len(), &QUIET);
    let (status, _) = Connection::open(peer.table_port).await?.call(&head, body.as_bytes()).await?;
    anyhow::ensure!(status == 204, "Create Table answered {status}");
    Ok(())
}

/// The same as [`fill`], for a peer that answers 500 to batches of this form.
async fn fill_one_by_one(peer: &Peer, table: &str, count: usize) -> anyhow::Result<()> {
    make(peer, table).await?;
    let (signer, path) = (Signer::new()?, format!("/{table}"));
    let request = move |row| {
        let body = entity(row);
        Request { head: signer.table_head("POST", &path, JSON, body.len(), &QUIET), body: body.into(), wanted: 204 }
    };
    load::fill(peer.table_port, 1, count as u64, request).await
}

/// Makes a table with so many entities in one partition, whose rows are numbered.
pub(crate) async fn fill(peer: &Peer, table: &str, count: usize) -> anyhow::Result<()> {
    make(peer, table).await?;
    let (signer, table, count, step) = (Signer::new()?, Arc::<str>::from(table), count as u64, BATCH as u64);
    let request = move |number| {
        let body = batch(&table, number * step..count.min((number + 1) * step));
        Request {
            head: signer.table_head("POST", "/$batch", MULTIPART, body.len(), &[]),
            body: body.into(),
            wanted: 202,
        }
    };
    load::fill(peer.table_port, 8, count.div_ceil(step), request).await
}
