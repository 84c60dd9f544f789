//! Content maps: the bytes of page blobs, append blobs and files as ordered rows `offset -> slice of a chunk`.
//!
//! Writes insert and split, clears remove, what no row covers reads as zeros. Rows are epoch rows, so a snapshot is one
//! raised number and the difference of two snapshots is read off the rows.
//!
//! **Invariants.** At every epoch the visible rows do not overlap. No row crosses a multiple of [`CELL_BYTES`], so
//! the row that covers a byte is found within its cell. A chunk that was linked for a map is live exactly while a row
//! refers to it, of any epoch and of any map: a copy of a map is a copy of its rows.

use std::collections::BTreeMap;

use bytes::Bytes;
use types::ContentId;

use crate::{
    chunk::ChunkRef,
    content::{self, SliceChange},
    epoch::{self, Epochs},
    error::StoreError,
    key::{KeyBuilder, KeyParser, KeyRange},
    read::{Direction, Read, Row},
    record::{Reader, Writer},
    space::Space,
    txn::Txn,
};

mod diff;
mod prune;
mod repack;

pub use diff::{Difference, diff};
pub use prune::{Readers, prune, remove_all};
pub(crate) use repack::parse_sparse;
pub use repack::repack;

/// No row crosses a multiple of this.
pub const CELL_BYTES: u64 = 4 * 1024 * 1024;

pub(crate) const MAP: u8 = 0x10;
/// The guard between the writers of one map. Never a row.
const GUARD: u8 = 0x11;
const VERSION: u8 = 1;

/// A part of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The chunk that the bytes are in; several slices may be of one.
    pub chunk: ChunkRef,
    /// Bytes of the chunk before the slice.
    pub skip: u64,
    /// Bytes of the slice.
    pub length: u64,
}

impl Slice {
    fn part(&self, from: u64, length: u64) -> Self {
        Self { chunk: self.chunk, skip: self.skip + from, length }
    }

    pub(crate) fn encode(&self) -> Bytes {
        self.chunk.write(Writer::new(VERSION)).number(self.skip).number(self.length).build()
    }

    fn decode(record: &[u8]) -> Result<Self, StoreError> {
        let mut reader = Reader::new("a slice", record, VERSION)?;
        let chunk = ChunkRef::read(&mut reader)?;
        let (skip, length) = (reader.number()?, reader.number()?);
        reader.end()?;
        Ok(Self { chunk, skip, length })
    }
}

/// A written part of a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Where it begins in the content.
    pub offset: u64,
    /// Where its bytes are.
    pub slice: Slice,
}

impl Segment {
    /// Where it ends in the content.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.offset + self.slice.length
    }
}

/// How much one call gives and does at most. What a caller gets is a part; it goes on from where it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Parts that are given.
    pub found: usize,
    /// Rows that are looked at, of all epochs. One more offset than this is always looked at, so that a call gets on.
    pub examined: usize,
}

/// The written parts of `start..end` as a reader at `epoch` sees them, cut to the range, at most `limit` of them; and
/// where to go on when there may be more.
///
/// # Errors
/// The engine could not read, or a row is corrupt.
pub async fn read(
    rows: &impl Read,
    content: ContentId,
    epoch: u64,
    range: (u64, u64),
    limit: usize,
) -> Result<(Vec<Segment>, Option<u64>), StoreError> {
    read_some(rows, content, epoch, range, Bounds { found: limit, examined: usize::MAX }).await
}

/// The same, of which no call passes over very many rows that this reader does not see. Up to where to go on, everything
/// that is not given is a hole.
///
/// # Errors
/// The engine could not read, or a row is corrupt.
pub async fn read_some(
    rows: &impl Read,
    content: ContentId,
    epoch: u64,
    (start, end): (u64, u64),
    bounds: Bounds,
) -> Result<(Vec<Segment>, Option<u64>), StoreError> {
    let mut segments = Vec::new();
    let first = first_row(rows, content, epoch, start).await?;
    let mut visible = Visible::new(rows, content, epoch, (first, end)).stopping(start, bounds.examined);
    while let Some((segment, _)) = visible.next().await? {
        if segment.end() <= start {
            continue;
        }
        if segments.len() == bounds.found {
            return Ok((segments, Some(segment.offset.max(start))));
        }
        segments.push(cut(segment, start, end));
    }
    // What stopped it may be a row of another epoch, in the middle of the last part.
    let given = segments.last().map_or(start, Segment::end);
    Ok((segments, visible.stopped.map(|offset| offset.max(given)).filter(|next| *next < end)))
}

