//! The one table from refusals of the Blob service to status, code and message.

use blob::{
    copy::CopyMode,
    errors::{About, BlobError},
    tags::InvalidTags,
};
use concurrency::{
    append_condition::AppendRefusal,
    conditions::{ConditionHeader, ReadRefusal, WriteRefusal},
    lease::LeaseCheckRefusal,
};
use http::{HeaderValue, StatusCode, header};
use rest::{
    ServiceError, caller, dates,
    leases::{self, Leased},
};
use transfer::SourceUse;
use types::ErrorCode;

use crate::header_names::{BLOB_CONTENT_LENGTH, EXPIRY_TIME};

/// What a client is answered. Every refusal has its own arm: a new one does not compile before it has a code.
pub(crate) fn of(error: BlobError) -> ServiceError {
    match error {
        BlobError::Denied(denied) => caller::denied_answer(&denied),
        BlobError::Store(error) => ServiceError::from_store(&error),
        BlobError::Lease(about, refusal) => lease(about, refusal),
        BlobError::LeaseOperation(refusal) => leases::refused(refusal),
        BlobError::Read(refusal) => read(refusal),
        BlobError::Write(refusal) => write(refusal),
        BlobError::Source(refusal) => sources::refused(SourceUse::Later, refusal),
        BlobError::Append(refusal) => append(refusal),
        BlobError::Tags(invalid) => tags(&invalid),
        BlobError::TooLarge(limit) => ServiceError::body_too_large(limit),
        BlobError::InvalidPageBlobLength(length) => {
            ServiceError::invalid_header(BLOB_CONTENT_LENGTH.as_str(), &length.to_string())
        }
        BlobError::InvalidExpiry => {
            say(ErrorCode::InvalidHeaderValue, "The value for one of the HTTP headers is not in the correct format.")
                .with_detail("HeaderName", EXPIRY_TIME.as_str())
                .with_detail("Reason", "the time is not in the future")
        }
        // Those who know whose source it is answer it themselves.
        BlobError::SourceDenied(denied) => caller::denied_answer(&denied),
        BlobError::ChangesTooOften => ServiceError::busy("The blob changes too often to be read."),
        BlobError::SourceChangesTooOften => ServiceError::busy("The source changes too often to be read."),
        BlobError::SourceTooLarge { .. } => say(
            ErrorCode::CannotVerifyCopySource,
            "The source request body for copy source is too large and exceeds the maximum permissible limit.",
        )
        .with_status(StatusCode::CONFLICT)
        .with_detail("Reason", error.to_string()),
        // A source of very many parts is copied byte by byte instead, so no client is told this.
        BlobError::TooManyParts => ServiceError::internal(),
        BlobError::ContainerNotFound => say(ErrorCode::ContainerNotFound, "The specified container does not exist."),
        BlobError::BlobNotFound => say(ErrorCode::BlobNotFound, "The specified blob does not exist."),
        BlobError::ContainerAlreadyExists => {
            say(ErrorCode::ContainerAlreadyExists, "The specified container already exists.")
        }
        BlobError::SystemContainer => because(
            ErrorCode::AuthorizationFailure,
            "This request is not authorized to perform this operation.",
            &error,
        ),
        BlobError::BlobAlreadyExists => say(ErrorCode::BlobAlreadyExists, "The specified blob already exists."),
        BlobError::UnauthorizedBlobOverwrite => {
            say(ErrorCode::UnauthorizedBlobOverwrite, "This request is not authorized to perform blob overwrites.")
        }
        BlobError::InvalidBlobType => say(ErrorCode::InvalidBlobType, "The blob type is invalid for this operation."),
        BlobError::TagConditionNotMet | BlobError::SourceTagConditionNotMet | BlobError::TierConditionNotMet => {
            because(ErrorCode::ConditionNotMet, NOT_MET, &error)
        }
        BlobError::InvalidSourceBlobType => {
            say(ErrorCode::InvalidSourceBlobType, "The copy source blob type is invalid for this operation.")
        }
        BlobError::SourceArchived | BlobError::BlobArchived => {
            say(ErrorCode::BlobArchived, "This operation is not permitted on an archived blob.")
        }
        BlobError::BlobIsSealed => say(ErrorCode::BlobIsSealed, "The specified append blob is sealed."),
        BlobError::SequenceNumberConditionNotMet => {
            say(ErrorCode::SequenceNumberConditionNotMet, "The sequence number condition specified was not met.")
        }
        BlobError::SequenceNumberIncrementTooLarge => say(
            ErrorCode::SequenceNumberIncrementTooLarge,
            "The sequence number increment cannot be performed because it would result in overflow of the sequence \
             number.",
        ),
        BlobError::PendingCopyOperation => {
            say(ErrorCode::PendingCopyOperation, "There is currently a pending copy operation.")
        }
        BlobError::NoPendingCopyOperation => {
            say(ErrorCode::NoPendingCopyOperation, "There is currently no pending copy operation.")
        }
        BlobError::CopyIdMismatch => say(
            ErrorCode::CopyIdMismatch,
            "The specified copy ID did not match the copy ID for the pending copy operation.",
        ),
        BlobError::SnapshotsPresent => {
            say(ErrorCode::SnapshotsPresent, "This operation is not permitted because the blob has snapshots.")
        }
        BlobError::BlobBeingRehydrated => {
            say(ErrorCode::BlobBeingRehydrated, "This operation is not permitted because the blob is being rehydrated.")
        }
        BlobError::InvalidBlockId(_) => because(
            ErrorCode::InvalidBlockId,
            "The specified block ID is invalid. The block ID must be Base64-encoded.",
            &error,
        ),
        BlobError::BlockIdLength { .. } => {
            because(ErrorCode::InvalidBlobOrBlock, "The specified blob or block content is invalid.", &error)
        }
        BlobError::BlockCountExceedsLimit(_) => because(
            ErrorCode::BlockCountExceedsLimit,
            "The committed or uncommitted block count cannot exceed the maximum limit.",
            &error,
        ),
        BlobError::BlockListTooLong(_) => {
            because(ErrorCode::BlockListTooLong, "The block list may not contain more than 50,000 blocks.", &error)
        }
        BlobError::InvalidBlockList => say(ErrorCode::InvalidBlockList, "The specified block list is invalid."),
        BlobError::InvalidPageRange { .. } => {
            because(ErrorCode::InvalidPageRange, "The page range specified is invalid.", &error)
        }
        BlobError::InvalidRange => say(ErrorCode::InvalidRange, INVALID_RANGE),
        BlobError::RangeBehindTheEnd { length } => {
            let whole = HeaderValue::from_str(&format!("bytes */{length}")).ok();
            let mut error = say(ErrorCode::InvalidRange, INVALID_RANGE);
            error.headers.extend(whole.map(|whole| (header::CONTENT_RANGE, whole)));
            error
        }
        BlobError::PreviousSnapshotNotFound => {
            say(ErrorCode::PreviousSnapshotNotFound, "The previous snapshot is not found.")
        }
        BlobError::PreviousSnapshotCannotBeNewer => say(
            ErrorCode::PreviousSnapshotCannotBeNewer,
            "The prevsnapshot query parameter value cannot be newer than snapshot query parameter value.",
        ),
        BlobError::BlobOverwritten => {
            say(ErrorCode::BlobOverwritten, "The blob has been recreated since the previous snapshot was taken.")
        }
        BlobError::AccessTierNotSupported(_) => because(
            ErrorCode::AccessTierNotSupportedForBlobType,
            "The access tier is not supported for this blob type.",
            &error,
        ),
        BlobError::CannotChangeToLowerTier => {
            say(ErrorCode::CannotChangeToLowerTier, "A higher blob tier has already been explicitly set.")
        }
        BlobError::TierTooSmall => say(
            ErrorCode::BlobTierInadequateForContentLength,
            "Specified blob tier size limit cannot be less than content length.",
        ),
        BlobError::ContentLengthLargerThanTierLimit => {
            say(ErrorCode::ContentLengthLargerThanTierLimit, "The blob's content length cannot exceed its tier limit.")
        }
        BlobError::BothTags => say(
            ErrorCode::BothUserTagsAndSourceTagsCopyPresentException,
            "Both x-ms-tags header and the copying of source tags are specified; only one is allowed.",
        ),
        BlobError::NotForSnapshots => {
            say(ErrorCode::InvalidOperation, "Invalid operation against a blob snapshot or version.")
        }
    }
}

