//! What changed between two epochs: the answer to Get Page Ranges with a previous snapshot and to List Ranges with one.

use types::ContentId;

use super::{Bounds, Segment, Slice, first_row, parse_row, range_key};
use crate::{
    epoch,
    error::StoreError,
    read::{Direction, Read},
};

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

/// How many rows are compared at a time.
const WINDOW: usize = 256;

/// The ranges of `start..end` whose bytes at epoch `new` were written or cleared since epoch `old`, merged; and where to
/// go on when there may be more. Splitting a row is no change; writing equal bytes again is one, and so is writing and
/// clearing again, as far as rows still tell of it: it changed no byte. One walk over the rows sees both epochs, so what
/// one of them has and the other has not costs nothing extra.
///
/// # Errors
/// The engine could not read, or a row is corrupt.
pub async fn diff(
    rows: &impl Read,
    content: ContentId,
    (old, new): (u64, u64),
    (start, end): (u64, u64),
    bounds: Bounds,
) -> Result<(Vec<Difference>, Option<u64>), StoreError> {
    let first = first_row(rows, content, old, start).await?.min(first_row(rows, content, new, start).await?);
    let mut scan = rows.scan(range_key(content, first, end.max(first)), Direction::Ascending);
    let mut sides = Sides { before: Side::new(old), after: Side::new(new), touched: Vec::new() };
    let mut found = Vec::new();
    let (mut place, mut examined, mut compared) = (start, 0_usize, 0);
    let mut offset = first;
    while let Some(row) = scan.next().await? {
        let cleared = epoch::deleted_length(&row.value);
        let (row_offset, row_epoch, slice) = parse_row(row)?;
        if row_offset != offset {
            sides.next_offset();
            offset = row_offset;
            // Everything in front of this offset is known now.
            let full = examined >= bounds.examined;
            if offset > place && (full || examined - compared >= WINDOW) {
                if let Some(next) = sides.compare(&mut found, place, offset, bounds.found) {
                    return Ok((found, Some(next)));
                }
                (place, compared) = (offset, examined);
                if full {
                    return Ok((found, Some(place)));
                }
            }
        }
        examined += 1;
        sides.see(slice.map(|slice| Segment { offset, slice }), row_epoch);
        if let Some(length) =
            slice.map(|slice| slice.length).or(cleared).filter(|_| old < row_epoch && row_epoch <= new)
        {
            sides.touched.push((offset, offset.saturating_add(length)));
        }
    }
    sides.next_offset();
    let next = if place < end { sides.compare(&mut found, place, end, bounds.found) } else { None };
    Ok((found, next))
}

/// What each of two epochs sees of the rows that were walked over and not compared yet.
struct Sides {
    before: Side,
    after: Side,
    /// Ranges that were written in between, whether or not anything of it is left; by their beginnings.
    touched: Vec<(u64, u64)>,
}

impl Sides {
    fn see(&mut self, segment: Option<Segment>, epoch: u64) {
        self.before.see(segment, epoch);
        self.after.see(segment, epoch);
    }

    fn next_offset(&mut self) {
        self.before.seen = false;
        self.after.seen = false;
    }

    /// Compares what is in `start..end`. Returns where to go on when there are more differences than `limit`.
    fn compare(&mut self, found: &mut Vec<Difference>, start: u64, end: u64, limit: usize) -> Option<u64> {
        for difference in compare(&self.before.segments, &self.after.segments, &self.touched, (start, end)) {
            push_merged(found, difference);
            if found.len() > limit {
                return found.pop().map(|difference| difference.start);
            }
        }
        self.before.pass(end);
        self.after.pass(end);
        self.touched.retain(|(_, last)| *last > end);
        None
    }
}

/// The rows that one epoch sees, in order.
struct Side {
    epoch: u64,
    segments: Vec<Segment>,
    /// The row of the present offset was seen; those that follow are older.
    seen: bool,
}

impl Side {
    const fn new(epoch: u64) -> Self {
        Self { epoch, segments: Vec::new(), seen: false }
    }

    fn see(&mut self, segment: Option<Segment>, epoch: u64) {
        if !self.seen && epoch <= self.epoch {
            self.seen = true;
            self.segments.extend(segment);
        }
    }

    fn pass(&mut self, place: u64) {
        self.segments.retain(|segment| segment.end() > place);
    }
}

fn push_merged(found: &mut Vec<Difference>, next: Difference) {
    match found.last_mut() {
        Some(last) if last.end == next.start && last.written == next.written => last.end = next.end,
        _ => found.push(next),
    }
}

/// Compares two lists of segments piece by piece between all of their borders.
fn compare(before: &[Segment], after: &[Segment], touched: &[(u64, u64)], (start, end): (u64, u64)) -> Vec<Difference> {
    let mut borders: Vec<u64> =
        before.iter().chain(after).flat_map(|segment| [segment.offset, segment.end()]).collect();
    borders.extend(touched.iter().flat_map(|(from, to)| [*from, *to]));
    borders.extend([start, end]);
    borders.retain(|border| (start..=end).contains(border));
    borders.sort_unstable();
    borders.dedup();
    let (mut old, mut new) = (Walk(before), Walk(after));
    let mut found = Vec::new();
    // The touched ranges are in the order of their beginnings; how far those up to here reach.
    let (mut touched, mut reach) = (touched.iter().peekable(), 0);
    for pair in borders.windows(2) {
        let &[from, to] = pair else { continue };
        while let Some((_, last)) = touched.next_if(|(first, _)| *first <= from) {
            reach = reach.max(*last);
        }
        let (was, is) = (old.at(from, to), new.at(from, to));
        if was != is || (is.is_none() && reach >= to) {
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
