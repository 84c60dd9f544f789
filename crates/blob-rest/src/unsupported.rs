//! Headers that ask for what does not exist yet. They are refused by name: a client that asks for encryption with its
//! own key, a legal hold or a tier must never be told that it got them.

use rest::{Caller, Headers, Request, ServiceError, headers};
use types::ErrorCode;

/// Beginnings of the names of such headers.
const BEGINNINGS: &[&str] = &[
    "x-ms-access-tier",
    "x-ms-blob-condition-",
    "x-ms-copy-",
    "x-ms-default-encryption-scope",
    "x-ms-deny-encryption-scope-override",
    "x-ms-encryption-",
    "x-ms-expiry-",
    "x-ms-if-tags",
    "x-ms-immutability-policy-",
    "x-ms-legal-hold",
    "x-ms-requires-sync",
    "x-ms-source-",
    "x-ms-tags",
];

const DELETE_SNAPSHOTS: http::HeaderName = http::HeaderName::from_static("x-ms-delete-snapshots");

/// Refuses a request that asks for something that does not exist yet.
pub(crate) fn refuse(sent: &Headers) -> Result<(), ServiceError> {
    for (name, value) in sent {
        if BEGINNINGS.iter().any(|beginning| name.starts_with(beginning)) {
            return Err(not_supported(name, &String::from_utf8_lossy(value.as_bytes())));
        }
    }
    match headers::text(sent, &DELETE_SNAPSHOTS)? {
        // No blob has snapshots: deleting it with all of them is deleting it.
        None | Some("include") => Ok(()),
        // And deleting only them must not delete the blob.
        Some("only") => Err(not_supported(DELETE_SNAPSHOTS.as_str(), "only")),
        Some(other) => Err(ServiceError::invalid_header(DELETE_SNAPSHOTS.as_str(), other)),
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

fn not_supported(name: &str, value: &str) -> ServiceError {
    ServiceError::new(
        ErrorCode::UnsupportedHeader,
        "One of the HTTP headers specified in the request is not supported.",
    )
    .with_detail("HeaderName", name)
    .with_detail("HeaderValue", if name.contains("key") { "REDACTED" } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_exist_is_refused_by_name() {
        let table = [
            ("x-ms-blob-type", "BlockBlob", None),
            ("x-ms-meta-x-ms-tags", "a", None),
            ("x-ms-delete-snapshots", "include", None),
            ("x-ms-delete-snapshots", "only", Some(ErrorCode::UnsupportedHeader)),
            ("x-ms-delete-snapshots", "some", Some(ErrorCode::InvalidHeaderValue)),
            ("x-ms-tags", "a=b", Some(ErrorCode::UnsupportedHeader)),
            ("x-ms-access-tier", "Cool", Some(ErrorCode::UnsupportedHeader)),
            ("x-ms-encryption-key", "c2VjcmV0", Some(ErrorCode::UnsupportedHeader)),
            ("x-ms-legal-hold", "true", Some(ErrorCode::UnsupportedHeader)),
            ("x-ms-copy-source", "http://elsewhere", Some(ErrorCode::UnsupportedHeader)),
        ];
        for (name, value, expected) in table {
            let sent: Headers = [(name, value)].into_iter().collect();
            let refused = refuse(&sent).err();
            assert_eq!(refused.as_ref().map(|error| error.code), expected, "{name}");
            assert!(refused.is_none_or(|error| !format!("{error:?}").contains("c2VjcmV0")), "a key is shown");
        }
    }
}
