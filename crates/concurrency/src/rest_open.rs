//! A REST operation on a file as a momentary open beside the SMB opens.
//!
//! Owns what each REST operation counts as, and the order in which delete pending, the read-only attribute, share modes,
//! byte-range locks and caches decide. One rule gives the whole table of REST against SMB: the operation opens with its
//! access and shares everything; a file lease opens with all access and shares reading; a delete conflicts with any
//! handle. REST operations never conflict with each other.
//!
//! Must never open or break anything: it says what is in the way, and the table of opens acts.

use crate::{
    delete_pending::DeleteMark,
    lease::LeaseState,
    oplock::{CacheBreak, CacheGrant, Trigger, cache_break},
    range_lock::{ByteRange, Io, RangeLocks},
    share_mode::{Access, OpenMode, ShareMode, SharingViolation},
};

/// A REST operation on a file, as far as SMB is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RestOperation {
    /// List Directories and Files: looks at names, not at the file.
    ListFiles,
    /// Get File Properties.
    GetProperties,
    /// Get File Metadata.
    GetMetadata,
    /// Get File.
    GetFile,
    /// List Ranges.
    ListRanges,
    /// Set File Properties.
    SetProperties,
    /// Set File Metadata.
    SetMetadata,
    /// Put Range, also clearing and from a URL.
    PutRange,
    /// Create File over an existing one.
    CreateFile,
    /// Delete File, and Delete Directory with the handles of the directory.
    DeleteFile,
    /// Lease File, acquire.
    LeaseFile,
    /// Rename File: the file that gets another name.
    RenameSource,
    /// Rename File: the file that is replaced.
    RenameDestination,
    /// Copy File: the file that is replaced.
    CopyDestination,
}

impl RestOperation {
    /// The momentary open that the operation stands for; with no access it takes no part in sharing.
    ///
    /// ```
    /// use concurrency::{rest_open::RestOperation, share_mode::{Access, ShareMode}};
    /// assert_eq!(RestOperation::GetFile.momentary_open().access, Access::READ);
    /// assert_eq!(RestOperation::LeaseFile.momentary_open().share, ShareMode::READ);
    /// ```
    #[must_use]
    pub const fn momentary_open(self) -> OpenMode {
        let access = match self {
            Self::ListFiles | Self::GetProperties | Self::GetMetadata => Access::NONE,
            Self::GetFile | Self::ListRanges => Access::READ,
            Self::SetProperties | Self::SetMetadata | Self::PutRange => Access::WRITE,
            Self::CreateFile | Self::RenameDestination | Self::CopyDestination => Access::WRITE_DELETE,
            Self::DeleteFile | Self::RenameSource => Access::DELETE,
            Self::LeaseFile => Access::ALL,
        };
        let share = if matches!(self, Self::LeaseFile) { ShareMode::READ } else { ShareMode::ALL };
        OpenMode { access, share }
    }

    /// What the operation does to the caches of SMB clients.
    #[must_use]
    pub const fn cache_trigger(self) -> Option<Trigger> {
        match self {
            Self::ListFiles => None,
            // A client that caches writes knows the length and times better than the file does. A lease counts as a
            // read here: writers are refused by sharing.
            Self::GetProperties | Self::GetMetadata | Self::GetFile | Self::ListRanges | Self::LeaseFile => {
                Some(Trigger::Read)
            }
            Self::SetProperties | Self::SetMetadata | Self::PutRange => Some(Trigger::Write),
            Self::CreateFile | Self::RenameDestination | Self::CopyDestination => Some(Trigger::Replace),
            Self::DeleteFile | Self::RenameSource => Some(Trigger::Delete),
        }
    }

    /// Whether the read-only attribute refuses the operation.
    #[must_use]
    pub const fn is_refused_by_read_only(self) -> bool {
        matches!(
            self,
            Self::SetProperties
                | Self::SetMetadata
                | Self::PutRange
                | Self::CreateFile
                | Self::DeleteFile
                | Self::RenameDestination
                | Self::CopyDestination
        )
    }

    /// Whether the operation is refused by any byte-range lock, whatever range it names.
    #[must_use]
    pub const fn is_refused_by_any_lock(self) -> bool {
        matches!(
            self,
            Self::SetProperties
                | Self::SetMetadata
                | Self::PutRange
                | Self::CreateFile
                | Self::RenameDestination
                | Self::CopyDestination
        )
    }

    /// Whether any open handle refuses the operation, whatever it shares.
    #[must_use]
    pub const fn needs_no_handle(self) -> bool {
        matches!(self, Self::DeleteFile)
    }

    fn conflicts_with(self, open: OpenMode) -> bool {
        self.needs_no_handle() || self.momentary_open().conflicts_with(open)
    }
}

/// A REST operation with what it brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestRequest {
    /// What is done, which says as what kind of open it counts.
    pub operation: RestOperation,
    /// The bytes that Get File reads, `None` for all.
    pub range: Option<ByteRange>,
    /// The request changes the file's attributes, or says that read-only does not matter.
    pub ignores_read_only: bool,
}

/// What the operation meets.
#[derive(Clone, Copy, Debug)]
pub struct FileInUse<'a> {
    /// The mark of a pending delete.
    pub delete_mark: DeleteMark,
    /// The read-only attribute.
    pub read_only: bool,
    /// The byte-range locks of SMB opens.
    pub locks: &'a RangeLocks,
}

/// One SMB open of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmbOpen {
    /// Its access and share mode.
    pub mode: OpenMode,
    /// What its client caches.
    pub cache: CacheGrant,
}

