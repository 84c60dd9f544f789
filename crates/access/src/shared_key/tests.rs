//! The strings that are signed, the forms in which libraries differ, and that no changed request is accepted.

use std::sync::Arc;

use proptest::prelude::*;
use types::names::AccountName;

use super::*;
use crate::{
    account::{AccountKey, DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY},
    need::Service,
};

const NOW: Timestamp = Timestamp::from_seconds(1_794_700_800);
const DATE: &str = "Sun, 15 Nov 2026 00:00:00 GMT";

fn accounts() -> (Accounts, Arc<Account>) {
    crate::grant::served_for_tests(DEVELOPMENT_ACCOUNT, &[DEVELOPMENT_KEY, "AQI="])
}

fn sign(key: &str, text: &str) -> String {
    format!("{DEVELOPMENT_ACCOUNT}:{}", AccountKey::parse(key).unwrap().sign_base64(text))
}

const PLAIN: SignedParts<'_> = SignedParts {
    service: Service::Blob,
    method: "PUT",
    raw_path: "/devstoreaccount1/c/b%20c",
    path_style: true,
    query: &[("Restype", "container"), ("comp", "b"), ("comp", "a")],
    headers: &[
        ("x-ms-version", "2021-12-02"),
        ("content-length", "0"),
        ("content-md5", "m"),
        ("content-type", "t"),
        ("x-ms-date", " Sun, 15 Nov 2026 00:00:00 GMT "),
        ("date", "ignored"),
        ("range", "bytes=0-1"),
        ("x-ms-meta-b", "1"),
        ("x-ms-meta-b", "2"),
    ],
    version: ServiceVersion::NEWEST,
    date: Some(NOW),
};

#[test]
fn the_strings_follow_the_documented_order() {
    let headers = "x-ms-date:Sun, 15 Nov 2026 00:00:00 GMT\nx-ms-meta-b:1,2\nx-ms-version:2021-12-02\n";
    let path = "/devstoreaccount1/devstoreaccount1/c/b%20c";
    let old = ServiceVersion::new(2014, 2, 14);
    let table = [
        (
            PLAIN,
            Scheme::SharedKey,
            format!("PUT\n\n\n\nm\nt\n\n\n\n\n\nbytes=0-1\n{headers}{path}\ncomp:a,b\nrestype:container"),
        ),
        (
            SignedParts { version: old, ..PLAIN },
            Scheme::SharedKey,
            format!("PUT\n\n\n0\nm\nt\n\n\n\n\n\nbytes=0-1\n{headers}{path}\ncomp:a,b\nrestype:container"),
        ),
        (PLAIN, Scheme::SharedKeyLite, format!("PUT\nm\nt\n\n{headers}{path}?comp=b")),
        (
            SignedParts { service: Service::Table, ..PLAIN },
            Scheme::SharedKey,
            format!("PUT\nm\nt\n{DATE}\n{path}?comp=b"),
        ),
        (SignedParts { service: Service::Table, ..PLAIN }, Scheme::SharedKeyLite, format!("{DATE}\n{path}?comp=b")),
        (
            SignedParts { headers: &[("date", DATE)], query: &[], ..PLAIN },
            Scheme::SharedKeyLite,
            format!("PUT\n\n\n{DATE}\n{path}"),
        ),
        (
            SignedParts { service: Service::Table, headers: &[("date", DATE)], query: &[], ..PLAIN },
            Scheme::SharedKeyLite,
            format!("{DATE}\n{path}"),
        ),
        (
            SignedParts { raw_path: "/c/b", path_style: false, headers: &[], query: &[], method: "GET", ..PLAIN },
            Scheme::SharedKey,
            format!("GET{}/devstoreaccount1/c/b", "\n".repeat(12)),
        ),
    ];
    for (parts, scheme, expected) in table {
        assert_eq!(string_to_sign(DEVELOPMENT_ACCOUNT, scheme, &parts), expected);
    }
}

