//! Block blobs: Put Blob, whole and at once.

use access::{Authorized, Operation, need::Need};
use concurrency::{
    conditions::{Conditions, WriteRule},
    gate::Guards,
    lease::{Lease, LeaseId, LeaseUse},
};
use store::{
    PendingChunk, Read, Txn,
    content::{self, Holdings},
};
use types::{ContentId, ETag, ServiceVersion, Timestamp};

use crate::{
    errors::{About, BlobError},
    keys,
    object::{Address, find, guarded, release},
    permissions,
    records::{Blob, BlobKind, HttpHeaders, Metadata},
};

/// Put Blob of a block blob.
#[derive(Clone, Debug)]
pub struct PutBlob<'a> {
    /// Which.
    pub address: Address,
    /// The service version.
    pub version: ServiceVersion,
    /// The lease id that was sent.
    pub lease_id: Option<LeaseId>,
    /// The conditions.
    pub conditions: Conditions<'a>,
    /// How it is served.
    pub headers: HttpHeaders,
    /// Its metadata.
    pub metadata: Metadata,
}

impl Operation for PutBlob<'_> {
    fn need(&self) -> Need<'_> {
        self.address.need(permissions::PUT_BLOB)
    }
}

/// What a write answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// The new ETag.
    pub etag: ETag,
    /// When it was written.
    pub last_modified: Timestamp,
}

/// Decides early, before a long body is read. What it allows is decided again when the body is there.
///
/// # Errors
/// The container does not exist, a lease or condition stands against it, or the store failed.
pub async fn begin(rows: &impl Read, request: &Authorized<PutBlob<'_>>, now: Timestamp) -> Result<(), BlobError> {
    let (_, blob) = find(rows, &request.address).await?;
    admit(request, blob.as_ref(), now).map(|_| ())
}

/// Puts the blob, with the bytes that were written to a chunk and their MD5.
///
/// # Errors
/// The container does not exist, a lease or condition stands against it, or the store failed.
pub async fn finish(
    txn: &Txn,
    request: &Authorized<PutBlob<'_>>,
    body: &PendingChunk,
    content_md5: Option<[u8; 16]>,
) -> Result<Written, BlobError> {
    request.confirm(txn).await?;
    let (container, old) = find(txn, &request.address).await?;
    let lease = admit(request, old.as_ref(), txn.now())?;
    let content = ContentId::new(txn.fresh_id());
    let chunk = body.reference();
    content::link(txn, body, content);
    let mut headers = request.headers.clone();
    headers.content_md5 = headers.content_md5.or(content_md5);
    let blob = Blob {
        content,
        kind: BlobKind::Block,
        etag: ETag::next(old.as_ref().map(|old| old.etag), txn.now(), content.number()),
        last_modified: txn.now(),
        created: old.as_ref().map_or(txn.now(), |old| old.created),
        length: chunk.length,
        holdings: if chunk.length == 0 { Holdings::Nothing } else { Holdings::Chunk(chunk) },
        headers,
        metadata: request.metadata.clone(),
        lease,
    };
    if let Some(old) = &old {
        release(txn, old).await?;
    }
    txn.put(keys::blob(container, &request.address.blob), blob.encode()?);
    Ok(Written { etag: blob.etag, last_modified: blob.last_modified })
}

fn admit(request: &Authorized<PutBlob<'_>>, old: Option<&Blob>, now: Timestamp) -> Result<Lease, BlobError> {
    let guards = Guards { version: request.version, lease_id: request.lease_id, conditions: request.conditions };
    let lease = guards
        .admit_write(WriteRule::CREATING, LeaseUse::Write, guarded(old), now)
        .map_err(|refusal| BlobError::write(About::Blob, refusal))?;
    match old {
        Some(old) if old.kind != BlobKind::Block => Err(BlobError::InvalidBlobType),
        _ => Ok(lease),
    }
}
