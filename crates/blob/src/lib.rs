//! The Blob service. It is a value, [`Blobs`], whose methods are the operations: one operation is one function over one
//! transaction or one view, which authorises, reads rows, asks `concurrency`, writes rows.
//!
//! [`Blobs`] owns the store with the rows and bytes of the service and runs every transaction on them: its latches, scopes,
//! views and keys are seen by nobody else. What this process remembers besides rows, the latches that writers of a blob
//! queue on and the contents that downloads hold, is shared by its clones; a process has one.
//!
//! Knows no protocol, no engine and no clock. No operation is done for somebody who only asked for it
//! (`access::Asked`): it is authorised in the same view that does it.
//!
//! **Invariants.** A blob's bytes belong to its content, never to its name. The decision and the write it allows are in
//! one transaction. Deleting a container is one row and one sweep, however much is inside.

pub mod acl;
pub mod append_blob;
pub mod audit;
pub mod block_blob;
pub mod block_list;
pub mod blocks;
pub mod body;
pub mod container;
pub mod copy;
pub mod download;
pub mod errors;
pub mod find;
mod keys;
pub mod lease;
mod lifecycle;
pub mod list;
pub mod object;
pub mod page_blob;
pub mod page_ranges;
pub mod part;
mod permissions;
mod preconditions;
mod properties;
pub mod reader;
mod records;
mod service;
pub mod settings;
mod sharing;
pub mod snapshot;
mod state;
pub mod sweep;
pub mod tags;
pub mod tier;

pub use access::need::PublicAccess;
pub use preconditions::Preconditions;
pub use properties::{BlobProperties, Written};
pub use service::Blobs;
pub use state::{BlobKind, CopyState, CopyStatus, HttpHeaders, Metadata, RehydratePriority, Tags};
pub use types::ContentMd5;

/// The background work of the service.
#[must_use]
pub fn jobs(store: &store::Store) -> Vec<Box<dyn jobs::Work>> {
    sweep::jobs(store)
}

// The tests inside of the crate use what those outside of it do.
#[cfg(test)]
extern crate self as blob;
#[cfg(test)]
#[path = "../tests/support/mod.rs"]
mod support;
