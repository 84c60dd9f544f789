//! Blobs as destinations of copies that go on in the background: what is copied and how far it is stands in rows of the
//! Blob service.

use std::sync::Arc;

use blob::{
    Blobs,
    body::BodyWriter,
    copy::{CopyCursor, PendingCopy},
    errors::BlobError,
};
use bytes::Bytes;
use jobs::Failure;
use rest::BoxFuture;
use transfer::{Destination, Look, Pending, Piece, Stop, Unfinished};

/// A copy into a blob, to go on with.
pub(crate) fn pending(blobs: &Blobs, copy: PendingCopy) -> Pending {
    Pending {
        account: copy.account,
        id: copy.copy_id.clone(),
        url: copy.url.clone(),
        etag: copy.etag.clone(),
        copied: copy.copied,
        total: copy.total,
        destination: Box::new(CopiedBlob { blobs: blobs.clone(), copy: Arc::new(copy) }),
    }
}

fn stop(error: BlobError) -> Stop {
    match error {
        BlobError::NoPendingCopyOperation => Stop::Ended,
        other => Stop::Later(other.to_string()),
    }
}

/// A blob that is copied into.
struct CopiedBlob {
    blobs: Blobs,
    copy: Arc<PendingCopy>,
}

impl Destination for CopiedBlob {
    fn piece(&self, length: u64) -> Result<Box<dyn Piece>, Stop> {
        let writer = self.blobs.copied_piece(&self.copy, length).map_err(stop)?;
        Ok(Box::new(CopiedPiece { blobs: self.blobs.clone(), copy: Arc::clone(&self.copy), writer }))
    }

    fn finish(&self) -> BoxFuture<'_, Result<(), Stop>> {
        Box::pin(async { self.blobs.finish_copy(&self.copy).await.map(drop).map_err(stop) })
    }

    fn fail<'a>(&'a self, why: &'a str) -> BoxFuture<'a, Result<(), Stop>> {
        Box::pin(async { self.blobs.fail_copy(&self.copy, why).await.map(drop).map_err(stop) })
    }
}

struct CopiedPiece {
    blobs: Blobs,
    copy: Arc<PendingCopy>,
    writer: BodyWriter,
}

impl Piece for CopiedPiece {
    fn write(&mut self, bytes: Bytes) -> BoxFuture<'_, Result<(), Stop>> {
        Box::pin(async { self.writer.write(bytes).await.map_err(|error| stop(error.into())) })
    }

    fn keep(self: Box<Self>, offset: u64) -> BoxFuture<'static, Result<(), Stop>> {
        Box::pin(async move {
            let piece = self.writer.finish().await.map_err(|error| stop(error.into()))?;
            self.blobs.append_copied(&self.copy, offset, &piece).await.map_err(stop)
        })
    }
}

/// The rows of copies into blobs that have not ended.
pub struct PendingCopies {
    blobs: Blobs,
    cursor: CopyCursor,
}

impl PendingCopies {
    /// All of them, from the first.
    #[must_use]
    pub fn new(blobs: Blobs) -> Self {
        Self { blobs, cursor: CopyCursor::default() }
    }
}

impl Unfinished for PendingCopies {
    fn name(&self) -> &'static str {
        "pending-copies"
    }

    fn look(&mut self, rows: usize) -> BoxFuture<'_, Result<Look, Failure>> {
        Box::pin(async move {
            let found = self.blobs.pending_copies(&mut self.cursor, rows).await?;
            let found = found.into_iter().map(|copy| pending(&self.blobs, copy)).collect();
            Ok(Look { found, more: !self.cursor.is_at_start() })
        })
    }
}
