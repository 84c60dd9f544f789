//! Every refusal of the File service as the status that SMB has for it: the one table.

use concurrency::{delete_pending::MarkRefusal, file_open::OpenRefusal, rest_open::RestRefusal};
use file::{
    FileError,
    opens::{IoRefusal, NotMarked, NotMoved, NotOpened},
};
use store::StoreError;

use crate::NtStatus;

/// The status of a refusal.
pub(crate) fn status_of(error: &FileError) -> NtStatus {
    match error {
        FileError::ShareNotFound => NtStatus::NETWORK_NAME_DELETED,
        FileError::ShareSnapshotNotFound | FileError::ResourceNotFound => NtStatus::OBJECT_NAME_NOT_FOUND,
        FileError::ParentNotFound => NtStatus::OBJECT_PATH_NOT_FOUND,
        FileError::ShareAlreadyExists | FileError::ResourceAlreadyExists => NtStatus::OBJECT_NAME_COLLISION,
        FileError::ShareSnapshotOperationNotSupported => NtStatus::MEDIA_WRITE_PROTECTED,
        FileError::ShareSizeLimitReached => NtStatus::DISK_FULL,
        FileError::ResourceTypeMismatch => NtStatus::FILE_IS_A_DIRECTORY,
        FileError::NothingBelow => NtStatus::NOT_A_DIRECTORY,
        FileError::DirectoryNotEmpty => NtStatus::DIRECTORY_NOT_EMPTY,
        FileError::RootDirectory | FileError::MoveBelowItself => NtStatus::ACCESS_DENIED,
        FileError::Open(refusal) => of_open_file(refusal),
        FileError::Wait(_) => NtStatus::IO_TIMEOUT,
        FileError::NotOpened(refusal) => match refusal {
            NotOpened::Refused(OpenRefusal::DeletePending) => NtStatus::DELETE_PENDING,
            NotOpened::Refused(OpenRefusal::SharingViolation) => NtStatus::SHARING_VIOLATION,
            NotOpened::TooManyHandles { .. } | NotOpened::TooManyOpenFiles => NtStatus::TOO_MANY_OPENED_FILES,
            NotOpened::LeaseKeyOfAnotherFile => NtStatus::INVALID_PARAMETER,
            NotOpened::TooManyWaiters(_) => NtStatus::INSUFFICIENT_RESOURCES,
        },
        FileError::NotMarked(refusal) => match refusal {
            NotMarked::Refused(MarkRefusal::AccessDenied) => NtStatus::ACCESS_DENIED,
            NotMarked::Refused(MarkRefusal::ReadOnly) => NtStatus::CANNOT_DELETE,
            NotMarked::Refused(MarkRefusal::DirectoryNotEmpty) => NtStatus::DIRECTORY_NOT_EMPTY,
            NotMarked::Closed(_) => NtStatus::FILE_CLOSED,
            NotMarked::TooManyWaiters(_) => NtStatus::INSUFFICIENT_RESOURCES,
        },
        FileError::NotDone(refusal) => match refusal {
            IoRefusal::Locked(_) => NtStatus::FILE_LOCK_CONFLICT,
            IoRefusal::Closed(_) => NtStatus::FILE_CLOSED,
            IoRefusal::TooManyWaiters(_) => NtStatus::INSUFFICIENT_RESOURCES,
        },
        FileError::NotMoved(refusal) => match refusal {
            NotMoved::AccessDenied | NotMoved::OpenBelow => NtStatus::ACCESS_DENIED,
            NotMoved::ParentInUse => NtStatus::SHARING_VIOLATION,
            NotMoved::Closed(_) => NtStatus::FILE_CLOSED,
            NotMoved::TooManyWaiters(_) => NtStatus::INSUFFICIENT_RESOURCES,
        },
        FileError::TooManyWaiters(_) | FileError::ChangesTooOften => NtStatus::INSUFFICIENT_RESOURCES,
        FileError::Lease(..) | FileError::LeaseOperation(_) => NtStatus::SHARING_VIOLATION,
        FileError::PendingCopyOperation => NtStatus::SHARING_VIOLATION,
        FileError::FileTooLarge(_) | FileError::TooLarge(_) => NtStatus::DISK_FULL,
        FileError::InvalidPermission(_) => NtStatus::INVALID_SECURITY_DESCR,
        FileError::PermissionNotFound => NtStatus::OBJECT_NAME_NOT_FOUND,
        FileError::InvalidRange { .. } | FileError::RangeBehindTheEnd { .. } => NtStatus::END_OF_FILE,
        FileError::Denied(_) | FileError::UnauthorizedOverwrite => NtStatus::ACCESS_DENIED,
        FileError::Source(error) => status_of(error),
        FileError::Store(error) => of_store(error),
        FileError::ShareHasSnapshots
        | FileError::ShareSnapshotCountExceeded
        | FileError::Condition(_)
        | FileError::PreviousSnapshotNotFound
        | FileError::PreviousSnapshotCannotBeNewer
        | FileError::FileOverwritten
        | FileError::NoPendingCopyOperation
        | FileError::CopyIdMismatch => NtStatus::UNSUCCESSFUL,
    }
}

fn of_open_file(refusal: &RestRefusal) -> NtStatus {
    match refusal {
        RestRefusal::DeletePending => NtStatus::DELETE_PENDING,
        RestRefusal::ReadOnlyAttribute => NtStatus::ACCESS_DENIED,
        RestRefusal::FileLockConflict => NtStatus::FILE_LOCK_CONFLICT,
        RestRefusal::SharingViolation => NtStatus::SHARING_VIOLATION,
    }
}

fn of_store(error: &StoreError) -> NtStatus {
    match error {
        StoreError::Full { .. } => NtStatus::DISK_FULL,
        _ => NtStatus::UNSUCCESSFUL,
    }
}
