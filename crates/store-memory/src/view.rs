//! Views: the rows at one instant, for as long as the view lives.

use std::sync::Arc;

use bytes::Bytes;
use store::{Answer, Direction, Horizon, Row, Sequence, StoreError, engine::View, key::KeyRange, read::Cursor};

use crate::Shared;

pub(crate) struct MemoryView {
    shared: Arc<Shared>,
    instant: Sequence,
}

impl MemoryView {
    pub(crate) fn open(shared: &Arc<Shared>, horizon: Horizon) -> Self {
        let mut state = shared.state();
        let instant = match horizon {
            Horizon::Sequenced => state.sequenced,
            Horizon::Durable => state.durable,
        };
        *state.views.entry(instant).or_default() += 1;
        Self { shared: Arc::clone(shared), instant }
    }
}

impl Drop for MemoryView {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        if let Some(count) = state.views.get_mut(&self.instant) {
            *count -= 1;
            if *count == 0 {
                state.views.remove(&self.instant);
            }
        }
    }
}

impl View for MemoryView {
    fn instant(&self) -> Sequence {
        self.instant
    }

    fn get<'a>(&'a self, key: &'a [u8]) -> Answer<'a, Result<Option<Bytes>, StoreError>> {
        Answer::now(Ok(self.shared.state().rows.get(key, self.instant)))
    }

    fn scan(&self, range: KeyRange, direction: Direction) -> Box<dyn Cursor> {
        Box::new(MemoryCursor { shared: Arc::clone(&self.shared), instant: self.instant, rest: range, direction })
    }
}

/// A scan: what is left of its range. The scan that uses it keeps the view, so the versions stay.
struct MemoryCursor {
    shared: Arc<Shared>,
    instant: Sequence,
    rest: KeyRange,
    direction: Direction,
}

impl Cursor for MemoryCursor {
    fn next(&mut self) -> Answer<'_, Result<Option<Row>, StoreError>> {
        let row = self.shared.state().rows.first(&self.rest, self.direction, self.instant);
        if let Some(Row { key, .. }) = &row {
            match self.direction {
                Direction::Ascending => self.rest = self.rest.clone().after(key),
                Direction::Descending => self.rest.end = Some(key.clone()),
            }
        }
        Answer::now(Ok(row))
    }
}
