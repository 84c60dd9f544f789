//! Requests to others, for the sources of copies and the keys of issuers: HTTP/1.1 over TCP or TLS.
//!
//! **Invariant.** A request goes to an address that was looked at, and to no other: the name is resolved once, each of
//! its addresses must be allowed, and the connection is made to one of them. Otherwise a copy could be used to read what
//! only this machine can reach. And who is refused is not told why: the answer must not say what an internal name is.

mod addresses;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Method, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Empty};
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use rest::{
    BoxFuture, Headers,
    outgoing::{Fetch, FetchError, Fetched, Outgoing, Pieces},
};
use rustls::{ClientConfig, RootCertStore, pki_types::ServerName};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::OnceCell,
    task::JoinHandle,
    time::timeout,
};
use tokio_rustls::TlsConnector;

use crate::settings::CopySources;

/// Time to reach somebody.
const CONNECT: Duration = Duration::from_secs(10);
/// Time until the head of an answer, and between two pieces of its body.
const ANSWER: Duration = Duration::from_secs(60);

/// Longest document that is fetched whole.
const DOCUMENT_MAX_BYTES: usize = 512 * 1024;

/// Makes requests to others.
pub(crate) struct Client {
    sources: CopySources,
    tls: OnceCell<TlsConnector>,
}

impl Client {
    pub(crate) fn new(sources: CopySources) -> Self {
        Self { sources, tls: OnceCell::new() }
    }

    async fn request(&self, fetch: Fetch) -> Result<Fetched, FetchError> {
        let uri: Uri = fetch.url.parse().map_err(|_| FetchError::Url("the source is no URL".to_owned()))?;
        let secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(FetchError::Url("the source begins with neither http:// nor https://".to_owned())),
        };
        let (Some(host), Some(authority)) = (uri.host(), uri.authority()) else {
            return Err(FetchError::Url("the source names no host".to_owned()));
        };
        let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
        let stream = self.connect(host, port).await?;
        let target = uri.path_and_query().map_or("/", |target| target.as_str());
        let mut request = http::Request::builder()
            .method(if fetch.head { Method::HEAD } else { Method::GET })
            .uri(target)
            .header(header::HOST, authority.as_str())
            .header(header::USER_AGENT, concat!("Lazuli/", env!("CARGO_PKG_VERSION")));
        for (name, value) in fetch.headers {
            request = request.header(name, value);
        }
        let request = request.body(Empty::new()).map_err(|_| FetchError::Url("the source is no URL".to_owned()))?;
        if secure {
            let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned());
            let name = name.map_err(|_| FetchError::Url(format!("{host} cannot have a certificate")))?;
            let secured = timeout(CONNECT, self.tls().await.connect(name, stream)).await;
            send(secured.map_err(late(host))?.map_err(failed(host))?, request, host).await
        } else {
            send(stream, request, host).await
        }
    }

    async fn connect(&self, host: &str, port: u16) -> Result<TcpStream, FetchError> {
        if self.sources == CopySources::None {
            return Err(forbidden(host, "--copy-sources none"));
        }
        let name = host.trim_matches(['[', ']']);
        let found = timeout(CONNECT, tokio::net::lookup_host((name, port))).await;
        let found: Vec<SocketAddr> = found.map_err(late(host))?.map_err(failed(host))?.collect();
        if self.sources == CopySources::Public
            && let Some(internal) = found.iter().find(|address| !addresses::is_public(address.ip()))
        {
            let reason = format!("it is {}, which is not public; --copy-sources any allows it", internal.ip());
            return Err(forbidden(host, &reason));
        }
        let connected = timeout(CONNECT, TcpStream::connect(&*found)).await;
        connected.map_err(late(host))?.map_err(failed(host))
    }

    #[expect(clippy::disallowed_methods, reason = "the server spawns; the certificates of the machine are many files")]
    async fn tls(&self) -> &TlsConnector {
        self.tls
            .get_or_init(|| async {
                let mut roots = RootCertStore::empty();
                let found = tokio::task::spawn_blocking(rustls_native_certs::load_native_certs).await;
                for certificate in found.map(|found| found.certs).unwrap_or_default() {
                    // One that cannot be read is one that nobody can be trusted by.
                    let _unreadable = roots.add(certificate);
                }
                let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
                let builder = ClientConfig::builder_with_provider(provider);
                let config = builder
                    .with_safe_default_protocol_versions()
                    .map(|builder| builder.with_root_certificates(roots.clone()).with_no_client_auth());
                let config = config
                    .unwrap_or_else(|_| ClientConfig::builder().with_root_certificates(roots).with_no_client_auth());
                TlsConnector::from(Arc::new(config))
            })
            .await
    }
}

