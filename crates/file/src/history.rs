//! Rows that snapshots of a share keep: the present is one row, found by its key alone; what it was before stands beside it,
//! with the epochs between which it held.
//!
//! Taking a snapshot raises the epoch in the share's row and nothing else. A writer that replaces or removes a row which a
//! snapshot still needs copies it into the history first. There is no tombstone: what is neither present nor in the history
//! at an epoch was not there.
//!
//! **Invariant.** Of one key, the spans `since..until` of the present (which has no end) and of the history never overlap.
//! Every record that is kept so begins with its version and with `since`.

use bytes::Bytes;
use store::{
    Direction, Read, StoreError, Txn,
    epoch::Epochs,
    key::{KeyBuilder, KeyRange},
};

/// Which state of a share is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// The one that is written.
    Present,
    /// The one that a snapshot of this epoch keeps.
    Epoch(u64),
}

/// Where a row and its history are.
pub(crate) struct Place {
    pub(crate) present: Bytes,
    pub(crate) history: KeyBuilder,
}

impl Place {
    /// The rows of the history that ended behind an epoch, the earliest first.
    fn ended_behind(&self, epoch: u64) -> KeyRange {
        let start = self.history.clone().number(epoch.saturating_add(1)).build();
        KeyRange { start, ..self.history.clone().range() }
    }
}

/// The row as it is there.
pub(crate) async fn get(rows: &impl Read, place: &Place, at: At) -> Result<Option<Bytes>, StoreError> {
    let present = rows.get(&place.present).await?;
    let At::Epoch(epoch) = at else { return Ok(present) };
    if let Some(row) = present
        && since(&row)? <= epoch
    {
        return Ok(Some(row));
    }
    let kept = rows.scan(place.ended_behind(epoch), Direction::Ascending).next().await?;
    Ok(match kept {
        Some(row) if since(&row.value)? <= epoch => Some(row.value),
        _ => None,
    })
}

/// Replaces the row. Its record says `since` the current epoch.
pub(crate) async fn put(txn: &Txn, place: &Place, epochs: Epochs, record: Bytes) -> Result<(), StoreError> {
    keep(txn, place, epochs).await?;
    txn.put(place.present.clone(), record);
    Ok(())
}

/// Removes the row. True when a snapshot keeps it.
pub(crate) async fn delete(txn: &Txn, place: &Place, epochs: Epochs) -> Result<bool, StoreError> {
    let kept = keep(txn, place, epochs).await?;
    txn.delete(place.present.clone());
    Ok(kept)
}

/// Copies the present row into the history when a snapshot needs it. True when one does.
async fn keep(txn: &Txn, place: &Place, epochs: Epochs) -> Result<bool, StoreError> {
    if epochs.newest_snapshot.is_none() {
        return Ok(false);
    }
    let Some(old) = txn.get(&place.present).await? else { return Ok(false) };
    if !epochs.keeps(since(&old)?) {
        return Ok(false);
    }
    txn.put(place.history.clone().number(epochs.current).build(), old);
    Ok(true)
}

/// The epoch since which a record holds.
pub(crate) fn since(record: &[u8]) -> Result<u64, StoreError> {
    let field = record.get(1..9).and_then(|field| <[u8; 8]>::try_from(field).ok());
    field.map(u64::from_le_bytes).ok_or_else(|| StoreError::corrupt("a record without the epoch since which it holds"))
}

/// Whether a snapshot of one of these epochs, ascending, sees what held in `since..until`.
pub(crate) fn is_seen(snapshots: &[u64], since: u64, until: u64) -> bool {
    let first = snapshots.partition_point(|epoch| *epoch < since);
    snapshots.get(first).is_some_and(|epoch| *epoch < until)
}

#[cfg(test)]
mod tests {
    use super::is_seen;

    #[test]
    fn what_held_between_two_snapshots_is_seen_by_none() {
        let table = [
            (&[][..], 0, 9, false),
            (&[4], 4, 5, true),
            (&[4], 0, 4, false),
            (&[4], 5, 9, false),
            (&[4, 8], 5, 8, false),
            (&[4, 8], 5, 9, true),
        ];
        for (snapshots, since, until, expected) in table {
            assert_eq!(is_seen(snapshots, since, until), expected, "{snapshots:?} {since}..{until}");
        }
    }
}
