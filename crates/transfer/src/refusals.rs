//! What is told about the source of a copy that cannot be read. It is an answer in an answer: the status, the code and the
//! message of the source stand in headers and in elements of their own.

use concurrency::conditions::ConditionHeader;
use http::{HeaderValue, StatusCode};
use rest::{ServiceError, outgoing::FetchError};
use types::ErrorCode;

use crate::header_names::{COPY_SOURCE_ERROR_CODE, COPY_SOURCE_STATUS_CODE};

/// What a source is read for. The operations differ in what they say when its conditions are not met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceUse {
    /// Copy Blob, Copy File: it may be read later.
    Later,
    /// Put Blob From URL, Copy Blob From URL: all of it, now.
    Whole,
    /// Put Block From URL, Append Block From URL, Put Page From URL, Put Range From URL: a part of it, now.
    Part,
}

const NOT_MET: &str = "The condition specified using HTTP conditional header(s) is not met.";

/// A condition of the source is not met: the recorded answers of the service.
#[must_use]
pub fn condition(usage: SourceUse, header: ConditionHeader) -> ServiceError {
    use ConditionHeader::{IfMatch, IfModifiedSince, IfNoneMatch, IfUnmodifiedSince};

    match (usage, header) {
        (SourceUse::Later, _) | (SourceUse::Whole, IfMatch) => ServiceError::new(
            ErrorCode::SourceConditionNotMet,
            "The source condition specified using HTTP conditional header(s) is not met.",
        )
        .with_detail("ConditionName", header.name()),
        (SourceUse::Part, IfMatch) | (SourceUse::Whole | SourceUse::Part, IfUnmodifiedSince) => {
            unverified(StatusCode::PRECONDITION_FAILED, "ConditionNotMet", NOT_MET)
        }
        (SourceUse::Whole | SourceUse::Part, IfNoneMatch | IfModifiedSince) => {
            unverified(StatusCode::NOT_MODIFIED, "ConditionNotMet", NOT_MET)
        }
    }
}

/// A source here would answer this.
#[must_use]
pub fn answered(error: &ServiceError) -> ServiceError {
    unverified(error.status, error.code.as_str(), &error.message)
}

/// The source answered that it cannot be read.
#[must_use]
pub fn unverified(status: StatusCode, code: &str, message: &str) -> ServiceError {
    let number = status.as_u16().to_string();
    let mut error = ServiceError::new(ErrorCode::CannotVerifyCopySource, message)
        .with_status(status)
        .with_detail("CopySourceStatusCode", &*number)
        .with_detail("CopySourceErrorCode", code)
        .with_detail("CopySourceErrorMessage", message);
    for (name, value) in [(COPY_SOURCE_STATUS_CODE, &*number), (COPY_SOURCE_ERROR_CODE, code)] {
        error.headers.extend(HeaderValue::from_str(value).ok().map(|value| (name, value)));
    }
    error
}

/// There is no answer of a source, or none that can be used.
#[must_use]
pub fn unusable(status: StatusCode, reason: &str) -> ServiceError {
    ServiceError::new(ErrorCode::CannotVerifyCopySource, "Could not verify the copy source within the specified time.")
        .with_status(status)
        .with_detail("Reason", reason)
}

/// It could not even be asked.
#[must_use]
pub fn unfetched(error: &FetchError) -> ServiceError {
    let status = match error {
        FetchError::Url(_) => StatusCode::BAD_REQUEST,
        FetchError::Forbidden(_) => StatusCode::FORBIDDEN,
        FetchError::Unreachable(_) => StatusCode::NOT_FOUND,
    };
    unusable(status, &error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failing_conditions_of_a_source() {
        use ConditionHeader::{IfMatch, IfModifiedSince, IfNoneMatch, IfUnmodifiedSince};
        use ErrorCode::{CannotVerifyCopySource as Unverified, SourceConditionNotMet as NotMet};

        let table = [
            (SourceUse::Later, [(412, NotMet), (412, NotMet), (412, NotMet), (412, NotMet)]),
            (SourceUse::Whole, [(412, NotMet), (412, Unverified), (304, Unverified), (304, Unverified)]),
            (SourceUse::Part, [(412, Unverified), (412, Unverified), (304, Unverified), (304, Unverified)]),
        ];
        for (usage, answers) in table {
            let headers = [IfMatch, IfUnmodifiedSince, IfNoneMatch, IfModifiedSince];
            for (header, expected) in headers.into_iter().zip(answers) {
                let found = condition(usage, header);
                assert_eq!((found.status.as_u16(), found.code), expected, "{usage:?} {header:?}");
            }
        }
    }
}
