//! Blob Batch: what is refused as a whole, and how.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use support::{put, with_blob};
use testkit::{Answer, RestService};

const KIND: (&str, &str) = ("Content-Type", "multipart/mixed; boundary=batch");

async fn submit(blobs: &RestService, body: &str) -> Answer {
    blobs.call("POST", "/?comp=batch", &[KIND], body.as_bytes()).await
}

fn part(method: &str, target: &str) -> String {
    format!(
        "--batch\r\nContent-Type: application/http\r\nContent-ID: 0\r\n\r\n{method} {target} HTTP/1.1\r\n\
         Content-Length: 0\r\n\r\n"
    )
}

#[tokio::test]
async fn a_body_that_fails_as_a_whole_is_one_part() {
    let blobs = with_blob().await;
    let deletes: String = (0..257).map(|number| part("DELETE", &format!("/devstoreaccount1/box/{number}"))).collect();
    for body in [
        String::new(),
        "no batch at all".to_owned(),
        part("DELETE", "/devstoreaccount1/box/b"),
        format!("{}--batch--\r\n", part("GET", "/devstoreaccount1/box/b")),
        format!("{deletes}--batch--\r\n"),
    ] {
        let answer = submit(&blobs, &body).await;
        assert_eq!(answer.status, 202, "{body:.60}");
        let text = answer.text();
        assert_eq!(text.matches("HTTP/1.1 ").count(), 1, "{text}");
        assert!(text.contains("HTTP/1.1 400 ") && text.contains("x-ms-error-code: InvalidInput"), "{text}");
        assert!(!text.contains("Content-ID"), "it answers no single request: {text}");
    }
    assert_eq!(blobs.call("HEAD", "/box/b", &[], b"").await.status, 200, "nothing was done");
}

#[tokio::test]
async fn a_bad_outer_request_stays_a_plain_refusal() {
    let blobs = with_blob().await;
    let body = format!("{}--batch--\r\n", part("DELETE", "/devstoreaccount1/box/b"));
    for kind in ["application/json", "multipart/mixed", ""] {
        let answer = blobs.call("POST", "/?comp=batch", &[("Content-Type", kind)], body.as_bytes()).await;
        assert_eq!(answer.status, 400, "{kind:?}");
    }
    let anonymous = blobs.unsigned("POST", "/?comp=batch", &[KIND], body.as_bytes()).await;
    assert_eq!(anonymous.verdict(), (401, "NoAuthenticationInformation"), "a batch needs a credential of its own");
}

#[tokio::test]
async fn a_backslash_in_a_part_is_a_slash() {
    let blobs = with_blob().await;
    put(&blobs, "/box/x/y", "BlockBlob", &[], b"").await;
    let body = format!("{}--batch--\r\n", part("DELETE", "/devstoreaccount1/box/x%5Cy"));
    let answer = submit(&blobs, &body).await.text();
    // Without a credential of its own, but for a blob that exists.
    assert!(answer.contains("HTTP/1.1 401 "), "{answer}");
}
