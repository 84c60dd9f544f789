//! The table itself: the states of all files in shards, the tree of places, the deadlines of breaks, and the bounds.
//!
//! Invariants: locks are taken in the order shard, places, deadlines, lease keys, orphans, and never two shards at once; holders are
//! told and waiters woken after every lock is released; a file that nothing is known of has no entry.

use std::{
    collections::{BTreeSet, HashMap, VecDeque, hash_map::Entry},
    hash::{BuildHasher, RandomState},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use types::{Inode, UnitId, limits};

use super::{
    caching::{Deadlines, Notice, Owner},
    claims::ClaimKind,
    lease_keys::LeaseKeys,
    orphans::Orphans,
    place::{FileKey, HandleId},
    places::Places,
    refusal::TooManyWaiters,
    state::{FileState, Waiter, Wants},
    ticket::{Bell, Ticket},
};

const SHARDS: usize = 64;
/// An empty shard that had more room than this gives it back.
const ROOM_KEPT: usize = 256;

type Shard = HashMap<FileKey, FileState>;

/// See the module.
pub(super) struct Table {
    shards: Vec<Mutex<Shard>>,
    hasher: RandomState,
    places: Mutex<Places>,
    deadlines: Mutex<Deadlines>,
    orphans: Mutex<Orphans>,
    lease_keys: Mutex<LeaseKeys>,
    /// Removals that were begun and that nobody works on.
    unfinished: Mutex<VecDeque<FileKey>>,
    /// Opens, tentative or not, and removals.
    seats: AtomicUsize,
    waiters: AtomicUsize,
    hidden: AtomicUsize,
    last_number: AtomicU64,
}

/// A change to one file: what it leads to is done when the file's lock is released.
pub(super) struct Act<'a> {
    pub(super) table: &'a Arc<Table>,
    pub(super) file: FileKey,
    pub(super) notices: Vec<(Arc<Owner>, Notice)>,
    pub(super) bells: Vec<Arc<Bell>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No call of strangers is made while a lock is held, so a panic that leaves half a change is a bug of ours; going
    // on with it is better than stopping every file of the shard.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Default for Table {
    fn default() -> Self {
        Self {
            shards: std::iter::repeat_with(Mutex::default).take(SHARDS).collect(),
            hasher: RandomState::new(),
            places: Mutex::default(),
            deadlines: Mutex::default(),
            orphans: Mutex::default(),
            lease_keys: Mutex::default(),
            unfinished: Mutex::default(),
            seats: AtomicUsize::new(0),
            waiters: AtomicUsize::new(0),
            hidden: AtomicUsize::new(0),
            last_number: AtomicU64::new(0),
        }
    }
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("seats", &self.seats).finish_non_exhaustive()
    }
}

impl Table {
    /// Changes the state of one file, lets in who waited for the change, and tells who has to know.
    pub(super) fn with<T>(
        self: &Arc<Self>,
        file: FileKey,
        change: impl FnOnce(&mut FileState, &mut Act<'_>) -> T,
    ) -> T {
        let mut act = Act { table: self, file, notices: Vec::new(), bells: Vec::new() };
        let result = self.change(file, |state| {
            let result = change(state, &mut act);
            state.after_change(&mut act);
            result
        });
        for (owner, notice) in act.notices {
            (owner.notify)(notice);
        }
        for bell in act.bells {
            bell.ring();
        }
        result
    }

    fn change<T>(&self, file: FileKey, change: impl FnOnce(&mut FileState) -> T) -> T {
        let at = usize::try_from(self.hasher.hash_one(file) % 64).unwrap_or(0);
        let Some(shard) = self.shards.get(at) else { return change(&mut FileState::default()) };
        let mut shard = lock(shard);
        match shard.entry(file) {
            Entry::Occupied(mut known) => {
                let result = change(known.get_mut());
                if known.get().is_idle() {
                    known.remove();
                    if shard.is_empty() && shard.capacity() > ROOM_KEPT {
                        shard.shrink_to_fit();
                    }
                }
                result
            }
            Entry::Vacant(vacant) => {
                let mut state = FileState::default();
                let result = change(&mut state);
                if !state.is_idle() {
                    vacant.insert(state);
                }
                result
            }
        }
    }

    pub(super) fn places(&self) -> MutexGuard<'_, Places> {
        lock(&self.places)
    }

