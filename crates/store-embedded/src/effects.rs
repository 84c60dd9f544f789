//! What a commit does beside its rows: bytes that come to live in extents or die there, bytes that the log carries, and the
//! places of moved chunks. Gathered before the commit is sequenced, and part of its record.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use store::{ChunkRef, ChunkToken, StoreError, chunk::LinkedChunk};

use crate::{
    extent::{Attached, InlineChunk, Place, Written, stored_bytes},
    log::{Record, Value},
    moved,
};

#[derive(Default)]
pub(crate) struct Effects {
    rows: Vec<(Bytes, Option<Value>)>,
    live_bytes: BTreeMap<u64, i64>,
    inline: Vec<InlineChunk>,
    /// Keys that the sequencer validates and remembers like those of the commit's own writes.
    pub(crate) also_written: Vec<Bytes>,
    attached: Vec<Arc<Attached>>,
}

/// A chunk that a commit frees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Freed {
    pub(crate) chunk: ChunkRef,
    /// Where it is, unless it is where it was first written.
    pub(crate) moved: Option<Place>,
}

impl Effects {
    pub(crate) fn row(&mut self, key: Bytes, value: Option<Value>) {
        self.rows.push((key, value));
    }

    fn put(&mut self, key: Bytes, value: Bytes) {
        self.row(key, Some(Value::Inline(value)));
    }

    fn count_live(&mut self, extent: u64, change: i64) {
        *self.live_bytes.entry(extent).or_default() += change;
    }

    fn add(&mut self, place: Place, length: u64, crc64: u64, attached: Arc<Attached>) {
        self.count_live(place.extent, signed(length));
        self.inline.extend(InlineChunk::of(place, crc64, &attached));
        self.attached.push(attached);
    }

    /// A chunk becomes live.
    pub(crate) fn link(&mut self, linked: LinkedChunk) -> Result<(), StoreError> {
        let LinkedChunk { chunk, attachment } = linked;
        let foreign = |_| StoreError::corrupt(format!("chunk {chunk} was written by another engine"));
        let attached = attachment.downcast::<Attached>().map_err(foreign)?;
        self.add(Place::of(chunk.token), chunk.length, chunk.crc64, attached);
        Ok(())
    }

    /// A chunk of the engine's own becomes live.
    pub(crate) fn link_own(&mut self, written: &Written) {
        self.add(written.place, written.length, written.crc64, Arc::clone(&written.attached));
    }

    /// A chunk dies.
    pub(crate) fn free(&mut self, Freed { chunk, moved }: Freed) {
        let place = moved.unwrap_or(Place::of(chunk.token));
        self.count_live(place.extent, -signed(chunk.length));
        // Also when there is no row: whoever moves it meanwhile must not come through.
        let key = moved::place_key(chunk.token);
        if moved.is_some() {
            self.row(key.clone(), None);
            self.row(moved::resident_key(place), None);
        }
        self.also_written.push(key);
    }

    /// A live chunk has been copied, and is read from there from now on.
    pub(crate) fn relocate(&mut self, token: ChunkToken, from: Place, to: &Written) {
        self.count_live(from.extent, -signed(to.length));
        self.link_own(to);
        if from != Place::of(token) {
            self.row(moved::resident_key(from), None);
        }
        let key = moved::place_key(token);
        self.put(key.clone(), moved::encode_place(to.place));
        self.put(moved::resident_key(to.place), moved::encode_resident(token));
        self.also_written.push(key);
    }

    /// Bytes that die.
    pub(crate) fn dead_bytes(&self) -> u64 {
        self.live_bytes.values().filter(|change| **change < 0).map(|change| change.unsigned_abs()).sum()
    }

    /// The record of the commit, and what keeps its chunks until it has its place.
    pub(crate) fn record(self) -> Result<(Record, Vec<Arc<Attached>>), StoreError> {
        let live_bytes = self.live_bytes.into_iter().filter(|(_, change)| *change != 0).collect();
        Ok((Record::encode(&self.rows, live_bytes, self.inline)?, self.attached))
    }
}

/// What a chunk of this length takes in an extent, as a change.
fn signed(length: u64) -> i64 {
    i64::try_from(stored_bytes(length)).unwrap_or(i64::MAX)
}
