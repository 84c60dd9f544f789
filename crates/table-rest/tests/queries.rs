//! What filters and options mean.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use testkit::RestService;

const JSON: (&str, &str) = ("Content-Type", "application/json");
const PLAIN: (&str, &str) = ("Accept", "application/json;odata=nometadata");

/// Two entities: `a` with Yes, `b` without.
async fn with_entities() -> RestService {
    let tables = support::service().await;
    tables.call("POST", "/Tables", &[JSON], br#"{"TableName":"people"}"#).await;
    for body in [r#"{"PartitionKey":"p","RowKey":"a","Yes":true}"#, r#"{"PartitionKey":"p","RowKey":"b","Yes":false}"#]
    {
        let made = tables.call("POST", "/people", &[JSON], body.as_bytes()).await;
        assert_eq!(made.status, 201, "{made:?}");
    }
    tables
}

#[tokio::test]
async fn null_is_invalid_and_functions_and_two_properties_or_constants_are_not_implemented() {
    let tables = with_entities().await;
    for (filter, expected) in [
        ("Yes%20eq%20null", (400, "InvalidInput")),
        ("null%20ne%20Yes", (400, "InvalidInput")),
        ("startswith(RowKey,'a')", (501, "NotImplemented")),
        ("RowKey%20eq%20PartitionKey", (501, "NotImplemented")),
        ("1%20eq%201", (501, "NotImplemented")),
    ] {
        let answer = tables.call("GET", &format!("/people()?$filter={filter}"), &[], b"").await;
        assert_eq!(answer.verdict(), expected, "{filter}: {answer:?}");
    }
}

#[tokio::test]
async fn a_boolean_of_a_filter_has_any_letter_case() {
    let tables = with_entities().await;
    for (constant, found) in [("true", "a"), ("True", "a"), ("TRUE", "a"), ("False", "b"), ("FALSE", "b")] {
        let target = format!("/people()?$filter=Yes%20eq%20{constant}&$select=RowKey");
        let answer = tables.call("GET", &target, &[PLAIN], b"").await;
        assert_eq!(answer.text(), format!(r#"{{"value":[{{"RowKey":"{found}"}}]}}"#), "{constant}");
    }
}

#[tokio::test]
async fn a_top_of_zero_is_an_empty_page() {
    let tables = with_entities().await;
    for target in ["/people()?$top=0", "/Tables?$top=0"] {
        let answer = tables.call("GET", target, &[PLAIN], b"").await;
        assert_eq!((answer.status, &*answer.text()), (200, r#"{"value":[]}"#), "{target}: {answer:?}");
        assert!(!answer.headers.iter().any(|(name, _)| name.contains("continuation")), "{target}: {answer:?}");
    }
    for target in ["/people()?$top=-1", "/people()?$top=1001"] {
        let answer = tables.call("GET", target, &[PLAIN], b"").await;
        assert_eq!(answer.verdict(), (400, "InvalidInput"), "{target}: {answer:?}");
    }
    let missing = tables.call("GET", "/nobody()?$top=0", &[PLAIN], b"").await;
    assert_eq!(missing.verdict(), (404, "TableNotFound"), "{missing:?}");
}
