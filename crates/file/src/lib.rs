//! The File service. It is a value, [`Files`], whose methods are the operations: one operation is one function over one
//! transaction or one view, which authorises, reads rows, asks `concurrency` and the table of opens, writes rows.
//!
//! [`Files`] owns the store with the rows and bytes of the service, and the table of what is open: they meet in one value, so
//! that REST and SMB, which both call its methods, have one truth about every file.
//!
//! Knows no protocol, no engine and no clock.
//!
//! **Invariants.** A file's bytes belong to its content, never to its name or its inode. The decision and the write it allows are in
//! one transaction, and what is open cannot change in between. Deleting a share is one row and one sweep, moving
//! a directory two rows, a snapshot of a share one number, however much is inside.

pub mod audit;
pub mod body;
pub mod changes;
mod content;
pub mod copy;
pub mod create;
pub mod delete;
pub mod download;
mod errors;
pub mod file_lease;
pub mod handle_info;
mod handle_io;
pub mod handle_ranges;
pub mod handle_rename;
pub mod handles;
mod history;
pub mod kept;
mod keys;
pub mod list;
pub mod list_ranges;
mod needs;
pub mod object;
pub mod open;
pub mod opens;
pub mod permission;
pub mod properties;
pub mod ranges;
mod records;
pub mod rename;
pub mod security;
mod service;
pub mod share;
pub mod share_acl;
pub mod share_delete;
pub mod share_lease;
pub mod share_list;
pub mod share_properties;
pub mod share_snapshot;
mod sharing;
mod smb_change;
mod state;
pub mod sweep;
mod tree;
mod unflushed;
mod upcase;
pub mod usage;
mod write;

pub use errors::{About, FileError};
pub use handle_info::ShareSpace;
pub use permission::{PermissionChange, PermissionKey};
pub use security::SecurityDescriptor;
pub use service::Files;
pub use smb_change::{SmbChange, TimeChange};
pub use state::{FileAttributes, SmbProperties};
pub use upcase::{upcase as upcased_name, upcased};
pub use write::{Preconditions, Written};

/// The background work of the service on its rows.
#[must_use]
pub fn jobs(store: &store::Store) -> Vec<Box<dyn jobs::Work>> {
    let mut all = sweep::jobs(store);
    all.push(jobs::on::<copy::CopyMaps>(store));
    all
}