/// Why a REST operation on a file is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RestRefusal {
    /// 409 SMBDeletePending.
    #[error("the file is marked for deletion by an SMB client")]
    DeletePending,
    /// 409 ReadOnlyAttribute.
    #[error("the file is read-only")]
    ReadOnlyAttribute,
    /// 409 SharingViolation.
    #[error("the file may be in use by an SMB client")]
    SharingViolation,
    /// 409 FileLockConflict.
    #[error("a portion of the file is locked by an SMB client")]
    FileLockConflict,
}

/// How a REST operation goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestStep {
    /// At once.
    Proceed,
    /// At once, and the holders are told what they lose (see [`break_for_rest`]).
    ProceedAndBreak,
    /// Breaks first (see [`break_for_rest`]), waits for the answers, and asks again.
    BreakAndWait,
}

/// What a REST operation does to the cache of one SMB open, `None` when nothing.
///
/// A sharing conflict breaks handle caching first: the handle may be open only in the client's cache.
#[must_use]
pub fn trigger_for_rest(operation: RestOperation, open: SmbOpen) -> Option<Trigger> {
    let trigger = operation.cache_trigger()?;
    let may_be_only_cached = operation.conflicts_with(open.mode) && open.cache.caching().has_handle();
    Some(if may_be_only_cached { Trigger::SharingConflict } else { trigger })
}

/// The break that a REST operation causes to one SMB open, `None` when it causes none.
#[must_use]
pub fn break_for_rest(operation: RestOperation, open: SmbOpen) -> Option<CacheBreak> {
    cache_break(open.cache, trigger_for_rest(operation, open)?)
}

/// Decides a REST operation on a file against everything that SMB does to it.
///
/// # Errors
/// A [`RestRefusal`].
///
/// ```
/// use concurrency::delete_pending::DeleteMark;
/// use concurrency::oplock::{CacheGrant, Caching};
/// use concurrency::range_lock::RangeLocks;
/// use concurrency::rest_open::{FileInUse, RestOperation, RestRefusal, RestRequest, RestStep, SmbOpen, decide_rest};
/// use concurrency::share_mode::{Access, OpenMode, ShareMode};
///
/// let locks = RangeLocks::default();
/// let file = FileInUse { delete_mark: DeleteMark::default(), read_only: false, locks: &locks };
/// let get = RestRequest { operation: RestOperation::GetFile, range: None, ignores_read_only: false };
/// let mode = OpenMode { access: Access::WRITE, share: ShareMode::NONE };
/// let exclusive = SmbOpen { mode, cache: CacheGrant::Lease(Caching::None) };
/// assert_eq!(decide_rest(get, file, [exclusive]), Err(RestRefusal::SharingViolation));
/// let cached = SmbOpen { cache: CacheGrant::Lease(Caching::Rwh), ..exclusive };
/// assert_eq!(decide_rest(get, file, [cached]), Ok(RestStep::BreakAndWait));
/// assert_eq!(decide_rest(get, file, []), Ok(RestStep::Proceed));
/// ```
pub fn decide_rest(
    request: RestRequest,
    file: FileInUse<'_>,
    opens: impl IntoIterator<Item = SmbOpen>,
) -> Result<RestStep, RestRefusal> {
    let operation = request.operation;
    if operation == RestOperation::ListFiles {
        return Ok(RestStep::Proceed);
    }
    file.delete_mark.check_rest().map_err(|_| RestRefusal::DeletePending)?;
    if file.read_only && operation.is_refused_by_read_only() && !request.ignores_read_only {
        return Err(RestRefusal::ReadOnlyAttribute);
    }
    let (mut may_be_only_cached, mut in_use, mut waits, mut breaks) = (false, false, false, false);
    for open in opens {
        if operation.conflicts_with(open.mode) {
            let cached = open.cache.caching().has_handle();
            may_be_only_cached |= cached;
            in_use |= !cached;
        }
        if let Some(found) = break_for_rest(operation, open) {
            waits |= found.wait;
            breaks = true;
        }
    }
    // A handle that is open for certain decides; breaking the others would tell nothing new.
    if in_use {
        return Err(RestRefusal::SharingViolation);
    }
    if may_be_only_cached {
        return Ok(RestStep::BreakAndWait);
    }
    check_locks(request, file.locks)?;
    Ok(match (waits, breaks) {
        (true, _) => RestStep::BreakAndWait,
        (false, true) => RestStep::ProceedAndBreak,
        (false, false) => RestStep::Proceed,
    })
}

fn check_locks(request: RestRequest, locks: &RangeLocks) -> Result<(), RestRefusal> {
    let refused = if request.operation == RestOperation::GetFile {
        let range = request.range.unwrap_or(ByteRange::WHOLE_FILE);
        locks.check_io(None, range, Io::Read).is_err()
    } else {
        request.operation.is_refused_by_any_lock() && !locks.is_empty()
    };
    if refused { Err(RestRefusal::FileLockConflict) } else { Ok(()) }
}

/// Decides an SMB open against the REST lease of the file: while Leased it refuses writing and deleting. The share mode
/// of the open does not matter, although the lease counts as an open with all access when it is taken.
///
/// # Errors
/// [`SharingViolation`].
///
/// ```
/// use concurrency::{lease::LeaseState, rest_open::check_open_under_lease, share_mode::Access};
/// assert!(check_open_under_lease(LeaseState::Leased, Access::READ).is_ok());
/// assert!(check_open_under_lease(LeaseState::Leased, Access::WRITE).is_err());
/// assert!(check_open_under_lease(LeaseState::Broken, Access::WRITE).is_ok());
/// ```
pub const fn check_open_under_lease(lease: LeaseState, access: Access) -> Result<(), SharingViolation> {
    if lease.is_locked() && (access.write || access.delete) { Err(SharingViolation) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
