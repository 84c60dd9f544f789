//! The key types of the Blob service, one function each. Kinds are pinned for ever.

use bytes::Bytes;
use store::{
    StoreError,
    key::{KeyBuilder, KeyParser, KeyRange},
    space::Space,
};
use types::{UnitId, names::BlobName, names::ContainerName};

/// `(account, container name)`: the container.
const CONTAINER: u8 = 0x01;
/// `(container, blob name)`: the base blob.
const BLOB: u8 = 0x02;
/// `(container)`: a deleted container whose blobs are being swept.
const SWEEP: u8 = 0x03;

fn key(kind: u8) -> KeyBuilder {
    KeyBuilder::new(Space::Blob, kind)
}

pub(crate) fn container(account: UnitId, name: &ContainerName) -> Bytes {
    key(CONTAINER).number(account.number()).bytes(name.as_str().as_bytes()).build()
}

/// The containers of an account whose names begin with `prefix`.
pub(crate) fn containers(account: UnitId, prefix: &str) -> KeyRange {
    key(CONTAINER).number(account.number()).bytes_prefix(prefix.as_bytes()).range()
}

/// The place in a listing of containers where `name` would stand.
pub(crate) fn container_marker(account: UnitId, name: &str) -> Bytes {
    key(CONTAINER).number(account.number()).bytes(name.as_bytes()).build()
}

pub(crate) fn parse_container(bytes: &[u8]) -> Result<String, StoreError> {
    parse_name(bytes, CONTAINER)
}

pub(crate) fn blob(container: UnitId, name: &BlobName) -> Bytes {
    key(BLOB).number(container.number()).bytes(name.as_str().as_bytes()).build()
}

/// The blobs of a container whose names begin with `prefix`.
pub(crate) fn blobs(container: UnitId, prefix: &str) -> KeyRange {
    key(BLOB).number(container.number()).bytes_prefix(prefix.as_bytes()).range()
}

/// The place in a listing of blobs where `name` would stand.
pub(crate) fn blob_marker(container: UnitId, name: &str) -> Bytes {
    key(BLOB).number(container.number()).bytes(name.as_bytes()).build()
}

/// The first place behind every blob whose name begins with `prefix`; `None` when nothing can stand there.
pub(crate) fn behind_prefix(container: UnitId, prefix: &str) -> Option<Bytes> {
    blobs(container, prefix).end
}

pub(crate) fn parse_blob(bytes: &[u8]) -> Result<String, StoreError> {
    parse_name(bytes, BLOB)
}

pub(crate) fn sweep(container: UnitId) -> Bytes {
    key(SWEEP).number(container.number()).build()
}

pub(crate) fn sweeps() -> KeyRange {
    key(SWEEP).range()
}

pub(crate) fn parse_sweep(bytes: &[u8]) -> Result<UnitId, StoreError> {
    let mut parser = KeyParser::new(bytes, Space::Blob, SWEEP)?;
    let container = UnitId::new(parser.number()?);
    parser.end()?;
    Ok(container)
}

fn parse_name(bytes: &[u8], kind: u8) -> Result<String, StoreError> {
    let mut parser = KeyParser::new(bytes, Space::Blob, kind)?;
    parser.number()?;
    let name = parser.bytes()?.into_owned();
    parser.end()?;
    String::from_utf8(name).map_err(|_| StoreError::corrupt("a name that is not text"))
}