/// Fetches a small document from a URL that the configuration names, so that it may be anywhere.
pub(crate) async fn document(url: &str) -> io::Result<String> {
    let client = Client::new(CopySources::Any);
    let fetch = Fetch { head: false, url: url.to_owned(), headers: Vec::new() };
    let mut fetched = client.request(fetch).await.map_err(io::Error::other)?;
    if fetched.status != StatusCode::OK {
        return Err(io::Error::other(format!("the answer is {}", fetched.status)));
    }
    let mut whole = Vec::new();
    while let Some(piece) = fetched.body.next().await.map_err(io::Error::other)? {
        if whole.len() + piece.len() > DOCUMENT_MAX_BYTES {
            return Err(io::Error::other(format!("the answer has more than {DOCUMENT_MAX_BYTES} bytes")));
        }
        whole.extend_from_slice(&piece);
    }
    String::from_utf8(whole).map_err(|_| io::Error::other("the answer is not UTF-8"))
}

impl Outgoing for Client {
    fn fetch(&self, request: Fetch) -> BoxFuture<'_, Result<Fetched, FetchError>> {
        Box::pin(self.request(request))
    }
}

/// Whoever runs the server reads in its log why a source was refused. Whoever asked for the copy does not: what a name
/// means inside this network is not for everybody.
fn forbidden(host: &str, reason: &str) -> FetchError {
    tracing::warn!(host, reason, "a copy source was refused");
    FetchError::Forbidden("the source is not allowed by this server".to_owned())
}

fn late(host: &str) -> impl Fn(tokio::time::error::Elapsed) -> FetchError {
    move |_| FetchError::Unreachable(format!("{host} does not answer"))
}

fn failed(host: &str) -> impl Fn(io::Error) -> FetchError {
    move |error| FetchError::Unreachable(format!("{host} cannot be reached: {error}"))
}

#[expect(clippy::disallowed_methods, reason = "the server spawns; a connection is driven beside its answer")]
async fn send<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    request: http::Request<Empty<Bytes>>,
    host: &str,
) -> Result<Fetched, FetchError> {
    let broken = |error: hyper::Error| FetchError::Unreachable(format!("{host} does not answer: {error}"));
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    let connection = Connection(tokio::spawn(async move {
        // Its failure is seen by whoever waits for the answer.
        let _failed = connection.await;
    }));
    let answer = timeout(ANSWER, sender.send_request(request)).await;
    let (head, body) = answer.map_err(late(host))?.map_err(broken)?.into_parts();
    let mut headers = Headers::new();
    for (name, value) in &head.headers {
        headers.append(name, value.as_bytes());
    }
    let body = Box::new(Body { body, host: host.to_owned(), _connection: connection });
    Ok(Fetched { status: head.status, headers, body })
}

/// The task of a connection; it ends with the answer.
struct Connection(JoinHandle<()>);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.abort();
    }
}

struct Body {
    body: Incoming,
    host: String,
    _connection: Connection,
}

impl Pieces for Body {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, FetchError>> {
        Box::pin(async move {
            loop {
                let frame = timeout(ANSWER, self.body.frame()).await.map_err(late(&self.host))?;
                match frame {
                    None => return Ok(None),
                    Some(Ok(frame)) => {
                        // Anything else is a trailer, which nobody asked for.
                        if let Ok(bytes) = frame.into_data() {
                            return Ok(Some(bytes));
                        }
                    }
                    Some(Err(error)) => {
                        let host = &self.host;
                        return Err(FetchError::Unreachable(format!("the answer of {host} broke off: {error}")));
                    }
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_refused_source_is_not_told_what_its_name_resolves_to() {
        for (sources, url) in [
            (CopySources::Public, "http://localhost:1/c/b"),
            (CopySources::Public, "http://127.0.0.1:1/c/b"),
            (CopySources::Public, "https://[::1]:1/c/b"),
            (CopySources::None, "http://example.com/c/b"),
        ] {
            let fetch = Fetch { head: true, url: url.to_owned(), headers: Vec::new() };
            let refused = Client::new(sources).request(fetch).await.err();
            assert_eq!(
                refused,
                Some(FetchError::Forbidden("the source is not allowed by this server".to_owned())),
                "{url}"
            );
        }
    }
}
