//! Connections: accept, shake hands, read requests, stop. One task a connection.
//!
//! This is the one place of the crate that starts tasks, and the server is the one that calls it. Invariants: the number
//! of connections is bounded; whatever a client sends or does not send, it costs at most its own connection; at
//! shutdown requests in flight end before the listener does, for a limited time.

use std::{
    convert::Infallible,
    io,
    net::SocketAddr,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    task::JoinSet,
};

use crate::{
    BoxFuture, Host, Service,
    answer::{Front, Origin, answer},
    limits::{self, Limits},
    stall::Stalling,
};

/// A byte stream, plain or encrypted.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// What makes a plain connection a secure one.
pub trait Handshake: Send + Sync + 'static {
    /// Does the server's side of it.
    fn accept(&self, stream: TcpStream) -> BoxFuture<'_, io::Result<Box<dyn Io>>>;
}

/// A bound port.
pub struct Listener {
    /// The socket.
    pub tcp: TcpListener,
    /// `Some` when its connections are encrypted.
    pub tls: Option<Arc<dyn Handshake>>,
}

/// Hears when it is time to stop; clones hear the same.
#[derive(Clone, Debug)]
pub struct Shutdown(watch::Receiver<bool>);

impl Shutdown {
    /// A signal and who hears it. Dropping the sender is the signal too.
    #[must_use]
    pub fn channel() -> (watch::Sender<bool>, Self) {
        let (sender, receiver) = watch::channel(false);
        (sender, Self(receiver))
    }

    /// Returns when it is time to stop.
    pub async fn requested(&mut self) {
        let _stopped_or_sender_gone = self.0.wait_for(|stop| *stop).await;
    }

    /// True from the signal on.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits for the time, but not past the signal. True when it is time to stop.
    pub async fn pause(&mut self, time: Duration) -> bool {
        tokio::time::timeout(time, self.requested()).await.is_ok()
    }
}

/// Serves until shutdown, then until the requests in flight have ended or the time for them is over.
pub async fn serve(
    listener: Listener,
    service: Arc<dyn Service>,
    host: Arc<dyn Host>,
    limits: Limits,
    mut shutdown: Shutdown,
) {
    let front = Arc::new(Front { service, host, body_timeout: limits.body_timeout });
    let places = Arc::new(Semaphore::new(limits.connections));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = shutdown.requested() => break,
            Some(_ended) = connections.join_next(), if !connections.is_empty() => continue,
            accepted = accept(&listener.tcp, &places) => accepted,
        };
        match accepted {
            Ok((stream, peer, place)) => {
                let connection = Connection { front: Arc::clone(&front), limits, shutdown: shutdown.clone(), peer };
                let tls = listener.tls.clone();
                connections.spawn(async move {
                    connection.run(stream, tls).await;
                    drop(place);
                });
            }
            Err(error) => {
                // Usually too many open files: others must end before it gets better.
                tracing::warn!(%error, "a connection could not be accepted");
                if shutdown.pause(Duration::from_millis(100)).await {
                    break;
                }
            }
        }
    }
    drop(listener);
    let drained = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(limits.drain_timeout, drained).await.is_err() {
        tracing::warn!(connections = connections.len(), "closing connections that did not end in time");
    }
}

/// A place first, then a connection: further ones wait in the kernel's queue.
async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> io::Result<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    Ok((stream, peer, place))
}

/// One connection.
struct Connection {
    front: Arc<Front>,
    limits: Limits,
    shutdown: Shutdown,
    peer: SocketAddr,
}

impl Connection {
    async fn run(self, stream: TcpStream, tls: Option<Arc<dyn Handshake>>) {
        let _answers_are_written_whole = stream.set_nodelay(true);
        let Some(tls) = tls else { return self.speak(stream, false).await };
        match tokio::time::timeout(self.limits.handshake_timeout, tls.accept(stream)).await {
            Ok(Ok(stream)) => self.speak(stream, true).await,
            Ok(Err(error)) => tracing::debug!(peer = %self.peer, %error, "a handshake failed"),
            Err(_) => tracing::debug!(peer = %self.peer, "a handshake took too long"),
        }
    }

    async fn speak(mut self, stream: impl Io + 'static, secure: bool) {
        let left_unread = Arc::new(AtomicBool::new(false));
        let origin = Origin { peer: self.peer, secure, left_unread: Arc::clone(&left_unread) };
        let front = self.front;
        let service = service_fn(move |request| {
            let (front, origin) = (Arc::clone(&front), origin.clone());
            async move { Ok::<_, Infallible>(answer(front, origin, request).await) }
        });
        let io = TokioIo::new(Stalling::new(stream, self.limits.write_timeout, left_unread));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.head_timeout)
            .max_headers(limits::HEADERS_MAX)
            .max_buf_size(limits::CONNECTION_BUFFER_BYTES)
            .serve_connection(io, service);
        let mut connection = std::pin::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = self.shutdown.requested() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(peer = %self.peer, %error, "a connection ended early");
        }
    }
}
