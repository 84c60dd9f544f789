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
    space::Space,
};
use types::Timestamp;

use crate::{index::Index, log::StoredRow};

const META: u8 = 1;
const EXTENT: u8 = 2;
const FORMAT: u8 = 1;

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
    let mut value = vec![FORMAT];
    for field in [meta.sequence.0, meta.time.ticks(), meta.id_limit] {
        value.extend_from_slice(&field.to_le_bytes());
    }
    let mut rows = vec![StoredRow { key: meta_key(), value: Some(Bytes::from(value)) }];
    rows.extend(changed.iter().map(|extent| StoredRow {
        key: KeyBuilder::new(Space::Engine, EXTENT).number(*extent).build(),
        value: live.get(extent).filter(|bytes| **bytes != 0).map(|bytes| Bytes::copy_from_slice(&bytes.to_le_bytes())),
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
        let bytes = value.as_ref().try_into().map_err(|_| malformed())?;
        live.insert(extent, i64::from_le_bytes(bytes));
    }
    Ok((meta, live))
}

fn meta_key() -> Bytes {
    KeyBuilder::new(Space::Engine, META).build()
}

fn decode(stored: &[u8]) -> Result<Meta, StoreError> {
    let (format, fields) = stored.split_first().ok_or_else(malformed)?;
    if *format != FORMAT {
        return Err(malformed());
    }
    let mut numbers = fields.chunks_exact(8).filter_map(|field| field.try_into().ok().map(u64::from_le_bytes));
    let mut next = || numbers.next().ok_or_else(malformed);
    let (sequence, time, id_limit) = (next()?, next()?, next()?);
    Ok(Meta { sequence: Sequence(sequence), time: Timestamp::from_ticks(time), id_limit })
}

fn malformed() -> StoreError {
    StoreError::corrupt("the checkpoint of the index")
}
