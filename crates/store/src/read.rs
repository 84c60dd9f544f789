//! Reading rows: the trait that snapshots and transactions share, so that one function serves both.

use std::{collections::VecDeque, sync::Arc};

use bytes::Bytes;

use crate::{
    answer::Answer,
    engine::{Sequence, View},
    error::StoreError,
    key::KeyRange,
    space::Space,
};

/// A key and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The key, with its space and kind.
    pub key: Bytes,
    /// The value as it was written, also when the engine keeps it elsewhere.
    pub value: Bytes,
}

/// The order of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Smallest key first.
    Ascending,
    /// Largest key first.
    Descending,
}

/// An engine's scan in progress.
pub trait Cursor: Send {
    /// The next row, `None` at the end.
    fn next(&mut self) -> Answer<'_, Result<Option<Row>, StoreError>>;
}

/// Reading rows at one instant.
pub trait Read: Send + Sync {
    /// The value of a row. In a transaction the key joins the read set.
    fn get<'a>(&'a self, key: &'a [u8]) -> Answer<'a, Result<Option<Bytes>, StoreError>>;

    /// The same for what need not be so any more when the transaction commits: it does not join the read set.
    fn peek<'a>(&'a self, key: &'a [u8]) -> Answer<'a, Result<Option<Bytes>, StoreError>> {
        self.get(key)
    }

    /// The rows of a range. In a transaction a scan does not join the read set: guard what rests on absence.
    fn scan(&self, range: KeyRange, direction: Direction) -> Scan;
}

/// A stable view of durable state. Read a page and drop it: while it lives, old rows cannot be removed.
#[derive(Clone)]
pub struct Snapshot(Arc<dyn View>);

impl Snapshot {
    /// A view as the functions of this crate read it; for engines, which have no [`crate::Store`] to ask.
    #[must_use]
    pub fn new(view: Box<dyn View>) -> Self {
        Self(Arc::from(view))
    }

    /// The last commit this snapshot includes.
    #[must_use]
    pub fn instant(&self) -> Sequence {
        self.0.instant()
    }
}

impl Read for Snapshot {
    fn get<'a>(&'a self, key: &'a [u8]) -> Answer<'a, Result<Option<Bytes>, StoreError>> {
        if is_out_of_reach(key) { Answer::now(Ok(None)) } else { self.0.get(key) }
    }

    fn scan(&self, range: KeyRange, direction: Direction) -> Scan {
        Scan::new(&self.0, range, direction, VecDeque::new())
    }
}

/// True for keys that no row of the contract has: those of the engine itself, and the empty one.
pub(crate) fn is_out_of_reach(key: &[u8]) -> bool {
    key.first().is_none_or(|&space| space == Space::Engine.byte())
}

/// The range without the rows of the engine, which come first.
fn within_reach(mut range: KeyRange) -> KeyRange {
    if is_out_of_reach(&range.start) {
        const FIRST: &[u8] = &[Space::Store.byte()];
        range.start = Bytes::from_static(FIRST);
    }
    range
}

/// A scan in progress, with the transaction's own writes laid over the view.
pub struct Scan {
    cursor: Option<Box<dyn Cursor>>,
    ahead: Option<Row>,
    overlay: VecDeque<(Bytes, Option<Bytes>)>,
    direction: Direction,
    /// Keeps the view alive while its cursor is used.
    _view: Arc<dyn View>,
}

impl Scan {
    /// `overlay` holds the buffered writes of the range in the order of the scan.
    pub(crate) fn new(
        view: &Arc<dyn View>,
        range: KeyRange,
        direction: Direction,
        overlay: VecDeque<(Bytes, Option<Bytes>)>,
    ) -> Self {
        let range = within_reach(range);
        let cursor = (!range.is_empty()).then(|| view.scan(range, direction));
        Self { cursor, ahead: None, overlay, direction, _view: Arc::clone(view) }
    }

    /// The next row, `None` at the end.
    ///
    /// # Errors
    /// The engine could not read.
    pub async fn next(&mut self) -> Result<Option<Row>, StoreError> {
        loop {
            if self.ahead.is_none()
                && let Some(cursor) = &mut self.cursor
            {
                self.ahead = cursor.next().await?;
                if self.ahead.is_none() {
                    self.cursor = None;
                }
            }
            match self.take_first() {
                None => return Ok(None),
                Some((key, Some(value))) => return Ok(Some(Row { key, value })),
                Some((_, None)) => {} // deleted by the transaction itself
            }
        }
    }

    fn take_first(&mut self) -> Option<(Bytes, Option<Bytes>)> {
        let (Some(ahead), Some((buffered, _))) = (&self.ahead, self.overlay.front()) else {
            let stored = self.ahead.take().map(|row| (row.key, Some(row.value)));
            return stored.or_else(|| self.overlay.pop_front());
        };
        let order = match self.direction {
            Direction::Ascending => buffered.cmp(&ahead.key),
            Direction::Descending => ahead.key.cmp(buffered),
        };
        if order.is_eq() {
            self.ahead = None; // the buffered write replaces it
        }
        if order.is_le() {
            return self.overlay.pop_front();
        }
        self.ahead.take().map(|row| (row.key, Some(row.value)))
    }

    /// Up to `limit` rows.
    ///
    /// # Errors
    /// The engine could not read.
    pub async fn take(&mut self, limit: usize) -> Result<Vec<Row>, StoreError> {
        let mut rows = Vec::new();
        while rows.len() < limit
            && let Some(row) = self.next().await?
        {
            rows.push(row);
        }
        Ok(rows)
    }
}
