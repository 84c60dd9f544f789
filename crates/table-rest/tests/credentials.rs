//! Who is let in, and what the others are told.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use testkit::account_sas;

const JSON: (&str, &str) = ("Content-Type", "application/json");
const BATCH: (&str, &str) = ("Content-Type", "multipart/mixed; boundary=batch_1");

fn sas(permissions: &str) -> String {
    let fields =
        [("sv", "2021-12-02"), ("ss", "t"), ("srt", "sco"), ("sp", permissions), ("se", "2024-01-02T00:00:00Z")];
    account_sas(&fields)
}

#[tokio::test]
async fn nobody_without_a_credential_is_served() {
    let tables = support::service().await;
    let created = tables.call("POST", "/Tables", &[JSON], br#"{"TableName":"people"}"#).await;
    assert_eq!(created.status, 201, "{created:?}");
    for (method, target) in [
        ("GET", "/"),
        ("GET", "/$metadata"),
        ("GET", "/Tables"),
        ("GET", "/people"),
        ("GET", "/people(PartitionKey='p',RowKey='r')"),
        ("GET", "/people?comp=acl"),
        ("PUT", "/people(PartitionKey='p',RowKey='r')"),
        ("DELETE", "/Tables('people')"),
        ("POST", "/$batch"),
        // What stands behind a table is looked up, by those who may.
        ("POST", "/people/more"),
    ] {
        let answer = tables.unsigned(method, target, &[], b"").await;
        assert_eq!(answer.verdict(), (401, "NoAuthenticationInformation"), "{method} {target}: {answer:?}");
        assert_eq!(answer.header("www-authenticate"), "SharedKey", "{method} {target}: {answer:?}");
    }
}

/// A change set of these requests, each with a body.
fn change_set(requests: &[(&str, &str)]) -> String {
    let mut body = "--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_1\r\n\r\n".to_owned();
    for (request, entity) in requests {
        body.push_str("--changeset_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n");
        body.push_str(&format!("{request} HTTP/1.1\r\nContent-Type: application/json\r\n\r\n{entity}\r\n"));
    }
    body + "--changeset_1--\r\n--batch_1--\r\n"
}

#[tokio::test]
async fn a_change_that_is_not_allowed_is_told_before_what_is_wrong_behind_it() {
    let tables = support::service().await;
    tables.call("POST", "/Tables", &[JSON], br#"{"TableName":"people"}"#).await;
    let insert = ("POST http://127.0.0.1/devstoreaccount1/people", r#"{"PartitionKey":"p","RowKey":"1"}"#);
    let upsert = ("PUT http://127.0.0.1/devstoreaccount1/people(PartitionKey='p',RowKey='2')", "{}");
    let broken = ("POST http://127.0.0.1/devstoreaccount1/people", "{");
    let denied = ("403", "AuthorizationPermissionMismatch");
    // Permissions of the signature, the change set, and the number, status and code that it fails with.
    for (permissions, requests, number, (status, code)) in [
        ("r", vec![insert, broken], "0:", denied),
        ("a", vec![insert, upsert], "1:", denied),
        ("a", vec![insert, upsert, broken], "1:", denied),
        ("a", vec![insert, broken, upsert], "1:", ("400", "InvalidInput")),
        ("a", vec![insert, insert], "1:", ("400", "InvalidDuplicateRow")),
        ("r", vec![insert, insert], "0:", denied),
    ] {
        let target = format!("/$batch?{}", sas(permissions));
        let answer = tables.unsigned("POST", &target, &[BATCH], change_set(&requests).as_bytes()).await;
        let (text, case) = (answer.text(), format!("{permissions} {requests:?}"));
        assert_eq!(answer.status, 202, "{case}: {answer:?}");
        assert!(text.contains(&format!("HTTP/1.1 {status} ")), "{case}: {answer:?}");
        assert!(text.contains(code) && text.contains(&format!("\"value\":\"{number}")), "{case}: {answer:?}");
    }
    let rows = tables.call("GET", "/people", &[("Accept", "application/json;odata=nometadata")], b"").await;
    assert_eq!(rows.text(), r#"{"value":[]}"#, "nothing was done");
    let target = format!("/$batch?{}", sas("au"));
    let done = tables.unsigned("POST", &target, &[BATCH], change_set(&[insert, upsert]).as_bytes()).await;
    assert!(done.text().contains("HTTP/1.1 201 ") && done.text().contains("HTTP/1.1 204 "), "{done:?}");
}
