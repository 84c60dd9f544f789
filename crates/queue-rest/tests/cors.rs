//! What browsers are told.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use testkit::{Answer, RestService};

const ORIGIN: (&str, &str) = ("Origin", "http://a.contoso.com");

/// A service with one rule.
async fn with_rule(origins: &str, exposed: &str) -> RestService {
    let queues = support::service().await;
    let rule = format!(
        "<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>{origins}</AllowedOrigins>\
         <AllowedMethods>GET,PUT</AllowedMethods><AllowedHeaders>*</AllowedHeaders>\
         <ExposedHeaders>{exposed}</ExposedHeaders><MaxAgeInSeconds>5</MaxAgeInSeconds></CorsRule></Cors>\
         </StorageServiceProperties>"
    );
    let set = queues.call("PUT", "/?restype=service&comp=properties", &[], rule.as_bytes()).await;
    assert_eq!(set.status, 202, "{set:?}");
    queues
}

fn exposed(answer: &Answer) -> Vec<String> {
    answer.header("access-control-expose-headers").split(',').map(str::to_lowercase).collect()
}

#[tokio::test]
async fn a_wildcard_exposes_the_headers_of_the_service_itself() {
    let queues = with_rule("*", "*").await;
    let made = queues.call("PUT", "/que", &[ORIGIN], b"").await;
    assert_eq!(made.status, 201, "{made:?}");
    // createIfNotExists reads the code of the second answer.
    let again = queues.call("PUT", "/que", &[ORIGIN, ("x-ms-meta-a", "b")], b"").await;
    assert_eq!(again.verdict(), (409, "QueueAlreadyExists"), "{again:?}");
    for name in ["x-ms-error-code", "x-ms-request-id", "x-ms-version", "date"] {
        assert!(exposed(&again).iter().any(|exposed| exposed == name), "{name}: {again:?}");
        assert!(again.has(name), "{name}: {again:?}");
    }
    let mut names = exposed(&again);
    names.sort();
    names.dedup();
    assert_eq!(names.len(), exposed(&again).len(), "each once: {again:?}");
}

#[tokio::test]
async fn a_prefix_exposes_what_begins_with_it() {
    for (rule, expected, not) in [
        ("x-ms-meta-*", "x-ms-meta-a", "x-ms-request-id"),
        ("x-ms-*", "x-ms-request-id", "date"),
        ("X-MS-ERROR-CODE,x-ms-meta-*", "x-ms-error-code", "x-ms-version"),
    ] {
        let queues = with_rule("*", rule).await;
        queues.call("PUT", "/que", &[("x-ms-meta-a", "b")], b"").await;
        let answer = queues.call("GET", "/que?comp=metadata", &[ORIGIN], b"").await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let names = exposed(&answer);
        assert!(names.iter().any(|name| name == expected), "{rule}: {answer:?}");
        assert!(!names.iter().any(|name| name == not), "{rule}: {answer:?}");
    }
}

#[tokio::test]
async fn an_origin_below_a_wildcard_is_allowed_by_its_name() {
    let queues = with_rule("http://*.contoso.com", "").await;
    for (origin, allowed) in [("http://a.contoso.com", true), ("http://contoso.com.evil.test", false)] {
        let headers = [("Origin", origin), ("Access-Control-Request-Method", "GET")];
        let preflight = queues.unsigned("OPTIONS", "/que", &headers, b"").await;
        assert_eq!(preflight.status, if allowed { 200 } else { 403 }, "{origin}: {preflight:?}");
        let answer = queues.call("GET", "/?comp=list", &[("Origin", origin)], b"").await;
        let echoed = if allowed { origin } else { "" };
        assert_eq!(answer.header("access-control-allow-origin"), echoed, "{origin}: {answer:?}");
        assert_eq!(answer.header("vary"), "Origin", "{origin}: {answer:?}");
    }
}

#[tokio::test]
async fn a_preflight_without_the_method_lacks_a_required_header() {
    let queues = with_rule("*", "*").await;
    for headers in [vec![ORIGIN], vec![("Access-Control-Request-Method", "GET")], vec![]] {
        let answer = queues.unsigned("OPTIONS", "/que", &headers, b"").await;
        assert_eq!(answer.verdict(), (400, "InvalidHeaderValue"), "{answer:?}");
        let message = answer.element("Message").unwrap();
        assert!(message.starts_with("A required CORS header is not present."), "{message}");
    }
}
