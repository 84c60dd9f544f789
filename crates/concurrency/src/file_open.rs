//! Opening a file beside the opens that exist: the way of an SMB create through every rule that can stop it.
//!
//! Owns the order: delete pending, the REST lease, share modes, caches. A share mode refuses only for a handle that is
//! open for certain; a handle that may live in its client's cache is asked for first. [`crate::rest_open`] is the same
//! path for REST operations.
//!
//! Must never register the open: the table of opens does, once the step says so.

use crate::{
    delete_pending::{DeleteIntent, DeleteMark},
    lease::LeaseState,
    oplock::{CacheBreak, CacheGrant, Trigger, cache_break},
    rest_open::check_open_under_lease,
    share_mode::OpenMode,
};

/// One open of the file that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileOpen {
    /// Its access and share mode.
    pub mode: OpenMode,
    /// What its client caches.
    pub cache: CacheGrant,
    /// It caches under the lease key of the new open: the same client, whose cache need not be broken.
    pub same_lease_key: bool,
}

/// How far the rights of an open reach, which is finer than what counts for sharing: rights to extended attributes or to
/// the owner share with everybody, and break caches all the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reach {
    /// Attributes and times: breaks nothing.
    Attributes,
    /// Reads the security descriptor besides: breaks oplocks, but not leases.
    Descriptor,
    /// Anything else.
    #[default]
    File,
}

/// What a new open asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenRequest {
    /// Its access and share mode.
    pub mode: OpenMode,
    /// What it is for.
    pub reach: Reach,
    /// It truncates or replaces the file.
    pub overwrites: bool,
    /// Whether it will delete.
    pub delete: DeleteIntent,
}

/// What the new open meets besides other opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenedFile {
    /// The mark of a pending delete.
    pub delete_mark: DeleteMark,
    /// The state of the file's REST lease.
    pub lease: LeaseState,
}

/// Why an open is refused. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenRefusal {
    /// The deletion of the file is decided (SMB delete pending).
    #[error("the file is marked for deletion")]
    DeletePending,
    /// Another open or the REST lease is in the way (SMB sharing violation).
    #[error("the file is in use by another open with a conflicting share mode")]
    SharingViolation,
}

/// How an open goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenStep {
    /// At once, with this mark to store for the file.
    Proceed(DeleteMark),
    /// At once, and the holders are told what they lose (see [`break_for_open`]).
    ProceedAndBreak(DeleteMark),
    /// Breaks first (see [`break_for_open`]), waits for the answers, and asks again.
    BreakAndWait,
}

/// What a new open does to the cache of one that exists, `None` when nothing.
///
/// What cannot be done at once is done in steps, for whoever waits asks again: an open that deletes on close first has
/// cached writes flushed, as every open, and then cached handles closed.
#[must_use]
pub fn trigger_for_open(request: OpenRequest, open: FileOpen) -> Option<Trigger> {
    let caching = open.cache.caching();
    if open.same_lease_key {
        return None;
    }
    let only_looks = match request.reach {
        Reach::Attributes => true,
        Reach::Descriptor => matches!(open.cache, CacheGrant::Lease(_)),
        Reach::File => false,
    };
    if only_looks && !request.overwrites {
        return None;
    }
    if request.mode.conflicts_with(open.mode) && caching.has_handle() {
        return Some(Trigger::SharingConflict);
    }
    if request.overwrites {
        return Some(Trigger::Overwrite);
    }
    if request.delete.delete_on_close && !caching.has_write() {
        return Some(Trigger::Delete);
    }
    Some(Trigger::Read)
}

/// The break that a new open causes to one that exists, `None` when it causes none.
#[must_use]
pub fn break_for_open(request: OpenRequest, open: FileOpen) -> Option<CacheBreak> {
    cache_break(open.cache, trigger_for_open(request, open)?)
}

/// Decides a new open against everything that is open.
///
/// # Errors
/// An [`OpenRefusal`].
///
/// ```
/// use concurrency::delete_pending::{DeleteIntent, DeleteMark};
/// use concurrency::file_open::{FileOpen, OpenRefusal, OpenRequest, OpenStep, OpenedFile, Reach, decide_open};
/// use concurrency::lease::LeaseState;
/// use concurrency::oplock::{CacheGrant, OplockLevel};
/// use concurrency::share_mode::{Access, OpenMode, ShareMode};
///
/// let mode = OpenMode { access: Access::WRITE, share: ShareMode::NONE };
/// let request = OpenRequest { mode, reach: Reach::File, overwrites: false, delete: DeleteIntent::default() };
/// let file = OpenedFile { delete_mark: DeleteMark::default(), lease: LeaseState::Available };
/// let open = |level| FileOpen { mode, cache: CacheGrant::Oplock(level), same_lease_key: false };
///
/// assert!(matches!(decide_open(request, file, []), Ok(OpenStep::Proceed(_))));
/// let refused = decide_open(request, file, [open(OplockLevel::None)]);
/// assert_eq!(refused, Err(OpenRefusal::SharingViolation));
/// assert_eq!(decide_open(request, file, [open(OplockLevel::Batch)]), Ok(OpenStep::BreakAndWait));
/// ```
pub fn decide_open(
    request: OpenRequest,
    file: OpenedFile,
    opens: impl IntoIterator<Item = FileOpen>,
) -> Result<OpenStep, OpenRefusal> {
    let mark = file.delete_mark.open(request.delete).map_err(|_| OpenRefusal::DeletePending)?;
    check_open_under_lease(file.lease, request.mode.access).map_err(|_| OpenRefusal::SharingViolation)?;
    let (mut in_use, mut waits, mut breaks) = (false, false, false);
    for open in opens {
        let found = break_for_open(request, open);
        let may_be_only_cached = open.cache.caching().has_handle() && !open.same_lease_key;
        in_use |= request.mode.conflicts_with(open.mode) && !may_be_only_cached;
        waits |= found.is_some_and(|found| found.wait);
        breaks |= found.is_some();
    }
    match (in_use, waits, breaks) {
        (true, _, _) => Err(OpenRefusal::SharingViolation),
        (false, true, _) => Ok(OpenStep::BreakAndWait),
        (false, false, true) => Ok(OpenStep::ProceedAndBreak(mark)),
        (false, false, false) => Ok(OpenStep::Proceed(mark)),
    }
}

#[cfg(test)]
mod tests;
