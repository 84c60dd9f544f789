//! HTTP/1.1 on the wire: what is answered, what is refused, and what becomes of the connection.

mod common;

use std::time::Duration;

use common::{CLOSE, get, noted, start, start_with, talk};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Reads until this has come.
async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    while !answer.ends_with(end.as_bytes()) {
        let read = tokio::time::timeout(Duration::from_secs(10), stream.read(&mut piece)).await;
        match read.unwrap_or(Ok(0)).unwrap_or(0) {
            0 => panic_with(&answer, end),
            count => answer.extend_from_slice(piece.get(..count).unwrap_or_default()),
        }
    }
    String::from_utf8_lossy(&answer).into_owned()
}

fn panic_with(answer: &[u8], end: &str) {
    assert!(answer.ends_with(end.as_bytes()), "closed after {:?}", String::from_utf8_lossy(answer));
}

fn statuses(answers: &str) -> Vec<&str> {
    answers.split("HTTP/1.1 ").skip(1).map(|answer| answer.get(..3).unwrap_or_default()).collect()
}

#[tokio::test]
async fn names_keep_their_case_both_ways() {
    let server = start().await;
    let answer = get(server.address, &format!("/a/headers {CLOSE}\r\nX-Ms-Meta-Color: x\r\nx-ms-meta-MyName: y")).await;
    assert!(answer.ends_with("host,connection,X-Ms-Meta-Color,x-ms-meta-MyName"), "{answer}");
    assert!(answer.contains("\r\nx-ms-meta-MyName: v\r\n"), "{answer}");
}

