//! The engine's own rows: how far the index's tables reach, and the live bytes of each extent at that point.
//!
//! They are the last rows of every memtable, so a table file and its checkpoint become durable together; the log
//! behind the checkpoint brings the rest.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use store::{
    Direction, StoreError,
    engine::Sequence,
    key::{KeyBuilder, KeyParser},
    record::{Reader, Writer},
    space::Space,
};
use types::Timestamp;

use crate::{index::Index, log::StoredRow};

const META: u8 = 1;
const EXTENT: u8 = 2;
const VERSION: u8 = 1;

/// What a checkpoint says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Meta {
    /// Every commit up to this one is in the tables.
    pub(crate) sequence: Sequence,
    pub(crate) time: Timestamp,
    pub(crate) id_limit: u64,
}

/// The rows of a checkpoint.
pub(crate) fn rows(meta: &Meta, live: &HashMap<u64, i64>, changed: &HashSet<u64>) -> Vec<StoredRow> {
    let value = Writer::new(VERSION).number(meta.sequence.0).number(meta.time.ticks()).number(meta.id_limit).build();
    let mut rows = vec![StoredRow { key: meta_key(), value: Some(value) }];
    rows.extend(changed.iter().map(|extent| StoredRow {
        key: KeyBuilder::new(Space::Engine, EXTENT).number(*extent).build(),
        value: live.get(extent).filter(|bytes| **bytes != 0).map(|bytes| encode_live(*bytes)),
    }));
    rows
}

/// The checkpoint of the index's tables; the default when there is none.
pub(crate) fn read(index: &Index) -> Result<(Meta, HashMap<u64, i64>), StoreError> {
    let bound = index.unused_sequence();
    let meta = match index.get(&meta_key(), bound)? {
        Some(stored) => decode(&stored)?,
        None => Meta::default(),
    };
    let mut live = HashMap::new();
    for row in index.scan(&KeyBuilder::new(Space::Engine, EXTENT).range(), Direction::Ascending, bound) {
        let (key, value) = row?;
        let mut parser = KeyParser::new(&key, Space::Engine, EXTENT)?;
        let extent = parser.number()?;
        parser.end()?;
        live.insert(extent, decode_live(&value)?);
    }
    Ok((meta, live))
}

fn meta_key() -> Bytes {
    KeyBuilder::new(Space::Engine, META).build()
}

pub(crate) fn decode(stored: &[u8]) -> Result<Meta, StoreError> {
    let mut reader = Reader::new("the checkpoint of the index", stored, VERSION)?;
    let (sequence, time, id_limit) = (reader.number()?, reader.number()?, reader.number()?);
    reader.end()?;
    Ok(Meta { sequence: Sequence(sequence), time: Timestamp::from_ticks(time), id_limit })
}

fn encode_live(bytes: i64) -> Bytes {
    Writer::new(VERSION).number(bytes.cast_unsigned()).build()
}

pub(crate) fn decode_live(stored: &[u8]) -> Result<i64, StoreError> {
    let mut reader = Reader::new("the live bytes of an extent", stored, VERSION)?;
    let bytes = reader.number()?.cast_signed();
    reader.end()?;
    Ok(bytes)
}
