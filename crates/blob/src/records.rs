//! The stored records of the Blob service, apart from what they are read into (`state`): each has a conversion from and to
//! bytes, by [`store::record`], so that a field can be added under a new version while old rows stay readable. Golden bytes
//! of all of them are in `testdata/records.tsv`.

use bytes::Bytes;
use concurrency::lease::Lease;
use store::{
    StoreError,
    record::{Reader, Writer},
};
use types::{ETag, Timestamp, UnitId};

use crate::state::Container;

mod blob;
mod jobs;

pub(crate) use jobs::{
    AdoptionRecord, BlockRecord, CopyJob, CopySource, DroppedUpload, PlaceRecord, PruneRecord, SweepRecord, UnitRecord,
    Upload,
};

/// The newest version.
const CONTAINER: u8 = 1;

impl Container {
    pub(crate) fn encode(&self) -> Bytes {
        let writer = Writer::new(CONTAINER)
            .number(self.unit.number())
            .number(self.etag.value())
            .number(self.last_modified.ticks());
        pairs(lease(writer, self.lease), &self.metadata).build()
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self, StoreError> {
        let mut reader = Reader::new("the row of a container", row, CONTAINER)?;
        let container = Self {
            unit: UnitId::new(reader.number()?),
            etag: ETag::new(reader.number()?),
            last_modified: time(&mut reader)?,
            lease: take_lease(&mut reader)?,
            metadata: take_pairs(&mut reader)?,
        };
        reader.end()?;
        Ok(container)
    }
}

/// Whether there is a value, and the value.
fn optional<T>(writer: Writer, value: Option<T>, write: impl FnOnce(Writer, T) -> Writer) -> Writer {
    match value {
        Some(value) => write(writer.flag(true), value),
        None => writer.flag(false),
    }
}

fn take_optional<'a, T>(
    reader: &mut Reader<'a>,
    take: impl FnOnce(&mut Reader<'a>) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    if reader.flag()? { take(reader).map(Some) } else { Ok(None) }
}

/// Names and values, with how many there are in front.
fn pairs(writer: Writer, pairs: &[(String, String)]) -> Writer {
    let writer = writer.small(u32::try_from(pairs.len()).unwrap_or(u32::MAX));
    pairs.iter().fold(writer, |writer, (name, value)| writer.text(name).text(value))
}

fn take_pairs(reader: &mut Reader<'_>) -> Result<Vec<(String, String)>, StoreError> {
    let mut pairs = Vec::new();
    for _ in 0..reader.small()? {
        pairs.push((reader.text()?.to_owned(), reader.text()?.to_owned()));
    }
    Ok(pairs)
}

/// A lease in its own form, which has a version of its own; nothing for one that never was.
fn lease(writer: Writer, lease: Lease) -> Writer {
    writer.bytes(lease.to_stored().as_ref().map_or(&[], |stored| stored.as_slice()))
}

fn take_lease(reader: &mut Reader<'_>) -> Result<Lease, StoreError> {
    Lease::from_stored(reader.bytes()?).map_err(|error| StoreError::corrupt(error.to_string()))
}

fn time(reader: &mut Reader<'_>) -> Result<Timestamp, StoreError> {
    reader.number().map(Timestamp::from_ticks)
}

#[cfg(test)]
mod tests;
