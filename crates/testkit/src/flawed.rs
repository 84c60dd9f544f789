//! An engine with a bug of our choice, so that the checker can show that it finds it. It exists in tests alone.
//!
//! Every bug stands for a class that has been seen in storage systems: answering before the sync, reading an old replica,
//! committing without validation, losing half of a move, a clock that is ahead.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use store::{
    Answer, Direction, Engine, Horizon, Sequence, StoreError,
    engine::{Commit, SequenceError, View},
    key::KeyRange,
    read::Cursor,
    testing::Around,
};
use types::Timestamp;

/// What is wrong with an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Nobody waits until a commit is durable.
    EarlyAnswer,
    /// Some reads see a state that was the newest one a while ago.
    StaleRead,
    /// Some transactions decide on such a state, and no commit is validated.
    LostUpdate,
    /// Some commits leave out what they delete: a message that was moved stands in two places.
    DoubleDelivery,
    /// The clock is sometimes ahead by half a minute: a lease that is held looks as if it had expired.
    LeaseHeldTwice,
    /// The clock goes on from an earlier time, as one that was forgotten by a crash: what should have ended has not.
    SetBack,
}

/// How often a bug shows: once in so many calls.
const RARELY: u64 = 20;
/// How many calls a view is old when it is shown again.
const OLD: u64 = 4;
/// How far the clock is ahead.
const AHEAD: Duration = Duration::from_secs(30);
/// How far it is behind, in ticks of 100 nanoseconds: a minute.
const BACK_TICKS: u64 = 600_000_000;

/// An engine with one flaw.
pub struct FlawedEngine {
    inner: Arc<dyn Engine>,
    flaw: Flaw,
    calls: AtomicU64,
    old: Mutex<Option<Arc<dyn View>>>,
}

impl FlawedEngine {
    /// The engine, with the flaw.
    pub fn new(inner: Arc<dyn Engine>, flaw: Flaw) -> Self {
        Self { inner, flaw, calls: AtomicU64::new(0), old: Mutex::new(None) }
    }

    /// True for the calls at which the flaw shows.
    fn shows(&self, flaw: Flaw) -> bool {
        self.flaw == flaw && self.calls.fetch_add(1, Ordering::Relaxed) % RARELY == RARELY - 1
    }

    /// A view, sometimes one that was new some calls ago.
    fn new_or_old(&self, horizon: Horizon) -> Box<dyn View> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed) % RARELY;
        let mut old = self.old.lock().unwrap_or_else(PoisonError::into_inner);
        if call == RARELY - 1 - OLD {
            *old = Some(Arc::from(self.inner.view(horizon)));
        }
        match old.take_if(|_| call == RARELY - 1) {
            Some(old) => Box::new(Old(old)),
            None => self.inner.view(horizon),
        }
    }
}

/// A view that several look at.
struct Old(Arc<dyn View>);

impl View for Old {
    fn instant(&self) -> Sequence {
        self.0.instant()
    }

    fn get<'a>(&'a self, key: &'a [u8]) -> Answer<'a, Result<Option<Bytes>, StoreError>> {
        self.0.get(key)
    }

    fn scan(&self, range: KeyRange, direction: Direction) -> Box<dyn Cursor> {
        self.0.scan(range, direction)
    }
}

impl Around for FlawedEngine {
    fn inner(&self) -> &dyn Engine {
        &*self.inner
    }

    fn view(&self, horizon: Horizon) -> Box<dyn View> {
        let flaw = match horizon {
            Horizon::Durable => Flaw::StaleRead,
            Horizon::Sequenced => Flaw::LostUpdate,
        };
        if self.flaw == flaw { self.new_or_old(horizon) } else { self.inner.view(horizon) }
    }

    fn sequence(&self, mut commit: Commit) -> Answer<'_, Result<Sequence, SequenceError>> {
        if self.flaw == Flaw::LostUpdate {
            commit.read_at = self.inner.view(Horizon::Sequenced).instant();
        }
        if self.shows(Flaw::DoubleDelivery) {
            commit.writes.retain(|(_, value)| value.is_some());
        }
        self.inner.sequence(commit)
    }

    fn durable(&self, sequence: Sequence) -> Answer<'_, Result<(), StoreError>> {
        if self.flaw == Flaw::EarlyAnswer { Answer::now(Ok(())) } else { self.inner.durable(sequence) }
    }

    fn now(&self) -> Timestamp {
        let now = self.inner.now();
        match self.flaw {
            Flaw::SetBack => Timestamp::from_ticks(now.ticks().saturating_sub(BACK_TICKS)),
            _ if self.shows(Flaw::LeaseHeldTwice) => now.saturating_add(AHEAD),
            _ => now,
        }
    }
}
