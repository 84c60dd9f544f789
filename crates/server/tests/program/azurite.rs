//! Started with the flags of Azurite, without a word before them.

use std::process::Stdio;

use crate::support::{Server, lazuli, refused, text};

#[test]
fn a_command_line_of_azurite_needs_only_another_name() {
    let directory = tempfile::tempdir().unwrap();
    let folder = text(directory.path());
    // What Azurite left there is left alone.
    std::fs::write(directory.path().join("__azurite_db_blob__.json"), "{}").unwrap();
    let line = [
        "--silent",
        "--location",
        folder,
        "--debug",
        "debug.log",
        "--blobPort",
        "0",
        "--blobHost",
        "127.0.0.1",
        "--queuePort",
        "0",
        "--tablePort",
        "0",
        "--loose",
        "--skipApiVersionCheck",
        "--disableProductStyleUrl",
        "--blobKeepAliveTimeout",
        "5",
        "--disableTelemetry",
    ];
    let mut command = lazuli(&line);
    command.env("AZURITE_ACCOUNTS", "mine:AQI=").env("AZURITE_DB", "mysql://x").stderr(Stdio::piped());
    command.current_dir(directory.path());
    let server = Server::of(&mut command);
    assert!(server.banner.contains("AccountName=mine;"), "{}", server.banner);
    assert_eq!(server.ask_of("blob", "GET /mine?comp=list", "").0, 401);
    let (code, said, log) = server.end_with_log();
    assert_eq!((code, &*said), (0, "Stopped.\n"));
    assert!(directory.path().join("lazuli-data/VERSION").is_file());
    assert!(directory.path().join("__azurite_db_blob__.json").is_file());
    assert!(!directory.path().join("debug.log").exists());
    let silent = [
        "--loose",
        "--skipApiVersionCheck",
        "--disableProductStyleUrl",
        "--blobKeepAliveTimeout",
        "--disableTelemetry",
        "AZURITE_DB",
    ];
    for name in silent {
        let lines: Vec<_> = log.lines().filter(|line| line.starts_with(&format!("lazuli: {name} "))).collect();
        assert!(lines.len() == 1 && lines[0].contains("has no effect"), "{name}: {log}");
    }
    assert!(log.contains("lazuli: --debug sets --log-level debug"), "{log}");
    assert_eq!(log.matches("has no effect").count(), silent.len(), "{log}");
}

#[test]
fn several_run_side_by_side_with_ports_of_their_own() {
    let start = |ports: &[&str]| {
        let mut command = lazuli(&[&["--inMemoryPersistence"][..], ports].concat());
        Server::of(command.env_remove("LAZULI_ADMIN_PORT"))
    };
    let ports = ["--blobPort", "0", "--queuePort", "0", "--tablePort", "0"];
    let (one, other) = (start(&ports), start(&ports));
    assert_ne!(one.endpoint("admin"), other.endpoint("admin"), "nobody said which admin port");
    assert_eq!((one.terminate(), other.terminate()), (0, 0));
}

#[test]
fn in_memory_persistence_keeps_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = lazuli(&["--inMemoryPersistence", "--extentMemoryLimit", "100", "-s"]);
    let server = Server::of(command.current_dir(directory.path()).stderr(Stdio::null()));
    assert!(server.banner.contains("in memory only"), "{}", server.banner);
    assert_eq!(server.terminate(), 0);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn each_service_can_have_its_own_host() {
    let directory = tempfile::tempdir().unwrap();
    let hosts = ["--blobHost", "127.0.0.2", "--queueHost", "localhost", "-l", text(directory.path())];
    let server = Server::of(&mut lazuli(&hosts));
    let host = |service| server.endpoint(service).ip().to_string();
    assert_eq!(
        (host("blob"), host("queue"), host("table")),
        ("127.0.0.2".into(), "127.0.0.1".into(), "127.0.0.1".into())
    );
    for service in ["blob", "queue", "table"] {
        assert_eq!(server.ask_of(service, "GET /", "").0, 200);
    }
    assert_eq!(server.terminate(), 0);
}

