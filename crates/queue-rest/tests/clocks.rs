//! Credentials are measured by the wall clock, data by server time.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use rest::dates;
use testkit::{RestService, account_sas};
use types::Timestamp;

const HOUR: Duration = Duration::from_secs(3600);

/// An hour of the wall clock, counted from the beginning of the test.
fn hour(hours: u64) -> Timestamp {
    Timestamp::from_seconds(1_704_067_200 + hours * 3600)
}

/// What List Queues answers to a client whose clock is right.
async fn status(queues: &RestService, wall: Timestamp) -> u16 {
    queues.call("GET", "/?comp=list", &[("x-ms-date", &dates::rfc1123(wall))], b"").await.status
}

fn sas(start: &str, expiry: &str) -> String {
    account_sas(&[("sv", "2021-12-02"), ("ss", "q"), ("srt", "sco"), ("sp", "rl"), ("st", start), ("se", expiry)])
}

fn token(not_before: Timestamp, expiry: Timestamp) -> String {
    let part = |text: String| URL_SAFE_NO_PAD.encode(text);
    let (nbf, exp) = (not_before.seconds(), expiry.seconds());
    let claims = format!(
        r#"{{"iss":"https://issuer.test/","aud":"https://storage.azure.com","oid":"o","nbf":{nbf},"exp":{exp}}}"#
    );
    format!("Bearer {}.{}.", part(r#"{"alg":"none"}"#.to_owned()), part(claims))
}

#[tokio::test]
async fn a_wall_clock_that_was_two_hours_ahead_locks_nobody_out_once_it_is_corrected() {
    let queues = support::service().await;
    queues.time.jump_to(hour(2));
    assert_eq!(status(&queues, hour(2)).await, 200, "the clients' clocks are ahead too");
    let ahead = queues.store.now();
    queues.time.jump_to(hour(0));
    assert_eq!(status(&queues, hour(0)).await, 200, "corrected");
    assert_eq!(status(&queues, hour(2)).await, 403, "a date two hours ahead is one");
    assert!(queues.store.now() >= ahead, "server time never goes back");
    let queues = queues.restart(support::build).await.unwrap();
    assert_eq!(status(&queues, hour(0)).await, 200, "and after a restart");
    assert!(queues.store.now() >= ahead, "nor across a restart");
}

#[tokio::test]
async fn a_machine_that_slept_for_an_hour_answers_everybody() {
    for monotonic_goes_on in [false, true] {
        let queues = support::service().await;
        assert_eq!(status(&queues, hour(0)).await, 200);
        if monotonic_goes_on {
            queues.time.advance(HOUR);
        } else {
            queues.time.jump_to(hour(1));
        }
        assert_eq!(status(&queues, hour(1)).await, 200, "{monotonic_goes_on}");
        assert_eq!(status(&queues, hour(0)).await, 403, "{monotonic_goes_on}");
        assert_eq!(queues.store.now(), hour(1), "server time knows of the hour: {monotonic_goes_on}");
    }
}

#[tokio::test]
async fn a_signature_begins_and_ends_by_the_wall_clock() {
    let signature = sas("2024-01-01T01:00:00Z", "2024-01-01T02:00:00Z");
    let target = format!("/?comp=list&{signature}");
    // where the wall clock is, one jump after the other, and the answer
    let table = [(0, 403), (1, 200), (2, 403), (1, 200), (0, 403), (100, 403), (1, 200)];
    let queues = support::service().await;
    for (at, expected) in table {
        queues.time.jump_to(hour(at));
        let answer = queues.unsigned("GET", &target, &[], b"").await;
        assert_eq!(answer.status, expected, "hour {at}: {answer:?}");
    }
}

#[tokio::test]
async fn a_token_begins_and_ends_by_the_wall_clock() {
    let authorization = token(hour(1), hour(2));
    let queues = support::service().await;
    for (at, expected) in [(0, 401), (1, 200), (3, 401), (1, 200)] {
        queues.time.jump_to(hour(at));
        let answer = queues.unsigned("GET", "/?comp=list", &[("Authorization", &authorization)], b"").await;
        assert_eq!(answer.status, expected, "hour {at}: {answer:?}");
    }
}

#[tokio::test]
async fn a_delegation_key_begins_by_the_wall_clock() {
    let queues = support::service().await;
    // Server time stays at the fifth hour.
    queues.time.jump_to(hour(5));
    assert_eq!(queues.store.now(), hour(5));
    queues.time.jump_to(hour(1));
    let headers = [("Authorization", &*token(hour(0), hour(9))), ("x-ms-version", "2025-07-05")];
    let body = b"<KeyInfo><Expiry>2024-01-08T01:00:00Z</Expiry></KeyInfo>";
    let answer = queues.unsigned("POST", "/?restype=service&comp=userdelegationkey", &headers, body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.element("SignedStart").as_deref(), Some("2024-01-01T01:00:00Z"));
    let later = b"<KeyInfo><Expiry>2024-01-08T01:00:01Z</Expiry></KeyInfo>";
    let answer = queues.unsigned("POST", "/?restype=service&comp=userdelegationkey", &headers, later).await;
    assert_eq!(answer.status, 400, "seven days count from the wall clock: {answer:?}");
}

#[tokio::test]
async fn answers_are_dated_by_the_wall_clock() {
    let queues = support::service().await;
    queues.time.jump_to(hour(2));
    let _ = queues.store.now();
    queues.time.jump_to(hour(0));
    let answer = queues.call("GET", "/?comp=list", &[], b"").await;
    assert_eq!(answer.header("date"), dates::rfc1123(hour(0)));
}
