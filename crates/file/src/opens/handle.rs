//! A handle: closing it, marking its file for deletion, renaming through it, and the removal that the last close leads to.
//!
//! Invariants: every handle is closed exactly once, by its client, by force or because its holder is gone, and all of
//! them on one path; from the last close of a marked file until its remover has said what became of it, the file is
//! pending and hidden, also when the remover fails: then somebody else finishes it ([`Opens::unfinished`]).

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use concurrency::{
    delete_pending::{CloseEffect, DeleteMark, Obstacles},
    oplock::{CacheGrant, CacheState, Trigger},
};
use types::{Inode, Timestamp};

use super::{
    Opens,
    caching::{NOTHING, Notice, Owner},
    claims::{Claim, ClaimKind, Kinds},
    place::{CacheKey, FileKey, HandleId},
    places::OpenBelow,
    refusal::{HandleClosed, NotMarked, NotMoved},
    rest::Decided,
    state::{FileState, Wants},
    table::{Act, Table},
    ticket::Turn,
};

/// An open handle. Dropping it closes it.
#[derive(Debug)]
#[must_use = "a handle that is dropped is closed"]
pub struct Handle {
    pub(super) table: Arc<Table>,
    pub(super) file: FileKey,
    pub(super) id: HandleId,
    is_closed: bool,
    /// What is written through it leaves the time of the last write as it is.
    keeps_write_time: AtomicBool,
}

/// What a close leads to.
#[derive(Debug)]
pub enum Closed {
    /// The file stays.
    Kept,
    /// The file is to be removed, by whoever closed.
    Remove(Removal),
    /// The handle was closed already.
    Already,
}

impl Handle {
    pub(super) const fn new(table: Arc<Table>, file: FileKey, id: HandleId) -> Self {
        Self { table, file, id, is_closed: false, keeps_write_time: AtomicBool::new(false) }
    }

    /// Its number.
    #[must_use]
    pub const fn id(&self) -> HandleId {
        self.id
    }

    /// The file.
    #[must_use]
    pub const fn file(&self) -> FileKey {
        self.file
    }

    /// Whether what is written through it leaves the time of the last write as it is.
    #[must_use]
    pub fn keeps_write_time(&self) -> bool {
        self.keeps_write_time.load(Ordering::Relaxed)
    }

    /// From now on what is written through it leaves the time of the last write as it is, or does not any more: who has set the
    /// time through a handle wants to find it so.
    pub fn keep_write_time(&self, keeps: bool) {
        self.keeps_write_time.store(keeps, Ordering::Relaxed);
    }

    /// The directory that it is in and its name there; `None` for the topmost directory.
    #[must_use]
    pub fn name(&self) -> Option<(Inode, Box<str>)> {
        let located = self.table.places().locate(self.file.share, self.file.inode)?;
        Some((located.parent?, located.name))
    }

    /// Its path below the share, with `/` between names; empty for the topmost directory.
    #[must_use]
    pub fn path(&self) -> String {
        let located = self.table.places().locate(self.file.share, self.file.inode);
        located.map(|located| located.path).unwrap_or_default()
    }

    /// Whether it is going to be deleted with its last handle.
    #[must_use]
    pub fn is_delete_pending(&self) -> bool {
        self.table.with(self.file, |state, _| state.in_use().mark.check_rest().is_err())
    }

    /// What its client may cache.
    #[must_use]
    pub fn caching(&self) -> CacheGrant {
        self.cache().held()
    }

    /// The same, with what is being done about it.
    #[must_use]
    pub fn cache(&self) -> CacheState {
        self.table.with(self.file, |state, _| {
            let used = state.in_use();
            let key = used.handle(self.id).map(|open| open.cache);
            let cache = used.caches.iter().find(|cache| Some(cache.key) == key);
            cache.map_or(CacheState::new(NOTHING), |cache| cache.state)
        })
    }

    /// Closes it. `obstacles` are what the rows say of a directory; the remover looks again.
    pub fn close(mut self, obstacles: Obstacles) -> Closed {
        self.is_closed = true;
        self.table.close(self.file, self.id, obstacles, false)
    }

