//! The tables of part (b) of the semantics, cell by cell, and every combination of the four headers.

use proptest::prelude::*;
use types::{ETag, ServiceVersion, Timestamp};

use super::{
    Conditions, ETagCondition, InvalidETagCondition, ReadRefusal, Resource, SourceRefusal, WriteRefusal, WriteRule,
};
use crate::table_test::check_cells;

const CURRENT: ETag = ETag::new(0x8DC0_FFEE_1234_5678);
const CURRENT_TEXT: &str = "\"0x8DC0FFEE12345678\"";
const OTHER_TEXT: &str = "\"0x8DC0FFEE00000000\"";
const NEW: ServiceVersion = ServiceVersion::new(2013, 8, 15);
const OLD: ServiceVersion = ServiceVersion::new(2012, 2, 12);

/// Last-Modified with a fraction, which must not count.
fn present() -> Resource {
    Resource::Present { etag: CURRENT, last_modified: Timestamp::from_ticks(1_000 * 10_000_000 + 9_999_999) }
}

/// Headers by how they turn out against [`present`]: `ok`, `fail`, `-` for not sent, `*`, or `two` ETags.
fn conditions(im: &str, ius: &str, inm: &str, ims: &str) -> Conditions<'static> {
    let tag = |text: &str, ok: &'static str, fail: &'static str, two: &'static str| match text {
        "-" => None,
        "ok" => Some(ETagCondition::parse(ok).unwrap()),
        "fail" => Some(ETagCondition::parse(fail).unwrap()),
        "two" => Some(ETagCondition::parse(two).unwrap()),
        "*" => Some(ETagCondition::ANY),
        _ => panic!("no such value: {text}"),
    };
    let date = |text: &str, ok: u64, fail: u64| match text {
        "-" => None,
        "ok" => Some(Timestamp::from_seconds(ok)),
        "fail" => Some(Timestamp::from_seconds(fail)),
        _ => panic!("no such value: {text}"),
    };
    const TWO: &str = "\"0x8DC0FFEE12345678\", \"0x8DC0FFEE00000000\"";
    Conditions {
        if_match: tag(im, CURRENT_TEXT, OTHER_TEXT, TWO),
        if_none_match: tag(inm, OTHER_TEXT, CURRENT_TEXT, TWO),
        if_modified_since: date(ims, 999, 1000),
        if_unmodified_since: date(ius, 1000, 999),
    }
}

