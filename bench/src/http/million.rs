//! A share with 1,000,000 files in one directory: renaming the directory, a snapshot of the share, the first page of a
//! listing and the properties of one file, right after the load, and while others write.
//!
//! The files are made by the File service itself, in this process on the data directory, without HTTP; the last of them over
//! REST, so that what is measured follows a load at once.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use access::{
    AccountKey, Accounts, Grant,
    account::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY},
    need::Service,
    shared_key::{self, Scheme, SignedParts},
};
use anyhow::Context as _;
use file::{Files, Preconditions, SmbChange, create::CreateFile, object::Address, share::ShareAddress};
use hmac::Mac as _;
use store::Store;
use store_embedded::{Durability, EmbeddedEngine, Options};
use types::{FilePath, HttpHeaders, Metadata, ShareName, UnitId};

use super::{
    client::Connection,
    file::{create_head, make_directory},
    load::{self, Request},
    peers::Peer,
    scene::{Scene, median},
    signer::Signer,
};

/// Files made at once.
const TASKS: u64 = 64;
/// Times that each thing is done.
const TIMES: usize = 20;
/// Clients that write meanwhile.
const WRITERS: usize = 4;
/// What either may take.
const GOAL_MS: f64 = 50.0;

pub(crate) async fn run(scene: &mut Scene) -> anyhow::Result<()> {
    let count: u64 = scene.size(100_000, 1_000_000);
    let data = scene.path().join("million");
    let peer = Peer::lazuli(&data)?;
    make_directory(&peer, "/million", "share").await?;
    make_directory(&peer, "/million/a", "directory").await?;
    drop(peer);
    let (path, inside) = (data.clone(), count - count / 20);
    let start = Instant::now();
    // On a thread without a runtime: it brings its own.
    tokio::task::spawn_blocking(move || fill(&path, inside)).await??;
    let rate = inside as f64 / start.elapsed().as_secs_f64();
    scene.report.plain(&format!("{inside} files through the library"), "/s", rate);
    let peer = Peer::lazuli(&data)?;
    scene.report.limit("  first answer of a server on them", "ms", peer.start.as_secs_f64() * 1e3, 2000.0);
    let signer = Signer::new()?;
    let request = move |number| Request {
        head: create_head(&signer, &format!("/million/a/{}", name(inside + number)), 0),
        body: vec![],
        wanted: 201,
    };
    load::fill(peer.file_port, TASKS as usize, count - inside, request).await?;
    let mut share = Share { peer: &peer, at: "a", count };
    share.measure(scene, "right after the load").await?;
    let writers: Vec<_> = (0..WRITERS).map(|_| tokio::spawn(write(peer.file_port))).collect();
    let measured = share.measure(scene, "while 4 clients write").await;
    for writer in &writers {
        writer.abort();
    }
    for writer in writers {
        // One that ended by itself has met an answer that it did not want.
        if let Ok(outcome) = writer.await {
            outcome?;
        }
    }
    measured
}

fn name(number: u64) -> String {
    format!("file-{number:08}.bin")
}

/// The share, and the name that its directory has now.
struct Share<'a> {
    peer: &'a Peer,
    at: &'static str,
    count: u64,
}

impl Share<'_> {
    async fn measure(&mut self, scene: &mut Scene, when: &str) -> anyhow::Result<()> {
        let count = self.count;
        let renames = self.renames().await?;
        summary(scene, &format!("rename of a directory with {count} files, {when}"), renames, Some(GOAL_MS));
        let head =
            |signer: &Signer| signer.head("PUT", "/million", &[("comp", "snapshot"), ("restype", "share")], 0, &[]);
        let snapshots = self.repeated(head, 201).await?;
        summary(scene, &format!("snapshot of a share with {count} files, {when}"), snapshots, Some(GOAL_MS));
        let path = format!("/million/{}", self.at);
        let head = |signer: &Signer| signer.head("GET", &path, &[("comp", "list"), ("restype", "directory")], 0, &[]);
        let pages = self.repeated(head, 200).await?;
        summary(scene, &format!("first 5,000 of {count} files, {when}"), pages, None);
        let path = format!("/million/{}/{}", self.at, name(count / 2));
        let mut times = vec![];
        let mut connection = Connection::open(self.peer.file_port).await?;
        for _ in 0..TIMES {
            let head = Signer::new()?.head("HEAD", &path, &[], 0, &[]);
            let start = Instant::now();
            let status = connection.call_for_head(&head).await?;
            anyhow::ensure!(status == 200, "answered {status}");
            times.push(start.elapsed());
        }
        summary(scene, &format!("properties of one of {count} files, {when}"), times, None);
        Ok(())
    }

    async fn renames(&mut self) -> anyhow::Result<Vec<Duration>> {
        let (mut connection, signer) = (Connection::open(self.peer.file_port).await?, Signer::new()?);
        let mut times = vec![];
        for _ in 0..TIMES {
            let to = if self.at == "a" { "b" } else { "a" };
            let source = format!("http://127.0.0.1:{}/{DEVELOPMENT_ACCOUNT}/million/{}", self.peer.file_port, self.at);
            let query = [("comp", "rename"), ("restype", "directory")];
            let extra = [("x-ms-file-rename-source", source.as_str())];
            let head = signer.head("PUT", &format!("/million/{to}"), &query, 0, &extra);
            let (start, request) = (Instant::now(), Request { head, body: vec![], wanted: 200 });
            request.send(&mut connection).await?;
            times.push(start.elapsed());
            self.at = to;
        }
        Ok(times)
    }

    async fn repeated(&self, head: impl Fn(&Signer) -> String, wanted: u16) -> anyhow::Result<Vec<Duration>> {
        let (mut connection, signer) = (Connection::open(self.peer.file_port).await?, Signer::new()?);
        let mut times = vec![];
        for _ in 0..TIMES {
            let request = Request { head: head(&signer), body: vec![], wanted };
            let start = Instant::now();
            request.send(&mut connection).await?;
            times.push(start.elapsed());
        }
        Ok(times)
    }
}

