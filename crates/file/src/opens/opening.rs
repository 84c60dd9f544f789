//! Opening a file: registered before the transaction that looks at the rows, confirmed after it.
//!
//! From its registration on a tentative open decides against other opens as if it were confirmed; it caches nothing and
//! is not listed. [`TentativeOpen::confirm`] is the moment that counts: a deletion that was decided before refuses it.

use std::sync::Arc;

use concurrency::{
    delete_pending::DeletePending,
    file_open::{OpenRefusal, OpenRequest, Reach},
    lease::LeaseState,
    oplock::{Beside, CacheGrant, CacheState, grant},
};
use types::{Timestamp, limits};

use super::{
    Opens,
    caching::{Cache, Owner, is_nothing},
    claims::Kinds,
    handle::Handle,
    place::{CacheKey, FileKey, HandleId, LeaseKey, Place},
    places::NotEntered,
    refusal::NotOpened,
    rest::Decided,
    state::{FileState, InUse, Open, Wants},
    table::{Act, Table},
    ticket::Turn,
};

/// What a new open asks for.
#[derive(Clone, Debug)]
pub struct Asking {
    /// Where the file is, as far as the rows said when they were looked at.
    pub place: Place,
    /// Access, share mode, and whether it overwrites or deletes.
    pub request: OpenRequest,
    /// The state of the file's REST lease in the rows. The transaction looks again.
    pub lease: LeaseState,
    /// What the client wants to cache.
    pub cache: CacheGrant,
    /// Under which key, if it is a lease.
    pub lease_key: Option<LeaseKey>,
    /// From where on the client counts the changes of a lease; `None` when it does not.
    pub epoch: Option<u16>,
    /// Directories are not cached, and need no key.
    pub is_directory: bool,
    /// Who opens.
    pub owner: Arc<Owner>,
}

impl Asking {
    fn shared_key(&self) -> Option<CacheKey> {
        self.lease_key.filter(|_| !self.is_directory).map(CacheKey::Lease)
    }
}

/// An open that waits for its transaction. Dropping it gives it up.
#[derive(Debug)]
#[must_use = "an open that is dropped is given up"]
pub struct TentativeOpen {
    table: Arc<Table>,
    asking: Asking,
    id: HandleId,
    given_up: bool,
}

impl Opens {
    /// Decides an open against everything that is open and under way, and registers it.
    ///
    /// Whoever creates a file picks its inode first and opens that: nobody else knows it before the transaction, and the
    /// transaction decides who creates the name. So names need no claims of their own.
    ///
    /// # Errors
    /// [`NotOpened`].
    pub fn open(&self, asking: &Asking, now: Timestamp) -> Result<Turn<TentativeOpen>, NotOpened> {
        if !self.table.take_seat() {
            return Err(NotOpened::TooManyOpenFiles);
        }
        let (file, mut registered) = (asking.place.file(), None);
        let decided = self.table.with(file, |state, act| state.register(asking, now, &mut registered, act));
        let ticket = decided.and_then(|decided| Ok(decided.into_ticket(&self.table)?));
        match (ticket, registered) {
            (Ok(None), Some(id)) => {
                let table = Arc::clone(&self.table);
                Ok(Turn::Granted(TentativeOpen { table, asking: asking.clone(), id, given_up: false }))
            }
            (ticket, _) => {
                self.table.free_seat();
                match ticket? {
                    Some(ticket) => Ok(Turn::Wait(ticket)),
                    None => Err(NotOpened::TooManyOpenFiles),
                }
            }
        }
    }
}