fn read(version: ServiceVersion, conditions: Conditions<'_>, resource: Resource) -> &'static str {
    match conditions.check_read(version, resource) {
        Ok(()) => "200",
        Err(ReadRefusal::NotFound) => "404",
        Err(ReadRefusal::ConditionNotMet(_)) => "412",
        Err(ReadRefusal::NotModified { .. }) => "304",
        Err(ReadRefusal::Unsatisfiable) => "400 Unsatisfiable",
        Err(ReadRefusal::MultipleConditionHeaders) => "400 Multiple",
    }
}

fn write(rule: WriteRule, conditions: Conditions<'_>, resource: Resource) -> &'static str {
    match conditions.check_write(rule, resource, false) {
        Ok(()) => "ok",
        Err(WriteRefusal::NotFound) => "404",
        Err(WriteRefusal::ConditionNotMet(_)) => "412",
        Err(WriteRefusal::AlreadyExists) => "409",
        Err(WriteRefusal::MultipleConditionHeaders) => "400 Multiple",
        Err(WriteRefusal::HeaderNotSupported(_)) => "400 NotSupported",
    }
}

#[test]
fn b1_etags_quoted_and_bare() {
    for (text, names) in [
        ("\"0x8DC0FFEE12345678\"", true),
        ("0x8DC0FFEE12345678", true),
        ("  \"0x8DC0FFEE12345678\"  ", true),
        ("\"0x1\",\"0x8DC0FFEE12345678\"", true),
        ("0x1 , 0x8DC0FFEE12345678 , 0x2", true),
        (",, 0x8DC0FFEE12345678 ,", true),
        ("\"a,b\", \"0x8DC0FFEE12345678\"", true),
        ("W/\"0x8DC0FFEE12345678\"", false),
        ("W/\"0x1\", \"0x8DC0FFEE12345678\"", true),
        ("\"0x8dc0ffee12345678\"", false),
        ("\"0x8DC0FFEE1234567\"", false),
        ("\"8DC0FFEE12345678\"", false),
        ("\"\"", false),
        ("\"*\"", false),
        ("\"0x+DC0FFEE12345678\"", false),
    ] {
        assert_eq!(ETagCondition::parse(text).map(|c| c.names(CURRENT)), Ok(names), "{text}");
    }
    for (text, error) in [
        ("", InvalidETagCondition::Empty),
        ("   ", InvalidETagCondition::Empty),
        (" , ,", InvalidETagCondition::Empty),
        ("\"0x1", InvalidETagCondition::Malformed),
        ("0x1\"", InvalidETagCondition::Malformed),
        ("\"0x1\" \"0x2\"", InvalidETagCondition::Malformed),
        ("\"0x1\", *", InvalidETagCondition::Malformed),
        ("\"\"0x1\"\"", InvalidETagCondition::Malformed),
    ] {
        assert_eq!(ETagCondition::parse(text), Err(error), "{text}");
    }
    assert!(ETagCondition::parse(&"a,".repeat(256)).is_ok());
    assert_eq!(ETagCondition::parse(&"a,".repeat(257)), Err(InvalidETagCondition::TooMany));
    assert_eq!(ETagCondition::parse(&"a".repeat(8 * 1024 + 1)), Err(InvalidETagCondition::TooLong));
}

#[test]
fn b1_dates_compare_in_whole_seconds() {
    // Last-Modified is second 1000 and a fraction.
    let table = "
header | 998 | 999 | 1000 | 1001
IMS    | ok  | ok  | 412  | 412
IUS    | 412 | 412 | ok   | ok
";
    let cells = check_cells(table, 1, |row, seconds| {
        let date = Some(Timestamp::from_seconds(seconds.parse().unwrap()));
        let conditions = match row[0] {
            "IMS" => Conditions { if_modified_since: date, ..Conditions::default() },
            _ => Conditions { if_unmodified_since: date, ..Conditions::default() },
        };
        write(WriteRule::EXISTING, conditions, present()).into()
    });
    assert_eq!(cells, 8);
}

#[test]
fn b1_the_wildcard() {
    let table = "
header | write | present | absent
IM:*   | creating | ok   | 412
INM:*  | creating | 409  | ok
IM:*   | existing | ok   | 404
INM:*  | existing | 412  | 404
";
    let cells = check_cells(table, 2, |row, resource| {
        let conditions = if row[0] == "IM:*" { conditions("*", "-", "-", "-") } else { conditions("-", "-", "*", "-") };
        let rule = if row[1] == "creating" { WriteRule::CREATING } else { WriteRule::EXISTING };
        write(rule, conditions, if resource == "present" { present() } else { Resource::Absent }).into()
    });
    assert_eq!(cells, 8);
}

#[test]
fn b2_reads() {
    // `any` and `ok/absent` of the reference are spelled out: every line of the table, then every combination below.
    let table = "
IM   | IUS  | INM  | IMS  | answer
fail | -    | -    | -    | 412
fail | ok   | ok   | ok   | 412
fail | fail | fail | fail | 412
fail | -    | fail | -    | 412
-    | fail | -    | -    | 412
ok   | fail | ok   | ok   | 412
-    | fail | fail | fail | 412
-    | -    | fail | -    | 304
ok   | ok   | fail | -    | 304
-    | -    | -    | fail | 304
ok   | ok   | -    | fail | 304
-    | -    | fail | ok   | 200
ok   | ok   | fail | ok   | 200
-    | -    | ok   | fail | 200
ok   | ok   | ok   | fail | 200
-    | -    | fail | fail | 304
ok   | ok   | fail | fail | 304
-    | -    | -    | -    | 200
ok   | ok   | ok   | ok   | 200
two  | -    | -    | -    | 200
-    | -    | two  | -    | 304
*    | -    | -    | -    | 200
-    | -    | *    | -    | 400 Unsatisfiable
fail | -    | *    | -    | 400 Unsatisfiable
-    | -    | *    | ok   | 400 Unsatisfiable
";
    let cells = check_cells(table, 4, |row, _| read(NEW, conditions(row[0], row[1], row[2], row[3]), present()).into());
    assert_eq!(cells, 25);
}

#[test]
fn b2_every_combination_of_a_read_follows_the_formula() {
    let values = ["-", "ok", "fail"];
    let mut combinations = 0;
    for im in values {
        for ius in values {
            for inm in values {
                for ims in values {
                    combinations += 1;
                    let precondition = im != "fail" && ius != "fail";
                    let changed = match (inm, ims) {
                        ("-", "-") => true,
                        (inm, ims) => inm == "ok" || ims == "ok",
                    };
                    let expected = match (precondition, changed) {
                        (false, _) => "412",
                        (true, false) => "304",
                        (true, true) => "200",
                    };
                    let sent = conditions(im, ius, inm, ims);
                    assert_eq!(read(NEW, sent, present()), expected, "{im} {ius} {inm} {ims}");
                    assert_eq!(read(NEW, sent, Resource::Absent), "404", "{im} {ius} {inm} {ims}");
                }
            }
        }
    }
    assert_eq!(combinations, 81);
}

#[test]
fn b2_reads_before_2013_08_15() {
    let table = "
IM   | IUS  | INM  | IMS  | 2012-02-12
-    | -    | -    | -    | 200
ok   | -    | -    | -    | 200
fail | -    | -    | -    | 412
-    | ok   | -    | -    | 200
-    | fail | -    | -    | 412
-    | -    | ok   | -    | 200
-    | -    | fail | -    | 304
-    | -    | -    | ok   | 200
-    | -    | -    | fail | 304
ok   | fail | -    | -    | 200
fail | ok   | -    | -    | 412
-    | -    | ok   | fail | 200
-    | -    | fail | ok   | 304
ok   | -    | ok   | -    | 400 Multiple
-    | ok   | -    | ok   | 400 Multiple
two  | -    | -    | -    | 400 Multiple
-    | -    | *    | -    | 400 Unsatisfiable
";
    let cells = check_cells(table, 4, |row, _| read(OLD, conditions(row[0], row[1], row[2], row[3]), present()).into());
    assert_eq!(cells, 17);
    assert_eq!(read(OLD, conditions("ok", "-", "-", "-"), Resource::Absent), "404");
}

const B3: &str = "
IM   | IUS  | INM  | IMS  | creating, present | creating, absent | existing, present | existing, absent
-    | -    | -    | -    | ok                | ok               | ok                | 404
ok   | -    | -    | -    | ok                | 412              | ok                | 404
fail | -    | -    | -    | 412               | 412              | 412               | 404
*    | -    | -    | -    | ok                | 412              | ok                | 404
-    | ok   | -    | -    | ok                | ok               | ok                | 404
-    | fail | -    | -    | 412               | ok               | 412               | 404
-    | -    | ok   | -    | ok                | ok               | ok                | 404
-    | -    | fail | -    | 412               | ok               | 412               | 404
-    | -    | *    | -    | 409               | ok               | 412               | 404
-    | -    | -    | ok   | ok                | ok               | ok                | 404
-    | -    | -    | fail | 412               | ok               | 412               | 404
ok   | ok   | -    | -    | ok                | 412              | ok                | 404
ok   | fail | -    | -    | ok                | 412              | ok                | 404
fail | ok   | -    | -    | 412               | 412              | 412               | 404
fail | fail | -    | -    | 412               | 412              | 412               | 404
*    | fail | -    | -    | ok                | 412              | ok                | 404
-    | -    | ok   | ok   | ok                | ok               | ok                | 404
-    | -    | ok   | fail | ok                | ok               | ok                | 404
-    | -    | fail | ok   | 412               | ok               | 412               | 404
-    | -    | fail | fail | 412               | ok               | 412               | 404
-    | -    | *    | ok   | 409               | ok               | 412               | 404
two  | -    | -    | -    | 400 Multiple      | 400 Multiple     | 400 Multiple      | 400 Multiple
-    | -    | two  | -    | 400 Multiple      | 400 Multiple     | 400 Multiple      | 400 Multiple
ok   | -    | ok   | -    | 400 Multiple      | 400 Multiple     | 400 Multiple      | 400 Multiple
ok   | -    | -    | ok   | 400 Multiple      | 400 Multiple     | 400 Multiple      | 400 Multiple
-    | ok   | ok   | -    | 400 Multiple      | 400 Multiple     | 400 Multiple      | 400 Multiple
-    | ok   | -    | ok   | 400 Multiple      | 400 Multiple     | 400 Multiple      | 400 Multiple
ok   | ok   | ok   | -    | 400 Multiple      | 400 Multiple     | 400 Multiple      | 400 Multiple
ok   | ok   | -    | ok   | 400 Multiple      | 400 Multiple     | 400 Multiple      | 400 Multiple
ok   | -    | ok   | ok   | 400 Multiple      | 400 Multiple     | 400 Multiple      | 400 Multiple
-    | ok   | ok   | ok   | 400 Multiple      | 400 Multiple     | 400 Multiple      | 400 Multiple
ok   | ok   | ok   | ok   | 400 Multiple      | 400 Multiple     | 400 Multiple      | 400 Multiple
";

#[test]
fn b3_writes() {
    let cells = check_cells(B3, 4, |row, heading| {
        let rule = if heading.starts_with("creating") { WriteRule::CREATING } else { WriteRule::EXISTING };
        let resource = if heading.ends_with("present") { present() } else { Resource::Absent };
        write(rule, conditions(row[0], row[1], row[2], row[3]), resource).into()
    });
    assert_eq!(cells, 128);
}

#[test]
fn b3_what_containers_accept() {
    let table = "
header | Set Metadata     | Set ACL, Delete, Lease | Set Immutability Policy
IM     | 400 NotSupported | 400 NotSupported       | 400 NotSupported
INM    | 400 NotSupported | 400 NotSupported       | 400 NotSupported
IMS    | ok               | ok                     | 400 NotSupported
IUS    | 400 NotSupported | ok                     | ok
none   | ok               | ok                     | ok
";
    let cells = check_cells(table, 1, |row, operation| {
        let rule = match operation {
            "Set Metadata" => WriteRule::MODIFIED_SINCE_ONLY,
            "Set Immutability Policy" => WriteRule::UNMODIFIED_SINCE_ONLY,
            _ => WriteRule::DATES_ONLY,
        };
        let conditions = match row[0] {
            "IM" => conditions("ok", "-", "-", "-"),
            "INM" => conditions("-", "-", "ok", "-"),
            "IMS" => conditions("-", "-", "-", "ok"),
            "IUS" => conditions("-", "ok", "-", "-"),
            _ => conditions("-", "-", "-", "-"),
        };
        write(rule, conditions, present()).into()
    });
    assert_eq!(cells, 15);
}

#[test]
fn b4_sources_of_copies() {
    let table = "
IM   | IUS  | INM  | IMS  | source present | source absent
-    | -    | -    | -    | ok             | 404
ok   | -    | -    | -    | ok             | 404
fail | -    | -    | -    | 412            | 404
*    | -    | -    | -    | ok             | 404
-    | ok   | -    | -    | ok             | 404
-    | fail | -    | -    | 412            | 404
-    | -    | ok   | -    | ok             | 404
-    | -    | fail | -    | 412            | 404
-    | -    | *    | -    | 412            | 404
-    | -    | -    | ok   | ok             | 404
-    | -    | -    | fail | 412            | 404
ok   | fail | -    | -    | ok             | 404
-    | -    | fail | ok   | 412            | 404
ok   | -    | ok   | -    | 400 Multiple   | 400 Multiple
two  | -    | -    | -    | 400 Multiple   | 400 Multiple
";
    let cells = check_cells(table, 4, |row, heading| {
        let source = if heading == "source present" { present() } else { Resource::Absent };
        match conditions(row[0], row[1], row[2], row[3]).check_source(source) {
            Ok(()) => "ok".into(),
            Err(SourceRefusal::NotFound) => "404".into(),
            Err(SourceRefusal::ConditionNotMet(_)) => "412".into(),
            Err(SourceRefusal::MultipleConditionHeaders) => "400 Multiple".into(),
        }
    });
    assert_eq!(cells, 30);
}

proptest! {
    #[test]
    fn any_text_is_a_list_or_refused(text in "\\PC{0,200}", value in any::<u64>()) {
        if let Ok(condition) = ETagCondition::parse(&text) {
            prop_assert!(condition.count() >= 1);
            let _ = condition.names(ETag::new(value));
        }
    }

    #[test]
    fn lists_of_odd_characters_are_read_or_refused(text in "[\"*,W/ 0x1F]{0,40}") {
        if let Ok(condition) = ETagCondition::parse(&text) {
            prop_assert!(!condition.names(CURRENT));
        }
    }

    #[test]
    fn an_etag_is_found_wherever_it_stands(
        values in prop::collection::vec(any::<u64>(), 1..20),
        at in any::<prop::sample::Index>(),
        quoted in any::<bool>(),
        absent in any::<u64>(),
    ) {
        let texts: Vec<String> = values
            .iter()
            .map(|value| if quoted { format!("\"{}\"", ETag::new(*value)) } else { ETag::new(*value).to_string() })
            .collect();
        let text = texts.join(", ");
        let condition = ETagCondition::parse(&text).unwrap();
        prop_assert_eq!(condition.count(), values.len());
        prop_assert!(condition.names(ETag::new(*at.get(&values))));
        prop_assert_eq!(condition.names(ETag::new(absent)), values.contains(&absent));
    }

    #[test]
    fn a_stale_etag_never_writes(stored in any::<u64>(), sent in any::<u64>(), creates in any::<bool>()) {
        prop_assume!(stored != sent);
        let text = format!("\"{}\"", ETag::new(sent));
        let conditions = Conditions { if_match: Some(ETagCondition::parse(&text).unwrap()), ..Conditions::default() };
        let resource = Resource::Present { etag: ETag::new(stored), last_modified: Timestamp::from_seconds(1) };
        let rule = if creates { WriteRule::CREATING } else { WriteRule::EXISTING };
        for holds_lease in [false, true] {
            prop_assert!(conditions.check_write(rule, resource, holds_lease).is_err());
        }
    }
}
