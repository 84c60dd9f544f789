//! The key types of the Table service, one function each. Kinds are pinned for ever.

use bytes::Bytes;
use store::{
    StoreError,
    key::{KeyBuilder, KeyParser, KeyRange},
    space::Space,
};
use types::{UnitId, limits::ENTITY_KEY_MAX_BYTES, names::TableName};

use crate::{errors::InvalidKey, key_order, table::TableAddress, value::utf16_units};

/// `(account, folded table name)`: the table.
const TABLE: u8 = 0x01;
/// `(table, PartitionKey, RowKey)`: the entity.
const ENTITY: u8 = 0x02;
/// `(table)`: a deleted table whose entities are being swept.
const SWEEP: u8 = 0x03;

fn key(kind: u8) -> KeyBuilder {
    KeyBuilder::new(Space::Table, kind)
}

/// The two keys of an entity, checked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EntityKey {
    partition: String,
    row: String,
}

impl EntityKey {
    /// Checks both keys: their length, and characters that the service forbids.
    ///
    /// # Errors
    /// [`InvalidKey`].
    pub fn new(partition: impl Into<String>, row: impl Into<String>) -> Result<Self, InvalidKey> {
        let key = Self { partition: partition.into(), row: row.into() };
        check("PartitionKey", &key.partition)?;
        check("RowKey", &key.row)?;
        Ok(key)
    }

    /// PartitionKey
    #[must_use]
    pub fn partition(&self) -> &str {
        &self.partition
    }

    /// RowKey
    #[must_use]
    pub fn row(&self) -> &str {
        &self.row
    }
}

fn check(name: &'static str, value: &str) -> Result<(), InvalidKey> {
    if utf16_units(value) * 2 > ENTITY_KEY_MAX_BYTES {
        return Err(InvalidKey::TooLarge(name));
    }
    let forbidden = |c: char| matches!(c, '/' | '\\' | '#' | '?') || c.is_control();
    match value.chars().find(|c| forbidden(*c)) {
        Some(character) => Err(InvalidKey::Character { name, character, value: value.to_owned() }),
        None => Ok(()),
    }
}

pub(crate) fn table(account: UnitId, name: &TableName) -> Bytes {
    key(TABLE).number(account.number()).bytes(name.folded().as_bytes()).build()
}

/// What is in front of the folded names of an account's tables.
pub(crate) fn tables(account: UnitId) -> KeyBuilder {
    key(TABLE).number(account.number())
}

/// Every table of every account.
pub(crate) fn all_tables() -> KeyRange {
    key(TABLE).range()
}

/// The account and the folded name.
pub(crate) fn parse_table(bytes: &[u8]) -> Result<(UnitId, String), StoreError> {
    let mut parser = KeyParser::new(bytes, Space::Table, TABLE)?;
    let account = UnitId::new(parser.number()?);
    let name = parser.bytes()?.into_owned();
    parser.end()?;
    String::from_utf8(name)
        .map(|name| (account, name))
        .map_err(|_| StoreError::corrupt("a table's name that is not text"))
}

pub(crate) fn entity(table: UnitId, keys: &EntityKey) -> Bytes {
    let (partition, row) = (key_order::encode(&keys.partition), key_order::encode(&keys.row));
    entities(table).bytes(&partition).bytes(&row).build()
}

/// What the writers of one entity queue on: its keys behind those of its table, which need not be looked up for it.
pub(crate) fn entity_latch(table: &TableAddress, keys: &EntityKey) -> Bytes {
    let named = key(TABLE).number(table.account().number()).bytes(table.folded().as_bytes());
    named.bytes(keys.partition.as_bytes()).bytes(keys.row.as_bytes()).build()
}

/// What is in front of the keys of a table's entities.
pub(crate) fn entities(table: UnitId) -> KeyBuilder {
    key(ENTITY).number(table.number())
}

/// Every entity of every table.
pub(crate) fn all_entities() -> KeyRange {
    key(ENTITY).range()
}

