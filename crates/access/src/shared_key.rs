//! Shared Key: the request is signed with a key of the account.
//!
//! Owns the string that is signed and the comparison. Must never see a protocol's types: the parts come in as text.

use std::{fmt::Write, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;
use types::{ServiceVersion, Timestamp};

use crate::{account::Account, authorized::Grant};

/// How far the clocks of client and server may be apart.
const WINDOW: Duration = Duration::from_mins(15);

/// The parts of a request that are signed.
#[derive(Clone, Copy, Debug)]
pub struct SignedParts<'a> {
    /// The method.
    pub method: &'a str,
    /// The path as it was sent, still encoded.
    pub raw_path: &'a str,
    /// The query parameters, decoded, in any order.
    pub query: &'a [(&'a str, &'a str)],
    /// All headers: lower-case names, values as sent, in the order they were sent.
    pub headers: &'a [(&'a str, &'a str)],
    /// The service version.
    pub version: ServiceVersion,
    /// The instant of `x-ms-date`, or else of `Date`, if it is one.
    pub date: Option<Timestamp>,
}

/// Why a signature is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SharedKeyRefusal {
    /// The header is not `SharedKey account:signature`.
    #[error("the Authorization header is not in the right form")]
    Malformed,
    /// The account named in the header is not the one addressed.
    #[error("the account of the Authorization header is not the one addressed")]
    OtherAccount,
    /// There is no date, or it is too far from server time.
    #[error("the date of the request is missing or more than 15 minutes from the time of the server")]
    Date,
    /// The signature is not the one any key makes.
    #[error("the signature does not match")]
    Mismatch {
        /// What should have been signed.
        string_to_sign: String,
    },
}

/// Verifies `authorization`, the value of the Authorization header without its scheme `SharedKey`.
///
/// # Errors
/// A [`SharedKeyRefusal`].
pub fn verify(
    account: &Account,
    authorization: &str,
    parts: &SignedParts<'_>,
    now: Timestamp,
) -> Result<Grant, SharedKeyRefusal> {
    let (name, signature) = authorization.trim().split_once(':').ok_or(SharedKeyRefusal::Malformed)?;
    if name != account.name.as_str() {
        return Err(SharedKeyRefusal::OtherAccount);
    }
    let signature = STANDARD.decode(signature).map_err(|_| SharedKeyRefusal::Malformed)?;
    let date = parts.date.ok_or(SharedKeyRefusal::Date)?;
    if now.saturating_since(date) > WINDOW || date.saturating_since(now) > WINDOW {
        return Err(SharedKeyRefusal::Date);
    }
    let string_to_sign = string_to_sign(account.name.as_str(), parts);
    let matches = |key: &&crate::AccountKey| {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key.bytes()) else { return false };
        mac.update(string_to_sign.as_bytes());
        bool::from(mac.finalize().into_bytes().as_slice().ct_eq(&signature))
    };
    // Every key is tried, whichever matches: the time it takes tells nothing.
    if account.keys.iter().filter(|key| matches(key)).count() > 0 {
        Ok(Grant::owner(account.unit))
    } else {
        Err(SharedKeyRefusal::Mismatch { string_to_sign })
    }
}

/// What a client signs for Blob, Queue and File.
#[must_use]
pub fn string_to_sign(account: &str, parts: &SignedParts<'_>) -> String {
    let mut text = String::with_capacity(512);
    let header =
        |name: &str| parts.headers.iter().find(|(sent, _)| *sent == name).map_or("", |(_, value)| value.trim());
    let content_length = match header("content-length") {
        // From 2015-02-21 on a length of zero is signed as nothing.
        "0" if parts.version.at_least(2015, 2, 21) => "",
        length => length,
    };
    // With x-ms-date the Date header is not signed.
    let date = if header("x-ms-date").is_empty() { header("date") } else { "" };
    let lines = [
        parts.method,
        header("content-encoding"),
        header("content-language"),
        content_length,
        header("content-md5"),
        header("content-type"),
        date,
        header("if-modified-since"),
        header("if-match"),
        header("if-none-match"),
        header("if-unmodified-since"),
        header("range"),
    ];
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
    canonical_headers(&mut text, parts.headers);
    canonical_resource(&mut text, account, parts);
    text
}

/// Verifies a signature of the Table service. `lite` for the shorter string.
///
/// # Errors
/// A [`SharedKeyRefusal`].
pub fn verify_table(
    account: &Account,
    authorization: &str,
    lite: bool,
    parts: &SignedParts<'_>,
    now: Timestamp,
) -> Result<Grant, SharedKeyRefusal> {
    let (name, signature) = authorization.trim().split_once(':').ok_or(SharedKeyRefusal::Malformed)?;
    if name != account.name.as_str() {
        return Err(SharedKeyRefusal::OtherAccount);
    }
    let signature = STANDARD.decode(signature).map_err(|_| SharedKeyRefusal::Malformed)?;
    let date = parts.date.ok_or(SharedKeyRefusal::Date)?;
    if now.saturating_since(date) > WINDOW || date.saturating_since(now) > WINDOW {
        return Err(SharedKeyRefusal::Date);
    }
    let header =
        |name: &str| parts.headers.iter().find(|(sent, _)| *sent == name).map_or("", |(_, value)| value.trim());
    let date = if header("x-ms-date").is_empty() { header("date") } else { header("x-ms-date") };
    let mut text = match lite {
        true => format!("{date}\n"),
        false => format!("{}\n{}\n{}\n{date}\n", parts.method, header("content-md5"), header("content-type")),
    };
    text.push_str(&format!("/{name}{}", parts.raw_path));
    if let Some((_, comp)) = parts.query.iter().find(|(name, _)| name.eq_ignore_ascii_case("comp")) {
        text.push_str(&format!("?comp={comp}"));
    }
    let matches = |key: &&crate::AccountKey| {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key.bytes()) else { return false };
        mac.update(text.as_bytes());
        bool::from(mac.finalize().into_bytes().as_slice().ct_eq(&signature))
    };
    if account.keys.iter().filter(|key| matches(key)).count() > 0 {
        Ok(Grant::owner(account.unit))
    } else {
        Err(SharedKeyRefusal::Mismatch { string_to_sign: text })
    }
}

