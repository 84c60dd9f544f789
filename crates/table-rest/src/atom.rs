//! Atom in and out, for versions before 2015-12-11.

mod read;
mod write;

pub use read::{entity, table_name};
pub(crate) use write::{entry, feed, service, table, tables};
