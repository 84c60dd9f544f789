//! Who owns bytes. A chunk belongs to one content; another content may use it through an edge; a pin keeps a content
//! while a copy across units is under way. A content that is gone is swept once nothing uses it.
//!
//! **Invariants.** A chunk has a row exactly while it is live. The rows of a content that has users are never freed.
//! Releasing and using one content exclude each other by its guard, so no edge can appear under a sweep.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use types::{ContentId, Timestamp};

use crate::{
    chunk::{ChunkRef, PendingChunk},
    error::StoreError,
    key::{KeyBuilder, KeyParser, KeyRange},
    read::{Direction, Read},
    record::{Reader, Writer},
    space::Space,
    txn::Txn,
};

pub(crate) mod keys;
mod record;

pub use keys::{chunk_key, chunks, parse_chunk_key};
pub use record::{ChunkRecord, Holdings, Slices};

pub(crate) use keys::{
    SWEEP, parse_pair_key, parse_pin_deadline_key, parse_sparse_key, pin_deadlines, sparse_chunks, sparse_key,
    sweep_key, sweeps,
};

/// The owner of chunks that an engine keeps for itself, such as spilled values. No content has this id.
pub const ENGINE: ContentId = ContentId::new(0);

/// Links a finished chunk to its owner. The chunk is live once this transaction commits.
pub fn link(txn: &Txn, pending: &PendingChunk, owner: ContentId) {
    let chunk = pending.reference();
    if chunk.length == 0 {
        return; // the empty chunk has no bytes and no row
    }
    let (key, row) = chunk_row(chunk, owner);
    txn.put(key, row);
    txn.note_linked(pending);
}

/// The row that makes a chunk live. For engines that keep chunks of their own.
#[must_use]
pub fn chunk_row(chunk: ChunkRef, owner: ContentId) -> (Bytes, Bytes) {
    (chunk_key(chunk.token), ChunkRecord { owner, chunk, slices: Slices::default() }.encode())
}

/// What the row of a live chunk says; `None` once it was freed, and for the empty chunk, which has no row.
///
/// # Errors
/// The engine could not read, or a row is corrupt.
pub async fn find(rows: &impl Read, chunk: ChunkRef) -> Result<Option<ChunkRecord>, StoreError> {
    if chunk.length == 0 {
        return Ok(None); // its token says nothing: it may be that of another
    }
    let Some(row) = rows.get(&chunk_key(chunk.token)).await? else { return Ok(None) };
    let record = ChunkRecord::decode(&row)?;
    Ok((record.chunk == chunk).then_some(record))
}

/// Frees a chunk if `owner` owns it. False when it was freed before or belongs to another content.
///
/// # Errors
/// The engine could not read, or a row is corrupt.
pub async fn free(txn: &Txn, chunk: ChunkRef, owner: ContentId) -> Result<bool, StoreError> {
    match find(txn, chunk).await? {
        Some(record) if record.owner == owner => {
            drop_row(txn, chunk);
            Ok(true)
        }
        _ => Ok(false),
    }
}

fn drop_row(txn: &Txn, chunk: ChunkRef) {
    txn.delete(chunk_key(chunk.token));
    txn.note_freed(chunk);
}

/// How the rows of a map that refer to one chunk changed in a transaction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SliceChange {
    rows: i64,
    bytes: i64,
    /// Where the chunk would begin in the content.
    offset: u64,
}

impl SliceChange {
    /// A row at `offset` with a slice that begins `skip` bytes into the chunk came (`1`) or went (`-1`).
    pub(crate) fn count(&mut self, sign: i64, offset: u64, skip: u64, length: u64) {
        self.rows += sign;
        self.bytes += sign * i64::try_from(length).unwrap_or(i64::MAX);
        self.offset = offset.saturating_sub(skip);
    }
}

