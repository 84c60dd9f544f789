//! Files as destinations of copies that go on in the background: what is copied and how far it is stands in rows of the
//! File service.

use std::sync::Arc;

use bytes::Bytes;
use file::{
    FileError, Files,
    body::BodyWriter,
    copy::{CopyCursor, PendingCopy},
};
use jobs::Failure;
use rest::BoxFuture;
use transfer::{Destination, Look, Pending, Piece, Stop, Unfinished};

/// A copy into a file, to go on with.
pub(crate) fn pending(files: &Files, copy: PendingCopy) -> Pending {
    Pending {
        account: copy.account,
        id: copy.copy_id.clone(),
        url: copy.url.clone(),
        etag: copy.etag.clone(),
        copied: copy.copied,
        total: copy.total,
        destination: Box::new(CopiedFile { files: files.clone(), copy: Arc::new(copy) }),
    }
}

fn stop(error: FileError) -> Stop {
    match error {
        FileError::NoPendingCopyOperation => Stop::Ended,
        other => Stop::Later(other.to_string()),
    }
}

/// A file that is copied into.
struct CopiedFile {
    files: Files,
    copy: Arc<PendingCopy>,
}

impl Destination for CopiedFile {
    fn piece(&self, length: u64) -> Result<Box<dyn Piece>, Stop> {
        let writer = self.files.copied_piece(&self.copy, length).map_err(stop)?;
        Ok(Box::new(CopiedPiece { files: self.files.clone(), copy: Arc::clone(&self.copy), writer }))
    }

    fn finish(&self) -> BoxFuture<'_, Result<(), Stop>> {
        Box::pin(async { self.files.finish_copy(&self.copy).await.map(drop).map_err(stop) })
    }

    fn fail<'a>(&'a self, why: &'a str) -> BoxFuture<'a, Result<(), Stop>> {
        Box::pin(async { self.files.fail_copy(&self.copy, why).await.map(drop).map_err(stop) })
    }
}

struct CopiedPiece {
    files: Files,
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
            self.files.append_copied(&self.copy, offset, &piece).await.map_err(stop)
        })
    }
}

/// The rows of copies into files that have not ended.
pub struct PendingCopies {
    files: Files,
    cursor: CopyCursor,
}

impl PendingCopies {
    /// All of them, from the first.
    #[must_use]
    pub fn new(files: Files) -> Self {
        Self { files, cursor: CopyCursor::default() }
    }
}

impl Unfinished for PendingCopies {
    fn name(&self) -> &'static str {
        "pending-file-copies"
    }

    fn look(&mut self, rows: usize) -> BoxFuture<'_, Result<Look, Failure>> {
        Box::pin(async move {
            let found = self.files.pending_copies(&mut self.cursor, rows).await?;
            let found = found.into_iter().map(|copy| pending(&self.files, copy)).collect();
            Ok(Look { found, more: !self.cursor.is_at_start() })
        })
    }
}
