//! Why an operation of the File service was refused or failed. One table in each protocol crate turns these into its
//! statuses.

use access::Denied;
use concurrency::{
    conditions::WriteRefusal,
    gate::WriteGateRefusal,
    lease::{LeaseCheckRefusal, LeaseRefusal},
    rest_open::RestRefusal,
};
use store::StoreError;

use crate::opens::{ClaimRefusal, IoRefusal, NotMarked, NotMoved, NotOpened, Ticket, TooManyWaiters};

/// What a refusal is about: the same rule has another code for a share and for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// The share, or a snapshot of it.
    Share,
    /// The file or directory.
    File,
}

/// Why an operation was not done. Nothing changed, unless it is [`FileError::Store`].
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// There is no such share (404 ShareNotFound).
    #[error("the share does not exist")]
    ShareNotFound,
    /// There is no such snapshot of the share (404 ShareSnapshotNotFound).
    #[error("the share snapshot does not exist")]
    ShareSnapshotNotFound,
    /// The share exists (409 ShareAlreadyExists).
    #[error("the share already exists")]
    ShareAlreadyExists,
    /// The share has snapshots, and nobody said what to do with them (409 ShareHasSnapshots).
    #[error("the share has snapshots")]
    ShareHasSnapshots,
    /// The share has as many snapshots as it can have (409 ShareSnapshotCountExceeded).
    #[error("the share has too many snapshots")]
    ShareSnapshotCountExceeded,
    /// Snapshots cannot be written (400 ShareSnapshotOperationNotSupported).
    #[error("the operation is not for share snapshots")]
    ShareSnapshotOperationNotSupported,
    /// The share is as large as its quota (413 or 409, see the protocol).
    #[error("the share has reached its quota")]
    ShareSizeLimitReached,
    /// There is no such directory or file (404 ResourceNotFound).
    #[error("the directory or file does not exist")]
    ResourceNotFound,
    /// A directory of the path does not exist (404 ParentNotFound).
    #[error("the parent directory does not exist")]
    ParentNotFound,
    /// A directory or file of that name exists (409 ResourceAlreadyExists).
    #[error("a directory or file of that name exists")]
    ResourceAlreadyExists,
    /// It is a directory and the operation is for files, or the other way round (409 ResourceTypeMismatch).
    #[error("a directory is not a file")]
    ResourceTypeMismatch,
    /// Nothing is below a file (400 InvalidHeaderValue, see the protocol).
    #[error("a file has nothing below it")]
    NothingBelow,
    /// The directory has entries (409 DirectoryNotEmpty).
    #[error("the directory is not empty")]
    DirectoryNotEmpty,
    /// The topmost directory is there as long as the share is (409 CannotDeleteFileOrDirectory).
    #[error("the topmost directory of a share cannot be deleted or moved")]
    RootDirectory,
    /// What is open, or the read-only attribute, stands against it (409).
    #[error(transparent)]
    Open(#[from] RestRefusal),
    /// An SMB client has to give up what it caches, or an open is under way: await the ticket, keep it, and ask again. When
    /// that takes too long, the client did not flush in time (500 ClientCacheFlushDelay).
    #[error("an SMB client is asked to give up what it caches")]
    Wait(Ticket),
    /// Other opens, a lease or a pending delete are in the way of an open, or there are too many.
    #[error(transparent)]
    NotOpened(#[from] NotOpened),
    /// The file cannot be marked for deletion.
    #[error(transparent)]
    NotMarked(#[from] NotMarked),
    /// A handle may not read or write.
    #[error(transparent)]
    NotDone(#[from] IoRefusal),
    /// A handle may not move its file.
    #[error(transparent)]
    NotMoved(#[from] NotMoved),
    /// More requests wait for the file than may (503 ServerBusy).
    #[error(transparent)]
    TooManyWaiters(#[from] TooManyWaiters),
    /// A lease stands against it (412).
    #[error("{1}")]
    Lease(About, LeaseCheckRefusal),
    /// The lease operation is refused (409).
    #[error("{0}")]
    LeaseOperation(LeaseRefusal),
    /// A condition is not met (412 ConditionNotMet).
    #[error("{0}")]
    Condition(WriteRefusal),
    /// A range that is not within the file (416 InvalidRange).
    #[error("the range {start}..{end} is not within the file")]
    InvalidRange {
        /// Where it begins.
        start: u64,
        /// Where it ends, excluded.
        end: u64,
    },
    /// A range that begins behind the end of a file that is read (416 InvalidRange, which tells the length).
    #[error("the range begins behind the end of the file, which has {length} bytes")]
    RangeBehindTheEnd {
        /// The length of the file.
        length: u64,
    },
    /// More bytes than the operation takes (413 RequestBodyTooLarge).
    #[error("more than {0} bytes")]
    TooLarge(u64),
    /// A file that is longer than files can be (400 OutOfRangeInput, see the protocol).
    #[error("a file of {0} bytes")]
    FileTooLarge(u64),
    /// The snapshot to compare with does not exist (404 or 409, see the protocol).
    #[error("the previous snapshot does not exist")]
    PreviousSnapshotNotFound,
    /// The snapshot to compare with is newer (400).
    #[error("the previous snapshot is newer")]
    PreviousSnapshotCannotBeNewer,
    /// The file was replaced since the snapshot to compare with (409).
    #[error("the file was overwritten since the previous snapshot")]
    FileOverwritten,
    /// A copy into the file is running (409 PendingCopyOperation).
    #[error("there is currently a pending copy operation")]
    PendingCopyOperation,
    /// No copy into the file is running (409 NoPendingCopyOperation).
    #[error("there is currently no pending copy operation")]
    NoPendingCopyOperation,
    /// Another copy into the file is running (409 CopyIdMismatch).
    #[error("the copy id does not match the running copy")]
    CopyIdMismatch,
    /// The credential may create files, and this one exists (403).
    #[error("this credential does not allow to overwrite a file")]
    UnauthorizedOverwrite,
    /// There is no security descriptor with this key (404).
    #[error("there is no permission with this key")]
    PermissionNotFound,
    /// A security descriptor that is none (400 FileInvalidPermission).
    #[error("the security descriptor is not valid: {0}")]
    InvalidPermission(String),
    /// A directory cannot be moved into itself (400 InvalidQueryParameterValue, see the protocol).
    #[error("a directory cannot be moved below itself")]
    MoveBelowItself,
    /// The file is written so often that it could not be read or changed (503 ServerBusy).
    #[error("the file changes too often")]
    ChangesTooOften,
    /// The credential does not allow it, or not any more.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// The source of a copy cannot be read, for this reason.
    #[error("the source: {0}")]
    Source(Box<Self>),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<ClaimRefusal> for FileError {
    fn from(refusal: ClaimRefusal) -> Self {
        match refusal {
            ClaimRefusal::Rest(refusal) => refusal.into(),
            ClaimRefusal::TooManyWaiters(refusal) => refusal.into(),
        }
    }
}

impl FileError {
    /// The refusal is that of the source of a copy. A wait and a failure are nobody's refusal.
    pub(crate) fn of_source(self) -> Self {
        match self {
            Self::Wait(_) | Self::Store(_) | Self::Source(_) => self,
            Self::Denied(Denied::Store(error)) => Self::Store(error),
            refusal => Self::Source(Box::new(refusal)),
        }
    }

    /// The lease or a condition refuses a write.
    pub(crate) const fn write(about: About, refusal: WriteGateRefusal) -> Self {
        match refusal {
            WriteGateRefusal::Lease(refusal) => Self::Lease(about, refusal),
            WriteGateRefusal::Condition(refusal) => Self::Condition(refusal),
        }
    }
}