#[test]
fn a_right_signature_is_accepted_and_nothing_else() {
    let (accounts, account) = accounts();
    let check = |authorization: &str, parts: &SignedParts<'_>, now| {
        verify(&accounts, &account, Scheme::SharedKey, authorization, parts, now).map(|_| ())
    };
    let text = string_to_sign(DEVELOPMENT_ACCOUNT, Scheme::SharedKey, &PLAIN);
    let authorization = sign(DEVELOPMENT_KEY, &text);
    assert_eq!(check(&authorization, &PLAIN, NOW), Ok(()));
    assert_eq!(check(&sign("AQI=", &text), &PLAIN, NOW), Ok(()), "the second key");
    assert!(check(&sign("AQM=", &text), &PLAIN, NOW).is_err(), "no key of the account");
    for (seconds, fine) in [(900, true), (901, false)] {
        let (late, early) = (NOW.seconds() + seconds, NOW.seconds() - seconds);
        for now in [late, early] {
            let expected = if fine { Ok(()) } else { Err(SharedKeyRefusal::Date) };
            assert_eq!(check(&authorization, &PLAIN, Timestamp::from_seconds(now)), expected, "{seconds}");
        }
    }
    assert_eq!(check(&authorization, &SignedParts { date: None, ..PLAIN }, NOW), Err(SharedKeyRefusal::Date));
    assert_eq!(check("devstoreaccount1", &PLAIN, NOW), Err(SharedKeyRefusal::Malformed));
    let foreign = authorization.replace("devstore", "devstorf");
    assert_eq!(check(&foreign, &PLAIN, NOW), Err(SharedKeyRefusal::OtherAccount));
    let other_scheme = verify(&accounts, &account, Scheme::SharedKeyLite, &authorization, &PLAIN, NOW);
    assert!(matches!(other_scheme, Err(SharedKeyRefusal::Mismatch { .. })));
}

#[test]
fn schemes_are_told_apart() {
    let table = [
        ("SharedKey a:b", Some((Scheme::SharedKey, "a:b"))),
        ("SharedKeyLite a:b", Some((Scheme::SharedKeyLite, "a:b"))),
        ("Bearer x", None),
        ("SharedKey", None),
        ("sharedkey a:b", None),
        ("", None),
    ];
    for (text, expected) in table {
        assert_eq!(Scheme::split(text), expected, "{text}");
    }
}

/// What libraries sign for the same request, and whether it is accepted.
#[test]
fn the_known_forms_of_a_path_are_accepted() {
    let (accounts, account) = accounts();
    let table = [
        ("/devstoreaccount1/c/b", true, "/devstoreaccount1/devstoreaccount1/c/b", true),
        ("/devstoreaccount1/c/b", true, "/devstoreaccount1/c/b", true),
        ("/devstoreaccount1", true, "/devstoreaccount1/", true),
        ("/devstoreaccount1-secondary/c/b", true, "/devstoreaccount1/devstoreaccount1-secondary/c/b", true),
        ("/devstoreaccount1-secondary/c/b", true, "/devstoreaccount1/devstoreaccount1/c/b", true),
        ("/devstoreaccount1-secondary/c/b", true, "/devstoreaccount1/c/b", true),
        ("/c/b", false, "/devstoreaccount1/c/b", true),
        ("/devstoreaccount1/b", false, "/devstoreaccount1/devstoreaccount1/b", true),
        // A container of the account's name in host style is not the account.
        ("/devstoreaccount1/b", false, "/devstoreaccount1/b", false),
        ("/devstoreaccount1/c/b", true, "/devstoreaccount1/c/b/", false),
        ("/devstoreaccount1/c%2Fb", true, "/devstoreaccount1/devstoreaccount1/c/b", false),
    ];
    for (raw_path, path_style, signed, fine) in table {
        let parts =
            SignedParts { method: "GET", raw_path, path_style, query: &[], headers: &[("date", DATE)], ..PLAIN };
        let text = format!("GET\n\n\n\n\n\n{DATE}\n\n\n\n\n\n{signed}");
        let found = verify(&accounts, &account, Scheme::SharedKey, &sign(DEVELOPMENT_KEY, &text), &parts, NOW);
        assert_eq!(found.is_ok(), fine, "{raw_path} signed as {signed}");
    }
}

