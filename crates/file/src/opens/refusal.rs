//! Why the table of opens refuses. Nothing changed, in every case.

use concurrency::{
    delete_pending::MarkRefusal,
    file_open::OpenRefusal,
    oplock::AcknowledgeRefusal,
    range_lock::{FileLockConflict, LockRefusal, RangeNotLocked},
    rest_open::RestRefusal,
};

/// More requests wait for a file than may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many requests wait for the file")]
pub struct TooManyWaiters;

/// The handle is closed, by its client, by force or because its open was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the handle is closed")]
pub struct HandleClosed;

/// Why a REST operation gets no claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClaimRefusal {
    /// What SMB does to the file is in the way.
    #[error(transparent)]
    Rest(#[from] RestRefusal),
    /// It would have to wait, and too many do.
    #[error(transparent)]
    TooManyWaiters(#[from] TooManyWaiters),
}

/// Why a file is not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotOpened {
    /// Other opens, the REST lease or a pending delete are in the way.
    #[error(transparent)]
    Refused(#[from] OpenRefusal),
    /// The file has as many handles as it may have.
    #[error("the file has {limit} handles, which is the most")]
    TooManyHandles {
        /// The most handles.
        limit: usize,
    },
    /// The server has as many handles as it may have.
    #[error("too many files are open")]
    TooManyOpenFiles,
    /// The lease key that it comes with is used for another file.
    #[error("the lease key is used for another file")]
    LeaseKeyOfAnotherFile,
    /// It would have to wait, and too many do.
    #[error(transparent)]
    TooManyWaiters(#[from] TooManyWaiters),
}

/// Why the delete mark is not set or cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotMarked {
    /// The handle may not, or the file cannot be deleted.
    #[error(transparent)]
    Refused(#[from] MarkRefusal),
    /// The handle is closed.
    #[error(transparent)]
    Closed(#[from] HandleClosed),
    /// It would have to wait, and too many do.
    #[error(transparent)]
    TooManyWaiters(#[from] TooManyWaiters),
}

/// Why ranges are not locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotLocked {
    /// Other locks are in the way, or there are too many.
    #[error(transparent)]
    Refused(#[from] LockRefusal),
    /// The handle is closed.
    #[error(transparent)]
    Closed(#[from] HandleClosed),
    /// It would have to wait, and too many do.
    #[error(transparent)]
    TooManyWaiters(#[from] TooManyWaiters),
}

/// Why a range is not unlocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotUnlocked {
    /// The handle holds no lock on exactly this range.
    #[error(transparent)]
    NotLocked(#[from] RangeNotLocked),
    /// The handle is closed.
    #[error(transparent)]
    Closed(#[from] HandleClosed),
}

/// Why a handle may not read or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IoRefusal {
    /// Bytes are locked by another handle.
    #[error(transparent)]
    Locked(#[from] FileLockConflict),
    /// The handle is closed.
    #[error(transparent)]
    Closed(#[from] HandleClosed),
    /// It would have to wait, and too many do.
    #[error(transparent)]
    TooManyWaiters(#[from] TooManyWaiters),
}

/// Why a file or directory is not renamed through a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotMoved {
    /// The handle has no delete access.
    #[error("the handle has no delete access")]
    AccessDenied,
    /// A directory that it is in or goes to is open in a way that does not go with it.
    #[error("the directory is in use")]
    ParentInUse,
    /// Something is open below the directory.
    #[error("something is open below the directory")]
    OpenBelow,
    /// The handle is closed.
    #[error(transparent)]
    Closed(#[from] HandleClosed),
    /// It would have to wait, and too many do.
    #[error(transparent)]
    TooManyWaiters(#[from] TooManyWaiters),
}

/// Why the answer to a break is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAcknowledged {
    /// The answer does not fit the break.
    #[error(transparent)]
    Refused(#[from] AcknowledgeRefusal),
    /// Nothing is cached under this key.
    #[error("nothing is cached under this key")]
    UnknownKey,
}
