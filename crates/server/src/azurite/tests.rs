//! Every flag of Azurite has a row, and every row does what the document says.

use clap::{Args as _, FromArgMatches as _};

use super::*;

/// What `--help` of each of its programs lists; the release stands in the name of the file.
const OF_HELP: &str = include_str!("flags-3.35.0.txt");
const DOCUMENT: &str = include_str!("../../../../docs/azurite.md");

fn read(arguments: &[&str]) -> Result<(Settings, Origins, Vec<String>)> {
    let command = AzuriteFlags::augment_args(Command::new("lazuli").no_binary_name(true));
    let flags = AzuriteFlags::from_arg_matches(&command.try_get_matches_from(arguments)?)?;
    let (mut settings, mut origins) = (Settings::default(), Origins::default());
    let said = flags.apply(&mut settings, &mut origins)?;
    Ok((settings, origins, said))
}

#[test]
fn every_flag_of_azurites_help_has_a_row_here_and_in_the_document() {
    let rows: Vec<String> = TABLE.iter().map(spelling).collect();
    let of_help: Vec<&str> = OF_HELP.lines().filter_map(|line| line.split_once(' ')).map(|(_, flag)| flag).collect();
    assert!(of_help.len() > 60, "the list is not whole");
    for flag in &of_help {
        let usual = matches!(*flag, "-h --help" | "-v --version");
        assert!(usual || rows.iter().any(|row| row == flag), "{flag} has no row");
    }
    for (row, spelling) in TABLE.iter().zip(&rows) {
        assert!(of_help.contains(&spelling.as_str()), "{spelling} is no flag of Azurite");
        let begin = format!("| `{}` | ", spelling.replace(' ', "`, `"));
        let line = DOCUMENT.lines().find(|line| line.starts_with(&begin));
        let line = line.unwrap_or_else(|| panic!("docs/azurite.md has no row that begins {begin:?}"));
        match row.does {
            Does::Nothing(reason) => assert!(line.contains("no effect") && line.contains(reason), "{line}"),
            Does::Sets(flag, _) | Does::SetsAndSays(flag, ..) => {
                assert!(line.contains(&format!("`--{flag}")), "{line}");
            }
        }
    }
}

fn spelling(row: &Row) -> String {
    row.short.map_or_else(|| format!("--{}", row.long), |letter| format!("-{letter} --{}", row.long))
}

#[test]
fn flags_make_our_settings() {
    let (settings, origins, said) = read(&[
        "--blobHost",
        "127.0.0.2",
        "--blobPort",
        "0",
        "--queueHost=::1",
        "--queuePort=7",
        "--tableHost",
        "localhost",
        "--tablePort",
        "8",
        "-l",
        "folder",
        "-s",
        "--oauth",
        "basic",
        "--cert",
        "c.pem",
        "--key",
        "k.pem",
    ])
    .unwrap();
    let expect = |text: &str| vec![text.parse::<IpAddr>().unwrap()];
    assert_eq!(settings.blob_listen, expect("127.0.0.2"));
    assert_eq!(settings.queue_listen, expect("::1"));
    assert_eq!(settings.table_listen, expect("127.0.0.1"));
    assert_eq!((settings.blob_port, settings.queue_port, settings.table_port), (Some(0), Some(7), Some(8)));
    assert_eq!(settings.data_dir.as_deref(), Some(Path::new("folder/lazuli-data")));
    assert_eq!((settings.request_log, settings.bearer_unsigned), (Some(RequestLog::Off), Some(true)));
    assert_eq!(settings.tls_cert.as_deref(), Some(Path::new("c.pem")));
    assert_eq!(settings.tls_key.as_deref(), Some(Path::new("k.pem")));
    assert_eq!(origins.name("bearer-unsigned"), "--oauth basic");
    assert_eq!(said, Vec::<String>::new());
}

#[test]
fn what_has_no_effect_says_so() {
    let all = [
        "--loose",
        "--skipApiVersionCheck",
        "--disableProductStyleUrl",
        "--disableTelemetry",
        "--inMemoryPersistence",
        "--extentMemoryLimit",
        "100",
        "--blobKeepAliveTimeout",
        "5",
        "--queueKeepAliveTimeout",
        "5",
        "--tableKeepAliveTimeout",
        "5",
        "-d",
        "debug.log",
        "--pwd",
        "x",
        "--cert",
        "c",
        "--key",
        "k",
    ];
    let (settings, _, said) = read(&all).unwrap();
    assert_eq!((settings.durability, settings.log_level), (Some(Durability::Memory), Some(LogLevel::Debug)));
    let named = |flag: &str| said.iter().filter(|line| line.starts_with(&format!("--{flag} "))).count();
    for row in TABLE {
        let says = matches!(row.does, Does::Nothing(_) | Does::SetsAndSays(..));
        assert_eq!(named(row.long), usize::from(says), "--{}: {said:?}", row.long);
    }
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let table: [(&[&str], &[&str]); 7] = [
        (&["--oauth", "strict"], &["--oauth", "\"strict\""]),
        (&["--blobPort", "65536"], &["--blobPort", "\"65536\""]),
        (&["--queuePort", ""], &["--queuePort"]),
        (&["--tableHost", "no such host"], &["--tableHost", "no such host"]),
        (&["--inMemoryPersistence", "--location", "x"], &["--inMemoryPersistence", "--location"]),
        (&["--cert", "x.pfx", "--pwd", "y"], &["--pwd", ".pfx", "openssl"]),
        (&["--blobProt", "1"], &["--blobProt"]),
    ];
    for (arguments, words) in table {
        let error = format!("{:#}", read(arguments).unwrap_err());
        assert!(words.iter().all(|word| error.contains(word)), "{arguments:?}: {error}");
    }
}

#[test]
fn the_same_in_their_words_and_in_ours_is_refused() {
    let mut origins = Origins::default();
    origins.made_by("blob-port", "--blob-port");
    let flags = AzuriteFlags(vec![("blobPort", "1".into())]);
    let error = flags.apply(&mut Settings::default(), &mut origins).unwrap_err();
    assert!(format!("{error:#}").contains("--blobPort and --blob-port"), "{error:#}");
}

#[test]
fn the_word_serve_is_not_needed_before_a_flag() {
    let table = [
        ("lazuli --blobPort 0", "lazuli serve --blobPort 0"),
        ("lazuli -l x", "lazuli serve -l x"),
        ("lazuli --blob-port 0", "lazuli serve --blob-port 0"),
        ("lazuli serve -l x", "lazuli serve -l x"),
        ("lazuli", "lazuli"),
        ("lazuli check --json", "lazuli check --json"),
        ("lazuli --help", "lazuli --help"),
        ("lazuli -h", "lazuli -h"),
        ("lazuli help", "lazuli --help"),
        ("lazuli --version", "lazuli --version"),
        ("lazuli -v", "lazuli --version"),
        ("lazuli version", "lazuli --version"),
    ];
    for (given, expected) in table {
        let words = completed(given.split(' ').map(OsString::from));
        assert_eq!(words, expected.split(' ').map(OsString::from).collect::<Vec<_>>(), "{given}");
    }
}
