//! One request while it is done: on which connection, in whose session, and how it is told to wait or to stop.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use file::Files;
use tokio_util::sync::CancellationToken;

use crate::{
    NtStatus,
    connection::Connection,
    session::{Logon, Session},
    wire::{
        header::{Header, Route},
        negotiate::dialect,
    },
};

/// What a request is done with.
pub(crate) struct Cx<'a> {
    pub(crate) connection: &'a Arc<Connection>,
    pub(crate) session: &'a Arc<Session>,
    pub(crate) logon: &'a Logon,
    pub(crate) header: Header,
    /// Whether the client may be told to wait: only what is last in its frame.
    pub(crate) is_last: bool,
    /// The number under which it was told to wait; 0 when it was not.
    pub(crate) pending: AtomicU64,
    /// The number under which it waits, told or not.
    pub(crate) waits: AtomicU64,
    pub(crate) cancel: CancellationToken,
    /// It came encrypted, so it is answered so.
    pub(crate) sealed: bool,
}

impl Cx<'_> {
    pub(crate) fn files(&self) -> &Files {
        &self.connection.shared.files
    }

    /// Whether errors have contexts.
    pub(crate) fn has_contexts(&self) -> bool {
        self.connection.negotiated.get().is_some_and(|how| how.dialect == dialect::SMB_3_1_1)
    }

    /// The tree that the request names.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn tree_id(&self) -> Result<u32, NtStatus> {
        match self.header.route {
            Route::Sync { tree_id, .. } => Ok(tree_id),
            Route::Async(_) => Err(NtStatus::INVALID_PARAMETER),
        }
    }

    /// Begins to wait, and tells the client so, once. In the middle of a compound it is not told, because the answers
    /// before it are not there yet; giving up works all the same, by the number of the message.
    pub(crate) async fn pend(&self) {
        if self.waits.load(Ordering::Relaxed) != 0 {
            return;
        }
        let id = self.connection.wait_begins(self.header.message_id, &self.cancel);
        self.waits.store(id, Ordering::Relaxed);
        if self.is_last {
            self.pending.store(id, Ordering::Relaxed);
            self.connection.send_pending(self, id).await;
        }
    }

    /// Returns when the client gives up, or the connection ends.
    pub(crate) async fn cancelled(&self) {
        self.cancel.cancelled().await;
    }
}

impl Drop for Cx<'_> {
    fn drop(&mut self) {
        let id = self.waits.load(Ordering::Relaxed);
        if id != 0 {
            self.connection.wait_ends(id);
        }
    }
}
