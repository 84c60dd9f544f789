//! Access tiers: Set Blob Tier, what an archived blob refuses, and rehydration.
//!
//! A rehydration ends at an instant that is stored when it begins, so no background work is needed for it: what the
//! tier is follows from the record and the time, as with leases.

use std::time::Duration;

use access::{Asked, Authorized, Operation, need::Need};
use concurrency::{conditions::WriteRule, lease::LeaseUse};
use store::Txn;
use types::Timestamp;

use crate::{
    Blobs,
    errors::BlobError,
    object::{Address, find_part},
    part::NamedPart,
    permissions,
    preconditions::Preconditions,
    state::{Blob, BlobKind, RehydratePriority, Rehydration, Tier},
};

/// How long a rehydration takes when nobody configured anything: long enough to be seen, short enough to wait for.
pub const REHYDRATION_STANDARD: Duration = Duration::from_secs(10);
/// The same with high priority.
pub const REHYDRATION_HIGH: Duration = Duration::from_secs(2);

macro_rules! tiers {
    ($($(#[$doc:meta])* $number:literal $name:ident $text:literal $gib:literal;)*) => {
        /// An access tier.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum AccessTier {
            $($(#[$doc])* $name,)*
        }

        impl AccessTier {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The token of the header.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            /// The number that stands for it in records.
            pub(crate) const fn number(self) -> u8 {
                match self {
                    $(Self::$name => $number,)*
                }
            }

            /// The tier that a record means.
            pub(crate) const fn of_number(number: u8) -> Option<Self> {
                match number {
                    $($number => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// The largest page blob of the tier; zero for tiers of block blobs.
            const fn gib(self) -> u64 {
                match self {
                    $(Self::$name => $gib,)*
                }
            }
        }
    };
}

// The numbers are in records: a new tier gets a new one.
tiers! {
    /// Read often.
    0 Hot "Hot" 0;
    /// Read seldom.
    1 Cool "Cool" 0;
    /// Read rarely.
    2 Cold "Cold" 0;
    /// Not readable until it is rehydrated.
    3 Archive "Archive" 0;
    /// Moved between hot, cool and cold by the service.
    4 Smart "Smart" 0;
    /// Page blobs up to 32 GiB.
    5 P4 "P4" 32;
    /// Page blobs up to 64 GiB.
    6 P6 "P6" 64;
    /// Page blobs up to 128 GiB.
    7 P10 "P10" 128;
    /// Page blobs up to 256 GiB.
    8 P15 "P15" 256;
    /// Page blobs up to 512 GiB.
    9 P20 "P20" 512;
    /// Page blobs up to 1 TiB.
    10 P30 "P30" 1024;
    /// Page blobs up to 2 TiB.
    11 P40 "P40" 2048;
    /// Page blobs up to 4 TiB.
    12 P50 "P50" 4096;
    /// Page blobs up to 8 TiB.
    13 P60 "P60" 8192;
    /// Page blobs up to 16 TiB.
    14 P70 "P70" 16384;
    /// Page blobs up to 32 TiB.
    15 P80 "P80" 32768;
}

impl AccessTier {
    /// Reads the token of the header, whatever its case.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|tier| tier.as_str().eq_ignore_ascii_case(text))
    }

    /// Whether blobs of this kind can have the tier.
    pub(crate) fn check(self, kind: BlobKind, length: u64) -> Result<(), BlobError> {
        let of_pages = self.gib() > 0;
        match kind {
            BlobKind::Block if !of_pages => Ok(()),
            BlobKind::Page if of_pages && length <= self.gib().saturating_mul(1 << 30) => Ok(()),
            BlobKind::Page if of_pages => Err(BlobError::TierTooSmall),
            _ => Err(BlobError::AccessTierNotSupported(self.as_str())),
        }
    }
}

/// What a blob says about its tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TierProperties {
    /// The tier that it has now; while it comes out of the archive, still that.
    pub tier: AccessTier,
    /// True when nobody asked for it.
    pub inferred: bool,
    /// When it was set; not for inferred ones.
    pub changed: Option<Timestamp>,
    /// The tier that an archived blob is on its way to, and how fast.
    pub rehydrating: Option<(AccessTier, RehydratePriority)>,
}

/// The tier of a blob. Only block blobs have one that nobody asked for.
pub(crate) fn properties(blob: &Blob, now: Timestamp) -> Option<TierProperties> {
    let Some(stored) = &blob.extra().tier else {
        let hot = TierProperties { tier: AccessTier::Hot, inferred: true, changed: None, rehydrating: None };
        return (blob.kind == BlobKind::Block).then_some(hot);
    };
    let set = |tier, changed| TierProperties { tier, inferred: false, changed: Some(changed), rehydrating: None };
    Some(match &stored.rehydration {
        Some(rehydration) if rehydration.due <= now => set(rehydration.to, rehydration.due),
        Some(rehydration) => TierProperties {
            rehydrating: Some((rehydration.to, rehydration.priority)),
            ..set(stored.tier, stored.changed)
        },
        None => set(stored.tier, stored.changed),
    })
}

/// Refuses what an archived blob cannot do.
pub(crate) fn refuse_archived(blob: &Blob, now: Timestamp) -> Result<(), BlobError> {
    match properties(blob, now) {
        Some(TierProperties { tier: AccessTier::Archive, rehydrating: None, .. }) => Err(BlobError::BlobArchived),
        Some(TierProperties { tier: AccessTier::Archive, .. }) => Err(BlobError::BlobBeingRehydrated),
        _ => Ok(()),
    }
}

/// The tier of a new blob: what was asked for, or what the one it replaces was given.
pub(crate) fn at_creation(
    asked: Option<AccessTier>,
    old: Option<&Blob>,
    (kind, length): (BlobKind, u64),
    now: Timestamp,
) -> Result<Option<Tier>, BlobError> {
    let Some(tier) = asked else {
        return Ok(old.and_then(|old| {
            let kept = properties(old, now).filter(|kept| !kept.inferred)?;
            let changed = kept.changed.unwrap_or(now);
            Some(Tier { tier: kept.tier, changed, rehydration: None })
        }));
    };
    tier.check(kind, length)?;
    Ok(Some(Tier { tier, changed: now, rehydration: None }))
}

/// Set Blob Tier.
#[derive(Clone, Debug)]
pub struct SetTier<'a> {
    /// The blob that gets the tier.
    pub address: Address,
    /// The part of it that is meant.
    pub part: NamedPart,
    /// What it is decided by: the lease id and `x-ms-if-tags`.
    pub preconditions: Preconditions<'a>,
    /// The tier that it is to have.
    pub tier: AccessTier,
    /// How fast out of the archive.
    pub priority: Option<RehydratePriority>,
    /// How long that takes.
    pub rehydration: Duration,
}

impl Operation for SetTier<'_> {
    fn need(&self) -> Need<'_> {
        self.address.need_part(&self.part, self.preconditions.need(permissions::SET_TIER))
    }
}

/// What Set Blob Tier did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TierSet {
    /// The blob has the tier (200).
    Now,
    /// It will have it (202).
    Rehydrating,
}

