//! What is open, for those who only look: a handle, or what a snapshot keeps. Both say the same things.

use bytes::Bytes;
use file::{FileError, Files, SecurityDescriptor, kept::Kept, list::Listing, object::NodeProperties, opens::FileKey};

use crate::open::Used;

/// A directory or file that is looked at.
pub(crate) enum View<'a> {
    /// As it is.
    Present(Used<'a>),
    /// As a snapshot keeps it.
    Kept(&'a Kept),
}

impl View<'_> {
    pub(crate) fn file(&self) -> FileKey {
        match self {
            Self::Present(handle) => handle.file(),
            Self::Kept(kept) => kept.file(),
        }
    }

    /// From the root of the share, with `\` between names.
    pub(crate) fn path(&self) -> String {
        match self {
            Self::Present(handle) => handle.path().replace('/', "\\"),
            Self::Kept(kept) => kept.path().replace('/', "\\"),
        }
    }

    pub(crate) fn is_delete_pending(&self) -> bool {
        match self {
            Self::Present(handle) => handle.is_delete_pending(),
            Self::Kept(_) => false,
        }
    }

    pub(crate) async fn properties(&self, files: &Files) -> Result<NodeProperties, FileError> {
        match self {
            Self::Present(handle) => files.open_properties(handle).await,
            Self::Kept(kept) => files.kept_properties(kept).await,
        }
    }

    pub(crate) async fn security(&self, files: &Files) -> Result<SecurityDescriptor, FileError> {
        match self {
            Self::Present(handle) => files.open_security(handle).await,
            Self::Kept(kept) => files.kept_security(kept).await,
        }
    }

    pub(crate) async fn read(&self, files: &Files, offset: u64, length: usize) -> Result<Vec<Bytes>, FileError> {
        match self {
            Self::Present(handle) => files.read_pieces_at(handle, offset, length).await,
            Self::Kept(kept) => files.read_kept(kept, offset, length).await,
        }
    }

    pub(crate) async fn list(
        &self,
        files: &Files,
        prefix: &str,
        marker: Option<&str>,
        limit: usize,
    ) -> Result<Listing, FileError> {
        match self {
            Self::Present(handle) => files.list_open(handle, prefix, marker, limit).await,
            Self::Kept(kept) => files.list_kept(kept, prefix, marker, limit).await,
        }
    }
}
