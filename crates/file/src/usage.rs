//! Bytes that the files of a share hold, as counters in rows, and the quota that is kept by them.
//!
//! One row that every write changes would make writers wait for each other, so the number is the sum of a few rows, the
//! stripes; a file counts in the stripe of its inode, whose writers queue anyway. What only snapshots keep does not count.
//!
//! Nor does every write that grows a file look at all of them. A stripe that asks whether the share has room is promised some
//! more, and its files grow into that before it asks again. What others are promised is not free; when nothing
//! else is, their promises are taken back, so a share can be filled to its last byte.
//!
//! **Invariants.** A stripe is the sum of what the present files of its inodes hold: whoever changes `allocated` of a file
//! adds the change here in the same transaction. What is held and what is promised under the quota of the share are
//! together not more than the quota, but for what was in flight at one moment.

use access::{Asked, Authorized, Operation, need::Need};
use concurrency::lease::{Leasable, LeaseId, LeaseUse};
use store::{
    Read, StoreError, Txn,
    record::{Reader, Writer},
};
use types::{ETag, Inode, Timestamp, UnitId};

use crate::{
    Files,
    errors::{About, FileError},
    keys, needs,
    share::ShareAddress,
    state::Share,
};

/// Rows that the sum of a share is spread over.
pub(crate) const STRIPES: u64 = 32;
/// The part of what is free that a stripe is promised: all of them together, at one moment, are promised half of it.
const PROMISED_PART: u64 = 2 * STRIPES;

/// Version 1 had what is held; version 2 added what is promised.
const VERSION: u8 = 2;
const GIB: u64 = 1 << 30;

/// The stripe that a file counts in.
pub(crate) const fn stripe(inode: Inode) -> u64 {
    inode.number() % STRIPES
}

/// One of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stripe {
    /// Bytes that the files of its inodes hold.
    pub(crate) held: u64,
    /// Bytes that they may hold besides without asking.
    pub(crate) promised: u64,
    /// The quota that it was promised under. A promise under another one is void.
    pub(crate) quota_gib: u32,
}

impl Stripe {
    const fn promised_under(&self, quota_gib: u32) -> u64 {
        if self.quota_gib == quota_gib { self.promised } else { 0 }
    }