    /// Marks the file for deletion at the last close, or clears the mark. Waits for REST operations that are under way.
    ///
    /// # Errors
    /// [`NotMarked`].
    pub fn set_disposition(&self, delete: bool, obstacles: Obstacles, now: Timestamp) -> Result<Turn<()>, NotMarked> {
        let decided = self.table.with(self.file, |state, act| {
            state.set_disposition(self.id, delete, obstacles, now, act).map(|wants| match wants {
                Some(wants) => Table::wait(state, wants, act).map(Turn::Wait),
                None => Ok(Turn::Granted(())),
            })
        });
        Ok(decided??)
    }

    /// A rename through this handle: claims the file while the transaction runs. Call [`Opens::moved`] before the claim
    /// is dropped.
    ///
    /// # Errors
    /// [`NotMoved`].
    pub fn begin_rename(&self, now: Timestamp) -> Result<Turn<Claim>, NotMoved> {
        let decided = self.table.with(self.file, |state, act| state.begin_rename(self.id, now, act))?;
        Ok(match decided.into_ticket(&self.table)? {
            Some(ticket) => Turn::Wait(ticket),
            None => Turn::Granted(Claim::new(Arc::clone(&self.table), self.file, Some(ClaimKind::Move))),
        })
    }

    /// A client that was gone is back, in another session: its handle belongs to that one.
    ///
    /// # Errors
    /// [`HandleClosed`].
    pub fn reconnect(&self, owner: &Arc<Owner>, now: Timestamp) -> Result<(), HandleClosed> {
        self.table.with(self.file, |state, _| {
            let used = state.in_use();
            let open = used.find_mut(self.id).filter(|open| open.confirmed).ok_or(HandleClosed)?;
            open.owner = Arc::clone(owner);
            open.reconnected_at = Some(now);
            let key = open.cache;
            for cache in used.caches.iter_mut().filter(|cache| cache.key == key) {
                cache.owner = Arc::clone(owner);
            }
            Ok(())
        })
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if !self.is_closed {
            // A removal that is dropped is finished by somebody else.
            drop(self.table.close(self.file, self.id, Obstacles::default(), false));
        }
    }
}

impl FileState {
    fn set_disposition(
        &mut self,
        id: HandleId,
        delete: bool,
        obstacles: Obstacles,
        now: Timestamp,
        act: &mut Act<'_>,
    ) -> Result<Option<Wants>, NotMarked> {
        let under_way = self.claims.kinds();
        let used = self.in_use();
        used.settle(now, act);
        let open = used.handle(id).ok_or(HandleClosed)?;
        let (intent, key) = (open.delete, open.cache);
        let mark = used.mark.set_disposition(delete, intent, obstacles)?;
        if delete {
            if under_way.meets(Kinds::all()) {
                return Ok(Some(Wants::NoClaims(Kinds::all())));
            }
            if let Some(key) = used.break_others(key, Trigger::Delete, now, act) {
                return Ok(Some(Wants::Answered(key)));
            }
        }
        used.mark = mark;
        Ok(None)
    }

    fn begin_rename(&mut self, id: HandleId, now: Timestamp, act: &mut Act<'_>) -> Result<Decided, NotMoved> {
        let used = self.in_use();
        used.settle(now, act);
        let open = used.handle(id).ok_or(HandleClosed)?;
        if !open.mode.access.delete {
            return Err(NotMoved::AccessDenied);
        }
        let (key, tentative) = (open.cache, used.first_tentative().map(Wants::Settled));
        let wants = tentative.or_else(|| used.break_others(key, Trigger::Delete, now, act).map(Wants::Answered));
        if let Some(wants) = wants {
            return Ok(Decided::Wait(Table::wait(self, wants, act)?));
        }
        let begun = act.table.places().begin_move(act.file.share, act.file.inode);
        match begun {
            Err(OpenBelow::Handle) => Err(NotMoved::OpenBelow),
            Err(OpenBelow::Tentative(inode)) => Ok(self.wait_for_tentative_below(inode, act)),
            Ok(()) => {
                self.claims.add(ClaimKind::Move);
                Ok(Decided::Go)
            }
        }
    }

