//! Who needs a content besides the base blob: its snapshots, and copies of its map that are under way.
//!
//! **Invariants.** A content is released when neither the base blob nor a sharer is left, in the transaction that takes
//! the last one. All who share a content stand in rows under its id; to begin takes the content's guard shared, to end
//! takes it exclusive.

use bytes::Bytes;
use store::{
    Direction, Read, StoreError, Txn,
    content::{self, Holdings},
};
use types::ContentId;

use crate::{
    errors::BlobError,
    keys,
    lifecycle::Place,
    records::{AdoptionRecord, PruneRecord},
    state::Blob,
};

/// From now on `who` needs the content as it is at `epoch`.
pub(crate) fn begin(txn: &Txn, content: ContentId, epoch: u64, who: u64) {
    txn.guard_shared(keys::sharer_guard(content));
    txn.put(keys::sharer(content, epoch, who), Bytes::new());
}

/// The base blob lets go of its content.
pub(crate) async fn base_goes(txn: &Txn, place: Place<'_>, blob: &Blob) -> Result<(), BlobError> {
    if blob.extra().shared {
        txn.guard_exclusive(keys::sharer_guard(blob.content));
        if newest(txn, blob.content).await?.is_some() {
            return match blob.holdings {
                Holdings::Map => ask_to_prune(txn, place, blob.content),
                _ => Ok(()),
            };
        }
    }
    match blob.holdings {
        Holdings::Nothing => Ok(()),
        holdings => Ok(content::release(txn, blob.content, holdings).await?),
    }
}

/// A snapshot lets go of its content. `base` is the blob's present row, if it has one.
pub(crate) async fn snapshot_goes(
    txn: &Txn,
    place: Place<'_>,
    snapshot: &Blob,
    who: u64,
    base: Option<&mut Blob>,
) -> Result<(), BlobError> {
    let (content, epoch) = (snapshot.content, snapshot.extra().epoch);
    txn.guard_exclusive(keys::sharer_guard(content));
    txn.delete(keys::sharer(content, epoch, who));
    let left = newest(txn, content).await?;
    match base {
        Some(base) if base.content == content => match snapshot.holdings {
            // Writers go on keeping its epoch: a download may still read it. The prune knows, and tells them when to stop.
            Holdings::Map => ask_to_prune(txn, place, content),
            _ => {
                base.extra_mut().shared = left.is_some();
                Ok(())
            }
        },
        base => gone(txn, place, (content, snapshot.holdings), left, base.as_deref()).await,
    }
}

/// A copy of a map has ended, or was given up.
pub(crate) async fn copy_ends(
    txn: &Txn,
    source: Place<'_>,
    content: ContentId,
    epoch: u64,
    who: u64,
) -> Result<(), BlobError> {
    txn.guard_exclusive(keys::sharer_guard(content));
    txn.delete(keys::sharer(content, epoch, who));
    let left = newest(txn, content).await?;
    let base = txn.get(&source.key()).await?.map(|row| Blob::decode(&row)).transpose()?;
    match base {
        Some(base) if base.content == content => ask_to_prune(txn, source, content),
        _ => gone(txn, source, (content, Holdings::Map), left, None).await,
    }
}

/// The content belongs to no base blob any more.
async fn gone(
    txn: &Txn,
    place: Place<'_>,
    (content, holdings): (ContentId, Holdings),
    left: Option<u64>,
    base: Option<&Blob>,
) -> Result<(), BlobError> {
    match (left, holdings) {
        (Some(_), Holdings::Map) => ask_to_prune(txn, place, content),
        (Some(_), _) | (None, Holdings::Nothing) => Ok(()),
        (None, holdings) => {
            content::release(txn, content, holdings).await?;
            match base {
                // The base may still use some of its blocks: it takes them over, and the rest becomes free.
                Some(base) => ask_to_adopt(txn, base.content, content, base.holdings),
                None => Ok(()),
            }
        }
    }
}

/// Puts a map down for pruning.
pub(crate) fn ask_to_prune(txn: &Txn, place: Place<'_>, content: ContentId) -> Result<(), BlobError> {
    let record = PruneRecord { container: place.container.number(), blob: place.name.to_owned(), from: 0 };
    txn.put(keys::prune(content), record.encode());
    Ok(())
}

/// Puts down that `user` takes over what it needs of `source`.
pub(crate) fn ask_to_adopt(txn: &Txn, user: ContentId, source: ContentId, holdings: Holdings) -> Result<(), BlobError> {
    if let Holdings::Manifest { manifest, .. } = holdings {
        txn.put(keys::adoption(user, source), AdoptionRecord::new(manifest, 0).encode());
    }
    Ok(())
}

/// The newest epoch that a sharer needs.
async fn newest(rows: &impl Read, content: ContentId) -> Result<Option<u64>, StoreError> {
    let row = rows.scan(keys::sharers(content), Direction::Descending).next().await?;
    row.map(|row| keys::parse_sharer(&row.key).map(|(_, epoch, _)| epoch)).transpose()
}

/// All epochs that sharers need, ascending, each once.
pub(crate) async fn epochs(rows: &impl Read, content: ContentId) -> Result<Vec<u64>, StoreError> {
    let mut epochs = Vec::new();
    let mut scan = rows.scan(keys::sharers(content), Direction::Ascending);
    while let Some(row) = scan.next().await? {
        let (_, epoch, _) = keys::parse_sharer(&row.key)?;
        if epochs.last() != Some(&epoch) {
            epochs.push(epoch);
        }
    }
    Ok(epochs)
}
