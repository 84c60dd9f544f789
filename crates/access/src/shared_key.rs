//! Shared Key and Shared Key Lite: the request is signed with a key of the account.
//!
//! Owns the strings that are signed and the comparison. Must never see a protocol's types: the parts come in as text.
//!
//! The documentation leaves some of a string to the client's library, and libraries differ: which account name stands
//! before the path, and how headers are sorted. Every form that is accepted signs the same method, the same resource, the
//! same parameters and the same headers.

mod canonical;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use types::{ServiceVersion, Timestamp};

use crate::{Accounts, account::Account, grant::Grant, need::Service};

/// How far the clocks of client and server may be apart.
const WINDOW: Duration = Duration::from_mins(15);

/// The parts of a request that are signed.
#[derive(Clone, Copy, Debug)]
pub struct SignedParts<'a> {
    /// The service: the Table service has strings of its own.
    pub service: Service,
    /// The HTTP verb as it was sent.
    pub method: &'a str,
    /// The path as it was sent, still encoded.
    pub raw_path: &'a str,
    /// True when the path begins with the account's name.
    pub path_style: bool,
    /// The query parameters, decoded, in any order.
    pub query: &'a [(&'a str, &'a str)],
    /// All headers: lower-case names, values as sent, in the order they were sent.
    pub headers: &'a [(&'a str, &'a str)],
    /// The service version.
    pub version: ServiceVersion,
    /// The instant of `x-ms-date`, or else of `Date`, if it is one.
    pub date: Option<Timestamp>,
}

/// The two schemes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// `SharedKey`
    SharedKey,
    /// `SharedKeyLite`
    SharedKeyLite,
}

impl Scheme {
    /// Splits the value of an Authorization header; `None` for another scheme.
    #[must_use]
    pub fn split(authorization: &str) -> Option<(Self, &str)> {
        let (scheme, rest) = authorization.trim().split_once(' ')?;
        match scheme {
            "SharedKey" => Some((Self::SharedKey, rest)),
            "SharedKeyLite" => Some((Self::SharedKeyLite, rest)),
            _ => None,
        }
    }
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

/// Verifies `authorization`, the value of the Authorization header behind its scheme.
///
/// # Errors
/// A [`SharedKeyRefusal`].
pub fn verify(
    accounts: &Accounts,
    account: &Arc<Account>,
    scheme: Scheme,
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
    let usual = string_to_sign(name, scheme, parts);
    if let Some(key) = account.key_of(&usual, &signature) {
        return Ok(Grant::shared_key(accounts, account, key.clone(), now));
    }
    for other in canonical::other_forms(name, scheme, parts) {
        if let Some(key) = account.key_of(&other, &signature) {
            return Ok(Grant::shared_key(accounts, account, key.clone(), now));
        }
    }
    Err(SharedKeyRefusal::Mismatch { string_to_sign: usual })
}

/// What a client signs.
#[must_use]
pub fn string_to_sign(account: &str, scheme: Scheme, parts: &SignedParts<'_>) -> String {
    canonical::string_to_sign(account, scheme, parts, parts.raw_path, canonical::Sorting::Bytes)
}
