//! The Queue service. One operation is one function over one transaction or one snapshot: it reads rows, asks
//! `concurrency`, writes rows.
//!
//! Knows no protocol, no engine and no clock. Every operation takes the proof that its caller may do it.
//!
//! **Invariants.** Messages stand in the order in which they become visible, and a message's place rides in its pop
//! receipt: getting, updating and deleting cost the same with ten messages or ten million. Clearing and deleting a queue
//! is one row and one sweep, however much is inside. What is kept in memory ([`Messages`]) only tells where to look;
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
pub mod sweep;
mod tally;

pub use access_policy::{GetQueueAcl, SetQueueAcl, acl, set_acl};
pub use message::Messages;
pub use pop_receipt::{InvalidReceipt, Receipt};
pub use records::Metadata;
