//! The one table from refusals of the Blob service to status, code and message.

use blob::{
    errors::{About, BlobError},
    tags::InvalidTags,
};
use concurrency::{
    append_condition::AppendRefusal,
    conditions::{ReadRefusal, SourceRefusal, WriteRefusal},
    lease::{LeaseCheckRefusal, LeaseRefusal},
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
        BlobError::LeaseOperation(refusal) => lease_operation(refusal),
        BlobError::Read(refusal) => read(refusal),
        BlobError::Write(refusal) => write(refusal),
        BlobError::Source(refusal) => source(refusal),
        BlobError::Append(refusal) => append(refusal),
        BlobError::Tags(refusal) => tags(&refusal),
        BlobError::TagConditionNotMet | BlobError::TierConditionNotMet | BlobError::SourceTagConditionNotMet => {
            say(ErrorCode::ConditionNotMet, NOT_MET)
        }
        other => state(&other),
    }
}

/// What the state of the blob, or a value of the request, stands against.
fn state(error: &BlobError) -> ServiceError {
    let (code, message) = match error {
        BlobError::UnauthorizedBlobOverwrite => {
            (ErrorCode::UnauthorizedBlobOverwrite, "This request is not authorized to perform blob overwrites.")
        }
        BlobError::InvalidSourceBlobType => {
            (ErrorCode::InvalidSourceBlobType, "The copy source blob type is invalid for this operation.")
        }
        BlobError::BlobArchived | BlobError::SourceArchived => {
            (ErrorCode::BlobArchived, "This operation is not permitted on an archived blob.")
        }
        BlobError::BlobBeingRehydrated => {
            (ErrorCode::BlobBeingRehydrated, "This operation is not permitted because the blob is being rehydrated.")
        }
        BlobError::BlobIsSealed => {
            (ErrorCode::BlobIsSealed, "The specified blob is sealed and its contents can't be modified.")
        }
        BlobError::SequenceNumberConditionNotMet => {
            (ErrorCode::SequenceNumberConditionNotMet, "The sequence number condition specified was not met.")
        }
        BlobError::SequenceNumberIncrementTooLarge => (
            ErrorCode::SequenceNumberIncrementTooLarge,
            "The sequence number increment cannot be performed because it would result in overflow of the sequence number.",
        ),
        BlobError::PendingCopyOperation => {
            (ErrorCode::PendingCopyOperation, "There is currently a pending copy operation.")
        }
        BlobError::NoPendingCopyOperation => {
            (ErrorCode::NoPendingCopyOperation, "There is currently no pending copy operation.")
        }
        BlobError::CopyIdMismatch => (
            ErrorCode::CopyIdMismatch,
            "The specified copy ID did not match the copy ID for the pending copy operation.",
        ),
        BlobError::SnapshotsPresent => {
            (ErrorCode::SnapshotsPresent, "This operation is not permitted while the blob has snapshots.")
        }
        BlobError::InvalidBlockId(_) => {
            (ErrorCode::InvalidBlockId, "The specified block ID is invalid. The block ID must be Base64-encoded.")
        }
        BlobError::BlockIdLength { .. } => {
            (ErrorCode::InvalidBlobOrBlock, "The specified blob or block content is invalid.")
        }
        BlobError::BlockCountExceedsLimit(_) => {
            (ErrorCode::BlockCountExceedsLimit, "The committed or uncommitted block count exceeds its limit.")
        }
        BlobError::BlockListTooLong(_) => {
            (ErrorCode::BlockListTooLong, "The block list may not contain more than 50,000 blocks.")
        }
        BlobError::InvalidBlockList => (ErrorCode::InvalidBlockList, "The specified block list is invalid."),
        BlobError::InvalidPageRange { .. } => (ErrorCode::InvalidPageRange, "The page range specified is invalid."),
        BlobError::InvalidRange => {
            (ErrorCode::InvalidRange, "The range specified is invalid for the current size of the resource.")
        }
        BlobError::PreviousSnapshotNotFound => {
            (ErrorCode::PreviousSnapshotNotFound, "The previous snapshot is not found.")
        }
        BlobError::PreviousSnapshotCannotBeNewer => (
            ErrorCode::PreviousSnapshotCannotBeNewer,
            "The prevsnapshot query parameter value cannot be newer than snapshot query parameter value.",
        ),
        BlobError::BlobOverwritten => {
            (ErrorCode::BlobOverwritten, "The blob has been recreated since the previous snapshot was taken.")
        }
        BlobError::AccessTierNotSupported(_) => {
            (ErrorCode::AccessTierNotSupportedForBlobType, "The access tier is not supported for this blob type.")
        }
        BlobError::CannotChangeToLowerTier => {
            (ErrorCode::CannotChangeToLowerTier, "A higher blob tier has already been explicitly set.")
        }
        BlobError::TierTooSmall => (
            ErrorCode::BlobTierInadequateForContentLength,
            "Specified blob tier size limit cannot be less than content length.",
        ),
        BlobError::ContentLengthLargerThanTierLimit => {
            (ErrorCode::ContentLengthLargerThanTierLimit, "The blob's content length cannot exceed its tier limit.")
        }
        BlobError::BothTags => (
            ErrorCode::BothUserTagsAndSourceTagsCopyPresentException,
            "x-ms-tags and x-ms-copy-source-tag-option with the value COPY cannot be specified together.",
        ),
        BlobError::NotForSnapshots => (ErrorCode::InvalidOperation, "Invalid operation against a blob snapshot."),
        BlobError::TooLarge(limit) => return ServiceError::body_too_large(*limit),
        BlobError::SourceTooLarge { limit, .. } => {
            return say(ErrorCode::CannotVerifyCopySource, "The source is larger than this operation can copy.")
                .with_status(StatusCode::CONFLICT)
                .with_detail("MaxLimit", limit.to_string());
        }
        BlobError::InvalidPageBlobLength(length) => {
            return ServiceError::invalid_header("x-ms-blob-content-length", &length.to_string());
        }
        BlobError::InvalidExpiry => {
            (ErrorCode::InvalidHeaderValue, "The value for one of the HTTP headers is not in the correct format.")
        }
        // Everything else has its own place in `of`.
        _ => return ServiceError::internal(),
    };
    say(code, message)
}