impl Blobs {
    /// Sets the tier. The ETag stays.
    ///
    /// # Errors
    /// There is no such blob, a lease or condition stands against it, the kind of blob has no such tier, or the store failed.
    pub async fn set_blob_tier(&self, asked: &Asked<SetTier<'_>>) -> Result<TierSet, BlobError> {
        self.on_blob(&asked.address, |txn| async move { set(&txn, &asked.authorize(&txn).await?).await }).await
    }
}

async fn set(txn: &Txn, request: &Authorized<'_, SetTier<'_>>) -> Result<TierSet, BlobError> {
    let (key, _, blob) = find_part(txn, &request.address, request.part.by_time(), txn.now()).await?;
    request.preconditions.admit_write(WriteRule::EXISTING, LeaseUse::Annotate, blob.as_ref(), txn.now())?;
    let mut blob = blob.filter(|blob| blob.exists(txn.now())).ok_or(BlobError::BlobNotFound)?;
    let (tier, done) = changed(&blob, request, txn.now())?;
    blob.extra_mut().tier = Some(tier);
    txn.put(key, blob.encode());
    Ok(done)
}

fn changed(blob: &Blob, request: &SetTier<'_>, now: Timestamp) -> Result<(Tier, TierSet), BlobError> {
    let asked = request.tier;
    asked.check(blob.kind, blob.length)?;
    let set = Tier { tier: asked, changed: now, rehydration: None };
    let Some(present) = properties(blob, now) else { return Ok((set, TierSet::Now)) };
    if blob.kind == BlobKind::Page && asked < present.tier {
        return Err(BlobError::CannotChangeToLowerTier);
    }
    match (present.tier, present.rehydrating) {
        (AccessTier::Archive, None) if asked != AccessTier::Archive => {
            Ok((begin_rehydration(blob, asked, request.priority, request.rehydration, now), TierSet::Rehydrating))
        }
        // The same target again may raise the priority, which is no change of where it goes.
        (AccessTier::Archive, Some((to, priority))) if to == asked => {
            let mut tier = blob.extra().tier.clone().unwrap_or(set);
            if let (Some(asked), Some(rehydration)) = (request.priority, &mut tier.rehydration)
                && asked == RehydratePriority::High
                && priority == RehydratePriority::Standard
            {
                rehydration.priority = asked;
                rehydration.due = rehydration.due.min(now.saturating_add(request.rehydration));
            }
            Ok((tier, TierSet::Rehydrating))
        }
        (AccessTier::Archive, Some(_)) => Err(BlobError::BlobBeingRehydrated),
        (tier, _) if tier == asked && !present.inferred => {
            let changed = present.changed.unwrap_or(now);
            Ok((Tier { tier, changed, rehydration: None }, TierSet::Now))
        }
        _ => Ok((set, TierSet::Now)),
    }
}

pub(crate) fn begin_rehydration(
    blob: &Blob,
    to: AccessTier,
    priority: Option<RehydratePriority>,
    takes: Duration,
    now: Timestamp,
) -> Tier {
    let changed = blob.extra().tier.as_ref().map_or(now, |tier| tier.changed);
    let due = now.saturating_add(takes);
    let rehydration = Some(Rehydration { to, priority: priority.unwrap_or_default(), due });
    Tier { tier: AccessTier::Archive, changed, rehydration }
}
