//! The naming rules as tables: what each kind of name takes, and for what it refuses the rest.

use super::*;
use std::collections::HashSet;

type Parsed = Result<String, NameError>;

/// Every name of `accepted` comes back unchanged; every one of `refused` breaks the rule beside it.
#[track_caller]
fn check(kind: NameKind, parse: impl Fn(&str) -> Parsed, accepted: &[&str], refused: &[(&str, NameRule)]) {
    for name in accepted {
        assert_eq!(parse(name).as_deref(), Ok(*name));
    }
    for (name, rule) in refused {
        let expected = NameError { kind, value: (*name).to_owned(), rule: *rule };
        assert_eq!(parse(name), Err(expected));
    }
}

fn of<T>(text: fn(&T) -> &str, parse: fn(&str) -> Result<T, NameError>) -> impl Fn(&str) -> Parsed {
    move |name| parse(name).map(|parsed| text(&parsed).to_owned())
}

const SHORT: NameRule = NameRule::TooShort { length: 2, min: 3 };

#[test]
fn account_names() {
    check(
        NameKind::Account,
        of(AccountName::as_str, AccountName::parse),
        &["abc", "devstoreaccount1", "000", &"a".repeat(24)],
        &[
            ("", NameRule::Empty),
            ("ab", SHORT),
            (&"a".repeat(25), NameRule::TooLong { length: 25, max: 24 }),
            ("Abc", NameRule::Character('A')),
            ("a-bc", NameRule::Character('-')),
            ("abé", NameRule::Character('é')),
        ],
    );
}

const LABELS: &[&str] = &["abc", "a-b", "a-b-c", "0-0", "123"];

fn labels_refused() -> Vec<(&'static str, NameRule)> {
    vec![
        ("", NameRule::Empty),
        ("ab", SHORT),
        ("Abc", NameRule::Character('A')),
        ("a_b", NameRule::Character('_')),
        ("a.b", NameRule::Character('.')),
        ("a/b", NameRule::Character('/')),
        ("äbc", NameRule::Character('ä')),
        ("-abc", NameRule::First('-')),
        ("abc-", NameRule::Last('-')),
        ("a--b", NameRule::AdjacentDashes),
        ("$other", NameRule::Character('$')),
    ]
}

#[test]
fn container_names() {
    let longest = "a".repeat(63);
    let longer = "a".repeat(64);
    let mut accepted = LABELS.to_vec();
    accepted.extend(["$root", "$logs", "$web", longest.as_str()]);
    let mut refused = labels_refused();
    refused.push((&longer, NameRule::TooLong { length: 64, max: 63 }));
    refused.push(("$ROOT", NameRule::Character('$')));
    check(NameKind::Container, of(ContainerName::as_str, ContainerName::parse), &accepted, &refused);

    assert_eq!(ContainerName::parse("$root"), Ok(ContainerName::root()));
    assert!(ContainerName::root().is_root());
    assert!(!ContainerName::parse("root").unwrap().is_root());
}

#[test]
fn queue_and_share_names_are_labels_without_exceptions() {
    let mut refused = labels_refused();
    refused.push(("$root", NameRule::Character('$')));
    check(NameKind::Queue, of(QueueName::as_str, QueueName::parse), LABELS, &refused);
    check(NameKind::Share, of(ShareName::as_str, ShareName::parse), LABELS, &refused);
}

#[test]
fn blob_names() {
    let longest = "é".repeat(1024);
    let surrogates = "𝄞".repeat(512);
    let deepest = ["a"; 254].join("/");
    check(
        NameKind::Blob,
        of(BlobName::as_str, BlobName::parse),
        &["a", "A", "/", "a//b", "..", "a/../b", "ends.", "with space", "ü\\?#%", &longest, &surrogates, &deepest],
        &[
            ("", NameRule::Empty),
            (&"a".repeat(1025), NameRule::TooLong { length: 1025, max: 1024 }),
            (&"𝄞".repeat(513), NameRule::TooLong { length: 1026, max: 1024 }),
            (&["a"; 255].join("/"), NameRule::TooManySegments { count: 255, max: 254 }),
            ("a\0b", NameRule::Character('\0')),
            ("a\u{1f}", NameRule::Character('\u{1f}')),
            ("a\u{7f}", NameRule::Character('\u{7f}')),
            ("a\u{81}", NameRule::Character('\u{81}')),
        ],
    );
}

#[test]
fn table_names() {
    check(
        NameKind::Table,
        of(TableName::as_str, TableName::parse),
        &["abc", "Customers2", "tables1", &"T".repeat(63)],
        &[
            ("", NameRule::Empty),
            ("ab", SHORT),
            (&"a".repeat(64), NameRule::TooLong { length: 64, max: 63 }),
            ("1abc", NameRule::First('1')),
            ("a-bc", NameRule::Character('-')),
            ("abç", NameRule::Character('ç')),
            ("tables", NameRule::Reserved),
            ("TABLES", NameRule::Reserved),
        ],
    );
}