/// Notes that a map's chunk gained or lost slices, in whichever map; the chunk is freed with its last one, and put down
/// for repacking when most of it is unused.
pub(crate) async fn count_slices(txn: &Txn, chunk: ChunkRef, change: SliceChange) -> Result<(), StoreError> {
    let Some(record) = find(txn, chunk).await? else {
        return Err(StoreError::corrupt(format!("a slice refers to chunk {chunk}, which was freed")));
    };
    let before = record.slices;
    let fewer = || StoreError::corrupt(format!("chunk {chunk} has fewer slices than were removed"));
    let slices = Slices {
        rows: before.rows.checked_add_signed(change.rows).ok_or_else(fewer)?,
        bytes: before.bytes.checked_add_signed(change.bytes).ok_or_else(fewer)?,
        offset: if before.rows == 0 { change.offset } else { before.offset },
    };
    if slices.rows == 0 {
        drop_row(txn, chunk);
    } else if slices != before {
        txn.put(chunk_key(chunk.token), ChunkRecord { slices, ..record }.encode());
        if chunk.length >= SPARSE_BYTES && slices.bytes < chunk.length / 2 && before.bytes >= chunk.length / 2 {
            txn.put(keys::sparse_key(record.owner, chunk), Bytes::copy_from_slice(&chunk.encode()));
        }
    }
    Ok(())
}

const PIN_VERSION: u8 = 1;

/// Chunks shorter than this are not worth repacking.
const SPARSE_BYTES: u64 = 64 * 1024;

/// Lets `user` use the chunks of `source` until it is released itself. False when `source` is being swept.
///
/// # Errors
/// The engine could not read.
pub async fn add_edge(txn: &Txn, source: ContentId, user: ContentId) -> Result<bool, StoreError> {
    txn.guard_shared(keys::guard(source));
    if txn.get(&keys::sweep_key(source)).await?.is_some() {
        return Ok(false);
    }
    txn.put(keys::edge_key(source, user), Bytes::new());
    txn.put(keys::use_key(user, source), Bytes::new());
    Ok(true)
}

/// Keeps `source` until the pin is dropped or `until` has passed; the same pin again renews it. False when `source` is being swept.
///
/// # Errors
/// The engine could not read.
pub async fn pin(txn: &Txn, source: ContentId, pin: u64, until: Timestamp) -> Result<bool, StoreError> {
    txn.guard_shared(keys::guard(source));
    if txn.get(&keys::sweep_key(source)).await?.is_some() {
        return Ok(false);
    }
    if let Some(before) = pinned_until(txn, source, pin).await? {
        txn.delete(keys::pin_deadline_key(before, source, pin)); // renewed
    }
    txn.put(keys::pin_key(source, pin), encode_pin(until));
    txn.put(keys::pin_deadline_key(until, source, pin), Bytes::new());
    Ok(true)
}

async fn pinned_until(txn: &Txn, source: ContentId, pin: u64) -> Result<Option<Timestamp>, StoreError> {
    let Some(row) = txn.get(&keys::pin_key(source, pin)).await? else { return Ok(None) };
    decode_pin(&row).map(Some)
}

pub(crate) fn encode_pin(until: Timestamp) -> Bytes {
    Writer::new(PIN_VERSION).number(until.ticks()).build()
}

/// When a pin ends by itself.
pub(crate) fn decode_pin(row: &[u8]) -> Result<Timestamp, StoreError> {
    let mut reader = Reader::new("a pin", row, PIN_VERSION)?;
    let until = Timestamp::from_ticks(reader.number()?);
    reader.end()?;
    Ok(until)
}

/// Drops a pin. Dropping one that expired is no error.
///
/// # Errors
/// The engine could not read, or a row is corrupt.
pub async fn unpin(txn: &Txn, source: ContentId, pin: u64) -> Result<(), StoreError> {
    txn.guard_exclusive(keys::guard(source));
    let Some(until) = pinned_until(txn, source, pin).await? else { return Ok(()) };
    txn.delete(keys::pin_key(source, pin));
    txn.delete(keys::pin_deadline_key(until, source, pin));
    sweep_if_unused(txn, source).await
}

/// Drops a pin whose deadline has passed, unless it was renewed meanwhile.
pub(crate) async fn expire_pin(txn: &Txn, until: Timestamp, source: ContentId, pin: u64) -> Result<(), StoreError> {
    if pinned_until(txn, source, pin).await? == Some(until) { unpin(txn, source, pin).await } else { Ok(()) }
}

/// The content is gone: no name, version or snapshot points to it any more. Its chunks are swept once nothing uses them.
///
/// # Errors
/// The engine could not read.
pub async fn release(txn: &Txn, content: ContentId, holdings: Holdings) -> Result<(), StoreError> {
    txn.guard_exclusive(keys::guard(content));
    txn.put(keys::released_key(content), holdings.encode());
    sweep_if_unused(txn, content).await
}

