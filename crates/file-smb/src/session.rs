//! Who has logged on: the account, the keys of the session, its trees and its opens.
//!
//! **Invariants.** A session belongs to one connection and ends with it; of what it had open, durable handles stay. Trees and opens are found again for each request, by
//! numbers that are never used twice, so what was closed by one request of a compound is not there for the next. What
//! one session can hold is bounded.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use access::Grant;
use file::{
    Files,
    opens::{HandleId, Owner},
    share::ShareAddress,
};
use tokio::sync::{Notify, futures::Notified};

use crate::{NtStatus, open::Open, orphans, secrets::Secrets, server::Shared, wire::FileId};

/// Tree connects of a session.
const TREES_MAX: usize = 256;
/// Opens of a session.
const OPENS_MAX: usize = 16_384;

/// A session, from the first message of its logon on.
pub(crate) struct Session {
    pub(crate) id: u64,
    /// Set when the logon has succeeded, and not before.
    pub(crate) logon: OnceLock<Logon>,
    state: Mutex<State>,
    /// Something was opened.
    opened: Notify,
    next_tree: AtomicU32,
}

/// What a logon that has succeeded leaves.
pub(crate) struct Logon {
    pub(crate) grant: Grant,
    pub(crate) secrets: Secrets,
    /// What its connection speaks.
    pub(crate) dialect: u16,
    pub(crate) cipher: u16,
    pub(crate) signing: u16,
    /// Requests that are not signed are refused.
    pub(crate) must_sign: bool,
    /// Requests that are not encrypted are refused.
    pub(crate) must_encrypt: bool,
    pub(crate) owner: Arc<Owner>,
}

#[derive(Default)]
struct State {
    trees: HashMap<u32, Arc<Tree>>,
    opens: HashMap<u64, Arc<Open>>,
    is_over: bool,
}

/// A share that a session is connected to.
pub(crate) struct Tree {
    pub(crate) id: u32,
    pub(crate) share: TreeShare,
}

/// What a tree is.
pub(crate) enum TreeShare {
    /// A share of the File service.
    Disk(ShareAddress),
    /// `IPC$`.
    Pipes,
}

impl Session {
    pub(crate) fn new(id: u64) -> Self {
        Self {
            id,
            logon: OnceLock::new(),
            state: Mutex::default(),
            opened: Notify::new(),
            next_tree: AtomicU32::new(1),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the logon left.
    ///
    /// # Errors
    /// It has not succeeded.
    pub(crate) fn logon(&self) -> Result<&Logon, NtStatus> {
        self.logon.get().ok_or(NtStatus::USER_SESSION_DELETED)
    }

    /// Whether it has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.state().is_over
    }

    /// Connects a tree.
    ///
    /// # Errors
    /// There are too many, or the session is over.
    pub(crate) fn connect(&self, share: TreeShare) -> Result<Arc<Tree>, NtStatus> {
        let mut state = self.state();
        if state.is_over {
            return Err(NtStatus::USER_SESSION_DELETED);
        }
        if state.trees.len() >= TREES_MAX {
            return Err(NtStatus::INSUFFICIENT_RESOURCES);
        }
        let tree = Arc::new(Tree { id: self.next_tree.fetch_add(1, Ordering::Relaxed), share });
        state.trees.insert(tree.id, Arc::clone(&tree));
        Ok(tree)
    }

    /// A tree by its number.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn tree(&self, id: u32) -> Result<Arc<Tree>, NtStatus> {
        self.state().trees.get(&id).cloned().ok_or(NtStatus::NETWORK_NAME_DELETED)
    }

    /// Disconnects a tree and closes what was opened in it.
    ///
    /// # Errors
    /// There is none.
    pub(crate) async fn disconnect(&self, id: u32, files: &Files) -> Result<(), NtStatus> {
        let opens: Vec<Arc<Open>> = {
            let mut state = self.state();
            state.trees.remove(&id).ok_or(NtStatus::NETWORK_NAME_DELETED)?;
            let gone: Vec<u64> = state.opens.iter().filter(|(_, open)| open.tree == id).map(|(id, _)| *id).collect();
            gone.iter().filter_map(|id| state.opens.remove(id)).collect()
        };
        close_all(opens, files).await;
        Ok(())
    }

