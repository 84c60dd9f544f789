//! Listings: one page of containers or blobs, from one snapshot, at a cost that does not depend on how many there are.
//!
//! A page looks at a bounded number of rows. When most of them are not to be shown it ends early, with fewer items and a
//! place to go on from.

use access::{Authorized, Operation, acl, need::Need};
use store::{Direction, Read, key::KeyRange};
use types::{Timestamp, UnitId, names::ContainerName};

use crate::{
    container::{self, ContainerProperties},
    errors::BlobError,
    keys,
    object::BlobProperties,
    permissions,
    records::{Blob, Container},
    snapshot,
};

/// Rows that a page looks at beyond those it shows.
const PASSED_OVER: usize = 10_000;

/// List Containers.
#[derive(Clone, Debug)]
pub struct ListContainers {
    /// The account.
    pub account: UnitId,
    /// Only names that begin with this.
    pub prefix: String,
    /// Go on from this name, which is included.
    pub marker: Option<String>,
    /// At most so many.
    pub limit: usize,
}

impl Operation for ListContainers {
    fn need(&self) -> Need<'_> {
        permissions::service(self.account, permissions::LIST_CONTAINERS)
    }
}

/// A page of a listing.
#[derive(Clone, Debug)]
pub struct Page<T, Next = String> {
    /// What is listed, in the order of names.
    pub items: Vec<T>,
    /// Where to go on; `None` at the end.
    pub next: Option<Next>,
}

/// Lists containers.
///
/// # Errors
/// The store failed.
pub async fn containers(
    rows: &impl Read,
    request: &Authorized<ListContainers>,
    now: Timestamp,
) -> Result<Page<(String, ContainerProperties)>, BlobError> {
    let mut range = keys::containers(request.account, &request.prefix);
    if let Some(marker) = &request.marker {
        go_on_from(&mut range, keys::container_marker(request.account, marker));
    }
    let mut items = Vec::new();
    let mut scan = rows.scan(range, Direction::Ascending);
    while let Some(row) = scan.next().await? {
        let (_, name) = keys::parse_container(&row.key)?;
        if items.len() == request.limit {
            return Ok(Page { items, next: Some(name) });
        }
        let acl = acl::read(rows, container::holder(request.account, &name)).await?;
        let properties = ContainerProperties::of(Container::decode(&row.value)?, acl.public_access, now);
        items.push((name, properties));
    }
    Ok(Page { items, next: None })
}

/// Where a listing of blobs goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// This name, which is included.
    pub name: String,
    /// Of it, not the snapshots before this one.
    pub snapshot: Option<Timestamp>,
}

impl Marker {
    /// The place of a name, with all of its snapshots.
    #[must_use]
    pub fn name(name: impl Into<String>) -> Self {
        Self { name: name.into(), snapshot: None }
    }
}

/// List Blobs.
#[derive(Clone, Debug)]
pub struct ListBlobs {
    /// The account.
    pub account: UnitId,
    /// The container.
    pub container: ContainerName,
    /// Only names that begin with this.
    pub prefix: String,
    /// Names that go on past this text after the prefix are listed as one.
    pub delimiter: Option<String>,
    /// Go on from here.
    pub marker: Option<Marker>,
    /// Only names from this one on.
    pub start_from: Option<String>,
    /// At most so many.
    pub limit: usize,
    /// Show snapshots, before their blob, the oldest first. Not together with a delimiter.
    pub snapshots: bool,
    /// Show blobs of uncommitted blocks.
    pub uncommitted: bool,
}

impl ListBlobs {
    /// Everything in a container.
    #[must_use]
    pub const fn new(account: UnitId, container: ContainerName, limit: usize) -> Self {
        Self {
            account,
            container,
            prefix: String::new(),
            delimiter: None,
            marker: None,
            start_from: None,
            limit,
            snapshots: false,
            uncommitted: false,
        }
    }

    fn group_of(&self, name: &str) -> Option<String> {
        let delimiter = self.delimiter.as_deref().filter(|delimiter| !delimiter.is_empty())?;
        let rest = name.get(self.prefix.len()..)?;
        let end = self.prefix.len() + rest.find(delimiter)? + delimiter.len();
        name.get(..end).map(str::to_owned)
    }
}

