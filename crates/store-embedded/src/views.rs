//! Views of the index at an instant, and which of them are alive.
//!
//! **Invariant.** The watermark is at or below the bound of every living view and of every view yet to come, so what
//! the index drops below it, and the extents deleted behind it, can be seen by nobody.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use store::{
    Answer, Direction, Row, Sequence, StoreError,
    engine::{Horizon, View},
    key::KeyRange,
    read::Cursor,
};

use crate::{index::RawScan, log::Value, shared::Shared};

/// Living views and how far new ones reach. Bounds are exclusive: a view sees sequences below its bound.
#[derive(Default)]
pub(crate) struct Views {
    living: Mutex<BTreeMap<u64, usize>>,
    /// Everything below is durable.
    durable: AtomicU64,
    /// Everything below is sequenced and in the memtable.
    sequenced: AtomicU64,
}

impl Views {
    pub(crate) fn durable(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    pub(crate) fn publish_durable(&self, bound: u64) {
        self.durable.fetch_max(bound, Ordering::AcqRel);
    }

    pub(crate) fn publish_sequenced(&self, bound: u64) {
        self.sequenced.fetch_max(bound, Ordering::AcqRel);
    }

    fn begin(&self, horizon: Horizon) -> u64 {
        let mut living = self.living.lock().unwrap_or_else(PoisonError::into_inner);
        // Read under the lock: a watermark computed before is at or below this, one computed after sees the view.
        let durable = self.durable.load(Ordering::Acquire);
        let bound = match horizon {
            Horizon::Durable => durable,
            Horizon::Sequenced => self.sequenced.load(Ordering::Acquire).max(durable),
        };
        *living.entry(bound).or_default() += 1;
        bound
    }

    fn end(&self, bound: u64) {
        let mut living = self.living.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = living.get_mut(&bound) {
            *count -= 1;
            if *count == 0 {
                living.remove(&bound);
            }
        }
    }

    /// No view, living or to come, has a bound below this.
    pub(crate) fn watermark(&self) -> u64 {
        let living = self.living.lock().unwrap_or_else(PoisonError::into_inner);
        let durable = self.durable.load(Ordering::Acquire);
        living.first_key_value().map_or(durable, |(oldest, _)| durable.min(*oldest))
    }
}

/// A view at one bound.
pub(crate) struct IndexView {
    shared: Arc<Shared>,
    bound: u64,
}

impl IndexView {
    pub(crate) fn new(shared: Arc<Shared>, horizon: Horizon) -> Self {
        let bound = shared.views.begin(horizon);
        Self { shared, bound }
    }
}

impl IndexView {
    /// It sees sequences below this.
    pub(crate) const fn bound(&self) -> u64 {
        self.bound
    }

    fn value(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let stored = self.shared.index.get(key, self.bound)?;
        stored.map(|stored| self.shared.load(&stored, self.bound)).transpose()
    }
}

impl Drop for IndexView {
    fn drop(&mut self) {
        self.shared.views.end(self.bound);
    }
}

impl View for IndexView {
    fn instant(&self) -> Sequence {
        Sequence(self.bound.saturating_sub(1))
    }

    fn get<'a>(&'a self, key: &'a [u8]) -> Answer<'a, Result<Option<Bytes>, StoreError>> {
        match self.value(key) {
            Err(StoreError::Exhausted(_)) => {
                Answer::Later(Box::pin(async move { self.shared.retrying(|| self.value(key)).await }))
            }
            found => Answer::now(found),
        }
    }

    fn scan(&self, range: KeyRange, direction: Direction) -> Box<dyn Cursor> {
        let rows = self.shared.index.scan(&range, direction, self.bound);
        Box::new(IndexCursor { shared: Arc::clone(&self.shared), bound: self.bound, rows })
    }
}

struct IndexCursor {
    shared: Arc<Shared>,
    bound: u64,
    rows: RawScan,
}

impl IndexCursor {
    fn row(&mut self) -> Result<Option<Row>, StoreError> {
        let Some(row) = self.rows.next() else { return Ok(None) };
        let (key, stored) = row?;
        let value = self.shared.load(&stored, self.bound)?;
        Ok(Some(Row { key, value }))
    }
}

impl Cursor for IndexCursor {
    fn next(&mut self) -> Answer<'_, Result<Option<Row>, StoreError>> {
        Answer::now(self.row())
    }
}

impl Shared {
    /// The value a service wrote, fetched from its chunk when it was spilled.
    fn load(&self, stored: &Bytes, bound: u64) -> Result<Bytes, StoreError> {
        match Value::decode(stored)? {
            Value::Inline(bytes) => Ok(bytes),
            Value::Spilled(chunk) => self.extent_of(chunk, bound)?.read_whole(),
        }
    }
}
