//! Listings: one page of containers or blobs, from one snapshot, at a cost that does not depend on how many there are.
//!
//! A page looks at a bounded number of rows, and holds a bounded number of bytes. When most rows are not to be shown, or
//! blobs have much metadata, it ends early, with fewer items and a place to go on from.

use access::{Asked, Authorized, Operation, acl, need::Need};
use store::{Direction, Read, key::KeyRange};
use types::{Timestamp, UnitId, names::ContainerName};

use crate::{
    Blobs,
    container::{self, ContainerProperties},
    errors::BlobError,
    keys,
    object::BlobProperties,
    part::BlobPart,
    permissions, snapshot,
    state::{Blob, Container},
};

/// Rows that a page looks at beyond those it shows.
const PASSED_OVER: usize = 10_000;
/// Bytes of names, metadata, tags and the like after which a page ends before it has as many items as it may.
pub(crate) const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// List Containers.
#[derive(Clone, Debug)]
pub struct ListContainers {
    /// The account whose rows are listed.
    pub account: UnitId,
    /// Only names that begin with this.
    pub prefix: String,
    /// Go on from this name, which is included.
    pub marker: Option<String>,
    /// Those of the service too.
    pub system: bool,
    /// The longest page; a shorter one may have more behind it.
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

/// A page that is being filled.
struct Filling<T> {
    items: Vec<T>,
    bytes: usize,
    limit: usize,
}

impl<T> Filling<T> {
    const fn new(limit: usize) -> Self {
        Self { items: Vec::new(), bytes: 0, limit }
    }

    /// One item there always is, however large.
    const fn is_full(&self) -> bool {
        self.items.len() >= self.limit || self.bytes >= PAGE_BYTES
    }

