//! The Queue service. One operation is one method of [`Queues`] over one transaction or one snapshot: it asks `access`
//! whether the caller may, reads rows, asks `concurrency`, writes rows.
//!
//! Knows no protocol, no engine and no clock. [`Queues`] owns the store, the latches and the memory that go with it:
//! whoever calls it sees neither rows nor transactions.
//!
//! **Invariants.** Messages stand in the order in which they become visible, and a message's place stands in its pop
//! receipt: getting, updating and deleting cost the same with ten messages or ten million. Clearing and deleting a queue
//! is one row and one sweep, however much is inside. What is kept in memory only tells where to look;
//! rows decide.

mod access_policy;
pub mod audit;
pub mod errors;
pub mod expiry;
mod heads;
mod keys;
pub mod list;
pub mod message;
mod permissions;
mod pop_receipt;
pub mod queue;
mod records;
mod service;
pub mod sweep;
mod tally;

pub use access_policy::{GetQueueAcl, SetQueueAcl};
pub use pop_receipt::{InvalidReceipt, Receipt};
pub use queue::Metadata;
pub use service::Queues;

/// The background work of the service.
#[must_use]
pub fn jobs(store: &store::Store) -> Vec<Box<dyn jobs::Work>> {
    vec![jobs::on::<sweep::SweepQueues>(store), jobs::on::<expiry::ExpireMessages>(store)]
}
