//! Bytes at their places, of which the newest counts.
//!
//! **Invariant.** Pieces do not overlap, and none is empty.

use std::collections::BTreeMap;

use bytes::Bytes;

/// Bytes by their places.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pieces {
    by_start: BTreeMap<u64, Bytes>,
    bytes: u64,
}

fn length(bytes: &Bytes) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// The part of a piece at `start` that is in `from..to`.
fn cut(start: u64, bytes: &Bytes, from: u64, to: u64) -> Bytes {
    let index = |place: u64| usize::try_from(place.saturating_sub(start)).unwrap_or(usize::MAX).min(bytes.len());
    bytes.slice(index(from)..index(to).max(index(from)))
}

/// What is left of a piece: a copy, unless most of it is, so that a small rest does not hold a large body.
fn rest(whole: &Bytes, part: Bytes) -> Bytes {
    if part.len().saturating_mul(2) < whole.len() { Bytes::copy_from_slice(&part) } else { part }
}

impl Pieces {
    pub(crate) fn is_empty(&self) -> bool {
        self.by_start.is_empty()
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn count(&self) -> usize {
        self.by_start.len()
    }

    /// The end of the last one.
    pub(crate) fn end(&self) -> u64 {
        self.by_start.last_key_value().map_or(0, |(start, bytes)| start.saturating_add(length(bytes)))
    }

    /// Puts bytes over what is there.
    pub(crate) fn insert(&mut self, start: u64, bytes: Bytes) {
        if bytes.is_empty() {
            return;
        }
        let end = start.saturating_add(length(&bytes));
        let before = self.by_start.range(..start).next_back().map(|(at, _)| *at);
        let over: Vec<u64> = before.into_iter().chain(self.by_start.range(start..end).map(|(at, _)| *at)).collect();
        for at in over {
            let Some(old) = self.by_start.get(&at) else { continue };
            let old_end = at.saturating_add(length(old));
            if old_end <= start {
                continue;
            }
            let (left, right) = (rest(old, cut(at, old, at, start)), rest(old, cut(at, old, end, old_end)));
            self.bytes -= length(old);
            self.by_start.remove(&at);
            self.put(at, left);
            self.put(end, right);
        }
        self.put(start, bytes);
    }

    fn put(&mut self, start: u64, bytes: Bytes) {
        if !bytes.is_empty() {
            self.bytes += length(&bytes);
            self.by_start.insert(start, bytes);
        }
    }

    /// What is in a range.
    pub(crate) fn part(&self, start: u64, end: u64) -> Self {
        let before = self.by_start.range(..start).next_back();
        let within = self.by_start.range(start..end.max(start));
        let mut part = Self::default();
        for (at, bytes) in before.into_iter().chain(within) {
            part.put((*at).max(start), cut(*at, bytes, start, end));
        }
        part
    }

    /// All of them, in order.
    pub(crate) fn into_list(self) -> Vec<(u64, Bytes)> {
        self.by_start.into_iter().collect()
    }
}
