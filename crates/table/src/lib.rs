//! The Table service. One operation is one method of [`Tables`] over one transaction or one snapshot: it asks `access`
//! whether the caller may, reads rows, asks `concurrency`, writes rows.
//!
//! Knows no protocol, no engine and no clock. [`Tables`] owns the store: whoever calls it sees neither rows nor
//! transactions.
//!
//! **Invariants.** One entity is one row, keyed by its table's unit, its PartitionKey and its RowKey in the order of the
//! service. A change and the condition that allows it are in one transaction; so are all changes of a batch. A page of a
//! query is one snapshot and costs a bounded amount of work. Deleting a table is a few rows and one sweep, however much
//! is inside.

pub mod acl;
pub mod audit;
pub mod batch;
pub mod datetime;
pub mod entity;
pub mod errors;
pub mod guid;
mod key_order;
mod keys;
mod permissions;
pub mod properties;
pub mod query;
mod records;
mod service;
pub mod sweep;
pub mod table;
pub mod value;

pub use datetime::DateTime;
pub use entity::Entity;
pub use guid::Guid;
pub use keys::EntityKey;
pub use records::PropertyIter;
pub use service::Tables;
pub use value::{EdmType, Value, ValueRef};

/// The background work of the service.
#[must_use]
pub fn jobs(store: &store::Store) -> Vec<Box<dyn jobs::Work>> {
    vec![jobs::on::<sweep::SweepTables>(store)]
}
