//! List Shares: one page, from one snapshot of the store, at a cost that does not depend on how many there are.
//!
//! Of one name come its deleted shares first, then the snapshots of the share, then the share. A page looks at a bounded
//! number of rows and holds a bounded number of bytes; it may end early, with a place to go on from.

use std::fmt;

use access::{Asked, Authorized, Operation, need::Need};
use store::{Direction, Read, Row, Scan, StoreError, key::KeyRange};
use types::{Timestamp, UnitId};

use crate::{Files, errors::FileError, keys, needs, records::DeletedShare, share::ShareProperties, state::Share};

/// Rows that a page looks at beyond those it shows.
const PASSED_OVER: usize = 10_000;
/// Bytes of names and metadata after which a page ends before it has as many items as it may.
const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// What of a name is listed. The order is that of a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SharePart {
    /// A deleted share, by what tells it from others of its name.
    Deleted(Timestamp),
    /// A snapshot of the share.
    Snapshot(Timestamp),
    /// The share.
    Share,
}

/// Where a listing goes on: what it names is included.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShareMarker {
    /// The name of the share.
    pub name: String,
    /// What of it.
    pub part: SharePart,
}

impl ShareMarker {
    /// Everything of a name and behind it.
    #[must_use]
    pub fn name(name: impl Into<String>) -> Self {
        Self { name: name.into(), part: SharePart::Deleted(Timestamp::EPOCH) }
    }

    /// Reads what [`fmt::Display`] wrote; any other text is taken for a name.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut parts = text.split('!');
        let read = (parts.next(), parts.next(), parts.next(), parts.next());
        let time = |text: &str| u64::from_str_radix(text, 16).ok().map(Timestamp::from_ticks);
        let part = match read {
            (Some(_), Some("d"), Some(version), None) => time(version).map(SharePart::Deleted),
            (Some(_), Some("s"), Some(snapshot), None) => time(snapshot).map(SharePart::Snapshot),
            (Some(_), Some("b"), None, None) => Some(SharePart::Share),
            _ => None,
        };
        match (read.0, part) {
            (Some(name), Some(part)) => Self { name: name.to_owned(), part },
            _ => Self::name(text),
        }
    }
}

impl fmt::Display for ShareMarker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            SharePart::Deleted(Timestamp::EPOCH) => f.write_str(&self.name),
            SharePart::Deleted(version) => write!(f, "{}!d!{:x}", self.name, version.ticks()),
            SharePart::Snapshot(time) => write!(f, "{}!s!{:x}", self.name, time.ticks()),
            SharePart::Share => write!(f, "{}!b", self.name),
        }
    }
}

/// List Shares.
#[derive(Clone, Debug)]
pub struct ListShares {
    /// The account whose shares are listed.
    pub account: UnitId,
    /// Only names that begin with this.
    pub prefix: String,
    /// Go on from here.
    pub marker: Option<ShareMarker>,
    /// At most so many.
    pub limit: usize,
    /// Show metadata.
    pub metadata: bool,
    /// Show snapshots.
    pub snapshots: bool,
    /// Show deleted shares.
    pub deleted: bool,
}

impl Operation for ListShares {
    fn need(&self) -> Need<'_> {
        needs::service(self.account, needs::LIST_SHARES)
    }
}

/// One line of a listing.
#[derive(Clone, Debug)]
pub struct ListedShare {
    /// The name of the share.
    pub name: String,
    /// What of it.
    pub part: SharePart,
    /// What it says about itself.
    pub properties: ShareProperties,
    /// Of a deleted share, when it was deleted and how many days of it are left.
    pub deleted: Option<Deletion>,
}

/// When a share was deleted, and for how long it can be restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// When.
    pub at: Timestamp,
    /// Days that are left.
    pub remaining_days: u64,
}

/// A page of a listing.
#[derive(Clone, Debug, Default)]
pub struct SharePage {
    /// What is listed.
    pub items: Vec<ListedShare>,
    /// Where to go on; `None` at the end.
    pub next: Option<ShareMarker>,
}

impl Files {
    /// Lists shares.
    ///
    /// # Errors
    /// The store failed.
    pub async fn list_shares(&self, asked: &Asked<ListShares>) -> Result<SharePage, FileError> {
        let (rows, now) = self.view();
        list(&rows, &asked.authorize(&rows).await?, now).await
    }
}

/// A page that is being filled.
struct Filling<'a> {
    request: &'a ListShares,
    now: Timestamp,
    page: SharePage,
    bytes: usize,
    passed_over: usize,
}

