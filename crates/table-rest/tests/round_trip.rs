//! The whole way of a request, without a socket.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

const JSON: (&str, &str) = ("Content-Type", "application/json");

#[tokio::test]
async fn an_entity_is_inserted_and_read() {
    let tables = support::service().await;
    let created = tables.call("POST", "/Tables", &[JSON], br#"{"TableName":"things"}"#).await;
    assert_eq!(created.verdict(), (201, ""), "{created:?}");
    let inserted = tables.call("POST", "/things", &[JSON], br#"{"PartitionKey":"p","RowKey":"r","A":1}"#).await;
    assert_eq!(inserted.verdict(), (201, ""), "{inserted:?}");
    let got = tables.call("GET", "/things(PartitionKey='p',RowKey='r')", &[("Accept", "application/json")], b"").await;
    assert_eq!((got.status, got.header("etag")), (200, inserted.header("etag")), "{got:?}");
    assert!(got.text().contains(r#""A":1"#), "{got:?}");
}