/// The table, the PartitionKey and the RowKey.
pub(crate) fn parse_entity(bytes: &[u8]) -> Result<(UnitId, EntityKey), StoreError> {
    let mut parser = KeyParser::new(bytes, Space::Table, ENTITY)?;
    let table = UnitId::new(parser.number()?);
    let partition = key_order::decode(parser.bytes()?)?;
    let row = key_order::decode(parser.bytes()?)?;
    parser.end()?;
    Ok((table, EntityKey { partition, row }))
}

pub(crate) fn sweep(table: UnitId) -> Bytes {
    key(SWEEP).number(table.number()).build()
}

pub(crate) fn sweeps() -> KeyRange {
    key(SWEEP).range()
}

pub(crate) fn parse_sweep(bytes: &[u8]) -> Result<UnitId, StoreError> {
    let mut parser = KeyParser::new(bytes, Space::Table, SWEEP)?;
    let table = UnitId::new(parser.number()?);
    parser.end()?;
    Ok(table)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use store::golden::Golden;

    use super::*;

    #[test]
    fn keys_have_rules() {
        let long = "x".repeat(512);
        for (value, ok) in [
            ("", true),
            ("a b'\"%&+=ä\u{1F600}", true),
            (&long, true),
            (&format!("{long}x"), false),
            ("a/b", false),
            ("a\\b", false),
            ("a#", false),
            ("?", false),
            ("\u{0}", false),
            ("a\tb", false),
            ("\u{7f}", false),
            ("\u{9f}", false),
        ] {
            assert_eq!(EntityKey::new(value, "").is_ok(), ok, "{value:?}");
            assert_eq!(EntityKey::new("", value).is_ok(), ok, "{value:?}");
        }
    }

    #[test]
    fn the_longest_keys_fit_into_a_row() {
        for character in ["x", "\u{ffff}", "\u{1F600}"] {
            let longest = character.repeat(512 / character.encode_utf16().count());
            let key = EntityKey::new(longest.clone(), longest).unwrap();
            assert!(entity(UnitId::new(u64::MAX), &key).len() <= store::limits::KEY_BYTES);
        }
    }

    #[test]
    fn keys_are_written_and_read_as_the_golden_bytes() {
        let mut golden = Golden::new(include_str!("../testdata/keys.tsv"));
        let (account, unit) = (UnitId::new(0x0102_0304_0506_0708), UnitId::new(0x1011_1213_1415_1617));
        let name = TableName::parse("People").unwrap();
        golden.round_trip("table", &table(account, &name), parse_table, &(account, "people".to_owned()));
        for (name, partition, row) in [
            ("entity", "p", "r"),
            ("entity with the least keys", "", ""),
            ("entity beyond U+FFFF", "ä\u{1F600}", "\u{ffff}"),
        ] {
            let key = EntityKey::new(partition, row).unwrap();
            golden.round_trip(name, &entity(unit, &key), parse_entity, &(unit, key));
        }
        golden.round_trip("sweep", &sweep(unit), parse_sweep, &unit);
        golden.finish();
    }

    proptest! {
        #[test]
        fn rows_come_in_the_order_of_their_keys(a in "[a-c\u{e000}\u{1F600}]{0,3}", b in "[a-c\u{e000}\u{1F600}]{0,3}",
                                                c in "[a-c\u{e000}\u{1F600}]{0,3}", d in "[a-c\u{e000}\u{1F600}]{0,3}") {
            let (left, right) = (EntityKey::new(a, b).unwrap(), EntityKey::new(c, d).unwrap());
            let unit = UnitId::new(7);
            let order = |key: &EntityKey| {
                (key.partition.encode_utf16().collect::<Vec<_>>(), key.row.encode_utf16().collect::<Vec<_>>())
            };
            prop_assert_eq!(entity(unit, &left).cmp(&entity(unit, &right)), order(&left).cmp(&order(&right)));
            prop_assert_eq!(parse_entity(&entity(unit, &left)).unwrap(), (unit, left));
        }
    }
}
