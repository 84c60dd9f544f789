//! The stored records of the Table service. Each begins with its format; a new format is a new struct and a conversion.
//!
//! An entity is written by hand, not by a serializer: a query reads the properties it needs straight from the row, and
//! an answer is written from the row without building a tree in between.

use bytes::{BufMut, Bytes, BytesMut};
use concurrency::table_etag::EntityETag;
use serde::{Deserialize, Serialize};
use store::{Row, StoreError};
use types::{Timestamp, UnitId, names::TableName};

use crate::{
    DateTime, EntityKey, Guid, ValueRef, keys,
    properties::{PARTITION_KEY, Properties, ROW_KEY, TIMESTAMP},
};

const TABLE_FORMAT: u8 = 1;
const ENTITY_FORMAT: u8 = 1;

/// A table.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) unit: UnitId,
    /// The name in the case it was created with.
    pub(crate) name: TableName,
}

#[derive(Serialize, Deserialize)]
struct TableRecord {
    unit: u64,
    name: String,
}

impl Table {
    pub(crate) fn encode(&self) -> Result<Bytes, StoreError> {
        let record = TableRecord { unit: self.unit.number(), name: self.name.as_str().to_owned() };
        let encoded = postcard::to_extend(&record, vec![TABLE_FORMAT]);
        encoded.map(Bytes::from).map_err(|error| StoreError::corrupt(format!("a record cannot be written: {error}")))
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self, StoreError> {
        let malformed = || StoreError::corrupt("the row of a table cannot be read");
        let Some((&TABLE_FORMAT, record)) = row.split_first() else { return Err(malformed()) };
        let record: TableRecord = postcard::from_bytes(record).map_err(|_| malformed())?;
        let name = TableName::parse(&record.name).map_err(|_| malformed())?;
        Ok(Self { unit: UnitId::new(record.unit), name })
    }
}

/// Bytes in front of the properties: the format, the Timestamp, the number of properties.
const HEAD: usize = 1 + 8 + 2;

/// The row of an entity: format, Timestamp, number of properties; then each property: type, length of its name, name,
/// and the value, of which text and bytes have their length in front. Numbers are little-endian.
pub(crate) fn encode_entity(timestamp: Timestamp, properties: &Properties) -> Bytes {
    let mut out = BytesMut::with_capacity(
        HEAD + properties.iter().map(|(name, value)| 8 + name.len() + room(value)).sum::<usize>(),
    );
    out.put_u8(ENTITY_FORMAT);
    out.put_u64_le(timestamp.ticks());
    // At most 252, and names have at most 255 characters of at most four bytes: see `Properties`.
    out.put_u16_le(u16::try_from(properties.iter().len()).unwrap_or(u16::MAX));
    for (name, value) in properties.iter() {
        out.put_u8(tag::of(value));
        out.put_u16_le(u16::try_from(name.len()).unwrap_or(u16::MAX));
        out.put_slice(name.as_bytes());
        match value {
            ValueRef::Binary(bytes) => put_bytes(&mut out, bytes),
            ValueRef::String(text) => put_bytes(&mut out, text.as_bytes()),
            ValueRef::Boolean(value) => out.put_u8(u8::from(value)),
            ValueRef::DateTime(value) => out.put_u64_le(value.ticks()),
            ValueRef::Double(value) => out.put_u64_le(value.to_bits()),
            ValueRef::Guid(value) => out.put_u128_le(value.bits()),
            ValueRef::Int32(value) => out.put_i32_le(value),
            ValueRef::Int64(value) => out.put_i64_le(value),
        }
    }
    out.freeze()
}

const fn room(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Binary(bytes) => bytes.len(),
        ValueRef::String(text) => text.len(),
        _ => 16,
    }
}

