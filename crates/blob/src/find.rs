//! Find Blobs by Tags, in an account or in a container: one index range, and every other comparison on what is found.
//!
//! Rows of containers that were deleted are passed over; their sweep removes them.

use std::{collections::HashMap, ops::Bound};

use access::{Asked, Authorized, Operation, need::Need};
use bytes::Bytes;
use concurrency::tag_condition::{Comparison, Operator, Subject, TagExpression};
use store::{Direction, Read, key::KeyRange};
use types::{Timestamp, UnitId, names::ContainerName};

use crate::{
    Blobs, container,
    errors::BlobError,
    keys,
    list::{PAGE_BYTES, Page, bytes_of},
    permissions,
    records::UnitRecord,
    state::{Blob, Tags},
};

/// Index rows that a page looks at.
const EXAMINED: usize = 20_000;

/// Find Blobs by Tags.
#[derive(Clone, Debug)]
pub struct FindBlobs<'a> {
    /// The account whose rows are listed.
    pub account: UnitId,
    /// Only in this container.
    pub container: Option<ContainerName>,
    /// What the tags must be.
    pub expression: TagExpression<'a>,
    /// Go on behind this place, which the page before named.
    pub marker: Option<Bytes>,
    /// The longest page; a shorter one may have more behind it.
    pub limit: usize,
}

impl Operation for FindBlobs<'_> {
    fn need(&self) -> Need<'_> {
        match &self.container {
            None => permissions::service(self.account, permissions::FIND_BLOBS.account_only()),
            Some(container) => permissions::container(self.account, container, permissions::FIND_BLOBS),
        }
    }
}

/// A blob that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaggedBlob {
    /// The name of the container that it is in.
    pub container: String,
    /// Its name in that container.
    pub name: String,
    /// Those of its tags that the expression names.
    pub tags: Tags,
}

impl Blobs {
    /// Finds blobs. The order is that of the tag's values, then of containers and names.
    ///
    /// # Errors
    /// The container does not exist, or the store failed.
    pub async fn find_blobs_by_tags(&self, asked: &Asked<FindBlobs<'_>>) -> Result<Page<TaggedBlob, Bytes>, BlobError> {
        let (rows, now) = self.view();
        blobs(&rows, &asked.authorize(&rows).await?, now).await
    }
}

async fn blobs(
    rows: &impl Read,
    request: &Authorized<'_, FindBlobs<'_>>,
    now: Timestamp,
) -> Result<Page<TaggedBlob, Bytes>, BlobError> {
    let scope = match &request.container {
        None => None,
        Some(name) => Some(container::find(rows, request.account, name).await?.unit),
    };
    let Some(mut range) = range(request, scope) else { return Ok(Page { items: Vec::new(), next: None }) };
    if let Some(marker) = &request.marker {
        range = range.after(marker);
    }
    let mut containers: HashMap<UnitId, Option<String>> = HashMap::new();
    let mut items = Vec::new();
    let mut scan = rows.scan(range, Direction::Ascending);
    let (mut seen, mut bytes, mut last) = (0, 0, None);
    while let Some(row) = scan.next().await? {
        // Also when nothing matched for long: a page has an end in rows that were looked at, and the marker goes on.
        if items.len() >= request.limit || seen >= EXAMINED || bytes >= PAGE_BYTES {
            return Ok(Page { items, next: last });
        }
        seen += 1;
        let key = keys::parse_tag(&row.key)?;
        last = Some(row.key);
        if scope.is_some_and(|scope| scope != key.container) {
            continue;
        }
        if let std::collections::hash_map::Entry::Vacant(entry) = containers.entry(key.container) {
            let row = rows.get(&keys::unit(key.container)).await?;
            entry.insert(row.map(|row| UnitRecord::decode(&row)).transpose()?.map(|unit| unit.name));
        }
        // Its container was deleted, and the sweep has not come to this row yet.
        let Some(Some(container)) = containers.get(&key.container) else { continue };
        let Some(row) = rows.get(&keys::blob(key.container, &key.blob)).await? else { continue };
        let blob = Blob::decode(&row)?;
        if blob.exists(now) && request.expression.holds(Some(container), |tag| blob.tag(tag)) {
            let tags = named(&request.expression, &blob);
            bytes += container.len() + key.blob.len() + bytes_of(&tags);
            items.push(TaggedBlob { container: container.clone(), name: key.blob, tags });
        }
    }
    Ok(Page { items, next: None })
}

fn named(expression: &TagExpression<'_>, blob: &Blob) -> Tags {
    let is_named = |tag: &str| expression.comparisons().any(|comparison| comparison.subject == Subject::Tag(tag));
    blob.extra().tags.iter().filter(|(tag, _)| is_named(tag)).cloned().collect()
}

/// The part of the index to look at: that of a tag which must have one value, or else of the first one. `None` when no
/// tag is named: no blob is found by its container alone.
fn range(request: &FindBlobs<'_>, scope: Option<UnitId>) -> Option<KeyRange> {
    let tags = || {
        request.expression.comparisons().filter_map(|comparison| match comparison.subject {
            Subject::Tag(tag) => Some((tag, comparison)),
            Subject::Container => None,
        })
    };
    let account = request.account;
    if let Some((tag, equal)) = tags().find(|(_, comparison)| comparison.operator == Operator::Equal) {
        let rows = keys::tag_value(account, tag, equal.value);
        return Some(match scope {
            Some(container) => rows.number(container.number()).range(),
            None => rows.range(),
        });
    }
    let (tag, _) = tags().next()?;
    let mut range = keys::tag_rows(account, tag);
    for (_, comparison) in tags().filter(|(other, _)| *other == tag) {
        narrow(&mut range, account, tag, comparison);
    }
    Some(range)
}

fn narrow(range: &mut KeyRange, account: UnitId, tag: &str, comparison: &Comparison<'_>) {
    let rows = keys::tag_value(account, tag, comparison.value).range();
    let bound = match comparison.operator {
        Operator::GreaterOrEqual => Bound::Included(rows.start),
        Operator::Greater => rows.end.map_or(Bound::Unbounded, Bound::Included),
        Operator::Less => Bound::Excluded(rows.start),
        Operator::LessOrEqual => rows.end.map_or(Bound::Unbounded, Bound::Excluded),
        Operator::Equal | Operator::NotEqual => Bound::Unbounded,
    };
    match bound {
        Bound::Included(start) => range.start = start.max(range.start.clone()),
        Bound::Excluded(end) => range.end = Some(range.end.take().map_or(end.clone(), |old| old.min(end))),
        Bound::Unbounded => {}
    }
}
