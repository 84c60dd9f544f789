//! The one table from refusals of the Blob service to status, code and message.

use blob::errors::{About, BlobError};
use concurrency::{
    conditions::{ReadRefusal, WriteRefusal},
    lease::LeaseCheckRefusal,
};
use http::StatusCode;
use rest::{ServiceError, caller};
use types::ErrorCode;

pub(crate) fn of(error: BlobError) -> ServiceError {
    match error {
        BlobError::Denied(denied) => caller::denied_answer(&denied),
        BlobError::Store(error) => ServiceError::from_store(&error),
        BlobError::ContainerNotFound => say(ErrorCode::ContainerNotFound, "The specified container does not exist."),
        BlobError::BlobNotFound => say(ErrorCode::BlobNotFound, "The specified blob does not exist."),
        BlobError::ContainerAlreadyExists => {
            say(ErrorCode::ContainerAlreadyExists, "The specified container already exists.")
        }
        BlobError::BlobAlreadyExists => say(ErrorCode::BlobAlreadyExists, "The specified blob already exists."),
        BlobError::InvalidBlobType => say(ErrorCode::InvalidBlobType, "The blob type is invalid for this operation."),
        BlobError::Lease(about, refusal) => lease(about, refusal),
        BlobError::Read(refusal) => read(refusal),
        BlobError::Write(refusal) => write(refusal),
    }
}

fn say(code: ErrorCode, message: &str) -> ServiceError {
    ServiceError::new(code, message)
}

const NOT_MET: &str = "The condition specified using HTTP conditional header(s) is not met.";
const MULTIPLE: &str = "Multiple condition headers are not supported.";

fn read(refusal: ReadRefusal) -> ServiceError {
    match refusal {
        ReadRefusal::NotFound => say(ErrorCode::BlobNotFound, "The specified blob does not exist."),
        ReadRefusal::ConditionNotMet(_) => say(ErrorCode::ConditionNotMet, NOT_MET),
        ReadRefusal::NotModified => say(ErrorCode::ConditionNotMet, NOT_MET).with_status(StatusCode::NOT_MODIFIED),
        ReadRefusal::Unsatisfiable => say(
            ErrorCode::UnsatisfiableCondition,
            "The request includes an unsatisfiable condition for this operation.",
        ),
        ReadRefusal::MultipleConditionHeaders => say(ErrorCode::MultipleConditionHeadersNotSupported, MULTIPLE),
    }
}

fn write(refusal: WriteRefusal) -> ServiceError {
    match refusal {
        WriteRefusal::NotFound => say(ErrorCode::BlobNotFound, "The specified blob does not exist."),
        WriteRefusal::AlreadyExists => say(ErrorCode::BlobAlreadyExists, "The specified blob already exists."),
        WriteRefusal::ConditionNotMet(_) => say(ErrorCode::ConditionNotMet, NOT_MET),
        WriteRefusal::MultipleConditionHeaders => say(ErrorCode::MultipleConditionHeadersNotSupported, MULTIPLE),
        WriteRefusal::HeaderNotSupported(header) => {
            say(ErrorCode::ConditionHeadersNotSupported, "Condition headers are not supported.")
                .with_detail("HeaderName", format!("{header:?}"))
        }
    }
}

fn lease(about: About, refusal: LeaseCheckRefusal) -> ServiceError {
    let (noun, mismatch, absent) = match about {
        About::Blob => {
            ("blob", ErrorCode::LeaseIdMismatchWithBlobOperation, ErrorCode::LeaseNotPresentWithBlobOperation)
        }
        About::Container => (
            "container",
            ErrorCode::LeaseIdMismatchWithContainerOperation,
            ErrorCode::LeaseNotPresentWithContainerOperation,
        ),
    };
    match refusal {
        LeaseCheckRefusal::IdMissing => ServiceError::new(
            ErrorCode::LeaseIdMissing,
            format!("There is currently a lease on the {noun} and no lease ID was specified in the request."),
        ),
        LeaseCheckRefusal::IdMismatch => {
            ServiceError::new(mismatch, format!("The lease ID specified did not match the lease ID for the {noun}."))
        }
        LeaseCheckRefusal::NotPresent => {
            ServiceError::new(absent, format!("There is currently no lease on the {noun}."))
        }
        LeaseCheckRefusal::Lost => ServiceError::new(
            ErrorCode::LeaseLost,
            format!("A lease ID was specified, but the lease for the {noun} has expired."),
        ),
        LeaseCheckRefusal::InfiniteDurationRequired => say(
            ErrorCode::InfiniteLeaseDurationRequired,
            "The lease ID matched, but the specified lease must be an infinite-duration lease.",
        ),
    }
}
