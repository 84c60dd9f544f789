//! What a request brings that it is decided by: the lease id and the conditional headers. The published interface has no
//! conditions for files; the service has evaluated them, and a condition that is dropped is a lost update.

use file::{Preconditions, share_properties::SharePreconditions};
use rest::{
    Caller, Headers, ServiceError,
    preconditions::{conditions, lease_id},
};
use types::{ErrorCode, Timestamp};

/// What the operations on directories and files take.
pub(crate) fn of_path<'a>(
    caller: &Caller,
    sent: &'a Headers,
    now: Timestamp,
) -> Result<Preconditions<'a>, ServiceError> {
    Ok(Preconditions { version: caller.version, lease_id: lease_id(sent)?, conditions: conditions(sent, now)? })
}

/// What the operations on shares take.
pub(crate) fn of_share<'a>(
    caller: &Caller,
    sent: &'a Headers,
    now: Timestamp,
) -> Result<SharePreconditions<'a>, ServiceError> {
    Ok(SharePreconditions { version: caller.version, lease_id: lease_id(sent)?, conditions: conditions(sent, now)? })
}

/// Refuses conditions, so that nobody believes that they were checked.
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
