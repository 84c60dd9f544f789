//! The one table from refusals of the Queue service to status, code and message.

use concurrency::visibility::ParameterRefusal;
use queue::errors::QueueError;
use rest::{ServiceError, caller};
use types::ErrorCode;

pub(crate) fn of(error: QueueError) -> ServiceError {
    match error {
        QueueError::Denied(denied) => caller::denied_answer(&denied),
        QueueError::Store(error) => ServiceError::from_store(&error),
        QueueError::QueueNotFound => say(ErrorCode::QueueNotFound, "The specified queue does not exist."),
        QueueError::QueueAlreadyExists => say(ErrorCode::QueueAlreadyExists, "The specified queue already exists."),
        QueueError::MessageNotFound(_) => say(ErrorCode::MessageNotFound, "The specified message does not exist."),
        QueueError::Parameter(refusal) => parameter(refusal, None),
    }
}

/// A number that is not allowed, shown as it was sent.
pub(crate) fn parameter(refusal: ParameterRefusal, sent: Option<&str>) -> ServiceError {
    let shown = |value: i64| sent.map_or_else(|| value.to_string(), str::to_owned);
    let bound = |bound: i64| u64::try_from(bound).unwrap_or_default();
    match refusal {
        ParameterRefusal::OutOfRange { parameter, value, minimum, maximum } => {
            ServiceError::out_of_range_query(parameter.as_str(), &shown(value), bound(minimum), bound(maximum))
        }
        ParameterRefusal::Invalid { parameter, value } => {
            ServiceError::invalid_query(parameter.as_str(), &shown(value), &refusal.to_string())
        }
        ParameterRefusal::Missing { parameter } => ServiceError::missing_query(parameter.as_str()),
    }
}

fn say(code: ErrorCode, message: &str) -> ServiceError {
    ServiceError::new(code, message)
}
