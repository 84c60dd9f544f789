//! The names in a target, checked.

use concurrency::visibility::MessageNotFound;
use queue::{errors::QueueError, message::MessageId, queue::Address};
use rest::{Caller, Request, ServiceError};
use types::names::QueueName;

use crate::errors;

pub(crate) fn address(caller: &Caller, request: &Request) -> Result<Address, ServiceError> {
    let name = request.target.container.as_deref().unwrap_or_default();
    Ok(Address {
        account: caller.unit(),
        queue: QueueName::parse(name).map_err(|error| ServiceError::invalid_name(&error))?,
    })
}

/// The id of a message. No message has an id that is no GUID.
pub(crate) fn message(request: &Request) -> Result<MessageId, ServiceError> {
    let id = request.target.rest.as_deref().and_then(|rest| rest.strip_prefix("messages/"));
    let not_found = || errors::of(QueueError::MessageNotFound(MessageNotFound));
    id.and_then(MessageId::parse).ok_or_else(not_found)
}
