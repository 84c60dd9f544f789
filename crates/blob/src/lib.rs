//! The Blob service. One operation is one function over one transaction or one snapshot: it reads rows, asks
//! `concurrency`, writes rows.
//!
//! Knows no protocol, no engine and no clock. Every operation takes the proof that its caller may do it.
//!
//! **Invariants.** A blob's bytes belong to its content, never to its name. The decision and the write it allows are in
//! one transaction. Deleting a container is one row and one sweep, however much is inside.

pub mod acl;
pub mod block_blob;
pub mod container;
pub mod errors;
mod keys;
pub mod list;
pub mod object;
mod permissions;
mod records;
pub mod sweep;

pub use access::need::PublicAccess;
pub use records::{HttpHeaders, Metadata};
