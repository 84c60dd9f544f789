//! The whole state of the engine, and the one place that decides whether a commit is first.
//!
//! **Invariants.** `durable <= sequenced`. Commits become durable in their order. A chunk's bytes stay at least as long
//! as a durable row names its place.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use store::{
    Event, Sequence, StoreError, content,
    engine::{Commit, SequenceError},
};

use crate::rows::Rows;

/// A new extent begins behind this many bytes: small, so that tests see several.
const EXTENT_BYTES: u64 = 1024 * 1024;
/// How many commits pass between two prunes of old versions.
const PRUNE_EVERY: u64 = 1024;

#[derive(Default)]
pub(crate) struct State {
    pub(crate) rows: Rows,
    pub(crate) sequenced: Sequence,
    pub(crate) durable: Sequence,
    /// Open views by their instant.
    pub(crate) views: BTreeMap<Sequence, usize>,
    /// Commits become durable only when a test says so.
    pub(crate) held: bool,
    pub(crate) refusal: Option<StoreError>,
    pub(crate) last_id: u64,
    /// Bytes by their present place.
    pub(crate) chunks: BTreeMap<(u64, u64), Bytes>,
    pub(crate) live_bytes: BTreeMap<u64, i64>,
    guards: BTreeMap<Bytes, Taken>,
    unpublished: VecDeque<Unpublished>,
    /// The extent being filled and how full it is.
    extent: u64,
    extent_end: u64,
}

/// When a guard was last taken.
#[derive(Clone, Copy, Default)]
struct Taken {
    shared: Sequence,
    exclusive: Sequence,
}

impl Taken {
    fn either(self) -> Sequence {
        self.shared.max(self.exclusive)
    }
}

/// What happens when a commit becomes durable.
struct Unpublished {
    live_bytes: Vec<(u64, i64)>,
    freed: Vec<(u64, u64)>,
    events: Vec<Event>,
}

impl State {
    /// Validates a commit and applies it, all or nothing.
    pub(crate) fn sequence(&mut self, commit: Commit) -> Result<Sequence, SequenceError> {
        match &self.refusal {
            Some(StoreError::Full { .. }) if commit.reclaims => {}
            Some(refusal) => return Err(refusal.clone().into()),
            None => {}
        }
        if !self.is_first(&commit) {
            return Err(SequenceError::Conflict);
        }
        let sequence = Sequence(self.sequenced.0 + 1);
        self.sequenced = sequence;
        for key in commit.guards_shared {
            self.guards.entry(key).or_default().shared = sequence;
        }
        for key in commit.guards_exclusive {
            self.guards.entry(key).or_default().exclusive = sequence;
        }
        let mut freed = Vec::new();
        for (key, value) in commit.writes {
            if value.is_none() {
                freed.extend(content::parse_chunk_key(&key));
            }
            self.rows.write(key, value, sequence);
        }
        self.unpublished.push_back(Unpublished { live_bytes: commit.live_bytes, freed, events: commit.events });
        if sequence.0.is_multiple_of(PRUNE_EVERY) {
            self.prune();
        }
        Ok(sequence)
    }

    /// True when nothing the commit decided on has changed since it read.
    fn is_first(&self, commit: &Commit) -> bool {
        let unchanged = |key: &Bytes| self.rows.last_write(key).is_none_or(|last| last <= commit.read_at);
        let taken = |key: &Bytes| self.guards.get(key).copied().unwrap_or_default();
        commit.reads.iter().all(unchanged)
            && commit.writes.iter().all(|(key, _)| unchanged(key))
            && commit.guards_shared.iter().all(|key| taken(key).exclusive <= commit.read_at)
            && commit.guards_exclusive.iter().all(|key| taken(key).either() <= commit.read_at)
    }

    /// Makes everything sequenced durable and returns the events to deliver, in order.
    pub(crate) fn publish(&mut self) -> Vec<Event> {
        self.durable = self.sequenced;
        let mut events = Vec::new();
        for commit in std::mem::take(&mut self.unpublished) {
            for (extent, bytes) in commit.live_bytes {
                *self.live_bytes.entry(extent).or_default() += bytes;
            }
            for place in commit.freed {
                self.drop_unless_linked(place);
            }
            events.extend(commit.events);
        }
        events
    }

    /// Forgets versions and guards that no open view and no future one can ask about.
    fn prune(&mut self) {
        let oldest_view = self.views.keys().next().copied().unwrap_or(self.durable);
        let floor = oldest_view.min(self.durable);
        self.rows.prune(floor);
        self.guards.retain(|_, taken| taken.either() > floor);
    }

    /// An error when writes that grow are refused.
    pub(crate) fn accepts_growth(&self) -> Result<(), StoreError> {
        self.refusal.clone().map_or(Ok(()), Err)
    }

    /// Gives bytes their place: extent, offset, length. The empty chunk needs none.
    pub(crate) fn place(&mut self, bytes: Bytes) -> Result<(u64, u64, u64), StoreError> {
        self.accepts_growth()?;
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if length == 0 {
            return Ok((0, 0, 0));
        }
        if self.extent == 0 || self.extent_end >= EXTENT_BYTES {
            (self.extent, self.extent_end) = (self.extent + 1, 0);
        }
        let place = (self.extent, self.extent_end);
        self.extent_end += content::stored_bytes(length).unsigned_abs();
        self.chunks.insert(place, bytes);
        Ok((place.0, place.1, length))
    }

    /// Removes a chunk's bytes unless a row, durable or about to be, names their place.
    pub(crate) fn drop_unless_linked(&mut self, place: (u64, u64)) {
        let key = content::chunk_key(place.0, place.1);
        if [self.durable, self.sequenced].iter().all(|instant| self.rows.get(&key, *instant).is_none()) {
            self.chunks.remove(&place);
        }
    }

    /// Ends this state and returns what is on its "disk": durable rows and the chunks they link.
    pub(crate) fn close(&mut self) -> Self {
        let closed = Self { refusal: Some(StoreError::Closed), ..Self::default() };
        let old = std::mem::replace(self, closed);
        // Old views go on reading the old rows.
        self.rows = old.rows.clone();
        (self.sequenced, self.durable) = (old.sequenced, old.durable);
        self.views = old.views;
        self.chunks = old.chunks.clone();
        self.last_id = old.last_id;
        let rows = old.rows.cut(old.durable);
        let linked = |place: &(u64, u64)| rows.get(&content::chunk_key(place.0, place.1), old.durable).is_some();
        let chunks = old.chunks.into_iter().filter(|(place, _)| linked(place)).collect();
        Self {
            rows,
            chunks,
            sequenced: old.durable,
            durable: old.durable,
            last_id: old.last_id,
            live_bytes: old.live_bytes,
            // Whatever was in the extent beyond the crash is not reused.
            extent: old.extent + 1,
            ..Self::default()
        }
    }
}
