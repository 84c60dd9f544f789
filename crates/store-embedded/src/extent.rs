//! Extents: the files that hold chunks. A chunk is a run of blocks, each with its checksum, so any part of it can be
//! read and verified alone.
//!
//! Small chunks share one extent and become durable with the log, which carries their bytes until the extent is synced
//! at the next checkpoint. Larger chunks are streamed into an extent that their writer has to itself for the while, and
//! are synced before they are linked.

mod aligned;
mod buffers;
mod file;
mod format;
mod small;
mod stream;
mod table;

pub(crate) use file::{Extent, Nothing, PlacedChunk, Source};
pub(crate) use format::{HEADER_BYTES, INLINE_BYTES, Place, block_at, file_name, stored_bytes};
#[cfg(test)]
pub(crate) use format::{header, put_blocks, verify};
pub(crate) use small::{Attached, InlineChunk, Written};
pub(crate) use stream::StreamWriter;
pub(crate) use table::Extents;

/// Where extents live.
pub(crate) const DIRECTORY: &str = "extents";
