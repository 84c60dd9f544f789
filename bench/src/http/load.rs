//! The closed loop: so many clients, each with a connection of its own, sending its next request when the last was
//! answered. What a client sends over and over it prepares before the clock starts, because the load generator shares the
//! machine with what it measures.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::Barrier;

use super::{client::Connection, peers::Peer};

/// Clients at once.
pub(crate) const CLIENTS: usize = 64;

/// One client of a service.
pub(crate) trait Client: Send + 'static {
    /// Where a peer serves it.
    fn port(peer: &Peer) -> u16;

    /// What it does over and over. Returns how many of its calls count.
    fn once(&mut self, connection: &mut Connection) -> impl Future<Output = anyhow::Result<u64>> + Send;
}

/// What a loop measured.
pub(crate) struct Measured {
    /// Calls a second.
    pub(crate) rate: f64,
    /// Processor time of the peer for each.
    pub(crate) cpu_micros: f64,
    /// What one of a hundred takes longer than.
    pub(crate) p99_micros: f64,
}

pub(crate) async fn run<C: Client>(peer: &Peer, clients: Vec<C>, time: Duration) -> anyhow::Result<Measured> {
    let port = C::port(peer);
    let ready = Arc::new(Barrier::new(clients.len() + 1));
    let mut tasks = Vec::new();
    for mut client in clients {
        let mut connection = Connection::open(port).await?;
        let ready = Arc::clone(&ready);
        tasks.push(tokio::spawn(async move {
            ready.wait().await;
            let (start, mut calls, mut micros) = (Instant::now(), 0, Vec::new());
            let mut before = Duration::ZERO;
            while before < time {
                calls += client.once(&mut connection).await?;
                let now = start.elapsed();
                micros.push((now - before).as_micros() as u32);
                before = now;
            }
            Ok::<_, anyhow::Error>((calls, micros))
        }));
    }
    ready.wait().await;
    let (cpu_before, start) = (peer.cpu_seconds(), Instant::now());
    let (mut calls, mut micros) = (0, Vec::new());
    for task in tasks {
        let (count, durations) = task.await??;
        calls += count;
        micros.extend(durations);
    }
    let (seconds, cpu) = (start.elapsed().as_secs_f64(), peer.cpu_seconds() - cpu_before);
    micros.sort_unstable();
    Ok(Measured {
        rate: calls as f64 / seconds,
        cpu_micros: cpu * 1e6 / calls.max(1) as f64,
        p99_micros: micros.get(micros.len() * 99 / 100).map_or(f64::NAN, |&each| each.into()),
    })
}

/// A request, and the status that it must be answered with.
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    pub(crate) wanted: u16,
}

impl Request {
    pub(crate) async fn send(&self, connection: &mut Connection) -> anyhow::Result<()> {
        let (status, _) = connection.call(&self.head, &self.body).await?;
        let line = self.head.lines().next().unwrap_or_default();
        anyhow::ensure!(status == self.wanted, "{line} answered {status}");
        Ok(())
    }
}

/// Sends numbered requests from so many connections at once.
pub(crate) async fn fill(
    port: u16,
    connections: usize,
    count: u64,
    request: impl Fn(u64) -> Request + Clone + Send + 'static,
) -> anyhow::Result<()> {
    let tasks = (0..connections).map(|task| {
        let request = request.clone();
        tokio::spawn(async move {
            let mut connection = Connection::open(port).await?;
            for number in (task as u64..count).step_by(connections) {
                request(number).send(&mut connection).await?;
            }
            Ok::<_, anyhow::Error>(())
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await??;
    }
    Ok(())
}
