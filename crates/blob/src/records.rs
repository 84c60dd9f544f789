//! The stored records of the Blob service, apart from what they are read into (`state`): each has a conversion from and to
//! bytes, by [`store::record`], so that a field can be added under a new version while old rows stay readable. Golden bytes
//! of all of them are in `testdata/records.tsv`.

use bytes::Bytes;
use concurrency::lease::Lease;
use store::{
    StoreError,
    record::{Reader, Writer},
};
use types::{ETag, UnitId};

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
        lease(writer, self.lease).pairs(&self.metadata).build()
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self, StoreError> {
        let mut reader = Reader::new("the row of a container", row, CONTAINER)?;
        let container = Self {
            unit: UnitId::new(reader.number()?),
            etag: ETag::new(reader.number()?),
            last_modified: reader.time()?,
            lease: take_lease(&mut reader)?,
            metadata: reader.pairs()?,
        };
        reader.end()?;
        Ok(container)
    }
}

/// A lease in its own form, which has a version of its own; nothing for one that never was.
fn lease(writer: Writer, lease: Lease) -> Writer {
    writer.bytes(lease.to_stored().as_ref().map_or(&[], |stored| stored.as_slice()))
}

fn take_lease(reader: &mut Reader<'_>) -> Result<Lease, StoreError> {
    Lease::from_stored(reader.bytes()?).map_err(|error| StoreError::corrupt(error.to_string()))
}

#[cfg(test)]
mod tests;
