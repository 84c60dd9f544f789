//! A listener with a small service behind it, and a client that says whatever it is told to.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]
#![allow(dead_code, reason = "each test file uses its part")]

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderValue, StatusCode};
use net::Listener;
use rest::{
    BoxFuture, Host, Load, Outcome, Record, Request, RequestId, Response, ResponseBody, Service, ServiceError,
    Shutdown, StreamError, limits::Limits, serve,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use types::Timestamp;

/// Answers by the name of the container.
pub(crate) struct Parrot;

impl Parrot {
    async fn answer(mut request: Request) -> Result<Response, ServiceError> {
        let text = HeaderValue::from_static("text/plain");
        match request.target.container.as_deref() {
            Some("echo") => {
                let known = rest::Known::by_token(b"token", b"token").unwrap();
                let body = request.body.collect(known, 1024 * 1024).await?;
                Ok(Response::new(StatusCode::CREATED).body(text, ResponseBody::bytes(body)))
            }
            Some("refuse") => Err(ServiceError::missing_header("x-ms-blob-type")),
            Some("panic") => panic!("on purpose"),
            Some("broken") => {
                let body = ResponseBody::stream(100, 0, |step| async move {
                    if step == 0 {
                        return Ok(Some((Bytes::from_static(b"part"), 1)));
                    }
                    // Long enough for the first piece to leave.
                    tokio::time::timeout(Duration::from_millis(200), std::future::pending::<()>()).await.ok();
                    Err(StreamError("gone".into()))
                });
                Ok(Response::new(StatusCode::OK).body(text, body))
            }
            Some("slow") => {
                tokio::time::timeout(Duration::from_millis(300), std::future::pending::<()>()).await.ok();
                Ok(Response::new(StatusCode::OK).body(text, ResponseBody::bytes(Bytes::from_static(b"slow"))))
            }
            Some("stuck") => {
                std::future::pending::<()>().await;
                Ok(Response::new(StatusCode::OK))
            }
            Some("headers") => {
                let lines: Vec<_> = request.headers.iter_as_sent().map(|(name, _)| name).collect();
                let body = ResponseBody::bytes(Bytes::from(lines.join(",")));
                Ok(Response::new(StatusCode::OK).text_header("x-ms-meta-MyName", "v").body(text, body))
            }
            Some("empty") => Ok(Response::new(StatusCode::NO_CONTENT)),
            Some("unchanged") => {
                let code = types::ErrorCode::ConditionNotMet;
                Err(ServiceError::new(code, "No.").with_status(StatusCode::NOT_MODIFIED))
            }
            Some("pieces") => {
                let body = ResponseBody::unsized_stream(0_u8, |step| async move {
                    Ok((step < 3).then(|| (Bytes::from(vec![b'a' + step; 4 * usize::from(step != 1)]), step + 1)))
                });
                Ok(Response::new(StatusCode::OK).body(text, body))
            }
            Some("flood") => {
                let body =
                    ResponseBody::unsized_stream(
                        (),
                        |()| async move { Ok(Some((Bytes::from_static(&[7; 65536]), ()))) },
                    );
                Ok(Response::new(StatusCode::OK).body(text, body))
            }
            Some("unreadable") => {
                let body = ResponseBody::stream(100, (), |()| async move { Err(StreamError("gone".into())) });
                Ok(Response::new(StatusCode::OK).body(text, body))
            }
            Some("etag") => Ok(Response::new(StatusCode::OK).text_header("etag", "\"0x1\"")),
            Some("account") => {
                let body = ResponseBody::bytes(Bytes::from(request.target.account));
                Ok(Response::new(StatusCode::OK).body(text, body))
            }
            _ => Ok(Response::new(StatusCode::OK)),
        }
    }
}

impl Service for Parrot {
    fn name(&self) -> &'static str {
        "parrot"
    }

    fn call(&self, request: Request) -> BoxFuture<'_, Outcome> {
        Box::pin(async move { Outcome::new("Parrot", Self::answer(request).await) })
    }
}

#[derive(Default)]
pub(crate) struct Notes {
    ids: AtomicU64,
    pub(crate) load: Arc<Load>,
    pub(crate) seen: Mutex<Vec<String>>,
}

impl Host for Notes {
    fn now(&self) -> Timestamp {
        Timestamp::from_seconds(784_111_777)
    }

    fn request_id(&self) -> RequestId {
        RequestId::new(u128::from(self.ids.fetch_add(1, Ordering::Relaxed) + 1))
    }

    fn load(&self, _: &'static str) -> Arc<Load> {
        Arc::clone(&self.load)
    }

    fn observe(&self, record: &Record<'_>) {
        let line = format!("{} {} {}", record.status, record.target, record.complete);
        self.seen.lock().unwrap().push(line);
    }
}

pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) notes: Arc<Notes>,
    pub(crate) stop: tokio::sync::watch::Sender<bool>,
    pub(crate) task: JoinHandle<()>,
}

pub(crate) async fn start() -> Running {
    start_with(|_| {}).await
}

#[expect(clippy::disallowed_methods, reason = "the test is the server here")]
pub(crate) async fn start_with(change: impl FnOnce(&mut Limits)) -> Running {
    let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = tcp.local_addr().unwrap();
    let notes = Arc::new(Notes::default());
    let (stop, shutdown) = Shutdown::channel();
    let second = Duration::from_secs(1);
    let net = net::Limits { write_timeout: second, stranger_timeout: second, ..net::Limits::default() };
    let mut limits = Limits { net, head_timeout: second, body_timeout: second };
    change(&mut limits);
    let host = Arc::clone(&notes);
    let listener = Listener { tcp, tls: None };
    let task = tokio::spawn(serve(listener, Arc::new(Parrot), host, limits, shutdown));
    Running { address, notes, stop, task }
}

/// Sends bytes and reads until the server closes.
pub(crate) async fn talk(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let _server_may_hang_up = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut answer)).await;
    let _reset = read.expect("the server neither answered nor closed");
    String::from_utf8_lossy(&answer).into_owned()
}

pub(crate) async fn get(address: SocketAddr, rest: &str) -> String {
    talk(address, format!("GET {rest}\r\n\r\n").as_bytes()).await
}

/// Waits until a line about a request was noted.
pub(crate) async fn noted(notes: &Notes, line: &str) {
    let seen = async {
        while !notes.seen.lock().unwrap().iter().any(|seen| seen == line) {
            tokio::task::yield_now().await;
        }
    };
    let seen = tokio::time::timeout(Duration::from_secs(10), seen).await;
    assert!(seen.is_ok(), "{line} is not among {:?}", notes.seen.lock().unwrap());
}

pub(crate) const CLOSE: &str = "HTTP/1.1\r\nhost: x\r\nconnection: close";
