//! Who watches what, what they hold, and in which order they are told.
//!
//! **Invariants.** A request that waits means that its watcher holds nothing. A watcher holds at most its limit, an owner and all of
//! them together at most theirs; what does not fit becomes the mark to look for oneself. Each batch of changes goes to one
//! request, the one that waits longest.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
};

use types::{UnitId, limits};

use super::{Change, ChangeAction, Seen, Told, Watch, WatchEnd};
use crate::opens::{Bell, FileKey};

/// More watchers, or more requests that wait, than one client or all of them may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many watchers, or too many requests of them that wait")]
pub struct TooManyWatchers;

/// How much the feed holds. All zero when nobody watches and nothing is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Feed {
    /// Watchers.
    pub watchers: usize,
    /// Requests that wait or have not taken what they were given.
    pub requests: usize,
    /// Bytes of changes that nobody has taken yet.
    pub bytes: usize,
    /// Owners of watchers.
    pub owners: usize,
    /// Changes whose outcome is not known, or that wait for one before them.
    pub under_way: usize,
}

#[derive(Debug, Default)]
pub(super) struct Table {
    watchers: HashMap<u64, Watching>,
    by_directory: HashMap<FileKey, Vec<u64>>,
    /// Those in it.
    registered: usize,
    owners: HashMap<u64, Owned>,
    requests: usize,
    bytes: usize,
    /// By number: changes whose outcome is not known yet, and those that wait for one of them.
    under_way: BTreeMap<u64, Option<Vec<Change>>>,
    last_number: u64,
}

/// What one owner has.
#[derive(Debug, Default)]
struct Owned {
    watchers: usize,
    requests: usize,
    bytes: usize,
}

#[derive(Debug)]
struct Watching {
    watch: Watch,
    held: Held,
    /// Those that came first are first. Those that were given something are before those that wait.
    requests: VecDeque<Request>,
    is_closed: bool,
}

/// Changes that nobody has taken.
#[derive(Debug, Default)]
struct Held {
    changes: Vec<Seen>,
    /// As SMB counts them.
    bytes: usize,
    /// There were more.
    overflowed: bool,
}

#[derive(Debug)]
struct Request {
    number: u64,
    bell: Arc<Bell>,
    given: Option<Given>,
}

#[derive(Debug)]
struct Given {
    told: Told,
    bytes: usize,
}

impl Seen {
    /// How many bytes it takes behind others, which are padded to four.
    fn bytes(&self) -> usize {
        12 + 2 * self.path.encode_utf16().count()
    }
}

impl Held {
    const fn is_empty(&self) -> bool {
        self.changes.is_empty() && !self.overflowed
    }
}

impl Table {
    /// Watchers that are told of changes.
    pub(super) const fn watchers(&self) -> usize {
        self.registered
    }

