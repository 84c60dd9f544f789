//! The tables of part (c) of the semantics.

use proptest::prelude::*;
use types::Timestamp;

use super::{EntityETag, EntityEffect, EntityOperation, EntityRefusal, IfMatch, InvalidEntityCondition};
use crate::table_test::check_cells;

#[test]
fn c1_the_wire_form() {
    for (seconds, fraction, text) in [
        (0, 0, "W/\"datetime'1970-01-01T00%3A00%3A00.0000000Z'\""),
        (951_782_399, 9_999_999, "W/\"datetime'2000-02-28T23%3A59%3A59.9999999Z'\""),
        (951_782_400, 1, "W/\"datetime'2000-02-29T00%3A00%3A00.0000001Z'\""),
        (1_709_251_200, 0, "W/\"datetime'2024-03-01T00%3A00%3A00.0000000Z'\""),
        (1_714_558_830, 1_234_567, "W/\"datetime'2024-05-01T10%3A20%3A30.1234567Z'\""),
        (4_107_542_399, 0, "W/\"datetime'2100-02-28T23%3A59%3A59.0000000Z'\""),
        (4_107_542_400, 0, "W/\"datetime'2100-03-01T00%3A00%3A00.0000000Z'\""),
        (253_402_300_799, 0, "W/\"datetime'9999-12-31T23%3A59%3A59.0000000Z'\""),
    ] {
        let etag = EntityETag::new(Timestamp::from_ticks(seconds * 10_000_000 + fraction));
        assert_eq!(etag.to_string(), text);
        assert!(etag.is_written_as(text));
        assert!(!etag.is_written_as(&format!("{text}x")) && !etag.is_written_as(&text[..text.len() - 1]));
    }
}

#[test]
fn c1_what_if_match_may_be() {
    let table = "
If-Match          | alone   | with If-None-Match
not sent          | absent  | InvalidInput
*                 | any     | InvalidInput
W/\"x\"           | etag    | InvalidInput
W/\"datetime'x'\" | etag    | InvalidInput
\"x\"             | InvalidInput | InvalidInput
x                 | InvalidInput | InvalidInput
w/\"datetime'x'\" | etag         | InvalidInput
w                 | InvalidInput | InvalidInput
W/x               | InvalidInput | InvalidInput
W/\"              | InvalidInput | InvalidInput
W/\"x\",W/\"y\"   | InvalidInput | InvalidInput
*,*               | InvalidInput | InvalidInput
                  | InvalidInput | InvalidInput
";
    let cells = check_cells(table, 1, |row, heading| {
        let header = (row[0] != "not sent").then_some(row[0]);
        match IfMatch::parse(header, heading == "with If-None-Match") {
            Ok(IfMatch::Absent) => "absent".into(),
            Ok(IfMatch::Any) => "any".into(),
            Ok(IfMatch::ETag(_)) => "etag".into(),
            Err(InvalidEntityCondition::IfMatch | InvalidEntityCondition::IfNoneMatch) => "InvalidInput".into(),
        }
    });
    assert_eq!(cells, 26);
    let longest = format!("W/\"{}\"", "x".repeat(1020));
    assert!(IfMatch::parse(Some(&longest), false).is_ok());
    let longer = format!("W/\"{}\"", "x".repeat(1021));
    assert!(IfMatch::parse(Some(&longer), false).is_err());
}

#[test]
fn c2_the_operation_matrix() {
    let table = "
operation | If-Match  | entity absent | entity present
Insert    | absent    | Insert        | 409
Insert    | *         | Insert        | 409
Insert    | current   | Insert        | 409
Insert    | stale     | Insert        | 409
Replace   | current   | 404           | Replace
Replace   | stale     | 404           | 412
Replace   | *         | 404           | Replace
Replace   | absent    | Insert        | Replace
Merge     | current   | 404           | Merge
Merge     | stale     | 404           | 412
Merge     | *         | 404           | Merge
Merge     | absent    | Insert        | Merge
Delete    | current   | 404           | Delete
Delete    | stale     | 404           | 412
Delete    | *         | 404           | Delete
Delete    | small w   | 404           | Delete
Delete    | absent    | 400           | 400
Query     | absent    | 404           | Read
Query     | stale     | 404           | Read
";
    let current = EntityETag::new(Timestamp::from_seconds(1_714_558_830));
    let (text, stale) = (current.to_string(), EntityETag::new(Timestamp::from_seconds(1)).to_string());
    let small = text.replacen('W', "w", 1);
    let cells = check_cells(table, 2, |row, heading| {
        use EntityOperation::{Delete, Insert, Merge, Query, Replace};
        let operation = [Insert, Replace, Merge, Delete, Query];
        let operation = operation.into_iter().find(|o| format!("{o:?}") == row[0]).unwrap();
        let if_match = match row[1] {
            "absent" => IfMatch::Absent,
            "*" => IfMatch::Any,
            "current" => IfMatch::parse(Some(&text), false).unwrap(),
            "small w" => IfMatch::parse(Some(&small), false).unwrap(),
            _ => IfMatch::parse(Some(&stale), false).unwrap(),
        };
        match operation.decide(if_match, (heading == "entity present").then_some(current)) {
            Ok(effect @ (EntityEffect::Insert | EntityEffect::Replace | EntityEffect::Merge)) => format!("{effect:?}"),
            Ok(effect @ (EntityEffect::Delete | EntityEffect::Read)) => format!("{effect:?}"),
            Err(EntityRefusal::AlreadyExists) => "409".into(),
            Err(EntityRefusal::NotFound) => "404".into(),
            Err(EntityRefusal::ConditionNotSatisfied) => "412".into(),
            Err(EntityRefusal::IfMatchRequired) => "400".into(),
        }
    });
    assert_eq!(cells, 38);
}

proptest! {
    #[test]
    fn an_etag_is_written_as_itself_and_as_no_other(a in any::<u64>(), b in any::<u64>()) {
        let (first, second) = (EntityETag::new(Timestamp::from_ticks(a)), EntityETag::new(Timestamp::from_ticks(b)));
        prop_assert!(first.is_written_as(&first.to_string()));
        prop_assert_eq!(first.is_written_as(&second.to_string()), a == b);
    }

    #[test]
    fn etags_never_repeat_whatever_the_clock_does(clock in prop::collection::vec(0_u64..1_000, 1..50)) {
        let mut previous = None;
        for ticks in clock {
            let next = EntityETag::after(previous, Timestamp::from_ticks(ticks));
            prop_assert!(previous.is_none_or(|previous| next > previous));
            previous = Some(next);
        }
    }

    #[test]
    fn of_two_writers_with_the_same_etag_one_wins(at in 0_u64..u64::MAX / 2, later in 0_u64..1_000_000) {
        let read = EntityETag::new(Timestamp::from_ticks(at));
        let text = read.to_string();
        let condition = IfMatch::parse(Some(&text), false).unwrap();
        prop_assert_eq!(EntityOperation::Replace.decide(condition, Some(read)), Ok(EntityEffect::Replace));
        let written = EntityETag::after(Some(read), Timestamp::from_ticks(at.saturating_sub(later)));
        let second = EntityOperation::Replace.decide(condition, Some(written));
        prop_assert_eq!(second, Err(EntityRefusal::ConditionNotSatisfied));
    }

    #[test]
    fn any_if_match_is_read_or_refused(text in "\\PC{0,60}") {
        if let Ok(condition) = IfMatch::parse(Some(&text), false) {
            prop_assert_ne!(condition, IfMatch::Absent);
        }
    }
}
