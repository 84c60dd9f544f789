//! The built program from outside: it starts, says what it must, refuses what it must, and ends cleanly.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test, with files of its own"
)]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Child, ChildStdout, Command, Output, Stdio},
    time::Duration,
};

fn lazuli(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lazuli"));
    command.args(arguments).env_remove("AZURITE_ACCOUNTS");
    command
}

fn run(arguments: &[&str]) -> Output {
    lazuli(arguments).output().unwrap()
}

/// Ran into an error: exit code and the one line.
fn refused(arguments: &[&str]) -> (i32, String) {
    let output = run(arguments);
    let line = String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), line)
}

struct Server {
    child: Child,
    out: BufReader<ChildStdout>,
    banner: String,
}

impl Server {
    fn start(data_dir: &Path, more: &[&str]) -> Self {
        let free = ["--blob-port=0", "--queue-port=0", "--table-port=0", "--file-port=0", "--admin-port=0"];
        let mut command = lazuli(&["serve", "--data-dir", data_dir.to_str().unwrap()]);
        let mut child = command.args(free).args(more).stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut banner = String::new();
        while !banner.contains("Ready.") {
            assert!(out.read_line(&mut banner).unwrap() > 0, "ended early: {banner}");
        }
        Self { child, out, banner }
    }

    fn ask(&self, request: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.endpoint("admin")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        write!(stream, "{request} HTTP/1.0\r\nhost: x\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    /// Where a service listens.
    fn endpoint(&self, name: &str) -> SocketAddr {
        let line = self.banner.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
        line.split("://").nth(1).unwrap().parse().unwrap()
    }

    /// Sends SIGTERM and waits for the end.
    fn terminate(self) -> i32 {
        self.signal();
        self.ended()
    }

    fn signal(&self) {
        let id = rustix::process::Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    }

    fn ended(mut self) -> i32 {
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        self.child.wait().unwrap().code().expect("ended by a signal")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _already_ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

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
    assert_eq!(server.ask("POST /admin/backup?to=/x").0, 403, "without the word of the note");
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
    server.signal();
    while server.ask("GET /readyz").0 == 200 {}
    assert_eq!(server.ask("GET /readyz"), (503, "the server is stopping\n".into()));
    assert_eq!(server.ask("GET /healthz").0, 200);
    assert!(TcpStream::connect(server.endpoint("blob")).is_err(), "no new connections");
    write!(slow, "host: x\r\n\r\n").unwrap();
    let mut answer = String::new();
    slow.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("connection: close"), "{answer}");
    assert_eq!(server.ended(), 0);
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
fn what_cannot_start_says_so_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let server = Server::start(&data, &[]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken_port = taken.local_addr().unwrap().port().to_string();
    let other = directory.path().join("other");
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    let written = |name: &str, content: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let config = written("lazuli.toml", "data-dir = 'x'\nblob-prot = 1\n");
    let no_workers = written("workers.toml", "workers = 0\n");
    let no_key = written("key.toml", "account = 'mine=secret!'\n");
    let (data, other, file, config) = (text(&data), text(&other), text(&file), text(&config));
    let free = "--admin-port=0";
    let table: &[(&[&str], i32, &[&str])] = &[
        (&["serve", "--data-dir", other, "--admin-port", &taken_port], 1, &["in use", &taken_port, "--admin-port"]),
        (&["serve", "--data-dir", other, free, "--blob-port", &taken_port], 1, &["in use", "--blob-port"]),
        (&["serve", "--data-dir", data, free, "--blob-port=0"], 1, &["in use", data]),
        (&["check", "--data-dir", data], 1, &["in use", data]),
        (&["serve", "--data-dir", file, free, "--blob-port=0"], 1, &[file, "not a directory"]),
        (&["serve", "--data-dir", other, free, "--account", "mine=not base64"], 1, &["mine", "Base64"]),
        (&["serve", "--data-dir", other, free, "--account", "M=AQI="], 1, &["\"M\""]),
        (&["serve", "--data-dir", other, free, "--listen", "0.0.0.0"], 1, &["--expose-development-account"]),
        (&["serve", "--data-dir", other, free, "--tls-cert", file, "--tls-key", file], 1, &["no certificate"]),
        (&["serve", "--config", config], 1, &["line 2", "blob-prot"]),
        (&["serve", "--config", text(&no_workers)], 1, &["--workers 0"]),
        (&["serve", "--config", text(&no_key)], 1, &["mine", "Base64"]),
        (&["check", "--data-dir", other], 1, &["not a data directory"]),
        (&["restore", "--data-dir", other, "--from", data], 1, &["in use", data]),
        (&["restore", "--data-dir", other, "--from", file], 1, &[file]),
        (&["serve", "--durability", "never"], 2, &["never"]),
        (&["serve", "--blob-port", "x"], 2, &["--blob-port"]),
        (&["fly"], 2, &["fly"]),
    ];
    for (arguments, code, words) in table {
        let (found, line) = refused(arguments);
        assert_eq!(found, *code, "{arguments:?}: {line}");
        assert!(words.iter().all(|word| line.contains(word)), "{arguments:?}: {line}");
        assert!(*code == 2 || line.lines().count() == 1, "{arguments:?}: {line}");
        assert!(!line.contains("secret"), "{arguments:?}: {line}");
    }
    drop(taken);
    assert_eq!(server.terminate(), 0);
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
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
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

#[test]
fn environment_and_file_set_what_flags_do_not() {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("lazuli.toml");
    std::fs::write(&config, "account = ['fromfile=AQI=']\ndurability = 'relaxed'\n").unwrap();
    let server = Server::start(&directory.path().join("data"), &["--config", text(&config)]);
    assert!(server.banner.contains("AccountName=fromfile;AccountKey=<key>;"), "{}", server.banner);
    assert!(server.banner.contains("durability: relaxed"), "{}", server.banner);
    assert_eq!(server.terminate(), 0);
    let mut command = lazuli(&["serve", "--config", text(&config)]);
    let output = command.env("LAZULI_ACCOUNT", "fromenv=!").output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("fromenv"), "{output:?}");
}

#[test]
fn check_backup_and_restore_go_round() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let (data, while_serving, at_rest, restored) = (path("data"), path("b 1"), path("b2"), path("restored"));
    let succeed = |arguments: &[&str]| -> String {
        let output = run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let server = Server::start(&data, &[]);
    succeed(&["backup", "--data-dir", text(&data), "--to", text(&while_serving)]);
    let (code, line) = refused(&["backup", "--data-dir", text(&data), "--to", text(&while_serving)]);
    assert!(code == 1 && line.contains("not empty") && line.lines().count() == 1, "{line}");
    assert_eq!(server.terminate(), 0);

    succeed(&["backup", "--data-dir", text(&data), "--to", text(&at_rest)]);
    succeed(&["restore", "--from", text(&at_rest), "--data-dir", text(&restored)]);
    for place in [&data, &while_serving, &at_rest, &restored] {
        assert!(succeed(&["check", "--data-dir", text(place)]).ends_with("clean\n"));
        let report = succeed(&["check", "--json", "--data-dir", text(place)]);
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["clean"], true);
    }
    let server = Server::start(&restored, &[]);
    assert_eq!(server.terminate(), 0);

    // A damaged directory is refused, with an exit code.
    std::fs::write(restored.join("VERSION"), "lazuli 9999\n").unwrap();
    let (code, line) = refused(&["check", "--data-dir", text(&restored)]);
    assert!(code == 1 && line.contains("9999"), "{line}");
    let output = run(&["check", "--json", "--data-dir", text(&restored)]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(output.status.code() == Some(1) && report["error"].as_str().unwrap().contains("9999"));
}

#[test]
fn help_and_completions_are_there() {
    for arguments in [&["--help"][..], &["serve", "--help"], &["check", "--help"], &["completions", "bash"]] {
        let output = run(arguments);
        assert!(output.status.success() && output.stdout.len() > 200, "{arguments:?}");
    }
    let help = String::from_utf8(run(&["serve", "--help"]).stdout).unwrap();
    for word in ["--account", "LAZULI_DATA_DIR", "[default: 10000]", "sync, relaxed, memory"] {
        assert!(help.contains(word), "{word} is missing in {help}");
    }
}
