//! Part b.5 of the semantics: what tag expressions mean and which texts are none.

use proptest::prelude::*;

use super::{Dialect, Operator, Subject, TagExpression, TagExpressionError as Error};
use crate::table_test::check_cells;

fn value_of(tags: &'static [(&str, &str)]) -> impl Fn(&str) -> Option<&'static str> {
    move |name| tags.iter().find(|(tag, _)| *tag == name).map(|(_, value)| *value)
}

#[test]
fn b5_comparisons_are_of_strings() {
    let table = "
operator | less | equal | greater | tag absent
=        |      | true  |         |
<>       | true |       | true    |
<        | true |       |         |
<=       | true | true  |         |
>        |      |       | true    |
>=       |      | true  | true    |
";
    let cells = check_cells(table, 1, |row, actual| {
        let text = format!("Priority {} '10'", row[0]);
        let expression = TagExpression::parse(&text, Dialect::Condition).unwrap();
        let holds = match actual {
            // Text order: '05' < '10' < '9'.
            "less" => expression.holds(None, value_of(&[("Priority", "05")])),
            "equal" => expression.holds(None, value_of(&[("Priority", "10")])),
            "greater" => expression.holds(None, value_of(&[("Priority", "9")])),
            _ => expression.holds(None, value_of(&[])),
        };
        if holds { "true".into() } else { String::new() }
    });
    assert_eq!(cells, 24);
}

#[test]
fn b5_and_binds_tighter_than_or() {
    let (t, f) = ("a='1'", "a='2'");
    for (text, expected) in [
        (format!("{t} OR {t} AND {f}"), true),
        (format!("({t} OR {t}) AND {f}"), false),
        (format!("{f} AND {t} OR {t}"), true),
        (format!("{f} AND ({t} OR {t})"), false),
        (format!("{t} and {t} And {t}"), true),
        (format!("{t} AND {t} AND {f}"), false),
        (format!("{f} or {f} oR {t}"), true),
        (format!("(({t}))AND({t})"), true),
        (format!("{f} OR ({f} OR ({f} OR ({t})))"), true),
        (format!("{t} AND {f} OR {t} AND {t}"), true),
        (format!("{t} AND {f} OR {f} AND {t}"), false),
    ] {
        let expression = TagExpression::parse(&text, Dialect::Condition).unwrap();
        assert_eq!(expression.holds(None, value_of(&[("a", "1")])), expected, "{text}");
    }
}

#[test]
fn b5_names_are_bare_or_in_double_quotes() {
    let tags = value_of(&[("and", "1"), ("a b", "2"), ("x=y", "3"), ("empty", "")]);
    for text in ["and='1'", "\"a b\"='2'", "\"x=y\" = '3'", "empty=''", "and='1' and \"and\"='1'"] {
        assert!(TagExpression::parse(text, Dialect::Condition).unwrap().holds(None, &tags), "{text}");
    }
}

#[test]
fn b5_malformed_conditions() {
    let long_name = format!("{}='1'", "n".repeat(129));
    let long_value = format!("a='{}'", "v".repeat(257));
    for (text, error) in [
        ("", Error::NameExpected { at: 0 }),
        ("   ", Error::NameExpected { at: 3 }),
        ("a", Error::OperatorExpected { at: 1 }),
        ("a=", Error::ValueExpected { at: 2 }),
        ("a=1", Error::ValueExpected { at: 2 }),
        ("a='1", Error::ValueExpected { at: 2 }),
        ("a=\"1\"", Error::ValueExpected { at: 2 }),
        ("a=='1'", Error::ValueExpected { at: 2 }),
        ("a='1' b='2'", Error::ConnectiveExpected { at: 6 }),
        ("a='1' AND", Error::NameExpected { at: 9 }),
        ("AND a='1'", Error::OperatorExpected { at: 4 }),
        ("a='1' NOT b='2'", Error::ConnectiveExpected { at: 6 }),
        ("(a='1'", Error::UnmatchedParenthesis { at: 6 }),
        ("a='1')", Error::UnmatchedParenthesis { at: 6 }),
        ("()", Error::NameExpected { at: 1 }),
        ("\"\"='1'", Error::InvalidName { at: 2 }),
        ("ä='1'", Error::InvalidName { at: 2 }),
        ("a='ä'", Error::InvalidValue { at: 6 }),
        ("a='1''2'", Error::ConnectiveExpected { at: 5 }),
        ("@container='c'", Error::ContainerNotAllowed { at: 10 }),
        (&long_name, Error::InvalidName { at: 129 }),
        (&long_value, Error::InvalidValue { at: 261 }),
    ] {
        assert_eq!(TagExpression::parse(text, Dialect::Condition), Err(error), "{text}");
    }
}

#[test]
fn b5_limits() {
    let comparisons = |count| vec!["a='1'"; count].join(" OR ");
    assert!(TagExpression::parse(&comparisons(10), Dialect::Condition).is_ok());
    assert_eq!(TagExpression::parse(&comparisons(11), Dialect::Condition), Err(Error::TooManyComparisons { at: 95 }));
    let nested = |depth| format!("{}a='1'{}", "(".repeat(depth), ")".repeat(depth));
    assert!(TagExpression::parse(&nested(32), Dialect::Condition).is_ok());
    assert_eq!(TagExpression::parse(&nested(33), Dialect::Condition), Err(Error::TooDeep { at: 33 }));
    assert_eq!(TagExpression::parse(&" ".repeat(8 * 1024 + 1), Dialect::Condition), Err(Error::TooLong));
}

#[test]
fn searches_allow_less_and_name_the_container() {
    let find = |text| TagExpression::parse(text, Dialect::Find);
    let expression = find("@container = '$web' AND \"Date\" >= '2024-01-01' AND Date < '2025-01-01'").unwrap();
    let comparisons: Vec<_> = expression.comparisons().map(|c| (c.subject, c.operator, c.value)).collect();
    assert_eq!(
        comparisons,
        [
            (Subject::Container, Operator::Equal, "$web"),
            (Subject::Tag("Date"), Operator::GreaterOrEqual, "2024-01-01"),
            (Subject::Tag("Date"), Operator::Less, "2025-01-01"),
        ]
    );
    let tags = value_of(&[("Date", "2024-07-01")]);
    assert!(expression.holds(Some("$web"), &tags) && !expression.holds(Some("web"), &tags));
    assert!(!expression.holds(None, &tags));
    for (text, error) in [
        ("a<>'1'", Error::OperatorNotAllowed { at: 3 }),
        ("a='1' OR b='2'", Error::OperatorNotAllowed { at: 8 }),
        ("@container>'c'", Error::ContainerNotAllowed { at: 11 }),
        ("@blob='c'", Error::ContainerNotAllowed { at: 5 }),
        ("a='1' AND a='2'", Error::NotARange { at: 15 }),
        ("a>'1' AND a>='2'", Error::NotARange { at: 16 }),
        ("a='1' AND a>'2'", Error::NotARange { at: 15 }),
        ("a>'1' AND a<'2' AND a<'3'", Error::NotARange { at: 25 }),
        ("@container='a' AND @container='b'", Error::NotARange { at: 33 }),
    ] {
        assert_eq!(find(text), Err(error), "{text}");
    }
}

#[test]
fn a_search_compares_ten_tags_besides_the_container() {
    let text = |tags: usize| {
        let tags: Vec<String> = (0..tags).map(|number| format!("t{number}>'1' AND t{number}<'9'")).collect();
        format!("@container='c' AND {}", tags.join(" AND "))
    };
    let tags = value_of(&[("t0", "5")]);
    assert!(TagExpression::parse(&text(1), Dialect::Find).unwrap().holds(Some("c"), &tags));
    assert!(TagExpression::parse(&text(10), Dialect::Find).is_ok());
    let eleven = text(11);
    let error = TagExpression::parse(&eleven, Dialect::Find);
    assert!(matches!(error, Err(Error::TooManyTags { at }) if at > 190), "{error:?}");
}

/// A random expression as text, with its truth value for the tag `a` = `m`.
fn expression() -> impl Strategy<Value = (String, bool)> {
    let leaf = (prop::sample::select(vec!["=", "<>", "<", "<=", ">", ">="]), prop::sample::select(vec!["a", "m", "z"]))
        .prop_map(|(operator, value)| {
            let holds = match operator {
                "=" => "m" == value,
                "<>" => "m" != value,
                "<" => "m" < value,
                "<=" => "m" <= value,
                ">" => "m" > value,
                _ => "m" >= value,
            };
            (format!("a {operator} '{value}'"), holds)
        });
    leaf.prop_recursive(3, 8, 2, |inner| {
        (inner.clone(), inner, any::<bool>()).prop_map(|((left, l), (right, r), and)| {
            let word = if and { "AND" } else { "OR" };
            (format!("({left}) {word} ({right})"), if and { l && r } else { l || r })
        })
    })
}

proptest! {
    #[test]
    fn an_expression_means_what_its_tree_means((text, expected) in expression()) {
        let parsed = TagExpression::parse(&text, Dialect::Condition).unwrap();
        prop_assert_eq!(parsed.holds(None, value_of(&[("a", "m")])), expected, "{}", text);
    }

    #[test]
    fn any_text_is_an_expression_or_refused(text in "\\PC{0,100}") {
        for dialect in [Dialect::Condition, Dialect::Find] {
            if let Ok(expression) = TagExpression::parse(&text, dialect) {
                let _ = expression.holds(Some("c"), |_| Some("v"));
            }
        }
    }

    #[test]
    fn any_sequence_of_tokens_is_an_expression_or_refused(
        tokens in prop::collection::vec(
            prop::sample::select(vec!["a", "'1'", "\"b\"", "=", "<", ">", "<>", "(", ")", "AND", "OR", "@container", "'"]),
            0..30,
        ),
    ) {
        let text = tokens.join(" ");
        for dialect in [Dialect::Condition, Dialect::Find] {
            if let Ok(expression) = TagExpression::parse(&text, dialect) {
                prop_assert!(expression.comparisons().count() <= 10);
            }
        }
    }
}
