//! Addresses that are of the service, or of a client that took a table for the service.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use testkit::{ACCOUNT, RestService, account_sas};

const JSON: (&str, &str) = ("Content-Type", "application/json");
const BATCH: (&str, &str) = ("Content-Type", "multipart/mixed; boundary=b");

async fn with_table() -> RestService {
    let tables = support::service().await;
    let made = tables.call("POST", "/Tables", &[JSON], br#"{"TableName":"mytable"}"#).await;
    assert_eq!(made.status, 201, "{made:?}");
    tables
}

#[tokio::test]
async fn what_stands_behind_a_table_is_answered_as_the_service_does() {
    let (with, without) = (with_table().await, support::service().await);
    let create = br#"{"TableName":"mytable"}"#;
    for (name, tables, verb, target, headers, expected, text) in [
        (
            "create, no table",
            &without,
            "POST",
            "/mytable/Tables",
            JSON,
            (404, "TableNotFound"),
            "specified does not exist",
        ),
        ("create", &with, "POST", "/mytable/Tables", JSON, (400, "PropertiesNeedValue"), "values are not specified"),
        (
            "delete, no table",
            &without,
            "DELETE",
            "/mytable/Tables('mytable')",
            JSON,
            (404, "TableNotFound"),
            "specified",
        ),
        (
            "delete",
            &with,
            "DELETE",
            "/mytable/Tables('mytable')",
            JSON,
            (400, "InvalidInput"),
            "The number of keys specified in the URI does not match number of key properties for the resource",
        ),
        ("batch", &with, "POST", "/mytable/$batch", BATCH, (415, "MediaTypeNotSupported"), "media types"),
        ("list", &with, "GET", "/mytable/Tables", JSON, (501, "NotImplemented"), "not implemented"),
    ] {
        let answer = tables.call(verb, target, &[headers], create).await;
        assert_eq!(answer.verdict(), expected, "{name}: {answer:?}");
        assert!(answer.text().contains(text), "{name}: {answer:?}");
    }
    // Nothing was created, and nothing deleted.
    let listed = with.call("GET", "/Tables", &[("Accept", "application/json;odata=nometadata")], b"").await;
    assert_eq!(listed.text(), r#"{"value":[{"TableName":"mytable"}]}"#);
    // A slash in a key is a slash in a key.
    let keys = with.call("GET", "/mytable(PartitionKey='a%2Fb',RowKey='r')", &[], b"").await;
    assert_eq!(keys.status, 400, "{keys:?}");
}

#[tokio::test]
async fn the_properties_of_the_service_behind_a_table_are_an_invalid_parameter_in_xml() {
    let tables = with_table().await;
    for verb in ["GET", "PUT"] {
        let target = "/mytable/?restype=service&comp=properties";
        let answer = tables.call(verb, target, &[("Accept", "application/xml")], b"").await;
        assert_eq!(answer.verdict(), (400, "InvalidQueryParameterValue"), "{verb}: {answer:?}");
        assert!(answer.header("content-type").starts_with("application/xml"), "{verb}: {answer:?}");
        assert!(answer.text().contains("<m:error xmlns:m="), "{verb}: {answer:?}");
        assert_eq!(answer.element("m:code").as_deref(), Some("InvalidQueryParameterValue"), "{verb}: {answer:?}");
    }
}

#[tokio::test]
async fn the_service_document_names_the_tables() {
    let tables = with_table().await;
    let plain = tables.call("GET", "/", &[("Accept", "application/json;odata=nometadata")], b"").await;
    assert_eq!((plain.status, &*plain.text()), (200, r#"{"value":[{"name":"Tables","url":"Tables"}]}"#), "{plain:?}");
    let minimal = tables.call("GET", "/", &[("Accept", "application/json")], b"").await;
    let metadata = format!(r#"{{"odata.metadata":"http://127.0.0.1/{ACCOUNT}/$metadata","value""#);
    assert!(minimal.text().starts_with(&metadata), "{minimal:?}");
    let old = [("Accept", "application/atomsvc+xml"), ("x-ms-version", "2013-08-15")];
    let old = tables.call("GET", "/", &old, b"").await;
    assert!(old.status == 200 && old.text().contains(r#"<collection href="Tables">"#), "{old:?}");
    let stranger = tables.unsigned("GET", "/", &[], b"").await;
    assert_eq!(stranger.status, 401, "{stranger:?}");
}

#[tokio::test]
async fn the_schema_has_tables_and_the_three_properties_of_entities() {
    let tables = with_table().await;
    for accept in ["application/xml", "application/json", "*/*"] {
        let answer = tables.call("GET", "/$metadata", &[("Accept", accept)], b"").await;
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, "application/xml;charset=utf-8"),
            "{answer:?}"
        );
        for name in ["TableName", "PartitionKey", "RowKey", "Timestamp"] {
            assert!(answer.text().contains(&format!(r#"<Property Name="{name}""#)), "{name}: {answer:?}");
        }
    }
    let stranger = tables.unsigned("GET", "/$metadata", &[], b"").await;
    assert_eq!(stranger.status, 401, "{stranger:?}");
}

#[tokio::test]
async fn a_request_without_a_version_is_answered_with_that_of_the_first_clients() {
    let tables = with_table().await;
    let answer = tables.call("GET", "/Tables", &[("x-ms-version", "")], b"").await;
    assert_eq!((answer.status, answer.header("x-ms-version")), (200, "2009-09-19"), "{answer:?}");
    assert!(answer.header("content-type").starts_with("application/atom+xml"), "{answer:?}");
}

#[tokio::test]
async fn a_write_to_the_secondary_location_is_not_allowed() {
    let tables = support::service().await;
    let target = format!("/{ACCOUNT}-secondary/Tables");
    let headers = [("Host", "127.0.0.1"), ("Content-Type", "application/json"), ("x-ms-version", "2019-02-02")];
    let headers: Vec<_> = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let answer = tables.raw("POST", &target, &headers, br#"{"TableName":"mytable"}"#).await;
    assert_eq!(answer.verdict(), (403, "InsufficientAccountPermissions"), "{answer:?}");
    assert!(answer.text().contains(r#""value":"Write operations are not allowed.\n"#), "{answer:?}");
}

#[tokio::test]
async fn the_stats_of_tables_are_told_by_the_secondary_location_alone() {
    let tables = support::service().await;
    let primary = tables.call("GET", "/?restype=service&comp=stats", &[], b"").await;
    assert_eq!(primary.verdict(), (400, "InvalidQueryParameterValue"), "{primary:?}");
    let fields = [("sv", "2020-12-06"), ("ss", "t"), ("srt", "sco"), ("sp", "rl"), ("se", "2024-01-02T00:00:00Z")];
    let target = format!("/{ACCOUNT}-secondary/?restype=service&comp=stats&{}", account_sas(&fields));
    let secondary = tables.raw("GET", &target, &[], b"").await;
    assert_eq!(secondary.status, 200, "{secondary:?}");
}
