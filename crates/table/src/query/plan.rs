//! From a filter to the ranges of rows that can match it, in order and without overlap.
//!
//! Invariant: every row for which the filter holds is in one of the ranges. Rows in them for which it does not hold are
//! the business of `eval`. A point becomes one row, an `or` of points becomes so many rows, a condition on PartitionKey
//! alone becomes the partition, anything else the whole table.

use std::{borrow::Cow, ops::Bound};

use bytes::Bytes;
use store::key::{KeyBuilder, KeyRange};
use types::UnitId;

use super::{Filter, Operator};
use crate::{
    EntityKey, Value, key_order, keys,
    properties::{PARTITION_KEY, ROW_KEY},
    table::TABLE_NAME,
};

/// Ranges that a plan may have; past that, conditions are left to `eval`.
const RANGES_MAX: usize = 256;

/// The ranges of entities that can match.
pub(crate) fn entities(table: UnitId, filter: Option<&Filter>) -> Vec<KeyRange> {
    let space = Space { first: PARTITION_KEY, second: Some(ROW_KEY), encode: encode_key };
    space.ranges(&keys::entities(table), filter)
}

/// True when the plan of a filter reads the row with these keys: what a test of the invariant asks.
#[doc(hidden)]
#[must_use]
pub fn reads(filter: &Filter, key: &EntityKey) -> bool {
    let table = UnitId::new(1);
    let row = keys::entity(table, key);
    entities(table, Some(filter)).iter().any(|range| range.contains(&row))
}

/// The ranges of tables that can match.
pub(crate) fn tables(account: UnitId, filter: Option<&Filter>) -> Vec<KeyRange> {
    let space = Space { first: TABLE_NAME, second: None, encode: |text| Cow::Borrowed(text.as_bytes()) };
    space.ranges(&keys::tables(account), filter)
}

fn encode_key(text: &str) -> Cow<'_, [u8]> {
    key_order::encode(text)
}

/// The parts of these ranges from a key on.
pub(crate) fn from(ranges: Vec<KeyRange>, from: Option<Bytes>) -> impl Iterator<Item = KeyRange> {
    ranges
        .into_iter()
        .map(move |mut range| {
            if let Some(from) = from.as_ref().filter(|from| **from > range.start) {
                range.start = from.clone();
            }
            range
        })
        .filter(|range| !range.is_empty())
}

/// An interval of one key element, in the bytes of its order.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Interval {
    low: Bound<Vec<u8>>,
    high: Bound<Vec<u8>>,
}

impl Interval {
    const ALL: Self = Self { low: Bound::Unbounded, high: Bound::Unbounded };

    /// The one value that it consists of.
    fn point(&self) -> Option<&[u8]> {
        match (&self.low, &self.high) {
            (Bound::Included(low), Bound::Included(high)) if low == high => Some(low),
            _ => None,
        }
    }