#[test]
fn a_host_that_others_reach_does_not_get_the_development_account_unless_it_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let place = ["-l", text(directory.path())];
    for host in ["--blobHost", "--queueHost", "--tableHost"] {
        let (code, line) = refused(&[&place[..], &[host, "0.0.0.0"]].concat());
        assert_eq!((code, line.lines().count()), (2, 1), "{line}");
        let flag = format!("{host} 0.0.0.0");
        for word in
            [&flag, "--expose-development-account", "LAZULI_EXPOSE_DEVELOPMENT_ACCOUNT=true", "AZURITE_ACCOUNTS"]
        {
            assert!(line.contains(word), "{word}: {line}");
        }
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    let open = [&place[..], &["--blobHost", "0.0.0.0"]].concat();
    let server = Server::of(lazuli(&open).env("LAZULI_EXPOSE_DEVELOPMENT_ACCOUNT", "true"));
    assert!(server.banner.contains("AccountName=devstoreaccount1;"), "{}", server.banner);
    assert!(server.banner.contains("\n  exposed  devstoreaccount1: "), "{}", server.banner);
    assert_eq!(server.terminate(), 0);
    let server = Server::of(lazuli(&open).env("AZURITE_ACCOUNTS", "mine:AQI="));
    assert!(!server.banner.contains("devstoreaccount1"), "{}", server.banner);
    assert_eq!(server.terminate(), 0);
}

#[test]
fn oauth_basic_is_for_loopback_only() {
    let directory = tempfile::tempdir().unwrap();
    let basic = ["-l", text(directory.path()), "--oauth", "basic"];
    let (code, line) = refused(&[&basic[..], &["--tableHost", "0.0.0.0", "--account", "mine=AQI="]].concat());
    assert!(code == 2 && line.contains("--oauth basic") && line.contains("--tableHost 0.0.0.0"), "{line}");
    let server = Server::of(lazuli(&basic).stderr(Stdio::null()));
    // {"alg":"none"} and {"iss":"https://sts.windows.net/x/","aud":"https://storage.azure.com","exp":9999999999,"oid":"me"}
    let token = "eyJhbGciOiJub25lIn0.eyJpc3MiOiJodHRwczovL3N0cy53aW5kb3dzLm5ldC94LyIsImF1ZCI6Imh0dHBzOi8vc3RvcmFnZS5henVyZS5jb20iLCJleHAiOjk5OTk5OTk5OTksIm9pZCI6Im1lIn0.";
    let bearer = format!("authorization: Bearer {token}\r\nx-ms-version: 2021-12-02\r\n");
    let (status, body) = server.ask_of("blob", "GET /devstoreaccount1?comp=list", &bearer);
    assert_eq!(status, 200, "{body}");
    assert_eq!(server.terminate(), 0);
}

#[test]
fn flags_that_cannot_be_meant_are_refused_by_name() {
    let table: [(&[&str], &str); 7] = [
        (&["--oauth", "full"], "--oauth: "),
        (&["--blobPort", "70000"], "--blobPort: "),
        (&["--blobPort", "1", "--blob-port", "1"], "--blobPort and --blob-port"),
        (&["--inMemoryPersistence", "-l", "x"], "--inMemoryPersistence"),
        (&["--cert", "x.pfx", "--pwd", "y"], "--pwd: "),
        (&["--cert", "x.pem"], "--cert needs --tls-key"),
        (&["--blobProt", "1"], "--blobProt"),
    ];
    for (arguments, word) in table {
        let (code, line) = refused(arguments);
        assert!(code == 2 && line.contains(word), "{arguments:?}: {line}");
    }
}

#[test]
fn the_version_is_told_as_azurite_tells_it() {
    for word in ["-v", "--version", "version"] {
        let output = lazuli(&[word]).output().unwrap();
        assert!(output.status.success() && output.stdout.starts_with(b"lazuli "), "{word}: {output:?}");
    }
}
