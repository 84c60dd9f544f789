//! The one table from refusals of the Table service to status, code and message, and the form that errors have here.

use concurrency::table_etag::{EntityRefusal, InvalidEntityCondition};
use rest::{ServiceError, caller};
use table::{
    batch::{BatchError, BatchRefusal},
    errors::{InvalidKey, InvalidProperties, TableError},
    query::FilterError,
};
use types::ErrorCode;

use crate::draft::DraftError;

pub(crate) fn of(error: TableError) -> ServiceError {
    match error {
        TableError::Denied(denied) => caller::denied_answer(&denied),
        TableError::Store(error) => ServiceError::from_store(&error),
        TableError::TableNotFound => say(ErrorCode::TableNotFound, "The table specified does not exist."),
        TableError::TableAlreadyExists => say(ErrorCode::TableAlreadyExists, "The table specified already exists."),
        TableError::Entity(refusal) => entity(refusal),
        TableError::Properties(invalid) => properties(&invalid),
        TableError::OutsideOfRange => say(
            ErrorCode::AuthorizationFailure,
            "This request is not authorized to perform this operation on the entities outside of its range.",
        ),
    }
}

fn say(code: ErrorCode, message: &str) -> ServiceError {
    ServiceError::new(code, message)
}

fn entity(refusal: EntityRefusal) -> ServiceError {
    match refusal {
        EntityRefusal::AlreadyExists => say(ErrorCode::EntityAlreadyExists, "The specified entity already exists."),
        EntityRefusal::NotFound => resource_not_found(),
        EntityRefusal::ConditionNotSatisfied => say(
            ErrorCode::UpdateConditionNotSatisfied,
            "The update condition specified in the request was not satisfied.",
        ),
        EntityRefusal::IfMatchRequired => ServiceError::missing_header("If-Match"),
    }
}

fn properties(invalid: &InvalidProperties) -> ServiceError {
    let (code, message) = match invalid {
        InvalidProperties::TooMany(_) => (
            ErrorCode::TooManyProperties,
            "The entity contains more properties than allowed. Each entity can include up to 252 properties to store \
             data. Each entity also has 3 system properties.",
        ),
        InvalidProperties::EntityTooLarge(_) => {
            (ErrorCode::EntityTooLarge, "The entity is larger than the maximum allowed size (1MB).")
        }
        InvalidProperties::ValueTooLarge(_) => (
            ErrorCode::PropertyValueTooLarge,
            "The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is \
             UTF-16 encoded and the maximum number of characters should be 32K or less.",
        ),
        InvalidProperties::NameTooLong(_) => {
            (ErrorCode::PropertyNameTooLong, "The property name exceeds the maximum allowed length (255).")
        }
        InvalidProperties::NameInvalid(_) => (ErrorCode::PropertyNameInvalid, "The property name is invalid."),
        InvalidProperties::Duplicate(_) => {
            (ErrorCode::DuplicatePropertiesSpecified, "A property is specified more than one time.")
        }
    };
    say(code, message).with_detail("Reason", invalid.to_string())
}

pub(crate) fn key(invalid: &InvalidKey) -> ServiceError {
    match invalid {
        InvalidKey::TooLarge(name) => ServiceError::new(
            ErrorCode::KeyValueTooLarge,
            format!("The value of {name} exceeds the maximum allowed size (1KB)."),
        ),
        InvalidKey::Character { name, value, .. } => {
            out_of_range(name, value).with_detail("Reason", invalid.to_string())
        }
    }
}

fn out_of_range(name: &str, value: &str) -> ServiceError {
    let shown: String = value.chars().take(64).collect();
    let message = format!("The '{name}' parameter of value '{shown}' is out of range.");
    ServiceError::new(ErrorCode::OutOfRangeInput, message)
}

pub(crate) fn resource_not_found() -> ServiceError {
    say(ErrorCode::ResourceNotFound, "The specified resource does not exist.")
}

pub(crate) fn keys_need_values() -> ServiceError {
    say(ErrorCode::PropertiesNeedValue, "The values are not specified for all properties in the entity.")
}

pub(crate) fn not_implemented() -> ServiceError {
    say(ErrorCode::NotImplemented, "The requested operation is not implemented on the specified resource.")
}

pub(crate) fn invalid_input(reason: String) -> ServiceError {
    say(ErrorCode::InvalidInput, "One of the request inputs is not valid.").with_detail("Reason", reason)
}

pub(crate) fn draft(error: &DraftError) -> ServiceError {
    match error {
        DraftError::Duplicate(name) => properties(&InvalidProperties::Duplicate(name.clone())),
        DraftError::TooMany => properties(&InvalidProperties::TooMany(crate::draft::MEMBERS_MAX)),
        DraftError::OutOfRange { name, value } => out_of_range(name, value).with_detail("Reason", error.to_string()),
        DraftError::Malformed(_) | DraftError::Value { .. } => {
            say(ErrorCode::InvalidInput, "An error occurred while processing this request.")
                .with_detail("Reason", error.to_string())
        }
    }
}

pub(crate) fn filter(error: &FilterError) -> ServiceError {
    match error {
        FilterError::Syntax { .. } => invalid_input(error.to_string()),
        FilterError::NotSupported { .. } => not_implemented().with_detail("Reason", error.to_string()),
    }
}

pub(crate) fn condition(error: InvalidEntityCondition) -> ServiceError {
    invalid_input(error.to_string())
}

/// The failure of a batch, and the change that it is about.
pub(crate) fn batch(error: BatchError) -> (usize, ServiceError) {
    let refused = match error.reason {
        BatchRefusal::Change(error) => of(error),
        BatchRefusal::TooMany => too_many_changes(),
        BatchRefusal::OtherPartition => say(
            ErrorCode::CommandsInBatchActOnDifferentPartitions,
            "All commands in a batch must operate on same entity group.",
        ),
        BatchRefusal::Duplicate => say(
            ErrorCode::InvalidDuplicateRow,
            "The batch request contains multiple changes with same row key. An entity can appear only once in a batch \
             request.",
        ),
    };
    (error.index, refused)
}

pub(crate) fn too_many_changes() -> ServiceError {
    say(ErrorCode::InvalidInput, "The batch request operation exceeds the maximum 100 changes per change set.")
}

/// The error as clients of this service read it: there is no place for details but the message. In a batch that begins
/// with the number of the operation.
pub(crate) fn told(mut error: ServiceError, index: Option<usize>) -> ServiceError {
    if let Some(index) = index {
        error.message.insert_str(0, &format!("{index}:"));
    }
    for (name, value) in std::mem::take(&mut error.details) {
        error.message.push_str(&format!("\n{name}:{value}"));
    }
    error
}
