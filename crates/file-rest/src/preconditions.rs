//! What a request brings that it is decided by: the lease id. The service has no conditions: who sends one is told so, because a
//! condition that is dropped is a lost update.

use concurrency::conditions::Conditions;
use file::{Preconditions, share_properties::SharePreconditions};
use rest::{Caller, Headers, ServiceError, preconditions::lease_id};
use types::ErrorCode;

/// What the operations on directories and files take.
pub(crate) fn of_path<'a>(caller: &Caller, sent: &Headers) -> Result<Preconditions<'a>, ServiceError> {
    Ok(Preconditions { version: caller.version, lease_id: lease_id(sent)?, conditions: Conditions::default() })
}

/// What the operations on shares take.
pub(crate) fn of_share<'a>(caller: &Caller, sent: &Headers) -> Result<SharePreconditions<'a>, ServiceError> {
    Ok(SharePreconditions { version: caller.version, lease_id: lease_id(sent)?, conditions: Conditions::default() })
}

/// Refuses conditions, also of reads, as the service does.
pub(crate) fn refuse(sent: &Headers) -> Result<(), ServiceError> {
    let names = ["if-match", "if-none-match", "if-modified-since", "if-unmodified-since"];
    match names.into_iter().find(|name| sent.contains_key(name)) {
        None => Ok(()),
        Some(name) => {
            let message = "Condition headers are not supported.";
            Err(ServiceError::new(ErrorCode::ConditionHeadersNotSupported, message).with_detail("HeaderName", name))
        }
    }
}