#[test]
fn headers_may_be_sorted_by_bytes_or_as_the_service_does() {
    let (accounts, account) = accounts();
    let headers = [("x-ms-meta-a-b", "1"), ("x-ms-meta-aa", "2"), ("x-ms-meta-a_c", "3"), ("x-ms-date", DATE)];
    let parts = SignedParts { raw_path: "/devstoreaccount1/c", query: &[], headers: &headers, ..PLAIN };
    let date = format!("x-ms-date:{DATE}\n");
    let orders = [
        (format!("{date}x-ms-meta-a-b:1\nx-ms-meta-a_c:3\nx-ms-meta-aa:2\n"), true),
        (format!("{date}x-ms-meta-a_c:3\nx-ms-meta-aa:2\nx-ms-meta-a-b:1\n"), true),
        (format!("{date}x-ms-meta-aa:2\nx-ms-meta-a_c:3\nx-ms-meta-a-b:1\n"), false),
    ];
    for (order, fine) in orders {
        let text = format!("PUT{}{order}/devstoreaccount1/devstoreaccount1/c", "\n".repeat(12));
        let found = verify(&accounts, &account, Scheme::SharedKey, &sign(DEVELOPMENT_KEY, &text), &parts, NOW);
        assert_eq!(found.is_ok(), fine, "{order}");
    }
}

#[test]
fn an_account_name_is_checked_before_anything() {
    assert!(AccountName::parse(DEVELOPMENT_ACCOUNT).is_ok());
}

fn flipped(text: &str, place: usize, bit: u8) -> Option<String> {
    let mut bytes = text.as_bytes().to_vec();
    let place = place % bytes.len().max(1);
    *bytes.get_mut(place)? ^= 1 << (bit % 7);
    String::from_utf8(bytes).ok().filter(|changed| changed != text)
}

proptest! {
    /// Flip any bit of what was signed, or of the signature: never accepted.
    #[test]
    fn no_flipped_request_is_accepted(part in 0_usize..6, place in 0_usize..200, bit in 0_u8..7, lite: bool, table: bool) {
        let (accounts, account) = accounts();
        let scheme = if lite { Scheme::SharedKeyLite } else { Scheme::SharedKey };
        let service = if table { Service::Table } else { Service::Queue };
        let query = [("comp", "list"), ("prefix", "abc")];
        let headers = [("x-ms-date", DATE), ("content-type", "text/plain"), ("x-ms-meta-a", "value")];
        let signed = SignedParts { service, query: &query, headers: &headers, ..PLAIN };
        let authorization = sign(DEVELOPMENT_KEY, &string_to_sign(DEVELOPMENT_ACCOUNT, scheme, &signed));
        prop_assert!(verify(&accounts, &account, scheme, &authorization, &signed, NOW).is_ok());

        let change = |text: &str| flipped(text, place, bit);
        let outcome = match part {
            0 => change(signed.method).filter(|_| scheme == Scheme::SharedKey || !table).map(|method| {
                verify(&accounts, &account, scheme, &authorization, &SignedParts { method: &method, ..signed }, NOW)
            }),
            1 => change(signed.raw_path).map(|raw_path| {
                verify(&accounts, &account, scheme, &authorization, &SignedParts { raw_path: &raw_path, ..signed }, NOW)
            }),
            2 => change("list").map(|comp| {
                let query = [("comp", &*comp), ("prefix", "abc")];
                verify(&accounts, &account, scheme, &authorization, &SignedParts { query: &query, ..signed }, NOW)
            }),
            3 => change(DATE).map(|date| {
                let headers = [("x-ms-date", &*date), ("content-type", "text/plain"), ("x-ms-meta-a", "value")];
                verify(&accounts, &account, scheme, &authorization, &SignedParts { headers: &headers, ..signed }, NOW)
            }).filter(|_| change(DATE).is_some_and(|date| date.trim() == date)),
            4 => change("value").filter(|value| !table && value.trim() == value).map(|value| {
                let headers = [("x-ms-date", DATE), ("content-type", "text/plain"), ("x-ms-meta-a", &*value)];
                verify(&accounts, &account, scheme, &authorization, &SignedParts { headers: &headers, ..signed }, NOW)
            }),
            _ => change(&authorization).filter(|changed| changed.trim() == changed).map(|authorization| {
                verify(&accounts, &account, scheme, &authorization, &signed, NOW)
            }),
        };
        if let Some(outcome) = outcome {
            prop_assert!(outcome.is_err());
        }
    }
}
