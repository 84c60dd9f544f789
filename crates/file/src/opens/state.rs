//! Everything that is open, locked, cached, claimed and awaited on one file: what one mutex guards.
//!
//! Owns the questions to the rules of `concurrency`, with all opens or with the confirmed ones only. A state that holds
//! nothing is removed from the table.

use std::{collections::VecDeque, sync::Arc};

use concurrency::{
    delete_pending::{DeleteIntent, DeleteMark},
    file_open::{FileOpen, OpenRefusal, OpenRequest, OpenStep, OpenedFile, decide_open, trigger_for_open},
    lease::LeaseState,
    oplock::{CacheGrant, Trigger},
    range_lock::{LockOwner, RangeLock, RangeLocks},
    rest_open::{FileInUse, RestOperation, RestRefusal, RestRequest, RestStep, SmbOpen, decide_rest, trigger_for_rest},
    share_mode::OpenMode,
};
use types::Timestamp;

use super::{
    caching::{Cache, NOTHING, Owner},
    claims::{Claims, Kinds},
    locking::WaitingLock,
    orphans::Orphaned,
    place::{CacheKey, HandleId},
    table::Act,
    ticket::Bell,
};

/// One file: what is under way on it, and what is open, if anything is.
#[derive(Debug, Default)]
pub(super) struct FileState {
    pub(super) claims: Claims,
    pub(super) in_use: Option<Box<InUse>>,
}

/// One open, confirmed or not.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) id: HandleId,
    pub(super) owner: Arc<Owner>,
    pub(super) mode: OpenMode,
    pub(super) delete: DeleteIntent,
    /// It is for attributes only.
    pub(super) only_looks: bool,
    /// The transaction of the open empties the file.
    pub(super) overwrites: bool,
    /// Under which it caches or may cache.
    pub(super) cache: CacheKey,
    pub(super) confirmed: bool,
    /// The removal of the file was decided before the open was confirmed.
    pub(super) doomed: bool,
    pub(super) opened_at: Timestamp,
    pub(super) reconnected_at: Option<Timestamp>,
    /// Its client is gone.
    pub(super) orphan: Option<Orphaned>,
}

impl Open {
    pub(super) const fn lock_owner(&self) -> LockOwner {
        LockOwner::new(self.id.number())
    }
}

/// What a ticket waits for. Each is a fact of the state, so a ticket is rung when it is so and not before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wants {
    /// None of these claims is under way.
    NoClaims(Kinds),
    /// This open is confirmed or given up.
    Settled(HandleId),
    /// Every open is confirmed or given up.
    NoTentative,
    /// This cache is not being broken.
    Answered(CacheKey),
    /// Nobody is waiting for claims to end.
    Turn,
}

/// The registration of a ticket; stays until the ticket is dropped.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) number: u64,
    pub(super) bell: Arc<Bell>,
    pub(super) wants: Wants,
}

/// A file that is open, or that somebody waits for.
#[derive(Debug, Default)]
pub(super) struct InUse {
    /// By id.
    pub(super) opens: Vec<Open>,
    pub(super) caches: Vec<Cache>,
    pub(super) locks: RangeLocks,
    /// Locks that wait, the oldest first.
    pub(super) lock_queue: VecDeque<WaitingLock>,
    /// A waiting lock could be had but for claims.
    pub(super) lock_turn: bool,
    pub(super) mark: DeleteMark,
    /// The last handle is closed, and the file is being removed.
    pub(super) removing: Option<HandleId>,
    /// What listings were told.
    pub(super) hidden: bool,
    pub(super) waiters: Vec<Waiter>,
}

impl FileState {
    pub(super) fn in_use(&mut self) -> &mut InUse {
        self.in_use.get_or_insert_default()
    }

    /// Byte-range locks that are held.
    pub(super) fn held_locks(&self) -> usize {
        self.in_use.as_ref().map_or(0, |used| used.locks.iter().count())
    }

    pub(super) fn is_idle(&self) -> bool {
        self.claims.is_empty() && self.in_use.as_ref().is_none_or(|used| used.is_idle())
    }

