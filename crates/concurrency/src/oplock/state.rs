//! A grant over time: held, being broken, answered or timed out.

use std::time::Duration;

use types::Timestamp;

use super::{CacheBreak, CacheGrant, Caching, Trigger, cache_break};

/// How long a client has to answer a break before it loses everything.
pub const BREAK_TIMEOUT: Duration = Duration::from_secs(35);
/// How long a REST operation waits for a break, at most; then ClientCacheFlushDelay.
pub const REST_BREAK_TIMEOUT: Duration = Duration::from_secs(30);

/// Until when a REST operation waits for a break: its own timeout or 30 seconds, whichever ends first.
///
/// ```
/// use concurrency::oplock::rest_break_deadline;
/// use std::time::Duration;
/// use types::Timestamp;
/// let start = Timestamp::from_seconds(100);
/// assert_eq!(rest_break_deadline(start, Some(Duration::from_secs(5))), Timestamp::from_seconds(105));
/// assert_eq!(rest_break_deadline(start, None), Timestamp::from_seconds(130));
/// ```
#[must_use]
pub fn rest_break_deadline(start: Timestamp, request_timeout: Option<Duration>) -> Timestamp {
    start.saturating_add(request_timeout.unwrap_or(REST_BREAK_TIMEOUT).min(REST_BREAK_TIMEOUT))
}

/// The client did not flush its cache in time (500 ClientCacheFlushDelay).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an SMB client did not flush its cache in time")]
pub struct ClientCacheFlushDelay;

/// Decides whether a REST operation goes on waiting for a break.
///
/// # Errors
/// [`ClientCacheFlushDelay`] from the deadline on.
///
/// ```
/// use concurrency::oplock::keep_waiting;
/// use types::Timestamp;
/// let (start, deadline) = (Timestamp::from_seconds(100), Timestamp::from_seconds(130));
/// assert!(keep_waiting(start, deadline).is_ok() && keep_waiting(deadline, deadline).is_err());
/// ```
pub fn keep_waiting(now: Timestamp, deadline: Timestamp) -> Result<(), ClientCacheFlushDelay> {
    if now < deadline { Ok(()) } else { Err(ClientCacheFlushDelay) }
}

/// What one open or lease key holds on a file.
///
/// A break that comes while one is under way is told when that is answered. A lease that is broken in steps keeps reads
/// until it has given up the rest, as Windows does it.
///
/// ```
/// use concurrency::oplock::{BreakStep, CacheGrant, CacheState, Caching, Trigger};
/// use types::Timestamp;
///
/// let now = Timestamp::from_seconds(100);
/// let held = CacheState::new(CacheGrant::Lease(Caching::Rwh));
/// let (breaking, step) = held.trigger(Trigger::Read, now);
/// assert!(matches!(step, BreakStep::Notify { wait: true, .. }));
/// let (after, next) = breaking.acknowledge(Some(CacheGrant::Lease(Caching::R)), now)?;
/// assert_eq!((next, after.trigger(Trigger::Read, now).1), (BreakStep::Nothing, BreakStep::Nothing));
/// # Ok::<(), concurrency::oplock::AcknowledgeRefusal>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheState {
    held: CacheGrant,
    breaking: Option<Breaking>,
    epoch: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Breaking {
    /// What the client was told.
    to: CacheGrant,
    /// What it will be left with when everything that came since is told too: within `to`.
    then: Caching,
    deadline: Timestamp,
}

/// What the breaker does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakStep {
    /// Goes on: nothing is in the way.
    Nothing,
    /// Tells the holder.
    Notify {
        /// What the holder keeps.
        to: CacheGrant,
        /// The holder must answer.
        must_acknowledge: bool,
        /// Waits, then asks again.
        wait: bool,
    },
    /// A break is under way already: waits for it, then asks again.
    WaitForAnswer {
        /// When the waiting is over at the latest.
        deadline: Timestamp,
    },
}

/// Why an answer to a break is refused. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AcknowledgeRefusal {
    /// No break is under way.
    #[error("no break is under way")]
    NotBreaking,
    /// The client wants to keep more than the break leaves, or another kind of grant.
    #[error("the answer keeps more than the break leaves")]
    KeepsTooMuch,
}

impl CacheState {
    /// A grant that nothing has broken yet.
    #[must_use]
    pub const fn new(held: CacheGrant) -> Self {
        Self { held, breaking: None, epoch: None }
    }

    /// The same, whose changes are counted for the client from its own count on.
    #[must_use]
    pub const fn counted(held: CacheGrant, asked: Option<u16>) -> Self {
        let epoch = match asked {
            Some(epoch) => Some(epoch.wrapping_add(1)),
            None => None,
        };
        Self { held, breaking: None, epoch }
    }

    /// What the client holds; while a break is under way, what it held before.
    #[must_use]
    pub const fn held(&self) -> CacheGrant {
        self.held
    }