    fn fresh(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    pub(super) fn watch(&mut self, watch: Watch) -> Result<u64, TooManyWatchers> {
        let of_owner = self.owners.get(&watch.owner).map_or(0, |owned| owned.watchers);
        if of_owner >= limits::WATCHERS_PER_CLIENT_MAX || self.watchers.len() >= limits::WATCHERS_MAX {
            return Err(TooManyWatchers);
        }
        let watch = Watch { limit: watch.limit.min(limits::WATCHER_MAX_BYTES), ..watch };
        let number = self.fresh();
        let watching = Watching { watch, held: Held::default(), requests: VecDeque::new(), is_closed: false };
        self.watchers.insert(number, watching);
        self.by_directory.entry(watch.directory).or_default().push(number);
        self.registered += 1;
        self.owners.entry(watch.owner).or_default().watchers += 1;
        Ok(number)
    }

    /// A request comes: it gets what is there, or waits.
    pub(super) fn request(&mut self, watcher: u64, bell: &Arc<Bell>) -> Result<u64, TooManyWatchers> {
        let number = self.fresh();
        let Some(watching) = self.watchers.get_mut(&watcher) else { return Err(TooManyWatchers) };
        let owned = self.owners.entry(watching.watch.owner).or_default();
        if owned.requests >= limits::WATCHES_WAITING_PER_CLIENT_MAX || self.requests >= limits::WATCHES_WAITING_MAX {
            return Err(TooManyWatchers);
        }
        owned.requests += 1;
        self.requests += 1;
        watching.requests.push_back(Request { number, bell: Arc::clone(bell), given: None });
        // The bell may ring under the lock: nobody listens to it yet.
        let mut bells = Vec::new();
        if watching.is_closed {
            watching.end(WatchEnd::Closed, &mut bells);
        } else {
            watching.give(&mut bells);
        }
        bells.iter().for_each(|bell| bell.ring());
        Ok(number)
    }

    /// A request takes what it was given, and is gone; `None` while it has to wait.
    pub(super) fn take(&mut self, watcher: u64, request: u64) -> Option<Told> {
        let watching = self.watchers.get_mut(&watcher)?;
        let at = watching.requests.iter().position(|found| found.number == request)?;
        watching.requests.get(at)?.given.as_ref()?;
        let given = watching.requests.remove(at)?.given?;
        let owner = watching.watch.owner;
        self.forget_request(watcher, owner, given.bytes);
        Some(given.told)
    }

    /// A request is given up. What it was given goes to the next one.
    pub(super) fn give_up(&mut self, watcher: u64, request: u64, bells: &mut Vec<Arc<Bell>>) {
        let Some(watching) = self.watchers.get_mut(&watcher) else { return };
        let Some(at) = watching.requests.iter().position(|found| found.number == request) else { return };
        let Some(gone) = watching.requests.remove(at) else { return };
        let before = watching.held.bytes + gone.given.as_ref().map_or(0, |given| given.bytes);
        match gone.given.map(|given| (given.told, given.bytes)) {
            _ if watching.is_closed => {}
            Some((Told::Changes(changes), bytes)) => watching.put_before(changes, bytes),
            Some((Told::Enumerate, _)) => watching.overflow(),
            Some((Told::Ended(_), _)) | None => {}
        }
        let freed = before.saturating_sub(watching.held.bytes);
        let owner = watching.watch.owner;
        watching.give(bells);
        self.forget_request(watcher, owner, freed);
    }

    /// The watcher is closed: everybody who waits is told so.
    pub(super) fn close(&mut self, watcher: u64, bells: &mut Vec<Arc<Bell>>) {
        let Some(watching) = self.watchers.get_mut(&watcher) else { return };
        watching.is_closed = true;
        watching.end(WatchEnd::Closed, bells);
        let (directory, owner, freed) =
            (watching.watch.directory, watching.watch.owner, std::mem::take(&mut watching.held).bytes);
        if let Some(numbers) = self.by_directory.get_mut(&directory) {
            numbers.retain(|number| *number != watcher);
            self.registered = self.registered.saturating_sub(1);
            if numbers.is_empty() {
                self.by_directory.remove(&directory);
            }
        }
        self.freed(owner, freed);
        self.forget_if_done(watcher);
    }

    /// Directories go: who waits for changes of them is told.
    pub(super) fn deleted(&mut self, is_gone: impl Fn(FileKey) -> bool, bells: &mut Vec<Arc<Bell>>) {
        let gone = self.by_directory.iter().filter(|(directory, _)| is_gone(**directory));
        let numbers: Vec<u64> = gone.flat_map(|(_, numbers)| numbers.iter().copied()).collect();
        for number in numbers {
            if let Some(watching) = self.watchers.get_mut(&number) {
                watching.end(WatchEnd::Deleted, bells);
            }
        }
    }

    /// The number of a change whose outcome is not known yet.
    pub(super) fn begin(&mut self) -> u64 {
        let number = self.fresh();
        self.under_way.insert(number, None);
        number
    }

    /// The outcome is known. Those that waited for it are told too.
    pub(super) fn end(&mut self, number: u64, changes: Vec<Change>, bells: &mut Vec<Arc<Bell>>) {
        self.under_way.insert(number, Some(changes));
        while let Some(first) = self.under_way.first_entry() {
            if first.get().is_none() {
                return;
            }
            let changes = first.remove().unwrap_or_default();
            self.tell(&changes, bells);
        }
    }

    /// Something may have changed in a share or in any, nobody knows what: all that watch there have to look.
    pub(super) fn changed_somewhere(&mut self, share: Option<UnitId>, bells: &mut Vec<Arc<Bell>>) {
        let is_there = |directory: &FileKey| share.is_none_or(|share| share == directory.share);
        let of_share = self.by_directory.iter().filter(|(directory, _)| is_there(directory));
        let numbers: Vec<u64> = of_share.flat_map(|(_, numbers)| numbers.iter().copied()).collect();
        for number in numbers {
            self.overflow(number, bells);
        }
    }

    /// Something changed in the first of these directories, which are in the others; nobody knows what it is called.
    pub(super) fn changed_below(&mut self, directories: &[FileKey], bells: &mut Vec<Arc<Bell>>) {
        for (above, directory) in directories.iter().enumerate() {
            for number in self.by_directory.get(directory).cloned().unwrap_or_default() {
                if above == 0 || self.watchers.get(&number).is_some_and(|watching| watching.watch.tree) {
                    self.overflow(number, bells);
                }
            }
        }
    }

    fn overflow(&mut self, number: u64, bells: &mut Vec<Arc<Bell>>) {
        let Some(watching) = self.watchers.get_mut(&number).filter(|watching| watching.watch.kinds.0 != 0) else {
            return;
        };
        let (freed, owner) = (watching.held.bytes, watching.watch.owner);
        watching.overflow();
        watching.give(bells);
        self.freed(owner, freed);
    }

    fn tell(&mut self, changes: &[Change], bells: &mut Vec<Arc<Bell>>) {
        let mut touched = Vec::new();
        for change in changes {
            self.tell_one(change, &mut touched);
        }
        for number in touched {
            if let Some(watching) = self.watchers.get_mut(&number) {
                watching.give(bells);
            }
        }
    }

    /// Puts a change to everybody who watches its directory, or the tree that it is in.
    fn tell_one(&mut self, change: &Change, touched: &mut Vec<u64>) {
        let Some(directory) = change.place.directory() else { return };
        for above in change.place.directories().take(limits::FILE_PATH_DEPTH_MAX + 1) {
            let Some(numbers) = self.by_directory.get(&above) else { continue };
            let mut path = None;
            for number in numbers {
                let Some(watching) = self.watchers.get_mut(number) else { continue };
                if !watching.watch.wants(change, above == directory) {
                    continue;
                }
                let path: &str = path.get_or_insert_with(|| change.place.path_from(above));
                let seen = Seen { action: change.action, path: path.into() };
                let owned = self.owners.entry(watching.watch.owner).or_default();
                let room = (limits::WATCHED_PER_CLIENT_MAX_BYTES.saturating_sub(owned.bytes))
                    .min(limits::WATCHED_MAX_BYTES.saturating_sub(self.bytes));
                let before = watching.held.bytes;
                watching.put(seen, room);
                owned.bytes = (owned.bytes + watching.held.bytes).saturating_sub(before);
                self.bytes = (self.bytes + watching.held.bytes).saturating_sub(before);
                if !touched.contains(number) {
                    touched.push(*number);
                }
            }
        }
    }

    fn freed(&mut self, owner: u64, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes);
        if let Some(owned) = self.owners.get_mut(&owner) {
            owned.bytes = owned.bytes.saturating_sub(bytes);
        }
    }