    /// Whether another open would be too many.
    pub(crate) fn may_open(&self) -> Result<(), NtStatus> {
        if self.state().opens.len() < OPENS_MAX { Ok(()) } else { Err(NtStatus::TOO_MANY_OPENED_FILES) }
    }

    /// Remembers an open. It is given back when its tree or its session has ended meanwhile.
    pub(crate) fn add(&self, open: Open) -> Result<(), Arc<Open>> {
        self.add_shared(Arc::new(open))
    }

    /// The same of one that was closed by its connection before.
    pub(crate) fn add_shared(&self, open: Arc<Open>) -> Result<(), Arc<Open>> {
        let mut state = self.state();
        if state.is_over || !state.trees.contains_key(&open.tree) {
            return Err(open);
        }
        state.opens.insert(open.id.volatile, open);
        drop(state);
        self.opened.notify_waiters();
        Ok(())
    }

    /// An open by its id, in the tree that the request names.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn open(&self, id: FileId, tree: u32) -> Result<Arc<Open>, NtStatus> {
        let state = self.state();
        let open = state.opens.get(&id.volatile).filter(|open| open.id == id && open.tree == tree);
        open.cloned().ok_or(NtStatus::FILE_CLOSED)
    }

    /// The same in any tree.
    pub(crate) fn open_of_any_tree(&self, id: FileId) -> Option<Arc<Open>> {
        self.state().opens.get(&id.volatile).filter(|open| open.id == id).cloned()
    }

    /// Ready when something was opened.
    pub(crate) fn opened(&self) -> Notified<'_> {
        self.opened.notified()
    }

    /// The open with this handle.
    pub(crate) fn with_handle(&self, handle: HandleId) -> Option<Arc<Open>> {
        let has = |open: &&Arc<Open>| open.disk().is_ok_and(|disk| disk.number == Some(handle));
        self.state().opens.values().find(has).cloned()
    }

    /// Takes an open away, to close it.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn take(&self, id: FileId, tree: u32) -> Result<Arc<Open>, NtStatus> {
        self.open(id, tree)?;
        self.state().opens.remove(&id.volatile).ok_or(NtStatus::FILE_CLOSED)
    }

    /// Ends the session: everything is closed, and nothing can be opened any more.
    pub(crate) async fn end(&self, files: &Files) {
        close_all(self.take_all(), files).await;
    }

    /// The client is gone, or has logged off: durable handles stay for a while, so that it can take them back. Everything else is
    /// closed.
    pub(crate) async fn lose(&self, shared: &Arc<Shared>) {
        let (mut closing, mut left) = (Vec::new(), Vec::new());
        let opens = self.take_all();
        let Ok(logon) = self.logon() else { return close_all(opens, &shared.files).await };
        let keeper = orphans::keeper(shared, &logon.owner);
        // All of them before the first is flushed: the client may be back already.
        for open in opens {
            match orphans::leave(shared, logon, &keeper, &open).await {
                Some(file) => left.push(file),
                None => closing.push(open),
            }
        }
        close_all(closing, &shared.files).await;
        for file in left {
            if let Err(error) = shared.files.flush_left(file).await {
                tracing::warn!(%error, "what was written to a file could not be stored when its connection was lost");
            }
        }
    }

    fn take_all(&self) -> Vec<Arc<Open>> {
        let mut state = self.state();
        state.is_over = true;
        state.trees.clear();
        state.opens.drain().map(|(_, open)| open).collect()
    }
}

async fn close_all(opens: Vec<Arc<Open>>, files: &Files) {
    for open in opens {
        if let Err(status) = open.close(files).await
            && status != NtStatus::FILE_CLOSED
        {
            tracing::warn!(%status, "what was written to a file could not be stored when its session ended");
        }
    }
}
