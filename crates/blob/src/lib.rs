//! The Blob service. One operation is one function over one transaction or one snapshot: it reads rows, asks
//! `concurrency`, writes rows.
//!
//! Knows no protocol, no engine and no clock. Every operation takes the proof that its caller may do it.
//!
//! **Invariants.** A blob's bytes belong to its content, never to its name. The decision and the write it allows are in
//! one transaction. Deleting a container is one row and one sweep, however much is inside.

pub mod acl;
pub mod append_blob;
pub mod audit;
pub mod block_blob;
pub mod block_list;
pub mod blocks;
pub mod container;
pub mod copy;
pub mod errors;
pub mod find;
mod keys;
pub mod lease;
mod lifecycle;
pub mod list;
pub mod object;
pub mod page_blob;
pub mod page_ranges;
mod permissions;
mod preconditions;
mod properties;
pub mod reader;
mod records;
pub mod settings;
mod sharing;
pub mod snapshot;
pub mod sweep;
pub mod tags;
pub mod tier;

pub use access::need::PublicAccess;
pub use preconditions::Preconditions;
pub use properties::{BlobProperties, Written};
pub use records::{BlobKind, ContentMd5, CopyState, CopyStatus, HttpHeaders, Metadata, RehydratePriority, Tags};