/// The same for a copy: its destination, and its source if that is here. Put Blob From URL tells the ETag conditions of its
/// destination apart from those of its source. `explain` is [`rest::Caller::explain`].
pub(crate) fn of_copy(
    explain: impl Fn(ServiceError) -> ServiceError,
    mode: CopyMode,
    error: BlobError,
) -> ServiceError {
    use ConditionHeader::{IfMatch, IfNoneMatch};

    match error {
        BlobError::Write(WriteRefusal::ConditionNotMet(IfMatch | IfNoneMatch)) if mode == CopyMode::PutBlobFromUrl => {
            say(
                ErrorCode::TargetConditionNotMet,
                "The target condition specified using HTTP conditional header(s) is not met.",
            )
        }
        error => sources::of(explain, sources::usage(mode), error),
    }
}

fn say(code: ErrorCode, message: &str) -> ServiceError {
    ServiceError::new(code, message)
}

/// The same, with the values that the refusal names.
fn because(code: ErrorCode, message: &str, error: &BlobError) -> ServiceError {
    say(code, message).with_detail("Reason", error.to_string())
}

const NOT_MET: &str = "The condition specified using HTTP conditional header(s) is not met.";
const INVALID_RANGE: &str = "The range specified is invalid for the current size of the resource.";
const MULTIPLE: &str = "Multiple condition headers are not supported.";

