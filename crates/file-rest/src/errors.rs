//! The one table from refusals of the File service to status, code and message.

use concurrency::{conditions::WriteRefusal, lease::LeaseCheckRefusal, rest_open::RestRefusal};
use file::{About, FileError};
use http::{HeaderValue, header};
use rest::{
    ServiceError, caller,
    leases::{self, Leased},
};
use transfer::refusals::answered;
use types::ErrorCode;

use crate::header_names::{CONTENT_LENGTH, RECURSIVE};

/// What a client is answered. Every refusal has its own arm: a new one does not compile before it has a code.
pub(crate) fn of(error: FileError) -> ServiceError {
    match error {
        FileError::Denied(denied) => caller::denied_answer(&denied),
        // What stands against the read of a source is told apart from what stands against the copy.
        FileError::Source(refusal) => match *refusal {
            FileError::PendingCopyOperation => of(FileError::PendingCopyOperation),
            refusal => answered(&of(refusal)),
        },
        FileError::Store(error) => ServiceError::from_store(&error),
        FileError::Lease(about, refusal) => lease(about, refusal),
        FileError::LeaseOperation(refusal) => leases::refused(refusal),
        FileError::Condition(refusal) => condition(refusal),
        FileError::Open(refusal) => open(refusal),
        FileError::Wait(_) => cache_flush_delay(),
        FileError::TooManyWaiters(_) => ServiceError::busy("Too many requests wait for the file."),
        // Only SMB opens and marks files.
        FileError::NotOpened(_) | FileError::NotMarked(_) | FileError::NotDone(_) | FileError::NotMoved(_) => {
            ServiceError::internal()
        }
        FileError::TooLarge(limit) => ServiceError::body_too_large(limit),
        FileError::ChangesTooOften => ServiceError::busy("The file changes too often."),
        FileError::ShareNotFound => say(ErrorCode::ShareNotFound, "The specified share does not exist."),
        FileError::ShareSnapshotNotFound => {
            say(ErrorCode::ShareSnapshotNotFound, "The specified share snapshot does not exist.")
        }
        FileError::ShareAlreadyExists => say(ErrorCode::ShareAlreadyExists, "The specified share already exists."),
        FileError::ShareHasSnapshots => {
            say(ErrorCode::ShareHasSnapshots, "The share has snapshots and the operation requires no snapshots.")
        }
        FileError::ShareSnapshotCountExceeded => {
            say(ErrorCode::ShareSnapshotCountExceeded, "The total number of snapshots for the share is over the limit.")
        }
        FileError::ShareSnapshotOperationNotSupported => say(
            ErrorCode::ShareSnapshotOperationNotSupported,
            "The specified operation is not supported on a share snapshot.",
        ),
        // The code lists have none for a share; a body that does not fit is what it is.
        FileError::ShareSizeLimitReached => {
            because(ErrorCode::ShareSizeLimitReached, "The specified share has reached its size limit.", &error)
        }
        FileError::ResourceNotFound => say(ErrorCode::ResourceNotFound, "The specified resource does not exist."),
        FileError::ParentNotFound => say(ErrorCode::ParentNotFound, "The specified parent path does not exist."),
        FileError::ResourceAlreadyExists => {
            say(ErrorCode::ResourceAlreadyExists, "The specified resource already exists.")
        }
        FileError::ResourceTypeMismatch => say(
            ErrorCode::ResourceTypeMismatch,
            "The specified resource type does not match the type of the existing resource.",
        ),
        FileError::NothingBelow => ServiceError::invalid_header(RECURSIVE.as_str(), "true"),
        FileError::DirectoryNotEmpty => say(ErrorCode::DirectoryNotEmpty, "The specified directory is not empty."),
        FileError::RootDirectory => because(
            ErrorCode::CannotDeleteFileOrDirectory,
            "The file or directory could not be deleted because it is in use.",
            &error,
        ),
        FileError::InvalidRange { .. } => because(ErrorCode::InvalidRange, INVALID_RANGE, &error),
        FileError::RangeBehindTheEnd { length } => {
            let whole = HeaderValue::from_str(&format!("bytes */{length}")).ok();
            let mut error = say(ErrorCode::InvalidRange, INVALID_RANGE);
            error.headers.extend(whole.map(|whole| (header::CONTENT_RANGE, whole)));
            error
        }
        FileError::FileTooLarge(length) => ServiceError::invalid_header(CONTENT_LENGTH.as_str(), &length.to_string()),
        FileError::PreviousSnapshotNotFound => {
            say(ErrorCode::PreviousSnapshotNotFound, "The previous snapshot is not found.")
        }
        FileError::PreviousSnapshotCannotBeNewer => say(
            ErrorCode::PreviousSnapshotCannotBeNewer,
            "The prevsharesnapshot query parameter value cannot be newer than sharesnapshot query parameter value.",
        ),
        FileError::FileOverwritten => because(
            ErrorCode::PreviousSnapshotOperationNotSupported,
            "The file has been recreated since the previous snapshot was taken.",
            &error,
        ),
        FileError::PendingCopyOperation => {
            say(ErrorCode::PendingCopyOperation, "There is currently a pending copy operation.")
        }
        FileError::NoPendingCopyOperation => {
            say(ErrorCode::NoPendingCopyOperation, "There is currently no pending copy operation.")
        }
        FileError::CopyIdMismatch => say(
            ErrorCode::CopyIdMismatch,
            "The specified copy ID did not match the copy ID for the pending copy operation.",
        ),
        FileError::UnauthorizedOverwrite => because(
            ErrorCode::AuthorizationPermissionMismatch,
            "This request is not authorized to perform this operation using this permission.",
            &error,
        ),
        FileError::PermissionNotFound => {
            because(ErrorCode::ResourceNotFound, "The specified resource does not exist.", &error)
        }
        FileError::InvalidPermission(_) => {
            because(ErrorCode::FileInvalidPermission, "The specified file permission is not valid.", &error)
        }
        FileError::MoveBelowItself => {
            because(ErrorCode::InvalidInput, "One of the request inputs is not valid.", &error)
        }
    }
}

