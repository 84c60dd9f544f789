//! Golden bytes: what is in `testdata/keys.tsv` is in data directories. A line may be added, and never changed.

use store::golden::Golden;

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
    let mut golden = Golden::new(include_str!("../../testdata/keys.tsv"));
    for (name, key) in &keys {
        golden.check(name, key);
    }
    golden.finish();
    assert_eq!(parse_version(&keys[17].1).unwrap(), (container, name.to_owned(), time));
    assert_eq!(parse_snapshot(&keys[3].1).unwrap(), (container, name.to_owned(), time));
}
