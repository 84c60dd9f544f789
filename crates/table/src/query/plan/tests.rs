use types::UnitId;

use super::*;
use crate::{EntityKey, query::parse};

/// The plan in words: `b/2` is a row, `b/*` a partition, `b/2..b/4` a range; an end in brackets is open.
fn plan(filter: &str) -> Vec<String> {
    let unit = UnitId::new(1);
    let ranges = entities(unit, Some(&parse(filter).unwrap()));
    assert!(ranges.windows(2).all(|pair| pair[0].end.as_ref().unwrap() < &pair[1].start), "{filter}: overlap");
    let everything: Vec<(String, Bytes)> = ["a", "b", "c"]
        .iter()
        .flat_map(|partition| {
            ["1", "2", "3"].iter().map(move |row| {
                let key = EntityKey::new(*partition, *row).unwrap();
                (format!("{partition}{row}"), keys::entity(unit, &key))
            })
        })
        .collect();
    ranges
        .iter()
        .map(|range| {
            let inside = everything.iter().filter(|(_, key)| range.contains(key)).map(|(name, _)| name.as_str());
            inside.collect::<Vec<_>>().join(" ")
        })
        .collect()
}

const ALL: &str = "a1 a2 a3 b1 b2 b3 c1 c2 c3";

#[test]
fn conditions_on_keys_become_ranges() {
    let table: &[(&str, &[&str])] = &[
        ("x eq 1", &[ALL]),
        ("PartitionKey eq 'b'", &["b1 b2 b3"]),
        ("PartitionKey eq 'b' and RowKey eq '2'", &["b2"]),
        ("RowKey eq '2' and x gt 5 and PartitionKey eq 'b'", &["b2"]),
        ("PartitionKey eq 'b' and RowKey ge '2'", &["b2 b3"]),
        ("PartitionKey eq 'b' and RowKey gt '1' and RowKey lt '3'", &["b2"]),
        ("PartitionKey gt 'a'", &["b1 b2 b3 c1 c2 c3"]),
        ("PartitionKey le 'b'", &["a1 a2 a3 b1 b2 b3"]),
        ("PartitionKey ge 'a' and PartitionKey lt 'b'", &["a1 a2 a3"]),
        ("PartitionKey ge 'b' and RowKey eq '2'", &["b1 b2 b3 c1 c2 c3"]),
        ("RowKey eq '2'", &[ALL]),
        ("PartitionKey eq 'b' and PartitionKey eq 'c'", &[]),
        ("PartitionKey eq 'c' or PartitionKey eq 'a'", &["a1 a2 a3", "c1 c2 c3"]),
        ("PartitionKey eq 'a' and (RowKey eq '3' or RowKey eq '1')", &["a1", "a3"]),
        ("PartitionKey eq 'a' or x eq 1", &[ALL]),
        ("PartitionKey ne 'b'", &["a1 a2 a3", "c1 c2 c3"]),
        ("not (PartitionKey eq 'b')", &["a1 a2 a3", "c1 c2 c3"]),
        ("not (PartitionKey ne 'b')", &["b1 b2 b3"]),
        ("not (PartitionKey lt 'b' or PartitionKey gt 'b')", &["b1 b2 b3"]),
        ("not (x eq 1)", &[ALL]),
        ("PartitionKey eq 5", &[]),
        ("not (PartitionKey eq 5)", &[ALL]),
        ("true", &[ALL]),
        ("false", &[]),
        ("PartitionKey eq 'b' and false", &[]),
        ("PartitionKey eq 'b' and not true", &[]),
        ("'b' lt PartitionKey", &["c1 c2 c3"]),
    ];
    for (filter, expected) in table {
        assert_eq!(plan(filter), *expected, "{filter}");
    }
}

#[test]
fn hundreds_of_points_are_so_many_ranges_and_thousands_a_scan() {
    let points = |count: usize| {
        let one = |number: usize| format!("(PartitionKey eq 'p' and RowKey eq '{number:04}')");
        let filter = (0..count).map(one).collect::<Vec<_>>().join(" or ");
        entities(UnitId::new(1), Some(&parse(&filter).unwrap())).len()
    };
    assert_eq!(points(200), 200);
    assert_eq!(points(500), 1);
}
