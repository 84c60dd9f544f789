//! A grant over time: held, being broken, answered or timed out.

use std::time::Duration;

use types::Timestamp;

use super::{CacheBreak, CacheGrant, Caching, OplockLevel, Trigger, cache_break};

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
/// ```
/// use concurrency::oplock::{BreakStep, CacheGrant, CacheState, Caching, Trigger};
/// use types::Timestamp;
///
/// let now = Timestamp::from_seconds(100);
/// let held = CacheState::new(CacheGrant::Lease(Caching::Rwh));
/// let (breaking, step) = held.trigger(Trigger::Read, now);
/// assert!(matches!(step, BreakStep::Notify { wait: true, .. }));
/// let after = breaking.acknowledge(CacheGrant::Lease(Caching::R))?;
/// assert_eq!(after.trigger(Trigger::Read, now).1, BreakStep::Nothing);
/// # Ok::<(), concurrency::oplock::AcknowledgeRefusal>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheState {
    held: CacheGrant,
    breaking: Option<Breaking>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Breaking {
    to: CacheGrant,
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
        Self { held, breaking: None }
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
        match settled.breaking {
            // What is under way already is enough, and nobody waits for it.
            Some(Breaking { to, .. }) if !wait && cache_break(to, trigger).is_none() => (settled, BreakStep::Nothing),
            Some(Breaking { deadline, .. }) => (settled, BreakStep::WaitForAnswer { deadline }),
            None => {
                let after = if must_acknowledge {
                    let deadline = now.saturating_add(BREAK_TIMEOUT);
                    Self { held: settled.held, breaking: Some(Breaking { to, deadline }) }
                } else {
                    Self::new(to)
                };
                (after, BreakStep::Notify { to, must_acknowledge, wait })
            }
        }
    }

    /// The client answers what it keeps.
    ///
    /// # Errors
    /// An [`AcknowledgeRefusal`].
    pub fn acknowledge(&self, kept: CacheGrant) -> Result<Self, AcknowledgeRefusal> {
        let Breaking { to, .. } = self.breaking.ok_or(AcknowledgeRefusal::NotBreaking)?;
        let same_kind = matches!(
            (kept, to),
            (CacheGrant::Lease(_), CacheGrant::Lease(_)) | (CacheGrant::Oplock(_), CacheGrant::Oplock(_))
        );
        if same_kind && kept.caching().is_within(to.caching()) {
            Ok(Self::new(kept))
        } else {
            Err(AcknowledgeRefusal::KeepsTooMuch)
        }
    }

    /// The state at an instant: a client that did not answer in time holds nothing any more.
    #[must_use]
    pub fn settle(&self, now: Timestamp) -> Self {
        match self.breaking {
            Some(Breaking { deadline, .. }) if now >= deadline => Self::new(match self.held {
                CacheGrant::Lease(_) => CacheGrant::Lease(Caching::None),
                CacheGrant::Oplock(_) => CacheGrant::Oplock(OplockLevel::None),
            }),
            _ => *self,
        }
    }
}
