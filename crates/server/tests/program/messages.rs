//! What cannot be done is said in one line, by the name of what is wrong, and with an exit code.

use std::net::TcpListener;

use crate::support::{Server, lazuli, refusal, refused, succeed, text};

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
    let table: &[(&[&str], i32, &[&str])] = &[
        (&["serve", "--data-dir", other, "--admin-port", &taken_port], 1, &["in use", &taken_port, "--admin-port"]),
        (&["serve", "--data-dir", other, "--blob-port", &taken_port], 1, &["in use", "--blob-port"]),
        (&["serve", "--data-dir", data], 1, &["in use", data]),
        (&["check", "--data-dir", data], 1, &["in use", data]),
        (&["serve", "--data-dir", file], 1, &[file, "not a directory"]),
        (&["serve", "--data-dir", other, "--account", "mine=not base64"], 2, &["--account: ", "mine", "Base64"]),
        (&["serve", "--data-dir", other, "--account", "M=AQI="], 2, &["\"M\""]),
        (&["serve", "--data-dir", other, "--listen", "0.0.0.0"], 2, &["0.0.0.0", "--expose-development-account"]),
        (&["serve", "--data-dir", other, "--tls-cert", file, "--tls-key", file], 2, &["no certificate"]),
        (&["serve", "--data-dir", other, "--tls-key", file], 2, &["--tls-key needs --tls-cert"]),
        (&["serve", "--data-dir", other, "--workers", "0"], 2, &["--workers: 0"]),
        (&["serve", "--config", config], 2, &["line 2", "blob-prot"]),
        (&["serve", "--config", other], 2, &["cannot read", other]),
        (&["serve", "--config", text(&no_workers)], 2, &["workers.toml, workers: 0 "]),
        (&["serve", "--config", text(&no_key)], 2, &["key.toml, account: ", "mine", "Base64"]),
        (&["check", "--config", config], 2, &["line 2", "blob-prot"]),
        (&["check", "--config", other], 2, &["cannot read", "--config"]),
        (&["check", "--data-dir", other], 1, &["not a data directory", "does not exist"]),
        (&["check", "--data-dir", text(directory.path())], 1, &["not a data directory"]),
        (&["restore", "--data-dir", other, "--from", data], 1, &["in use", data]),
        (&["restore", "--data-dir", other, "--from", file], 1, &[file]),
        (&["account", "add", "M", "--data-dir", data], 2, &["\"M\""]),
        (&["account", "add", "mine", "--key", "x", "--data-dir", data], 2, &["a key is not right"]),
        (&["serve", "--durability", "never"], 2, &["never"]),
        (&["serve", "--blob-port", "x"], 2, &["--blob-port"]),
        (&["serve", "--blobProt", "1"], 2, &["--blobProt"]),
        (&["fly"], 2, &["fly"]),
    ];
    for (arguments, code, words) in table {
        let (found, line) = refused(arguments);
        assert_eq!(found, *code, "{arguments:?}: {line}");
        assert!(words.iter().all(|word| line.contains(word)), "{arguments:?}: {line}");
        let of_clap = line.starts_with("error: ");
        assert!(of_clap || line.lines().count() == 1, "{arguments:?}: {line}");
        assert!(!line.contains("secret"), "{arguments:?}: {line}");
    }
    drop(taken);
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
}

#[test]
fn a_bad_value_of_the_environment_is_blamed_on_its_variable() {
    let table = [
        ("LAZULI_BLOB_PORT", "x", "LAZULI_BLOB_PORT: \"x\" cannot be used"),
        ("LAZULI_ADMIN_LISTEN", "localhost", "LAZULI_ADMIN_LISTEN: \"localhost\""),
        ("LAZULI_LISTEN", "127.0.0.1,x", "LAZULI_LISTEN: "),
        (
            "LAZULI_DURABILITY",
            "never",
            "LAZULI_DURABILITY: \"never\" cannot be used: it is one of sync, relaxed, memory",
        ),
        ("LAZULI_PUBLIC_ACCESS", "maybe", "LAZULI_PUBLIC_ACCESS: \"maybe\""),
        ("LAZULI_WORKERS", "0", "LAZULI_WORKERS: 0 is not between"),
        ("LAZULI_DOMAIN", "a/b", "LAZULI_DOMAIN: \"a/b\""),
        ("LAZULI_ACCOUNT", "mine=secret!", "LAZULI_ACCOUNT: a key of the account mine is not Base64"),
        ("LAZULI_TLS_CERT", "x", "LAZULI_TLS_CERT needs --tls-key"),
        ("LAZULI_CONFIG", "no such file", "cannot read no such file, named by LAZULI_CONFIG"),
        ("AZURITE_ACCOUNTS", "mine:secret!", "AZURITE_ACCOUNTS: a key of the account mine is not Base64"),
    ];
    for (variable, value, words) in table {
        let (code, line) = refusal(lazuli(&["serve", "--data-dir", "nowhere"]).env(variable, value));
        assert_eq!((code, line.lines().count()), (2, 1), "{variable}: {line}");
        assert!(line.contains(words) && !line.contains("secret"), "{variable}: {line}");
    }
    // A flag that is wrong is blamed itself, also where the variable is set.
    let (code, line) = refusal(lazuli(&["serve", "--blob-port", "y"]).env("LAZULI_BLOB_PORT", "1"));
    assert!(code == 2 && line.contains("--blob-port") && !line.contains("LAZULI_BLOB_PORT:"), "{line}");
}

