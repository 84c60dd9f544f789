//! What changed between two epochs: the answer to Get Page Ranges with a previous snapshot and to List Ranges with one.

use types::ContentId;

use super::{Segment, Slice, read};
use crate::{error::StoreError, read::Read};

/// A range that differs between two epochs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Where it begins.
    pub start: u64,
    /// Where it ends, excluded.
    pub end: u64,
    /// True when it holds other bytes now; false when it was cleared.
    pub written: bool,
}

/// How many segments are compared at a time.
const WINDOW: usize = 256;

/// The ranges of `start..end` whose bytes at epoch `new` were written or cleared since epoch `old`, merged, at most
/// `limit`; and where to go on when there may be more. Splitting a row is no change; writing equal bytes again is one.
///
/// # Errors
/// The engine could not read, or a row is corrupt.
pub async fn diff(
    rows: &impl Read,
    content: ContentId,
    (old, new): (u64, u64),
    (start, end): (u64, u64),
    limit: usize,
) -> Result<(Vec<Difference>, Option<u64>), StoreError> {
    let mut found = Vec::new();
    let mut place = start;
    while place < end {
        let (before, before_next) = read(rows, content, old, (place, end), WINDOW).await?;
        let (after, after_next) = read(rows, content, new, (place, end), WINDOW).await?;
        let window_end = [before_next, after_next].into_iter().flatten().min().unwrap_or(end);
        for difference in compare(&before, &after, place, window_end) {
            push_merged(&mut found, difference);
            if found.len() > limit {
                let next = found.pop().map(|difference| difference.start);
                return Ok((found, next));
            }
        }
        place = window_end;
    }
    Ok((found, None))
}

fn push_merged(found: &mut Vec<Difference>, next: Difference) {
    match found.last_mut() {
        Some(last) if last.end == next.start && last.written == next.written => last.end = next.end,
        _ => found.push(next),
    }
}

/// Compares two lists of segments piece by piece between all of their borders.
fn compare(before: &[Segment], after: &[Segment], start: u64, end: u64) -> Vec<Difference> {
    let mut borders: Vec<u64> =
        before.iter().chain(after).flat_map(|segment| [segment.offset, segment.end()]).collect();
    borders.extend([start, end]);
    borders.retain(|border| (start..=end).contains(border));
    borders.sort_unstable();
    borders.dedup();
    let (mut old, mut new) = (Walk(before), Walk(after));
    let mut found = Vec::new();
    for pair in borders.windows(2) {
        let &[from, to] = pair else { continue };
        let (was, is) = (old.at(from, to), new.at(from, to));
        if was != is {
            push_merged(&mut found, Difference { start: from, end: to, written: is.is_some() });
        }
    }
    found
}

/// Walks segments in order.
struct Walk<'a>(&'a [Segment]);

impl Walk<'_> {
    fn at(&mut self, from: u64, to: u64) -> Option<Slice> {
        while let Some((first, rest)) = self.0.split_first()
            && first.end() <= from
        {
            self.0 = rest;
        }
        let first = self.0.first().filter(|segment| segment.offset <= from)?;
        Some(first.slice.part(from - first.offset, to - from))
    }
}