    pub(crate) fn encode(&self) -> bytes::Bytes {
        Writer::new(VERSION).number(self.held).number(self.promised).small(self.quota_gib).build()
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self, StoreError> {
        let mut reader = Reader::new("a counter of the bytes of a share", row, VERSION)?;
        let held = reader.number()?;
        let (promised, quota_gib) = match reader.version() {
            1 => (0, 0),
            _ => (reader.number()?, reader.small()?),
        };
        reader.end()?;
        Ok(Self { held, promised, quota_gib })
    }

    fn of(row: Option<bytes::Bytes>) -> Result<Self, StoreError> {
        row.map_or(Ok(Self::default()), |row| Self::decode(&row))
    }
}

/// A file holds other bytes than before. Refuses that a share grows beyond its quota; also one whose quota was lowered below
/// what it holds can be written where it has bytes.
///
/// # Errors
/// It would be too large ([`FileError::ShareSizeLimitReached`]), or the store failed.
pub(crate) async fn change(txn: &Txn, share: &Share, inode: Inode, delta: i64) -> Result<(), FileError> {
    let Some(growth) = u64::try_from(delta).ok().filter(|growth| *growth > 0) else {
        return Ok(shrink(txn, share.unit, inode, delta.unsigned_abs()).await?);
    };
    let (number, quota_gib) = (stripe(inode), share.settings.quota_gib);
    let key = keys::usage(share.unit, number);
    let before = Stripe::of(txn.get(&key).await?)?;
    let promised = match before.promised_under(quota_gib).checked_sub(growth) {
        Some(left) => left,
        None => ask(txn, share, (number, before.held), growth).await?,
    };
    txn.put(key, Stripe { held: before.held.saturating_add(growth), promised, quota_gib }.encode());
    Ok(())
}

/// A file holds fewer bytes.
///
/// # Errors
/// The engine could not read, or a row is corrupt.
pub(crate) async fn shrink(txn: &Txn, share: UnitId, inode: Inode, bytes: u64) -> Result<(), StoreError> {
    if bytes == 0 {
        return Ok(());
    }
    let key = keys::usage(share, stripe(inode));
    let before = Stripe::of(txn.get(&key).await?)?;
    let less = || StoreError::corrupt(format!("a share counts {} bytes, and its files lose {bytes}", before.held));
    let held = before.held.checked_sub(bytes).ok_or_else(less)?;
    txn.put(key, Stripe { held, ..before }.encode());
    Ok(())
}

/// A file holds bytes in the place of others, which are not counted any more. One that holds no more than before is always
/// fine, also in a share whose quota was lowered.
///
/// # Errors
/// As [`change`].
pub(crate) async fn replace(txn: &Txn, share: &Share, inode: Inode, before: u64, bytes: u64) -> Result<(), FileError> {
    if bytes > before {
        return change(txn, share, inode, i64::try_from(bytes).unwrap_or(i64::MAX)).await;
    }
    let key = keys::usage(share.unit, stripe(inode));
    let stripe = Stripe::of(txn.get(&key).await?)?;
    txn.put(key, Stripe { held: stripe.held.saturating_add(bytes), ..stripe }.encode());
    Ok(())
}

/// Refuses what would make a share too large, before anything is done for it.
///
/// # Errors
/// As [`change`].
pub(crate) async fn check_quota(rows: &impl Read, share: &Share, growth: u64) -> Result<(), FileError> {
    let held = total(rows, share.unit).await?;
    if held.saturating_add(growth) > quota(share) { Err(FileError::ShareSizeLimitReached) } else { Ok(()) }
}

/// The most bytes that a share may hold.
pub(crate) fn quota(share: &Share) -> u64 {
    u64::from(share.settings.quota_gib).saturating_mul(GIB)
}

/// Decides whether one stripe may grow, by all of them, and how much it is promised besides. Those who ask at the same moment do
/// not see each other, so a share can pass its quota by what is in flight; the next one is refused.
async fn ask(txn: &Txn, share: &Share, (own, held): (u64, u64), growth: u64) -> Result<u64, FileError> {
    let quota_gib = share.settings.quota_gib;
    let (mut held, mut promised, mut holders) = (held, 0_u64, Vec::new());
    for number in (0..STRIPES).filter(|number| *number != own) {
        let other = Stripe::of(txn.peek(&keys::usage(share.unit, number)).await?)?;
        held = held.saturating_add(other.held);
        if other.promised_under(quota_gib) > 0 {
            promised = promised.saturating_add(other.promised);
            holders.push(number);
        }
    }
    let free = quota(share).saturating_sub(held);
    let left = free.checked_sub(growth).ok_or(FileError::ShareSizeLimitReached)?;
    if let Some(unpromised) = left.checked_sub(promised) {
        return Ok(unpromised / PROMISED_PART);
    }
    for number in holders {
        let key = keys::usage(share.unit, number);
        let other = Stripe::of(txn.get(&key).await?)?;
        txn.put(key, Stripe { promised: 0, ..other }.encode());
    }
    Ok(0)
}

/// Bytes that the files of a share hold. Row by row: a scan would pass all that these rows were since they were last
/// written to a table.
///
/// # Errors
/// The engine could not read, or a row is corrupt.
pub(crate) async fn total(rows: &impl Read, share: UnitId) -> Result<u64, StoreError> {
    let mut sum = 0_u64;
    for number in 0..STRIPES {
        sum = sum.saturating_add(Stripe::of(rows.peek(&keys::usage(share, number)).await?)?.held);
    }
    Ok(sum)
}

/// Get Share Stats.
#[derive(Clone, Debug)]
pub struct GetShareStats {
    /// The share; no snapshot.
    pub share: ShareAddress,
    /// The lease id that was sent.
    pub lease_id: Option<LeaseId>,
}

impl Operation for GetShareStats {
    fn need(&self) -> Need<'_> {
        self.share.need(needs::GET_SHARE)
    }
}

/// What a share says about its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareStats {
    /// The share's ETag.
    pub etag: ETag,
    /// When the share last changed.
    pub last_modified: Timestamp,
    /// Bytes that its files hold.
    pub usage_bytes: u64,
}

impl Files {
    /// Tells how much a share holds.
    ///
    /// # Errors
    /// It does not exist or is a snapshot, the lease id does not hold it, or the store failed.
    pub async fn get_share_stats(&self, asked: &Asked<GetShareStats>) -> Result<ShareStats, FileError> {
        let (rows, now) = self.view();
        stats(&rows, &asked.authorize(&rows).await?, now).await
    }
}

async fn stats(
    rows: &impl Read,
    request: &Authorized<'_, GetShareStats>,
    now: Timestamp,
) -> Result<ShareStats, FileError> {
    let share = request.share.writable(rows).await?;
    let checked = share.lease.check(Leasable::Share, LeaseUse::Read, request.lease_id, now);
    checked.map_err(|refusal| FileError::Lease(About::Share, refusal))?;
    let usage_bytes = total(rows, share.unit).await?;
    Ok(ShareStats { etag: share.etag, last_modified: share.last_modified, usage_bytes })
}

#[cfg(test)]
mod tests;
