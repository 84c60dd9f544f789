//! What asks for features that the service does not have. It is refused by name: a client that asks for the owner of NFS
//! or for a link must never be told that it got them.

use rest::{Headers, ServiceError};

use crate::{header_names::FILE_PROPERTY_SEMANTICS, route::Operation};

/// Beginnings of the names of headers that ask for such a feature, in any request.
const BEGINNINGS: &[&str] = &[
    // NFS.
    "x-ms-mode",
    "x-ms-owner",
    "x-ms-group",
    "x-ms-root-squash",
    "x-ms-file-file-type",
    "x-ms-file-mode-copy-mode",
    "x-ms-file-owner-copy-mode",
    "x-ms-link-",
    "x-ms-file-target-file",
    // Customer keys.
    "x-ms-encryption-",
];

/// Beginnings of the names of headers that only copies take.
const OF_COPIES: &[&str] =
    &["x-ms-copy-", "x-ms-requires-sync", "x-ms-source-if-", "x-ms-source-content-", "x-ms-source-range"];

/// Refuses a request that asks for something that does not exist, or that belongs to another operation.
pub(crate) fn refuse(operation: Operation, sent: &Headers) -> Result<(), ServiceError> {
    let has_source = matches!(operation, Operation::CopyFile | Operation::PutRangeFromURL | Operation::AbortCopyFile);
    let has_link =
        matches!(operation, Operation::CreateSymbolicLink | Operation::GetSymbolicLink | Operation::CreateHardLink);
    for (name, value) in sent {
        let is_one = |beginnings: &[&str]| beginnings.iter().any(|beginning| name.starts_with(beginning));
        if !name.starts_with("x-ms-") {
            continue;
        }
        if !has_source && is_one(OF_COPIES) {
            return Err(ServiceError::unsupported_header(name, "REDACTED"));
        }
        let restores = name == FILE_PROPERTY_SEMANTICS.as_str() && !value.as_bytes().eq_ignore_ascii_case(b"new");
        if restores || (!has_link && is_one(BEGINNINGS)) {
            return Err(ServiceError::unsupported_header(name, &String::from_utf8_lossy(value.as_bytes())));
        }
    }
    Ok(())
}

/// The answer to an operation that no share here has.
pub(crate) fn operation(operation: Operation) -> ServiceError {
    let (name, value, reason) = match operation {
        Operation::CreateSymbolicLink | Operation::GetSymbolicLink => {
            ("restype", "symboliclink", "symbolic links are for NFS shares, and this is an SMB share")
        }
        _ => ("restype", "hardlink", "hard links are for NFS shares, and this is an SMB share"),
    };
    ServiceError::invalid_query(name, value, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_exist_is_refused_by_name() {
        let table = [
            ("x-ms-file-attributes", "None", true),
            ("x-ms-meta-x-ms-owner", "a", true),
            ("x-ms-source-lease-id", "a", true),
            ("x-ms-source-allow-trailing-dot", "true", true),
            ("x-ms-file-property-semantics", "New", true),
            ("x-ms-file-property-semantics", "Restore", false),
            ("x-ms-mode", "0644", false),
            ("x-ms-owner", "0", false),
            ("x-ms-root-squash", "NoRootSquash", false),
            ("x-ms-copy-source", "http://a/b", false),
            ("x-ms-encryption-key", "c2VjcmV0", false),
        ];
        for (name, value, fine) in table {
            let sent: Headers = [(name, value)].into_iter().collect();
            let refused = refuse(Operation::CreateFile, &sent).err();
            assert_eq!(refused.is_none(), fine, "{name}");
            assert!(refused.is_none_or(|error| !format!("{error:?}").contains("c2VjcmV0")), "a key is shown");
        }
    }
}
