//! Golden bytes: what is in `testdata/keys.tsv` is in data directories. A line may be added, and never changed.

use store::golden::Golden;

use super::*;

#[test]
fn keys_are_written_as_ever() {
    let (account, unit, inode, content) = (UnitId::new(1), UnitId::new(2), Inode::new(3), ContentId::new(6));
    let (time, until) = (Timestamp::from_ticks(4), Timestamp::from_ticks(5));
    let named = ShareName::parse("things").unwrap();
    let permission_id = [9; 16];
    let keys = [
        ("share", share(account, &named)),
        ("share snapshot", share_snapshot(unit, time)),
        ("unit", self::unit(unit)),
        ("entry", entry(ENTRY, unit, inode, "A.TXT").build()),
        ("entry history", entry(ENTRY_HISTORY, unit, inode, "A.TXT").number(7).build()),
        ("node", node(NODE, unit, inode).build()),
        ("node history", node(NODE_HISTORY, unit, inode).number(7).build()),
        ("directory guard", directory_guard(unit, inode)),
        ("permission", permission(unit, permission_id)),
        ("usage", usage(unit, 8)),
        ("sweep", one(SWEEP, unit)),
        ("prune", one(PRUNE, unit)),
        ("prune map", prune_map(unit, inode, content)),
        ("trim", node(TRIM, unit, inode).build()),
        ("copy", node(COPY, unit, inode).build()),
        ("deleted share", deleted_share(account, "things", time)),
        ("deleted share deadline", deleted_share_deadline(until, account, "things", time)),
        ("deleted unit", one(DELETED_UNIT, unit)),
        ("copy source", copy_source(content, 7, ContentId::new(8))),
    ];
    let mut golden = Golden::new(include_str!("../../testdata/keys.tsv"));
    for (name, key) in &keys {
        golden.check(name, key);
    }
    golden.finish();
    let key = |name: &str| &keys.iter().find(|(known, _)| *known == name).unwrap().1;
    assert_eq!(parse_share(key("share")).unwrap(), (account, "things".to_owned()));
    assert_eq!(parse_share_snapshot(key("share snapshot")).unwrap(), (unit, time));
    assert_eq!(parse_entry(key("entry")).unwrap(), (unit, inode, "A.TXT".to_owned()));
    assert_eq!(parse_entry_history(key("entry history")).unwrap(), (unit, inode, "A.TXT".to_owned(), 7));
    assert_eq!(parse_node_history(key("node history")).unwrap(), (unit, inode, 7));
    assert_eq!(parse_permission(key("permission")).unwrap(), (unit, permission_id));
    assert_eq!(parse_copy_source(key("copy source")).unwrap(), (content, 7, ContentId::new(8)));
    assert_eq!(parse_prune_map(key("prune map")).unwrap(), (unit, inode, content));
    assert_eq!(parse_deleted_share(key("deleted share")).unwrap(), (account, "things".to_owned(), time));
    let deadline = parse_deleted_share_deadline(key("deleted share deadline")).unwrap();
    assert_eq!(deadline, (until, account, "things".to_owned(), time));
    assert_eq!(parse_two(key("usage"), USAGE).unwrap(), (2, 8));
    assert_eq!(parse_one(key("sweep"), SWEEP).unwrap(), 2);
}
