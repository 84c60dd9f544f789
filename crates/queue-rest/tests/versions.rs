//! Service versions that were not sent, are not known, or cannot be.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use testkit::account_sas;
use types::ServiceVersion;

#[tokio::test]
async fn a_version_far_in_the_future_is_refused_and_the_answer_has_none() {
    let queues = support::service().await;
    let answer = queues.call("GET", "/?comp=list", &[("x-ms-version", "2099-11-05")], b"").await;
    assert_eq!(answer.verdict(), (400, ""), "{answer:?}");
    assert!(!answer.has("x-ms-version") && !answer.has("x-ms-error-code"), "{answer:?}");
    assert_eq!(answer.element("Code").as_deref(), Some("InvalidHeaderValue"), "{answer:?}");
    assert_eq!(answer.element("HeaderName").as_deref(), Some("x-ms-version"), "{answer:?}");
    assert_eq!(answer.element("HeaderValue").as_deref(), Some("2099-11-05"), "{answer:?}");
}

#[tokio::test]
async fn a_version_newer_than_known_is_served_and_echoed() {
    let queues = support::service().await;
    let newer = ServiceVersion::of(queues.store.wall()).max(ServiceVersion::NEWEST).to_string();
    let newer = newer.replace("-06", "-07");
    let answer = queues.call("GET", "/?comp=list", &[("x-ms-version", &newer)], b"").await;
    assert_eq!((answer.status, answer.header("x-ms-version")), (200, &*newer), "{answer:?}");
}

#[tokio::test]
async fn the_version_is_answered_also_when_the_request_had_none() {
    let queues = support::service().await;
    let none = [("x-ms-version", "")];
    let signed = queues.call("GET", "/?comp=list", &none, b"").await;
    let newest = ServiceVersion::NEWEST.to_string();
    assert_eq!((signed.status, signed.header("x-ms-version")), (200, &*newest), "{signed:?}");
    let anonymous = queues.unsigned("GET", "/?comp=list", &none, b"").await;
    assert_eq!((anonymous.status, anonymous.header("x-ms-version")), (401, "2009-09-19"), "{anonymous:?}");
    let fields = [("sv", "2020-12-06"), ("ss", "q"), ("srt", "sco"), ("sp", "rl"), ("se", "2024-01-02T00:00:00Z")];
    let target = format!("/?comp=list&{}", account_sas(&fields));
    let by_signature = queues.unsigned("GET", &target, &none, b"").await;
    assert_eq!((by_signature.status, by_signature.header("x-ms-version")), (200, "2020-12-06"), "{by_signature:?}");
}

#[tokio::test]
async fn service_stats_are_told_by_the_secondary_location_alone() {
    let queues = support::service().await;
    let target = "/?restype=service&comp=stats";
    let primary = queues.call("GET", target, &[], b"").await;
    assert_eq!(primary.verdict(), (400, "InvalidQueryParameterValue"), "{primary:?}");
    let fields = [("sv", "2020-12-06"), ("ss", "q"), ("srt", "sco"), ("sp", "rl"), ("se", "2024-01-02T00:00:00Z")];
    let target = format!("/{}-secondary{target}&{}", testkit::ACCOUNT, account_sas(&fields));
    let secondary = queues.raw("GET", &target, &[], b"").await;
    assert_eq!(secondary.status, 200, "{secondary:?}");
    assert_eq!(secondary.element("Status").as_deref(), Some("live"), "{secondary:?}");
}

#[tokio::test]
async fn an_empty_optional_header_counts_as_absent() {
    let queues = support::service().await;
    let made = queues.call("PUT", "/que", &[], b"").await;
    assert_eq!(made.status, 201, "{made:?}");
    let date = rest::dates::rfc1123(queues.store.wall());
    for name in ["x-ms-version", "x-ms-client-request-id", "Content-MD5", "Content-Type", "Origin", "x-ms-lease-id"] {
        let target = format!("/{}/que", testkit::ACCOUNT);
        let mut headers: Vec<(String, String)> = vec![
            ("Host".to_owned(), "127.0.0.1".to_owned()),
            ("x-ms-date".to_owned(), date.clone()),
            ("Content-Length".to_owned(), "0".to_owned()),
            (name.to_owned(), String::new()),
        ];
        let authorization = testkit::authorization("queue", "PUT", &target, &headers);
        headers.push(("Authorization".to_owned(), authorization));
        let answer = queues.raw("PUT", &target, &headers, b"").await;
        assert_eq!(answer.verdict(), (204, ""), "{name}: {answer:?}");
    }
    // Where the date of x-ms-date is empty, that of Date counts.
    let target = format!("/{}/que", testkit::ACCOUNT);
    let mut headers: Vec<(String, String)> = vec![
        ("Host".to_owned(), "127.0.0.1".to_owned()),
        ("Date".to_owned(), date),
        ("x-ms-date".to_owned(), String::new()),
        ("Content-Length".to_owned(), "0".to_owned()),
    ];
    let authorization = testkit::authorization("queue", "PUT", &target, &headers);
    headers.push(("Authorization".to_owned(), authorization));
    let answer = queues.raw("PUT", &target, &headers, b"").await;
    assert_ne!(answer.status, 400, "{answer:?}");
    // An empty Authorization is none.
    let answer = queues.unsigned("PUT", "/que", &[("Authorization", "")], b"").await;
    assert_eq!(answer.verdict(), (401, "NoAuthenticationInformation"), "{answer:?}");
}
