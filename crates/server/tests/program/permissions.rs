//! A data directory of somebody else: every command says that it was not let in.

use std::{
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::Command,
};

use crate::support::{Server, clean, refusal, succeed, text};

/// Runs the program as somebody who is not root, from where everybody can run it.
struct Somebody {
    binary: PathBuf,
    user: Option<u32>,
}

impl Somebody {
    fn new(directory: &Path) -> Self {
        if !rustix::process::geteuid().is_root() {
            return Self { binary: env!("CARGO_BIN_EXE_lazuli").into(), user: None };
        }
        let binary = directory.join("lazuli");
        std::fs::copy(env!("CARGO_BIN_EXE_lazuli"), &binary).unwrap();
        Self { binary, user: Some(65_534) }
    }

    fn refused(&self, arguments: &[&str]) -> (i32, String) {
        let mut command = clean(Command::new(&self.binary), arguments);
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        refusal(command.current_dir("/"))
    }
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn permission_denied_is_said_as_such() {
    let directory = tempfile::tempdir().unwrap();
    mode(directory.path(), 0o777);
    let somebody = Somebody::new(directory.path());
    let (data, backup) = (directory.path().join("data"), directory.path().join("backup"));
    succeed(&["account", "add", "mine", "--create", "--data-dir", text(&data)]);
    mode(&data, 0o000);
    let (place, to) = (text(&data), text(&backup));
    let table: [&[&str]; 9] = [
        &["account", "list", "--data-dir", place],
        &["account", "add", "other", "--data-dir", place],
        &["account", "add", "other", "--create", "--data-dir", place],
        &["account", "keys", "mine", "--data-dir", place],
        &["check", "--data-dir", place],
        &["backup", "--data-dir", place, "--to", to],
        &["restore", "--from", place, "--data-dir", to],
        &[
            "sas",
            "container",
            "boxes",
            "--account",
            "mine",
            "--permissions",
            "r",
            "--expiry",
            "1h",
            "--data-dir",
            place,
        ],
        &["serve", "--data-dir", place],
    ];
    for arguments in table {
        let (code, line) = somebody.refused(arguments);
        assert_eq!((code, line.lines().count()), (1, 1), "{arguments:?}: {line}");
        assert!(line.contains("permission denied") && line.contains(place), "{arguments:?}: {line}");
    }
    mode(&data, 0o700);
    assert!(!backup.exists());
}

#[test]
fn the_note_of_a_server_that_must_not_be_read_is_said_to_be_so() {
    let directory = tempfile::tempdir().unwrap();
    mode(directory.path(), 0o777);
    let somebody = Somebody::new(directory.path());
    let data = directory.path().join("data");
    let server = Server::start(&data, &[]);
    // Let in, and able to see that it is in use, but not to ask.
    mode(&data, 0o777);
    mode(&data.join("LOCK"), 0o666);
    mode(&data.join("ADMIN"), 0o000);
    let (code, line) = somebody.refused(&["account", "list", "--data-dir", text(&data)]);
    assert!(code == 1 && line.contains("permission denied") && line.contains(text(&data)), "{line}");
    mode(&data, 0o700);
    assert_eq!(server.terminate(), 0);
}

#[test]
fn a_place_for_a_backup_that_must_not_be_written_is_said_to_be_so() {
    let directory = tempfile::tempdir().unwrap();
    mode(directory.path(), 0o755);
    let somebody = Somebody::new(directory.path());
    let (data, shut) = (directory.path().join("data"), directory.path().join("shut"));
    succeed(&["account", "add", "mine", "--create", "--data-dir", text(&data)]);
    std::fs::create_dir(&shut).unwrap();
    mode(&shut, 0o500);
    // Whoever runs it may read the data: they are copied to be theirs.
    if let Some(user) = somebody.user {
        let mut chown = Command::new("chown");
        assert!(chown.args(["-R", &user.to_string(), text(&data)]).status().unwrap().success());
    }
    let to = shut.join("backup");
    let (code, line) = somebody.refused(&["backup", "--data-dir", text(&data), "--to", text(&to)]);
    assert!(code == 1 && line.contains("permission denied") && line.contains(text(&to)), "{line}");
    mode(&shut, 0o700);
}

/// Everything below a directory that somebody else could read or enter.
fn open_to_others(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let metadata = std::fs::metadata(&path).unwrap();
        if metadata.permissions().mode() & 0o077 != 0 {
            found.push(path.clone());
        }
        if metadata.is_dir() {
            found.extend(open_to_others(&path));
        }
    }
    found
}

#[test]
fn everything_in_a_data_directory_is_for_its_owner_alone() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    std::fs::create_dir(&data).unwrap();
    mode(&data, 0o755);
    assert_eq!(Server::start(&data, &[]).terminate(), 0);
    assert_eq!(open_to_others(&data), Vec::<PathBuf>::new());
}
