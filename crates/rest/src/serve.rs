//! HTTP on a port: which of its versions a client speaks, and who serves that one. Ports, seats, TLS and the end of all
//! are the business of `net`.
//!
//! Invariant: whatever a client sends or does not send, it costs at most its own connection.

use std::{io, net::SocketAddr, pin::Pin, sync::Arc};

use bytes::BytesMut;
use net::{Bounds, Io, Listener, Protocol, Seat, Shutdown, Stream};
use tokio::{io::AsyncReadExt as _, net::TcpStream};

use crate::{
    Host, Service,
    answer::{Front, Origin},
    h1, h2,
    limits::Limits,
    rewind::Rewind,
};

/// What is spoken here, as the two sides of TLS agree on it; the preferred first.
pub const PROTOCOLS: &[&[u8]] = &[HTTP2, b"http/1.1"];
const HTTP2: &[u8] = b"h2";
/// What a connection over the limit is told. A head is not waited for: it would be a place to wait in.
const OVERLOADED: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>ServerBusy</Code><Message>The server has \
    too many connections. Please retry your request.</Message></Error>";

/// Serves until shutdown, then until the requests in flight have ended or the time for them is over.
pub async fn serve(
    listener: Listener,
    service: Arc<dyn Service>,
    host: Arc<dyn Host>,
    limits: Limits,
    shutdown: Shutdown,
) {
    let load = host.load(service.name());
    let commons = host.commons(service.name(), &limits);
    let bounds = Bounds { commons: Arc::clone(&commons.net), load: Arc::clone(&load), limits: limits.net };
    let front = Arc::new(Front { service, host, load, commons, limits });
    net::serve(listener, front, bounds, shutdown).await;
}

impl Protocol for Front {
    async fn serve(self: Arc<Self>, connection: net::Connection) {
        let net::Connection { stream, peer, seat, shutdown } = connection;
        let connection = Connection { front: self, shutdown, peer, seat };
        match stream {
            Stream::Plain(stream) => connection.find_out(stream).await,
            Stream::Encrypted(stream) if stream.agreed_protocol() == Some(HTTP2) => {
                connection.speak_http2(stream, BytesMut::new(), true).await;
            }
            Stream::Encrypted(stream) => connection.speak_http1(stream, BytesMut::new(), true).await,
        }
    }

    fn refusal(&self) -> Vec<u8> {
        let answer = format!(
            "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\ncontent-type: application/xml\r\n\
             x-ms-error-code: ServerBusy\r\ncontent-length: {}\r\n\r\n{OVERLOADED}",
            OVERLOADED.len()
        );
        answer.into_bytes()
    }
}

/// One connection.
struct Connection {
    front: Arc<Front>,
    shutdown: Shutdown,
    peer: SocketAddr,
    seat: Arc<Seat>,
}

impl Connection {
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
            begun = tokio::time::timeout(self.front.limits.head_timeout, begins) => begun,
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
        let connection = h1::connection::Connection::new(self.front, origin, self.shutdown, io, buffer);
        if let Err(error) = connection.run().await {
            tracing::debug!(peer = %self.peer, %error, "a connection ended early");
        }
    }

    async fn speak_http2(self, io: impl Io + 'static, buffer: BytesMut, secure: bool) {
        let origin = Origin { peer: self.peer, secure, seat: self.seat };
        let io = Rewind::new(buffer.freeze(), io);
        let served: Pin<Box<dyn Future<Output = _> + Send>> =
            Box::pin(h2::serve(self.front, origin, self.shutdown, io));
        if let Err(error) = served.await {
            tracing::debug!(peer = %self.peer, %error, "a connection ended early");
        }
    }
}
