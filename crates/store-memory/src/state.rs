//! The whole state of the engine, and the one place that decides whether a commit is first.
//!
//! **Invariants.** `durable <= sequenced`. Commits become durable in their order. A chunk's bytes stay at least as long
//! as a durable row names them.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use store::{
    ChunkRef, ChunkToken, Event, Sequence, StoreError, content,
    engine::{Commit, SequenceError},
};

use crate::rows::Rows;

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
    pub(crate) chunks: BTreeMap<ChunkToken, Bytes>,
    /// Bytes of chunks that are linked, as far as durable commits say.
    pub(crate) live_bytes: u64,
    guards: BTreeMap<Bytes, Taken>,
    unpublished: VecDeque<Unpublished>,
    /// Tokens are numbered.
    last_token: u128,
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
    linked_bytes: u64,
    freed: Vec<ChunkRef>,
    events: Vec<Event>,
}

impl State {
    /// Validates a commit that links so many bytes and applies it, all or nothing.
    pub(crate) fn sequence(&mut self, commit: Commit, linked_bytes: u64) -> Result<Sequence, SequenceError> {
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
        for (key, value) in commit.writes {
            self.rows.write(key, value, sequence);
        }
        self.unpublished.push_back(Unpublished { linked_bytes, freed: commit.freed, events: commit.events });
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
            self.live_bytes += commit.linked_bytes;
            for chunk in commit.freed {
                self.live_bytes -= chunk.length;
                self.drop_unless_linked(chunk.token);
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

    /// Keeps the bytes of a chunk under a token of their own. The empty chunk has nothing to be kept.
    pub(crate) fn keep(&mut self, bytes: Bytes) -> Result<ChunkToken, StoreError> {
        self.accepts_growth()?;
        if bytes.is_empty() {
            return Ok(ChunkToken::new([0; ChunkToken::BYTES]));
        }
        self.last_token += 1;
        let token = ChunkToken::new(self.last_token.to_be_bytes());
        self.chunks.insert(token, bytes);
        Ok(token)
    }

    /// Removes a chunk's bytes unless a row, durable or about to be, names them.
    pub(crate) fn drop_unless_linked(&mut self, token: ChunkToken) {
        let key = content::chunk_key(token);
        if [self.durable, self.sequenced].iter().all(|instant| self.rows.get(&key, *instant).is_none()) {
            self.chunks.remove(&token);
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
        let linked = |token: ChunkToken| rows.get(&content::chunk_key(token), old.durable).is_some();
        let chunks = old.chunks.into_iter().filter(|(token, _)| linked(*token)).collect();
        Self {
            rows,
            chunks,
            sequenced: old.durable,
            durable: old.durable,
            last_id: old.last_id,
            live_bytes: old.live_bytes,
            last_token: old.last_token,
            ..Self::default()
        }
    }
}
