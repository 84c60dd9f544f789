//! One request while it is done: on which connection, in whose session, and how it is told to wait or to stop.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use file::Files;
use net::Slot;
use tokio_util::sync::CancellationToken;

use crate::{
    NtStatus,
    answers::{self, Answer, Frame},
    connection::{Connection, Held},
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
    /// The frame that it came in.
    pub(crate) frame: &'a InWork,
}

/// What a frame holds while it is done.
pub(crate) struct InWork {
    /// It was let in.
    pub(crate) is_let_in: bool,
    /// Its length.
    pub(crate) bytes: usize,
    /// Its place among the requests that are done at once.
    slot: Mutex<Option<Arc<Slot>>>,
    answers: Mutex<Vec<Answer>>,
    /// Room for its answers.
    room: Mutex<Option<Held>>,
}

impl InWork {
    pub(crate) fn new(bytes: usize, slot: Option<Arc<Slot>>) -> Self {
        let is_let_in = slot.is_some();
        Self { is_let_in, bytes, slot: Mutex::new(slot), answers: Mutex::default(), room: Mutex::default() }
    }

    /// Something that is done before anything else of its connection, so that it has no slot.
    pub(crate) fn in_order(bytes: usize) -> Self {
        Self { is_let_in: true, ..Self::new(bytes, None) }
    }

    pub(crate) fn answer(&self, answer: Answer) {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).push(answer);
    }

    /// What is answered so far.
    pub(crate) fn answered(&self) -> Vec<Answer> {
        std::mem::take(&mut *self.answers.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set_room(&self, room: Option<Held>) {
        *self.room.lock().unwrap_or_else(PoisonError::into_inner) = room;
    }

    /// The room for answers, as far as they need it.
    pub(crate) fn room_for(&self, frame: &Frame) -> Option<Held> {
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(room) = &mut room {
            room.keep(frame.len());
        }
        room
    }
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

    /// Begins to wait, and tells the client so, once, behind what the frame has been answered so far. In the middle of a
    /// compound it is not told; giving up works all the same, by the number of the message. What waits for others is not in
    /// work.
    pub(crate) async fn pend(&self) {
        if self.waits.load(Ordering::Relaxed) != 0 {
            return;
        }
        let id = self.connection.wait_begins(self.header.message_id, &self.cancel);
        self.waits.store(id, Ordering::Relaxed);
        if !self.is_last {
            return;
        }
        self.pending.store(id, Ordering::Relaxed);
        drop(self.frame.slot.lock().unwrap_or_else(PoisonError::into_inner).take());
        let before = self.frame.answered();
        if let (false, Some(frame)) = (before.is_empty(), answers::frame(before, self.sealed.then_some(self.session))) {
            let room = self.frame.room_for(&frame);
            self.connection.send(frame, room).await;
        }
        self.connection.send_pending(self, id).await;
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
