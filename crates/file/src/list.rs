//! List Directories and Files: one page of a directory, from one view, at a cost that does not depend on how much is in it.
//!
//! Entries stand in the order of their upcased names. The page of a snapshot is put together from what is present and from
//! what is kept of what is not: both stand in that order.

use std::collections::{BTreeSet, HashMap};

use access::{Asked, Operation, need::Need};
use store::{
    Direction, Read, Row, Scan, StoreError,
    key::{KeyBuilder, KeyRange},
};
use types::{Inode, Timestamp};

use crate::{
    Files,
    errors::FileError,
    history::{self, At},
    keys, needs,
    object::{Address, NodeProperties},
    opens::FileKey,
    state::{Entry, Node, Share},
    tree::Tree,
    unflushed::Overlay,
};

/// Rows that a page looks at beyond those it shows.
const PASSED_OVER: usize = 10_000;
/// Bytes of names after which a page ends before it has as many entries as it may.
const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// List Directories and Files.
#[derive(Clone, Debug)]
pub struct ListEntries {
    /// The directory that is listed.
    pub address: Address,
    /// Only names that begin with this, without their case.
    pub prefix: String,
    /// Go on from this place, which is included.
    pub marker: Option<String>,
    /// At most so many.
    pub limit: usize,
}

impl Operation for ListEntries {
    fn need(&self) -> Need<'_> {
        self.address.need(needs::LIST_FILES)
    }
}

/// A page of a directory.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The directory itself.
    pub directory: NodeProperties,
    /// What is in it, in the order of the upcased names.
    pub entries: Vec<Listed>,
    /// Where to go on; `None` at the end.
    pub next: Option<String>,
}

/// A directory or file in a listing.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its name with its case.
    pub name: String,
    /// What it says about itself.
    pub properties: NodeProperties,
}

/// Which entries of a directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page<'a> {
    pub(crate) prefix: &'a str,
    pub(crate) marker: Option<&'a str>,
    pub(crate) limit: usize,
}

impl Files {
    /// Lists a directory. What is going to be deleted is not shown.
    ///
    /// # Errors
    /// There is no such directory, or the store failed.
    pub async fn list_entries(&self, asked: &Asked<ListEntries>) -> Result<Listing, FileError> {
        let written = self.unflushed.lengths();
        let (rows, now) = self.view();
        let request = asked.authorize(&rows).await?;
        let (share, at, found) = request.address.read(&rows).await?;
        if !found.node.is_directory() {
            return Err(FileError::ResourceNotFound);
        }
        let page = Page { prefix: &request.prefix, marker: request.marker.as_deref(), limit: request.limit };
        self.page(&rows, &share, at, found.node, page, (now, &written)).await
    }

    pub(crate) async fn page(
        &self,
        rows: &impl Read,
        share: &Share,
        at: At,
        found: Node,
        page: Page<'_>,
        (now, written): (Timestamp, &HashMap<FileKey, Overlay>),
    ) -> Result<Listing, FileError> {
        let tree = Tree::of(share);
        let directory = found.inode;
        let hidden = match at {
            At::Present => self.opens.hidden(share.unit, directory),
            At::Epoch(_) => BTreeSet::new(),
        };
        let mut names = Names::new(rows, &tree, directory, at, page);
        let (mut entries, mut bytes, mut passed) = (Vec::new(), 0, 0);
        let next = loop {
            let Some((key, entry)) = names.next().await? else { break None };
            if entries.len() >= page.limit || bytes >= PAGE_BYTES || passed >= PASSED_OVER {
                break Some(key);
            }
            let Some(entry) = entry.filter(|entry| !hidden.contains(&entry.inode)) else {
                passed += 1;
                continue;
            };
            let node = tree.named(rows, &entry, at).await?;
            bytes += entry.name.len();
            let mut properties = NodeProperties::of(node, now);
            if at == At::Present {
                let file = FileKey { share: share.unit, inode: entry.inode };
                written.get(&file).into_iter().for_each(|overlay| properties.lay_over(overlay));
            }
            entries.push(Listed { name: entry.name, properties });
        };
        Ok(Listing { directory: NodeProperties::of(found, now), entries, next })
    }
}

/// The names of a directory in order, each with what it means in the state that is looked at; nothing for a name that means
/// nothing there.
struct Names {
    at: At,
    present: Ahead,
    /// Only what a snapshot looks at.
    kept: Option<Ahead>,
}

/// A scan of which the next row is known.
struct Ahead {
    scan: Scan,
    next: Option<Row>,
    begun: bool,
}

impl Ahead {
    fn new(rows: &impl Read, range: KeyRange) -> Self {
        Self { scan: rows.scan(range, Direction::Ascending), next: None, begun: false }
    }

    async fn peek(&mut self) -> Result<Option<&Row>, StoreError> {
        if !self.begun {
            self.begun = true;
            self.next = self.scan.next().await?;
        }
        Ok(self.next.as_ref())
    }

    async fn take(&mut self) -> Result<Option<Row>, StoreError> {
        self.peek().await?;
        let row = self.next.take();
        self.next = self.scan.next().await?;
        Ok(row)
    }
}

impl Names {
    fn new(rows: &impl Read, tree: &Tree, directory: Inode, at: At, page: Page<'_>) -> Self {
        let prefix = tree.comparison.key(page.prefix);
        let range = |kind: u8| {
            let mut range = keys::entries(kind, tree.share, directory, &prefix);
            if let Some(marker) = page.marker {
                let place: KeyBuilder = keys::entry(kind, tree.share, directory, marker);
                let start = place.build();
                if start > range.start {
                    range.start = start;
                }
            }
            range
        };
        let kept = match at {
            At::Present => None,
            At::Epoch(_) => Some(Ahead::new(rows, range(keys::ENTRY_HISTORY))),
        };
        Self { at, present: Ahead::new(rows, range(keys::ENTRY)), kept }
    }

    async fn next(&mut self) -> Result<Option<(String, Option<Entry>)>, StoreError> {
        let present = match self.present.peek().await? {
            Some(row) => Some(keys::parse_entry(&row.key)?.2),
            None => None,
        };
        let (At::Epoch(epoch), Some(history)) = (self.at, &mut self.kept) else {
            let row = self.present.take().await?;
            return match (present, row) {
                (Some(name), Some(row)) => Ok(Some((name, Some(Entry::decode(&row.value)?)))),
                _ => Ok(None),
            };
        };
        let kept = match history.peek().await? {
            Some(row) => Some(keys::parse_entry_history(&row.key)?.2),
            None => None,
        };
        let name = match (present, kept) {
            (None, None) => return Ok(None),
            (Some(name), None) | (None, Some(name)) => name,
            (Some(present), Some(kept)) => present.min(kept),
        };
        let mut found = None;
        // What the name means now, if it did so already.
        while let Some(row) = self.present.peek().await? {
            if keys::parse_entry(&row.key)?.2 != name {
                break;
            }
            if history::since(&row.value)? <= epoch {
                found = Some(Entry::decode(&row.value)?);
            }
            self.present.take().await?;
        }
        // What it meant before: the one span that the epoch is in.
        while let Some(row) = history.peek().await? {
            let (_, _, kept, until) = keys::parse_entry_history(&row.key)?;
            if kept != name {
                break;
            }
            if history::since(&row.value)? <= epoch && epoch < until {
                found = Some(Entry::decode(&row.value)?);
            }
            history.take().await?;
        }
        Ok(Some((name, found)))
    }
}
