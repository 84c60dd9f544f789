//! The plain model: lists of opens and caches with bits, and the rules of caching written a second time.

use concurrency::oplock::BREAK_TIMEOUT;
use types::Timestamp;

pub(super) const R: u8 = 1;
pub(super) const H: u8 = 2;
pub(super) const W: u8 = 4;

/// The client of a lease, or the number of a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Lease(usize),
    Handle(usize),
}

#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) number: usize,
    pub(super) client: usize,
    pub(super) access: u8,
    pub(super) share: u8,
    pub(super) on_close: bool,
    pub(super) key: Key,
    /// Exclusive or not, of the same bytes.
    pub(super) locks: Vec<bool>,
}

#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) key: Key,
    pub(super) client: usize,
    pub(super) bits: u8,
    pub(super) epoch: u16,
    /// What was told, what is left in the end, and when the time is up.
    pub(super) breaking: Option<(u8, u8, Timestamp)>,
}

impl Held {
    pub(super) fn is_oplock(&self) -> bool {
        matches!(self.key, Key::Handle(_))
    }
}

/// A break that a client must have been told of.
pub(super) type Told = (usize, Key, u8, u8, bool);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    Read,
    Change,
    Conflict,
    Delete,
    Replace,
}

#[derive(Default)]
pub(super) struct Model {
    pub(super) opens: Vec<Known>,
    pub(super) caches: Vec<Held>,
    pub(super) disposition: bool,
    pub(super) told: Vec<Told>,
    pub(super) last: usize,
}

pub(super) fn clash(a: (u8, u8), b: (u8, u8)) -> bool {
    a.0 != 0 && b.0 != 0 && (a.0 & !b.1 != 0 || b.0 & !a.1 != 0)
}

impl Model {
    pub(super) fn bits(&self, key: Key) -> u8 {
        self.caches.iter().find(|cache| cache.key == key).map_or(0, |cache| cache.bits)
    }

    pub(super) fn settle(&mut self, now: Timestamp) {
        for cache in &mut self.caches {
            if cache.breaking.is_some_and(|(_, _, deadline)| deadline <= now) {
                (cache.bits, cache.breaking) = (0, None);
            }
        }
    }

    /// Whether whoever does it has to wait for the client.
    pub(super) fn breaks(&mut self, key: Key, does: Does, now: Timestamp) -> bool {
        let Some(cache) = self.caches.iter_mut().find(|cache| cache.key == key) else { return false };
        let held = cache.bits;
        let (mut left, waits) = match does {
            Does::Read => (held & !W, true),
            Does::Change => (0, held & W != 0),
            Does::Conflict | Does::Delete => (held & !H, true),
            Does::Replace => (0, held & (W | H) != 0),
        };
        if left == held {
            return false;
        }
        if cache.is_oplock() {
            left &= R;
        }
        let answers = held & (W | H) != 0;
        match &mut cache.breaking {
            Some((to, then, _)) => {
                *then &= left;
                waits || *to & !left != 0
            }
            None => {
                cache.epoch += 1;
                self.told.push((cache.client, key, held, left, answers));
                if answers {
                    cache.breaking = Some((left, left, now.saturating_add(BREAK_TIMEOUT)));
                } else {
                    cache.bits = left;
                }
                waits
            }
        }
    }

    /// Breaks what others have for something that is done through a handle. The cache that is waited for.
    pub(super) fn breaks_others(&mut self, own: Key, does: Does, now: Timestamp) -> Option<Key> {
        let keys: Vec<_> = self.caches.iter().map(|cache| (cache.key, cache.is_oplock() && cache.bits == R)).collect();
        let mut waits_for = None;
        for (key, is_level_two) in keys {
            let loses = key != own || (does == Does::Change && is_level_two);
            if loses && self.breaks(key, does, now) {
                waits_for = waits_for.or(Some(key));
            }
        }
        waits_for
    }

    pub(super) fn answer(&mut self, at: usize, kept: u8, now: Timestamp) -> bool {
        let cache = &mut self.caches[at];
        let Some((to, then, _)) = cache.breaking else { return false };
        if kept & !to != 0 {
            return false;
        }
        (cache.bits, cache.breaking) = (kept, None);
        if kept & !then != 0 {
            let answers = kept & (W | H) != 0;
            let next = if answers && then == 0 { R } else { then };
            self.told.push((cache.client, cache.key, kept, next, answers));
            if answers {
                cache.breaking = Some((next, then, now.saturating_add(BREAK_TIMEOUT)));
            } else {
                cache.bits = next;
            }
        }
        true
    }

    pub(super) fn granted(&self, key: Key, wanted: u8) -> u8 {
        let others: Vec<_> = self.caches.iter().filter(|cache| cache.key != key).collect();
        let opened = self.opens.iter().any(|open| open.key != key && open.access != 0);
        let any = |bit: u8, oplock: Option<bool>| {
            others.iter().any(|cache| cache.bits & bit != 0 && oplock.is_none_or(|is| cache.is_oplock() == is))
        };
        let locked = self.opens.iter().any(|open| !open.locks.is_empty());
        if locked || any(W, None) {
            return 0;
        }
        let alone = !opened && !any(R, None);
        match key {
            Key::Handle(_) if any(H, Some(false)) => 0,
            Key::Handle(_) if alone => wanted,
            Key::Handle(_) => wanted & R,
            Key::Lease(_) => wanted & if alone { 7 } else { !W } & if any(R, Some(true)) { !H } else { 7 },
        }
    }

    pub(super) fn close(&mut self, number: usize) {
        let at = self.opens.iter().position(|open| open.number == number).unwrap();
        let open = self.opens.remove(at);
        let is_last = !self.opens.iter().any(|other| other.key == open.key);
        if let (true, Some(at)) = (is_last, self.caches.iter().position(|cache| cache.key == open.key)) {
            self.caches.swap_remove(at);
        }
        self.disposition |= open.on_close;
        if self.opens.is_empty() {
            self.disposition = false;
        }
    }
}