    /// True while an answer is awaited.
    #[must_use]
    pub const fn is_breaking(&self) -> bool {
        self.breaking.is_some()
    }

    /// How often the state changed, for clients that count.
    #[must_use]
    pub const fn epoch(&self) -> Option<u16> {
        self.epoch
    }

    /// When the client loses everything unless it answers; `None` while no answer is awaited.
    #[must_use]
    pub const fn deadline(&self) -> Option<Timestamp> {
        match self.breaking {
            Some(Breaking { deadline, .. }) => Some(deadline),
            None => None,
        }
    }

    /// What an access by somebody else does at an instant. Whoever waits asks again afterwards, because one break may
    /// not have been enough.
    #[must_use]
    pub fn trigger(&self, trigger: Trigger, now: Timestamp) -> (Self, BreakStep) {
        let settled = self.settle(now);
        let Some(CacheBreak { to, wait, must_acknowledge }) = cache_break(settled.held, trigger) else {
            return (settled, BreakStep::Nothing);
        };
        let Some(under_way) = settled.breaking else {
            let counted = Self { epoch: settled.next_epoch(), ..settled };
            return (counted.broken(to, to.caching(), must_acknowledge, now), Self::told(to, must_acknowledge, wait));
        };
        let then = under_way.then.and(to.caching());
        let after = Self { breaking: Some(Breaking { then, ..under_way }), ..settled };
        if !wait && under_way.to.caching().is_within(to.caching()) {
            // What is under way already is enough, and nobody waits for it.
            return (after, BreakStep::Nothing);
        }
        (after, BreakStep::WaitForAnswer { deadline: under_way.deadline })
    }

    /// The client answers what it keeps, `None` for a combination that does not exist. A break that came meanwhile is
    /// the next step, of which nobody needs to be told but the client.
    ///
    /// # Errors
    /// An [`AcknowledgeRefusal`].
    pub fn acknowledge(
        &self,
        kept: Option<CacheGrant>,
        now: Timestamp,
    ) -> Result<(Self, BreakStep), AcknowledgeRefusal> {
        let Breaking { to, then, .. } = self.breaking.ok_or(AcknowledgeRefusal::NotBreaking)?;
        let kept = kept.ok_or(AcknowledgeRefusal::KeepsTooMuch)?;
        let same_kind = matches!(
            (kept, to),
            (CacheGrant::Lease(_), CacheGrant::Lease(_)) | (CacheGrant::Oplock(_), CacheGrant::Oplock(_))
        );
        let caching = kept.caching();
        if !same_kind || !caching.is_within(to.caching()) {
            return Err(AcknowledgeRefusal::KeepsTooMuch);
        }
        let answered = Self { held: kept, breaking: None, epoch: self.epoch };
        if caching.is_within(then) {
            return Ok((answered, BreakStep::Nothing));
        }
        // In steps: reads go last.
        let must_acknowledge = caching.has_write() || caching.has_handle();
        let next = if must_acknowledge && then == Caching::None { Caching::R } else { then };
        let to = kept.cut_to(next);
        Ok((answered.broken(to, then, must_acknowledge, now), Self::told(to, must_acknowledge, false)))
    }

    /// Another open under the same key asks: what it would be granted is held from now on if that is all that it asks
    /// for, and more than before. A lease that is being broken stays as it is.
    #[must_use]
    pub fn asked_again(&self, requested: CacheGrant, granted: CacheGrant) -> Self {
        let (held, more) = (self.held.caching(), granted.caching());
        if self.is_breaking() || granted != requested || !held.is_within(more) || held == more {
            return *self;
        }
        Self { held: granted, breaking: None, epoch: self.next_epoch() }
    }

    /// The state at an instant: a client that did not answer in time holds nothing any more.
    #[must_use]
    pub fn settle(&self, now: Timestamp) -> Self {
        match self.breaking {
            Some(Breaking { deadline, .. }) if now >= deadline => {
                Self { held: self.held.cut_to(Caching::None), breaking: None, epoch: self.epoch }
            }
            _ => *self,
        }
    }

    /// Everything is taken away, and nobody can be told.
    #[must_use]
    pub const fn lost(&self) -> Self {
        Self { held: self.held.cut_to(Caching::None), breaking: None, epoch: self.next_epoch() }
    }

    const fn next_epoch(&self) -> Option<u16> {
        match self.epoch {
            Some(epoch) => Some(epoch.wrapping_add(1)),
            None => None,
        }
    }

    fn broken(self, to: CacheGrant, then: Caching, must_acknowledge: bool, now: Timestamp) -> Self {
        if must_acknowledge {
            let deadline = now.saturating_add(BREAK_TIMEOUT);
            Self { breaking: Some(Breaking { to, then, deadline }), ..self }
        } else {
            Self { held: to, breaking: None, ..self }
        }
    }

    const fn told(to: CacheGrant, must_acknowledge: bool, wait: bool) -> BreakStep {
        BreakStep::Notify { to, must_acknowledge, wait }
    }
}
