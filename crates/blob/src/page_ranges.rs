//! Get Page Ranges: which pages were written, or which differ from a snapshot. Pages of the answer are bounded.

use access::{Asked, Authorized, Operation, need::Need};
use store::{
    Read,
    content_map::{self, Bounds},
};
use types::Timestamp;

use crate::{
    Blobs,
    errors::BlobError,
    object::{Address, FoundBlob, admitted, find_at, find_snapshot},
    part::{BlobPart, NamedPart},
    permissions,
    preconditions::Preconditions,
    properties::Written,
    state::BlobKind,
};

/// Ranges of one answer when nobody says how many.
pub const RANGES_DEFAULT: usize = 10_000;
/// Rows that one answer looks at: what did not change, or was cleared, is passed over in pages of answers too.
const EXAMINED: usize = 50_000;
/// Rows that are looked at at a time.
const PIECE: usize = 1024;

/// Get Page Ranges.
#[derive(Clone, Debug)]
pub struct GetPageRanges<'a> {
    /// The page blob.
    pub address: Address,
    /// The part of it that is meant.
    pub part: NamedPart,
    /// What it is decided by.
    pub preconditions: Preconditions<'a>,
    /// Only what is in `start..end`.
    pub range: Option<(u64, u64)>,
    /// Only what differs from this snapshot.
    pub previous: Option<Timestamp>,
    /// Go on from here.
    pub marker: Option<u64>,
    /// The most ranges in one answer.
    pub limit: usize,
    /// For clients that know no pages of answers: go on until the end, or until there are that many.
    pub at_once: bool,
}

impl Operation for GetPageRanges<'_> {
    fn need(&self) -> Need<'_> {
        self.address.need_part(&self.part, self.preconditions.need(permissions::READ_BLOB))
    }
}

/// A range of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRange {
    /// Where it begins.
    pub start: u64,
    /// Where it ends, excluded.
    pub end: u64,
    /// False when it was cleared since the snapshot to compare with.
    pub written: bool,
}

/// What Get Page Ranges answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRanges {
    /// ETag and Last-Modified.
    pub written: Written,
    /// The length of the blob.
    pub length: u64,
    /// The ranges, in order.
    pub ranges: Vec<PageRange>,
    /// Where to go on; `None` at the end.
    pub next: Option<u64>,
}

impl Blobs {
    /// Lists the ranges of a page blob.
    ///
    /// # Errors
    /// The blob does not exist or is no page blob, a lease or condition stands against it, there is no such snapshot to
    /// compare with, or the store failed.
    pub async fn get_page_ranges(&self, asked: &Asked<GetPageRanges<'_>>) -> Result<PageRanges, BlobError> {
        let (rows, now) = self.view();
        let request = &asked.authorize(&rows).await?;
        let mut found = list(&rows, request, request.marker, now).await?;
        while request.at_once
            && let Some(next) = found.next
            && found.ranges.len() < request.limit
        {
            let more = list(&rows, request, Some(next), now).await?;
            join(&mut found.ranges, more.ranges);
            found.next = more.next;
        }
        Ok(found)
    }
}

/// A range may go on where the one before ended.
fn join(ranges: &mut Vec<PageRange>, more: Vec<PageRange>) {
    for range in more {
        match ranges.last_mut() {
            Some(last) if last.end == range.start && last.written == range.written => last.end = range.end,
            _ => ranges.push(range),
        }
    }
}

async fn list(
    rows: &impl Read,
    request: &Authorized<'_, GetPageRanges<'_>>,
    marker: Option<u64>,
    now: Timestamp,
) -> Result<PageRanges, BlobError> {
    let part = request.part.by_time();
    let (found, _) = admitted(rows, &request.address, part, &request.preconditions, now).await?;
    let properties = &found.properties;
    if properties.kind != BlobKind::Page {
        return Err(BlobError::InvalidBlobType);
    }
    let (mut start, end) = match request.range {
        None => (0, properties.length),
        Some((start, _)) if start >= properties.length => return Err(BlobError::InvalidRange),
        Some((start, end)) => (start, end.min(properties.length)),
    };
    start = start.max(marker.unwrap_or(0)).min(end);
    let limit = request.limit.max(1);
    let (ranges, next) = match request.previous {
        None => written(rows, &found, (start, end), limit).await?,
        Some(previous) => {
            let old = previous_epoch(rows, request, &found, previous, now).await?;
            let epochs = (old, found.epoch);
            let bounds = Bounds { found: limit, examined: EXAMINED };
            let (differences, next) = content_map::diff(rows, found.content, epochs, (start, end), bounds).await?;
            let range = |difference: content_map::Difference| PageRange {
                start: difference.start,
                end: difference.end,
                written: difference.written,
            };
            (differences.into_iter().map(range).collect(), next)
        }
    };
    let written = Written { etag: properties.etag, last_modified: properties.last_modified };
    Ok(PageRanges { written, length: properties.length, ranges, next })
}

/// The written ranges, merged where they touch.
async fn written(
    rows: &impl Read,
    found: &FoundBlob,
    (start, end): (u64, u64),
    limit: usize,
) -> Result<(Vec<PageRange>, Option<u64>), BlobError> {
    let mut ranges: Vec<PageRange> = Vec::new();
    let mut place = start;
    for _ in 0..EXAMINED / PIECE {
        let (range, bounds) = ((place, end), Bounds { found: PIECE, examined: PIECE });
        let (segments, next) = content_map::read_some(rows, found.content, found.epoch, range, bounds).await?;
        for segment in segments {
            let full = ranges.len() == limit;
            match ranges.last_mut() {
                Some(last) if last.end == segment.offset => last.end = segment.end(),
                _ if full => return Ok((ranges, Some(segment.offset))),
                _ => ranges.push(PageRange { start: segment.offset, end: segment.end(), written: true }),
            }
        }
        match next {
            Some(next) => place = next,
            None => return Ok((ranges, None)),
        }
    }
    Ok((ranges, Some(place)))
}

/// The epoch of the snapshot to compare with.
async fn previous_epoch(
    rows: &impl Read,
    request: &GetPageRanges<'_>,
    found: &FoundBlob,
    previous: Timestamp,
    now: Timestamp,
) -> Result<u64, BlobError> {
    if let BlobPart::Snapshot(time) = request.part.by_time()
        && previous > time
    {
        return Err(BlobError::PreviousSnapshotCannotBeNewer);
    }
    let (container, base) = find_at(rows, &request.address, now).await?;
    let name = request.address.blob.as_str();
    let old = find_snapshot(rows, container, name, base.as_ref(), previous).await?;
    let old = old.ok_or(BlobError::PreviousSnapshotNotFound)?;
    if old.content != found.content {
        return Err(BlobError::BlobOverwritten);
    }
    Ok(old.extra().epoch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_are_one() {
        let range = |start, end, written| PageRange { start, end, written };
        let mut ranges = vec![range(0, 512, true)];
        join(&mut ranges, vec![range(512, 1024, true), range(1024, 2048, false), range(4096, 4608, false)]);
        assert_eq!(ranges, [range(0, 1024, true), range(1024, 2048, false), range(4096, 4608, false)]);
    }
}
