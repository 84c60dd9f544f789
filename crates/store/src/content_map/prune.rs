//! Removing map rows in bounded steps: what nobody can see after a snapshot went, and everything when the content went.

use bytes::Bytes;
use types::ContentId;

use super::{BTreeMap, ChunkRef, Slice, SliceChange, all_rows, guard, parse_key, range_key};
use crate::{
    content, epoch,
    error::StoreError,
    read::{Direction, Read, Row},
    txn::Txn,
};

/// Who reads a map.
#[derive(Clone, Copy, Debug)]
pub struct Readers<'a> {
    /// The epochs that snapshots read at, ascending.
    pub snapshots: &'a [u64],
    /// True while something reads and writes the present; false when only snapshots are left.
    pub present: bool,
}

/// Removes rows that no reader can see, looking at offsets from `from` on and at most `limit` rows. Returns where to go
/// on, `None` at the end.
///
/// # Errors
/// The engine could not read, or a row is corrupt.
pub async fn prune(
    txn: &Txn,
    content: ContentId,
    readers: Readers<'_>,
    from: u64,
    limit: usize,
) -> Result<Option<u64>, StoreError> {
    let mut removal = Removal::new(txn, content);
    let mut scan = txn.scan(range_key(content, from, u64::MAX), Direction::Ascending);
    let mut group: Vec<Row> = Vec::new();
    let mut group_offset = from;
    let mut seen = 0;
    let next = loop {
        let Some(row) = scan.next().await? else { break None };
        seen += 1;
        let (offset, _) = parse_key(&row.key)?;
        if offset != group_offset {
            removal.unseen(std::mem::take(&mut group), readers)?;
            group_offset = offset;
            if seen > limit {
                break Some(offset);
            }
        }
        group.push(row);
    };
    if next.is_none() {
        removal.unseen(group, readers)?;
    }
    removal.finish().await?;
    Ok(next)
}

/// Removes up to `limit` rows of a content that is gone. True when none is left.
///
/// # Errors
/// The engine could not read, or a row is corrupt.
pub async fn remove_all(txn: &Txn, content: ContentId, limit: usize) -> Result<bool, StoreError> {
    let rows = txn.scan(all_rows(content), Direction::Ascending).take(limit).await?;
    let done = rows.len() < limit;
    let mut removal = Removal::new(txn, content);
    for row in rows {
        removal.row(row.key, row.value)?;
    }
    removal.finish().await?;
    Ok(done)
}

struct Removal<'a> {
    txn: &'a Txn,
    content: ContentId,
    slices: BTreeMap<ChunkRef, SliceChange>,
}

impl<'a> Removal<'a> {
    const fn new(txn: &'a Txn, content: ContentId) -> Self {
        Self { txn, content, slices: BTreeMap::new() }
    }

    fn row(&mut self, key: Bytes, value: Bytes) -> Result<(), StoreError> {
        if let Some(stored) = epoch::decode(value)? {
            let (offset, _) = parse_key(&key)?;
            let Slice { chunk, skip, length } = Slice::decode(&stored)?;
            self.slices.entry(chunk).or_default().count(-1, offset, skip, length);
        }
        self.txn.delete(key);
        Ok(())
    }

    fn unseen(&mut self, group: Vec<Row>, readers: Readers<'_>) -> Result<(), StoreError> {
        let mut epochs = Vec::with_capacity(group.len());
        for row in &group {
            epochs.push((epoch::epoch_of(&row.key)?, epoch::decode(row.value.clone())?.is_none()));
        }
        let unseen = epoch::unseen(&epochs, readers.snapshots, readers.present);
        for (row, (epoch, _)) in group.into_iter().zip(epochs) {
            if unseen.contains(&epoch) {
                self.row(row.key, row.value)?;
            }
        }
        Ok(())
    }

    async fn finish(self) -> Result<(), StoreError> {
        guard(self.txn, self.content);
        for (chunk, change) in self.slices {
            content::count_slices(self.txn, chunk, change).await?;
        }
        Ok(())
    }
}