    /// The one path on which a handle is closed. `None` when it was closed already.
    fn close(&mut self, id: HandleId, obstacles: Obstacles, forced: bool, act: &mut Act<'_>) -> Option<CloseEffect> {
        let used = self.in_use();
        used.handle(id)?;
        let open = used.take(id)?;
        used.locks.release_owner(open.lock_owner());
        used.refuse_waiting_locks(id, act);
        used.leave_cache(open.cache, act);
        act.table.lease_keys().leave(open.cache, true);
        if forced {
            act.notices.push((open.owner, Notice::Closed { file: act.file, handle: id }));
        }
        let others = used.opens.iter().any(|open| open.confirmed);
        let (mark, effect) = used.mark.close(open.delete, others, obstacles);
        match effect {
            CloseEffect::Keep => {
                used.mark = mark;
                act.table.leave(act.file, id, true);
            }
            CloseEffect::Remove => {
                // Marked, until the remover says what became of the file.
                used.mark = used.mark.close(open.delete, true, obstacles).0;
                used.removing = Some(id);
                for open in &mut used.opens {
                    open.doomed = true;
                }
                act.table.places().unlist(act.file.share, id);
            }
        }
        Some(effect)
    }
}

impl super::state::InUse {
    fn leave_cache(&mut self, key: CacheKey, act: &Act<'_>) {
        let Some(at) = self.caches.iter().position(|cache| cache.key == key) else { return };
        let Some(cache) = self.caches.get_mut(at) else { return };
        cache.handles = cache.handles.saturating_sub(1);
        if cache.handles == 0 {
            cache.end(&mut act.table.deadlines());
            self.caches.swap_remove(at);
        } else if let Some(other) = self.opens.iter().find(|open| open.confirmed && open.cache == key) {
            // Whoever is told of breaks has a handle under the key: the session that had the first may be over.
            cache.owner = Arc::clone(&other.owner);
        }
    }
}

impl Table {
    pub(super) fn close(self: &Arc<Self>, file: FileKey, id: HandleId, obstacles: Obstacles, forced: bool) -> Closed {
        match self.with(file, |state, act| state.close(id, obstacles, forced, act)) {
            None => Closed::Already,
            Some(CloseEffect::Keep) => Closed::Kept,
            Some(CloseEffect::Remove) => Closed::Remove(Removal { table: Arc::clone(self), file, is_said: false }),
        }
    }
}

/// A file whose last handle is closed and that is marked: to be removed from the rows, and pending until that is said.
/// Dropping it without a word leaves it to [`Opens::unfinished`].
#[derive(Debug)]
#[must_use = "the file stays pending until it is removed or kept"]
pub struct Removal {
    table: Arc<Table>,
    file: FileKey,
    is_said: bool,
}

impl Removal {
    /// The file.
    #[must_use]
    pub const fn file(&self) -> FileKey {
        self.file
    }

    /// Its directory and its name there; `None` for a root, which stays.
    #[must_use]
    pub fn name(&self) -> Option<(Inode, Box<str>)> {
        let located = self.table.places().locate(self.file.share, self.file.inode)?;
        Some((located.parent?, located.name))
    }

    /// The rows are gone.
    pub fn removed(mut self) {
        self.end(true);
    }

    /// The rows stay: it is a directory with entries, read-only, or nothing was there any more.
    pub fn kept(mut self) {
        self.end(false);
    }

    fn end(&mut self, removed: bool) {
        self.is_said = true;
        self.table.with(self.file, |state, act| {
            let used = state.in_use();
            let Some(id) = used.removing.take() else { return };
            used.mark = DeleteMark::CLEAR;
            for open in used.opens.iter_mut().filter(|open| !open.confirmed) {
                open.doomed = removed;
            }
            act.table.leave(act.file, id, true);
        });
    }
}

impl Drop for Removal {
    fn drop(&mut self) {
        if !self.is_said {
            self.table.unfinished().push_back(self.file);
        }
    }
}

impl Opens {
    /// A removal that was begun and that nobody works on: its handle was dropped without a close, or its remover failed.
    #[must_use]
    pub fn unfinished(&self) -> Option<Removal> {
        let file = self.table.unfinished().pop_front()?;
        Some(Removal { table: Arc::clone(&self.table), file, is_said: false })
    }
}
