//! The memory of answers that were produced and not yet taken by their clients.
//!
//! A request that is answered is not in work any more, so this is what bounds it. Invariants: all answers to strangers
//! together keep at most [`STRANGERS_BYTES`] and what is just being produced; an answer to somebody who is known keeps a
//! queue, and less of one when there are many.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

use crate::Limits;

/// What one answer keeps ready.
const QUEUE_BYTES: usize = 1024 * 1024;
/// Kept by all answers together before each gets less: some more than 64 clients take, so that so many do not go to and fro.
const ALL_BYTES: usize = 96 * 1024 * 1024;
/// What each gets then, and a stranger always.
const CROWDED_BYTES: usize = 128 * 1024;
/// Kept by all answers to strangers together.
const STRANGERS_BYTES: usize = 32 * 1024 * 1024;
/// Slower than so many bytes a second, counted from a while after its beginning, an answer is given up.
const MIN_BYTES_PER_SECOND: u64 = 1024;
/// Back-off of an answer that found no room.
pub const RETRY_AFTER: Duration = Duration::from_millis(20);

/// What all answers keep.
#[derive(Debug, Default)]
pub struct Outbox {
    known: AtomicUsize,
    strangers: AtomicUsize,
    given_up: AtomicU64,
}

impl Outbox {
    /// How many bytes one answer may keep now. Zero means to wait.
    pub(crate) fn room(&self, known: bool) -> usize {
        let (known_bytes, strangers) = (self.known.load(Ordering::Relaxed), self.strangers.load(Ordering::Relaxed));
        match known {
            true if known_bytes < ALL_BYTES => QUEUE_BYTES,
            true => CROWDED_BYTES,
            false if strangers < STRANGERS_BYTES => CROWDED_BYTES,
            false => 0,
        }
    }

    pub(crate) fn given_up(&self) -> u64 {
        self.given_up.load(Ordering::Relaxed)
    }

    fn bytes(&self, known: bool) -> &AtomicUsize {
        if known { &self.known } else { &self.strangers }
    }
}

/// What one answer keeps. Dropping it is the end of that.
#[derive(Debug)]
pub struct Kept {
    outbox: Arc<Outbox>,
    /// Whether its client has shown a credential.
    pub known: bool,
    bytes: usize,
}

impl Kept {
    /// Of an answer of which nothing is kept yet.
    #[must_use]
    pub const fn new(outbox: Arc<Outbox>, known: bool) -> Self {
        Self { outbox, known, bytes: 0 }
    }

    /// How many bytes it may keep now. Zero means to wait.
    #[must_use]
    pub fn room(&self) -> usize {
        self.outbox.room(self.known)
    }

    /// How many bytes it keeps.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// So many more were produced.
    pub fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.outbox.bytes(self.known).fetch_add(bytes, Ordering::Relaxed);
    }

    /// So many have left.
    pub fn forget(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.outbox.bytes(self.known).fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Counts an answer that its client did not take.
    pub fn give_up(&self) {
        self.outbox.given_up.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.forget(self.bytes);
    }
}

/// How fast the client takes an answer.
#[derive(Debug)]
pub struct Pace {
    begun: Option<Instant>,
    timeout: Duration,
    taken: u64,
}

impl Pace {
    /// Of an answer that begins now.
    #[must_use]
    pub const fn new(limits: &Limits, known: bool) -> Self {
        Self { begun: None, timeout: limits.write_timeout(known), taken: 0 }
    }

    /// So much was taken.
    pub fn took(&mut self, bytes: usize) {
        self.taken = self.taken.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
    }

    /// The client made us wait. True when it is too slow to be waited for any longer.
    pub fn waited(&mut self) -> bool {
        let begun = *self.begun.get_or_insert_with(Instant::now);
        let late = begun.elapsed().saturating_sub(self.timeout);
        self.taken < late.as_secs().saturating_mul(MIN_BYTES_PER_SECOND)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_counted_until_it_has_left_or_is_given_up() {
        let outbox = Arc::<Outbox>::default();
        let mut kept = Kept::new(Arc::clone(&outbox), true);
        kept.add(3000);
        kept.forget(1500);
        assert_eq!((outbox.known.load(Ordering::Relaxed), kept.bytes()), (1500, 1500));
        drop(kept);
        assert_eq!(outbox.known.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn who_comes_to_a_crowd_keeps_less_and_strangers_wait() {
        let outbox = Arc::<Outbox>::default();
        let (mut known, mut stranger) = (Kept::new(Arc::clone(&outbox), true), Kept::new(Arc::clone(&outbox), false));
        assert_eq!((known.room(), stranger.room()), (QUEUE_BYTES, CROWDED_BYTES));
        stranger.add(STRANGERS_BYTES);
        assert_eq!((known.room(), stranger.room()), (QUEUE_BYTES, 0));
        known.add(ALL_BYTES);
        assert_eq!(known.room(), CROWDED_BYTES);
    }

    #[test]
    fn who_takes_next_to_nothing_is_too_slow() {
        let limits = Limits { stranger_timeout: Duration::ZERO, ..Limits::default() };
        let mut pace = Pace::new(&limits, false);
        assert!(!pace.waited());
        pace.begun = Instant::now().checked_sub(Duration::from_secs(3));
        assert!(pace.waited());
        pace.took(4096);
        assert!(!pace.waited());
    }
}
