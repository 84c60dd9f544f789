//! What an open gets of what it asks to cache, beside everything that is open already.

use super::{CacheGrant, Caching, OplockLevel};

/// What else is open, under another key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// Somebody else has the file open for more than a look at its attributes, or caches it.
    pub opens: bool,
    /// Somebody else caches writes, and was not broken: the new open only looks at attributes.
    pub writes: bool,
    /// Somebody else caches handles under a lease.
    pub handles: bool,
    /// Somebody else has an oplock.
    pub oplocks: bool,
    /// Bytes are locked, a change is under way, or it is a directory.
    pub bars: bool,
}

/// What to grant to an open that asks for caching. Beside other opens of the file nobody caches writes; an oplock then
/// becomes level II. Handles are cached by leases or by oplocks, not by both: who comes later goes without. Beside
/// byte-range locks, and on directories, nothing is cached.
///
/// ```
/// use concurrency::oplock::{Beside, CacheGrant, Caching, OplockLevel, grant};
/// let (lease, batch) = (CacheGrant::Lease(Caching::Rwh), CacheGrant::Oplock(OplockLevel::Batch));
/// assert_eq!(grant(lease, Beside::default()), lease);
/// let open = Beside { opens: true, ..Beside::default() };
/// assert_eq!(grant(lease, open), CacheGrant::Lease(Caching::Rh));
/// assert_eq!(grant(batch, open), CacheGrant::Oplock(OplockLevel::Two));
/// assert_eq!(grant(batch, Beside { handles: true, ..open }), CacheGrant::Oplock(OplockLevel::None));
/// assert_eq!(grant(lease, Beside { oplocks: true, ..open }), CacheGrant::Lease(Caching::R));
/// assert_eq!(grant(lease, Beside { bars: true, ..open }), CacheGrant::Lease(Caching::None));
/// ```
#[must_use]
pub const fn grant(requested: CacheGrant, beside: Beside) -> CacheGrant {
    if beside.bars || beside.writes {
        return requested.cut_to(Caching::None);
    }
    match requested {
        CacheGrant::Oplock(_) if beside.handles => CacheGrant::Oplock(OplockLevel::None),
        CacheGrant::Oplock(level) if beside.opens => CacheGrant::Oplock(level).cut_to(level.caching()),
        CacheGrant::Oplock(_) => requested,
        CacheGrant::Lease(mut caching) => {
            if beside.opens {
                caching = caching.without_write();
            }
            if beside.oplocks {
                caching = caching.without_handle();
            }
            CacheGrant::Lease(caching)
        }
    }
}
