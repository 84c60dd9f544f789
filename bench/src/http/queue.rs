//! The Queue service over HTTP: all clients on one queue, whose number of messages stays what it is while it is measured.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context as _;

use super::{
    client::{Connection, Signer},
    peers::Peer,
    rows::median,
};
use crate::{Arguments, report::Report, store::commits};

const CLIENTS: usize = 64;
/// Base64 of 200 bytes, as many clients send.
const TEXT: &str = concat!(
    "<QueueMessage><MessageText>",
    "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4",
    "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4",
    "</MessageText></QueueMessage>",
);

pub(crate) async fn run(arguments: &Arguments, time: Duration, rounds: usize) -> anyhow::Result<Report> {
    let mut report = Report::default();
    let directory = tempfile::tempdir_in(&arguments.directory)?;
    let path = directory.path();
    let ours = Peer::lazuli(&path.join("lazuli"))?;
    let azurite = Peer::azurite(&path.join("azurite"))?;
    let (small, beside, large) = if arguments.quick { (1000, 4000, 100_000) } else { (1000, 4000, 1_000_000) };
    puts(&ours, azurite.as_ref(), path, time, rounds, &mut report).await?;
    if let Some(azurite) = &azurite {
        for peer in [&ours, azurite] {
            fill(peer, "beside", beside).await?;
        }
        let (mut own, mut cpu, mut theirs) = (vec![], vec![], vec![]);
        for _ in 0..rounds {
            let measured = load(&ours, "beside", Work::PutGetDelete, time).await?;
            own.push(measured.0);
            cpu.push(measured.1);
            theirs.push(load(azurite, "beside", Work::PutGetDelete, time).await?.0);
        }
        let what = format!("Put, Get + Delete, {beside} queued ({:.0} us CPU each)", median(cpu));
        report.ratio(&what, "/s", median(own), ("Azurite", median(theirs)), 100.0);
    }
    drop(azurite);
    for (queue, count) in [("small", small), ("large", large)] {
        fill(&ours, queue, count).await?;
    }
    rest(&ours).await;
    let (mut few, mut many, mut cpu) = (vec![], vec![], vec![]);
    for _ in 0..rounds.max(2) {
        few.push(load(&ours, "small", Work::PutGetDelete, time).await?.0);
        let measured = load(&ours, "large", Work::PutGetDelete, time).await?;
        many.push(measured.0);
        cpu.push(measured.1);
    }
    let what = format!("Put, Get + Delete, {large} queued ({:.0} us CPU each)", median(cpu));
    report.ratio(&what, "/s", median(many), ("1,000 queued", median(few)), 0.8);
    Ok(report)
}

/// Put Message, beside Azurite and beside the loop of durable commits.
async fn puts(
    ours: &Peer,
    azurite: Option<&Peer>,
    path: &Path,
    time: Duration,
    rounds: usize,
    report: &mut Report,
) -> anyhow::Result<()> {
    let (mut own, mut cpu, mut theirs, mut loops) = (vec![], vec![], vec![], vec![]);
    for round in 0..rounds {
        let queue = format!("put-{round}");
        fill(ours, &queue, 0).await?;
        let measured = load(ours, &queue, Work::Put, time).await?;
        own.push(measured.0);
        cpu.push(measured.1);
        if let Some(azurite) = azurite {
            fill(azurite, &queue, 0).await?;
            theirs.push(load(azurite, &queue, Work::Put, time).await?.0);
        }
        let target = tempfile::tempdir_in(path)?;
        let commits = target.path().join("commits");
        loops.push(tokio::task::spawn_blocking(move || commits::group_commit_loop(&commits, time)).await??);
    }
    let what = format!("Put Message, one queue, {CLIENTS} clients ({:.0} us CPU each)", median(cpu));
    let own = median(own);
    if azurite.is_some() {
        report.ratio(&what, "/s", own, ("Azurite", median(theirs)), 28.0);
    }
    report.ratio_or(&what, "/s", own, ("commit loop", median(loops)), (0.4, 8000.0));
    Ok(())
}

/// What every connection does, over and over.
#[derive(Clone, Copy)]
enum Work {
    Put,
    /// Puts a message, gets one and deletes it, so that the queue stays as long as it is.
    PutGetDelete,
}

