//! The record of an entity: version, Timestamp (8), number of properties (2); then each property: type (1), length of its
//! name (2), name, and the value, of which text and bytes have their length (4) in front.
//!
//! A query reads the properties it needs straight from the row, and an answer is written from the row without building a
//! tree in between: so this stays bytes until a property is asked for.

use bytes::Bytes;
use store::{
    StoreError,
    record::{Reader, Writer},
};
use types::Timestamp;

use crate::{DateTime, Guid, ValueRef, properties::Properties};

/// The newest version.
const ENTITY: u8 = 1;
const WHAT: &str = "the row of an entity";
/// Bytes in front of the properties: the version, the Timestamp, the number of properties.
const HEAD_BYTES: usize = 1 + 8 + 2;

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

/// The row of an entity. Its keys stand in the key of the row.
#[derive(Clone, Debug)]
pub(crate) struct EntityRecord {
    timestamp: Timestamp,
    row: Bytes,
}

impl EntityRecord {
    /// The row of an entity with these properties.
    pub(crate) fn encode(timestamp: Timestamp, properties: &Properties) -> Bytes {
        let bytes = HEAD_BYTES + properties.iter().map(|(name, value)| 8 + name.len() + room(value)).sum::<usize>();
        // At most 252, and names have at most 255 characters of at most four bytes: see `Properties`.
        let count = u16::try_from(properties.iter().len()).unwrap_or(u16::MAX);
        let mut writer = Writer::with_capacity(ENTITY, bytes).number(timestamp.ticks()).short(count);
        for (name, value) in properties.iter() {
            let length = u16::try_from(name.len()).unwrap_or(u16::MAX);
            writer = writer.byte(tag::of(value)).short(length).raw(name.as_bytes());
            writer = match value {
                ValueRef::Binary(bytes) => writer.bytes(bytes),
                ValueRef::String(text) => writer.text(text),
                ValueRef::Boolean(value) => writer.flag(value),
                ValueRef::DateTime(value) => writer.number(value.ticks()),
                ValueRef::Double(value) => writer.number(value.to_bits()),
                ValueRef::Guid(value) => writer.wide(value.bits()),
                ValueRef::Int32(value) => writer.raw(&value.to_le_bytes()),
                ValueRef::Int64(value) => writer.raw(&value.to_le_bytes()),
            };
        }
        writer.build()
    }

    pub(crate) fn decode(row: Bytes) -> Result<Self, StoreError> {
        let mut reader = Reader::new(WHAT, &row, ENTITY)?;
        let timestamp = Timestamp::from_ticks(reader.number()?);
        Ok(Self { timestamp, row })
    }

    pub(crate) const fn timestamp(&self) -> Timestamp {
        self.timestamp
    }

    /// Bytes that the row takes.
    pub(crate) const fn bytes(&self) -> usize {
        self.row.len()
    }

    /// The properties, in the order they were first written.
    pub(crate) fn properties(&self) -> PropertyIter<'_> {
        let begin = || {
            let mut reader = Reader::new(WHAT, &self.row, ENTITY)?;
            reader.number()?;
            let left = reader.short()?;
            Ok((reader, left))
        };
        match begin() {
            Ok((reader, left)) => PropertyIter { reader: Some(reader), left, failed: None },
            Err(error) => PropertyIter { reader: None, left: 0, failed: Some(error) },
        }
    }
}

const fn room(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Binary(bytes) => bytes.len(),
        ValueRef::String(text) => text.len(),
        _ => 16,
    }
}

/// The properties of an entity, one after the other from its row.
#[derive(Debug)]
pub struct PropertyIter<'a> {
    /// `None` when not even the head could be read.
    reader: Option<Reader<'a>>,
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
        let reader = self.reader.as_mut()?;
        let property = property(reader);
        if property.is_err() {
            self.left = 0;
        } else if self.left == 0 && !reader.is_at_end() {
            self.failed = Some(reader.malformed("more than its properties"));
        }
        Some(property)
    }
}

fn property<'a>(reader: &mut Reader<'a>) -> Result<(&'a str, ValueRef<'a>), StoreError> {
    let (tag, length) = (reader.byte()?, reader.short()?);
    let name = reader.slice(usize::from(length))?;
    let name = std::str::from_utf8(name).map_err(|_| reader.malformed("a property name that is not UTF-8"))?;
    let value = match tag {
        tag::BINARY => ValueRef::Binary(reader.bytes()?),
        tag::BOOLEAN => ValueRef::Boolean(reader.flag()?),
        tag::DATE_TIME => {
            let instant = DateTime::from_ticks(reader.number()?);
            ValueRef::DateTime(instant.ok_or_else(|| reader.malformed("an instant that is none"))?)
        }
        tag::DOUBLE => ValueRef::Double(f64::from_bits(reader.number()?)),
        tag::GUID => ValueRef::Guid(Guid::new(reader.wide()?)),
        tag::INT32 => ValueRef::Int32(i32::from_le_bytes(reader.take()?)),
        tag::INT64 => ValueRef::Int64(i64::from_le_bytes(reader.take()?)),
        tag::STRING => ValueRef::String(reader.text()?),
        other => return Err(reader.malformed(&format!("a value of the unknown type {other}"))),
    };
    Ok((name, value))
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
            let row = EntityRecord::encode(Timestamp::from_ticks(ticks), &properties);
            let entity = EntityRecord::decode(row.clone()).unwrap();
            prop_assert_eq!(entity.timestamp().ticks(), ticks);
            let read: Vec<_> = entity.properties().map(Result::unwrap).collect();
            prop_assert_eq!(read, properties.iter().collect::<Vec<_>>());
            // Half a row is an error, never a shorter entity.
            for length in 0..row.len() {
                let cut = EntityRecord::decode(row.slice(..length));
                prop_assert!(cut.is_err() || cut.is_ok_and(|cut| cut.properties().any(|property| property.is_err())));
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            if let Ok(entity) = EntityRecord::decode(bytes.into()) {
                let _read: Vec<_> = entity.properties().collect();
            }
        }
    }
}