/// The median and the worst.
fn summary(scene: &mut Scene, what: &str, times: Vec<Duration>, goal: Option<f64>) {
    let millis: Vec<f64> = times.iter().map(|time| time.as_secs_f64() * 1e3).collect();
    let worst = millis.iter().copied().fold(0.0, f64::max);
    let what = format!("{what}, median {:.1} ms, worst of {TIMES}", median(millis));
    match goal {
        Some(goal) => scene.report.limit(&what, "ms", worst, goal),
        None => scene.report.plain(&what, "ms", worst),
    }
}

/// Makes files and writes them, until it is stopped.
async fn write(port: u16) -> anyhow::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let (signer, mut connection) = (Signer::new()?, Connection::open(port).await?);
    loop {
        let path = format!("/million/w{}", NEXT.fetch_add(1, Ordering::Relaxed));
        Request { head: create_head(&signer, &path, 4096), body: vec![], wanted: 201 }.send(&mut connection).await?;
        let extra = [("x-ms-range", "bytes=0-4095"), ("x-ms-write", "update")];
        let head = signer.head("PUT", &path, &[("comp", "range")], 4096, &extra);
        Request { head, body: vec![0x5A; 4096], wanted: 201 }.send(&mut connection).await?;
    }
}

/// Makes files on a data directory that nobody else has open.
fn fill(data: &Path, count: u64) -> anyhow::Result<()> {
    let engine =
        Arc::new(EmbeddedEngine::open(data, Options { durability: Durability::Relaxed, ..Options::default() })?);
    let store = Store::new(Arc::<EmbeddedEngine>::clone(&engine));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let (grant, account) = credential(&store).await?;
        let files = Files::new(store.clone());
        let tasks = (0..TASKS).map(|task| {
            let (files, grant) = (files.clone(), grant.clone());
            tokio::spawn(async move {
                for number in (task..count).step_by(TASKS as usize) {
                    files.create_file(&grant.ask(create(account, number)?), None).await?;
                }
                Ok::<_, anyhow::Error>(())
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await??;
        }
        Ok::<_, anyhow::Error>(())
    })?;
    drop(runtime);
    Ok(engine.close()?)
}

fn create(account: UnitId, number: u64) -> anyhow::Result<CreateFile<'static>> {
    let share = ShareAddress { account, name: ShareName::parse("million")?, snapshot: None };
    Ok(CreateFile {
        address: Address::new(share, Some(FilePath::parse(&format!("a/{}", name(number)))?)),
        preconditions: Preconditions::default(),
        metadata: Metadata::new(),
        smb: SmbChange::default(),
        headers: HttpHeaders::default(),
        length: 0,
    })
}

/// What the development account's key allows, and the account.
async fn credential(store: &Store) -> anyhow::Result<(Grant, UnitId)> {
    let key = AccountKey::parse(DEVELOPMENT_KEY)?;
    let configured = [(types::AccountName::parse(DEVELOPMENT_ACCOUNT)?, vec![key])];
    let accounts = Accounts::open(store, configured).await?;
    let account = accounts.get(DEVELOPMENT_ACCOUNT).context("no account")?;
    let parts = SignedParts {
        service: Service::File,
        method: "PUT",
        raw_path: "/devstoreaccount1/million",
        path_style: true,
        query: &[],
        headers: &[],
        version: types::ServiceVersion::NEWEST,
        date: Some(store.wall()),
    };
    let mut mac = Signer::new()?.mac();
    mac.update(shared_key::string_to_sign(DEVELOPMENT_ACCOUNT, Scheme::SharedKey, &parts).as_bytes());
    let signature = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, mac.finalize().into_bytes());
    let authorization = format!("{DEVELOPMENT_ACCOUNT}:{signature}");
    let grant = shared_key::verify(&accounts, &account, Scheme::SharedKey, &authorization, &parts, store.wall());
    Ok((grant.map_err(|refusal| anyhow::anyhow!("the signature is refused: {refusal:?}"))?, account.unit))
}