#[test]
fn a_variable_that_is_no_setting_is_refused() {
    for arguments in [&["serve"][..], &["check"], &["account", "list"]] {
        let (code, line) = refusal(lazuli(arguments).env("LAZULI_BLOB_PROT", "0"));
        assert_eq!((code, line.lines().count()), (2, 1), "{arguments:?}: {line}");
        assert!(line.contains("LAZULI_BLOB_PROT"), "{line}");
    }
    // What the message sends its reader to is not refused itself.
    for arguments in [&["serve", "--help"][..], &["--version"], &["completions", "bash"]] {
        let output = lazuli(arguments).env("LAZULI_BLOB_PROT", "0").output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }
}

#[test]
fn serve_refuses_a_directory_with_files_of_somebody_else() {
    let directory = tempfile::tempdir().unwrap();
    let foreign = directory.path().join("letter.txt");
    std::fs::write(&foreign, "Dear").unwrap();
    let place = text(directory.path());
    for arguments in [&["serve", "--data-dir", place][..], &["account", "add", "mine", "--create", "--data-dir", place]]
    {
        let (code, line) = refused(arguments);
        assert_eq!((code, line.lines().count()), (1, 1), "{line}");
        assert!(line.contains(place) && line.contains("not empty") && line.contains("letter.txt"), "{line}");
    }
    let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["letter.txt"], "nothing was put beside it");
    // An empty one is as good as none, and so is the top of a file system.
    std::fs::remove_file(foreign).unwrap();
    std::fs::create_dir(directory.path().join("lost+found")).unwrap();
    assert_eq!(Server::start(directory.path(), &[]).terminate(), 0);
    assert_eq!(Server::start(directory.path(), &[]).terminate(), 0);
}

#[test]
fn account_add_on_a_fresh_machine_names_create() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let add = ["account", "add", "mine", "--data-dir", text(&data)];
    let (code, line) = refused(&add);
    assert!(code == 1 && line.contains(text(&data)) && line.contains("--create"), "{line}");
    assert!(!data.exists());
    succeed(&[&add[..], &["--create"]].concat());
    assert_eq!(succeed(&["account", "list", "--data-dir", text(&data)]), "mine stored 2\n");
}

#[test]
fn kept_accounts_stand_in_the_banner() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    for name in ["mine", "other"] {
        succeed(&["account", "add", name, "--create", "--data-dir", text(&data)]);
    }
    let server = Server::start(&data, &[]);
    assert!(server.banner.contains("\n  kept     mine, other; `lazuli account keys NAME`"), "{}", server.banner);
    assert!(server.banner.contains("AccountName=devstoreaccount1;"), "{}", server.banner);
    assert_eq!(server.terminate(), 0);
    let server = Server::start(&data, &["--listen", "0.0.0.0"]);
    assert!(server.banner.contains("\n  without  the development account: "), "{}", server.banner);
    assert!(!server.banner.contains("devstoreaccount1"), "{}", server.banner);
    assert_eq!(server.terminate(), 0);
}

#[test]
fn restore_says_its_reason_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let (data, backup, full) = (path("data"), path("backup"), path("full"));
    assert_eq!(Server::start(&data, &[]).terminate(), 0);
    succeed(&["backup", "--data-dir", text(&data), "--to", text(&backup)]);
    std::fs::create_dir(&full).unwrap();
    std::fs::write(full.join("letter.txt"), "").unwrap();
    let restore =
        |from: &str, to: &str| refused(&["restore", "--from", text(&path(from)), "--data-dir", text(&path(to))]);
    let table = [
        (restore("backup", "full"), "exists and is not empty"),
        (restore("full", "new"), "it is no backup"),
        (restore("nothing", "new"), "it does not exist"),
        (restore("full/letter.txt", "new"), "not a directory"),
        (refused(&["backup", "--data-dir", text(&data), "--to", text(&full)]), "exists and is not empty"),
    ];
    for ((code, line), reason) in table {
        assert_eq!((code, line.lines().count()), (1, 1), "{line}");
        assert_eq!(line.matches(reason).count(), 1, "{line}");
        assert!(!line.contains("cannot be used"), "{line}");
    }
    assert!(!path("new").exists());
}

#[test]
fn cert_names_the_variable_of_each_client() {
    let directory = tempfile::tempdir().unwrap();
    let (cert, key) = (directory.path().join("c.pem"), directory.path().join("k.pem"));
    let said = succeed(&["cert", "--cert", text(&cert), "--key", text(&key)]);
    let help = succeed(&["cert", "--help"]);
    for variable in ["REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"] {
        assert!(said.contains(&format!("{variable}={}", text(&cert))), "{said}");
        assert!(help.contains(variable), "{help}");
    }
}