fn canonical_headers(text: &mut String, headers: &[(&str, &str)]) {
    let mut ours: Vec<&(&str, &str)> = headers.iter().filter(|(name, _)| name.starts_with("x-ms-")).collect();
    ours.sort_by_key(|(name, _)| *name);
    let mut last = "";
    for (name, value) in ours {
        if *name == last {
            text.pop();
            text.push(',');
        } else {
            text.push_str(name);
            text.push(':');
        }
        text.push_str(value.trim());
        text.push('\n');
        last = name;
    }
}

fn canonical_resource(text: &mut String, account: &str, parts: &SignedParts<'_>) {
    text.push('/');
    text.push_str(account);
    text.push_str(parts.raw_path);
    let mut query: Vec<(String, &str)> =
        parts.query.iter().map(|(name, value)| (name.to_ascii_lowercase(), *value)).collect();
    query.sort();
    let mut last = None;
    for (name, value) in &query {
        if last == Some(name) {
            text.push(',');
            text.push_str(value);
        } else {
            // Writing to a string cannot fail.
            let _written = write!(text, "\n{name}:{value}");
        }
        last = Some(name);
    }
}

#[cfg(test)]
mod tests {
    use types::{UnitId, names::AccountName};

    use super::*;
    use crate::account::{AccountKey, DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};

    fn parts<'a>(query: &'a [(&'a str, &'a str)], headers: &'a [(&'a str, &'a str)]) -> SignedParts<'a> {
        SignedParts {
            method: "PUT",
            raw_path: "/devstoreaccount1/c/b%20c",
            query,
            headers,
            version: ServiceVersion::NEWEST,
            date: Some(Timestamp::from_seconds(1000)),
        }
    }

    #[test]
    fn the_string_follows_the_documented_order() {
        let query = [("Restype", "container"), ("comp", "b"), ("comp", "a")];
        let headers = [
            ("x-ms-version", "2021-12-02"),
            ("content-length", "0"),
            ("x-ms-date", " Sun, 15 Nov 2026 00:00:00 GMT "),
            ("date", "ignored"),
            ("range", "bytes=0-1"),
            ("x-ms-meta-b", "1"),
            ("x-ms-meta-b", "2"),
        ];
        assert_eq!(
            string_to_sign("devstoreaccount1", &parts(&query, &headers)),
            "PUT\n\n\n\n\n\n\n\n\n\n\nbytes=0-1\nx-ms-date:Sun, 15 Nov 2026 00:00:00 GMT\nx-ms-meta-b:1,2\n\
             x-ms-version:2021-12-02\n/devstoreaccount1/devstoreaccount1/c/b%20c\ncomp:a,b\nrestype:container"
        );
    }

    fn account() -> Account {
        let keys = vec![AccountKey::parse(DEVELOPMENT_KEY).unwrap()];
        Account { name: AccountName::parse(DEVELOPMENT_ACCOUNT).unwrap(), unit: UnitId::new(1), keys }
    }

    fn sign(text: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(account().keys[0].bytes()).unwrap();
        mac.update(text.as_bytes());
        format!("{DEVELOPMENT_ACCOUNT}:{}", STANDARD.encode(mac.finalize().into_bytes()))
    }

    #[test]
    fn a_right_signature_is_accepted_and_nothing_else() {
        let signed = parts(&[], &[("x-ms-date", "d")]);
        let authorization = sign(&string_to_sign(DEVELOPMENT_ACCOUNT, &signed));
        let now = Timestamp::from_seconds(1000);
        assert!(verify(&account(), &authorization, &signed, now).is_ok());
        let late = Timestamp::from_seconds(1000 + 901);
        assert_eq!(verify(&account(), &authorization, &signed, late).unwrap_err(), SharedKeyRefusal::Date);
        let other = SignedParts { method: "GET", ..signed };
        assert!(matches!(verify(&account(), &authorization, &other, now), Err(SharedKeyRefusal::Mismatch { .. })));
        let malformed = verify(&account(), "devstoreaccount1", &signed, now).unwrap_err();
        assert_eq!(malformed, SharedKeyRefusal::Malformed);
        let foreign = authorization.replace("devstore", "devstorf");
        assert_eq!(verify(&account(), &foreign, &signed, now).unwrap_err(), SharedKeyRefusal::OtherAccount);
    }
}
