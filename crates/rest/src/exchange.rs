//! A service as a function: one request in, the whole answer out, no socket in between. For tests, and for requests that come
//! from inside of the program.

use std::{net::SocketAddr, sync::Arc};

use bytes::{Bytes, BytesMut};
use http::{HeaderValue, Method, StatusCode, header};
use net::Seat;

use crate::{
    Body, Headers, Host, Service,
    answer::{self, Front, Incoming, Origin},
    dates,
    limits::Limits,
};

/// A service with its surroundings.
pub struct Exchange {
    front: Arc<Front>,
}

/// The answer to a request.
#[derive(Debug)]
pub struct Exchanged {
    /// The HTTP status.
    pub status: StatusCode,
    /// All headers that a connection would have sent, but for those of its framing.
    pub headers: Headers,
    /// The body, as far as it could be produced.
    pub body: Bytes,
    /// False when producing the body failed.
    pub complete: bool,
}

impl Exchange {
    /// Calls this service.
    #[must_use]
    pub fn new(service: Arc<dyn Service>, host: Arc<dyn Host>) -> Self {
        let (load, limits) = (host.load(service.name()), Limits::default());
        let commons = host.commons(service.name(), &limits);
        Self { front: Arc::new(Front { service, host, load, commons, limits }) }
    }

    /// The answer to one request, as if it had come from `peer` without TLS.
    pub async fn call(
        &self,
        method: Method,
        target: &str,
        headers: Headers,
        body: Bytes,
        peer: SocketAddr,
    ) -> Exchanged {
        let incoming = Incoming { method, target: target.to_owned(), headers, body: Body::from_bytes(body) };
        let origin = Origin { peer, secure: false, seat: Seat::alone() };
        let mut ready = answer::answer(&self.front, &origin, incoming, || 0).await;
        let mut all = BytesMut::new();
        let mut complete = true;
        while let Some(piece) = std::future::poll_fn(|cx| ready.poll_piece(cx)).await {
            match piece {
                Ok(bytes) => {
                    ready.sent(&bytes);
                    all.extend_from_slice(&bytes);
                }
                Err(_) => {
                    complete = false;
                    break;
                }
            }
        }
        if complete {
            ready.complete();
        }
        let mut headers = std::mem::take(&mut ready.headers);
        ready.common.each(|name, value| {
            if let Ok(value) = HeaderValue::from_bytes(value) {
                headers.insert(name, value);
            }
        });
        headers.insert(header::DATE, dates::rfc1123(ready.common.now));
        Exchanged { status: ready.status, headers, body: all.freeze(), complete }
    }
}