/// A client of SMB did not give its cache back in time.
fn cache_flush_delay() -> ServiceError {
    say(
        ErrorCode::ClientCacheFlushDelay,
        "The specified resource state could not be flushed from an SMB client in the specified time.",
    )
}

const NOT_MET: &str = "The condition specified using HTTP conditional header(s) is not met.";
const INVALID_RANGE: &str = "The range specified is invalid for the current size of the resource.";

fn say(code: ErrorCode, message: &str) -> ServiceError {
    ServiceError::new(code, message)
}

/// The same, with the values that the refusal names.
fn because(code: ErrorCode, message: &str, error: &FileError) -> ServiceError {
    say(code, message).with_detail("Reason", error.to_string())
}

fn open(refusal: RestRefusal) -> ServiceError {
    match refusal {
        RestRefusal::DeletePending => {
            say(ErrorCode::SMBDeletePending, "The specified resource is marked for deletion by an SMB client.")
        }
        RestRefusal::ReadOnlyAttribute => say(
            ErrorCode::ReadOnlyAttribute,
            "The specified resource is read-only and cannot be modified at this time.",
        ),
        RestRefusal::SharingViolation => {
            say(ErrorCode::SharingViolation, "The specified resource may be in use by an SMB client.")
        }
        RestRefusal::FileLockConflict => {
            say(ErrorCode::FileLockConflict, "A portion of the specified file is locked by an SMB client.")
        }
    }
}