    pub(super) fn deadlines(&self) -> MutexGuard<'_, Deadlines> {
        lock(&self.deadlines)
    }

    pub(super) fn orphans(&self) -> MutexGuard<'_, Orphans> {
        lock(&self.orphans)
    }

    pub(super) fn lease_keys(&self) -> MutexGuard<'_, LeaseKeys> {
        lock(&self.lease_keys)
    }

    pub(super) fn unfinished(&self) -> MutexGuard<'_, VecDeque<FileKey>> {
        lock(&self.unfinished)
    }

    /// A number that was never given out before.
    pub(super) fn next_number(&self) -> u64 {
        self.last_number.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Room for one more handle.
    pub(super) fn take_seat(&self) -> bool {
        let taken = |seats: usize| (seats < limits::HANDLES_MAX).then(|| seats + 1);
        self.seats.fetch_update(Ordering::SeqCst, Ordering::SeqCst, taken).is_ok()
    }

    pub(super) fn free_seat(&self) {
        self.seats.fetch_sub(1, Ordering::SeqCst);
    }

    pub(super) fn take_waiter(&self, in_file: usize) -> Result<(), TooManyWaiters> {
        let taken = |waiters: usize| (waiters < limits::WAITERS_MAX).then(|| waiters + 1);
        if in_file >= limits::WAITERS_PER_FILE_MAX
            || self.waiters.fetch_update(Ordering::SeqCst, Ordering::SeqCst, taken).is_err()
        {
            return Err(TooManyWaiters);
        }
        Ok(())
    }

    pub(super) fn free_waiter(&self) {
        self.waiters.fetch_sub(1, Ordering::SeqCst);
    }

    /// A ticket at a file that is being changed.
    pub(super) fn wait(state: &mut FileState, wants: Wants, act: &Act<'_>) -> Result<Ticket, TooManyWaiters> {
        let used = state.in_use();
        act.table.take_waiter(used.waiters.len() + used.lock_queue.len())?;
        let (number, bell) = (act.table.next_number(), Arc::new(Bell::default()));
        used.waiters.push(Waiter { number, bell: Arc::clone(&bell), wants });
        Ok(Ticket::new(bell, Arc::clone(act.table), act.file, number))
    }

    /// A ticket at another file, unless there is nothing to wait for any more.
    pub(super) fn wait_at(self: &Arc<Self>, file: FileKey, wants: Wants) -> Result<Ticket, TooManyWaiters> {
        self.with(
            file,
            |state, act| {
                if state.is_satisfied(wants) { Ok(Ticket::rung()) } else { Self::wait(state, wants, act) }
            },
        )
    }

    /// The ticket is dropped.
    pub(super) fn give_up(self: &Arc<Self>, file: FileKey, number: u64) {
        self.with(file, |state, _| state.in_use().waiters.retain(|waiter| waiter.number != number));
        self.free_waiter();
    }

    /// The outcome of a claim is known.
    pub(super) fn end_claim(self: &Arc<Self>, file: FileKey, kind: ClaimKind) {
        if kind == ClaimKind::Move {
            self.places().end_move(file.share, file.inode);
        }
        self.with(file, |state, _| state.claims.remove(kind));
    }

    /// A mark was set or cleared.
    pub(super) fn set_hidden(&self, file: FileKey, hidden: bool) {
        self.places().hide(file.share, file.inode, hidden);
        if hidden {
            self.hidden.fetch_add(1, Ordering::SeqCst);
        } else {
            self.hidden.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// What is hidden in a directory; costs one load when nothing is hidden anywhere.
    pub(super) fn hidden(&self, share: UnitId, directory: Inode) -> BTreeSet<Inode> {
        if self.hidden.load(Ordering::SeqCst) == 0 {
            return BTreeSet::new();
        }
        self.places().hidden(share, directory)
    }

    /// A handle leaves the tree and frees its seat.
    pub(super) fn leave(&self, file: FileKey, handle: HandleId, confirmed: bool) {
        self.places().leave(file.share, file.inode, handle, confirmed);
        self.free_seat();
    }

    pub(super) fn census(&self) -> Census {
        let (path_nodes, path_entries) = self.places().size();
        Census {
            files: self.shards.iter().map(|shard| lock(shard).len()).sum(),
            handles: self.seats.load(Ordering::SeqCst),
            locks: self.shards.iter().map(|shard| lock(shard).values().map(FileState::held_locks).sum::<usize>()).sum(),
            waiters: self.waiters.load(Ordering::SeqCst),
            hidden: self.hidden.load(Ordering::SeqCst),
            path_nodes,
            path_entries,
            deadlines: self.deadlines().len(),
            lease_keys: self.lease_keys().len(),
            unfinished: self.unfinished().len(),
            orphans: self.orphans().len(),
        }
    }
}

/// How much the table holds. All zero when nothing is open, claimed or awaited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Files with a state: open, claimed or awaited.
    pub files: usize,
    /// Handles, tentative opens and removals that have not ended.
    pub handles: usize,
    /// Byte-range locks that are held.
    pub locks: usize,
    /// Requests that wait.
    pub waiters: usize,
    /// Files that listings leave out.
    pub hidden: usize,
    /// Directories and files whose names are remembered.
    pub path_nodes: usize,
    /// What is remembered of shares besides.
    pub path_entries: usize,
    /// Breaks that wait for an answer.
    pub deadlines: usize,
    /// Lease keys that are in use.
    pub lease_keys: usize,
    /// Removals that nobody works on.
    pub unfinished: usize,
    /// Handles whose clients are gone and may come back.
    pub orphans: usize,
}
