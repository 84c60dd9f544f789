//! Handles whose clients are gone and may come back: orphans. They stay in the table with their share mode, locks, cache and
//! delete mark, held by nobody.
//!
//! Invariants: an orphan ends: its client takes it back, somebody wants what it holds, or its time is up. Orphans are bounded
//! for a session, an account and the process; when there are too many the oldest go. All of them are closed on the one path.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    hash::Hash,
    sync::Arc,
};

use concurrency::{
    delete_pending::{CloseEffect, Obstacles},
    durable::{self, Fate, Kind},
    file_open::{OpenRequest, trigger_for_open},
    oplock::{CacheState, Trigger},
    rest_open::{RestOperation, SmbOpen, trigger_for_rest},
};
use types::{Timestamp, UnitId, limits};

use super::{
    Opens,
    caching::Owner,
    handle::Handle,
    place::{CacheKey, FileKey, HandleId},
    refusal::HandleClosed,
    state::{InUse, Open},
    table::{Act, Table},
};

/// How a handle stays without its client.
#[derive(Clone, Debug)]
pub struct Keeping {
    /// The account of the client.
    pub account: UnitId,
    /// Then it is closed.
    pub until: Timestamp,
    /// Whether it makes way for others before.
    pub kind: Kind,
    /// Who is told when it is closed; List Handles shows it as the holder.
    pub keeper: Arc<Owner>,
}

/// What a handle remembers that is one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Orphaned {
    /// Among [`Orphans`].
    pub(super) number: u64,
    kind: Kind,
    /// What is written through it leaves the time of the last write as it is.
    keeps_write_time: bool,
}

/// An orphan among all.
#[derive(Clone, Copy, Debug)]
struct Entry {
    file: FileKey,
    id: HandleId,
    until: Timestamp,
    account: UnitId,
    session: u64,
}

/// An orphan that is to be closed, unless its client takes it back before.
type Over = (FileKey, HandleId, u64);

/// All orphans, by their numbers: the oldest has the smallest.
#[derive(Debug, Default)]
pub(super) struct Orphans {
    all: BTreeMap<u64, Entry>,
    ends: BTreeSet<(Timestamp, u64)>,
    of_account: HashMap<UnitId, BTreeSet<u64>>,
    of_session: HashMap<u64, BTreeSet<u64>>,
    last: u64,
}

impl Orphans {
    /// Adds one, and says which one is too many.
    fn add(&mut self, entry: Entry) -> (u64, Option<Over>) {
        self.last += 1;
        let number = self.last;
        self.all.insert(number, entry);
        self.ends.insert((entry.until, number));
        let of_account = self.of_account.entry(entry.account).or_default();
        of_account.insert(number);
        let of_session = self.of_session.entry(entry.session).or_default();
        of_session.insert(number);
        let oldest = oldest_of(of_session, limits::ORPHANS_PER_SESSION_MAX)
            .or_else(|| oldest_of(of_account, limits::ORPHANS_PER_ACCOUNT_MAX))
            .or_else(|| self.all.keys().next().copied().filter(|_| self.all.len() > limits::ORPHANS_MAX));
        let over = oldest.and_then(|oldest| self.all.get(&oldest).map(|entry| (entry.file, entry.id, oldest)));
        (number, over)
    }

    pub(super) fn remove(&mut self, number: u64) {
        let Some(entry) = self.all.remove(&number) else { return };
        self.ends.remove(&(entry.until, number));
        forget(&mut self.of_account, &entry.account, number);
        forget(&mut self.of_session, &entry.session, number);
    }

    /// When the next one ends.
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.ends.first().map(|(until, _)| *until)
    }

    fn is_over(&self, number: u64, now: Timestamp) -> bool {
        self.all.get(&number).is_none_or(|entry| entry.until <= now)
    }

    fn over(&self, now: Timestamp) -> Vec<Over> {
        let ended = self.ends.iter().take_while(|(until, _)| *until <= now);
        let found = ended.filter_map(|(_, number)| self.all.get(number).map(|entry| (entry.file, entry.id, *number)));
        found.collect()
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }
}

