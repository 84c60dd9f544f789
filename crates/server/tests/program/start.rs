//! Starting, answering, ending.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use crate::support::{Server, text};

#[test]
fn it_starts_answers_and_ends_cleanly() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let server = Server::start(&data, &["--request-log", "all", "--log", "json"]);
    assert!(server.banner.contains("AccountName=devstoreaccount1;AccountKey=Eby8"), "{}", server.banner);
    assert!(server.banner.contains(text(&data)), "{}", server.banner);
    assert_eq!(server.ask("GET /healthz"), (200, "ok\n".into()));
    assert_eq!(server.ask("GET /readyz"), (200, "ready\n".into()));
    assert_eq!(server.ask("POST /healthz").0, 405);
    assert_eq!(server.ask("GET /nothing").0, 404);
    assert_eq!(server.ask("POST /admin/backup?to=/x").0, 403, "without the token of the note");
    let (status, metrics) = server.ask("GET /metrics");
    assert_eq!(status, 200);
    let expected = [
        "lazuli_requests_total{service=\"admin\",operation=\"Health\",status=\"200\"} 1",
        "lazuli_request_duration_seconds_bucket{service=\"admin\",operation=\"Ready\",le=\"+Inf\"} 1",
        "lazuli_commit_groups_total ",
        "lazuli_log_sync_seconds_total ",
        "lazuli_index_bytes ",
    ];
    for line in expected {
        assert!(metrics.contains(line), "{line} is missing in {metrics}");
    }
    assert!(data.join("ADMIN").is_file());
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&data).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o700, "the keys of accounts stand in it");
    assert_eq!(server.terminate(), 0);
    assert!(!data.join("ADMIN").exists());
}

#[test]
fn while_it_finishes_a_request_it_says_that_it_is_stopping() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(&directory.path().join("data"), &[]);
    // The head of a request has begun, and is waited for.
    let mut slow = TcpStream::connect(server.endpoint("blob")).unwrap();
    write!(slow, "GET /devstoreaccount1/?comp=list HTTP/1.1\r\n").unwrap();
    // Accepted in order: when a later connection is answered, this one is being served.
    let mut later = TcpStream::connect(server.endpoint("blob")).unwrap();
    write!(later, "GET / HTTP/1.0\r\n\r\n").unwrap();
    later.read_to_end(&mut Vec::new()).unwrap();
    server.signal(rustix::process::Signal::TERM);
    while server.ask("GET /readyz").0 == 200 {}
    assert_eq!(server.ask("GET /readyz"), (503, "the server is stopping\n".into()));
    assert_eq!(server.ask("GET /healthz").0, 200);
    assert!(TcpStream::connect(server.endpoint("blob")).is_err(), "no new connections");
    write!(slow, "host: x\r\n\r\n").unwrap();
    let mut answer = String::new();
    slow.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("connection: close"), "{answer}");
    assert_eq!(server.ended(), (0, "Stopped.\n".into()));
}

#[test]
fn it_serves_from_memory() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let server = Server::start(&data, &["--durability", "memory"]);
    assert!(server.banner.contains("in memory only"));
    assert_eq!(server.ask("GET /readyz").0, 200);
    assert_eq!(server.terminate(), 0);
    assert!(!data.exists());
}

#[test]
fn service_ports_speak_https_when_they_have_a_certificate() {
    let directory = tempfile::tempdir().unwrap();
    let pair = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    let (certificate, key) = (directory.path().join("cert.pem"), directory.path().join("key.pem"));
    std::fs::write(&certificate, pair.cert.pem()).unwrap();
    std::fs::write(&key, pair.signing_key.serialize_pem()).unwrap();
    let tls = ["--tls-cert", text(&certificate), "--tls-key", text(&key), "--listen", "::1", "--listen", "127.0.0.1"];
    let server = Server::start(&directory.path().join("data"), &tls);
    assert!(server.banner.contains("BlobEndpoint=https://[::1]:"), "{}", server.banner);

    let mut roots = rustls::RootCertStore::empty();
    roots.add(pair.cert.der().clone()).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = std::sync::Arc::new(config.with_root_certificates(roots).with_no_client_auth());
    let client = rustls::ClientConnection::new(config, "localhost".try_into().unwrap()).unwrap();
    let mut stream = rustls::StreamOwned::new(client, TcpStream::connect(server.endpoint("blob")).unwrap());
    write!(stream, "GET /devstoreaccount1/?comp=list HTTP/1.0\r\nhost: x\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 4") && answer.contains("x-ms-request-id: "), "{answer}");

    let mut plain = TcpStream::connect(server.endpoint("blob")).unwrap();
    write!(plain, "GET /devstoreaccount1/?comp=list HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _reset = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"), "never plain on a secure port");
    assert_eq!(server.terminate(), 0);
}