fn put_bytes(out: &mut BytesMut, bytes: &[u8]) {
    // At most 96 KiB: see `Properties`.
    out.put_u32_le(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    out.put_slice(bytes);
}

/// The byte that tells the type of a value. Pinned for ever.
mod tag {
    use crate::ValueRef;

    pub(super) const BINARY: u8 = 1;
    pub(super) const BOOLEAN: u8 = 2;
    pub(super) const DATE_TIME: u8 = 3;
    pub(super) const DOUBLE: u8 = 4;
    pub(super) const GUID: u8 = 5;
    pub(super) const INT32: u8 = 6;
    pub(super) const INT64: u8 = 7;
    pub(super) const STRING: u8 = 8;

    pub(super) const fn of(value: ValueRef<'_>) -> u8 {
        match value {
            ValueRef::Binary(_) => BINARY,
            ValueRef::Boolean(_) => BOOLEAN,
            ValueRef::DateTime(_) => DATE_TIME,
            ValueRef::Double(_) => DOUBLE,
            ValueRef::Guid(_) => GUID,
            ValueRef::Int32(_) => INT32,
            ValueRef::Int64(_) => INT64,
            ValueRef::String(_) => STRING,
        }
    }
}

/// An entity as it was read: its properties are taken from the row when they are asked for.
#[derive(Clone, Debug)]
pub struct Entity {
    key: EntityKey,
    timestamp: Timestamp,
    row: Bytes,
}

impl Entity {
    pub(crate) fn decode(row: Row) -> Result<Self, StoreError> {
        let (_, key) = keys::parse_entity(&row.key)?;
        Self::new(key, row.value)
    }

    pub(crate) fn new(key: EntityKey, row: Bytes) -> Result<Self, StoreError> {
        let mut reader = Reader(&row);
        match reader.take::<1>()? {
            [ENTITY_FORMAT] => {}
            [other] => return Err(StoreError::corrupt(format!("the row of an entity has format {other}"))),
        }
        let timestamp = Timestamp::from_ticks(u64::from_le_bytes(reader.take()?));
        Ok(Self { key, timestamp, row })
    }

    /// Its keys.
    #[must_use]
    pub const fn key(&self) -> &EntityKey {
        &self.key
    }

    /// When it was last written.
    #[must_use]
    pub const fn timestamp(&self) -> Timestamp {
        self.timestamp
    }

    /// Its ETag.
    #[must_use]
    pub const fn etag(&self) -> EntityETag {
        EntityETag::new(self.timestamp)
    }

    /// Bytes that its row takes.
    pub(crate) const fn row_bytes(&self) -> usize {
        self.row.len()
    }

    /// Its properties without the three of the system, in the order they were first written.
    #[must_use]
    pub fn properties(&self) -> PropertyIter<'_> {
        let mut reader = Reader(self.row.get(9..).unwrap_or_default());
        let left = reader.take().map(u16::from_le_bytes);
        match left {
            Ok(left) => PropertyIter { reader, left, failed: None },
            Err(error) => PropertyIter { reader, left: 0, failed: Some(error) },
        }
    }

    /// The value of a property, of the system or of the user.
    ///
    /// # Errors
    /// The row cannot be read.
    pub fn get(&self, name: &str) -> Result<Option<ValueRef<'_>>, StoreError> {
        match name {
            PARTITION_KEY => Ok(Some(ValueRef::String(self.key.partition()))),
            ROW_KEY => Ok(Some(ValueRef::String(self.key.row()))),
            TIMESTAMP => Ok(Some(ValueRef::DateTime(DateTime::of(self.timestamp)))),
            _ => {
                for property in self.properties() {
                    let (found, value) = property?;
                    if found == name {
                        return Ok(Some(value));
                    }
                }
                Ok(None)
            }
        }
    }
}

/// The properties of an entity, one after the other from its row.
#[derive(Debug)]
pub struct PropertyIter<'a> {
    reader: Reader<'a>,
    left: u16,
    failed: Option<StoreError>,
}

impl<'a> Iterator for PropertyIter<'a> {
    type Item = Result<(&'a str, ValueRef<'a>), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.failed.take() {
            return Some(Err(error));
        }
        self.left = self.left.checked_sub(1)?;
        let property = self.reader.property();
        if property.is_err() {
            self.left = 0;
        } else if self.left == 0 && !self.reader.0.is_empty() {
            self.failed = Some(malformed());
        }
        Some(property)
    }
}

