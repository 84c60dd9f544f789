//! The closed loop: so many connections, each sending its next request when the last was answered.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use super::{
    client::{Connection, Signer},
    peers::Peer,
};

/// What every connection sends.
#[derive(Clone)]
pub(crate) enum Work {
    /// Put Blob of a new name each time.
    Put(Arc<Vec<u8>>),
    /// Get Blob of one of so many names.
    Get { names: u64, bytes: usize },
    /// A plain GET of a file, for a server that knows no signatures.
    File { path: String, bytes: usize },
}

/// What a loop measured.
pub(crate) struct Measured {
    pub(crate) rate: f64,
    pub(crate) cpu_micros: f64,
}

static NAME: AtomicU64 = AtomicU64::new(0);

pub(crate) async fn run(peer: &Peer, work: Work, connections: usize, time: Duration) -> anyhow::Result<Measured> {
    let signer = Signer::new()?;
    let port = peer.port;
    let ready = Arc::new(tokio::sync::Barrier::new(connections + 1));
    let mut tasks = Vec::new();
    for number in 0..connections as u64 {
        let (signer, work, ready) = (signer.clone(), work.clone(), Arc::clone(&ready));
        tasks.push(tokio::spawn(async move {
            let mut connection = Connection::open(port).await?;
            // Signed before the clock starts: the load generator shares the machine with what it measures.
            let prepared = work.prepare(&signer, number);
            ready.wait().await;
            let start = Instant::now();
            let mut count = 0_u64;
            while start.elapsed() < time {
                let next = prepared
                    .get(usize::try_from(count)?)
                    .map_or_else(|| work.head(&signer, number, count), Clone::clone);
                one(&mut connection, &next, &work).await?;
                count += 1;
            }
            Ok::<_, anyhow::Error>(count)
        }));
    }
    ready.wait().await;
    let cpu_before = peer.cpu_seconds();
    let start = Instant::now();
    let mut requests = 0;
    for task in tasks {
        requests += task.await??;
    }
    let seconds = start.elapsed().as_secs_f64();
    let cpu = peer.cpu_seconds() - cpu_before;
    Ok(Measured { rate: requests as f64 / seconds, cpu_micros: cpu * 1e6 / requests.max(1) as f64 })
}

impl Work {
    /// Requests of one connection, as many as it may need for a while; more are made as they are needed.
    fn prepare(&self, signer: &Signer, connection: u64) -> Vec<String> {
        let count = match self {
            Self::Put(data) if data.len() > 64 * 1024 => 100,
            Self::Put(_) | Self::Get { .. } => 3000,
            Self::File { .. } => 0,
        };
        (0..count).map(|number| self.head(signer, connection, number)).collect()
    }

    fn head(&self, signer: &Signer, connection: u64, number: u64) -> String {
        match self {
            Self::Put(data) => {
                let name = NAME.fetch_add(1, Ordering::Relaxed);
                let extra = [("x-ms-blob-type", "BlockBlob")];
                signer.head("PUT", &format!("/bench/p{name:010}"), &[], data.len(), &extra)
            }
            Self::Get { names, bytes } => {
                let name = (connection * 7919 + number) % names;
                signer.head("GET", &format!("/bench/g{name}-{bytes}"), &[], 0, &[])
            }
            Self::File { path, .. } => format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
        }
    }
}

async fn one(connection: &mut Connection, head: &str, work: &Work) -> anyhow::Result<()> {
    let (body, wanted, expected): (&[u8], _, _) = match work {
        Work::Put(data) => (data, 201, None),
        Work::Get { bytes, .. } | Work::File { bytes, .. } => (&[], 200, Some(*bytes)),
    };
    let (status, bytes) = connection.call(head, body).await?;
    anyhow::ensure!(status == wanted, "answered {status}");
    anyhow::ensure!(expected.is_none_or(|expected| expected == bytes), "answered {bytes} bytes");
    Ok(())
}
