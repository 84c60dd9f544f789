//! The Queue service over HTTP: all clients on one queue, whose number of messages stays what it is while it is measured.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context as _;

use super::{
    client::Connection,
    load::{self, CLIENTS, Client, Measured, Request},
    machine::group_commit_loop,
    peers::Peer,
    scene::{Scene, Who, median},
    signer::Signer,
};

/// Base64 of 200 bytes, as many clients send.
const TEXT: &str = concat!(
    "<QueueMessage><MessageText>",
    "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4",
    "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4",
    "</MessageText></QueueMessage>",
);

pub(crate) async fn run(scene: &mut Scene) -> anyhow::Result<()> {
    puts(scene).await?;
    beside_azurite(scene).await?;
    scene.azurite = None;
    long_queues(scene).await
}

/// Put Message, beside Azurite and beside the loop of durable commits.
async fn puts(scene: &mut Scene) -> anyhow::Result<()> {
    let queue = |round| format!("put-{round}");
    for peer in scene.both() {
        for round in 0..scene.rounds() {
            fill(peer, &queue(round), 0).await?;
        }
    }
    let medians =
        scene.turns(|who, round| Messages::clients(who, &queue(round), Work::Put), &[group_commit_loop]).await?;
    let what = format!("Put Message, one queue, {CLIENTS} clients ({:.0} us CPU each)", medians.cpu_micros);
    if let Some(azurite) = medians.azurite {
        scene.report.ratio(&what, "/s", medians.ours, ("Azurite", azurite), 28.0);
    }
    scene.report.ratio_or(&what, "/s", medians.ours, ("commit loop", medians.machine[0]), (0.4, 8000.0));
    Ok(())
}

/// Get + Delete of a queue that Azurite can still work on.
async fn beside_azurite(scene: &mut Scene) -> anyhow::Result<()> {
    const QUEUED: u64 = 4000;
    for peer in scene.both() {
        fill(peer, "beside", QUEUED).await?;
    }
    let medians = scene.turns(|who, _| Messages::clients(who, "beside", Work::PutGetDelete), &[]).await?;
    if let Some(azurite) = medians.azurite {
        let what = format!("Put, Get + Delete, {QUEUED} queued ({:.0} us CPU each)", medians.cpu_micros);
        scene.report.ratio(&what, "/s", medians.ours, ("Azurite", azurite), 100.0);
    }
    Ok(())
}

/// Get + Delete of a long queue beside the same of a short one.
async fn long_queues(scene: &mut Scene) -> anyhow::Result<()> {
    let (small, large) = (1000, scene.size(100_000, 1_000_000));
    for (queue, count) in [("small", small), ("large", large)] {
        fill(&scene.ours, queue, count).await?;
    }
    rest(&scene.ours).await;
    let (mut few, mut many, mut cpu) = (vec![], vec![], vec![]);
    for _ in 0..scene.rounds().max(2) {
        for (queue, rates) in [("small", &mut few), ("large", &mut many)] {
            let clients = Messages::clients(Who::Ours, queue, Work::PutGetDelete)?;
            let measured = load::run(&scene.ours, clients, scene.time()).await?;
            rates.push(measured.rate);
            cpu.push(measured.cpu_micros);
        }
    }
    let what = format!("Put, Get + Delete, {large} queued ({:.0} us CPU each)", median(cpu));
    scene.report.ratio(&what, "/s", median(many), ("1,000 queued", median(few)), 0.8);
    Ok(())
}

/// What a client does, over and over.
#[derive(Clone, Copy)]
pub(crate) enum Work {
    Put,
    /// Puts a message, gets one and deletes it, so that the queue stays as long as it is.
    PutGetDelete,
}

pub(crate) struct Messages {
    work: Work,
    signer: Signer,
    path: Arc<str>,
    put: String,
    get: String,
}

impl Messages {
    pub(crate) fn clients(who: Who, queue: &str, work: Work) -> anyhow::Result<Vec<Self>> {
        if who == Who::Nginx {
            return Ok(vec![]);
        }
        let signer = Signer::new()?;
        let path: Arc<str> = format!("/{queue}/messages").into();
        let client = || Self {
            work,
            signer: signer.clone(),
            path: Arc::clone(&path),
            put: signer.head("POST", &path, &[], TEXT.len(), &[]),
            get: signer.head("GET", &path, &[], 0, &[]),
        };
        Ok(std::iter::repeat_with(client).take(CLIENTS).collect())
    }
}

impl Client for Messages {
    fn port(peer: &Peer) -> u16 {
        peer.queue_port
    }

    /// The Put counts, or the Get and the Delete.
    async fn once(&mut self, connection: &mut Connection) -> anyhow::Result<u64> {
        let (status, _) = connection.call(&self.put, TEXT.as_bytes()).await?;
        anyhow::ensure!(status == 201, "Put Message answered {status}");
        if matches!(self.work, Work::Put) {
            return Ok(1);
        }
        let (status, answer) = connection.call_for_text(&self.get, &[]).await?;
        anyhow::ensure!(status == 200, "Get Messages answered {status}");
        let (id, receipt) = (element(&answer, "MessageId")?, element(&answer, "PopReceipt")?);
        let head = self.signer.head("DELETE", &format!("{}/{id}", self.path), &[("popreceipt", receipt)], 0, &[]);
        let (status, _) = connection.call(&head, &[]).await?;
        anyhow::ensure!(status == 204, "Delete Message answered {status}");
        Ok(2)
    }
}

fn element<'a>(text: &'a str, name: &str) -> anyhow::Result<&'a str> {
    let (_, behind) = text.split_once(&format!("<{name}>")).with_context(|| format!("no {name} in {text}"))?;
    Ok(behind.split('<').next().unwrap_or_default())
}

/// Waits until the server has tidied up after it was filled: that is work of the filling.
async fn rest(peer: &Peer) {
    let start = Instant::now();
    let mut before = f64::MIN;
    while start.elapsed() < Duration::from_secs(60) && peer.cpu_seconds() - before > 0.02 {
        before = peer.cpu_seconds();
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Fills a queue of a server that somebody else started, and works on it.
pub(crate) async fn load_running(peer: &Peer, messages: usize, time: Duration) -> anyhow::Result<Measured> {
    let queue = format!("load-{messages}");
    fill(peer, &queue, messages as u64).await?;
    eprintln!("filled");
    load::run(peer, Messages::clients(Who::Ours, &queue, Work::PutGetDelete)?, time).await
}

/// Makes a queue with so many messages.
pub(crate) async fn fill(peer: &Peer, queue: &str, count: u64) -> anyhow::Result<()> {
    let (signer, port) = (Signer::new()?, peer.queue_port);
    let head = signer.head("PUT", &format!("/{queue}"), &[], 0, &[]);
    Request { head, body: vec![], wanted: 201 }.send(&mut Connection::open(port).await?).await?;
    let head = signer.head("POST", &format!("/{queue}/messages"), &[], TEXT.len(), &[]);
    let request = move |_| Request { head: head.clone(), body: TEXT.into(), wanted: 201 };
    load::fill(port, CLIENTS, count, request).await
}
