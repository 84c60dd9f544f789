//! List Ranges: which parts of a file were written, or which differ from a snapshot of the share. Answers are bounded.

use access::{Asked, Operation, need::Need};
use concurrency::rest_open::{RestOperation, RestRequest};
use store::{
    Read,
    content_map::{self, Bounds},
};
use types::Timestamp;

use crate::{
    Files,
    errors::FileError,
    handle_io::Look,
    history::At,
    needs,
    object::Address,
    share::ShareAddress,
    state::File,
    tree::Tree,
    write::{Preconditions, Written},
};

/// Rows that one answer looks at: what did not change, or was cleared, is passed over in pages of answers too.
const EXAMINED: usize = 50_000;
/// Rows that are looked at at a time.
const PIECE: usize = 1024;

/// List Ranges.
#[derive(Clone, Debug)]
pub struct ListRanges<'a> {
    /// The file.
    pub address: Address,
    /// What it is decided by.
    pub preconditions: Preconditions<'a>,
    /// Only what is in `start..end`.
    pub range: Option<(u64, u64)>,
    /// Only what differs from this snapshot of the share.
    pub previous: Option<Timestamp>,
    /// Whether a file that was moved since then is compared with what it was.
    pub follows_renames: bool,
    /// Go on from here.
    pub marker: Option<u64>,
    /// At most so many.
    pub limit: usize,
    /// For clients that know no pages of answers: go on until the end, or until there are that many.
    pub at_once: bool,
}

impl Operation for ListRanges<'_> {
    fn need(&self) -> Need<'_> {
        self.address.need(needs::READ)
    }
}

/// A part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileRange {
    /// Where it begins.
    pub start: u64,
    /// Where it ends, excluded.
    pub end: u64,
    /// False when it was cleared since the snapshot to compare with.
    pub written: bool,
}

/// What List Ranges answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranges {
    /// ETag and Last-Modified.
    pub written: Written,
    /// The length of the file.
    pub length: u64,
    /// The ranges, in order.
    pub ranges: Vec<FileRange>,
    /// Where to go on; `None` at the end.
    pub next: Option<u64>,
}

impl Files {
    /// Lists the ranges of a file.
    ///
    /// # Errors
    /// The file does not exist or is a directory, what is open, a lease or a condition stands against it, there is no such
    /// snapshot to compare with, or the store failed.
    pub async fn list_ranges(&self, asked: &Asked<ListRanges<'_>>) -> Result<Ranges, FileError> {
        let Look { rows, now, share, at, node } = self.look(asked, &asked.address).await?;
        let request: &ListRanges<'_> = asked;
        let open = RestRequest { operation: RestOperation::ListRanges, range: None, ignores_read_only: false };
        let _claim = self.claim_at(at, share.unit, &node, open)?;
        request.preconditions.admit_read(&node, now)?;
        let written = Written::of(&node);
        let Some(file) = &node.file else { return Err(FileError::ResourceTypeMismatch) };
        let (start, end) = match request.range {
            None => (0, file.length),
            Some((start, _)) if start >= file.length => {
                return Err(FileError::RangeBehindTheEnd { length: file.length });
            }
            Some((start, end)) => (start, end.min(file.length)),
        };
        let old = match request.previous {
            Some(time) => Some(previous(&rows, request, node.inode, file, time).await?),
            None => None,
        };
        let mut answer = Ranges { written, length: file.length, ranges: Vec::new(), next: None };
        let mut place = start.max(request.marker.unwrap_or(0)).min(end);
        loop {
            let limit = request.limit.max(1) - answer.ranges.len();
            let (more, next) = match old {
                None => written_ranges(&rows, file, (place, end), limit).await?,
                Some(old) => {
                    let bounds = Bounds { found: limit, examined: EXAMINED };
                    let epochs = (old, file.epoch);
                    let (found, next) = content_map::diff(&rows, file.content, epochs, (place, end), bounds).await?;
                    let range = |difference: content_map::Difference| FileRange {
                        start: difference.start,
                        end: difference.end,
                        written: difference.written,
                    };
                    (found.into_iter().map(range).collect(), next)
                }
            };
            join(&mut answer.ranges, more);
            answer.next = next;
            match next {
                Some(next) if request.at_once && answer.ranges.len() < request.limit => place = next,
                _ => return Ok(answer),
            }
        }
    }
}

/// A range may go on where the one before ended.
fn join(ranges: &mut Vec<FileRange>, more: Vec<FileRange>) {
    for range in more {
        match ranges.last_mut() {
            Some(last) if last.end == range.start && last.written == range.written => last.end = range.end,
            _ => ranges.push(range),
        }
    }
}

/// The epoch of the map that the file had in a snapshot of the share.
async fn previous(
    rows: &impl Read,
    request: &ListRanges<'_>,
    inode: types::Inode,
    file: &File,
    time: Timestamp,
) -> Result<u64, FileError> {
    if request.address.share.snapshot.is_some_and(|snapshot| time > snapshot) {
        return Err(FileError::PreviousSnapshotCannotBeNewer);
    }
    let address = ShareAddress { snapshot: Some(time), ..request.address.share.clone() };
    let (share, at) = match address.readable(rows).await {
        Err(FileError::ShareSnapshotNotFound) => return Err(FileError::PreviousSnapshotNotFound),
        found => found?,
    };
    let tree = Tree::of(&share);
    let old = if request.follows_renames {
        tree.node(rows, inode, at).await?
    } else {
        match tree.find(rows, request.address.components(), at).await {
            Ok(found) => Some(found.node),
            Err(FileError::ResourceNotFound | FileError::ParentNotFound) => None,
            Err(error) => return Err(error),
        }
    };
    debug_assert!(matches!(at, At::Epoch(_)));
    let old = old.and_then(|node| node.file).ok_or(FileError::ResourceNotFound)?;
    if old.content == file.content { Ok(old.epoch) } else { Err(FileError::FileOverwritten) }
}

/// The written ranges, merged where they touch.
pub(crate) async fn written_ranges(
    rows: &impl Read,
    file: &File,
    (start, end): (u64, u64),
    limit: usize,
) -> Result<(Vec<FileRange>, Option<u64>), FileError> {
    let mut ranges: Vec<FileRange> = Vec::new();
    let mut place = start;
    for _ in 0..EXAMINED / PIECE {
        let (range, bounds) = ((place, end), Bounds { found: PIECE, examined: PIECE });
        let (segments, next) = content_map::read_some(rows, file.content, file.epoch, range, bounds).await?;
        for segment in segments {
            let full = ranges.len() == limit;
            match ranges.last_mut() {
                Some(last) if last.end == segment.offset => last.end = segment.end(),
                _ if full => return Ok((ranges, Some(segment.offset))),
                _ => ranges.push(FileRange { start: segment.offset, end: segment.end(), written: true }),
            }
        }
        match next {
            Some(next) => place = next,
            None => return Ok((ranges, None)),
        }
    }
    Ok((ranges, Some(place)))
}
