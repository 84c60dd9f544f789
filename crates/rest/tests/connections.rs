//! A listener with a small service behind it, spoken to over real sockets, by clients that keep to the rules and others that do not.

mod common;

use std::time::Duration;

use common::{CLOSE, get, start, start_with, talk};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

#[tokio::test]
async fn every_answer_carries_the_common_headers() {
    let server = start().await;
    let sent = format!("/a/c?sig=secret {CLOSE}\r\nx-ms-client-request-id: mine\r\nx-ms-version: 2021-12-02");
    let answer = get(server.address, &sent).await;
    let expected = [
        "HTTP/1.1 200 OK",
        "x-ms-request-id: 00000000-0000-0000-0000-000000000001",
        "x-ms-client-request-id: mine",
        "x-ms-version: 2021-12-02",
        "date: Sun, 06 Nov 1994 08:49:37 GMT",
        "server: Lazuli/",
        "content-length: 0",
    ];
    for line in expected {
        assert!(answer.contains(line), "{line} is missing in {answer}");
    }
    let seen = server.notes.seen.lock().unwrap().join(",");
    assert_eq!(seen, "200 /a/c?sig=REDACTED true");
}

#[tokio::test]
async fn errors_have_a_body_except_for_head() {
    let server = start().await;
    let table = [
        ("GET /a/refuse", "400", "MissingRequiredHeader"),
        ("GET /a/c%zz", "400", "InvalidUri"),
        ("GET /a/panic", "500", "InternalError"),
        ("GET /", "400", "InvalidUri"),
    ];
    for (line, status, code) in table {
        let answer = talk(server.address, format!("{line} {CLOSE}\r\n\r\n").as_bytes()).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
        assert!(answer.contains(&format!("x-ms-error-code: {code}")) && answer.contains(&format!("<Code>{code}")));
    }
    let answer = talk(server.address, format!("HEAD /a/refuse {CLOSE}\r\n\r\n").as_bytes()).await;
    assert!(answer.contains("x-ms-error-code: MissingRequiredHeader") && answer.ends_with("\r\n\r\n"), "{answer}");
    let answer = get(server.address, &format!("/a {CLOSE}\r\nx-ms-version: soon")).await;
    assert!(answer.contains("<HeaderName>x-ms-version</HeaderName><HeaderValue>soon</HeaderValue>"), "{answer}");
}

#[tokio::test]
async fn bodies_are_whole_or_nothing() {
    let server = start().await;
    let put = |rest: &str| format!("PUT /a/echo {CLOSE}\r\n{rest}").into_bytes();
    let answer = talk(server.address, &put("content-length: 5\r\n\r\nhello")).await;
    assert!(answer.ends_with("\r\n\r\nhello"), "{answer}");
    let answer = talk(server.address, &put("transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")).await;
    assert!(answer.ends_with("\r\n\r\nhello"), "{answer}");
    let answer = talk(server.address, &put("content-length: 5\r\nexpect: 100-continue\r\n\r\nhello")).await;
    assert!(answer.starts_with("HTTP/1.1 201") && answer.ends_with("hello"), "it did not wait: {answer}");
    // Declared, not sent: the wait ends.
    let answer = talk(server.address, &put("content-length: 6\r\n\r\nhello")).await;
    assert!(answer.contains("OperationTimedOut") && !answer.contains("hello"), "{answer}");
    let answer = talk(server.address, &put("content-length: 2000000\r\n\r\nhello")).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    let answer = talk(server.address, &put("content-length: 99999999999999\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
}

#[tokio::test]
async fn a_refusal_reaches_a_client_that_is_still_sending() {
    let server = start().await;
    for _ in 0..20 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(b"PUT /a/refuse HTTP/1.1\r\nhost: x\r\ncontent-length: 16777216\r\n\r\n").await.unwrap();
        for _ in 0..256 {
            stream.write_all(&[7; 65536]).await.unwrap();
        }
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.contains("MissingRequiredHeader"), "{answer}");
    }
}

#[tokio::test]
async fn a_body_cut_off_is_an_error() {
    let server = start().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"PUT /a/echo HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nhalf").await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = String::new();
    let _reset = stream.read_to_string(&mut answer).await;
    assert!(!answer.starts_with("HTTP/1.1 2"), "{answer}");
    assert!(server.notes.seen.lock().unwrap().iter().all(|line| !line.starts_with('2')));
}

