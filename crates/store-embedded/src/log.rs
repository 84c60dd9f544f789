//! The log: the one place where a commit becomes durable.
//!
//! A *frame* is one commit group: written once, synced once. Frames fill zero-filled *segments*, each frame beginning
//! at a sector, so that no write ever touches bytes that were synced before. A segment is dropped, or used again under
//! a new number, once its rows are in the index's tables.

mod frame;
mod record;
mod recover;
mod segment;
mod writer;

#[cfg(test)]
pub(crate) use frame::FrameHeader;
pub(crate) use record::{Record, StoredRow, Value};
pub(crate) use recover::recover;
pub(crate) use segment::{DIRECTORY, SegmentSource};
pub(crate) use writer::{Group, LogWriter, WriteError};