#[tokio::test]
async fn requests_in_one_piece_are_answered_in_order() {
    let server = start().await;
    let three = format!(
        "PUT /a/echo HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\none\
         PUT /a/echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3\r\ntwo\r\n0\r\n\r\n\
         HEAD /a/headers HTTP/1.1\r\nhost: x\r\n\r\n\
         GET /a/empty HTTP/1.1\r\nhost: x\r\n\r\n\
         GET /a/unchanged HTTP/1.1\r\nhost: x\r\n\r\n\
         PUT /a/echo {CLOSE}\r\ncontent-length: 5\r\n\r\nthree"
    );
    let answers = talk(server.address, three.as_bytes()).await;
    assert_eq!(statuses(&answers), ["201", "201", "200", "204", "304", "201"], "{answers}");
    let places: Vec<_> =
        ["\r\n\r\none", "\r\n\r\ntwo", "\r\n\r\nthree"].iter().map(|body| answers.find(body)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{answers}");
    assert_eq!(answers.matches("content-length").count(), 4, "none on 204 and 304: {answers}");
}

#[tokio::test]
async fn a_request_that_comes_byte_by_byte_is_answered() {
    let server = start().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    for byte in format!("PUT /a/echo {CLOSE}\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n").bytes() {
        stream.write_all(&[byte]).await.unwrap();
        tokio::task::yield_now().await;
    }
    assert!(read_until(&mut stream, "\r\n\r\nhi").await.starts_with("HTTP/1.1 201"));
}

#[tokio::test]
async fn nothing_is_smuggled() {
    let server = start().await;
    let hidden = "GET /a/hidden HTTP/1.1\r\nhost: x\r\n\r\n";
    let table = [
        ("400", "content-length: 5\r\ntransfer-encoding: chunked", "0\r\n\r\n"),
        ("400", "transfer-encoding: chunked\r\ncontent-length: 0", "0\r\n\r\n"),
        ("400", "content-length: 0\r\ncontent-length: 5", ""),
        ("400", "content-length: 0, 0", ""),
        ("400", "content-length: +0", ""),
        ("400", "content-length: 0\r\n 5", ""),
        ("400", "content-length : 0", ""),
        ("400", "content-length: 0\nx: y", ""),
        ("400", "x: a\rb", ""),
        ("400", "x: a\0b", ""),
        ("400", "host: again", ""),
        ("501", "transfer-encoding: gzip, chunked", "0\r\n\r\n"),
        ("501", "transfer-encoding: identity", ""),
        ("501", "transfer-encoding: chunked\r\ntransfer-encoding: identity", "0\r\n\r\n"),
        ("417", "expect: something", ""),
        ("400", "transfer-encoding: chunked", "0\n\n"),
        ("400", "transfer-encoding: chunked", "-1\r\n\r\n"),
        ("400", "transfer-encoding: chunked", "3\r\nabcd\r\n0\r\n\r\n"),
        ("400", "transfer-encoding: chunked", "10000000000000000\r\n"),
    ];
    for (status, lines, body) in table {
        let sent = format!("PUT /a/echo HTTP/1.1\r\nhost: x\r\n{lines}\r\n\r\n{body}{hidden}");
        let answers = talk(server.address, sent.as_bytes()).await;
        assert_eq!(statuses(&answers), [status], "{lines:?} {body:?}: {answers}");
        assert!(answers.contains("connection: close") && answers.contains("x-ms-request-id"), "{answers}");
    }
    assert!(server.notes.seen.lock().unwrap().iter().all(|line| !line.contains("hidden")));
    for head in
        ["GET /a HTTP/1.1\r\n\r\n", "CONNECT /a HTTP/1.1\r\nhost: x\r\n\r\n", "GET a HTTP/1.1\r\nhost: x\r\n\r\n"]
    {
        let answer = talk(server.address, head.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 4"), "{head:?}: {answer}");
    }
}

#[tokio::test]
async fn a_client_that_waits_is_told_to_go_on_only_when_its_bytes_are_wanted() {
    let server = start().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = "HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\nexpect: 100-continue\r\n\r\n";
    stream.write_all(format!("PUT /a/echo {head}").as_bytes()).await.unwrap();
    assert_eq!(read_until(&mut stream, "\r\n\r\n").await, "HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"hello").await.unwrap();
    assert!(read_until(&mut stream, "\r\n\r\nhello").await.starts_with("HTTP/1.1 201"));
    // The same connection; this one is refused without a look at its body, so it is the last.
    let answer = {
        stream.write_all(format!("PUT /a/refuse {head}").as_bytes()).await.unwrap();
        read_until(&mut stream, "</Error>").await
    };
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("connection: close"), "{answer}");
}

#[tokio::test]
async fn an_early_answer_keeps_the_connection_when_little_is_left() {
    let server = start().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let body = "x".repeat(1000);
    for _ in 0..3 {
        let head = "PUT /a/refuse HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        let answer = read_until(&mut stream, "</Error>").await;
        assert!(answer.contains("MissingRequiredHeader") && !answer.contains("connection: close"), "{answer}");
        stream.write_all(body.as_bytes()).await.unwrap();
    }
    stream.write_all(format!("GET /a/headers {CLOSE}\r\n\r\n").as_bytes()).await.unwrap();
    assert!(read_until(&mut stream, "host,connection").await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn http_1_0_closes_unless_told_otherwise() {
    let server = start().await;
    assert!(talk(server.address, b"GET /a/headers HTTP/1.0\r\n\r\n").await.starts_with("HTTP/1.1 200"));
    let answer = talk(server.address, b"GET /a/pieces HTTP/1.0\r\nconnection: keep-alive\r\n\r\n").await;
    assert!(answer.ends_with("\r\n\r\naaaacccc") && answer.contains("connection: close"), "no chunks: {answer}");
    let twice = "GET /a/headers HTTP/1.0\r\nconnection: keep-alive\r\n\r\nGET /a/headers HTTP/1.0\r\n\r\n";
    let answers = talk(server.address, twice.as_bytes()).await;
    assert_eq!(statuses(&answers), ["200", "200"], "{answers}");
    assert!(answers.contains("connection: keep-alive") && answers.contains("connection: close"), "{answers}");
}

#[tokio::test]
async fn bodies_of_unknown_length_come_in_chunks() {
    let server = start().await;
    let answer = get(server.address, &format!("/a/pieces {CLOSE}")).await;
    assert!(answer.contains("transfer-encoding: chunked") && !answer.contains("content-length"), "{answer}");
    assert!(answer.ends_with("\r\n\r\n4\r\naaaa\r\n4\r\ncccc\r\n0\r\n\r\n"), "{answer}");
}

#[tokio::test]
async fn content_that_cannot_be_read_is_an_error_while_it_still_can_be() {
    let server = start().await;
    let answer = get(server.address, &format!("/a/unreadable {CLOSE}")).await;
    assert!(answer.starts_with("HTTP/1.1 500") && answer.contains("InternalError"), "{answer}");
}

#[tokio::test]
async fn slow_clients_lose_their_connection() {
    let server = start().await;
    // The head, a byte at a time, for longer than a head may take.
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let begun = tokio::time::Instant::now();
    for byte in b"GET /a HTTP/1.1\r\nhost: a very long name that goes on and on".iter().cycle() {
        if stream.write_all(&[*byte]).await.is_err() || begun.elapsed() > Duration::from_secs(10) {
            break;
        }
        let mut answer = [0; 64];
        if tokio::time::timeout(Duration::from_millis(50), stream.read(&mut answer)).await.is_ok() {
            break;
        }
    }
    assert!(begun.elapsed() < Duration::from_secs(5), "a head has a time");
    // Nothing at all.
    assert_eq!(talk(server.address, b"").await, "");
    // An answer that is not taken.
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"GET /a/flood HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    noted(&server.notes, "200 /a/flood false").await;
}

#[tokio::test]
async fn the_work_for_a_client_that_is_gone_is_dropped() {
    let server = start().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"GET /a/stuck HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    while server.notes.load.requests() == 0 {
        tokio::task::yield_now().await;
    }
    drop(stream);
    noted(&server.notes, "499 /a/stuck false").await;
    assert_eq!(server.notes.load.requests(), 0);
}

#[tokio::test]
async fn targets_can_be_urls_and_the_server_as_a_whole() {
    let server = start().await;
    let table = [
        ("GET http://x/acc/account?a=b", "200", "acc"),
        ("GET HTTP://acc.parrot.localhost:1/account", "200", "acc"),
        ("OPTIONS *", "200", ""),
        ("GET *", "400", "</Error>"),
        ("GET ftp://x/a", "400", "</Error>"),
    ];
    for (line, status, end) in table {
        let answer = talk(server.address, format!("{line} {CLOSE}\r\n\r\n").as_bytes()).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")) && answer.ends_with(end), "{line}: {answer}");
    }
    let sent = "GET /account HTTP/1.1\r\nhost: acc.parrot.core.windows.net\r\nconnection: close\r\n\r\n";
    assert!(talk(server.address, sent.as_bytes()).await.ends_with("\r\n\r\nacc"));
}

#[tokio::test]
async fn the_secondary_location_takes_no_writes() {
    let server = start().await;
    for (method, status) in [("GET", "200"), ("HEAD", "200"), ("OPTIONS", "200"), ("PUT", "403"), ("DELETE", "403")] {
        let answer = talk(server.address, format!("{method} /a-secondary/c {CLOSE}\r\n\r\n").as_bytes()).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{method}: {answer}");
        assert_eq!(answer.contains("InsufficientAccountPermissions"), status == "403", "{answer}");
    }
}

#[tokio::test]
async fn an_operation_ends_with_the_timeout_that_was_asked_for() {
    let server = start().await;
    let answer = get(server.address, &format!("/a/stuck?timeout=1 {CLOSE}")).await;
    assert!(answer.starts_with("HTTP/1.1 500") && answer.contains("OperationTimedOut"), "{answer}");
    for (timeout, good) in [("1", true), ("99999999999999999999", true), ("0", false), ("x", false), ("-1", false)] {
        let answer = get(server.address, &format!("/a/c?timeout={timeout} {CLOSE}")).await;
        assert_eq!(answer.starts_with("HTTP/1.1 200"), good, "{answer}");
        if !good {
            let detail = format!("<QueryParameterValue>{timeout}</QueryParameterValue>");
            assert!(answer.contains("InvalidQueryParameterValue") && answer.contains(&detail), "{answer}");
        }
    }
}

#[tokio::test]
async fn too_many_requests_are_told_so() {
    let server = start_with(|limits| limits.net.requests = 1).await;
    let mut first = TcpStream::connect(server.address).await.unwrap();
    first.write_all(format!("GET /a/slow {CLOSE}\r\n\r\n").as_bytes()).await.unwrap();
    while server.notes.load.requests() == 0 {
        tokio::task::yield_now().await;
    }
    let answer = get(server.address, &format!("/a/c {CLOSE}")).await;
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("ServerBusy"), "{answer}");
    assert!(answer.contains("retry-after: 1"), "{answer}");
    assert!(read_until(&mut first, "\r\n\r\nslow").await.starts_with("HTTP/1.1 200"));
    assert_eq!(server.notes.load.refused_requests(), 1);
    assert!(get(server.address, &format!("/a/c {CLOSE}")).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn too_many_connections_are_told_so() {
    let server = start_with(|limits| limits.net.connections = 1).await;
    let mut first = TcpStream::connect(server.address).await.unwrap();
    first.write_all(b"GET /a/stuck HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    while server.notes.load.requests() == 0 {
        tokio::task::yield_now().await;
    }
    let answer = talk(server.address, b"").await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 503") && head.contains("retry-after: 1"), "{answer}");
    assert!(head.contains(&format!("content-length: {}", body.len())) && body.contains("ServerBusy"), "{answer}");
    assert_eq!(server.notes.load.refused_connections(), 1);
    drop(first);
    while server.notes.load.connections() > 0 {
        tokio::task::yield_now().await;
    }
    assert!(get(server.address, &format!("/a/c {CLOSE}")).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn old_versions_get_bare_etags() {
    let server = start().await;
    for (version, etag) in [("2009-09-19", "etag: 0x1\r\n"), ("2011-08-18", "etag: \"0x1\"\r\n")] {
        let answer = get(server.address, &format!("/a/etag {CLOSE}\r\nx-ms-version: {version}")).await;
        assert!(answer.contains(etag) && answer.contains(&format!("x-ms-version: {version}")), "{answer}");
    }
}
