//! The commands that do one thing and end.

use crate::support::{Server, refused, run, succeed, text};

#[test]
fn check_backup_and_restore_go_round() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let (data, while_serving, at_rest, restored) = (path("data"), path("b 1"), path("b2"), path("restored"));
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

#[test]
fn account_list_against_a_stopped_server_fails_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let list = ["account", "list", "--data-dir", text(&data)];
    let server = Server::start(&data, &[]);
    assert_eq!(succeed(&list), "devstoreaccount1 configured 1\n");
    // Stopped by a signal: it has the directory and its port, and says nothing.
    server.signal(rustix::process::Signal::STOP);
    let backup = directory.path().join("backup");
    for arguments in [&list[..], &["backup", "--data-dir", text(&data), "--to", text(&backup)]] {
        let begun = std::time::Instant::now();
        let (code, line) = refused(arguments);
        assert!(code == 1 && line.contains("stopped or hangs") && line.contains(text(&data)), "{line}");
        assert!(begun.elapsed() < std::time::Duration::from_secs(10), "{:?}", begun.elapsed());
    }
    server.signal(rustix::process::Signal::CONT);
    assert_eq!(succeed(&list), "devstoreaccount1 configured 1\n");
    // Ended hard: the note is stale, and the directory is nobody's.
    server.kill();
    assert!(data.join("ADMIN").is_file());
    assert_eq!(succeed(&list), "");
    // Somebody else has the directory, and nobody listens where the note says.
    let _held = hold(&data);
    let (code, line) = refused(&list);
    assert!(code == 1 && line.contains("in use") && line.contains("connection refused"), "{line}");
}

/// Takes the lock of a data directory.
fn hold(data: &std::path::Path) -> std::fs::File {
    let file = std::fs::File::options().write(true).open(data.join("LOCK")).unwrap();
    file.lock().unwrap();
    file
}
