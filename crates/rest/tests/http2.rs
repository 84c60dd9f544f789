//! HTTP/2 in the clear, by a client that knows that the server speaks it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::{future::poll_fn, pin::Pin, time::Duration};

use bytes::Bytes;
use common::{noted, start, start_with};
use http::{Request, Response};
use http_body::Body as _;
use http_body_util::Full;
use hyper::{
    body::Incoming,
    client::conn::http2::{self, SendRequest},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{net::TcpStream, task::JoinHandle};

#[expect(clippy::disallowed_methods, reason = "the test is the client here")]
async fn connect(address: std::net::SocketAddr) -> (SendRequest<Full<Bytes>>, JoinHandle<hyper::Result<()>>) {
    let stream = TcpStream::connect(address).await.unwrap();
    let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    (sender, tokio::spawn(connection))
}

async fn call(sender: &mut SendRequest<Full<Bytes>>, method: &str, uri: &str, body: &str) -> (Response<()>, String) {
    let request = Request::builder().method(method).uri(uri).header("x-ms-version", "2021-12-02");
    let request = request.body(Full::new(Bytes::copy_from_slice(body.as_bytes()))).unwrap();
    sender.ready().await.unwrap();
    let response: Response<Incoming> = sender.send_request(request).await.unwrap();
    let (parts, mut incoming) = response.into_parts();
    let mut text = String::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut incoming).poll_frame(cx)).await {
        if let Ok(bytes) = frame.unwrap().into_data() {
            text.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }
    (Response::from_parts(parts, ()), text)
}

#[tokio::test]
async fn requests_are_answered_as_over_http_1() {
    let server = start().await;
    let (mut sender, _connection) = connect(server.address).await;
    let base = format!("http://{}", server.address);
    let table = [
        ("PUT", "/a/echo", "hello", 201, "hello"),
        ("GET", "/a/pieces", "", 200, "aaaacccc"),
        ("HEAD", "/a/headers", "", 200, ""),
        ("GET", "/a/empty", "", 204, ""),
        ("GET", "/acc/account", "", 200, "acc"),
    ];
    for (method, path, sent, status, expected) in table {
        let (response, body) = call(&mut sender, method, &format!("{base}{path}"), sent).await;
        assert_eq!((response.status().as_u16(), &*body), (status, expected), "{method} {path}");
        for name in ["x-ms-request-id", "date", "server", "x-ms-version"] {
            assert!(response.headers().contains_key(name), "{name} of {method} {path}");
        }
    }
    let (response, body) = call(&mut sender, "GET", &format!("{base}/a/refuse"), "").await;
    assert!(response.status() == 400 && body.contains("MissingRequiredHeader"));
    let (response, _) = call(&mut sender, "GET", "http://acc.parrot.localhost/account", "").await;
    assert_eq!(response.status(), 200, "the authority is the host");
    noted(&server.notes, "201 /a/echo true").await;
}

#[tokio::test]
async fn streams_run_at_once_and_end_before_the_server_does() {
    let server = start().await;
    let (mut sender, connection) = connect(server.address).await;
    let uri = format!("http://{}/a/slow", server.address);
    let (mut second, mut third) = (sender.clone(), sender.clone());
    let begun = tokio::time::Instant::now();
    let all = async {
        tokio::join!(
            call(&mut sender, "GET", &uri, ""),
            call(&mut second, "GET", &uri, ""),
            call(&mut third, "GET", &uri, "")
        )
    };
    let stop = async {
        while server.notes.load.requests() < 3 {
            tokio::task::yield_now().await;
        }
        server.stop.send(true).unwrap();
    };
    let (answers, ()) = tokio::join!(all, stop);
    assert!([answers.0.1, answers.1.1, answers.2.1].iter().all(|body| body == "slow"));
    assert!(begun.elapsed() < Duration::from_millis(850), "one after the other");
    tokio::time::timeout(Duration::from_secs(5), connection).await.unwrap().unwrap().unwrap();
    tokio::time::timeout(Duration::from_secs(5), server.task).await.unwrap().unwrap();
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let server = start_with(|limits| limits.head_timeout = Duration::from_millis(200)).await;
    let (mut sender, connection) = connect(server.address).await;
    call(&mut sender, "GET", &format!("http://{}/a/headers", server.address), "").await;
    tokio::time::timeout(Duration::from_secs(10), connection).await.unwrap().unwrap().unwrap();
    let counted_out = async {
        while server.notes.load.connections() > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), counted_out).await.unwrap();
}