#[test]
fn metadata_names() {
    check(
        NameKind::Metadata,
        of(MetadataName::as_str, MetadataName::parse),
        &["a", "_", "_1", "Author", "class", "a1_b"],
        &[
            ("", NameRule::Empty),
            ("1a", NameRule::First('1')),
            ("a-b", NameRule::Character('-')),
            ("a b", NameRule::Character(' ')),
            ("a.b", NameRule::Character('.')),
            ("naïve", NameRule::Character('ï')),
        ],
    );
}

#[test]
fn file_components() {
    let longest = "ß".repeat(255);
    let longer = "ß".repeat(256);
    let mut refused = vec![
        ("", NameRule::Empty),
        (longer.as_str(), NameRule::TooLong { length: 256, max: 255 }),
        ("a\u{1}", NameRule::Character('\u{1}')),
        (".", NameRule::Reserved),
        ("..", NameRule::Reserved),
    ];
    let forbidden = ["\"", "\\", "/", ":", "|", "<", ">", "*", "?"];
    refused.extend(forbidden.map(|text| (text, NameRule::Character(text.chars().next().unwrap()))));
    refused
        .extend(["con", "CON", "Prn", "aux", "nul", "clock$", "lpt1", "COM9"].map(|name| (name, NameRule::Reserved)));
    check(
        NameKind::FileComponent,
        of(FileComponent::as_str, FileComponent::parse),
        &["a", "A.txt", "...", "trailing.", " ", "nul.txt", "com0", "com10", "lpt", "$", &longest],
        &refused,
    );
}

#[test]
fn file_paths() {
    let path = FilePath::parse("a/b c/d.txt").unwrap();
    assert_eq!(path.to_string(), "a/b c/d.txt");
    assert_eq!(path.components().iter().map(FileComponent::as_str).collect::<Vec<_>>(), ["a", "b c", "d.txt"]);
    assert_eq!(FilePath::parse("a/b/").unwrap().to_string(), "a/b");

    let deep = |count| vec!["a"; count].join("/");
    assert_eq!(FilePath::parse(&deep(250)).unwrap().components().len(), 250);
    let long = |components: usize| vec!["a".repeat(204); components].join("/");
    assert!(FilePath::parse(&long(9)).is_ok());

    let refused = [
        ("", NameKind::FilePath, NameRule::Empty),
        ("/", NameKind::FilePath, NameRule::Empty),
        ("/a", NameKind::FileComponent, NameRule::Empty),
        ("a//b", NameKind::FileComponent, NameRule::Empty),
        ("a/../b", NameKind::FileComponent, NameRule::Reserved),
        ("a/b:c", NameKind::FileComponent, NameRule::Character(':')),
        (&deep(251), NameKind::FilePath, NameRule::TooManySegments { count: 251, max: 250 }),
        (&long(10), NameKind::FilePath, NameRule::TooLong { length: 2049, max: 2048 }),
    ];
    for (text, kind, rule) in refused {
        let error = FilePath::parse(text).unwrap_err();
        assert_eq!((error.kind, error.rule), (kind, rule), "{text}");
    }
}

#[test]
fn tables_and_metadata_are_compared_without_case_and_keep_it() {
    let (one, two) = (TableName::parse("Orders").unwrap(), TableName::parse("oRDERS").unwrap());
    assert_eq!(one, two);
    assert_eq!(one.cmp(&two), std::cmp::Ordering::Equal);
    assert_eq!((one.as_str(), two.as_str()), ("Orders", "oRDERS"));
    assert_eq!((one.folded(), two.folded()), ("orders".to_owned(), "orders".to_owned()));
    assert_eq!(HashSet::from([one, two]).len(), 1);

    let (one, two) = (MetadataName::parse("Key").unwrap(), MetadataName::parse("KEY").unwrap());
    assert_eq!(HashSet::from([one, two]).len(), 1);
    assert_ne!(BlobName::parse("a").unwrap(), BlobName::parse("A").unwrap());
}

#[test]
fn a_refusal_shows_the_name_and_the_rule() {
    let shown = [
        (ContainerName::parse("a").unwrap_err(), r#"container name "a" has 1 characters, fewer than 3"#),
        (ContainerName::parse("a--b").unwrap_err(), r#"container name "a--b" contains two dashes side by side"#),
        (TableName::parse("1ab").unwrap_err(), r#"table name "1ab" begins with '1', which is not allowed"#),
        (FileComponent::parse("nul").unwrap_err(), r#"file or directory name "nul" is a reserved word"#),
        (MetadataName::parse("").unwrap_err(), r#"metadata name "" is empty"#),
    ];
    for (error, text) in shown {
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn length_and_shape_are_told_apart() {
    assert!(ContainerName::parse("a").unwrap_err().rule.is_about_length());
    assert!(!ContainerName::parse("a--b").unwrap_err().rule.is_about_length());
}
