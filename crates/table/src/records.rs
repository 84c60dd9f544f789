//! The stored records of the Table service, apart from what the service works with: each has a conversion from and to bytes,
//! by [`store::record`], so that a field can be added under a new version while old rows stay readable. Golden bytes of all
//! of them are in `testdata/records.tsv`.

mod entity;

pub(crate) use entity::EntityRecord;
pub use entity::PropertyIter;

use bytes::Bytes;
use store::{
    StoreError,
    record::{Reader, Writer},
};
use types::{UnitId, names::TableName};

use crate::table::Table;

/// The newest version of each record.
const TABLE: u8 = 1;
const SWEEP: u8 = 1;

pub(crate) fn encode_table(table: &Table) -> Bytes {
    Writer::new(TABLE).number(table.unit.number()).text(table.name.as_str()).build()
}

pub(crate) fn decode_table(row: &[u8]) -> Result<Table, StoreError> {
    let mut reader = Reader::new("the row of a table", row, TABLE)?;
    let (unit, name) = (UnitId::new(reader.number()?), reader.text()?);
    let name = TableName::parse(name).map_err(|_| reader.malformed("a name that no table can have"))?;
    reader.end()?;
    Ok(Table { unit, name })
}

/// The progress of a sweep: the key of the last entity that was removed, empty before the first.
pub(crate) fn encode_sweep(reached: &[u8]) -> Bytes {
    Writer::with_capacity(SWEEP, 5 + reached.len()).bytes(reached).build()
}

pub(crate) fn decode_sweep(row: &[u8]) -> Result<Bytes, StoreError> {
    let mut reader = Reader::new("the row of a sweep", row, SWEEP)?;
    let reached = Bytes::copy_from_slice(reader.bytes()?);
    reader.end()?;
    Ok(reached)
}

#[cfg(test)]
mod tests {
    use store::golden::Golden;
    use types::Timestamp;

    use super::*;
    use crate::{DateTime, Guid, Value, properties::Properties};

    fn properties(values: Vec<(&str, Value)>) -> Properties {
        Properties::new(values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()).unwrap()
    }

    /// The Timestamp and the properties of an entity's row.
    fn read(row: &[u8]) -> Result<(Timestamp, Properties), StoreError> {
        let record = EntityRecord::decode(Bytes::copy_from_slice(row))?;
        let found = record.properties().map(|property| property.map(|(name, value)| (name, value.to_value())));
        Ok((record.timestamp(), properties(found.collect::<Result<_, _>>()?)))
    }

    #[test]
    fn records_are_written_and_read_as_the_golden_bytes() {
        let mut golden = Golden::new(include_str!("../testdata/records.tsv"));
        let table =
            Table { unit: UnitId::new(0x0102_0304_0506_0708), name: TableName::parse("PeopleOfTheTown").unwrap() };
        golden.round_trip("table 1", &encode_table(&table), decode_table, &table);
        for (name, reached) in [("sweep 1", &b""[..]), ("sweep 1 that goes on", b"\x40\x02\x00key")] {
            golden.round_trip(name, &encode_sweep(reached), decode_sweep, &Bytes::from_static(reached));
        }
        let timestamp = Timestamp::from_ticks(0x1112_1314_1516_1718);
        let of_each_type = vec![
            ("Binary", Value::Binary(Bytes::from_static(&[0, 255]))),
            ("No", Value::Boolean(false)),
            ("Yes", Value::Boolean(true)),
            ("DateTime", Value::DateTime(DateTime::from_ticks(600_000_000_000_000_001).unwrap())),
            ("Double", Value::Double(-1.5)),
            ("Guid", Value::Guid(Guid::new(0x2021_2223_2425_2627_2829_2a2b_2c2d_2e2f))),
            ("Int32", Value::Int32(-2)),
            ("Int64", Value::Int64(i64::MIN)),
            ("Größe", Value::String("groß".to_owned())),
        ];
        for (name, values) in [("entity 1", Vec::new()), ("entity 1 of each type", of_each_type)] {
            let properties = properties(values);
            let written = EntityRecord::encode(timestamp, &properties);
            golden.round_trip(name, &written, read, &(timestamp, properties));
        }
        golden.finish();
    }

    #[test]
    fn a_version_of_the_future_is_refused() {
        for future in [decode_table(&[2]).map(drop), decode_sweep(&[2]).map(drop), read(&[2]).map(drop)] {
            let said = future.unwrap_err().to_string();
            assert!(said.contains("has version 2, and this build reads versions up to 1"), "{said}");
        }
    }
}