/// A client whose windows are closed: it asks, and takes nothing of the answers.
#[expect(clippy::disallowed_methods, reason = "the test is the client here")]
async fn connect_without_windows(address: std::net::SocketAddr) -> h2::client::SendRequest<Bytes> {
    let stream = TcpStream::connect(address).await.unwrap();
    let (sender, connection) = h2::client::Builder::new().initial_window_size(0).handshake(stream).await.unwrap();
    tokio::spawn(connection);
    sender
}

async fn ask(sender: &mut h2::client::SendRequest<Bytes>, uri: &str) -> h2::client::ResponseFuture {
    *sender = sender.clone().ready().await.unwrap();
    sender.send_request(Request::get(uri).body(()).unwrap(), true).unwrap().0
}

#[tokio::test]
async fn answers_that_nobody_takes_hold_no_slots() {
    let server = start_with(|limits| limits.net.requests = 64).await;
    let uri = format!("http://{}/a/flood", server.address);
    let (mut senders, mut answers) = (Vec::new(), Vec::new());
    for _ in 0..4 {
        let mut sender = connect_without_windows(server.address).await;
        for _ in 0..40 {
            answers.push(ask(&mut sender, &uri).await);
        }
        senders.push(sender);
    }
    for answer in &mut answers {
        assert_eq!(answer.await.unwrap().status(), 200);
    }
    assert_eq!(server.notes.load.requests(), 0, "they are answered, and not in work");
    let (mut other, _connection) = connect(server.address).await;
    let (response, _) = call(&mut other, "PUT", &format!("http://{}/a/echo", server.address), "hello").await;
    assert_eq!(response.status(), 201);
    assert_eq!(server.notes.load.refused_requests(), 0);
}

#[tokio::test]
async fn a_stream_without_progress_is_reset_and_its_connection_goes_on() {
    let server = start_with(|limits| {
        limits.net.stranger_timeout = Duration::from_millis(100);
        limits.head_timeout = Duration::from_secs(10);
    })
    .await;
    let mut sender = connect_without_windows(server.address).await;
    let stalled = ask(&mut sender, &format!("http://{}/a/flood", server.address)).await.await.unwrap();
    let mut body = stalled.into_body();
    let data = tokio::time::timeout(Duration::from_secs(10), poll_fn(|cx| body.poll_data(cx))).await.unwrap();
    let error = data.unwrap().unwrap_err();
    assert_eq!(error.reason(), Some(h2::Reason::CANCEL), "{error}");
    noted(&server.notes, "200 /a/flood false").await;
    let empty = ask(&mut sender, &format!("http://{}/a/empty", server.address)).await.await.unwrap();
    assert_eq!(empty.status(), 204);
}

#[tokio::test]
async fn strangers_share_their_streams_and_every_connection_has_some() {
    let server = start_with(|limits| limits.net.stranger_timeout = Duration::from_secs(60)).await;
    let uri = format!("http://{}/a/flood", server.address);
    let (mut senders, mut refused, mut answered) = (Vec::new(), 0, Vec::new());
    for _ in 0..10 {
        let mut sender = connect_without_windows(server.address).await;
        for _ in 0..128 {
            match ask(&mut sender, &uri).await.await {
                Ok(response) => answered.push(response),
                Err(error) => {
                    assert_eq!(error.reason(), Some(h2::Reason::REFUSED_STREAM), "{error}");
                    refused += 1;
                }
            }
        }
        senders.push(sender);
    }
    assert!(refused > 100, "{refused} were refused, {} answered", answered.len());
    let (mut other, _connection) = connect(server.address).await;
    let (response, body) = call(&mut other, "PUT", &format!("http://{}/a/echo", server.address), "hello").await;
    assert_eq!((response.status().as_u16(), &*body), (201, "hello"), "a new connection is served");
    drop((senders, answered));
}

#[tokio::test]
async fn a_long_body_passes_through_windows() {
    let server = start().await;
    let (mut sender, _connection) = connect(server.address).await;
    let long = "0123456789".repeat(50_000);
    let (response, body) = call(&mut sender, "PUT", &format!("http://{}/a/echo", server.address), &long).await;
    assert_eq!(response.status(), 201);
    assert!(body == long);
}
