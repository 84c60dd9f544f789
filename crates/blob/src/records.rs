//! The stored records of the Blob service. Each begins with its format; a new format is a new struct and a conversion.

use std::borrow::Cow;

use bytes::Bytes;
use concurrency::lease::Lease;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use store::StoreError;
use types::{ETag, Timestamp, UnitId};

mod blob;
mod content_md5;
mod jobs;

pub(crate) use blob::{Blob, CopyProgress, Extra, Rehydration, Tier};
pub use blob::{BlobKind, CopyState, CopyStatus, RehydratePriority};
pub use content_md5::ContentMd5;
pub(crate) use jobs::{
    AdoptionRecord, BlockRecord, CopyJob, CopySource, DroppedUpload, PlaceRecord, PruneRecord, SweepRecord, Upload,
};

const CONTAINER_FORMAT: u8 = 2;

/// Names and values as the client sent them; names keep their case and compare without it.
pub type Metadata = Vec<(String, String)>;

/// The tags of a blob, in the order of their keys.
pub type Tags = Vec<(String, String)>;

/// The HTTP properties that a blob is served with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpHeaders {
    /// Content-Type; none is that of bytes of no known type, and an empty one is really none
    pub content_type: Option<String>,
    /// Content-Encoding
    pub content_encoding: Option<String>,
    /// Content-Language
    pub content_language: Option<String>,
    /// Content-Disposition
    pub content_disposition: Option<String>,
    /// Cache-Control
    pub cache_control: Option<String>,
    /// Content-MD5 of the whole blob
    #[serde(with = "content_md5")]
    pub content_md5: Option<ContentMd5>,
}

/// A container. Who may read it without a credential stands in its access control list.
#[derive(Clone, Debug)]
pub(crate) struct Container {
    pub(crate) unit: UnitId,
    pub(crate) etag: ETag,
    pub(crate) last_modified: Timestamp,
    pub(crate) lease: Lease,
    pub(crate) metadata: Metadata,
}

#[derive(Serialize, Deserialize)]
struct ContainerRecord<'a> {
    unit: u64,
    etag: u64,
    last_modified: u64,
    lease: Cow<'a, [u8]>,
    metadata: Cow<'a, [(String, String)]>,
}

impl Container {
    pub(crate) fn encode(&self) -> Result<Bytes, StoreError> {
        let lease = self.lease.to_stored();
        encode(
            CONTAINER_FORMAT,
            &ContainerRecord {
                unit: self.unit.number(),
                etag: self.etag.value(),
                last_modified: self.last_modified.ticks(),
                lease: Cow::Borrowed(lease.as_ref().map_or(&[], |stored| stored.as_slice())),
                metadata: Cow::Borrowed(&self.metadata),
            },
        )
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self, StoreError> {
        let record: ContainerRecord<'_> = decode("a container", CONTAINER_FORMAT, row)?;
        Ok(Self {
            unit: UnitId::new(record.unit),
            etag: ETag::new(record.etag),
            last_modified: Timestamp::from_ticks(record.last_modified),
            lease: lease(&record.lease)?,
            metadata: record.metadata.into_owned(),
        })
    }
}

/// The account and the name of a container, found by its unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UnitRecord {
    pub(crate) account: u64,
    pub(crate) name: String,
}

impl UnitRecord {
    pub(crate) fn encode(&self) -> Result<Bytes, StoreError> {
        encode(1, self)
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self, StoreError> {
        decode("a container's unit", 1, row)
    }
}

fn encode<T: Serialize>(format: u8, record: &T) -> Result<Bytes, StoreError> {
    let mut start = Vec::with_capacity(192);
    start.push(format);
    let encoded = postcard::to_extend(record, start);
    encoded.map(Bytes::from).map_err(|error| StoreError::corrupt(format!("a record cannot be written: {error}")))
}

fn decode<T: DeserializeOwned>(what: &str, format: u8, row: &[u8]) -> Result<T, StoreError> {
    match row.split_first() {
        Some((found, record)) if *found == format => postcard::from_bytes(record)
            .map_err(|error| StoreError::corrupt(format!("the row of {what} cannot be read: {error}"))),
        Some((found, _)) => {
            Err(StoreError::corrupt(format!("the row of {what} has format {found}, this build reads {format}")))
        }
        None => Err(StoreError::corrupt(format!("the row of {what} is empty"))),
    }
}

fn lease(stored: &[u8]) -> Result<Lease, StoreError> {
    Lease::from_stored(stored).map_err(|error| StoreError::corrupt(error.to_string()))
}
