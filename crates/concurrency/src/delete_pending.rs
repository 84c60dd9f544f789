//! Delete pending: a file that SMB has marked for deletion and that is gone when its last handle closes.
//!
//! Owns the mark, who may set and clear it, and what closes do. Must never delete: it says when the file is to be
//! removed. A REST delete never comes here, because it commits at once.
//!
//! Invariants: a file is removed at most once, at the close of the last handle, and only while marked; clearing the mark
//! before that keeps the file.

/// The mark on one file or directory, kept with its opens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DeleteMark {
    disposition: bool,
    delete_on_close_handles: u32,
}

/// What a handle may do and what it marks; part of the open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DeleteIntent {
    /// The handle was opened to delete the file when it closes.
    pub delete_on_close: bool,
    /// The handle has delete access.
    pub delete_access: bool,
}

impl DeleteIntent {
    /// Decides whether a file can be opened with this intent: to delete on close needs delete access, and a file that is
    /// not read-only. A directory with entries can be opened so; it is kept if they are still there at the close.
    ///
    /// # Errors
    /// A [`MarkRefusal`].
    ///
    /// ```
    /// use concurrency::delete_pending::{DeleteIntent, MarkRefusal};
    /// let intent = DeleteIntent { delete_on_close: true, delete_access: false };
    /// assert_eq!(intent.check(false), Err(MarkRefusal::AccessDenied));
    /// ```
    pub const fn check(self, read_only: bool) -> Result<(), MarkRefusal> {
        match (self.delete_on_close, self.delete_access, read_only) {
            (true, false, _) => Err(MarkRefusal::AccessDenied),
            (true, true, true) => Err(MarkRefusal::ReadOnly),
            (true, true, false) | (false, _, _) => Ok(()),
        }
    }
}

/// What stands in the way of a deletion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Obstacles {
    /// The read-only attribute is set.
    pub read_only: bool,
    /// A directory with entries.
    pub not_empty: bool,
}

/// Why a mark is refused. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MarkRefusal {
    /// The handle has no delete access (SMB access denied).
    #[error("the handle has no delete access")]
    AccessDenied,
    /// The read-only attribute is set (SMB cannot delete).
    #[error("a read-only file cannot be deleted")]
    ReadOnly,
    /// The directory has entries (SMB directory not empty).
    #[error("the directory is not empty")]
    DirectoryNotEmpty,
}

/// The file is marked for deletion (SMB delete pending, REST 409 SMBDeletePending).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the file is marked for deletion by an SMB client")]
pub struct DeletePending;

/// What a close does to the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CloseEffect {
    /// The file stays.
    Keep,
    /// The file is to be removed.
    Remove,
}

impl DeleteMark {
    /// No mark.
    pub const CLEAR: Self = Self { disposition: false, delete_on_close_handles: 0 };

    /// An open joins: refused while the deletion is decided; an open with delete-on-close is counted.
    ///
    /// # Errors
    /// [`DeletePending`].
    ///
    /// ```
    /// use concurrency::delete_pending::{DeleteIntent, DeleteMark};
    /// let intent = DeleteIntent { delete_on_close: true, delete_access: true };
    /// let mark = DeleteMark::default().open(intent)?;
    /// assert!(mark.open(DeleteIntent::default()).is_ok(), "nothing is decided before that handle closes");
    /// assert!(mark.check_rest().is_err(), "REST sees the file as pending");
    /// # Ok::<(), concurrency::delete_pending::DeletePending>(())
    /// ```
    pub fn open(self, intent: DeleteIntent) -> Result<Self, DeletePending> {
        if self.disposition {
            return Err(DeletePending);
        }
        let joining = u32::from(intent.delete_on_close);
        Ok(Self { delete_on_close_handles: self.delete_on_close_handles.saturating_add(joining), ..self })
    }

    /// Sets or clears the disposition through a handle.
    ///
    /// # Errors
    /// A [`MarkRefusal`].
    ///
    /// ```
    /// use concurrency::delete_pending::{DeleteIntent, DeleteMark, Obstacles};
    /// let intent = DeleteIntent { delete_on_close: false, delete_access: true };
    /// let marked = DeleteMark::default().set_disposition(true, intent, Obstacles::default())?;
    /// assert!(marked.open(intent).is_err() && marked.check_rest().is_err());
    /// let cleared = marked.set_disposition(false, intent, Obstacles::default())?;
    /// assert!(cleared.open(intent).is_ok() && cleared.check_rest().is_ok());
    /// # Ok::<(), concurrency::delete_pending::MarkRefusal>(())
    /// ```
    pub const fn set_disposition(
        self,
        delete: bool,
        intent: DeleteIntent,
        obstacles: Obstacles,
    ) -> Result<Self, MarkRefusal> {
        if !intent.delete_access {
            return Err(MarkRefusal::AccessDenied);
        }
        if delete && obstacles.read_only {
            return Err(MarkRefusal::ReadOnly);
        }
        if delete && obstacles.not_empty {
            return Err(MarkRefusal::DirectoryNotEmpty);
        }
        Ok(Self { disposition: delete, ..self })
    }

    /// A handle closes, by its client, a lost connection or force. `others` says that more handles are open.
    ///
    /// A handle with delete-on-close sets the disposition as it closes; the last handle of all removes the file. A
    /// directory that has been filled meanwhile is kept.
    ///
    /// ```
    /// use concurrency::delete_pending::{CloseEffect, DeleteIntent, DeleteMark, Obstacles};
    /// let (plain, deleting) = (DeleteIntent::default(), DeleteIntent { delete_on_close: true, delete_access: true });
    /// let mark = DeleteMark::default().open(plain)?.open(deleting)?;
    /// let (mark, effect) = mark.close(deleting, true, Obstacles::default());
    /// assert_eq!((effect, mark.open(plain).is_err()), (CloseEffect::Keep, true));
    /// assert_eq!(mark.close(plain, false, Obstacles::default()).1, CloseEffect::Remove);
    /// # Ok::<(), concurrency::delete_pending::DeletePending>(())
    /// ```
    #[must_use]
    pub fn close(self, intent: DeleteIntent, others: bool, obstacles: Obstacles) -> (Self, CloseEffect) {
        let leaving = u32::from(intent.delete_on_close);
        let mark = Self {
            disposition: self.disposition || (intent.delete_on_close && !obstacles.not_empty),
            delete_on_close_handles: self.delete_on_close_handles.saturating_sub(leaving),
        };
        match (others, mark.disposition && !obstacles.not_empty) {
            (true, _) => (mark, CloseEffect::Keep),
            (false, true) => (Self::default(), CloseEffect::Remove),
            (false, false) => (Self::default(), CloseEffect::Keep),
        }
    }

    /// Decides any REST operation on the file: it is pending as soon as an SMB handle is going to delete it, and not
    /// absent, because the client may still clear the mark. The file is left out of listings meanwhile.
    ///
    /// # Errors
    /// [`DeletePending`].
    pub const fn check_rest(self) -> Result<(), DeletePending> {
        if self.disposition || self.delete_on_close_handles > 0 { Err(DeletePending) } else { Ok(()) }
    }

    /// Decides whether a rename or a new name may replace the file (SMB access denied).
    ///
    /// # Errors
    /// [`DeletePending`].
    pub const fn check_replace(self) -> Result<(), DeletePending> {
        self.check_rest()
    }
}

#[cfg(test)]
mod tests;
