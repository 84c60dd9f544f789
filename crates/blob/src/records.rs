//! The stored records of the Blob service. Each begins with its format; a new format is a new struct and a conversion.

use access::need::PublicAccess;
use bytes::Bytes;
use concurrency::lease::Lease;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use store::{StoreError, content::Holdings};
use types::{ContentId, ETag, Timestamp, UnitId};

const CONTAINER_FORMAT: u8 = 1;
const BLOB_FORMAT: u8 = 1;

/// Names and values as the client sent them; names keep their case and compare without it.
pub type Metadata = Vec<(String, String)>;

/// The HTTP properties that a blob is served with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpHeaders {
    /// Content-Type
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
    pub content_md5: Option<[u8; 16]>,
}

/// A container.
#[derive(Clone, Debug)]
pub(crate) struct Container {
    pub(crate) unit: UnitId,
    pub(crate) etag: ETag,
    pub(crate) last_modified: Timestamp,
    pub(crate) lease: Lease,
    pub(crate) public_access: PublicAccess,
    pub(crate) metadata: Metadata,
}

#[derive(Serialize, Deserialize)]
struct ContainerRecord {
    unit: u64,
    etag: u64,
    last_modified: u64,
    lease: Vec<u8>,
    public_access: PublicAccess,
    metadata: Metadata,
}

impl Container {
    pub(crate) fn encode(&self) -> Result<Bytes, StoreError> {
        encode(
            CONTAINER_FORMAT,
            &ContainerRecord {
                unit: self.unit.number(),
                etag: self.etag.value(),
                last_modified: self.last_modified.ticks(),
                lease: stored_lease(&self.lease),
                public_access: self.public_access,
                metadata: self.metadata.clone(),
            },
        )
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self, StoreError> {
        let record: ContainerRecord = decode("a container", CONTAINER_FORMAT, row)?;
        Ok(Self {
            unit: UnitId::new(record.unit),
            etag: ETag::new(record.etag),
            last_modified: Timestamp::from_ticks(record.last_modified),
            lease: lease(&record.lease)?,
            public_access: record.public_access,
            metadata: record.metadata,
        })
    }
}

/// A base blob.
#[derive(Clone, Debug)]
pub(crate) struct Blob {
    pub(crate) content: ContentId,
    pub(crate) kind: BlobKind,
    pub(crate) etag: ETag,
    pub(crate) last_modified: Timestamp,
    pub(crate) created: Timestamp,
    pub(crate) length: u64,
    pub(crate) holdings: Holdings,
    pub(crate) headers: HttpHeaders,
    pub(crate) metadata: Metadata,
    pub(crate) lease: Lease,
}

/// The three kinds of blobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BlobKind {
    /// Written whole or in blocks.
    Block,
    /// Written in pages at any place.
    Page,
    /// Written at its end.
    Append,
}

#[derive(Serialize, Deserialize)]
struct BlobRecord {
    content: u64,
    kind: BlobKind,
    etag: u64,
    last_modified: u64,
    created: u64,
    length: u64,
    holdings: Vec<u8>,
    headers: HttpHeaders,
    metadata: Metadata,
    lease: Vec<u8>,
}

impl Blob {
    pub(crate) fn encode(&self) -> Result<Bytes, StoreError> {
        encode(
            BLOB_FORMAT,
            &BlobRecord {
                content: self.content.number(),
                kind: self.kind,
                etag: self.etag.value(),
                last_modified: self.last_modified.ticks(),
                created: self.created.ticks(),
                length: self.length,
                holdings: self.holdings.encode().to_vec(),
                headers: self.headers.clone(),
                metadata: self.metadata.clone(),
                lease: stored_lease(&self.lease),
            },
        )
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self, StoreError> {
        let record: BlobRecord = decode("a blob", BLOB_FORMAT, row)?;
        Ok(Self {
            content: ContentId::new(record.content),
            kind: record.kind,
            etag: ETag::new(record.etag),
            last_modified: Timestamp::from_ticks(record.last_modified),
            created: Timestamp::from_ticks(record.created),
            length: record.length,
            holdings: Holdings::decode(&record.holdings)?,
            headers: record.headers,
            metadata: record.metadata,
            lease: lease(&record.lease)?,
        })
    }
}

fn encode<T: Serialize>(format: u8, record: &T) -> Result<Bytes, StoreError> {
    let encoded = postcard::to_extend(record, vec![format]);
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

fn stored_lease(lease: &Lease) -> Vec<u8> {
    lease.to_stored().map(Vec::from).unwrap_or_default()
}

fn lease(stored: &[u8]) -> Result<Lease, StoreError> {
    Lease::from_stored(stored).map_err(|error| StoreError::corrupt(error.to_string()))
}
