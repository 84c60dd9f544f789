//! What SMB clients may cache, and what takes it away: oplocks and leases of reading, writing and handles.
//!
//! Owns what each access of somebody else breaks to what, whether it waits for the answer, and what an answer or its
//! absence leaves. Must never send or wait itself. These leases are of the client's cache; the leases of the REST
//! services are in [`crate::lease`].
//!
//! Invariants: a break only takes away; while write caching is held by one client nobody else reads stale data, because
//! everything that reads waits for the flush; a client that never answers loses everything at the deadline.

mod granting;
mod state;

pub use granting::{Beside, grant};
pub use state::{
    AcknowledgeRefusal, BREAK_TIMEOUT, BreakStep, CacheState, ClientCacheFlushDelay, REST_BREAK_TIMEOUT, keep_waiting,
    rest_break_deadline,
};

/// What a client may cache: reads (R), writes (W), handles (H), in the combinations that exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Caching {
    /// The client asks the server each time.
    #[default]
    None,
    /// What was read.
    R,
    /// Reads and handles.
    Rh,
    /// Reads and writes.
    Rw,
    /// Reads, writes and handles.
    Rwh,
}

impl Caching {
    /// The combination, `None` for writes or handles without reads, which do not exist.
    #[must_use]
    pub const fn new(read: bool, write: bool, handle: bool) -> Option<Self> {
        match (read, write, handle) {
            (false, false, false) => Some(Self::None),
            (true, false, false) => Some(Self::R),
            (true, false, true) => Some(Self::Rh),
            (true, true, false) => Some(Self::Rw),
            (true, true, true) => Some(Self::Rwh),
            (false, _, _) => None,
        }
    }

    /// Caches reads.
    #[must_use]
    pub const fn has_read(self) -> bool {
        !matches!(self, Self::None)
    }

    /// Caches writes: what it wrote may not be in the file yet.
    #[must_use]
    pub const fn has_write(self) -> bool {
        matches!(self, Self::Rw | Self::Rwh)
    }

    /// Caches handles: a handle that looks open may be closed already.
    #[must_use]
    pub const fn has_handle(self) -> bool {
        matches!(self, Self::Rh | Self::Rwh)
    }

    /// True when everything here is also in `other`.
    #[must_use]
    pub const fn is_within(self, other: Self) -> bool {
        (!self.has_read() || other.has_read())
            && (!self.has_write() || other.has_write())
            && (!self.has_handle() || other.has_handle())
    }

    /// What is in both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        let both = Self::new(
            self.has_read() && other.has_read(),
            self.has_write() && other.has_write(),
            self.has_handle() && other.has_handle(),
        );
        match both {
            Some(both) => both,
            None => Self::None,
        }
    }

    const fn without_write(self) -> Self {
        match self {
            Self::Rw => Self::R,
            Self::Rwh => Self::Rh,
            Self::None | Self::R | Self::Rh => self,
        }
    }

    const fn without_handle(self) -> Self {
        match self {
            Self::Rh => Self::R,
            Self::Rwh => Self::Rw,
            Self::None | Self::R | Self::Rw => self,
        }
    }
}

/// An oplock, the older form of the same promise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OplockLevel {
    /// The client asks the server each time.
    #[default]
    None,
    /// Level II: reads.
    Two,
    /// Reads and writes.
    Exclusive,
    /// Reads, writes and handles.
    Batch,
}

impl OplockLevel {
    /// What it lets the client cache.
    #[must_use]
    pub const fn caching(self) -> Caching {
        match self {
            Self::None => Caching::None,
            Self::Two => Caching::R,
            Self::Exclusive => Caching::Rw,
            Self::Batch => Caching::Rwh,
        }
    }
}

/// What a client holds on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CacheGrant {
    /// A lease: any combination.
    Lease(Caching),
    /// An oplock: breaks to level II or to nothing.
    Oplock(OplockLevel),
}