#[tokio::test]
async fn an_answer_that_breaks_closes_the_connection() {
    let server = start().await;
    let answer = get(server.address, "/a/broken HTTP/1.1\r\nhost: x").await;
    assert!(
        answer.contains("content-length: 100") && answer.ends_with("\r\n\r\npart"),
        "not to be taken for whole: {answer}"
    );
    assert_eq!(server.notes.seen.lock().unwrap().join(","), "200 /a/broken false");
}

#[tokio::test]
async fn garbage_closes_the_connection_and_nothing_else() {
    let server = start().await;
    let mut noise: Vec<u8> =
        (0..8192_u32).map(|n| u8::try_from(n.wrapping_mul(2_654_435_761) >> 24).unwrap()).collect();
    talk(server.address, &noise).await;
    noise.fill(b'A');
    talk(server.address, &noise).await;
    let heads = format!("GET /a HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(2000));
    talk(server.address, heads.as_bytes()).await;
    talk(server.address, b"GET /a HTTP/1.1\r\nhost:").await;
    let large = format!("GET /a {CLOSE}\r\n{}\r\n", format!("x-{}: {}\r\n", "y", "z".repeat(8000)).repeat(9));
    let answer = talk(server.address, large.as_bytes()).await;
    assert!(answer.contains("InvalidHeaderValue"), "{answer}");
    assert!(get(server.address, &format!("/a {CLOSE}")).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn shutdown_ends_requests_in_flight_first() {
    let server = start().await;
    let idle = TcpStream::connect(server.address).await.unwrap();
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"GET /a/slow HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    tokio::time::timeout(Duration::from_millis(100), std::future::pending::<()>()).await.ok();
    server.stop.send(true).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.ends_with("\r\n\r\nslow"), "{answer}");
    tokio::time::timeout(Duration::from_secs(5), server.task).await.unwrap().unwrap();
    assert!(TcpStream::connect(server.address).await.is_err());
    drop(idle);
}

#[tokio::test]
async fn a_shutdown_without_a_word_is_one_too() {
    let server = start().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"GET /a/slow HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    while server.notes.load.requests() == 0 {
        tokio::task::yield_now().await;
    }
    drop(server.stop);
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.contains("connection: close") && answer.ends_with("\r\n\r\nslow"), "{answer}");
}

/// Waits until the server has closed the connection.
async fn closed(stream: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    let read = stream.read_to_end(&mut rest);
    tokio::time::timeout(Duration::from_secs(10), read).await.is_ok()
}

#[tokio::test]
async fn idle_connections_give_way_to_new_ones() {
    let server = start_with(|limits| {
        limits.net.connections = 4;
        limits.head_timeout = Duration::from_secs(60);
    })
    .await;
    let mut idle = Vec::new();
    for number in 0..12 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        if number % 3 == 1 {
            stream.write_all(b"GET /a/unfinished HTTP/1.1\r\nhost:").await.unwrap();
        }
        idle.push(stream);
    }
    for _ in 0..8 {
        assert!(get(server.address, &format!("/a/c {CLOSE}")).await.starts_with("HTTP/1.1 200"));
    }
    for stream in idle.iter_mut().take(8) {
        assert!(closed(stream).await);
    }
    assert_eq!(server.notes.load.refused_connections(), 0);
    assert!(server.notes.load.connections() <= 4);
}

#[tokio::test]
async fn heads_that_never_end_share_their_room() {
    let server = start_with(|limits| limits.head_timeout = Duration::from_secs(60)).await;
    let long = format!("GET /a HTTP/1.1\r\nhost: x\r\n{}", format!("x: {}\r\n", "y".repeat(1000)).repeat(20));
    let mut streams = Vec::new();
    for _ in 0..200 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(long.as_bytes()).await.unwrap();
        streams.push(stream);
    }
    let mut refused = 0;
    for stream in &mut streams {
        let mut begin = [0; 12];
        let read = tokio::time::timeout(Duration::from_millis(5), stream.read_exact(&mut begin)).await;
        if read.is_ok_and(|read| read.is_ok()) {
            assert_eq!(&begin, b"HTTP/1.1 503");
            refused += 1;
        }
    }
    assert!(refused > 0, "they were all kept");
    assert!(get(server.address, &format!("/a/c {CLOSE}")).await.starts_with("HTTP/1.1 200"), "a short one is served");
}
