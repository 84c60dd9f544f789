//! Where chunks are that the collector has moved: the engine's own rows, which nobody else sees.
//!
//! A token is the place where its chunk was first written. Most chunks stay there, and have no row here. One that was moved
//! has two: its present place by its token, for readers, and its token by its present place, for the collector, which asks
//! what lives in an extent.
//!
//! **Invariant.** Every move and every free writes down the first of these keys for the sequencer, also where there is no row
//! to delete: of a move and a free at the same time one runs again. Rows of contents and services are not touched by a move.

use std::{
    collections::HashSet,
    sync::{PoisonError, RwLock},
};

use bytes::Bytes;
use store::{
    ChunkToken, Direction, StoreError,
    content::{self, ChunkRecord},
    key::{KeyBuilder, KeyParser, KeyRange},
    record::{Reader, Writer},
    space::Space,
};

use crate::{
    extent::Place,
    index::{Index, RawScan},
    log::Value,
    shared::Shared,
};

/// The present place of a moved chunk, by its token.
const PLACE: u8 = 3;
/// The token of a moved chunk, by its present place.
const RESIDENT: u8 = 4;
const VERSION: u8 = 1;

pub(crate) fn place_key(token: ChunkToken) -> Bytes {
    KeyBuilder::new(Space::Engine, PLACE).fixed(token.bytes()).build()
}

pub(crate) fn resident_key(place: Place) -> Bytes {
    KeyBuilder::new(Space::Engine, RESIDENT).fixed(place.token().bytes()).build()
}

pub(crate) fn encode_place(place: Place) -> Bytes {
    Writer::new(VERSION).raw(place.token().bytes()).build()
}

pub(crate) fn encode_resident(token: ChunkToken) -> Bytes {
    Writer::new(VERSION).raw(token.bytes()).build()
}

/// All rows of this module: what a backup copies.
pub(crate) fn all() -> [KeyRange; 2] {
    [PLACE, RESIDENT].map(|kind| KeyBuilder::new(Space::Engine, kind).range())
}

/// A row of this module: a token and a place, whichever of them is the key.
pub(crate) fn parse(key: &[u8], stored: &Bytes) -> Result<(ChunkToken, Place), StoreError> {
    let value = decode(inline(stored)?)?;
    if let Ok(token) = parse_key(key, PLACE) {
        return Ok((token, Place::of(value)));
    }
    Ok((value, Place::of(parse_key(key, RESIDENT)?)))
}

fn parse_key(key: &[u8], kind: u8) -> Result<ChunkToken, StoreError> {
    let mut parser = KeyParser::new(key, Space::Engine, kind)?;
    let token = ChunkToken::new(parser.fixed()?);
    parser.end()?;
    Ok(token)
}

fn decode(record: Bytes) -> Result<ChunkToken, StoreError> {
    let mut reader = Reader::new("the place of a moved chunk", &record, VERSION)?;
    let token = ChunkToken::new(reader.take()?);
    reader.end()?;
    Ok(token)
}

fn inline(stored: &Bytes) -> Result<Bytes, StoreError> {
    match Value::decode(stored)? {
        Value::Inline(row) => Ok(row),
        Value::Spilled(_) => Err(StoreError::corrupt("the row of a chunk was spilled")),
    }
}

/// The extents that something was moved out of: only chunks that were first written to one of them can have a row here, so
/// freeing and reading all others costs no look-up. Eight bytes for each extent that was ever emptied and of which something
/// lives, or that was emptied since the start.
#[derive(Debug, Default)]
pub(crate) struct EmptiedExtents(RwLock<HashSet<u64>>);

impl EmptiedExtents {
    /// Those that the index knows. One look-up for each, however much was moved.
    pub(crate) fn read(index: &Index) -> Result<Self, StoreError> {
        let (mut found, mut next) = (HashSet::new(), Some(0));
        let end = KeyBuilder::new(Space::Engine, PLACE + 1).build();
        while let Some(extent) = next.take() {
            let rest = KeyRange::between(place_key(Place { extent, offset: 0 }.token()), end.clone());
            if let Some(row) = index.scan(&rest, Direction::Ascending, index.unused_sequence()).next() {
                let extent = Place::of(parse_key(&row?.0, PLACE)?).extent;
                found.insert(extent);
                next = extent.checked_add(1);
            }
        }
        Ok(Self(RwLock::new(found)))
    }