    /// Lets those in who waited for what is so now. Runs after every change.
    pub(super) fn after_change(&mut self, act: &mut Act<'_>) {
        let kinds = self.claims.kinds();
        if let Some(used) = &mut self.in_use {
            used.grant_waiting_locks(kinds, act);
            used.show_or_hide(act);
            used.ring(kinds, act);
            if used.is_idle() {
                self.in_use = None;
            }
        }
    }

    pub(super) fn is_satisfied(&self, wants: Wants) -> bool {
        match &self.in_use {
            Some(used) => used.is_satisfied(wants, self.claims.kinds()),
            None => InUse::default().is_satisfied(wants, self.claims.kinds()),
        }
    }
}

impl InUse {
    fn is_idle(&self) -> bool {
        self.opens.is_empty() && self.waiters.is_empty() && self.removing.is_none() && self.lock_queue.is_empty()
    }

    pub(super) fn find(&self, id: HandleId) -> Option<&Open> {
        let at = self.opens.binary_search_by_key(&id, |open| open.id).ok()?;
        self.opens.get(at)
    }

    pub(super) fn find_mut(&mut self, id: HandleId) -> Option<&mut Open> {
        let at = self.opens.binary_search_by_key(&id, |open| open.id).ok()?;
        self.opens.get_mut(at)
    }

    /// A handle that is open.
    pub(super) fn handle(&self, id: HandleId) -> Option<&Open> {
        self.find(id).filter(|open| open.confirmed)
    }

    pub(super) fn take(&mut self, id: HandleId) -> Option<Open> {
        let at = self.opens.binary_search_by_key(&id, |open| open.id).ok()?;
        Some(self.opens.remove(at))
    }

    pub(super) fn first_tentative(&self) -> Option<HandleId> {
        self.opens.iter().find(|open| !open.confirmed).map(|open| open.id)
    }

    /// What an open caches. A tentative one caches nothing of its own yet.
    pub(super) fn caching(&self, open: &Open) -> CacheGrant {
        let held = self.caches.iter().find(|cache| cache.key == open.cache).map(|cache| cache.state.held());
        held.unwrap_or(NOTHING)
    }

    /// Breaks whose time is up are over.
    pub(super) fn settle(&mut self, now: Timestamp, act: &Act<'_>) {
        if self.caches.iter().any(|cache| cache.state.deadline().is_some_and(|deadline| deadline <= now)) {
            let mut deadlines = act.table.deadlines();
            for cache in &mut self.caches {
                let settled = cache.state.settle(now);
                cache.become_state(settled, act.file, &mut deadlines);
            }
        }
    }

    /// The mark as it would be if the tentative opens were confirmed.
    fn mark_with_tentative(&self) -> DeleteMark {
        let tentative = self.opens.iter().filter(|open| !open.confirmed && !open.doomed);
        tentative.fold(self.mark, |mark, open| mark.open(open.delete).unwrap_or(mark))
    }

    /// Decides a REST operation, with the tentative opens or as if they were not there.
    pub(super) fn decide_rest(
        &self,
        request: RestRequest,
        read_only: bool,
        tentative: bool,
    ) -> Result<RestStep, RestRefusal> {
        let delete_mark = if tentative { self.mark_with_tentative() } else { self.mark };
        let file = FileInUse { delete_mark, read_only, locks: &self.locks };
        let opens = self.opens.iter().filter(|open| open.confirmed || tentative);
        decide_rest(request, file, opens.map(|open| SmbOpen { mode: open.mode, cache: self.caching(open) }))
    }

    /// Decides a new open. Tentative opens count as if they were confirmed.
    pub(super) fn decide_open(
        &self,
        request: OpenRequest,
        lease: LeaseState,
        key: Option<CacheKey>,
    ) -> Result<OpenStep, OpenRefusal> {
        let file = OpenedFile { delete_mark: self.mark, lease };
        decide_open(request, file, self.opens.iter().map(|open| self.seen(open, key)))
    }

    pub(super) fn seen(&self, open: &Open, key: Option<CacheKey>) -> FileOpen {
        FileOpen { mode: open.mode, cache: self.caching(open), same_lease_key: Some(open.cache) == key }
    }