impl Work {
    /// Does it once. Returns how many calls of it count: the Put, or the Get and the Delete.
    async fn once(self, connection: &mut Connection, signer: &Signer, messages: &str) -> anyhow::Result<u64> {
        let head = signer.head("POST", messages, &[], TEXT.len(), &[]);
        let (status, _) = connection.call(&head, TEXT.as_bytes()).await?;
        anyhow::ensure!(status == 201, "Put Message answered {status}");
        if matches!(self, Self::Put) {
            return Ok(1);
        }
        let head = signer.head("GET", messages, &[], 0, &[]);
        let (status, answer) = connection.call_for_text(&head, &[]).await?;
        anyhow::ensure!(status == 200, "Get Messages answered {status}");
        let (id, receipt) = (element(&answer, "MessageId")?, element(&answer, "PopReceipt")?);
        let head = signer.head("DELETE", &format!("{messages}/{id}"), &[("popreceipt", receipt)], 0, &[]);
        let (status, _) = connection.call(&head, &[]).await?;
        anyhow::ensure!(status == 204, "Delete Message answered {status}");
        Ok(2)
    }
}

fn element<'a>(text: &'a str, name: &str) -> anyhow::Result<&'a str> {
    let (_, behind) = text.split_once(&format!("<{name}>")).with_context(|| format!("no {name} in {text}"))?;
    Ok(behind.split('<').next().unwrap_or_default())
}

/// The closed loop over one queue. Returns the rate and the CPU time of a call, in microseconds.
async fn load(peer: &Peer, queue: &str, work: Work, time: Duration) -> anyhow::Result<(f64, f64)> {
    let (signer, port) = (Signer::new()?, peer.queue_port);
    let messages: Arc<str> = format!("/{queue}/messages").into();
    let (cpu_before, start) = (peer.cpu_seconds(), Instant::now());
    let tasks = (0..CLIENTS).map(|_| {
        let (signer, messages) = (signer.clone(), Arc::clone(&messages));
        tokio::spawn(async move {
            let mut connection = Connection::open(port).await?;
            let mut count = 0;
            while start.elapsed() < time {
                count += work.once(&mut connection, &signer, &messages).await?;
            }
            Ok::<_, anyhow::Error>(count)
        })
    });
    let mut calls = 0;
    for task in tasks.collect::<Vec<_>>() {
        calls += task.await??;
    }
    let (seconds, cpu) = (start.elapsed().as_secs_f64(), peer.cpu_seconds() - cpu_before);
    Ok((calls as f64 / seconds, cpu * 1e6 / calls.max(1) as f64))
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
pub(crate) async fn load_running(port: u16, messages: usize, time: Duration) -> anyhow::Result<()> {
    let peer = Peer::running(port)?;
    let queue = format!("load-{messages}");
    fill(&peer, &queue, messages).await?;
    eprintln!("filled");
    println!("{:.0}/s", load(&peer, &queue, Work::PutGetDelete, time).await?.0);
    Ok(())
}

/// Makes a queue with so many messages.
async fn fill(peer: &Peer, queue: &str, count: usize) -> anyhow::Result<()> {
    let (signer, port) = (Arc::new(Signer::new()?), peer.queue_port);
    let mut connection = Connection::open(port).await?;
    let (status, _) = connection.call(&signer.head("PUT", &format!("/{queue}"), &[], 0, &[]), &[]).await?;
    anyhow::ensure!(status == 201, "Create Queue answered {status}");
    let messages: Arc<str> = format!("/{queue}/messages").into();
    let tasks = (0..CLIENTS).map(|task| {
        let (signer, messages) = (Arc::clone(&signer), Arc::clone(&messages));
        tokio::spawn(async move {
            let mut connection = Connection::open(port).await?;
            for _ in (task..count).step_by(CLIENTS) {
                let head = signer.head("POST", &messages, &[], TEXT.len(), &[]);
                let (status, _) = connection.call(&head, TEXT.as_bytes()).await?;
                anyhow::ensure!(status == 201, "Put Message answered {status}");
            }
            Ok::<_, anyhow::Error>(())
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await??;
    }
    Ok(())
}