    /// Something is about to be moved out of an extent. Before the move is sequenced.
    pub(crate) fn note(&self, extent: u64) {
        if !self.contains(extent) {
            self.0.write().unwrap_or_else(PoisonError::into_inner).insert(extent);
        }
    }

    fn contains(&self, extent: u64) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).contains(&extent)
    }
}

impl Shared {
    /// Where a chunk was moved to, as seen below `bound`; `None` when it is where it was first written, or was freed.
    pub(crate) fn moved_to(&self, token: ChunkToken, bound: u64) -> Result<Option<Place>, StoreError> {
        if !self.emptied.contains(Place::of(token).extent) {
            return Ok(None);
        }
        let stored = self.index.get(&place_key(token), bound)?;
        stored.map(|stored| inline(&stored).and_then(decode).map(Place::of)).transpose()
    }

    /// Where a live chunk is, as seen below `bound`.
    pub(crate) fn place_of(&self, token: ChunkToken, bound: u64) -> Result<Place, StoreError> {
        Ok(self.moved_to(token, bound)?.unwrap_or(Place::of(token)))
    }

    /// The row of a live chunk, as seen below `bound`.
    pub(crate) fn record_of(&self, token: ChunkToken, bound: u64) -> Result<Option<ChunkRecord>, StoreError> {
        let stored = self.index.get(&content::chunk_key(token), bound)?;
        stored.map(|stored| ChunkRecord::decode(&inline(&stored)?)).transpose()
    }

    /// The live chunks in an extent, as seen below `bound`: those that were first written there and not moved away, and those
    /// that were moved there.
    pub(crate) fn residents(&self, extent: u64, bound: u64) -> Residents<'_> {
        let prefix = extent.to_be_bytes();
        let range = |kind| KeyBuilder::new(Space::Engine, kind).fixed(&prefix).range();
        Residents {
            shared: self,
            bound,
            first_written: self.raw_rows(&content::chunks(&prefix), bound),
            moved_away: self.emptied.contains(extent).then(|| self.raw_rows(&range(PLACE), bound)),
            last_moved_away: None,
            moved_here: self.raw_rows(&range(RESIDENT), bound),
        }
    }
}

/// Walks over the live chunks in an extent.
pub(crate) struct Residents<'a> {
    shared: &'a Shared,
    bound: u64,
    first_written: RawScan,
    /// In the order of tokens, like those that were first written there.
    moved_away: Option<RawScan>,
    last_moved_away: Option<ChunkToken>,
    moved_here: RawScan,
}

impl Residents<'_> {
    fn was_moved_away(&mut self, token: ChunkToken) -> Result<bool, StoreError> {
        while let Some(moved_away) = &mut self.moved_away
            && self.last_moved_away.is_none_or(|last| last < token)
        {
            match moved_away.next() {
                Some(row) => self.last_moved_away = Some(parse_key(&row?.0, PLACE)?),
                None => self.moved_away = None,
            }
        }
        Ok(self.last_moved_away == Some(token))
    }

    fn try_next(&mut self) -> Result<Option<(ChunkRecord, Place)>, StoreError> {
        while let Some(row) = self.first_written.next() {
            let (key, stored) = row?;
            let token = content::parse_chunk_key(&key)?;
            if !self.was_moved_away(token)? {
                return Ok(Some((ChunkRecord::decode(&inline(&stored)?)?, Place::of(token))));
            }
        }
        let Some(row) = self.moved_here.next() else { return Ok(None) };
        let (key, stored) = row?;
        let (token, place) = parse(&key, &stored)?;
        match self.shared.record_of(token, self.bound)? {
            Some(record) => Ok(Some((record, place))),
            None => Err(StoreError::corrupt(format!("chunk {token} was moved to {place}, and it has no row"))),
        }
    }
}

impl Iterator for Residents<'_> {
    type Item = Result<(ChunkRecord, Place), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.try_next().transpose()
    }
}