fn read(refusal: ReadRefusal) -> ServiceError {
    match refusal {
        ReadRefusal::NotFound => of(BlobError::BlobNotFound),
        ReadRefusal::ConditionNotMet(_) => say(ErrorCode::ConditionNotMet, NOT_MET),
        ReadRefusal::NotModified { etag, last_modified } => {
            let mut error = say(ErrorCode::ConditionNotMet, NOT_MET).with_status(StatusCode::NOT_MODIFIED);
            // Old versions have the ETag without its quotes; the envelope takes them away for them.
            let named = [(header::ETAG, format!("\"{etag}\"")), (header::LAST_MODIFIED, dates::rfc1123(last_modified))];
            for (name, value) in named {
                error.headers.extend(HeaderValue::try_from(value).ok().map(|value| (name, value)));
            }
            error
        }
        ReadRefusal::Unsatisfiable => say(
            ErrorCode::UnsatisfiableCondition,
            "The request includes an unsatisfiable condition for this operation.",
        ),
        ReadRefusal::MultipleConditionHeaders => say(ErrorCode::MultipleConditionHeadersNotSupported, MULTIPLE),
    }
}

fn write(refusal: WriteRefusal) -> ServiceError {
    match refusal {
        WriteRefusal::NotFound => of(BlobError::BlobNotFound),
        WriteRefusal::AlreadyExists => of(BlobError::BlobAlreadyExists),
        WriteRefusal::ConditionNotMet(_) => say(ErrorCode::ConditionNotMet, NOT_MET),
        WriteRefusal::MultipleConditionHeaders => say(ErrorCode::MultipleConditionHeadersNotSupported, MULTIPLE),
        WriteRefusal::HeaderNotSupported(header) => {
            say(ErrorCode::ConditionHeadersNotSupported, "Condition headers are not supported.")
                .with_detail("HeaderName", header.name())
        }
    }
}

fn append(refusal: AppendRefusal) -> ServiceError {
    match refusal {
        AppendRefusal::PositionNotMet { length } => {
            say(ErrorCode::AppendPositionConditionNotMet, "The append position condition specified was not met.")
                .with_detail("BlobLength", length.to_string())
        }
        AppendRefusal::MaxSizeNotMet => {
            say(ErrorCode::MaxBlobSizeConditionNotMet, "The max blob size condition specified was not met.")
        }
    }
}

fn tags(invalid: &InvalidTags) -> ServiceError {
    let (code, message) = match invalid {
        InvalidTags::TooMany(_) | InvalidTags::NameTooLong(_) | InvalidTags::ValueTooLong(_) => {
            (ErrorCode::TagsTooLarge, "The tags specified exceed the maximum permissible limit.")
        }
        InvalidTags::EmptyName => (ErrorCode::EmptyTagName, "The name of one of the tag key-value pairs is empty."),
        InvalidTags::Duplicate(_) => (ErrorCode::DuplicateTagNames, "The tags specified contain duplicate names."),
        InvalidTags::Character(_) => {
            (ErrorCode::InvalidInput, "The tags specified are invalid. They contain characters that are not permitted.")
        }
    };
    say(code, message).with_detail("Reason", invalid.to_string())
}

fn lease(about: About, refusal: LeaseCheckRefusal) -> ServiceError {
    let leased = match about {
        About::Blob => Leased {
            noun: "blob",
            mismatch: ErrorCode::LeaseIdMismatchWithBlobOperation,
            absent: ErrorCode::LeaseNotPresentWithBlobOperation,
        },
        About::Container => Leased {
            noun: "container",
            mismatch: ErrorCode::LeaseIdMismatchWithContainerOperation,
            absent: ErrorCode::LeaseNotPresentWithContainerOperation,
        },
    };
    leases::check_refused(leased, refusal)
}

pub(crate) mod sources;

#[cfg(test)]
mod tests;
