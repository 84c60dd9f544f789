//! Listings: one page of containers or blobs, from one snapshot, at a cost that does not depend on how many there are.

use access::{Authorized, Operation, need::Need};
use store::{Direction, Read, Row, StoreError, key::KeyRange};
use types::{Timestamp, UnitId, names::ContainerName};

use crate::{
    container::{self, ContainerProperties},
    errors::BlobError,
    keys,
    object::BlobProperties,
    permissions,
    records::{Blob, Container},
};

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
pub struct Page<T> {
    /// What is listed, in the order of names.
    pub items: Vec<T>,
    /// The name to go on from; `None` at the end.
    pub next: Option<String>,
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
        let name = keys::parse_container(&row.key)?;
        if items.len() == request.limit {
            return Ok(Page { items, next: Some(name) });
        }
        items.push((name, ContainerProperties::of(Container::decode(&row.value)?, now)));
    }
    Ok(Page { items, next: None })
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
    /// Go on from this name, which is included.
    pub marker: Option<String>,
    /// At most so many.
    pub limit: usize,
}

impl Operation for ListBlobs {
    fn need(&self) -> Need<'_> {
        permissions::container(self.account, &self.container, permissions::LIST_BLOBS)
    }
}

/// One line of a listing.
#[derive(Clone, Debug)]
pub enum Listed {
    /// A blob.
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
) -> Result<Page<Listed>, BlobError> {
    let container = container::find(rows, request.account, &request.container).await?.unit;
    let mut range = keys::blobs(container, &request.prefix);
    if let Some(marker) = &request.marker {
        go_on_from(&mut range, keys::blob_marker(container, marker));
    }
    let mut items = Vec::new();
    let mut scan = rows.scan(range.clone(), Direction::Ascending);
    while let Some(row) = scan.next().await? {
        let name = keys::parse_blob(&row.key)?;
        if items.len() == request.limit {
            return Ok(Page { items, next: Some(name) });
        }
        let Some(group) = prefix_of(&name, request) else {
            items.push(listed(name, &row, now)?);
            continue;
        };
        // Everything below the group is passed at once: its size does not matter.
        let Some(behind) = keys::behind_prefix(container, &group) else { break };
        items.push(Listed::Prefix(group));
        range.start = behind;
        scan = rows.scan(range.clone(), Direction::Ascending);
    }
    Ok(Page { items, next: None })
}

fn listed(name: String, row: &Row, now: Timestamp) -> Result<Listed, StoreError> {
    Ok(Listed::Blob(name, Box::new(BlobProperties::of(Blob::decode(&row.value)?, now))))
}

fn prefix_of(name: &str, request: &ListBlobs) -> Option<String> {
    let delimiter = request.delimiter.as_deref().filter(|delimiter| !delimiter.is_empty())?;
    let rest = name.get(request.prefix.len()..)?;
    let end = request.prefix.len() + rest.find(delimiter)? + delimiter.len();
    name.get(..end).map(str::to_owned)
}

fn go_on_from(range: &mut KeyRange, marker: bytes::Bytes) {
    if marker > range.start {
        range.start = marker;
    }
}
