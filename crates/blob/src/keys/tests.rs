//! Golden bytes: what is in `testdata/keys.txt` is in data directories. A line may be added, and never changed.

use super::*;

#[test]
fn keys_are_written_as_ever() {
    let (account, container, content) = (UnitId::new(1), UnitId::new(2), ContentId::new(3));
    let (time, name) = (Timestamp::from_ticks(4), "a/b");
    let named = ContainerName::parse("things").unwrap();
    let keys = [
        ("container", self::container(account, &named)),
        ("blob", part(container, name, BlobPart::Base)),
        ("sweep", sweep(container)),
        ("snapshot", part(container, name, BlobPart::Snapshot(time))),
        ("unit", unit(container)),
        ("sharer", sharer(content, 5, 6)),
        ("sharer guard", sharer_guard(content)),
        ("upload", upload(content)),
        ("block", block(content, b"id")),
        ("dropped upload", dropped_upload(content)),
        ("upload deadline", upload_deadline(time, content)),
        ("expiry", expiry(time, container, name)),
        ("tag", tag(account, "tag", "value", container, name)),
        ("prune", prune(content)),
        ("adoption", adoption(content, ContentId::new(5))),
        ("trim", trim(container, name)),
        ("copy", copy(container, name)),
        ("version", part(container, name, BlobPart::Version(time))),
    ];
    let line = |(name, key): &(&str, Bytes)| {
        let hex: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{name}: {hex}\n")
    };
    let found: String = keys.iter().map(line).collect();
    let golden = include_str!("../../testdata/keys.txt").split_inclusive('\n').filter(|line| !line.starts_with('#'));
    assert!(found == golden.collect::<String>(), "keys have changed; they would be\n{found}");
    assert_eq!(parse_version(&keys[17].1).unwrap(), (container, name.to_owned(), time));
    assert_eq!(parse_snapshot(&keys[3].1).unwrap(), (container, name.to_owned(), time));
}
