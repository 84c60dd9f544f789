//! Connections: accept, take a seat, shake hands, let the protocol serve, stop. One task a connection.
//!
//! This is the one place of the crate that starts tasks, and the server is the one that calls it. Invariants: the number
//! of connections is bounded, and so is the number of those that are told so; at shutdown requests in flight end before
//! the listener does, for a limited time.

use std::{future::Future, io, net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::Semaphore,
    task::JoinSet,
    time::Instant,
};

use crate::{
    Commons, Encrypted, Limits, Listener, Load, Shutdown, Stream, Tls,
    seats::{Seat, Taken},
};

/// Connections over the limit that are answered at once; the others are closed without an answer.
const REFUSALS_MAX: usize = 64;
/// Time in which a client can take such an answer.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);
/// How often it is logged that connections cannot be accepted.
const WARNING_INTERVAL: Duration = Duration::from_secs(10);
/// Pause before the next attempt to accept after one that failed.
const ACCEPT_BACK_OFF: Duration = Duration::from_millis(100);

/// What is spoken on a port.
pub trait Protocol: Send + Sync + 'static {
    /// Serves one connection until one side has had enough. At the signal to stop, requests that have begun to arrive are
    /// still answered, and no further ones are read. The future is dropped when the connection has to give way, which
    /// it does only while no [`crate::Slot`] is held on its seat.
    fn serve(self: Arc<Self>, connection: Connection) -> impl Future<Output = ()> + Send;

    /// What a client is told for which there is no seat, before its plain connection is closed. Its request is not waited
    /// for. Empty when the protocol has no words for it.
    fn refusal(&self) -> Vec<u8> {
        Vec::new()
    }
}

/// An accepted connection.
pub struct Connection {
    /// Where its bytes come from and go to.
    pub stream: Stream,
    /// The other end.
    pub peer: SocketAddr,
    /// What is known of it: the protocol says here when requests are in work and when a credential was shown.
    pub seat: Arc<Seat>,
    /// The signal to stop.
    pub shutdown: Shutdown,
}

/// What bounds a port.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// What all ports of the process share.
    pub commons: Arc<Commons>,
    /// Where its service counts connections and requests.
    pub load: Arc<Load>,
    /// What its clients are allowed.
    pub limits: Limits,
}

/// Serves until shutdown, then until the requests in flight have ended or the time for them is over.
pub async fn serve<P: Protocol>(listener: Listener, protocol: Arc<P>, bounds: Bounds, mut shutdown: Shutdown) {
    let Bounds { commons, load, limits } = bounds;
    let seats = &commons.seats;
    // Those that are refused are counted apart, so that refusing cannot take what serving needs.
    let refusals = Arc::new(Semaphore::new(REFUSALS_MAX));
    let mut warned: Option<Instant> = None;
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = shutdown.requested() => break,
            Some(_ended) = connections.join_next(), if !connections.is_empty() => continue,
            accepted = listener.tcp.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Usually too many open files: others must end before it gets better.
                seats.make_room();
                if warned.is_none_or(|last| last.elapsed() > WARNING_INTERVAL) {
                    warned = Some(Instant::now());
                    tracing::warn!(%error, "a connection could not be accepted");
                }
                if shutdown.pause(ACCEPT_BACK_OFF).await {
                    break;
                }
                continue;
            }
        };
        if let Some(taken) = seats.take(peer.ip()).await {
            let (seat, counted) = (Arc::clone(&taken.seat), load.connect());
            let accepted = Accepted {
                protocol: Arc::clone(&protocol),
                peer,
                seat: Arc::clone(&seat),
                shutdown: shutdown.clone(),
                handshake_timeout: limits.handshake_timeout,
            };
            let tls = listener.tls.clone();
            let task = connections.spawn(async move {
                // Dropped behind the connection, whether that ends or has to give way.
                let _place = (taken, counted);
                accepted.run(stream, tls).await;
            });
            Taken::served_by(&seat, task);
            continue;
        }
        load.refuse_connection();
        let words = if listener.tls.is_none() { protocol.refusal() } else { Vec::new() };
        if !words.is_empty()
            && let Ok(place) = Arc::clone(&refusals).try_acquire_owned()
        {
            connections.spawn(async move {
                refuse(stream, &words).await;
                drop(place);
            });
        }
    }
    drop(listener);
    let drained = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(limits.drain_timeout, drained).await.is_err() {
        tracing::warn!(connections = connections.len(), "closing connections that did not end in time");
    }
}

/// Says that it is too much, and waits a moment for the client to take it.
async fn refuse(mut stream: TcpStream, words: &[u8]) {
    let said = async {
        stream.write_all(words).await?;
        stream.shutdown().await?;
        let mut scratch = [0; 1024];
        while stream.read(&mut scratch).await? > 0 {}
        Ok::<(), io::Error>(())
    };
    let _gone_or_not = tokio::time::timeout(REFUSAL_TIMEOUT, said).await;
}

/// A connection before its handshake.
struct Accepted<P> {
    protocol: Arc<P>,
    peer: SocketAddr,
    seat: Arc<Seat>,
    shutdown: Shutdown,
    handshake_timeout: Duration,
}

impl<P: Protocol> Accepted<P> {
    async fn run(self, stream: TcpStream, tls: Option<Arc<Tls>>) {
        let _answers_are_written_whole = stream.set_nodelay(true);
        let Self { protocol, peer, seat, shutdown, handshake_timeout } = self;
        let stream = match tls {
            None => Stream::Plain(stream),
            // Boxed: its room would otherwise be part of every connection for as long as that lasts.
            Some(tls) => match Box::pin(handshake(&tls, stream, handshake_timeout)).await {
                Ok(stream) => Stream::Encrypted(stream),
                Err(error) => return tracing::debug!(%peer, %error, "a handshake failed"),
            },
        };
        protocol.serve(Connection { stream, peer, seat, shutdown }).await;
    }
}

async fn handshake(tls: &Tls, stream: TcpStream, timeout: Duration) -> io::Result<Box<Encrypted>> {
    match tokio::time::timeout(timeout, tls.accept(stream)).await {
        Ok(accepted) => accepted.map(Box::new),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}
