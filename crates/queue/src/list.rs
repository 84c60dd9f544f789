//! List Queues: one page, from one snapshot, at a cost that does not depend on how many there are.

use access::{Asked, Operation, need::Need};
use store::{Direction, Read};
use types::UnitId;

use crate::{Queues, errors::QueueError, keys, permissions, queue::Metadata, records};

/// List Queues.
#[derive(Clone, Debug)]
pub struct ListQueues {
    /// The account whose queues are listed.
    pub account: UnitId,
    /// Only names that begin with this.
    pub prefix: String,
    /// Go on from this name, which is included.
    pub marker: Option<String>,
    /// The longest page; a shorter one may have more behind it.
    pub limit: usize,
}

impl Operation for ListQueues {
    fn need(&self) -> Need<'_> {
        permissions::service(self.account, permissions::LIST_QUEUES)
    }
}

/// A page of a listing.
#[derive(Clone, Debug)]
pub struct Page {
    /// Names and metadata, in the order of names.
    pub items: Vec<(String, Metadata)>,
    /// The name to go on from; `None` at the end.
    pub next: Option<String>,
}

impl Queues {
    /// Lists queues.
    ///
    /// # Errors
    /// It is not allowed, or the store failed.
    pub async fn list_queues(&self, asked: &Asked<ListQueues>) -> Result<Page, QueueError> {
        let rows = self.store.snapshot();
        let request = asked.authorize(&rows).await?;
        let mut range = keys::queues(request.account, &request.prefix);
        if let Some(marker) = &request.marker {
            range.start = range.start.max(keys::queue_marker(request.account, marker));
        }
        let mut items = Vec::new();
        let mut scan = rows.scan(range, Direction::Ascending);
        while let Some(row) = scan.next().await? {
            let name = keys::parse_queue(&row.key)?;
            if items.len() == request.limit {
                return Ok(Page { items, next: Some(name) });
            }
            items.push((name, records::decode_queue(&row.value)?.metadata));
        }
        Ok(Page { items, next: None })
    }
}
