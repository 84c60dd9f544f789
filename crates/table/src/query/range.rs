//! The range of keys that a credential covers: a table SAS may have a first and a last PartitionKey and RowKey.

use access::Authorized;
use store::key::KeyRange;
use types::UnitId;

use crate::{EntityKey, key_order, keys};

/// From and to these keys, both included. A RowKey counts only with the PartitionKey of its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyLimits {
    pub(crate) first_partition: Option<String>,
    pub(crate) first_row: Option<String>,
    pub(crate) last_partition: Option<String>,
    pub(crate) last_row: Option<String>,
}

/// What the credential of this request covers.
pub(crate) fn authorised<Op>(request: &Authorized<'_, Op>) -> KeyLimits {
    let Some(range) = request.entities() else { return KeyLimits::default() };
    let (first_partition, first_row) = range.start.clone().map_or((None, None), |(key, row)| (Some(key), row));
    let (last_partition, last_row) = range.end.clone().map_or((None, None), |(key, row)| (Some(key), row));
    KeyLimits { first_partition, first_row, last_partition, last_row }
}

impl KeyLimits {
    fn is_everything(&self) -> bool {
        *self == Self::default()
    }

    /// The rows that are covered.
    fn range(&self, table: UnitId) -> KeyRange {
        let mut range = keys::entities(table).range();
        if let Some(partition) = &self.first_partition {
            let builder = keys::entities(table).bytes(&key_order::encode(partition));
            range.start = match &self.first_row {
                Some(row) => builder.bytes(&key_order::encode(row)).build(),
                None => builder.build(),
            };
        }
        if let Some(partition) = &self.last_partition {
            let builder = keys::entities(table).bytes(&key_order::encode(partition));
            range.end = match &self.last_row {
                Some(row) => builder.bytes(&key_order::encode(row)).range().end,
                None => builder.range().end,
            };
        }
        range
    }

    /// True when this entity is covered.
    pub(crate) fn contains(&self, key: &EntityKey) -> bool {
        let table = UnitId::new(0);
        self.is_everything() || self.range(table).contains(&keys::entity(table, key))
    }

    /// The parts of these ranges that are covered.
    pub(crate) fn clamp(&self, table: UnitId, ranges: Vec<KeyRange>) -> Vec<KeyRange> {
        if self.is_everything() {
            return ranges;
        }
        let limits = self.range(table);
        let clamp = |range: KeyRange| KeyRange {
            start: range.start.max(limits.start.clone()),
            end: match (range.end, &limits.end) {
                (Some(end), Some(limit)) => Some(end.min(limit.clone())),
                (end, limit) => end.or_else(|| limit.clone()),
            },
        };
        ranges.into_iter().map(clamp).filter(|range| !range.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_inclusive_and_rows_count_at_the_ends_only() {
        let some = |text: &str| Some(text.to_owned());
        let limits = KeyLimits {
            first_partition: some("b"),
            first_row: some("5"),
            last_partition: some("d"),
            last_row: some("5"),
        };
        let table = [
            ("a", "9", false),
            ("b", "4", false),
            ("b", "5", true),
            ("c", "0", true),
            ("c", "9", true),
            ("d", "5", true),
            ("d", "50", false),
            ("d", "6", false),
            ("e", "0", false),
        ];
        let unit = UnitId::new(3);
        for (partition, row, inside) in table {
            let key = EntityKey::new(partition, row).unwrap();
            assert_eq!(limits.contains(&key), inside, "{partition} {row}");
            let clamped = limits.clamp(unit, vec![keys::entities(unit).range()]);
            let row_key = keys::entity(unit, &key);
            assert_eq!(clamped.iter().any(|range| range.contains(&row_key)), inside, "{partition} {row}");
            assert!(KeyLimits::default().contains(&key));
        }
    }
}
