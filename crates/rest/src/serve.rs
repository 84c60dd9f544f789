//! Connections: accept, shake hands, find out the protocol, serve, stop. One task a connection.
//!
//! This is the one place of the crate that starts tasks, and the server is the one that calls it. Invariants: the number
//! of connections is bounded, and so is the number of those that are told so; whatever a client sends or does not send,
//! it costs at most its own connection; at shutdown requests in flight end before the listener does, for a limited time.

use std::{io, net::SocketAddr, pin::Pin, sync::Arc, time::Duration};

use bytes::BytesMut;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    task::JoinSet,
    time::Instant,
};

use crate::{
    BoxFuture, Host, Service,
    answer::{Front, Origin},
    h1, h2,
    limits::Limits,
    rewind::Rewind,
    seats::{Seat, Taken},
};

/// Connections over the limit that are answered at once; the others are closed without a word.
const REFUSALS_MAX: usize = 64;
/// How often it is said that connections cannot be accepted.
const COMPLAINT_EVERY: Duration = Duration::from_secs(10);
/// What a connection over the limit is told. A head is not waited for: it would be a place to wait in.
const OVERLOADED: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>ServerBusy</Code><Message>The server has \
    too many connections. Please retry your request.</Message></Error>";

/// A byte stream, plain or encrypted.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin {
    /// The client has shown a credential and takes a large answer: the system may keep as much of it as it thinks right,
    /// which saves waking up for each part. For strangers it keeps little.
    fn keep_more(&self) {}
}

impl<T: Io + ?Sized> Io for Box<T> {
    fn keep_more(&self) {
        (**self).keep_more();
    }
}

#[cfg(test)]
impl Io for tokio::io::DuplexStream {}

impl Io for TcpStream {
    fn keep_more(&self) {
        // Without the option it is only slower.
        #[cfg(target_os = "linux")]
        let _unchanged = socket2::SockRef::from(self).set_tcp_notsent_lowat(u32::MAX);
    }
}

/// What makes a plain connection a secure one.
pub trait Handshake: Send + Sync + 'static {
    /// Does the server's side of it.
    fn accept(&self, stream: TcpStream) -> BoxFuture<'_, io::Result<Secured>>;
}

/// A connection after its handshake.
pub struct Secured {
    /// What is said on it.
    pub io: Box<dyn Io>,
    /// Both sides have agreed on HTTP/2.
    pub http2: bool,
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
        *self.0.borrow() || self.0.has_changed().is_err()
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
    let load = host.load(service.name());
    let commons = host.commons(service.name(), &limits);
    let seats = Arc::clone(&commons.seats);
    let front = Arc::new(Front { service, host, load: Arc::clone(&load), commons, limits });
    // Those that are refused are counted apart, so that refusing cannot take what serving needs.
    let refusals = Arc::new(Semaphore::new(REFUSALS_MAX));
    let mut complained: Option<Instant> = None;
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
                if complained.is_none_or(|last| last.elapsed() > COMPLAINT_EVERY) {
                    complained = Some(Instant::now());
                    tracing::warn!(%error, "a connection could not be accepted");
                }
                if shutdown.pause(Duration::from_millis(100)).await {
                    break;
                }
                continue;
            }
        };
        if let Some(taken) = seats.take(peer.ip()).await {
            let (seat, place) = (Arc::clone(&taken.seat), load.connect());
            let connection = Connection { front: Arc::clone(&front), limits, shutdown: shutdown.clone(), peer, seat };
            let tls = listener.tls.clone();
            let seat = Arc::clone(&taken.seat);
            let task = connections.spawn(async move {
                // Dropped behind the connection, whether that ends or has to give way.
                let _place = (taken, place);
                connection.run(stream, tls).await;
            });
            Taken::served_by(&seat, task);
            continue;
        }
        load.refuse_connection();
        if let (None, Ok(place)) = (&listener.tls, Arc::clone(&refusals).try_acquire_owned()) {
            connections.spawn(async move {
                refuse(stream).await;
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

/// Says that it is too much, and waits a moment for the client to hear it.
async fn refuse(mut stream: TcpStream) {
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\ncontent-type: application/xml\r\n\
         x-ms-error-code: ServerBusy\r\ncontent-length: {}\r\n\r\n{OVERLOADED}",
        OVERLOADED.len()
    );
    let said = async {
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await?;
        let mut scratch = [0; 1024];
        while stream.read(&mut scratch).await? > 0 {}
        Ok::<(), io::Error>(())
    };
    let _gone_or_not = tokio::time::timeout(Duration::from_secs(1), said).await;
}

/// One connection.
struct Connection {
    front: Arc<Front>,
    limits: Limits,
    shutdown: Shutdown,
    peer: SocketAddr,
    seat: Arc<Seat>,
}

impl Connection {
    async fn run(self, stream: TcpStream, tls: Option<Arc<dyn Handshake>>) {
        let _answers_are_written_whole = stream.set_nodelay(true);
        let Some(tls) = tls else { return self.find_out(stream).await };
        match tokio::time::timeout(self.limits.handshake_timeout, tls.accept(stream)).await {
            Ok(Ok(Secured { io, http2 })) if http2 => self.speak_http2(io, BytesMut::new(), true).await,
            Ok(Ok(Secured { io, .. })) => self.speak_http1(io, BytesMut::new(), true).await,
            Ok(Err(error)) => tracing::debug!(peer = %self.peer, %error, "a handshake failed"),
            Err(_) => tracing::debug!(peer = %self.peer, "a handshake took too long"),
        }
    }

    /// Tells the protocols apart by how the client begins. No method of HTTP/1.1 begins like the preface.
    async fn find_out(mut self, mut stream: TcpStream) {
        let mut buffer = BytesMut::new();
        let begins = async {
            // Who says nothing gets no buffer.
            stream.readable().await?;
            buffer.reserve(8 * 1024);
            while buffer.len() < h2::PREFACE.len() && h2::PREFACE.starts_with(&buffer) {
                if stream.read_buf(&mut buffer).await? == 0 {
                    break;
                }
            }
            Ok::<bool, io::Error>(buffer.starts_with(h2::PREFACE))
        };
        let http2 = tokio::select! {
            begun = tokio::time::timeout(self.limits.head_timeout, begins) => begun,
            () = self.shutdown.requested() => return,
        };
        match http2 {
            Ok(Ok(true)) => self.speak_http2(stream, buffer, false).await,
            Ok(Ok(false)) if !buffer.is_empty() => self.speak_http1(Box::new(stream), buffer, false).await,
            Ok(Ok(false) | Err(_)) | Err(_) => {}
        }
    }

    async fn speak_http1(self, io: Box<dyn Io>, buffer: BytesMut, secure: bool) {
        let origin = Origin { peer: self.peer, secure, seat: self.seat };
        let connection = h1::connection::Connection::new(self.front, origin, self.limits, self.shutdown, io, buffer);
        if let Err(error) = connection.run().await {
            tracing::debug!(peer = %self.peer, %error, "a connection ended early");
        }
    }

    async fn speak_http2(self, io: impl Io + 'static, buffer: BytesMut, secure: bool) {
        let origin = Origin { peer: self.peer, secure, seat: self.seat };
        let io = Rewind::new(buffer.freeze(), io);
        let served: Pin<Box<dyn Future<Output = _> + Send>> =
            Box::pin(h2::serve(self.front, origin, self.limits, self.shutdown, io));
        if let Err(error) = served.await {
            tracing::debug!(peer = %self.peer, %error, "a connection ended early");
        }
    }
}