fn lease_operation(refusal: LeaseRefusal) -> ServiceError {
    let code = match refusal {
        LeaseRefusal::AlreadyPresent => ErrorCode::LeaseAlreadyPresent,
        LeaseRefusal::IdMismatch => ErrorCode::LeaseIdMismatchWithLeaseOperation,
        LeaseRefusal::NotPresent => ErrorCode::LeaseNotPresentWithLeaseOperation,
        LeaseRefusal::BreakingCannotBeAcquired => ErrorCode::LeaseIsBreakingAndCannotBeAcquired,
        LeaseRefusal::BreakingCannotBeChanged => ErrorCode::LeaseIsBreakingAndCannotBeChanged,
        LeaseRefusal::BrokenCannotBeRenewed => ErrorCode::LeaseIsBrokenAndCannotBeRenewed,
        // Blobs and containers have all of these.
        LeaseRefusal::RenewNotSupported
        | LeaseRefusal::BreakPeriodNotSupported
        | LeaseRefusal::FixedDurationNotSupported => ErrorCode::InvalidHeaderValue,
    };
    ServiceError::new(code, refusal.to_string())
}

fn source(refusal: SourceRefusal) -> ServiceError {
    match refusal {
        SourceRefusal::NotFound => say(ErrorCode::BlobNotFound, "The specified blob does not exist."),
        SourceRefusal::ConditionNotMet(_) => say(
            ErrorCode::SourceConditionNotMet,
            "The source condition specified using HTTP conditional header(s) is not met.",
        ),
        SourceRefusal::MultipleConditionHeaders => say(ErrorCode::MultipleConditionHeadersNotSupported, MULTIPLE),
    }
}

fn append(refusal: AppendRefusal) -> ServiceError {
    match refusal {
        AppendRefusal::PositionNotMet { .. } => {
            say(ErrorCode::AppendPositionConditionNotMet, "The append position condition specified was not met.")
        }
        AppendRefusal::MaxSizeNotMet => {
            say(ErrorCode::MaxBlobSizeConditionNotMet, "The max blob size condition specified was not met.")
        }
    }
}

fn tags(refusal: &InvalidTags) -> ServiceError {
    let code = match refusal {
        InvalidTags::TooMany(_) | InvalidTags::NameTooLong(_) | InvalidTags::ValueTooLong(_) => ErrorCode::TagsTooLarge,
        InvalidTags::EmptyName => ErrorCode::EmptyTagName,
        InvalidTags::Duplicate(_) => ErrorCode::DuplicateTagNames,
        InvalidTags::Character(_) => ErrorCode::InvalidInput,
    };
    ServiceError::new(code, refusal.to_string())
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
