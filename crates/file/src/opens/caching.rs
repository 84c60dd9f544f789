//! What SMB clients cache of one file, who is told when it is taken away, and until when they can answer.
//!
//! Invariants: a break is told once; every break that needs an answer has an entry in [`Deadlines`] until it is answered,
//! timed out or its last handle is closed.

use std::{collections::BTreeMap, fmt, net::SocketAddr, sync::Arc};

use concurrency::oplock::{AcknowledgeRefusal, BreakStep, CacheGrant, CacheState, Caching, OplockLevel, Trigger};
use types::Timestamp;

use super::place::{CacheKey, FileKey, HandleId};

/// What the holder of handles is told. The protocol passes it on to its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A cache is taken away.
    Break {
        /// The file.
        file: FileKey,
        /// Whose cache.
        key: CacheKey,
        /// What was held.
        from: CacheGrant,
        /// What is left.
        to: CacheGrant,
        /// The client must answer.
        must_acknowledge: bool,
        /// How often the state of the cache has changed, for clients that count.
        epoch: Option<u16>,
    },
    /// A handle was closed by force.
    Closed {
        /// The file.
        file: FileKey,
        /// The handle.
        handle: HandleId,
    },
}

/// Who holds handles: one session of a client.
pub struct Owner {
    /// The session.
    pub session: u64,
    /// The address of the client.
    pub client: SocketAddr,
    /// How the client calls itself.
    pub client_name: String,
    /// Called when something happens to a handle; outside of all locks, from any thread. It must only pass the notice
    /// on: whoever caused it is waiting. It must own no handle, ticket or claim.
    pub notify: Box<dyn Fn(Notice) + Send + Sync>,
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owner").field("session", &self.session).field("client", &self.client).finish_non_exhaustive()
    }
}

/// The cache of one oplocked handle or of one lease key.
#[derive(Debug)]
pub(super) struct Cache {
    pub(super) key: CacheKey,
    pub(super) state: CacheState,
    /// The handles under it.
    pub(super) handles: usize,
    pub(super) owner: Arc<Owner>,
    /// Its entry in [`Deadlines`].
    timer: Option<(Timestamp, u64)>,
}

/// A handle without a cache, and every cache that is used up.
pub(super) const NOTHING: CacheGrant = CacheGrant::Lease(Caching::None);

impl Cache {
    pub(super) const fn new(key: CacheKey, state: CacheState, owner: Arc<Owner>) -> Self {
        Self { key, state, handles: 1, owner, timer: None }
    }

    /// Somebody else does something to the file. Says whether it waits for the answer.
    pub(super) fn trigger(
        &mut self,
        trigger: Trigger,
        file: FileKey,
        now: Timestamp,
        deadlines: &mut Deadlines,
        notices: &mut Vec<(Arc<Owner>, Notice)>,
    ) -> bool {
        let from = self.state.held();
        let (state, step) = self.state.trigger(trigger, now);
        self.state = state;
        self.set_timer(file, deadlines);
        self.tell(step, from, file, notices)
    }

    /// The client answers. What came meanwhile is told next.
    pub(super) fn acknowledge(
        &mut self,
        kept: Option<CacheGrant>,
        file: FileKey,
        now: Timestamp,
        deadlines: &mut Deadlines,
        notices: &mut Vec<(Arc<Owner>, Notice)>,
    ) -> Result<(), AcknowledgeRefusal> {
        let (state, next) = self.state.acknowledge(kept, now)?;
        self.become_state(state, file, deadlines);
        self.tell(next, kept.unwrap_or(NOTHING), file, notices);
        Ok(())
    }

    /// Says whether the answer is waited for.
    fn tell(&self, step: BreakStep, from: CacheGrant, file: FileKey, notices: &mut Vec<(Arc<Owner>, Notice)>) -> bool {
        match step {
            BreakStep::Nothing => false,
            BreakStep::Notify { to, must_acknowledge, wait } => {
                let (key, epoch) = (self.key, self.state.epoch());
                let notice = Notice::Break { file, key, from, to, must_acknowledge, epoch };
                notices.push((Arc::clone(&self.owner), notice));
                wait
            }
            BreakStep::WaitForAnswer { .. } => true,
        }
    }

    /// Another state: answered, settled or granted anew.
    pub(super) fn become_state(&mut self, state: CacheState, file: FileKey, deadlines: &mut Deadlines) {
        self.state = state;
        self.set_timer(file, deadlines);
    }

    /// Its last handle is closed.
    pub(super) fn end(&mut self, deadlines: &mut Deadlines) {
        if let Some(timer) = self.timer.take() {
            deadlines.entries.remove(&timer);
        }
    }

    fn set_timer(&mut self, file: FileKey, deadlines: &mut Deadlines) {
        let deadline = self.state.deadline();
        if self.timer.map(|(at, _)| at) == deadline {
            return;
        }
        self.end(deadlines);
        self.timer = deadline.map(|deadline| deadlines.add(deadline, file));
    }
}

/// True when nothing is cached.
pub(super) const fn is_nothing(grant: CacheGrant) -> bool {
    matches!(grant, CacheGrant::Lease(Caching::None) | CacheGrant::Oplock(OplockLevel::None))
}

/// When clients that were told of a break have to have answered.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    entries: BTreeMap<(Timestamp, u64), FileKey>,
    last: u64,
}

impl Deadlines {
    fn add(&mut self, deadline: Timestamp, file: FileKey) -> (Timestamp, u64) {
        self.last += 1;
        self.entries.insert((deadline, self.last), file);
        (deadline, self.last)
    }

    /// The next one.
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.entries.first_key_value().map(|((deadline, _), _)| *deadline)
    }

    /// The files with a break whose time is up.
    pub(super) fn over(&self, now: Timestamp) -> Vec<FileKey> {
        self.entries.iter().take_while(|((deadline, _), _)| *deadline <= now).map(|(_, file)| *file).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}