#[derive(Clone, Copy, Debug)]
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], StoreError> {
        let (head, rest) = self.0.split_first_chunk::<N>().ok_or_else(malformed)?;
        self.0 = rest;
        Ok(*head)
    }

    fn slice(&mut self, length: usize) -> Result<&'a [u8], StoreError> {
        let (head, rest) = self.0.split_at_checked(length).ok_or_else(malformed)?;
        self.0 = rest;
        Ok(head)
    }

    fn long(&mut self) -> Result<&'a [u8], StoreError> {
        let length = u32::from_le_bytes(self.take()?);
        self.slice(usize::try_from(length).map_err(|_| malformed())?)
    }

    fn property(&mut self) -> Result<(&'a str, ValueRef<'a>), StoreError> {
        let [tag] = self.take()?;
        let length = u16::from_le_bytes(self.take()?);
        let name = text(self.slice(usize::from(length))?)?;
        let value = match tag {
            tag::BINARY => ValueRef::Binary(self.long()?),
            tag::BOOLEAN => ValueRef::Boolean(self.take::<1>()? != [0]),
            tag::DATE_TIME => {
                let ticks = u64::from_le_bytes(self.take()?);
                ValueRef::DateTime(DateTime::from_ticks(ticks).ok_or_else(malformed)?)
            }
            tag::DOUBLE => ValueRef::Double(f64::from_bits(u64::from_le_bytes(self.take()?))),
            tag::GUID => ValueRef::Guid(Guid::new(u128::from_le_bytes(self.take()?))),
            tag::INT32 => ValueRef::Int32(i32::from_le_bytes(self.take()?)),
            tag::INT64 => ValueRef::Int64(i64::from_le_bytes(self.take()?)),
            tag::STRING => ValueRef::String(text(self.long()?)?),
            _ => return Err(malformed()),
        };
        Ok((name, value))
    }
}

fn text(bytes: &[u8]) -> Result<&str, StoreError> {
    std::str::from_utf8(bytes).map_err(|_| malformed())
}

fn malformed() -> StoreError {
    StoreError::corrupt("the row of an entity cannot be read")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Value;

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            any::<Vec<u8>>().prop_map(|bytes| Value::Binary(bytes.into())),
            any::<bool>().prop_map(Value::Boolean),
            (600_000_000_000_000_000_u64..3_000_000_000_000_000_000)
                .prop_map(|ticks| Value::DateTime(DateTime::from_ticks(ticks).unwrap())),
            any::<f64>().prop_map(Value::Double),
            any::<u128>().prop_map(|bits| Value::Guid(Guid::new(bits))),
            any::<i32>().prop_map(Value::Int32),
            any::<i64>().prop_map(Value::Int64),
            "\\PC{0,20}".prop_map(Value::String),
        ]
    }

    proptest! {
        #[test]
        fn entities_come_back(properties in proptest::collection::vec(("[a-zä]{1,5}[0-9]", value()), 0..8), ticks: u64) {
            let Ok(properties) = Properties::new(properties) else { return Ok(()) };
            let row = encode_entity(Timestamp::from_ticks(ticks), &properties);
            let entity = Entity::new(EntityKey::new("p", "r").unwrap(), row.clone()).unwrap();
            prop_assert_eq!(entity.timestamp().ticks(), ticks);
            let read: Vec<_> = entity.properties().map(Result::unwrap).collect();
            prop_assert_eq!(read, properties.iter().collect::<Vec<_>>());
            // Half a row is an error, never a shorter entity.
            for length in 0..row.len() {
                let cut = Entity::new(EntityKey::new("p", "r").unwrap(), row.slice(..length));
                prop_assert!(cut.is_err() || cut.is_ok_and(|cut| cut.properties().any(|property| property.is_err())));
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            if let Ok(entity) = Entity::new(EntityKey::new("p", "r").unwrap(), bytes.into()) {
                let _read: Vec<_> = entity.properties().collect();
            }
        }
    }
}
