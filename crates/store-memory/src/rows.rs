//! Rows with their versions: what a key held at every instant that somebody can still look at.
//!
//! **Invariant.** The versions of a key ascend by sequence. The last one is kept until nobody reads below it, so the
//! last write of every key is known to whoever still has to validate against it.

use std::{collections::BTreeMap, ops::Bound};

use bytes::Bytes;
use store::{Direction, Row, Sequence, key::KeyRange};

#[derive(Clone, Default)]
pub(crate) struct Rows(BTreeMap<Bytes, Vec<Version>>);

#[derive(Clone)]
struct Version {
    sequence: Sequence,
    value: Option<Bytes>,
}

impl Rows {
    /// The value of a key at an instant.
    pub(crate) fn get(&self, key: &[u8], instant: Sequence) -> Option<Bytes> {
        at(self.0.get(key)?, instant).cloned()
    }

    /// When a key was last written or deleted.
    pub(crate) fn last_write(&self, key: &[u8]) -> Option<Sequence> {
        self.0.get(key)?.last().map(|version| version.sequence)
    }

    /// Adds a version. Sequences only grow.
    pub(crate) fn write(&mut self, key: Bytes, value: Option<Bytes>, sequence: Sequence) {
        self.0.entry(key).or_default().push(Version { sequence, value });
    }

    /// The first row of a range, in the given direction, at an instant.
    pub(crate) fn first(&self, range: &KeyRange, direction: Direction, instant: Sequence) -> Option<Row> {
        if range.is_empty() {
            return None; // an empty range may have its end before its start, which `range` would not accept
        }
        let end = range.end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut keys = self.0.range::<[u8], _>((Bound::Included(&*range.start), end));
        let mut row = |(key, versions): (&Bytes, &Vec<Version>)| {
            at(versions, instant).map(|value| Row { key: key.clone(), value: value.clone() })
        };
        match direction {
            Direction::Ascending => keys.find_map(&mut row),
            Direction::Descending => keys.rev().find_map(&mut row),
        }
    }

    /// Forgets what nobody at or above `floor` can see.
    pub(crate) fn prune(&mut self, floor: Sequence) {
        self.0.retain(|_, versions| {
            let visible = versions.partition_point(|version| version.sequence <= floor);
            versions.drain(..visible.saturating_sub(1));
            !matches!(&**versions, [only] if only.value.is_none() && only.sequence <= floor)
        });
    }

    /// How many versions there are in all.
    pub(crate) fn versions(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// The rows as they were at `instant`, without anything later.
    pub(crate) fn cut(mut self, instant: Sequence) -> Self {
        for versions in self.0.values_mut() {
            versions.retain(|version| version.sequence <= instant);
        }
        self.0.retain(|_, versions| !versions.is_empty());
        self
    }
}

fn at(versions: &[Version], instant: Sequence) -> Option<&Bytes> {
    let visible = versions.iter().rev().find(|version| version.sequence <= instant)?;
    visible.value.as_ref()
}
