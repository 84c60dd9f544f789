//! The grammar of filters, case by case.

use proptest::prelude::*;

use super::*;

fn compare(property: &str, operator: Operator, constant: Value) -> Filter {
    Filter::Compare { property: property.into(), operator, constant }
}

fn text(value: &str) -> Value {
    Value::String(value.into())
}

#[test]
fn constants() {
    let table = [
        ("'a'", text("a")),
        ("''", text("")),
        ("'it''s'", text("it's")),
        ("''''", text("'")),
        ("5", Value::Int32(5)),
        ("-5", Value::Int32(-5)),
        ("+5", Value::Int32(5)),
        ("2147483648", Value::Int64(2_147_483_648)),
        ("5L", Value::Int64(5)),
        ("-9223372036854775808L", Value::Int64(i64::MIN)),
        ("5.0", Value::Double(5.0)),
        ("-.5", Value::Double(-0.5)),
        ("1e3", Value::Double(1000.0)),
        ("1E-3", Value::Double(0.001)),
        ("5d", Value::Double(5.0)),
        ("INF", Value::Double(f64::INFINITY)),
        ("-INF", Value::Double(f64::NEG_INFINITY)),
        ("true", Value::Boolean(true)),
        ("false", Value::Boolean(false)),
        ("True", Value::Boolean(true)),
        ("FALSE", Value::Boolean(false)),
        ("X'00fF'", Value::Binary(Bytes::from_static(&[0, 255]))),
        ("x''", Value::Binary(Bytes::new())),
        ("binary'a0'", Value::Binary(Bytes::from_static(&[0xA0]))),
        ("guid'c9da6455-213d-42c9-9a79-3e9149a57833'", Value::Guid(Guid::new(0xc9da6455_213d_42c9_9a79_3e9149a57833))),
        ("datetime'2024-05-01T10:20:30.5Z'", Value::DateTime(DateTime::parse("2024-05-01T10:20:30.5Z").unwrap())),
        ("datetime'2024-05-01'", Value::DateTime(DateTime::parse("2024-05-01").unwrap())),
    ];
    for (constant, value) in table {
        assert_eq!(parse(&format!("a eq {constant}")), Ok(compare("a", Operator::Equal, value)), "{constant}");
    }
}

#[test]
fn precedence_and_shape() {
    use Operator::{Equal, Greater, Less};
    let (a, b, c) = (
        compare("a", Equal, Value::Int32(1)),
        compare("b", Greater, Value::Int32(2)),
        compare("c", Less, Value::Int32(3)),
    );
    let not = |filter: &Filter| Filter::Not(Box::new(filter.clone()));
    let table = [
        ("a eq 1", a.clone()),
        ("1 eq a", a.clone()),
        ("2 lt b", b.clone()),
        (" ( ( a eq 1 ) ) ", a.clone()),
        ("a eq 1 or b gt 2 and c lt 3", Filter::Or(vec![a.clone(), Filter::And(vec![b.clone(), c.clone()])])),
        ("(a eq 1 or b gt 2)and(c lt 3)", Filter::And(vec![Filter::Or(vec![a.clone(), b.clone()]), c.clone()])),
        ("not a eq 1 and b gt 2", Filter::And(vec![not(&a), b.clone()])),
        ("not (a eq 1)", not(&a)),
        ("not not a eq 1", not(&not(&a))),
        ("active", compare("active", Equal, Value::Boolean(true))),
        ("not active", not(&compare("active", Equal, Value::Boolean(true)))),
        ("true", Filter::Constant(true)),
        ("a eq 1\tand\ntrue", Filter::And(vec![a, Filter::Constant(true)])),
        ("android eq 1", compare("android", Equal, Value::Int32(1))),
        ("Größe_1 eq 1", compare("Größe_1", Equal, Value::Int32(1))),
    ];
    for (filter, expected) in table {
        assert_eq!(parse(filter), Ok(expected), "{filter}");
    }
}

#[test]
fn errors_say_where() {
    let table = [
        ("", 0),
        ("a eq", 4),
        ("a eq 'x", 5),
        ("ä eq 'x", 5),
        ("a eq 1 b", 7),
        ("a equals 1", 2),
        ("(a eq 1", 7),
        ("a eq 1)", 6),
        ("a eq 1 and", 10),
        ("a eq 5x", 5),
        ("a eq 5LL", 5),
        ("a eq 1.2.3", 5),
        ("a eq 99999999999999999999", 5),
        ("a eq 99999999999999999999L", 5),
        ("a eq datetime'yesterday'", 5),
        ("a eq guid'x'", 5),
        ("a eq X'0'", 5),
        ("a eq X'zz'", 5),
        ("a eq time'1'", 5),
        ("'a'", 3),
        ("a eq -", 5),
        ("a eq ?", 5),
        ("a eq null", 5),
        ("null eq a", 0),
    ];
    for (filter, expected) in table {
        match parse(filter) {
            Err(FilterError::Syntax { position, .. }) => assert_eq!(position, expected, "{filter}"),
            other => panic!("{filter}: {other:?}"),
        }
    }
}

#[test]
fn what_the_service_does_not_have_is_told_apart() {
    for filter in ["a eq b", "1 eq 1", "startswith(a,'b')", "a add 1 eq 2", "true eq False", "a/b eq 1"] {
        assert!(matches!(parse(filter), Err(FilterError::NotSupported { .. })), "{filter}: {:?}", parse(filter));
    }
}

#[test]
fn depth_and_length_have_an_end() {
    for filter in ["(".repeat(100_000), "not ".repeat(7000), format!("{}a eq 1{}", "(".repeat(65), ")".repeat(65))] {
        assert!(parse(&filter).is_err());
    }
    assert!(parse(&format!("{}a eq 1{}", "(".repeat(60), ")".repeat(60))).is_ok());
    assert!(parse(&vec!["a eq 1"; 2000].join(" or ")).is_ok());
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(filter in "\\PC*|[a ()'0-9.eLXqndtor-]{0,40}") {
        let _read = parse(&filter);
    }
}
