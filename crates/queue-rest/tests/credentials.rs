//! Who is let in, and what the others are told.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use testkit::account_sas;

const KEY_REQUEST: &[u8] = b"<KeyInfo><Expiry>2024-01-02T00:00:00Z</Expiry></KeyInfo>";
const KEY_TARGET: &str = "/?restype=service&comp=userdelegationkey";
const BAD_TOKEN: (&str, &str) = ("Authorization", "Bearer no.such.token");

fn sas(more: &[(&str, &str)]) -> String {
    let usual = [("sv", "2021-12-02"), ("ss", "q"), ("srt", "sco"), ("sp", "rl"), ("se", "2024-01-02T00:00:00Z")];
    account_sas(&[&usual, more].concat())
}

#[tokio::test]
async fn a_control_character_in_a_field_of_a_signature_is_refused() {
    let queues = support::service().await;
    let good = queues.unsigned("GET", &format!("/?comp=list&{}", sas(&[])), &[], b"").await;
    assert_eq!(good.status, 200, "{good:?}");
    for more in ["ses=%0Ax-ms-need:v1", "sip=%0D", "spr=%00", "ses=a%7F"] {
        let answer = queues.unsigned("GET", &format!("/?comp=list&{}&{more}", sas(&[])), &[], b"").await;
        assert_eq!(answer.verdict(), (403, "AuthenticationFailed"), "{more}: {answer:?}");
        assert!(answer.text().contains("control character"), "{more}: {answer:?}");
    }
}

#[tokio::test]
async fn a_bad_token_is_403_before_2020_and_a_challenge_since() {
    let queues = support::service().await;
    for (version, expected, challenged) in [
        ("2018-11-09", (403, "AuthenticationFailed"), false),
        ("2019-07-07", (403, "AuthenticationFailed"), false),
        ("2020-02-10", (401, "InvalidAuthenticationInfo"), true),
        ("2021-12-02", (401, "InvalidAuthenticationInfo"), true),
    ] {
        let answer = queues.unsigned("GET", "/?comp=list", &[BAD_TOKEN, ("x-ms-version", version)], b"").await;
        assert_eq!(answer.verdict(), expected, "{version}: {answer:?}");
        assert_eq!(answer.has("www-authenticate"), challenged, "{version}: {answer:?}");
    }
}

#[tokio::test]
async fn a_delegation_key_for_anybody_without_a_token_is_authentication_failed() {
    let queues = support::service().await;
    let by_key = queues.call("POST", KEY_TARGET, &[("x-ms-version", "2025-07-05")], KEY_REQUEST).await;
    let target = format!("{KEY_TARGET}&{}", sas(&[]));
    let by_signature = queues.unsigned("POST", &target, &[("x-ms-version", "2025-07-05")], KEY_REQUEST).await;
    for answer in [by_key, by_signature] {
        assert_eq!(answer.verdict(), (403, "AuthenticationFailed"), "{answer:?}");
        let detail = answer.element("AuthenticationErrorDetail");
        assert_eq!(detail.as_deref(), Some("Only authentication scheme Bearer is supported"), "{answer:?}");
    }
}

#[tokio::test]
async fn what_a_signature_does_not_allow_is_refused_whether_the_queue_exists_or_not() {
    let queues = support::service().await;
    assert_eq!(queues.call("PUT", "/there", &[], b"").await.status, 201);
    let put = b"<QueueMessage><MessageText>x</MessageText></QueueMessage>";
    let readable = format!("/there/messages?peekonly=true&{}", sas(&[]));
    assert_eq!(queues.unsigned("GET", &readable, &[], b"").await.status, 200);
    for queue in ["there", "absent"] {
        for (method, target, body) in [
            ("POST", "messages?", &put[..]),
            ("GET", "messages?", b""),
            ("DELETE", "messages?", b""),
            ("GET", "?comp=acl&", b""),
            ("PUT", "?comp=metadata&", b""),
        ] {
            let slash = if target.starts_with('?') { "" } else { "/" };
            let target = format!("/{queue}{slash}{target}{}", sas(&[]));
            let answer = queues.unsigned(method, &target, &[], body).await;
            assert_eq!(answer.status, 403, "{method} {target}: {answer:?}");
        }
    }
    let absent = format!("/absent/messages?peekonly=true&{}", sas(&[]));
    assert_eq!(queues.unsigned("GET", &absent, &[], b"").await.verdict(), (404, "QueueNotFound"));
}