    fn push(&mut self, item: T, bytes: usize) {
        self.items.push(item);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    fn ending<Next>(self, next: Option<Next>) -> Page<T, Next> {
        Page { items: self.items, next }
    }
}

/// The bytes of pairs of text.
pub(crate) fn bytes_of(pairs: &[(String, String)]) -> usize {
    pairs.iter().map(|(name, value)| name.len() + value.len()).sum()
}

impl Blobs {
    /// Lists containers.
    ///
    /// # Errors
    /// The store failed.
    pub async fn list_containers(
        &self,
        asked: &Asked<ListContainers>,
    ) -> Result<Page<(String, ContainerProperties)>, BlobError> {
        if asked.system {
            self.admit(asked).await?;
            self.ensure_system_containers(asked.account).await?;
        }
        let (rows, now) = self.view();
        containers(&rows, &asked.authorize(&rows).await?, now).await
    }
}

async fn containers(
    rows: &impl Read,
    request: &Authorized<'_, ListContainers>,
    now: Timestamp,
) -> Result<Page<(String, ContainerProperties)>, BlobError> {
    let mut range = keys::containers(request.account, &request.prefix);
    if let Some(marker) = &request.marker {
        go_on_from(&mut range, keys::container_marker(request.account, marker));
    }
    let mut page = Filling::new(request.limit);
    let mut scan = rows.scan(range, Direction::Ascending);
    while let Some(row) = scan.next().await? {
        let (_, name) = keys::parse_container(&row.key)?;
        if !request.system && name == ContainerName::LOGS {
            continue;
        }
        if page.is_full() {
            return Ok(page.ending(Some(name)));
        }
        let acl = acl::read(rows, container::holder(request.account, &name)).await?;
        let properties = ContainerProperties::of(Container::decode(&row.value)?, acl.public_access, now);
        let bytes = name.len() + bytes_of(&properties.metadata);
        page.push((name, properties), bytes);
    }
    Ok(page.ending(None))
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
    /// The account whose rows are listed.
    pub account: UnitId,
    /// The container whose blobs are listed.
    pub container: ContainerName,
    /// Only names that begin with this.
    pub prefix: String,
    /// Names that go on past this text after the prefix are listed as one.
    pub delimiter: Option<String>,
    /// Go on from here.
    pub marker: Option<Marker>,
    /// Only names from this one on.
    pub start_from: Option<String>,
    /// The longest page, blobs and prefixes together; a shorter one may have more behind it.
    pub limit: usize,
    /// Show snapshots, before their blob, the oldest first. Not together with a delimiter.
    pub snapshots: bool,
    /// Show blobs of uncommitted blocks.
    pub uncommitted: bool,
    /// Show metadata.
    pub metadata: bool,
    /// Show tags, which needs the permission to read them.
    pub tags: bool,
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
            metadata: false,
            tags: false,
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
        let rule = permissions::with_tags(permissions::LIST_BLOBS, self.tags);
        permissions::container(self.account, &self.container, rule)
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

impl Blobs {
    /// Lists blobs.
    ///
    /// # Errors
    /// The container does not exist, or the store failed.
    pub async fn list_blobs(&self, asked: &Asked<ListBlobs>) -> Result<Page<Listed, Marker>, BlobError> {
        let (rows, now) = self.view();
        blobs(&rows, &asked.authorize(&rows).await?, now).await
    }
}

async fn blobs(
    rows: &impl Read,
    request: &Authorized<'_, ListBlobs>,
    now: Timestamp,
) -> Result<Page<Listed, Marker>, BlobError> {
    let container = container::find(rows, request.account, &request.container).await?.unit;
    let mut range = keys::blobs(container, &request.prefix);
    for start in request.start_from.iter().chain(request.marker.iter().map(|marker| &marker.name)) {
        go_on_from(&mut range, keys::blob(container, start));
    }
    let mut page = Filling::new(request.limit);
    let mut passed_over = 0;
    let mut scan = rows.scan(range.clone(), Direction::Ascending);
    while let Some(row) = scan.next().await? {
        let (_, name) = keys::parse_blob(&row.key)?;
        if page.is_full() || passed_over >= PASSED_OVER {
            return Ok(page.ending(Some(Marker::name(name))));
        }
        let blob = Blob::decode(&row.value)?;
        let deleted = blob.extra().deleted.is_some();
        if deleted || blob.is_expired(now) || (blob.extra().uncommitted && !request.uncommitted) {
            passed_over += 1;
            continue;
        }
        if let Some(group) = request.group_of(&name) {
            // Everything below the group is passed at once: its size does not matter.
            let behind = keys::behind_prefix(container, &group);
            let bytes = group.len();
            page.push(Listed::Prefix(group), bytes);
            let Some(behind) = behind else { break };
            range.start = behind;
            scan = rows.scan(range.clone(), Direction::Ascending);
            continue;
        }
        if request.snapshots && blob.extra().snapshots > 0 {
            let from = request.marker.as_ref().filter(|marker| marker.name == name);
            let from = from.and_then(|marker| marker.snapshot).unwrap_or(Timestamp::EPOCH);
            let next = snapshots(rows, (container, &name), &blob, from, request, &mut page, now).await?;
            if let Some(next) = next {
                return Ok(page.ending(Some(Marker { name, snapshot: Some(next) })));
            }
        }
        page.push_blob(name, BlobProperties::of(blob, BlobPart::Base, now), request.metadata);
    }
    Ok(page.ending(None))
}

impl Filling<Listed> {
    fn push_blob(&mut self, name: String, mut properties: BlobProperties, metadata: bool) {
        if !metadata {
            properties.metadata.clear();
        }
        let headers = &properties.headers;
        let texts = [
            &headers.content_type,
            &headers.content_encoding,
            &headers.content_language,
            &headers.content_disposition,
            &headers.cache_control,
        ];
        let bytes = name.len()
            + bytes_of(&properties.metadata)
            + bytes_of(&properties.tags)
            + texts.into_iter().flatten().map(String::len).sum::<usize>()
            + properties.copy.as_ref().map_or(0, |copy| copy.source.len());
        self.push(Listed::Blob(name, Box::new(properties)), bytes);
    }
}

/// Lists the snapshots of one blob. Returns where to go on when the page is full: there must be room for the blob too.
async fn snapshots(
    rows: &impl Read,
    (container, name): (UnitId, &str),
    base: &Blob,
    from: Timestamp,
    request: &ListBlobs,
    page: &mut Filling<Listed>,
    now: Timestamp,
) -> Result<Option<Timestamp>, BlobError> {
    let gone_to = Timestamp::from_ticks(base.extra().snapshots_gone_to.ticks().saturating_add(1));
    let mut range = keys::snapshots(container, name);
    go_on_from(&mut range, keys::snapshot(container, name, from.max(base.created).max(gone_to)));
    let mut scan = rows.scan(range, Direction::Ascending);
    let mut last = from;
    while let Some(row) = scan.next().await? {
        let (_, _, time) = keys::parse_snapshot(&row.key)?;
        if page.is_full() {
            return Ok(Some(time));
        }
        debug_assert!(snapshot::belongs(base, time));
        last = time;
        let snapshot = Blob::decode(&row.value)?;
        if snapshot.exists(now) {
            let properties = BlobProperties::of(snapshot, BlobPart::Snapshot(time), now);
            page.push_blob(name.to_owned(), properties, request.metadata);
        }
    }
    Ok(page.is_full().then(|| Timestamp::from_ticks(last.ticks().saturating_add(1))))
}

fn go_on_from(range: &mut KeyRange, marker: bytes::Bytes) {
    if marker > range.start {
        range.start = marker;
    }
}
