//! Get Blob: all of a blob, or a range of it, as one state of the blob has it. Also the source of an operation From URL that
//! is a blob of this server.
//!
//! **Invariant.** The caller is authorised, the blob found and decided on, and its bytes opened in one view. A blob that
//! changes before its bytes are open is found again, with all of that.

use std::ops::Range;

use access::{Asked, Authorized, Operation, need::Need};
use concurrency::conditions::{IfRange, Resource};

use crate::{
    Blobs,
    copy::{self, SourceBlob},
    errors::BlobError,
    object::{self, ReadBlob},
    properties::BlobProperties,
    reader::{self, BlobReader},
};

/// How often a blob is looked for again because it changed while it was opened.
const ATTEMPTS: usize = 64;
/// After so many of them a blob that is written all the time is found and kept at once.
const UNKEPT: usize = 4;
/// The same for a source, which is never kept.
const SOURCE_ATTEMPTS: usize = 16;

/// Get Blob.
#[derive(Clone, Debug)]
pub struct GetBlob<'a> {
    /// Which blob, and what the read is decided by.
    pub read: ReadBlob<'a>,
    /// The bytes that are wanted; `None` for all.
    pub range: Option<WantedRange>,
    /// `If-Range`: when it does not hold, all bytes are wanted.
    pub if_range: Option<IfRange<'a>>,
}

impl Operation for GetBlob<'_> {
    fn need(&self) -> Need<'_> {
        self.read.need()
    }
}

/// A range of bytes as somebody asks for it, before the length of the blob is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedRange {
    /// The first byte.
    pub start: u64,
    /// The end, excluded; `None` for all that follow.
    pub end: Option<u64>,
}

impl WantedRange {
    fn within(self, length: u64) -> Result<Range<u64>, BlobError> {
        if self.start >= length {
            return Err(BlobError::RangeBehindTheEnd { length });
        }
        Ok(self.start..self.end.map_or(length, |end| end.min(length)))
    }
}

/// A blob that is open for reading.
pub struct Download {
    /// What it says about itself.
    pub properties: BlobProperties,
    /// Where they come from: the same state, however often it is overwritten meanwhile.
    pub reader: BlobReader,
    /// Those that are wanted.
    pub range: Range<u64>,
    /// Whether they are the range that was asked for: `If-Range` may say that all of it is wanted instead.
    pub is_range: bool,
}

impl GetBlob<'_> {
    /// The bytes that are wanted of a blob, and whether they are the range that was asked for.
    fn wanted(&self, found: &BlobProperties) -> Result<(Range<u64>, bool), BlobError> {
        let present = Resource::Present { etag: found.etag, last_modified: found.last_modified };
        let range = self.range.filter(|_| self.if_range.is_none_or(|condition| condition.holds(present)));
        match range {
            Some(range) => Ok((range.within(found.length)?, true)),
            None => Ok((0..found.length, false)),
        }
    }
}

impl Blobs {
    /// Opens a blob, or a snapshot of one, for reading.
    ///
    /// # Errors
    /// It does not exist or is archived, a lease or condition stands against it, the range begins behind its end, it
    /// changes too often, or the store failed.
    pub async fn get_blob(&self, asked: &Asked<GetBlob<'_>>) -> Result<Download, BlobError> {
        for attempt in 0..ATTEMPTS {
            // The snapshot is held until the bytes are open: until then nothing it refers to can go.
            let (rows, now) = self.view();
            let found = if attempt < UNKEPT {
                let allowed: Authorized<'_, GetBlob<'_>> = asked.authorize(&rows).await?;
                object::read_content(&rows, &allowed.read, now).await?
            } else {
                reader::find_and_keep(&self.store, asked).await?
            };
            let (range, is_range) = asked.wanted(&found.properties)?;
            if let Some(reader) = reader::open(&self.store, &rows, &found, range.clone()).await? {
                return Ok(Download { properties: found.properties, reader, range, is_range });
            }
        }
        Err(BlobError::ChangesTooOften)
    }

    /// Opens the source of an operation From URL that is a blob of this server: a range of it, or all, and at most `limit`
    /// bytes.
    ///
    /// # Errors
    /// It may not be read ([`BlobError::SourceDenied`]), does not exist or is archived, a condition is not met, there is
    /// nothing in the range or too much, it changes too often, or the store failed.
    pub async fn open_source(
        &self,
        asked: &Asked<SourceBlob<'_>>,
        range: Option<(u64, u64)>,
        limit: u64,
    ) -> Result<Download, BlobError> {
        for _ in 0..SOURCE_ATTEMPTS {
            let (rows, now) = self.view();
            let found = copy::source(&rows, &copy::authorize_source(&rows, asked).await?, now).await?;
            let length = found.properties.length;
            let (start, end) = range.map_or((0, length), |(start, end)| (start, end.min(length)));
            if start >= end && (range.is_some() || start > end) {
                return Err(BlobError::InvalidRange);
            }
            if end - start > limit {
                return Err(BlobError::TooLarge(limit));
            }
            if let Some(reader) = reader::open(&self.store, &rows, &found, start..end).await? {
                let is_range = range.is_some();
                return Ok(Download { properties: found.properties, reader, range: start..end, is_range });
            }
        }
        Err(BlobError::SourceChangesTooOften)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_end_with_the_blob() {
        let table = [
            ((0, None), 10, Some(0..10)),
            ((3, None), 10, Some(3..10)),
            ((3, Some(5)), 10, Some(3..5)),
            ((3, Some(u64::MAX)), 10, Some(3..10)),
            ((9, Some(10)), 10, Some(9..10)),
            ((10, None), 10, None),
            ((0, None), 0, None),
        ];
        for ((start, end), length, expected) in table {
            assert_eq!(WantedRange { start, end }.within(length).ok(), expected, "{start} {end:?} {length}");
        }
    }
}
