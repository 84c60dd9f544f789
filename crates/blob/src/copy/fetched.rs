//! The end of a copy whose bytes were fetched before it: Copy Blob From URL and Put Blob From URL of a source elsewhere.

use access::Authorized;
use store::{
    PendingChunk, Txn,
    content::{self, Holdings},
};
use types::ContentId;

use super::{Copied, CopiedCrc64, CopyBlob, CopyMode, ForeignSource, admit};
use crate::{
    block_blob::{Made, NewBlob, store_new},
    errors::BlobError,
    object::find_to_replace,
    properties::Written,
    state::{BlobKind, CopyStatus, Metadata},
};

/// Makes a block blob of bytes that were fetched and written to a chunk, at once.
pub(super) async fn put_fetched(
    txn: &Txn,
    request: &Authorized<'_, CopyBlob<'_>>,
    source: &ForeignSource,
    body: &PendingChunk,
    content_md5: Option<[u8; 16]>,
) -> Result<Copied, BlobError> {
    if request.copy_tags && !request.tags.is_empty() {
        return Err(BlobError::BothTags);
    }
    request.mode.kind(source.kind)?;
    let (container, old) = find_to_replace(txn, &request.address).await?;
    let lease = admit(request, BlobKind::Block, old.as_ref(), txn.now())?;
    let content = ContentId::new(txn.fresh_id());
    let chunk = body.reference();
    content::link(txn, body, content);
    let holdings = if chunk.length == 0 { Holdings::Nothing } else { Holdings::Chunk(chunk) };
    let mut headers = request.headers.as_ref().unwrap_or(&source.headers).clone();
    headers.content_md5 = headers.content_md5.or(content_md5.map(Into::into));
    let metadata = match (&request.metadata, request.mode) {
        (Some(metadata), _) => metadata.clone(),
        (None, CopyMode::PutBlobFromUrl) => Metadata::new(),
        (None, _) => source.metadata.clone(),
    };
    let tags = if request.copy_tags { &source.tags } else { &request.tags }.clone();
    let new = NewBlob { headers, metadata, tags, tier: request.tier, expiry: None };
    let made = Made { kind: BlobKind::Block, content, length: chunk.length, holdings, lease };
    let mut blob = made.blob(txn, &new, old.as_ref())?;
    if request.mode != CopyMode::PutBlobFromUrl {
        blob.extra_mut().copy = Some(request.state(CopyStatus::Success, chunk.length, txn.now()));
    }
    store_new(txn, request.address.place(container), &blob, old.as_ref()).await?;
    let copy_id = request.copy_id.clone();
    let crc64 = CopiedCrc64::Known(chunk.crc64);
    Ok(Copied { written: Written::of(&blob), copy_id, status: CopyStatus::Success, crc64 })
}