impl FileState {
    fn register(
        &mut self,
        asking: &Asking,
        now: Timestamp,
        registered: &mut Option<HandleId>,
        act: &mut Act<'_>,
    ) -> Result<Decided, NotOpened> {
        let request = asking.request;
        if let Some(wait) = act.enter_key(asking.lease_key.map(CacheKey::Lease), false)? {
            return Ok(wait);
        }
        let used = self.in_use.get_or_insert_default();
        used.settle(now, act);
        used.orphans_give_way_to_open(request, asking.shared_key(), act);
        let step = used.decide_open(request, asking.lease, asking.shared_key())?;
        let limit = if asking.place.is_root() { limits::HANDLES_ON_ROOT_MAX } else { limits::HANDLES_PER_FILE_MAX };
        if used.opens.len() >= limit {
            return Err(NotOpened::TooManyHandles { limit });
        }
        let in_the_way = Kinds::in_the_way_of_open(request);
        if self.claims.kinds().meets(in_the_way) {
            return Ok(Decided::Wait(Table::wait(self, Wants::NoClaims(in_the_way), act)?));
        }
        if !matches!(step, concurrency::file_open::OpenStep::Proceed(_))
            && let Some(key) = used.break_for_open(request, asking.shared_key(), now, act)
        {
            return Ok(Decided::Wait(Table::wait(self, Wants::Answered(key), act)?));
        }
        let id = HandleId::new(act.table.next_number());
        if let Err(refusal) = act.table.places().enter(&asking.place, id) {
            return match refusal {
                NotEntered::Full => Err(NotOpened::TooManyOpenFiles),
                NotEntered::Moving(inode) => {
                    Ok(Decided::WaitAt(FileKey { inode, ..act.file }, Wants::NoClaims(Kinds::MOVE)))
                }
            };
        }
        let entered = act.enter_key(asking.shared_key(), true);
        if !matches!(entered, Ok(None)) {
            // Somebody was faster.
            act.table.places().leave(act.file.share, act.file.inode, id, false);
            return entered.map(|wait| wait.unwrap_or(Decided::Go));
        }
        used.opens.push(Open {
            id,
            owner: Arc::clone(&asking.owner),
            mode: request.mode,
            only_looks: request.reach == Reach::Attributes,
            overwrites: request.overwrites,
            delete: request.delete,
            cache: asking.shared_key().unwrap_or(CacheKey::Oplock(id)),
            confirmed: false,
            doomed: false,
            opened_at: now,
            reconnected_at: None,
            orphan: None,
        });
        *registered = Some(id);
        Ok(Decided::Go)
    }

    fn confirm(&mut self, asking: &Asking, id: HandleId, act: &Act<'_>) -> Result<(), OpenRefusal> {
        let changes = self.claims.change_data();
        let used = self.in_use();
        let mark = used.mark.open(asking.request.delete).map_err(|DeletePending| OpenRefusal::DeletePending)?;
        let Some(open) = used.find_mut(id).filter(|open| !open.doomed) else { return Err(OpenRefusal::DeletePending) };
        open.confirmed = true;
        let key = open.cache;
        used.mark = mark;
        act.table.places().confirm(&asking.place, id);
        act.table.lease_keys().confirm(key);

        // A client must not cache what a write that is under way makes old.
        let granted = grant(asking.cache, used.beside(key, asking.is_directory || changes));
        let known = used.caches.iter_mut().find(|cache| cache.key == key);
        match known {
            Some(cache) => {
                cache.handles += 1;
                let again = cache.state.asked_again(asking.cache, granted);
                cache.become_state(again, act.file, &mut act.table.deadlines());
            }
            None if is_nothing(granted) && asking.shared_key().is_none() => {}
            None => {
                let state = CacheState::counted(granted, asking.epoch);
                used.caches.push(Cache::new(key, state, Arc::clone(&asking.owner)));
            }
        }
        Ok(())
    }
}

impl InUse {
    /// What is open under other keys, for what is granted under this one.
    fn beside(&self, key: CacheKey, barred: bool) -> Beside {
        let locked = !self.locks.is_empty() || !self.lock_queue.is_empty();
        let mut beside = Beside { bars: barred || locked, ..Beside::default() };
        for open in self.opens.iter().filter(|open| open.cache != key) {
            beside.opens |= !open.only_looks;
            beside.bars |= open.overwrites && !open.confirmed;
        }
        for held in self.caches.iter().filter(|cache| cache.key != key).map(|cache| cache.state.held()) {
            let caching = held.caching();
            beside.opens |= caching.has_read();
            beside.writes |= caching.has_write();
            beside.handles |= caching.has_handle() && !held.is_oplock();
            beside.oplocks |= held.is_oplock();
        }
        beside
    }
}

impl TentativeOpen {
    /// The handle that it will be.
    #[must_use]
    pub const fn id(&self) -> HandleId {
        self.id
    }

    /// The transaction has found or made the file: the open becomes a handle, and what it may cache is decided.
    ///
    /// # Errors
    /// [`OpenRefusal::DeletePending`] when the deletion of the file was decided meanwhile.
    pub fn confirm(mut self) -> Result<Handle, OpenRefusal> {
        let file = self.asking.place.file();
        self.table.with(file, |state, act| state.confirm(&self.asking, self.id, act))?;
        self.given_up = true;
        Ok(Handle::new(Arc::clone(&self.table), file, self.id))
    }
}

impl Drop for TentativeOpen {
    fn drop(&mut self) {
        if self.given_up {
            return;
        }
        let file = self.asking.place.file();
        self.table.with(file, |state, act| {
            if let Some(open) = state.in_use().take(self.id) {
                act.table.lease_keys().leave(open.cache, false);
                act.table.leave(file, self.id, false);
            }
        });
    }
}
