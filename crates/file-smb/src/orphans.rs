//! What SMB remembers of handles whose clients are gone and may come back. The handles themselves stay in the table of opens,
//! which decides when they end.
//!
//! **Invariant.** There are no more of them than orphans in the table of opens, which bounds those: who closes an orphan there
//! is heard here.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
};

use file::opens::{FileKey, Handle, HandleId, Keeping, Notice, Owner};
use types::UnitId;

use crate::{
    open::{Disk, Open, Remembered, What},
    rights::Rights,
    server::Shared,
    session::Logon,
    wire::FileId,
};

/// A handle without its client.
pub(crate) struct Orphan {
    pub(crate) file: FileKey,
    pub(crate) handle: HandleId,
    /// The half of its id that stays.
    pub(crate) persistent: u64,
    pub(crate) account: UnitId,
    pub(crate) rights: Rights,
    pub(crate) write_through: bool,
    pub(crate) remembered: Arc<Remembered>,
    position: u64,
    mode: u32,
}

impl Orphan {
    /// The open that it becomes again.
    pub(crate) fn reopened(&self, handle: Handle, id: FileId, tree: u32) -> Open {
        let disk = Disk::new(handle, false).with(self.position, self.mode);
        Open {
            id,
            tree,
            rights: self.rights,
            write_through: self.write_through,
            remembered: Arc::clone(&self.remembered),
            what: What::Disk(disk),
        }
    }
}

/// All of them, by the half of the id that stays.
#[derive(Default)]
pub(crate) struct Orphans(Mutex<Table>);

#[derive(Default)]
struct Table {
    all: HashMap<u64, Arc<Orphan>>,
    by_handle: HashMap<HandleId, u64>,
}

impl Orphans {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, persistent: u64) -> Option<Arc<Orphan>> {
        self.table().all.get(&persistent).cloned()
    }

    fn add(&self, orphan: Orphan) {
        let mut table = self.table();
        table.by_handle.insert(orphan.handle, orphan.persistent);
        table.all.insert(orphan.persistent, Arc::new(orphan));
    }

    /// It is closed, or its client has it again.
    pub(crate) fn forget(&self, handle: HandleId) {
        let mut table = self.table();
        let gone = table.by_handle.remove(&handle).and_then(|persistent| table.all.remove(&persistent));
        drop(table);
        // Not while the table is locked.
        drop(gone);
    }
}

/// Who is told of orphans, in place of a client: List Handles still shows that one.
pub(crate) fn keeper(shared: &Arc<Shared>, owner: &Owner) -> Arc<Owner> {
    let orphans = Arc::clone(&shared.orphans);
    let notify = Box::new(move |notice| {
        if let Notice::Closed { handle, .. } = notice {
            orphans.forget(handle);
        }
    });
    Arc::new(Owner { session: owner.session, client: owner.client, client_name: owner.client_name.clone(), notify })
}

/// An open whose connection is lost: a durable one stays, and what was written to its file is to be flushed. `None` when it is to be
/// closed.
pub(crate) async fn leave(shared: &Arc<Shared>, logon: &Logon, keeper: &Arc<Owner>, open: &Open) -> Option<FileKey> {
    let (kind, how) = open.remembered.kept()?;
    let disk = open.disk().ok()?;
    let handle = disk.detach().await?;
    let (file, number, account) = (handle.file(), handle.id(), logon.grant.account().unit);
    let orphan = Orphan {
        file,
        handle: number,
        persistent: open.id.persistent,
        account,
        rights: open.rights,
        write_through: open.write_through,
        remembered: Arc::clone(&open.remembered),
        position: disk.position.load(Ordering::Relaxed),
        mode: disk.mode.load(Ordering::Relaxed),
    };
    // Before it is one: who closes it then finds it here.
    shared.orphans.add(orphan);
    let until = shared.files.now().saturating_add(how.timeout);
    let keeping = Keeping { account, until, kind, keeper: Arc::clone(keeper) };
    match handle.leave(&keeping) {
        Ok(()) => Some(file),
        Err(handle) => {
            shared.orphans.forget(number);
            disk.attach(handle).await;
            None
        }
    }
}
