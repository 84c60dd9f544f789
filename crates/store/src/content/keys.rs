//! The key types of contents and chunks. Kinds are pinned for ever.

use bytes::Bytes;
use types::{ContentId, Timestamp};

use super::{KeyBuilder, KeyParser, KeyRange, Space};
use crate::{
    chunk::{ChunkRef, ChunkToken},
    error::StoreError,
};

/// A live chunk, by its token. (Kind `0x02` was used before format 2.)
pub(crate) const CHUNK: u8 = 0x01;
/// `(source, user)`: the user needs the source's chunks.
pub(crate) const EDGE: u8 = 0x03;
/// `(user, source)`: the same edge, found from the other end.
pub(crate) const USE: u8 = 0x04;
/// `(source, pin)`: a copy is reading the source.
pub(crate) const PIN: u8 = 0x05;
/// `(deadline, source, pin)`: when a pin ends by itself.
pub(crate) const PIN_DEADLINE: u8 = 0x06;
/// A content that is gone but still used.
pub(crate) const RELEASED: u8 = 0x07;
/// A content that is gone and being swept.
pub(crate) const SWEEP: u8 = 0x08;
/// The guard between users and the sweep of a content. Never a row.
const GUARD: u8 = 0x09;

/// `(owner, chunk)`: a map uses less than half of the chunk.
pub(crate) const SPARSE: u8 = 0x0A;

fn key(kind: u8) -> KeyBuilder {
    KeyBuilder::new(Space::Store, kind)
}

/// The key of a live chunk's row.
#[must_use]
pub fn chunk_key(token: ChunkToken) -> Bytes {
    key(CHUNK).fixed(token.bytes()).build()
}

/// The rows of all live chunks whose token begins with these bytes. For engines, which know what a token says.
#[must_use]
pub fn chunks(token_prefix: &[u8]) -> KeyRange {
    key(CHUNK).fixed(token_prefix).range()
}

/// The token of the chunk that a row is about.
///
/// # Errors
/// The key is not that of a chunk's row.
pub fn parse_chunk_key(bytes: &[u8]) -> Result<ChunkToken, StoreError> {
    let mut parser = KeyParser::new(bytes, Space::Store, CHUNK)?;
    let token = ChunkToken::new(parser.fixed()?);
    parser.end()?;
    Ok(token)
}

pub(crate) fn edge_key(source: ContentId, user: ContentId) -> Bytes {
    key(EDGE).number(source.number()).number(user.number()).build()
}

pub(crate) fn edges_of(source: ContentId) -> KeyRange {
    key(EDGE).number(source.number()).range()
}

pub(crate) fn use_key(user: ContentId, source: ContentId) -> Bytes {
    key(USE).number(user.number()).number(source.number()).build()
}

pub(crate) fn uses_of(user: ContentId) -> KeyRange {
    key(USE).number(user.number()).range()
}

pub(crate) fn parse_use_key(bytes: &[u8]) -> Result<ContentId, StoreError> {
    parse_pair_key(bytes, USE).map(|(_, source)| ContentId::new(source))
}

pub(crate) fn pin_key(source: ContentId, pin: u64) -> Bytes {
    key(PIN).number(source.number()).number(pin).build()
}

pub(crate) fn pins_of(source: ContentId) -> KeyRange {
    key(PIN).number(source.number()).range()
}

pub(crate) fn pin_deadline_key(until: Timestamp, source: ContentId, pin: u64) -> Bytes {
    key(PIN_DEADLINE).number(until.ticks()).number(source.number()).number(pin).build()
}

/// The pins whose deadline is before `now`.
pub(crate) fn pin_deadlines(now: Timestamp) -> KeyRange {
    KeyRange::between(key(PIN_DEADLINE).build(), key(PIN_DEADLINE).number(now.ticks()).build())
}

pub(crate) fn parse_pin_deadline_key(bytes: &[u8]) -> Result<(Timestamp, ContentId, u64), StoreError> {
    let mut parser = KeyParser::new(bytes, Space::Store, PIN_DEADLINE)?;
    let pin = (Timestamp::from_ticks(parser.number()?), ContentId::new(parser.number()?), parser.number()?);
    parser.end()?;
    Ok(pin)
}

pub(crate) fn released_key(content: ContentId) -> Bytes {
    key(RELEASED).number(content.number()).build()
}

pub(crate) fn sweep_key(content: ContentId) -> Bytes {
    key(SWEEP).number(content.number()).build()
}

pub(crate) fn sweeps() -> KeyRange {
    key(SWEEP).range()
}

pub(crate) fn guard(content: ContentId) -> Bytes {
    key(GUARD).number(content.number()).build()
}

pub(crate) fn sparse_key(owner: ContentId, chunk: ChunkRef) -> Bytes {
    key(SPARSE).number(owner.number()).fixed(chunk.token.bytes()).build()
}

pub(crate) fn sparse_chunks() -> KeyRange {
    key(SPARSE).range()
}

pub(crate) fn parse_sparse_key(bytes: &[u8]) -> Result<ContentId, StoreError> {
    let mut parser = KeyParser::new(bytes, Space::Store, SPARSE)?;
    let owner = ContentId::new(parser.number()?);
    parser.fixed::<{ ChunkToken::BYTES }>()?;
    parser.end()?;
    Ok(owner)
}

/// The two numbers of a key that is made of two.
pub(crate) fn parse_pair_key(bytes: &[u8], kind: u8) -> Result<(u64, u64), StoreError> {
    let mut parser = KeyParser::new(bytes, Space::Store, kind)?;
    let pair = (parser.number()?, parser.number()?);
    parser.end()?;
    Ok(pair)
}
