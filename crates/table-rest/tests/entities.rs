//! Entities as clients send them and read them.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use testkit::{Answer, RestService};

const JSON: (&str, &str) = ("Content-Type", "application/json");
const ANY: (&str, &str) = ("If-Match", "*");
const ENTITY: &str = "/people(PartitionKey='p',RowKey='r')";

async fn with_table() -> RestService {
    let tables = support::service().await;
    let made = tables.call("POST", "/Tables", &[JSON], br#"{"TableName":"people"}"#).await;
    assert_eq!(made.status, 201, "{made:?}");
    tables
}

/// Inserts the entity of this name with these further members.
async fn insert(tables: &RestService, row: &str, members: &str) -> Answer {
    let comma = if members.is_empty() { "" } else { "," };
    let body = format!(r#"{{"PartitionKey":"p","RowKey":"{row}"{comma}{members}}}"#);
    tables.call("POST", "/people", &[JSON], body.as_bytes()).await
}

async fn read(tables: &RestService, target: &str) -> Answer {
    tables.call("GET", target, &[("Accept", "application/json;odata=nometadata")], b"").await
}

fn message(answer: &Answer) -> String {
    let document: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    document.pointer("/odata.error/message/value").unwrap().as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_boolean_may_be_sent_as_text_in_any_case() {
    let tables = with_table().await;
    for (row, text, stored) in
        [("a", "False", "false"), ("b", "true", "true"), ("c", "TRUE", "true"), ("d", "false", "false")]
    {
        let made = insert(&tables, row, &format!(r#""Yes@odata.type":"Edm.Boolean","Yes":"{text}""#)).await;
        assert_eq!(made.status, 201, "{text}: {made:?}");
        let got = read(&tables, &format!("/people(PartitionKey='p',RowKey='{row}')")).await;
        assert!(got.text().contains(&format!(r#""Yes":{stored}"#)), "{text}: {got:?}");
    }
    let refused = insert(&tables, "e", r#""Yes@odata.type":"Edm.Boolean","Yes":"maybe""#).await;
    assert_eq!(refused.verdict(), (400, "InvalidInput"), "{refused:?}");
}

#[tokio::test]
async fn typed_keys_in_the_body_do_not_count_where_the_address_has_the_keys() {
    let tables = with_table().await;
    let body = br#"{"PartitionKey@odata.type":"Edm.Int64","PartitionKey":"5","RowKey":7,"Age":3}"#;
    let refused = tables.call("POST", "/people", &[JSON], body).await;
    assert_eq!(refused.verdict(), (400, "InvalidInput"), "Insert has no other keys: {refused:?}");
    for (name, verb, headers) in [
        ("Insert Or Replace", "PUT", vec![JSON]),
        ("Insert Or Merge", "MERGE", vec![JSON]),
        ("Update", "PUT", vec![JSON, ANY]),
        ("Merge", "PATCH", vec![JSON, ANY]),
    ] {
        let answer = tables.call(verb, ENTITY, &headers, body).await;
        assert_eq!(answer.status, 204, "{name}: {answer:?}");
        let got = read(&tables, ENTITY).await;
        assert!(got.text().contains(r#""PartitionKey":"p","RowKey":"r""#), "{name}: {got:?}");
        assert!(got.text().contains(r#""Age":3"#), "{name}: {got:?}");
    }
}

#[tokio::test]
async fn a_selected_property_that_an_entity_lacks_is_null() {
    let tables = with_table().await;
    insert(&tables, "r", r#""Age":3"#).await;
    insert(&tables, "s", r#""Name":"n""#).await;
    let one = read(&tables, &format!("{ENTITY}?$select=Age,Name,RowKey")).await;
    assert_eq!(one.text(), r#"{"RowKey":"r","Age":3,"Name":null}"#);
    let page = read(&tables, "/people()?$select=Name,Name,Age").await;
    assert_eq!(page.text(), r#"{"value":[{"Age":3,"Name":null},{"Name":"n","Age":null}]}"#);
    let all = read(&tables, &format!("{ENTITY}?$select=Age")).await;
    assert_eq!(all.text(), r#"{"Age":3}"#);
    // No name of a property, so no property.
    let odd = read(&tables, &format!("{ENTITY}?$select=Age,a-b")).await;
    assert_eq!(odd.text(), r#"{"Age":3}"#);
    let atom = [("Accept", "application/atom+xml"), ("x-ms-version", "2013-08-15")];
    let old = tables.call("GET", &format!("{ENTITY}?$select=Name"), &atom, b"").await;
    assert!(old.text().contains(r#"<d:Name m:null="true"></d:Name>"#), "{old:?}");
}

#[tokio::test]
async fn a_property_name_with_an_at_sign_is_refused_and_not_lost() {
    let tables = with_table().await;
    for name in ["mail@home", "@mail", "mail@", "a@odata"] {
        let answer = insert(&tables, "r", &format!(r#""{name}":"x""#)).await;
        assert_eq!(answer.verdict(), (400, "PropertyNameInvalid"), "{name}: {answer:?}");
    }
    let annotated = insert(&tables, "r", r#""odata.etag":"x","Big@odata.type":"Edm.Int64","Big":"5""#).await;
    assert_eq!(annotated.status, 201, "{annotated:?}");
}

#[tokio::test]
async fn an_instant_before_1601_is_out_of_range() {
    let tables = with_table().await;
    for (instant, expected) in [
        ("0001-01-01T00:00:00Z", (400, "OutOfRangeInput")),
        ("1600-12-31T23:59:59.9999999Z", (400, "OutOfRangeInput")),
        ("1601-01-01T00:00:00Z", (201, "")),
        ("yesterday", (400, "InvalidInput")),
    ] {
        let members = format!(r#""Born@odata.type":"Edm.DateTime","Born":"{instant}""#);
        let answer = insert(&tables, "r", &members).await;
        assert_eq!(answer.verdict(), expected, "{instant}: {answer:?}");
        if expected.1 == "OutOfRangeInput" {
            let start = format!("The 'Born' parameter of value '{instant}' is out of range.");
            assert!(message(&answer).starts_with(&start), "{answer:?}");
        }
    }
}

#[tokio::test]
async fn a_number_out_of_its_range_is_an_error_while_processing() {
    let tables = with_table().await;
    for members in [
        r#""N@odata.type":"Edm.Int32","N":2147483648"#,
        r#""N@odata.type":"Edm.Int32","N":"-2147483649""#,
        r#""N@odata.type":"Edm.Int64","N":"9223372036854775808""#,
    ] {
        let answer = insert(&tables, "r", members).await;
        assert_eq!(answer.verdict(), (400, "InvalidInput"), "{members}: {answer:?}");
        let text = message(&answer);
        assert!(text.starts_with("An error occurred while processing this request."), "{members}: {text}");
    }
}

#[tokio::test]
async fn an_etag_with_a_small_w_is_the_same_etag() {
    let tables = with_table().await;
    let made = insert(&tables, "r", "").await;
    let small = made.header("etag").replacen('W', "w", 1);
    let stale = small.replace("2024", "2023");
    let answer = tables.call("DELETE", ENTITY, &[("If-Match", &stale)], b"").await;
    assert_eq!(answer.verdict(), (412, "UpdateConditionNotSatisfied"), "{answer:?}");
    let answer = tables.call("DELETE", ENTITY, &[("If-Match", &small)], b"").await;
    assert_eq!(answer.status, 204, "{answer:?}");
}

#[tokio::test]
async fn an_empty_header_counts_as_absent_but_not_a_condition() {
    let tables = with_table().await;
    let headers = [JSON, ("Prefer", ""), ("Accept", ""), ("X-HTTP-Method", "")];
    let answer = tables.call("POST", "/people", &headers, br#"{"PartitionKey":"p","RowKey":"r"}"#).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    for condition in ["If-Match", "If-None-Match"] {
        let answer = tables.call("PUT", ENTITY, &[JSON, (condition, "")], br#"{"Age":1}"#).await;
        assert_eq!(answer.verdict(), (400, "InvalidInput"), "{condition}: {answer:?}");
    }
    assert!(!read(&tables, ENTITY).await.text().contains("Age"));
}