fn condition(refusal: WriteRefusal) -> ServiceError {
    match refusal {
        WriteRefusal::NotFound => of(FileError::ResourceNotFound),
        WriteRefusal::AlreadyExists => of(FileError::ResourceAlreadyExists),
        WriteRefusal::ConditionNotMet(_) => say(ErrorCode::ConditionNotMet, NOT_MET),
        WriteRefusal::MultipleConditionHeaders => {
            say(ErrorCode::MultipleConditionHeadersNotSupported, "Multiple condition headers are not supported.")
        }
        WriteRefusal::HeaderNotSupported(_) => {
            say(ErrorCode::ConditionHeadersNotSupported, "Condition headers are not supported.")
        }
    }
}

/// Leases of shares have the codes of containers, and say what they are about.
fn lease(about: About, refusal: LeaseCheckRefusal) -> ServiceError {
    let leased = match about {
        About::File => Leased {
            noun: "file",
            mismatch: ErrorCode::LeaseIdMismatchWithFileOperation,
            absent: ErrorCode::LeaseNotPresentWithFileOperation,
        },
        About::Share => Leased {
            noun: "file share",
            mismatch: ErrorCode::LeaseIdMismatchWithContainerOperation,
            absent: ErrorCode::LeaseNotPresentWithContainerOperation,
        },
    };
    leases::check_refused(leased, refusal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_have_their_status_and_code() {
        let table = [
            (FileError::ShareNotFound, 404, ErrorCode::ShareNotFound),
            (FileError::ShareAlreadyExists, 409, ErrorCode::ShareAlreadyExists),
            (FileError::ShareHasSnapshots, 409, ErrorCode::ShareHasSnapshots),
            (FileError::ShareSnapshotOperationNotSupported, 400, ErrorCode::ShareSnapshotOperationNotSupported),
            (FileError::ResourceNotFound, 404, ErrorCode::ResourceNotFound),
            (FileError::ParentNotFound, 404, ErrorCode::ParentNotFound),
            (FileError::ResourceAlreadyExists, 409, ErrorCode::ResourceAlreadyExists),
            (FileError::ResourceTypeMismatch, 409, ErrorCode::ResourceTypeMismatch),
            (FileError::DirectoryNotEmpty, 409, ErrorCode::DirectoryNotEmpty),
            (FileError::RootDirectory, 409, ErrorCode::CannotDeleteFileOrDirectory),
            (FileError::Open(RestRefusal::SharingViolation), 409, ErrorCode::SharingViolation),
            (FileError::Open(RestRefusal::DeletePending), 409, ErrorCode::SMBDeletePending),
            (FileError::Open(RestRefusal::ReadOnlyAttribute), 409, ErrorCode::ReadOnlyAttribute),
            (FileError::Open(RestRefusal::FileLockConflict), 409, ErrorCode::FileLockConflict),
            (FileError::Lease(About::File, LeaseCheckRefusal::IdMissing), 412, ErrorCode::LeaseIdMissing),
            (
                FileError::Lease(About::File, LeaseCheckRefusal::IdMismatch),
                412,
                ErrorCode::LeaseIdMismatchWithFileOperation,
            ),
            (
                FileError::Lease(About::Share, LeaseCheckRefusal::IdMismatch),
                412,
                ErrorCode::LeaseIdMismatchWithContainerOperation,
            ),
            (FileError::InvalidRange { start: 1, end: 2 }, 416, ErrorCode::InvalidRange),
            (FileError::RangeBehindTheEnd { length: 2 }, 416, ErrorCode::InvalidRange),
            (FileError::TooLarge(4), 413, ErrorCode::RequestBodyTooLarge),
            (FileError::ShareSizeLimitReached, 413, ErrorCode::ShareSizeLimitReached),
            (FileError::PermissionNotFound, 404, ErrorCode::ResourceNotFound),
            (FileError::ChangesTooOften, 503, ErrorCode::ServerBusy),
        ];
        for (error, status, code) in table {
            let (shown, found) = (error.to_string(), of(error));
            assert_eq!((found.status.as_u16(), found.code), (status, code), "{shown}");
        }
    }
}
