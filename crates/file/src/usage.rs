//! Bytes that the files of a share hold, as counters in rows, and the quota that is kept by them.
//!
//! One row that every write changes would make writers wait for each other, so the number is the sum of a few rows, the
//! stripes; a file counts in the stripe of its inode, whose writers queue anyway. What only snapshots keep does not count.
//!
//! **Invariant.** A stripe is the sum of what the present files of its inodes hold: whoever changes `allocated` of a file
//! adds the change here in the same transaction.

use access::{Asked, Authorized, Operation, need::Need};
use concurrency::lease::{Leasable, LeaseId, LeaseUse};
use store::{
    Direction, Read, StoreError, Txn,
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

const VERSION: u8 = 1;
const GIB: u64 = 1 << 30;

/// The stripe that a file counts in.
pub(crate) const fn stripe(inode: Inode) -> u64 {
    inode.number() % STRIPES
}

/// A file holds more bytes (positive) or fewer (negative).
///
/// # Errors
/// The engine could not read, or a row is corrupt.
pub(crate) async fn add(txn: &Txn, share: UnitId, inode: Inode, delta: i64) -> Result<(), StoreError> {
    if delta == 0 {
        return Ok(());
    }
    let key = keys::usage(share, stripe(inode));
    let before = match txn.get(&key).await? {
        Some(row) => decode(&row)?,
        None => 0,
    };
    let less = || StoreError::corrupt(format!("a share counts {before} bytes, and its files lose {}", delta.abs()));
    txn.put(key, encode(before.checked_add_signed(delta).ok_or_else(less)?));
    Ok(())
}

/// Bytes that the files of a share hold.
///
/// # Errors
/// The engine could not read, or a row is corrupt.
pub(crate) async fn total(rows: &impl Read, share: UnitId) -> Result<u64, StoreError> {
    let mut scan = rows.scan(keys::of_share(keys::USAGE, share), Direction::Ascending);
    let mut sum = 0_u64;
    while let Some(row) = scan.next().await? {
        sum = sum.saturating_add(decode(&row.value)?);
    }
    Ok(sum)
}

/// Refuses that a share grows beyond its quota. Writers at the same moment do not see each other, so a share can pass its
/// quota by what is in flight; the next writer is refused.
///
/// # Errors
/// It would be too large ([`FileError::ShareSizeLimitReached`]), or the store failed.
pub(crate) async fn check_quota(rows: &impl Read, share: &Share, growth: u64) -> Result<(), FileError> {
    if growth == 0 {
        return Ok(()); // also a share whose quota was lowered below what it holds can be written where it has bytes
    }
    let held = total(rows, share.unit).await?;
    if held.saturating_add(growth) > quota(share) { Err(FileError::ShareSizeLimitReached) } else { Ok(()) }
}

/// The most bytes that a share may hold.
pub(crate) fn quota(share: &Share) -> u64 {
    u64::from(share.settings.quota_gib).saturating_mul(GIB)
}

pub(crate) fn encode(bytes: u64) -> bytes::Bytes {
    Writer::new(VERSION).number(bytes).build()
}

pub(crate) fn decode(row: &[u8]) -> Result<u64, StoreError> {
    let mut reader = Reader::new("a counter of the bytes of a share", row, VERSION)?;
    let bytes = reader.number()?;
    reader.end()?;
    Ok(bytes)
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