impl Default for CacheGrant {
    fn default() -> Self {
        Self::Lease(Caching::None)
    }
}

impl CacheGrant {
    /// What it lets the client cache.
    #[must_use]
    pub const fn caching(self) -> Caching {
        match self {
            Self::Lease(caching) => caching,
            Self::Oplock(level) => level.caching(),
        }
    }

    /// True for an oplock that caches.
    #[must_use]
    pub const fn is_oplock(self) -> bool {
        matches!(self, Self::Oplock(level) if level.caching().has_read())
    }

    /// True when whoever holds it loses it by changing the file itself. Only level II is shared by handles that know
    /// nothing of each other; those of a lease have its key, and the others are alone.
    #[must_use]
    pub const fn is_lost_by_own_write(self) -> bool {
        matches!(self, Self::Oplock(OplockLevel::Two))
    }

    /// The same kind of grant, cut down to `to`. An oplock has no level for "writes without handles" or "reads with
    /// handles", so what a break leaves of it is level II or nothing.
    const fn cut_to(self, to: Caching) -> Self {
        match self {
            Self::Lease(_) => Self::Lease(to),
            Self::Oplock(_) if to.has_read() => Self::Oplock(OplockLevel::Two),
            Self::Oplock(_) => Self::Oplock(OplockLevel::None),
        }
    }
}

/// What somebody else does to the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trigger {
    /// Opens it for data, reads it, or asks for its size and times.
    Read,
    /// Opens it and truncates it.
    Overwrite,
    /// Writes, changes the length or the properties, or locks bytes.
    Write,
    /// Meets a share mode that forbids the open, and must find out whether the handle is really open.
    SharingConflict,
    /// Deletes or renames it.
    Delete,
    /// Replaces it over REST: a write and a delete in one.
    Replace,
}

/// A break: what it leaves, and whether the breaker waits for the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CacheBreak {
    /// What the client keeps.
    pub to: CacheGrant,
    /// The breaker waits until the client answered or the time is up.
    pub wait: bool,
    /// The client must answer: it caches writes or handles.
    pub must_acknowledge: bool,
}

/// What a trigger does to a grant of somebody else, `None` when it takes nothing away. The holder's own accesses, under
/// the same lease key or on the same oplocked open, break nothing but [level II](CacheGrant::is_lost_by_own_write): the
/// caller leaves them out.
///
/// ```
/// use concurrency::oplock::{CacheGrant, Caching, OplockLevel, Trigger, cache_break};
/// let read = cache_break(CacheGrant::Lease(Caching::Rwh), Trigger::Read).unwrap();
/// assert_eq!((read.to, read.wait), (CacheGrant::Lease(Caching::Rh), true));
/// let write = cache_break(CacheGrant::Lease(Caching::Rh), Trigger::Write).unwrap();
/// assert_eq!((write.to, write.wait), (CacheGrant::Lease(Caching::None), false));
/// let batch = cache_break(CacheGrant::Oplock(OplockLevel::Batch), Trigger::SharingConflict).unwrap();
/// assert_eq!(batch.to, CacheGrant::Oplock(OplockLevel::Two));
/// assert_eq!(cache_break(CacheGrant::Lease(Caching::Rh), Trigger::Read), None);
/// ```
#[must_use]
pub fn cache_break(held: CacheGrant, trigger: Trigger) -> Option<CacheBreak> {
    let caching = held.caching();
    let (left, wait) = match trigger {
        Trigger::Read => (caching.without_write(), true),
        Trigger::Overwrite | Trigger::Write => (Caching::None, caching.has_write()),
        Trigger::SharingConflict | Trigger::Delete => (caching.without_handle(), true),
        Trigger::Replace => (Caching::None, caching.has_write() || caching.has_handle()),
    };
    if left == caching {
        return None;
    }
    let must_acknowledge = caching.has_write() || caching.has_handle();
    Some(CacheBreak { to: held.cut_to(left), wait, must_acknowledge })
}

#[cfg(test)]
mod tests;
