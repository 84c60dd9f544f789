//! Repacking: a chunk of which little is used is replaced by one that holds only that.
//!
//! The rows are compared and swapped, so a write that comes between makes the attempt worthless, never wrong. Rows of
//! old epochs are swapped with the rest, by one mapping, so what was equal between epochs stays equal.

use types::ContentId;

use super::{Slice, guard, parse_row, range_key, row_key};
use crate::{
    chunk::ChunkRef,
    content::{self, SliceChange},
    epoch,
    error::StoreError,
    read::{Direction, Read, Row},
    transact::{Scope, Store},
};

/// Rows swapped in one transaction; a chunk with more is left alone until its rows become fewer.
const ROWS: usize = 8192;
/// Bytes copied at a time.
const PIECE: u64 = 256 * 1024;

/// Moves the used parts of a chunk into a new one. False when there was nothing to gain or somebody wrote meanwhile.
///
/// # Errors
/// The store failed.
pub async fn repack(store: &Store, content: ContentId, chunk: ChunkRef) -> Result<bool, StoreError> {
    let snapshot = store.snapshot();
    let used = match content::find(&snapshot, chunk).await? {
        Some(record) if record.owner == content && record.slices.rows > 0 => record.slices,
        _ => return forget(store, content, chunk).await,
    };
    let range = (used.offset, used.offset.saturating_add(chunk.length));
    let Some(rows) = rows_of(&snapshot, content, chunk, range).await? else {
        return forget(store, content, chunk).await;
    };
    drop(snapshot);
    if u64::try_from(rows.len()).unwrap_or(u64::MAX) != used.rows {
        return forget(store, content, chunk).await; // another map refers to it too
    }
    let parts = union(rows.iter().map(|(_, _, slice)| (slice.skip, slice.skip + slice.length)).collect());
    let copied: u64 = parts.iter().map(|(start, end)| end - start).sum();
    if copied > chunk.length / 2 {
        return forget(store, content, chunk).await;
    }

    let source = store.open_chunk(chunk).await?;
    let mut writer = store.write_chunk(Some(copied))?;
    for (start, end) in &parts {
        let mut place = *start;
        while place < *end {
            let length = usize::try_from((end - place).min(PIECE)).unwrap_or(0);
            let piece = source.read(place, length).await?;
            if piece.is_empty() {
                return Err(StoreError::corrupt(format!("chunk {chunk} ends before its slices do")));
            }
            place += u64::try_from(piece.len()).unwrap_or(u64::MAX);
            writer.write(piece).await?;
        }
    }
    let packed = writer.finish().await?;

    let (rows, parts, packed) = (&rows, &parts, &packed);
    store
        .transact(Scope::new().reclaims(), |txn| async move {
            guard(&txn, content);
            txn.delete(content::sparse_key(content, chunk));
            if rows_of(&txn, content, chunk, range).await?.as_ref() != Some(rows) {
                return Ok(false);
            }
            // A copy of the map may have come meanwhile. Its rows are elsewhere; the count of the chunk knows them.
            match content::find(&txn, chunk).await? {
                Some(record) if record.slices.rows == used.rows => {}
                _ => return Ok(false),
            }
            content::link(&txn, packed, content);
            let (mut gone, mut come) = (SliceChange::default(), SliceChange::default());
            for (offset, epoch, old) in rows {
                let new = Slice { chunk: packed.reference(), skip: packed_skip(parts, old.skip), length: old.length };
                txn.put(row_key(content, *offset, *epoch), epoch::encode(&new.encode()));
                gone.count(-1, *offset, old.skip, old.length);
                come.count(1, *offset, new.skip, new.length);
            }
            content::count_slices(&txn, packed.reference(), come).await?;
            content::count_slices(&txn, chunk, gone).await?;
            Ok(true)
        })
        .await
}

/// Not worth it any more.
async fn forget(store: &Store, content: ContentId, chunk: ChunkRef) -> Result<bool, StoreError> {
    let scope = Scope::new().reclaims();
    store
        .transact(scope, |txn| async move {
            txn.delete(content::sparse_key(content, chunk));
            Ok(false)
        })
        .await
}

type Found = Vec<(u64, u64, Slice)>;

/// The rows of all epochs that refer to the chunk; `None` when there are too many.
async fn rows_of(
    rows: &impl Read,
    content: ContentId,
    chunk: ChunkRef,
    (start, end): (u64, u64),
) -> Result<Option<Found>, StoreError> {
    let mut found = Vec::new();
    let mut scan = rows.scan(range_key(content, start, end), Direction::Ascending);
    let mut seen = 0;
    while let Some(Row { key, value }) = scan.next().await? {
        seen += 1;
        if seen > ROWS {
            return Ok(None);
        }
        if let (offset, epoch, Some(slice)) = parse_row(Row { key, value })?
            && slice.chunk == chunk
        {
            found.push((offset, epoch, slice));
        }
    }
    Ok(Some(found))
}

/// The ranges that any of the given ones covers, in order.
fn union(mut ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    ranges.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::new();
    for (start, end) in ranges {
        match merged.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => merged.push((start, end)),
        }
    }
    merged
}

/// Where a byte of the old chunk is in the packed one.
fn packed_skip(parts: &[(u64, u64)], skip: u64) -> u64 {
    let before: u64 = parts.iter().take_while(|(_, end)| *end <= skip).map(|(start, end)| end - start).sum();
    let within = parts.iter().find(|(_, end)| *end > skip).map_or(0, |(start, _)| skip.saturating_sub(*start));
    before + within
}

/// The chunk a row of the sparse list is about.
pub(crate) fn parse_sparse(row: &Row) -> Result<(ContentId, ChunkRef), StoreError> {
    let chunk = <&[u8; ChunkRef::ENCODED_BYTES]>::try_from(&*row.value)
        .map_err(|_| StoreError::corrupt("a row of the sparse list"))?;
    Ok((content::parse_sparse_key(&row.key)?, ChunkRef::decode(chunk)))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::chunk::ChunkToken;

    #[test]
    fn parts_are_merged_and_found_again() {
        let parts = union(vec![(10, 20), (0, 5), (15, 30), (40, 41), (5, 6)]);
        assert_eq!(parts, [(0, 6), (10, 30), (40, 41)]);
        for (skip, packed) in [(0, 0), (5, 5), (10, 6), (29, 25), (40, 26)] {
            assert_eq!(packed_skip(&parts, skip), packed, "{skip}");
        }
    }

    #[test]
    fn a_sparse_row_comes_back() {
        let chunk = ChunkRef { token: ChunkToken::new([7; 16]), length: 3, crc64: 4 };
        let key = content::sparse_key(ContentId::new(9), chunk);
        let row = Row { key, value: Bytes::copy_from_slice(&chunk.encode()) };
        assert_eq!(parse_sparse(&row).unwrap(), (ContentId::new(9), chunk));
    }
}
