//! A client of a server behind a socket: signed requests over one kept connection.

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rest::{Headers, dates};
use tokio::net::TcpStream;
use types::Timestamp;

use crate::{
    Answer,
    client::{Client, Request},
    rest_service::VERSION,
    shared_key::{ACCOUNT, authorization},
};

/// A client of one service of a server on this machine.
pub struct Wire {
    service: &'static str,
    port: u16,
    connection: Option<SendRequest<Full<Bytes>>>,
}

impl Wire {
    /// A client of the service (`blob`, `queue`, `table`, `file`) on this port. It connects when it is first needed, and again when a
    /// connection broke.
    #[must_use]
    pub const fn new(service: &'static str, port: u16) -> Self {
        Self { service, port, connection: None }
    }

    #[expect(clippy::disallowed_methods, reason = "a connection is driven beside its client")]
    async fn connect(&self) -> Option<SendRequest<Full<Bytes>>> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await.ok()?;
        stream.set_nodelay(true).ok()?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await.ok()?;
        tokio::spawn(connection);
        Some(sender)
    }

    async fn exchange(&self, sender: &mut SendRequest<Full<Bytes>>, request: &Request) -> Option<Answer> {
        let target = format!("/{ACCOUNT}{}", request.target);
        let mut headers: Vec<(String, String)> =
            request.headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        headers.push(("x-ms-version".to_owned(), VERSION.to_owned()));
        headers.push(("x-ms-date".to_owned(), dates::rfc1123(now())));
        headers.push(("Content-Length".to_owned(), request.body.len().to_string()));
        headers.push(("Host".to_owned(), "127.0.0.1".to_owned()));
        headers.push(("Authorization".to_owned(), authorization(self.service, request.method, &target, &headers)));
        let mut wire = http::Request::builder().method(request.method).uri(&target);
        for (name, value) in &headers {
            wire = wire.header(name, value);
        }
        let wire = wire.body(Full::new(Bytes::from(request.body.clone()))).ok()?;
        sender.ready().await.ok()?;
        let (head, body) = sender.send_request(wire).await.ok()?.into_parts();
        let body = body.collect().await.ok()?.to_bytes();
        let headers: Headers = head.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        Some(Answer { status: head.status.as_u16(), headers, body })
    }
}

#[expect(clippy::disallowed_methods, reason = "a client has a clock of its own")]
fn now() -> Timestamp {
    Timestamp::from_seconds(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs())
}

impl Client for Wire {
    async fn call(&mut self, request: &Request) -> Option<Answer> {
        let mut sender = match self.connection.take().filter(|sender| !sender.is_closed()) {
            Some(sender) => sender,
            None => self.connect().await?,
        };
        let answer = self.exchange(&mut sender, request).await?;
        self.connection = Some(sender);
        Some(answer)
    }
}
