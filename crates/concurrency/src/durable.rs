//! Durable opens: handles that outlive the connection of their client, for a while, so that it can take them back.
//!
//! Owns which opens can be durable, for how long they stay without their client (then called orphans), what makes an orphan
//! give way, and what a client has to show to take one back. Must never close or hand over anything itself: the table of
//! opens does.
//!
//! Invariants: an orphan never keeps anybody waiting; only the account that opened can
//! take back, and who caches under a lease only as the same client.

use std::time::Duration;

use crate::oplock::{CacheGrant, CacheState, Trigger, cache_break};

/// How long an orphan stays when its client did not say.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(1);
/// How long an orphan stays at most.
pub const LONGEST_TIMEOUT: Duration = Duration::from_mins(5);

/// How long an orphan stays: what its client asked for, within bounds. Zero leaves it to the server.
///
/// ```
/// use concurrency::durable::timeout;
/// use std::time::Duration;
/// assert_eq!(timeout(Duration::ZERO), Duration::from_secs(60));
/// assert_eq!(timeout(Duration::from_secs(7)), Duration::from_secs(7));
/// assert_eq!(timeout(Duration::MAX), Duration::from_secs(300));
/// ```
#[must_use]
pub fn timeout(asked: Duration) -> Duration {
    if asked.is_zero() { DEFAULT_TIMEOUT } else { asked.min(LONGEST_TIMEOUT) }
}

/// Whether an open can be durable: its client must be asked before somebody else gets at the file, so it caches the handle
/// (a batch oplock, or a lease of handles).
#[must_use]
pub const fn may_be_durable(held: CacheGrant) -> bool {
    held.caching().has_handle()
}

/// How an open outlives its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// As long as nobody wants what it holds.
    Durable,
    /// Also when somebody does: others are refused until its time is up.
    Resilient,
}

/// Whether an open becomes an orphan when its connection is lost, and is not closed. A durable one must still cache the handle,
/// and nobody may be waiting for an answer of its client.
///
/// ```
/// use concurrency::durable::{Kind, outlives_connection};
/// use concurrency::oplock::{CacheGrant, CacheState, OplockLevel, Trigger};
/// use types::Timestamp;
/// let held = CacheState::new(CacheGrant::Oplock(OplockLevel::Batch));
/// assert!(outlives_connection(Kind::Durable, Some(&held)));
/// let broken = held.trigger(Trigger::Read, Timestamp::from_seconds(1)).0;
/// assert!(!outlives_connection(Kind::Durable, Some(&broken)), "somebody waits");
/// assert!(outlives_connection(Kind::Resilient, Some(&broken)) && outlives_connection(Kind::Resilient, None));
/// ```
#[must_use]
pub fn outlives_connection(kind: Kind, held: Option<&CacheState>) -> bool {
    match kind {
        Kind::Durable => held.is_some_and(|held| may_be_durable(held.held()) && !held.is_breaking()),
        Kind::Resilient => true,
    }
}

/// What becomes of an orphan when somebody else does something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// It stays as it is.
    Stays,
    /// It caches nothing any more: its client cannot be told.
    LosesItsCache,
    /// It is closed.
    Ends,
}

/// What becomes of an orphan when its client would lose a part of its cache, or when its share mode is in the way. What takes
/// nothing away from it leaves it as it is.
#[must_use]
pub fn fate(kind: Kind, held: CacheGrant, trigger: Option<Trigger>, conflicts: bool) -> Fate {
    let breaks = trigger.is_some_and(|trigger| cache_break(held, trigger).is_some());
    match kind {
        Kind::Durable if conflicts || breaks => Fate::Ends,
        Kind::Resilient if breaks => Fate::LosesItsCache,
        Kind::Durable | Kind::Resilient => Fate::Stays,
    }
}

/// What is known of a durable open, and what somebody shows who wants to take it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claimant<'a, Account, Share> {
    /// The account.
    pub account: Account,
    /// The share.
    pub share: Share,
    /// How the client calls itself.
    pub client: [u8; 16],
    /// What the client called the open when it made it; `None` for one that is known by its number alone.
    pub create_guid: Option<[u8; 16]>,
    /// The key of the lease.
    pub lease_key: Option<[u8; 16]>,
    /// The path, in a form that is the same for the same path.
    pub path: &'a str,
}

/// Why an orphan is not given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotTakenBack {
    /// There is none that this claimant could know of.
    #[error("there is no such open")]
    Unknown,
    /// The lease is right, and the path is not.
    #[error("the open is of another path")]
    OtherPath,
}

/// Decides whether an orphan is given back. `known` is what it was opened with.
///
/// Without a lease, neither the client nor the path matter, as clients expect. What was named by its number and a guid can be
/// asked for by its number alone.
///
/// # Errors
/// [`NotTakenBack`].
pub fn take_back<Account: PartialEq, Share: PartialEq>(
    known: &Claimant<'_, Account, Share>,
    shown: &Claimant<'_, Account, Share>,
) -> Result<(), NotTakenBack> {
    let guid_fits = shown.create_guid.is_none_or(|guid| guid == known.create_guid.unwrap_or_default());
    let lease_fits = known.lease_key == shown.lease_key && (known.lease_key.is_none() || known.client == shown.client);
    if known.account != shown.account || known.share != shown.share || !guid_fits || !lease_fits {
        return Err(NotTakenBack::Unknown);
    }
    if known.lease_key.is_some() && known.path != shown.path {
        return Err(NotTakenBack::OtherPath);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