impl Filling<'_> {
    /// Takes an item, or notes that the listing goes on from it. False when the page ends before it.
    fn offer(&mut self, name: &str, part: SharePart, share: Share, deleted: Option<Deletion>) -> bool {
        let full = self.page.items.len() >= self.request.limit || self.bytes >= PAGE_BYTES;
        if full || self.passed_over >= PASSED_OVER {
            self.page.next = Some(ShareMarker { name: name.to_owned(), part });
            return false;
        }
        let mut properties = ShareProperties::of(share, self.now);
        if !self.request.metadata {
            properties.metadata.clear();
        }
        let pairs: usize = properties.metadata.iter().map(|(name, value)| name.len() + value.len()).sum();
        self.bytes = self.bytes.saturating_add(name.len() + pairs);
        self.page.items.push(ListedShare { name: name.to_owned(), part, properties, deleted });
        true
    }

    /// What of a name was shown on the page before.
    fn first(&self, name: &str) -> SharePart {
        let marker = self.request.marker.as_ref().filter(|marker| marker.name == name);
        marker.map_or(SharePart::Deleted(Timestamp::EPOCH), |marker| marker.part)
    }

    /// Offers a deleted share. False when the page ends before it.
    fn offer_deleted(&mut self, row: &Row) -> Result<bool, StoreError> {
        let (_, name, version) = keys::parse_deleted_share(&row.key)?;
        let (part, kept) = (SharePart::Deleted(version), DeletedShare::decode(&row.value)?);
        if part < self.first(&name) {
            return Ok(true); // shown before
        }
        if kept.until <= self.now {
            self.passed_over += 1;
            return Ok(true);
        }
        let left = kept.until.saturating_since(self.now).as_secs();
        let deletion = Deletion { at: kept.deleted, remaining_days: left.div_ceil(24 * 60 * 60) };
        Ok(self.offer(&name, part, kept.share, Some(deletion)))
    }

    /// Offers a share with its snapshots. False when the page ends before one of them.
    async fn offer_share(&mut self, rows: &impl Read, name: &str, share: Share) -> Result<bool, StoreError> {
        let first = self.first(name);
        if self.request.snapshots && share.snapshots > 0 && first < SharePart::Share {
            let from = if let SharePart::Snapshot(time) = first { time } else { Timestamp::EPOCH };
            let range = KeyRange { start: keys::share_snapshot(share.unit, from), ..keys::share_snapshots(share.unit) };
            let mut scan = rows.scan(range, Direction::Ascending);
            while let Some(row) = scan.next().await? {
                let (_, time) = keys::parse_share_snapshot(&row.key)?;
                if !self.offer(name, SharePart::Snapshot(time), Share::decode(&row.value)?, None) {
                    return Ok(false);
                }
            }
        }
        Ok(self.offer(name, SharePart::Share, share, None))
    }
}

async fn list(rows: &impl Read, request: &Authorized<'_, ListShares>, now: Timestamp) -> Result<SharePage, FileError> {
    let mut filling = Filling { request, now, page: SharePage::default(), bytes: 0, passed_over: 0 };
    let mut shares = keys::shares(request.account, &request.prefix);
    let mut deleted = keys::deleted_shares(request.account, &request.prefix);
    if let Some(marker) = &request.marker {
        shares.start = shares.start.max(keys::share_marker(request.account, &marker.name));
        let from = keys::deleted_share(request.account, &marker.name, Timestamp::EPOCH);
        deleted.start = deleted.start.max(from);
    }
    let mut shares = rows.scan(shares, Direction::Ascending);
    let mut deleted = request.deleted.then(|| rows.scan(deleted, Direction::Ascending));
    let (mut share, mut gone) = (shares.next().await?, next(deleted.as_mut()).await?);
    loop {
        let share_name = share.as_ref().map(|row| keys::parse_share(&row.key)).transpose()?.map(|(_, name)| name);
        let gone_name = gone.as_ref().map(|row| keys::parse_deleted_share(&row.key)).transpose()?;
        let gone_first = match (&share_name, &gone_name) {
            (Some(share), Some((_, gone, _))) => gone <= share,
            (share, _) => share.is_none(),
        };
        let goes_on = match (share.take_if(|_| !gone_first), share_name, gone.take_if(|_| gone_first)) {
            (Some(row), Some(name), _) => {
                let goes_on = filling.offer_share(rows, &name, Share::decode(&row.value)?).await?;
                share = shares.next().await?;
                goes_on
            }
            (_, _, Some(row)) => {
                let goes_on = filling.offer_deleted(&row)?;
                gone = next(deleted.as_mut()).await?;
                goes_on
            }
            _ => false,
        };
        if !goes_on {
            return Ok(filling.page);
        }
    }
}

async fn next(scan: Option<&mut Scan>) -> Result<Option<Row>, StoreError> {
    match scan {
        Some(scan) => scan.next().await,
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_read_as_it_was_written() {
        let time = Timestamp::from_ticks(0x1234);
        let table = [
            ("things", SharePart::Deleted(Timestamp::EPOCH)),
            ("things!d!1234", SharePart::Deleted(time)),
            ("things!s!1234", SharePart::Snapshot(time)),
            ("things!b", SharePart::Share),
        ];
        for (text, part) in table {
            let marker = ShareMarker { name: "things".to_owned(), part };
            assert_eq!(marker.to_string(), text);
            assert_eq!(ShareMarker::parse(text), marker);
        }
        for other in ["", "a!x", "a!s!", "a!s!zz", "a!b!1", "a!d!1!2"] {
            assert_eq!(ShareMarker::parse(other), ShareMarker::name(other), "{other}");
        }
    }
}