fn oldest_of(numbers: &BTreeSet<u64>, most: usize) -> Option<u64> {
    numbers.first().copied().filter(|_| numbers.len() > most)
}

fn forget<K: Eq + Hash>(groups: &mut HashMap<K, BTreeSet<u64>>, key: &K, number: u64) {
    if let Some(group) = groups.get_mut(key) {
        group.remove(&number);
        if group.is_empty() {
            groups.remove(key);
        }
    }
}

impl Handle {
    /// Its client is gone and may come back: it stays, held by nobody. [`Opens::take_back`] gives it back.
    ///
    /// # Errors
    /// The handle, when its client does not cache it any more, or owes an answer: to be closed.
    pub fn leave(mut self, keeping: &Keeping) -> Result<(), Self> {
        let left = self.table.with(self.file, |state, act| state.in_use().leave(&self, keeping, act));
        let Some(over) = left else { return Err(self) };
        self.is_closed = true;
        if let Some(over) = over {
            self.table.close_orphan(over);
        }
        Ok(())
    }
}

impl Opens {
    /// A client that was gone is back, in another session: its handle belongs to that one.
    ///
    /// # Errors
    /// [`HandleClosed`]: it was closed meanwhile, or was not left.
    pub fn take_back(
        &self,
        file: FileKey,
        id: HandleId,
        owner: &Arc<Owner>,
        now: Timestamp,
    ) -> Result<Handle, HandleClosed> {
        let orphan = self.table.with(file, |state, act| state.in_use().take_back(id, owner, now, act))?;
        let handle = Handle::new(Arc::clone(&self.table), file, id);
        handle.keep_write_time(orphan.keeps_write_time);
        Ok(handle)
    }

    /// Closes those whose time is up.
    pub(super) fn expire_orphans(&self, now: Timestamp) {
        let over = self.table.orphans().over(now);
        for orphan in over {
            self.table.close_orphan(orphan);
        }
    }
}

impl Table {
    fn close_orphan(self: &Arc<Self>, (file, id, number): Over) {
        self.with(file, |state, act| {
            let used = state.in_use();
            if used.handle(id).is_some_and(|open| open.orphan.is_some_and(|orphan| orphan.number == number)) {
                used.close_orphan(id, act);
            }
        });
    }
}

impl InUse {
    /// `None` when the handle cannot stay; else the orphan that is too many, if one is.
    fn leave(&mut self, handle: &Handle, keeping: &Keeping, act: &mut Act<'_>) -> Option<Option<Over>> {
        let (id, keeps_write_time) = (handle.id(), handle.keeps_write_time());
        let key = self.handle(id)?.cache;
        let cache = self.caches.iter().find(|cache| cache.key == key).map(|cache| &cache.state);
        if !durable::outlives_connection(keeping.kind, cache) {
            return None;
        }
        let is_owed = cache.is_some_and(CacheState::is_breaking);
        self.refuse_waiting_locks(id, act);
        let session = keeping.keeper.session;
        let entry = Entry { file: act.file, id, until: keeping.until, account: keeping.account, session };
        let (number, over) = act.table.orphans().add(entry);
        let open = self.find_mut(id)?;
        open.orphan = Some(Orphaned { number, kind: keeping.kind, keeps_write_time });
        open.owner = Arc::clone(&keeping.keeper);
        // Who is told of breaks is one who hears it, if there is one.
        let hears = self.opens.iter().find(|open| open.cache == key && open.confirmed && open.orphan.is_none());
        let owner = Arc::clone(hears.map_or(&keeping.keeper, |open| &open.owner));
        self.set_cache_owner(key, &owner);
        if is_owed {
            self.forget_cache(key, act);
        }
        Some(over)
    }