    fn intersect(&self, other: &Self) -> Option<Self> {
        let low = match (&self.low, &other.low) {
            (Bound::Unbounded, bound) | (bound, Bound::Unbounded) => bound,
            (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => {
                // Of equal bounds the excluding one is narrower.
                let first = a > b || (a == b && matches!(self.low, Bound::Excluded(_)));
                if first { &self.low } else { &other.low }
            }
        };
        let high = match (&self.high, &other.high) {
            (Bound::Unbounded, bound) | (bound, Bound::Unbounded) => bound,
            (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => {
                let first = a < b || (a == b && matches!(self.high, Bound::Excluded(_)));
                if first { &self.high } else { &other.high }
            }
        };
        let empty = match (low, high) {
            (Bound::Included(low), Bound::Included(high)) => low > high,
            (Bound::Included(low) | Bound::Excluded(low), Bound::Included(high) | Bound::Excluded(high)) => low >= high,
            _ => false,
        };
        (!empty).then(|| Self { low: low.clone(), high: high.clone() })
    }
}

/// Rows whose elements are in these intervals.
#[derive(Clone, Debug)]
struct Area {
    first: Interval,
    second: Interval,
}

impl Area {
    const ALL: Self = Self { first: Interval::ALL, second: Interval::ALL };

    fn intersect(&self, other: &Self) -> Option<Self> {
        Some(Self { first: self.first.intersect(&other.first)?, second: self.second.intersect(&other.second)? })
    }

    /// The rows of a point in the first element are bounded by the second; otherwise only the first bounds them.
    fn range(&self, prefix: &KeyBuilder) -> KeyRange {
        match self.first.point() {
            Some(point) => bounded(&prefix.clone().bytes(point), &self.second),
            None => bounded(prefix, &self.first),
        }
    }
}

fn bounded(prefix: &KeyBuilder, interval: &Interval) -> KeyRange {
    let with = |bytes: &[u8]| prefix.clone().bytes(bytes);
    let mut range = prefix.clone().range();
    match &interval.low {
        Bound::Unbounded => {}
        Bound::Included(low) => range.start = with(low).build(),
        // The terminator of an element is below 0xFF, so there is always a key behind.
        Bound::Excluded(low) => range.start = with(low).range().end.unwrap_or_default(),
    }
    match &interval.high {
        Bound::Unbounded => {}
        Bound::Included(high) => range.end = with(high).range().end,
        Bound::Excluded(high) => range.end = Some(with(high).build()),
    }
    range
}

/// The elements of a key and how their values are written.
struct Space {
    first: &'static str,
    second: Option<&'static str>,
    encode: fn(&str) -> Cow<'_, [u8]>,
}

impl Space {
    fn ranges(&self, prefix: &KeyBuilder, filter: Option<&Filter>) -> Vec<KeyRange> {
        let areas = filter.map_or_else(|| vec![Area::ALL], |filter| self.areas(filter, true));
        let mut ranges: Vec<KeyRange> =
            areas.iter().map(|area| area.range(prefix)).filter(|range| !range.is_empty()).collect();
        ranges.sort_by(|a, b| a.start.cmp(&b.start));
        let mut merged: Vec<KeyRange> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match merged.last_mut() {
                Some(last) if last.end.as_ref().is_none_or(|end| *end >= range.start) => {
                    let longer =
                        last.end.is_some() && range.end.as_ref().is_none_or(|end| last.end.as_ref() < Some(end));
                    if longer {
                        last.end = range.end;
                    }
                }
                _ => merged.push(range),
            }
        }
        merged
    }

    /// Areas that together hold every row for which the filter is `wanted`.
    fn areas(&self, filter: &Filter, wanted: bool) -> Vec<Area> {
        match (filter, wanted) {
            (Filter::Constant(constant), _) => {
                if *constant == wanted {
                    vec![Area::ALL]
                } else {
                    vec![]
                }
            }
            (Filter::Compare { property, operator, constant }, _) => {
                let operator = if wanted { *operator } else { operator.negated() };
                self.comparison(property, operator, constant, wanted)
            }
            (Filter::Not(inner), _) => self.areas(inner, !wanted),
            (Filter::And(parts), true) | (Filter::Or(parts), false) => {
                let mut all = vec![Area::ALL];
                for part in parts {
                    let narrower = self.areas(part, wanted);
                    // Leaving a condition out only makes the areas larger.
                    if all.len().saturating_mul(narrower.len()) <= RANGES_MAX {
                        all = all.iter().flat_map(|a| narrower.iter().filter_map(|b| a.intersect(b))).collect();
                    }
                }
                all
            }
            (Filter::Or(parts), true) | (Filter::And(parts), false) => {
                let any: Vec<Area> = parts.iter().flat_map(|part| self.areas(part, wanted)).collect();
                if any.len() <= RANGES_MAX { any } else { vec![Area::ALL] }
            }
        }
    }

    fn comparison(&self, property: &str, operator: Operator, constant: &Value, wanted: bool) -> Vec<Area> {
        let is_first = property == self.first;
        if !is_first && Some(property) != self.second {
            return vec![Area::ALL];
        }
        // Keys are texts: a comparison with anything else never holds, so its negation always does.
        let Value::String(text) = constant else { return if wanted { vec![] } else { vec![Area::ALL] } };
        let value = || (self.encode)(text).into_owned();
        let at = |low, high| Interval { low, high };
        let intervals = match operator {
            Operator::Equal => vec![at(Bound::Included(value()), Bound::Included(value()))],
            Operator::NotEqual => {
                vec![at(Bound::Unbounded, Bound::Excluded(value())), at(Bound::Excluded(value()), Bound::Unbounded)]
            }
            Operator::Greater => vec![at(Bound::Excluded(value()), Bound::Unbounded)],
            Operator::GreaterOrEqual => vec![at(Bound::Included(value()), Bound::Unbounded)],
            Operator::Less => vec![at(Bound::Unbounded, Bound::Excluded(value()))],
            Operator::LessOrEqual => vec![at(Bound::Unbounded, Bound::Included(value()))],
        };
        let area = |interval| match is_first {
            true => Area { first: interval, ..Area::ALL },
            false => Area { second: interval, ..Area::ALL },
        };
        intervals.into_iter().map(area).collect()
    }
}

#[cfg(test)]
mod tests;
