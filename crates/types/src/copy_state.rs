//! How a copy stands, as a blob or a file that is copied into tells it.

use crate::Timestamp;

/// How a copy into a blob or a file stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyState {
    /// Its id.
    pub id: String,
    /// The source, as the client named it.
    pub source: String,
    /// Whether it runs, or how it ended.
    pub status: CopyStatus,
    /// Why it did not succeed.
    pub description: Option<String>,
    /// Bytes that are there.
    pub copied: u64,
    /// Bytes in all.
    pub total: u64,
    /// When it ended, however it ended.
    pub completed: Option<Timestamp>,
}

impl CopyState {
    /// How it ended, and when.
    pub fn end(&mut self, status: CopyStatus, description: Option<String>, now: Timestamp) {
        (self.status, self.description, self.completed) = (status, description, Some(now));
    }
}

/// The states of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyStatus {
    /// It runs.
    Pending,
    /// It is done.
    Success,
    /// Somebody ended it.
    Aborted,
    /// It could not be done.
    Failed,
}

impl CopyStatus {
    /// The word for it in headers and documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Success => "success",
            Self::Aborted => "aborted",
            Self::Failed => "failed",
        }
    }
}
