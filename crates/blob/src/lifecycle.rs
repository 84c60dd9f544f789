//! The end of a blob: what goes with its row, whether it was deleted, replaced, expired or swept with its container.
//!
//! **Invariant.** Everything that a blob's row points to is let go of here and nowhere else, so nothing is forgotten.

use bytes::Bytes;
use store::{Txn, content, content::Holdings};
use types::{ContentId, UnitId};

use crate::{
    blocks,
    errors::BlobError,
    keys,
    records::{CopyJob, CopySource},
    sharing, snapshot,
    state::Blob,
    tags,
};

/// Where a blob is, when its container is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) account: UnitId,
    pub(crate) container: UnitId,
    pub(crate) name: &'a str,
}

impl Place<'_> {
    pub(crate) fn key(&self) -> Bytes {
        keys::blob(self.container, self.name)
    }

    /// Writes the blob's row.
    pub(crate) fn put(&self, txn: &Txn, blob: &Blob) {
        txn.put(self.key(), blob.encode());
    }
}

/// Deletes a blob and all of its snapshots.
pub(crate) async fn delete(txn: &Txn, place: Place<'_>, blob: &Blob) -> Result<(), BlobError> {
    replace(txn, place, blob).await?;
    txn.delete(place.key());
    if blob.extra().snapshots > 0 {
        snapshot::remove_orphans(txn, place).await?;
    }
    Ok(())
}

/// The blob's row is about to be overwritten or deleted: lets go of what it points to. Snapshots stay.
pub(crate) async fn replace(txn: &Txn, place: Place<'_>, blob: &Blob) -> Result<(), BlobError> {
    let Some(extra) = blob.extra.as_deref() else {
        // The plain blob: its bytes, and nothing else.
        return match blob.holdings {
            Holdings::Nothing => Ok(()),
            holdings => Ok(content::release(txn, blob.content, holdings).await?),
        };
    };
    tags::unindex(txn, place, &extra.tags);
    if let Some(expiry) = extra.expiry {
        txn.delete(keys::expiry(expiry, place.container, place.name));
    }
    if let Some(upload) = blob.upload() {
        blocks::drop_upload(txn, upload, None).await?;
    }
    if extra.untrimmed {
        txn.delete(keys::trim(place.container, place.name));
    }
    if blob.is_copying() {
        end_copy(txn, place).await?;
    }
    sharing::base_goes(txn, place, blob).await
}

/// A copy that did not come to its end: what it gathered goes.
pub(crate) async fn end_copy(txn: &Txn, place: Place<'_>) -> Result<(), BlobError> {
    use store::Read as _;

    let key = keys::copy(place.container, place.name);
    let Some(row) = txn.get(&key).await? else { return Ok(()) };
    let job = CopyJob::decode(&row)?;
    txn.delete(key);
    content::release(txn, ContentId::new(job.staged), Holdings::Map).await?;
    if let CopySource::Map { container, blob, content, epoch, .. } = &job.source {
        let source = Place { account: UnitId::new(job.account), container: UnitId::new(*container), name: blob };
        sharing::copy_ends(txn, source, ContentId::new(*content), *epoch, job.staged).await?;
    }
    Ok(())
}
