//! `--ports-file`, for who starts the server with port 0.

use crate::support::{Server, refused, text};

#[test]
fn the_ports_file_says_which_ports_are_open() {
    let directory = tempfile::tempdir().unwrap();
    let (data, file) = (directory.path().join("data"), directory.path().join("ports.json"));
    let flags = ["--ports-file", text(&file)];
    let server = Server::start(&data, &flags);
    let read = || -> serde_json::Value { serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap() };
    let ports = read();
    assert_eq!(ports["pid"], server.id());
    for service in ["blob", "queue", "table", "admin"] {
        let address = server.endpoint(service);
        assert_eq!(ports[service]["port"], address.port(), "{ports}");
        assert_eq!(ports[service]["urls"][0], format!("http://{address}"), "{ports}");
    }
    // A hard end leaves it; the next start takes it away before it binds anything, and writes its own.
    server.kill();
    assert_eq!(read(), ports);
    let (code, line) = refused(&[
        "serve",
        "--data-dir",
        text(&data),
        "--ports-file",
        text(&file),
        "--listen",
        "192.0.2.1",
        "--account",
        "mine=AQI=",
    ]);
    assert!(code == 1 && line.contains("does not have the address"), "{line}");
    assert!(!file.exists(), "a server that did not start has no ports");
    let server = Server::start(&data, &flags);
    assert_eq!(read()["pid"], server.id());
    assert_eq!(server.terminate(), 0);
    assert!(!file.exists(), "taken away at a clean end");
}

#[test]
fn a_ports_file_that_cannot_be_written_ends_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("nowhere/ports.json");
    let data = directory.path().join("data");
    let (code, line) = refused(&["serve", "--data-dir", text(&data), "--ports-file", text(&file)]);
    assert!(code == 1 && line.lines().count() == 1 && line.contains(text(&file)), "{line}");
}