    fn forget_request(&mut self, watcher: u64, owner: u64, freed: usize) {
        self.freed(owner, freed);
        self.requests = self.requests.saturating_sub(1);
        if let Some(owned) = self.owners.get_mut(&owner) {
            owned.requests = owned.requests.saturating_sub(1);
        }
        self.forget_if_done(watcher);
    }

    /// A watcher that is closed stays until its requests have heard of it.
    fn forget_if_done(&mut self, watcher: u64) {
        let done = |watching: &&Watching| watching.is_closed && watching.requests.is_empty();
        let Some(owner) = self.watchers.get(&watcher).filter(done).map(|watching| watching.watch.owner) else { return };
        self.watchers.remove(&watcher);
        if let Some(owned) = self.owners.get_mut(&owner) {
            owned.watchers = owned.watchers.saturating_sub(1);
            if owned.watchers == 0 {
                self.owners.remove(&owner);
            }
        }
    }

    pub(super) fn feed(&self) -> Feed {
        Feed {
            watchers: self.watchers.len(),
            requests: self.requests,
            bytes: self.bytes,
            owners: self.owners.len(),
            under_way: self.under_way.len(),
        }
    }
}

impl Watch {
    const fn wants(&self, change: &Change, is_direct: bool) -> bool {
        self.kinds.meets(change.kinds) && !self.kinds.meets(change.unless) && (self.tree || is_direct)
    }
}

impl Watching {
    /// Keeps a change, within so many bytes.
    fn put(&mut self, seen: Seen, room: usize) {
        // The same again says nothing new.
        let is_known = seen.action == ChangeAction::Modified && self.held.changes.last() == Some(&seen);
        if self.held.overflowed || is_known {
            return;
        }
        let bytes = seen.bytes();
        if self.held.bytes + bytes > self.watch.limit || bytes.next_multiple_of(4) > room {
            return self.overflow();
        }
        self.held.changes.push(seen);
        self.held.bytes += bytes.next_multiple_of(4);
    }

    /// Puts back what was given, before what came later. Each was within bounds; together they may not be.
    fn put_before(&mut self, changes: Vec<Seen>, bytes: usize) {
        let later = std::mem::replace(&mut self.held, Held { changes, bytes, overflowed: false });
        if later.overflowed {
            return self.overflow();
        }
        for seen in later.changes {
            self.put(seen, usize::MAX);
        }
    }

    /// It has missed something.
    fn overflow(&mut self) {
        self.held = Held { overflowed: true, ..Held::default() };
    }

    /// What is held goes to the request that waits longest.
    fn give(&mut self, bells: &mut Vec<Arc<Bell>>) {
        if self.held.is_empty() {
            return;
        }
        let Some(request) = self.requests.iter_mut().find(|request| request.given.is_none()) else { return };
        let Held { changes, bytes, overflowed } = std::mem::take(&mut self.held);
        let told = if overflowed { Told::Enumerate } else { Told::Changes(changes) };
        request.given = Some(Given { told, bytes });
        bells.push(Arc::clone(&request.bell));
    }

    fn end(&mut self, end: WatchEnd, bells: &mut Vec<Arc<Bell>>) {
        for request in self.requests.iter_mut().filter(|request| request.given.is_none()) {
            request.given = Some(Given { told: Told::Ended(end), bytes: 0 });
            bells.push(Arc::clone(&request.bell));
        }
    }
}
