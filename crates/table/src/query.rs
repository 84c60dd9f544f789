//! Query Entities: one page, from one snapshot, at a bounded cost.
//!
//! `parse` reads `$filter`, `plan` turns its conditions on PartitionKey and RowKey into ranges of rows, `eval` decides
//! for each row of these. Invariant: a page either ends its ranges or says exactly where the next one goes on, so no
//! entity that did not change is lost or repeated.

mod eval;
mod parse;
pub mod plan;
pub(crate) mod range;

use access::{Asked, Authorized, Operation, need::Need};
use bytes::Bytes;
use concurrency::table_etag::{EntityOperation, IfMatch};
use store::{Direction, Read};
use types::limits::QUERY_PAGE_MAX;

pub use self::{
    eval::{Filter, Operator},
    parse::{FilterError, parse},
};
use crate::{
    Entity, EntityKey, Tables,
    errors::TableError,
    key_order, keys, permissions,
    table::{TableAddress, find},
};

/// Rows that one page looks at, so that a filter that matches little ends too.
pub const SCANNED_MAX: usize = 10_000;
/// Comparisons that looking at a row includes: a row counts for more when the filter has more of them.
const COMPARISONS_A_ROW: usize = 16;
/// Bytes of the rows that one page looks at.
const SCANNED_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Bytes of the rows that one page answers with, the last one over.
const PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Query Entities.
#[derive(Clone, Debug)]
pub struct QueryEntities {
    /// The table whose entities are queried.
    pub table: TableAddress,
    /// What holds for the entities that are answered; `None` for all.
    pub filter: Option<Filter>,
    /// The longest page (`$top`); a shorter one may have more behind it.
    pub top: usize,
    /// Where to go on.
    pub next: Option<Continuation>,
}

/// Where a query goes on: at this entity, or at the first of the partition behind this key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Continuation {
    /// PartitionKey
    pub partition: String,
    /// RowKey; without one, the first of the partition.
    pub row: Option<String>,
}

impl From<EntityKey> for Continuation {
    fn from(key: EntityKey) -> Self {
        Self { partition: key.partition().to_owned(), row: Some(key.row().to_owned()) }
    }
}

impl Operation for QueryEntities {
    fn need(&self) -> Need<'_> {
        let rule = permissions::entity_rule(EntityOperation::Query, IfMatch::Absent);
        permissions::entities(self.table.account(), self.table.folded(), rule)
    }
}

/// A page of entities.
#[derive(Clone, Debug)]
pub struct EntityPage {
    /// The entities, by PartitionKey and RowKey.
    pub entities: Vec<Entity>,
    /// Where to go on; `None` at the end. A page may be empty and still have one.
    pub next: Option<Continuation>,
}

impl Tables {
    /// Queries entities: one page.
    ///
    /// # Errors
    /// It is not allowed, the table does not exist, or the store failed.
    pub async fn query_entities(&self, asked: &Asked<QueryEntities>) -> Result<EntityPage, TableError> {
        let rows = self.store.snapshot();
        entities(&rows, &asked.authorize(&rows).await?).await
    }
}

async fn entities(rows: &impl Read, request: &Authorized<'_, QueryEntities>) -> Result<EntityPage, TableError> {
    let table = find(rows, &request.table).await?.unit;
    if request.top == 0 {
        // Nothing is asked for, so there is nothing to go on with either.
        return Ok(EntityPage { entities: Vec::new(), next: None });
    }
    let top = request.top.min(QUERY_PAGE_MAX);
    let from = request.next.as_ref().map(|next| {
        let builder = keys::entities(table).bytes(&key_order::encode(&next.partition));
        let row = next.row.as_ref();
        row.map_or_else(|| builder.clone().build(), |row| builder.clone().bytes(&key_order::encode(row)).build())
    });
    let ranges = plan::entities(table, request.filter.as_ref());
    let ranges = range::authorised(request).clamp(table, ranges);
    let comparisons = request.filter.as_ref().map_or(0, Filter::comparisons);
    let row_cost = comparisons.div_ceil(COMPARISONS_A_ROW).max(1);
    let mut page = Page { entities: Vec::new(), bytes: 0, scanned: 0, scanned_bytes: 0 };
    for range in plan::from(ranges, from) {
        let mut scan = rows.scan(range, Direction::Ascending);
        while let Some(row) = scan.next().await? {
            if page.is_full(top) {
                return page.goes_on(&row.key);
            }
            let entity = Entity::decode(row)?;
            page.scanned += row_cost;
            page.scanned_bytes += entity.row_bytes();
            let matches = match &request.filter {
                Some(filter) => filter.matches(&|name: &str| entity.get(name))?,
                None => true,
            };
            if matches {
                page.bytes += entity.row_bytes();
                page.entities.push(entity);
            }
        }
    }
    Ok(EntityPage { entities: page.entities, next: None })
}

/// A page while it grows, and what it cost so far.
struct Page {
    entities: Vec<Entity>,
    bytes: usize,
    scanned: usize,
    scanned_bytes: usize,
}

impl Page {
    const fn is_full(&self, top: usize) -> bool {
        self.entities.len() >= top
            || self.bytes >= PAGE_BYTES_MAX
            || self.scanned >= SCANNED_MAX
            || self.scanned_bytes >= SCANNED_BYTES_MAX
    }

    fn goes_on(self, key: &Bytes) -> Result<EntityPage, TableError> {
        let (_, next) = keys::parse_entity(key)?;
        Ok(EntityPage { entities: self.entities, next: Some(next.into()) })
    }
}
