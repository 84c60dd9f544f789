//! The heads of message indexes: for each, the low-water mark from which a Get begins its scan, so that it never walks over
//! the tombstones of what was got and deleted before. Memory of this process, right while it alone writes to the queue.
//!
//! The rows decide; a mark only says "before this place stands nothing that can be delivered, now or ever". Two facts make
//! it safe. A message is only ever put at a place that is not in the past, and whoever is about to put one says so first
//! ([`Heads::arrive`]): nothing that a view does not show yet can stand before the [`Heads::floor`] taken before it.
//! And an expired message never becomes deliverable again. So a mark only rises, and in whatever order marks are
//! learned, they are true, also after a restart: now and then a Get writes its mark down with what it takes.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use store::{Direction, Read, StoreError, key::KeyRange};
use types::Timestamp;

use crate::{
    keys::{self, MessageIndex, Place},
    records,
};

/// Queues remembered at once. One that is forgotten costs a walk.
const REMEMBERED: usize = 64 * 1024;
/// A Get looks behind the backlog at most this often.
const PROBE_EVERY: Duration = Duration::from_millis(100);
/// A mark is written down at most this often. After a restart, what was got and deleted since is walked over once.
const SAVE_EVERY: Duration = Duration::from_secs(10);
/// A gap that ends at a message is kept if it is at least this long.
const GAP_WORTH_KEEPING: Duration = Duration::from_secs(1);

/// The heads of the queues that were used since the process began; clones share them.
#[derive(Clone, Default)]
pub(crate) struct Heads(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    heads: HashMap<MessageIndex, Head>,
    /// The earliest places that transactions under way may put messages at.
    arrivals: BTreeSet<(Timestamp, u64)>,
    last_arrival: u64,
}

impl Heads {
    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is a single call: a panic cannot leave half of one.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that messages may be put, not before `earliest`. Call it before the transaction begins.
    pub(crate) fn arrive(&self, earliest: Timestamp) -> Arc<Arrival> {
        let mut state = self.state();
        state.last_arrival += 1;
        let entry = (earliest, state.last_arrival);
        state.arrivals.insert(entry);
        Arc::new(Arrival { heads: self.clone(), entry, landed: AtomicBool::new(false) })
    }

    /// What a view that is taken later does not show stands here or behind. `now` was read before the call.
    pub(crate) fn floor(&self, now: Timestamp) -> Place {
        Place::at(self.state().arrivals.first().map_or(now, |(earliest, _)| now.min(*earliest)))
    }

    /// What is known of an index: from memory, or what was written down.
    pub(crate) async fn of(&self, rows: &impl Read, index: MessageIndex) -> Result<Head, StoreError> {
        let known = self.state().heads.get(&index).copied();
        if let Some(head) = known {
            return Ok(head);
        }
        // By a scan, which conflicts with nobody: an older mark is as true.
        let key = keys::mark(index);
        let written = rows.scan(KeyRange::prefix(key), Direction::Ascending).next().await?;
        let mark = written.map(|row| records::decode_place(&row.value)).transpose()?;
        Ok(Head { mark: mark.unwrap_or(Place::FIRST), ..Head::default() })
    }

    /// Remembers what a Get found out.
    pub(crate) fn learn(&self, index: MessageIndex, found: Head) {
        let mut state = self.state();
        if state.heads.len() >= REMEMBERED && !state.heads.contains_key(&index) {
            state.heads.clear();
        }
        let head = state.heads.entry(index).or_default();
        let mark = head.mark.max(found.mark);
        *head = Head { mark, gap: found.gap.filter(|gap| gap.to > mark), ..found };
    }
}

/// A transaction that may put messages.
pub(crate) struct Arrival {
    heads: Heads,
    entry: (Timestamp, u64),
    landed: AtomicBool,
}

impl Arrival {
    /// Its messages have their places, or never will: every later view shows them.
    pub(crate) fn landed(&self) {
        if !self.landed.swap(true, Ordering::Relaxed) {
            self.heads.state().arrivals.remove(&self.entry);
        }
    }
}

impl Drop for Arrival {
    fn drop(&mut self) {
        self.landed();
    }
}

/// What is known of one index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// Before it stands nothing that can be delivered.
    pub(crate) mark: Place,
    /// Nor in here. While a backlog is worked off, messages that are got and deleted leave their tombstones behind it; this
    /// walks over them a few at a time, so that nobody has to when the backlog ends.
    gap: Option<Gap>,
    probed: Timestamp,
    saved: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gap {
    from: Place,
    to: Place,
    /// A message stands at its end, so it cannot grow.
    closed: bool,
}

impl Default for Head {
    fn default() -> Self {
        Self { mark: Place::FIRST, gap: None, probed: Timestamp::EPOCH, saved: Timestamp::EPOCH }
    }
}