/// Where to begin so that the row that covers `start` is seen, if there is one: the nearest visible row before it, which
/// is in its cell. Rows of one map do not overlap, so no other can reach it.
async fn first_row(rows: &impl Read, content: ContentId, epoch: u64, start: u64) -> Result<u64, StoreError> {
    let mut scan = rows.scan(range_key(content, cell_start(start), start), Direction::Descending);
    let mut newest: Option<(u64, bool)> = None; // of one offset: the epochs come oldest first
    while let Some(row) = scan.next().await? {
        let (offset, row_epoch, slice) = parse_row(row)?;
        if let Some((before, true)) = newest
            && before != offset
        {
            return Ok(before);
        }
        if row_epoch <= epoch {
            newest = Some((offset, slice.is_some()));
        }
    }
    Ok(newest.filter(|(_, visible)| *visible).map_or(start, |(offset, _)| offset))
}

fn cut(segment: Segment, start: u64, end: u64) -> Segment {
    let offset = segment.offset.max(start);
    let length = segment.end().min(end) - offset;
    Segment { offset, slice: segment.slice.part(offset - segment.offset, length) }
}

const fn cell_start(offset: u64) -> u64 {
    offset - offset % CELL_BYTES
}

pub(crate) fn row_key(content: ContentId, offset: u64, epoch: u64) -> Bytes {
    offset_key(content, offset).descending(epoch).build()
}

fn offset_key(content: ContentId, offset: u64) -> KeyBuilder {
    KeyBuilder::new(Space::Store, MAP).number(content.number()).number(offset)
}

fn range_key(content: ContentId, start: u64, end: u64) -> KeyRange {
    KeyRange::between(offset_key(content, start).build(), offset_key(content, end).build())
}

fn parse_key(key: &[u8]) -> Result<(u64, u64), StoreError> {
    let mut parser = KeyParser::new(key, Space::Store, MAP)?;
    parser.number()?;
    let place = (parser.number()?, parser.descending()?);
    parser.end()?;
    Ok(place)
}

/// All rows of a content's map, of every epoch: what an audit looks at.
#[must_use]
pub fn all_rows(content: ContentId) -> KeyRange {
    KeyBuilder::new(Space::Store, MAP).number(content.number()).range()
}

/// What a row of a map says: its offset, its epoch, and its slice unless it is a tombstone.
///
/// # Errors
/// The row is not one of a map, or corrupt.
pub fn parse_row(row: Row) -> Result<(u64, u64, Option<Slice>), StoreError> {
    let (offset, epoch) = parse_key(&row.key)?;
    let slice = epoch::decode(row.value)?.map(|stored| Slice::decode(&stored)).transpose()?;
    Ok((offset, epoch, slice))
}

/// Excludes other writers of the map. They look at rows by scans, so two of them could otherwise write rows that overlap
/// without having one in common.
fn guard(txn: &Txn, content: ContentId) {
    txn.guard_exclusive(KeyBuilder::new(Space::Store, GUARD).number(content.number()).build());
}

/// How a visible row stands in its group of epochs.
#[derive(Clone, Copy, Debug)]
struct Standing {
    epoch: u64,
    /// Rows of older epochs stand below it: deleting it would bring them back.
    has_older: bool,
}

/// Walks the visible rows of a range: of each offset the newest at or below the epoch, unless it is a tombstone.
struct Visible {
    scan: crate::read::Scan,
    epoch: u64,
    ahead: Option<(u64, u64, Option<Slice>)>,
    /// It ends at the first offset behind `.0` when `.1` rows were looked at.
    stop: Option<(u64, usize)>,
    examined: usize,
    /// Where it ended before the end of the range.
    stopped: Option<u64>,
}

impl Visible {
    fn new(rows: &impl Read, content: ContentId, epoch: u64, (start, end): (u64, u64)) -> Self {
        let scan = rows.scan(range_key(content, start, end.max(start)), Direction::Ascending);
        Self { scan, epoch, ahead: None, stop: None, examined: 0, stopped: None }
    }

    /// Ends behind `place` once so many rows were looked at.
    fn stopping(self, place: u64, examined: usize) -> Self {
        Self { stop: Some((place, examined)), ..self }
    }

    async fn row(&mut self) -> Result<Option<(u64, u64, Option<Slice>)>, StoreError> {
        if let Some(ahead) = self.ahead.take() {
            return Ok(Some(ahead));
        }
        let Some(row) = self.scan.next().await? else { return Ok(None) };
        self.examined += 1;
        parse_row(row).map(Some)
    }

    async fn next(&mut self) -> Result<Option<(Segment, Standing)>, StoreError> {
        while let Some((offset, epoch, slice)) = self.row().await? {
            if self.stop.is_some_and(|(place, examined)| offset > place && self.examined > examined) {
                self.stopped = Some(offset);
                return Ok(None);
            }
            if epoch > self.epoch {
                continue; // written after the snapshot that is being read
            }
            let mut has_older = false;
            while let Some(next) = self.row().await? {
                if next.0 != offset {
                    self.ahead = Some(next);
                    break;
                }
                has_older = true;
            }
            if let Some(slice) = slice {
                return Ok(Some((Segment { offset, slice }, Standing { epoch, has_older })));
            }
        }
        Ok(None)
    }
}