    /// Tells the holders of caches what a REST operation takes away. The cache to wait for, if any.
    pub(super) fn break_for_rest(
        &mut self,
        operation: RestOperation,
        now: Timestamp,
        act: &mut Act<'_>,
    ) -> Option<CacheKey> {
        let told = self.opens.iter().filter_map(|open| {
            let seen = SmbOpen { mode: open.mode, cache: self.caching(open) };
            Some((open.cache, trigger_for_rest(operation, seen)?))
        });
        let told: Vec<_> = told.collect();
        self.break_all(told, now, act)
    }

    /// The same for an open.
    pub(super) fn break_for_open(
        &mut self,
        request: OpenRequest,
        key: Option<CacheKey>,
        now: Timestamp,
        act: &mut Act<'_>,
    ) -> Option<CacheKey> {
        let told =
            self.opens.iter().filter_map(|open| Some((open.cache, trigger_for_open(request, self.seen(open, key))?)));
        let told: Vec<_> = told.collect();
        self.break_all(told, now, act)
    }

    /// The same for something that is done through a handle; its own cache is left alone, but for a level II that a
    /// change takes from everybody.
    pub(super) fn break_others(
        &mut self,
        own: CacheKey,
        trigger: Trigger,
        now: Timestamp,
        act: &mut Act<'_>,
    ) -> Option<CacheKey> {
        self.orphans_give_way_to_handle(own, trigger, act);
        let spared = |cache: &Cache| {
            cache.key == own && !(trigger == Trigger::Write && cache.state.held().is_lost_by_own_write())
        };
        let told = self.caches.iter().filter(|cache| !spared(cache)).map(|cache| (cache.key, trigger));
        let told: Vec<_> = told.collect();
        self.break_all(told, now, act)
    }

    fn break_all(&mut self, told: Vec<(CacheKey, Trigger)>, now: Timestamp, act: &mut Act<'_>) -> Option<CacheKey> {
        let mut waits_for = None;
        if self.caches.is_empty() {
            return waits_for;
        }
        let (table, file) = (act.table, act.file);
        let mut deadlines = table.deadlines();
        for (key, trigger) in told {
            let Some(cache) = self.caches.iter_mut().find(|cache| cache.key == key) else { continue };
            if cache.trigger(trigger, file, now, &mut deadlines, &mut act.notices) {
                waits_for = waits_for.or(Some(key));
            }
        }
        waits_for
    }

    /// Requests that wait for claims to end come before claims that come later.
    pub(super) fn somebody_has_the_turn(&self) -> bool {
        self.lock_turn || self.waiters.iter().any(|waiter| matches!(waiter.wants, Wants::NoClaims(_)))
    }

    fn is_satisfied(&self, wants: Wants, kinds: Kinds) -> bool {
        match wants {
            Wants::NoClaims(unwanted) => !kinds.meets(unwanted),
            Wants::Settled(id) => self.find(id).is_none_or(|open| open.confirmed),
            Wants::NoTentative => self.first_tentative().is_none(),
            Wants::Answered(key) => !self.caches.iter().any(|cache| cache.key == key && cache.state.is_breaking()),
            Wants::Turn => !self.somebody_has_the_turn(),
        }
    }

    fn ring(&self, kinds: Kinds, act: &mut Act<'_>) {
        for waiter in &self.waiters {
            if !waiter.bell.is_rung() && self.is_satisfied(waiter.wants, kinds) {
                act.bells.push(Arc::clone(&waiter.bell));
            }
        }
    }

    /// Tells the listings of the directory when the mark has changed.
    fn show_or_hide(&mut self, act: &Act<'_>) {
        let hidden = self.mark.check_rest().is_err();
        if hidden != self.hidden {
            self.hidden = hidden;
            act.table.set_hidden(act.file, hidden);
        }
    }

    /// Whether locks would overtake others that wait already.
    pub(super) fn overtakes_in_queue(&self, locks: &[RangeLock]) -> bool {
        let mut queued = self.lock_queue.iter().flat_map(|waiting| &waiting.locks);
        queued.any(|earlier| locks.iter().any(|lock| earlier.refuses(lock)))
    }
}