impl Head {
    /// The stretches before `end` in which messages may stand, in order.
    pub(crate) fn stretches(&self, end: Place) -> [(Place, Place); 2] {
        match self.gap {
            Some(gap) if self.mark < gap.to => [(self.mark, gap.from.min(end)), (gap.to, end)],
            _ => [(self.mark, end), (end, end)],
        }
    }

    /// The head when it is now known that nothing stands before `mark`.
    pub(crate) fn passed(self, mark: Place) -> Self {
        let mark = match self.gap {
            Some(gap) if mark >= gap.from => mark.max(gap.to),
            _ => mark,
        };
        Self { mark, ..self }
    }

    /// The head after its mark was written down, if it is time to do so.
    pub(crate) fn save(self, now: Timestamp) -> Option<Self> {
        (now.saturating_since(self.saved) >= SAVE_EVERY).then_some(Self { saved: now, ..self })
    }

    /// From where to look for the first message before the floor, if it is time to do so.
    pub(crate) fn probe_from(&self, floor: Place, now: Timestamp) -> Option<Place> {
        let due = now.saturating_since(self.probed) >= PROBE_EVERY && self.mark < floor;
        match self.gap {
            _ if !due => None,
            Some(gap) => (!gap.closed).then_some(gap.to),
            None => Some(floor),
        }
    }

    /// The head after such a look, which found this.
    pub(crate) fn probed(self, from: Place, found: Option<Place>, floor: Place, now: Timestamp) -> Self {
        let begin = self.gap.map_or(from, |gap| gap.from);
        let length = |to: Place| to.next_visible.saturating_since(begin.next_visible);
        let gap = match found {
            None => Gap { from: begin, to: floor, closed: false },
            Some(place) if length(place) >= GAP_WORTH_KEEPING => Gap { from: begin, to: place, closed: true },
            Some(_) => Gap { from: floor, to: floor, closed: false },
        };
        Self { gap: Some(gap), probed: now, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: MessageIndex = MessageIndex { queue: types::UnitId::new(1), generation: 1 };

    fn at(seconds: u64) -> Place {
        Place::at(Timestamp::from_seconds(seconds))
    }

    fn time(seconds: u64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    #[test]
    fn the_floor_is_the_earliest_arrival_under_way() {
        let heads = Heads::default();
        assert_eq!(heads.floor(time(100)), at(100));
        let (slow, late) = (heads.arrive(time(90)), heads.arrive(time(130)));
        assert_eq!(heads.floor(time(100)), at(90));
        slow.landed();
        assert_eq!(heads.floor(time(100)), at(100), "what is put in the future holds nobody back");
        slow.landed();
        drop((slow, late));
        assert_eq!(heads.floor(time(200)), at(200));
    }

    #[test]
    fn a_mark_only_rises() {
        let heads = Heads::default();
        for (learned, expected) in [(10, 10), (5, 10), (12, 12)] {
            heads.learn(INDEX, Head::default().passed(at(learned)));
            assert_eq!(heads.state().heads[&INDEX].mark, at(expected));
        }
    }

    #[test]
    fn a_gap_grows_behind_the_backlog_and_is_jumped_over() {
        let mut head = Head::default().passed(at(10));
        // Nothing is known behind the backlog yet: the gap begins here.
        assert_eq!(head.probe_from(at(100), time(100)), Some(at(100)));
        head = head.probed(at(100), None, at(100), time(100));
        assert_eq!(head.probe_from(at(100), time(100)), None, "not so soon");
        assert_eq!(head.probe_from(at(130), time(130)), Some(at(100)));
        head = head.probed(at(100), None, at(130), time(130));
        assert_eq!(head.stretches(at(140)), [(at(10), at(100)), (at(130), at(140))]);
        // A message stands at 150: the gap ends there for good.
        head = head.probed(at(130), Some(at(150)), at(160), time(160));
        assert_eq!(head.probe_from(at(170), time(170)), None);
        assert_eq!(head.stretches(at(170)), [(at(10), at(100)), (at(150), at(170))]);
        // The backlog is worked off.
        assert_eq!(head.passed(at(99)).mark, at(99));
        assert_eq!(head.passed(at(101)).mark, at(150));
        assert_eq!(head.passed(at(155)).stretches(at(170)), [(at(155), at(170)), (at(170), at(170))]);
    }

    #[test]
    fn a_short_gap_begins_anew_behind_the_message() {
        let head = Head::default().passed(at(10)).probed(at(100), None, at(100), time(100));
        let head = head.probed(at(100), Some(at(100).next()), at(101), time(101));
        assert_eq!(head.stretches(at(102)), [(at(10), at(101)), (at(101), at(102))]);
        assert_eq!(head.probe_from(at(102), time(102)), Some(at(101)));
    }
}
