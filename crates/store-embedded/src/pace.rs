//! The brake and the nap: how long writers wait that leave garbage behind faster than it is swept, and how those wait who
//! need a file while the system has none left.
//!
//! Whoever overwrites leaves bytes for the sweeper. Up to a bound that costs nothing. Above it the answers of those who
//! made the store grow are held back, first come first served, so that bytes come at a rate that falls the more the more
//! garbage there is: there is no step in it, and where it meets the rate of the sweeper it stays. Nobody is held back for
//! longer than a second, and nobody who reads or deletes.
//!
//! **Invariant.** Nothing here reads a clock or a disk: the thread counts its own ticks, and only while somebody waits.

use std::{
    collections::VecDeque,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::sync::oneshot;

/// Bytes that wait for the sweeper from which on writers are slowed down, and those at which they nearly stand.
const SOFT_BYTES: u64 = 64 * 1024 * 1024;
const HARD_BYTES: u64 = 192 * 1024 * 1024;
/// What is let through half-way between the two, in a second.
const MIDDLE_BYTES: u64 = 64 * 1024 * 1024;
/// What is always let through in a second.
const LEAST_BYTES: u64 = 1024 * 1024;
/// The step of the thread, and how many of them make a second.
const TICK: Duration = Duration::from_millis(10);
const TICKS: u64 = 100;
/// Nobody waits for longer.
const LONGEST_TICKS: u64 = TICKS;

/// Bytes that may be written in a second while so many wait for the sweeper; `None` when nobody need wait.
fn allowed(unswept_bytes: u64) -> Option<u64> {
    let above = unswept_bytes.saturating_sub(SOFT_BYTES);
    let below = HARD_BYTES.saturating_sub(unswept_bytes);
    // Without end at the soft bound, nothing at the hard one.
    let rate = u128::from(MIDDLE_BYTES) * u128::from(below) / u128::from(above.max(1));
    (above > 0).then(|| u64::try_from(rate).unwrap_or(u64::MAX).max(LEAST_BYTES))
}

/// Writers and others who wait.
#[derive(Default)]
pub(crate) struct Pacer {
    unswept_bytes: AtomicU64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    writers: VecDeque<Writer>,
    /// Bytes that may pass; carried over from tick to tick while somebody waits.
    budget: u64,
    naps: Vec<(u64, oneshot::Sender<()>)>,
    stopping: bool,
}

struct Writer {
    bytes: u64,
    ticks: u64,
    passed: oneshot::Sender<()>,
}

impl Pacer {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes that writers left to the sweeper.
    pub(crate) fn unswept_bytes(&self) -> u64 {
        self.unswept_bytes.load(Ordering::Relaxed)
    }

    /// A commit left bytes to the sweeper, or swept some. What is deleted makes nobody wait: it is no growth. What is left
    /// of former runs is not known, and makes the count too small until it is swept.
    pub(crate) fn count(&self, change: i64, reclaims: bool) {
        let bytes = change.unsigned_abs();
        if change < 0 {
            let less = |now: u64| Some(now.saturating_sub(bytes));
            let _always = self.unswept_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        } else if change > 0 && !reclaims {
            self.unswept_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// What a writer that added so many bytes waits for; `None` when it need not.
    pub(crate) fn pass(&self, bytes: u64) -> Option<oneshot::Receiver<()>> {
        if self.unswept_bytes() <= SOFT_BYTES {
            return None;
        }
        let (passed, waiting) = oneshot::channel();
        let mut state = self.state();
        if state.stopping {
            return None;
        }
        state.writers.push_back(Writer { bytes, ticks: 0, passed });
        self.changed.notify_all();
        Some(waiting)
    }

    /// Waits for so many ticks of ten milliseconds.
    pub(crate) async fn nap(&self, ticks: u64) {
        let (over, waiting) = oneshot::channel();
        {
            let mut state = self.state();
            if state.stopping {
                return;
            }
            state.naps.push((ticks, over));
            self.changed.notify_all();
        }
        let _stopped = waiting.await;
    }

    /// The thread, until it is stopped.
    pub(crate) fn run(&self) {
        let mut state = self.state();
        while !state.stopping {
            if state.is_idle() {
                state.budget = 0;
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            drop(self.changed.wait_timeout_while(state, TICK, |state| !state.stopping));
            state = self.state();
            state.tick(self.unswept_bytes());
        }
    }

    /// Ten milliseconds have passed, for an engine without threads. False when nobody waits.
    pub(crate) fn step(&self) -> bool {
        let mut state = self.state();
        let waits = !state.is_idle();
        if waits {
            state.tick(self.unswept_bytes());
        }
        waits
    }

    /// Lets everybody go, now and later.
    pub(crate) fn stop(&self) {
        let mut state = self.state();
        state.stopping = true;
        state.writers.clear();
        state.naps.clear();
        self.changed.notify_all();
    }
}

impl State {
    fn is_idle(&self) -> bool {
        self.writers.is_empty() && self.naps.is_empty()
    }

    /// Ten milliseconds have passed.
    fn tick(&mut self, unswept_bytes: u64) {
        for (left, _) in &mut self.naps {
            *left = left.saturating_sub(1);
        }
        for (_, over) in self.naps.extract_if(.., |(left, _)| *left == 0) {
            let _gone = over.send(());
        }
        for writer in &mut self.writers {
            writer.ticks += 1;
        }
        let rate = allowed(unswept_bytes);
        self.budget = rate.map_or(u64::MAX, |rate| self.budget.saturating_add(rate / TICKS));
        while let Some(first) = self.writers.front() {
            let late = first.ticks >= LONGEST_TICKS;
            if first.bytes > self.budget && !late {
                break;
            }
            self.budget = self.budget.saturating_sub(first.bytes);
            if let Some(first) = self.writers.pop_front() {
                let _gone = first.passed.send(());
            }
        }
        if self.writers.is_empty() {
            // Nobody saves up for later.
            self.budget = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1024 * 1024;

    #[test]
    fn the_more_waits_for_the_sweeper_the_less_may_come() {
        let table = [
            (0, None),
            (64, None),
            (65, Some(64 * 127)),
            (80, Some(64 * 7)),
            (128, Some(64)),
            (160, Some(64 / 3)),
            (191, Some(1)),
            (192, Some(1)),
            (10_000, Some(1)),
        ];
        for (unswept, rate) in table {
            assert_eq!(allowed(unswept * MIB).map(|rate| rate / MIB), rate, "{unswept} MiB");
        }
    }

    fn waiting(state: &mut State, bytes: u64) -> oneshot::Receiver<()> {
        let (passed, waiting) = oneshot::channel();
        state.writers.push_back(Writer { bytes, ticks: 0, passed });
        waiting
    }

    #[test]
    fn writers_pass_in_their_order_at_the_rate_that_is_allowed() {
        let mut state = State::default();
        let mut writers: Vec<_> = (0..8).map(|_| waiting(&mut state, MIB)).collect();
        let mut passed = Vec::new();
        for _ in 0..10 {
            state.tick(128 * MIB); // 64 MiB a second: 0.64 of them a tick
            let before = writers.len();
            writers.retain_mut(|writer| writer.try_recv().is_err());
            passed.push(before - writers.len());
        }
        assert_eq!(passed.iter().sum::<usize>(), 6, "{passed:?}");
        assert!(passed.iter().all(|count| *count <= 1), "{passed:?}");
        state.tick(60 * MIB);
        assert!(state.is_idle(), "there is nothing to wait for any more");
    }

    #[test]
    fn nobody_is_held_back_for_longer_than_a_second() {
        let mut state = State::default();
        let mut writer = waiting(&mut state, 100 * MIB);
        for tick in 1..LONGEST_TICKS {
            state.tick(1000 * MIB);
            assert!(writer.try_recv().is_err(), "tick {tick}");
        }
        state.tick(1000 * MIB);
        assert!(writer.try_recv().is_ok());
    }

    #[test]
    fn what_is_deleted_makes_nobody_wait_and_what_is_swept_lets_them_go() {
        let pacer = Pacer::default();
        pacer.count(1 << 40, true);
        assert!(pacer.pass(1).is_none());
        pacer.count(65 << 20, false);
        assert!(pacer.pass(1).is_some());
        pacer.count(-(2 << 20), true);
        assert!(pacer.pass(1).is_none());
        pacer.count(-(1 << 40), true);
        assert_eq!(pacer.unswept_bytes(), 0, "what former runs left");
    }
}
