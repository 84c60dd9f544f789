//! What asks for features that the service does not have. It is refused by name: a client that asks for encryption with
//! its own key or for a legal hold must never be told that it got them.

use rest::{Caller, Headers, Request, ServiceError};

use crate::route::Operation;

/// Beginnings of the names of headers that ask for such a feature.
const BEGINNINGS: &[&str] = &[
    // Customer keys and encryption scopes, of the blob or of the source of a copy.
    "x-ms-source-encryption-",
    "x-ms-default-encryption-scope",
    "x-ms-deny-encryption-scope-override",
    "x-ms-encryption-",
    // Immutability.
    "x-ms-immutability-policy-",
    "x-ms-legal-hold",
];

/// Beginnings of the names of headers that only copies take.
const OF_COPIES: &[&str] = &["x-ms-copy-source", "x-ms-requires-sync", "x-ms-source-"];

/// Refuses what only a copy takes, in a request that is none.
pub(crate) fn refuse_source(sent: &Headers) -> Result<(), ServiceError> {
    match sent.iter().find(|(name, _)| OF_COPIES.iter().any(|beginning| name.starts_with(beginning))) {
        Some((name, _)) => Err(ServiceError::unsupported_header(name, "REDACTED")),
        None => Ok(()),
    }
}

/// A signature with an encryption scope demands that what is written is encrypted with it; nothing can be.
pub(crate) fn refuse_scope(caller: &Caller, request: &Request) -> Result<(), ServiceError> {
    match caller.encryption_scope() {
        Some(scope) if !matches!(request.method, http::Method::GET | http::Method::HEAD | http::Method::DELETE) => {
            Err(ServiceError::invalid_query("ses", scope, "encryption scopes are not supported"))
        }
        _ => Ok(()),
    }
}

/// What a write of a new blob does not take, and what it would not be the same blob without: access control of another kind of
/// account, and what belongs to other operations.
const OF_PUT_BLOB: &[&str] = &[
    "x-ms-owner",
    "x-ms-group",
    "x-ms-acl",
    "x-ms-permissions",
    "x-ms-seal-blob",
    "x-ms-blob-condition-",
    "x-ms-delete-snapshots",
];
/// A copy is of all of its source; the lease of a source says nothing to it.
const OF_WHOLE_COPIES: &[&str] = &["x-ms-source-range", "x-ms-source-lease-id"];
/// Only Put Blob has an expiry; a blob that should be gone must not stay.
const OF_OTHERS: &[&str] = &["x-ms-expiry-"];

/// Beginnings of the names of headers that an operation refuses instead of ignoring them: a closed list. Headers that nobody
/// knows are ignored, as HTTP says.
const fn refused_by(operation: Operation) -> [&'static [&'static str]; 2] {
    match operation {
        Operation::PutBlob => [OF_PUT_BLOB, &[]],
        Operation::PutBlobFromURL => [OF_PUT_BLOB, &["x-ms-source-range", "x-ms-source-lease-id", "x-ms-expiry-"]],
        Operation::CopyBlob | Operation::CopyBlobFromURL => [OF_WHOLE_COPIES, OF_OTHERS],
        Operation::PutBlockList => [OF_OTHERS, &[]],
        _ => [&[], &[]],
    }
}

/// Refuses a request that asks for something that does not exist.
pub(crate) fn refuse(operation: Operation, sent: &Headers) -> Result<(), ServiceError> {
    let [these, those] = refused_by(operation);
    for (name, value) in sent {
        let is_one = |beginnings: &[&str]| beginnings.iter().any(|beginning| name.starts_with(beginning));
        if name.starts_with("x-ms-") && (is_one(BEGINNINGS) || is_one(these) || is_one(those)) {
            return Err(ServiceError::unsupported_header(name, &String::from_utf8_lossy(value.as_bytes())));
        }
    }
    Ok(())
}

/// The answer to an operation of a feature that does not exist.
pub(crate) fn operation(comp: &str, feature: &str) -> ServiceError {
    ServiceError::invalid_query("comp", comp, &format!("{feature} is not supported"))
}

#[cfg(test)]
mod tests {
    use types::ErrorCode;

    use super::*;

    #[test]
    fn what_does_not_exist_is_refused_by_name() {
        let table = [
            ("x-ms-blob-type", "BlockBlob", None),
            ("x-ms-meta-x-ms-legal-hold", "a", None),
            ("x-ms-tags", "a=b", None),
            ("x-ms-access-tier", "Cool", None),
            ("x-ms-encryption-key", "c2VjcmV0", Some(ErrorCode::UnsupportedHeader)),
            ("x-ms-encryption-scope", "mine", Some(ErrorCode::UnsupportedHeader)),
            ("x-ms-legal-hold", "true", Some(ErrorCode::UnsupportedHeader)),
            ("x-ms-immutability-policy-mode", "unlocked", Some(ErrorCode::UnsupportedHeader)),
        ];
        for (name, value, expected) in table {
            let sent: Headers = [(name, value)].into_iter().collect();
            let refused = refuse(Operation::GetBlob, &sent).err();
            assert_eq!(refused.as_ref().map(|error| error.code), expected, "{name}");
            assert!(refused.is_none_or(|error| !format!("{error:?}").contains("c2VjcmV0")), "a key is shown");
        }
    }
}