    fn take_back(
        &mut self,
        id: HandleId,
        owner: &Arc<Owner>,
        now: Timestamp,
        act: &mut Act<'_>,
    ) -> Result<Orphaned, HandleClosed> {
        let open = self.find_mut(id).filter(|open| open.confirmed).ok_or(HandleClosed)?;
        let orphan = open.orphan.ok_or(HandleClosed)?;
        if act.table.orphans().is_over(orphan.number, now) {
            self.close_orphan(id, act);
            return Err(HandleClosed);
        }
        act.table.orphans().remove(orphan.number);
        open.orphan = None;
        open.owner = Arc::clone(owner);
        open.reconnected_at = Some(now);
        let key = open.cache;
        self.set_cache_owner(key, owner);
        Ok(orphan)
    }

    fn set_cache_owner(&mut self, key: CacheKey, owner: &Arc<Owner>) {
        for cache in self.caches.iter_mut().filter(|cache| cache.key == key) {
            cache.owner = Arc::clone(owner);
        }
    }

    /// Somebody opens the file.
    pub(super) fn orphans_give_way_to_open(&mut self, request: OpenRequest, key: Option<CacheKey>, act: &mut Act<'_>) {
        let pending = self.mark.open(request.delete).is_err();
        self.orphans_give_way(act, |used, open| {
            let trigger = trigger_for_open(request, used.seen(open, key));
            let conflicts = pending || request.mode.conflicts_with(open.mode);
            (trigger, conflicts)
        });
    }

    /// A REST operation takes caches away. True when an orphan was closed.
    pub(super) fn orphans_give_way_to_rest(&mut self, operation: RestOperation, act: &mut Act<'_>) -> bool {
        self.orphans_give_way(act, |used, open| {
            let seen = SmbOpen { mode: open.mode, cache: used.caching(open) };
            (trigger_for_rest(operation, seen), false)
        })
    }

    /// Somebody does something through a handle.
    pub(super) fn orphans_give_way_to_handle(&mut self, own: CacheKey, trigger: Trigger, act: &mut Act<'_>) {
        self.orphans_give_way(act, |_, open| {
            let trigger = (open.cache != own).then_some(trigger);
            (trigger, false)
        });
    }

    /// `met` says what somebody does to the cache of an open, and whether its share mode is in the way. True when an orphan is not
    /// what it was.
    fn orphans_give_way(&mut self, act: &mut Act<'_>, met: impl Fn(&Self, &Open) -> (Option<Trigger>, bool)) -> bool {
        // Nearly always there are none.
        if self.opens.iter().all(|open| open.orphan.is_none()) {
            return false;
        }
        let (mut closing, mut forgetting) = (Vec::new(), Vec::new());
        for open in &self.opens {
            let Some(orphan) = open.orphan else { continue };
            let (trigger, conflicts) = met(self, open);
            match durable::fate(orphan.kind, self.caching(open), trigger, conflicts) {
                Fate::Stays => {}
                Fate::LosesItsCache => forgetting.push(open.cache),
                Fate::Ends => closing.push(open.id),
            }
        }
        for id in &closing {
            self.close_orphan(*id, act);
        }
        for key in &forgetting {
            self.forget_cache(*key, act);
        }
        !closing.is_empty() || !forgetting.is_empty()
    }

    /// Nobody is left who could be told that a cache is taken away.
    fn forget_cache(&mut self, key: CacheKey, act: &Act<'_>) {
        if self.opens.iter().any(|open| open.cache == key && open.confirmed && open.orphan.is_none()) {
            return;
        }
        for cache in self.caches.iter_mut().filter(|cache| cache.key == key) {
            cache.become_state(cache.state.lost(), act.file, &mut act.table.deadlines());
        }
    }

    fn close_orphan(&mut self, id: HandleId, act: &mut Act<'_>) {
        if self.close(id, Obstacles::default(), true, act) == Some(CloseEffect::Remove) {
            // By whoever comes first.
            act.table.unfinished().push_back(act.file);
        }
    }
}
