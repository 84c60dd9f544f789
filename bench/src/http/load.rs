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
    let cpu_before = peer.cpu_seconds();
    let start = Instant::now();
    let mut tasks = Vec::new();
    for number in 0..connections as u64 {
        let (signer, work) = (signer.clone(), work.clone());
        tasks.push(tokio::spawn(async move {
            let mut connection = Connection::open(port).await?;
            let mut count = 0_u64;
            while start.elapsed() < time {
                one(&mut connection, &signer, &work, number * 7919 + count).await?;
                count += 1;
            }
            Ok::<_, anyhow::Error>(count)
        }));
    }
    let mut requests = 0;
    for task in tasks {
        requests += task.await??;
    }
    let seconds = start.elapsed().as_secs_f64();
    let cpu = peer.cpu_seconds() - cpu_before;
    Ok(Measured { rate: requests as f64 / seconds, cpu_micros: cpu * 1e6 / requests.max(1) as f64 })
}

async fn one(connection: &mut Connection, signer: &Signer, work: &Work, dice: u64) -> anyhow::Result<()> {
    let (status, bytes, wanted, expected) = match work {
        Work::Put(data) => {
            let name = NAME.fetch_add(1, Ordering::Relaxed);
            let extra = [("x-ms-blob-type", "BlockBlob")];
            let head = signer.head("PUT", &format!("/bench/p{name:010}"), &[], data.len(), &extra);
            let (status, bytes) = connection.call(&head, data).await?;
            (status, bytes, 201, None)
        }
        Work::Get { names, bytes: expected } => {
            let head = signer.head("GET", &format!("/bench/g{}-{expected}", dice % names), &[], 0, &[]);
            let (status, bytes) = connection.call(&head, &[]).await?;
            (status, bytes, 200, Some(*expected))
        }
        Work::File { path, bytes: expected } => {
            let head = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
            let (status, bytes) = connection.call(&head, &[]).await?;
            (status, bytes, 200, Some(*expected))
        }
    };
    anyhow::ensure!(status == wanted, "answered {status}");
    anyhow::ensure!(expected.is_none_or(|expected| expected == bytes), "answered {bytes} bytes");
    Ok(())
}