impl Operation for ListBlobs {
    fn need(&self) -> Need<'_> {
        permissions::container(self.account, &self.container, permissions::LIST_BLOBS)
    }
}

/// One line of a listing.
#[derive(Clone, Debug)]
pub enum Listed {
    /// A blob or a snapshot.
    Blob(String, Box<BlobProperties>),
    /// All blobs whose names begin with this.
    Prefix(String),
}

/// Lists blobs.
///
/// # Errors
/// The container does not exist, or the store failed.
pub async fn blobs(
    rows: &impl Read,
    request: &Authorized<ListBlobs>,
    now: Timestamp,
) -> Result<Page<Listed, Marker>, BlobError> {
    let container = container::find(rows, request.account, &request.container).await?.unit;
    let mut range = keys::blobs(container, &request.prefix);
    for start in request.start_from.iter().chain(request.marker.iter().map(|marker| &marker.name)) {
        go_on_from(&mut range, keys::blob(container, start));
    }
    let mut items = Vec::new();
    let mut passed_over = 0;
    let mut scan = rows.scan(range.clone(), Direction::Ascending);
    while let Some(row) = scan.next().await? {
        let (_, name) = keys::parse_blob(&row.key)?;
        if items.len() >= request.limit || passed_over >= PASSED_OVER {
            return Ok(Page { items, next: Some(Marker::name(name)) });
        }
        let blob = Blob::decode(&row.value)?;
        if blob.is_expired(now) || (blob.extra().uncommitted && !request.uncommitted) {
            passed_over += 1;
            continue;
        }
        if let Some(group) = request.group_of(&name) {
            // Everything below the group is passed at once: its size does not matter.
            let behind = keys::behind_prefix(container, &group);
            items.push(Listed::Prefix(group));
            let Some(behind) = behind else { break };
            range.start = behind;
            scan = rows.scan(range.clone(), Direction::Ascending);
            continue;
        }
        if request.snapshots && blob.extra().snapshots > 0 {
            let from = request.marker.as_ref().filter(|marker| marker.name == name);
            let from = from.and_then(|marker| marker.snapshot).unwrap_or(Timestamp::EPOCH);
            let next = snapshots(rows, (container, &name), &blob, from, request.limit, &mut items, now).await?;
            if let Some(next) = next {
                return Ok(Page { items, next: Some(Marker { name, snapshot: Some(next) }) });
            }
        }
        items.push(Listed::Blob(name, Box::new(BlobProperties::of(blob, None, now))));
    }
    Ok(Page { items, next: None })
}

/// Lists the snapshots of one blob. Returns where to go on when the page is full: there must be room for the blob too.
async fn snapshots(
    rows: &impl Read,
    (container, name): (UnitId, &str),
    base: &Blob,
    from: Timestamp,
    limit: usize,
    items: &mut Vec<Listed>,
    now: Timestamp,
) -> Result<Option<Timestamp>, BlobError> {
    let gone_to = Timestamp::from_ticks(base.extra().snapshots_gone_to.saturating_add(1));
    let mut range = keys::snapshots(container, name);
    go_on_from(&mut range, keys::snapshot(container, name, from.max(base.created).max(gone_to)));
    let mut scan = rows.scan(range, Direction::Ascending);
    let mut last = from;
    while let Some(row) = scan.next().await? {
        let (_, _, time) = keys::parse_snapshot(&row.key)?;
        if items.len() >= limit {
            return Ok(Some(time));
        }
        debug_assert!(snapshot::belongs(base, time));
        let properties = BlobProperties::of(Blob::decode(&row.value)?, Some(time), now);
        items.push(Listed::Blob(name.to_owned(), Box::new(properties)));
        last = time;
    }
    Ok((items.len() >= limit).then(|| Timestamp::from_ticks(last.ticks().saturating_add(1))))
}

fn go_on_from(range: &mut KeyRange, marker: bytes::Bytes) {
    if marker > range.start {
        range.start = marker;
    }
}