/// Gives a chunk of `from` to `to`. Right only while `from` is gone and `to` is all that uses it, see [`heir`]. False
/// when `from` does not own it.
///
/// # Errors
/// The engine could not read, or a row is corrupt.
pub async fn adopt(txn: &Txn, chunk: ChunkRef, from: ContentId, to: ContentId) -> Result<bool, StoreError> {
    match find(txn, chunk).await? {
        Some(record) if record.owner == from => {
            txn.put(chunk_key(chunk.token), ChunkRecord { owner: to, ..record }.encode());
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// The one content that still uses `gone`, which no name points to any more; `None` when it is not gone, is being swept,
/// or has several users. No new user can appear while the transaction that asks runs. One that is being swept itself is
/// no heir: its sweep may have passed what it would inherit.
///
/// # Errors
/// The engine could not read, or a row is corrupt.
pub async fn heir(txn: &Txn, gone: ContentId) -> Result<Option<ContentId>, StoreError> {
    txn.guard_exclusive(keys::guard(gone));
    if txn.get(&keys::released_key(gone)).await?.is_none()
        || txn.scan(keys::pins_of(gone), Direction::Ascending).next().await?.is_some()
    {
        return Ok(None);
    }
    let users = txn.scan(keys::edges_of(gone), Direction::Ascending).take(2).await?;
    let [only] = users.as_slice() else { return Ok(None) };
    let heir = ContentId::new(parse_pair_key(&only.key, keys::EDGE)?.1);
    Ok(txn.get(&sweep_key(heir)).await?.is_none().then_some(heir))
}

/// The contents that `user` has edges to, at most `limit`.
///
/// # Errors
/// The engine could not read, or a row is corrupt.
pub async fn sources(rows: &impl Read, user: ContentId, limit: usize) -> Result<Vec<ContentId>, StoreError> {
    sources_of(rows, user, limit).await
}

/// Drops the edge of `user` to `source`, which it does not need any more: by the sweep of `user`, or once `user` has
/// adopted what it needs.
///
/// # Errors
/// The engine could not read, or a row is corrupt.
pub async fn drop_edge(txn: &Txn, source: ContentId, user: ContentId) -> Result<(), StoreError> {
    txn.guard_exclusive(keys::guard(source));
    txn.delete(keys::edge_key(source, user));
    txn.delete(keys::use_key(user, source));
    sweep_if_unused(txn, source).await
}

/// The contents that `user` has edges to, a few at a time.
pub(crate) async fn sources_of(rows: &impl Read, user: ContentId, limit: usize) -> Result<Vec<ContentId>, StoreError> {
    let mut scan = rows.scan(keys::uses_of(user), Direction::Ascending);
    let rows = scan.take(limit).await?;
    rows.iter().map(|row| keys::parse_use_key(&row.key)).collect()
}

/// Turns a released content without users into a sweep. The caller holds the content's guard exclusive.
async fn sweep_if_unused(txn: &Txn, content: ContentId) -> Result<(), StoreError> {
    let released = keys::released_key(content);
    let Some(holdings) = txn.get(&released).await? else { return Ok(()) };
    for users in [keys::edges_of(content), keys::pins_of(content)] {
        if txn.scan(users, Direction::Ascending).next().await?.is_some() {
            return Ok(());
        }
    }
    txn.delete(released);
    if let Holdings::Chunk(chunk) = Holdings::decode(&holdings)? {
        txn.count_unswept(signed(chunk.length));
    }
    txn.put(sweep_key(content), holdings);
    Ok(())
}

/// A length as a change of a count.
pub(crate) fn signed(length: u64) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// The contents that downloads of this process are reading. They end with the process, like the downloads.
///
/// A reader pins, then reads its row again: if the row still names the content, the sweep of that content has not
/// begun and will see the pin.
#[derive(Clone, Debug, Default)]
pub struct Pins(Arc<Mutex<HashMap<ContentId, usize>>>);

impl Pins {
    /// Keeps the content's chunks until the guard is dropped.
    #[must_use]
    pub fn hold(&self, content: ContentId) -> PinGuard {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(content).or_default() += 1;
        PinGuard { pins: self.clone(), content }
    }

    /// True while a download reads the content.
    #[must_use]
    pub fn is_held(&self, content: ContentId) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&content)
    }
}

/// A content that is being read.
#[derive(Debug)]
pub struct PinGuard {
    pins: Pins,
    content: ContentId,
}

impl Drop for PinGuard {
    fn drop(&mut self) {
        let mut held = self.pins.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = held.get_mut(&self.content) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.content);
            }
        }
    }
}
