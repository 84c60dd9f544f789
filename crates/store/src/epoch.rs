//! Epoch rows: rows that a snapshot must preserve. The key ends in a descending epoch, so the newest stands first.
//!
//! Taking a snapshot raises the epoch in the owner's row and nothing else. A writer at epoch `e` keeps the old row when
//! a snapshot still needs it; a delete then leaves a tombstone. A reader at epoch `s` takes the first row at or below `s`.

use bytes::Bytes;

use crate::{
    error::StoreError,
    key::{KeyBuilder, KeyRange},
    read::{Direction, Read},
    txn::Txn,
};

const DELETED: u8 = 0;
const VALUE: u8 = 1;
/// The stored form of "deleted here, older rows remain".
pub(crate) const TOMBSTONE: Bytes = Bytes::from_static(&[DELETED]);

/// A tombstone that says how much was deleted there: for differences, where no older row says it.
pub(crate) fn tombstone_of(length: u64) -> Bytes {
    let mut stored = vec![DELETED];
    stored.extend_from_slice(&length.to_be_bytes());
    Bytes::from(stored)
}

/// How much a tombstone says was deleted.
pub(crate) fn deleted_length(stored: &[u8]) -> Option<u64> {
    match stored.split_first() {
        Some((&DELETED, length)) => length.try_into().ok().map(u64::from_be_bytes),
        _ => None,
    }
}

/// The states of the rows of one owner, as a writer needs to know them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epochs {
    /// What is written now belongs to this epoch.
    pub current: u64,
    /// The newest snapshot that still exists, by the epoch it reads at; always below `current`.
    pub newest_snapshot: Option<u64>,
}

impl Epochs {
    /// True when a snapshot still reads a row of this epoch that is being replaced now.
    #[must_use]
    pub fn keeps(&self, epoch: u64) -> bool {
        self.newest_snapshot.is_some_and(|snapshot| epoch <= snapshot)
    }
}

/// The value that a reader at `epoch` sees.
///
/// # Errors
/// The engine could not read, or a row is corrupt.
pub async fn get(rows: &impl Read, key: &KeyBuilder, epoch: u64) -> Result<Option<Bytes>, StoreError> {
    let start = key.clone().descending(epoch).build();
    let range = KeyRange { start, ..key.clone().range() };
    match rows.scan(range, Direction::Ascending).next().await? {
        Some(row) => decode(row.value),
        None => Ok(None),
    }
}

/// Writes a value at the current epoch.
///
/// # Errors
/// The engine could not read.
pub async fn put(txn: &Txn, key: &KeyBuilder, epochs: Epochs, value: &[u8]) -> Result<(), StoreError> {
    forget_unneeded(txn, key, epochs).await?;
    txn.put(key.clone().descending(epochs.current).build(), encode(value));
    Ok(())
}

/// The stored form of a value.
pub(crate) fn encode(value: &[u8]) -> Bytes {
    let mut stored = Vec::with_capacity(value.len() + 1);
    stored.push(VALUE);
    stored.extend_from_slice(value);
    Bytes::from(stored)
}

/// Deletes the value at the current epoch; leaves a tombstone when older rows remain.
///
/// # Errors
/// The engine could not read.
pub async fn delete(txn: &Txn, key: &KeyBuilder, epochs: Epochs) -> Result<(), StoreError> {
    let older_remain = forget_unneeded(txn, key, epochs).await?;
    let row = key.clone().descending(epochs.current).build();
    if older_remain {
        txn.put(row, TOMBSTONE);
    } else {
        txn.delete(row);
    }
    Ok(())
}

/// Deletes the newest row below the current epoch when no snapshot reads it. True when any older row remains.
async fn forget_unneeded(txn: &Txn, key: &KeyBuilder, epochs: Epochs) -> Result<bool, StoreError> {
    let mut scan = txn.scan(key.clone().range(), Direction::Ascending);
    while let Some(row) = scan.next().await? {
        let epoch = epoch_of(&row.key)?;
        if epoch >= epochs.current {
            continue;
        }
        if epochs.keeps(epoch) {
            return Ok(true);
        }
        txn.delete(row.key);
    }
    Ok(false)
}

/// The epoch at the end of an epoch row's key.
///
/// # Errors
/// The key is too short.
pub fn epoch_of(key: &[u8]) -> Result<u64, StoreError> {
    match key.last_chunk::<8>() {
        Some(bytes) => Ok(!u64::from_be_bytes(*bytes)),
        None => Err(StoreError::corrupt("an epoch row whose key is too short")),
    }
}

/// What an epoch row holds: a value, or `None` for a tombstone.
///
/// # Errors
/// The row is corrupt.
pub fn decode(stored: Bytes) -> Result<Option<Bytes>, StoreError> {
    match stored.first() {
        Some(&VALUE) => Ok(Some(stored.slice(1..))),
        Some(&DELETED) if stored.len() == 1 || stored.len() == 9 => Ok(None),
        _ => Err(StoreError::corrupt("an epoch row of unknown kind")),
    }
}

/// Which of one key's epochs (newest first) nobody can see, given the epochs of all snapshots in ascending order, and
/// whether there is a present that sees the newest. A trailing tombstone hides nothing and goes too.
#[must_use]
pub fn unseen(epochs_newest_first: &[(u64, bool)], snapshots: &[u64], present: bool) -> Vec<u64> {
    let mut unseen = Vec::new();
    let mut kept_below = false;
    let mut newer: Vec<Option<u64>> = vec![None];
    newer.extend(epochs_newest_first.iter().map(|(epoch, _)| Some(*epoch)));
    // From the oldest on, so that a tombstone knows whether anything below it was kept.
    for ((epoch, tombstone), newer) in epochs_newest_first.iter().zip(newer).rev() {
        let first = snapshots.partition_point(|snapshot| snapshot < epoch);
        let by_snapshot = snapshots.get(first).is_some_and(|snapshot| newer.is_none_or(|newer| *snapshot < newer));
        let read = by_snapshot || (present && newer.is_none());
        if read && (kept_below || !tombstone) {
            kept_below = true;
        } else {
            unseen.push(*epoch);
        }
    }
    unseen
}

#[cfg(test)]
mod tests {
    use super::unseen;

    #[test]
    fn rows_between_snapshots_are_unseen() {
        let value = false;
        let tombstone = true;
        type Case<'a> = (&'a [(u64, bool)], &'a [u64], &'a [u64]);
        let cases: [Case<'_>; 8] = [
            (&[], &[], &[]),
            (&[(3, value)], &[], &[]),
            (&[(3, value), (1, value)], &[], &[1]),
            (&[(3, value), (1, value)], &[1], &[]),
            (&[(3, value), (1, value)], &[2], &[]),
            (&[(5, value), (3, value), (1, value)], &[1, 4], &[]),
            (&[(5, value), (3, value), (1, value)], &[4], &[1]),
            (&[(5, tombstone), (3, value)], &[], &[3, 5]),
        ];
        for (rows, snapshots, expected) in cases {
            assert_eq!(unseen(rows, snapshots, true), expected, "{rows:?} {snapshots:?}");
        }
        assert_eq!(unseen(&[(5, tombstone), (3, value)], &[4], true), Vec::<u64>::new());
        assert_eq!(unseen(&[(5, value), (3, value)], &[4], false), [5], "nobody reads the present");
        assert_eq!(unseen(&[(5, value), (3, value)], &[4, 6], false), Vec::<u64>::new());
        assert_eq!(unseen(&[(5, value), (3, value)], &[], false), [3, 5]);
    }
}
