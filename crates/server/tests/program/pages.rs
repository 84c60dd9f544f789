//! What a person sees who opens a port.

use crate::support::Server;

#[test]
fn the_root_of_every_port_says_what_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(&directory.path().join("data"), &[]);
    let words = [
        ("admin", "/healthz"),
        ("admin", "/metrics"),
        ("blob", "the Blob service"),
        ("queue", "the Queue service"),
        ("table", "the Table service"),
    ];
    for (service, word) in words {
        let (status, page) = server.ask_of(service, "GET /", "");
        assert!(status == 200 && page.contains(word), "{service}: {status} {page}");
        assert_eq!(server.ask_of(service, "HEAD /", ""), (200, String::new()));
    }
    // The paths that the page names are there.
    let (_, page) = server.ask("GET /");
    let paths: Vec<&str> =
        page.lines().filter_map(|line| line.split(' ').next()).filter(|word| word.starts_with('/')).collect();
    assert_eq!(paths.len(), 3);
    for path in paths {
        assert_eq!(server.ask(&format!("GET {path}")).0, 200, "{path}");
    }
    assert_eq!(server.terminate(), 0);
}

#[test]
fn a_storage_client_at_the_root_gets_the_error_that_it_knows() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(&directory.path().join("data"), &[]);
    let table = [
        ("GET /", "x-ms-version: 2021-12-02\r\n"),
        ("GET /", "x-ms-date: Mon, 16 Nov 2026 00:00:00 GMT\r\n"),
        ("GET /", "authorization: SharedKey mine:x\r\n"),
        ("GET /?comp=list", ""),
        ("PUT /", "content-length: 0\r\n"),
        ("DELETE /", ""),
    ];
    for (request, headers) in table {
        let (status, body) = server.ask_of("blob", request, headers);
        assert!(status == 400 && body.contains("<Code>InvalidUri</Code>"), "{request} {headers}: {status} {body}");
    }
    // A host that names an account is not the root of the port.
    let (status, body) = server.ask_of("blob", "GET http://mine.blob.localhost/", "");
    assert!(status >= 400 && !body.contains("the Blob service"), "{status} {body}");
    assert_eq!(server.terminate(), 0);
}