/// Changes a content's map inside one transaction. Call [`MapWriter::finish`] at the end: it settles which chunks live.
pub struct MapWriter<'a> {
    txn: &'a Txn,
    content: ContentId,
    epochs: Epochs,
    slices: BTreeMap<ChunkRef, SliceChange>,
    replaced: u64,
}

impl<'a> MapWriter<'a> {
    /// Writes at the current epoch of the content's owner.
    #[must_use]
    pub const fn new(txn: &'a Txn, content: ContentId, epochs: Epochs) -> Self {
        Self { txn, content, epochs, slices: BTreeMap::new(), replaced: 0 }
    }

    /// Puts a slice at `offset`, over whatever is there.
    ///
    /// # Errors
    /// The engine could not read, or a row is corrupt.
    pub async fn write(&mut self, offset: u64, slice: Slice) -> Result<(), StoreError> {
        self.remove(offset, offset + slice.length, false).await?;
        self.append(offset, slice);
        Ok(())
    }

    /// Puts a slice at `offset` without looking: the caller knows that nothing is visible from there to its end, because
    /// the content ends there or the place was just cleared.
    pub fn append(&mut self, offset: u64, slice: Slice) {
        let end = offset + slice.length;
        let mut place = offset;
        while place < end {
            let piece_end = (cell_start(place) + CELL_BYTES).min(end);
            self.put_row(place, slice.part(place - offset, piece_end - place));
            place = piece_end;
        }
    }

    /// Puts parts of another map where they are there, without looking; its chunks are shared. Returns the bytes of them.
    pub fn append_all(&mut self, segments: &[Segment]) -> u64 {
        for segment in segments {
            self.append(segment.offset, segment.slice);
        }
        segments.iter().map(|segment| segment.slice.length).sum()
    }

    /// Makes `start..end` read as zeros. What was written since a snapshot that still exists stays known as cleared, for
    /// [`diff`]; until somebody writes there again, or a prune forgets it.
    ///
    /// # Errors
    /// The engine could not read, or a row is corrupt.
    pub async fn clear(&mut self, start: u64, end: u64) -> Result<(), StoreError> {
        self.remove(start, end, self.epochs.newest_snapshot.is_some()).await
    }

    async fn remove(&mut self, start: u64, end: u64, remember: bool) -> Result<(), StoreError> {
        if start >= end {
            return Ok(()); // nothing to clear must not split the row around it
        }
        let first = first_row(self.txn, self.content, self.epochs.current, start).await?;
        let mut visible = Visible::new(self.txn, self.content, self.epochs.current, (first, end));
        while let Some((segment, standing)) = visible.next().await? {
            if segment.end() <= start {
                continue;
            }
            let (from, to) = (segment.offset.max(start), segment.end().min(end));
            self.replaced += to - from;
            self.remove_row(&segment, standing);
            if remember && !self.epochs.keeps(standing.epoch) {
                self.txn.put(row_key(self.content, from, self.epochs.current), epoch::tombstone_of(to - from));
            }
            if segment.offset < start {
                self.put_row(segment.offset, segment.slice.part(0, start - segment.offset));
            }
            if segment.end() > end {
                self.put_row(end, segment.slice.part(end - segment.offset, segment.end() - end));
            }
        }
        Ok(())
    }

    /// Bytes that were visible where something was written over them or cleared.
    #[must_use]
    pub const fn replaced(&self) -> u64 {
        self.replaced
    }

    fn remove_row(&mut self, segment: &Segment, standing: Standing) {
        let kept = self.epochs.keeps(standing.epoch);
        if !kept {
            self.txn.delete(row_key(self.content, segment.offset, standing.epoch));
            let Slice { chunk, skip, length } = segment.slice;
            self.slices.entry(chunk).or_default().count(-1, segment.offset, skip, length);
        }
        if kept || standing.has_older {
            self.txn.put(row_key(self.content, segment.offset, self.epochs.current), epoch::TOMBSTONE);
        }
    }

    fn put_row(&mut self, offset: u64, slice: Slice) {
        self.txn.put(row_key(self.content, offset, self.epochs.current), epoch::encode(&slice.encode()));
        self.slices.entry(slice.chunk).or_default().count(1, offset, slice.skip, slice.length);
    }

    /// Settles which chunks are still referred to. Chunks linked in this transaction must be linked before this.
    ///
    /// # Errors
    /// The engine could not read, or a row is corrupt.
    pub async fn finish(self) -> Result<(), StoreError> {
        guard(self.txn, self.content);
        for (chunk, change) in self.slices {
            // Also without a change: a chunk that came and went in this transaction has no slice, and is freed.
            content::count_slices(self.txn, chunk, change).await?;
        }
        Ok(())
    }
}
