//! The key types of the Blob service, one function each. Kinds are pinned for ever.

use bytes::Bytes;
use store::{
    StoreError,
    key::{KeyBuilder, KeyParser, KeyRange},
    space::Space,
};
use types::{ContentId, Timestamp, UnitId, names::ContainerName};

use crate::part::BlobPart;

/// `(account, container name)`: the container.
pub(crate) const CONTAINER: u8 = 0x01;
/// `(container, blob name)`: the base blob, committed or not.
pub(crate) const BLOB: u8 = 0x02;
/// `(container)`: a deleted container whose blobs are being swept.
pub(crate) const SWEEP: u8 = 0x03;
/// `(container, blob name, time)`: a snapshot.
pub(crate) const SNAPSHOT: u8 = 0x04;
/// `(container)`: the account and the name of a container that exists.
pub(crate) const UNIT: u8 = 0x05;
/// `(content, epoch, who)`: something besides the base blob that needs a content at an epoch.
pub(crate) const SHARER: u8 = 0x06;
/// The guard between those who begin and those who end to need a content. Never a row.
const SHARER_GUARD: u8 = 0x07;
/// `(upload)`: a run of uncommitted blocks.
pub(crate) const UPLOAD: u8 = 0x08;
/// `(upload, block id)`: an uncommitted block.
pub(crate) const BLOCK: u8 = 0x09;
/// `(upload)`: an upload that was committed or dropped and whose rows are being removed.
pub(crate) const DROPPED_UPLOAD: u8 = 0x0A;
/// `(time, upload)`: when to look whether an upload was abandoned.
pub(crate) const UPLOAD_DEADLINE: u8 = 0x0B;
/// `(time, container, blob name)`: when a blob expires.
pub(crate) const EXPIRY: u8 = 0x0C;
/// `(account, tag, value, container, blob name)`: a blob that has a tag.
pub(crate) const TAG: u8 = 0x0D;
/// `(content)`: a map with rows that nobody may see any more.
pub(crate) const PRUNE: u8 = 0x0E;
/// `(user, source)`: a content that takes over what it needs of one that is gone.
pub(crate) const ADOPTION: u8 = 0x0F;
/// `(container, blob name)`: a page blob that was made shorter and whose map was not.
pub(crate) const TRIM: u8 = 0x10;
/// `(container, blob name)`: a copy into a blob that has not ended.
pub(crate) const COPY: u8 = 0x11;
/// `(container, blob name, time)`: a version. Nothing writes one yet.
pub(crate) const VERSION: u8 = 0x12;

fn key(kind: u8) -> KeyBuilder {
    KeyBuilder::new(Space::Blob, kind)
}

/// Every row of the service.
pub(crate) fn everything() -> KeyRange {
    KeyBuilder::space(Space::Blob).range()
}

/// All rows of a kind.
pub(crate) fn all(kind: u8) -> KeyRange {
    key(kind).range()
}

/// The rows of a kind whose time is not after `now`.
pub(crate) fn due(kind: u8, now: Timestamp) -> KeyRange {
    KeyRange::between(key(kind).build(), key(kind).number(now.ticks().saturating_add(1)).build())
}

pub(crate) fn container(account: UnitId, name: &ContainerName) -> Bytes {
    container_marker(account, name.as_str())
}

/// The containers of an account whose names begin with `prefix`.
pub(crate) fn containers(account: UnitId, prefix: &str) -> KeyRange {
    key(CONTAINER).number(account.number()).bytes_prefix(prefix.as_bytes()).range()
}

/// The place in a listing of containers where `name` would stand.
pub(crate) fn container_marker(account: UnitId, name: &str) -> Bytes {
    key(CONTAINER).number(account.number()).bytes(name.as_bytes()).build()
}

pub(crate) fn parse_container(bytes: &[u8]) -> Result<(UnitId, String), StoreError> {
    parse_named(bytes, CONTAINER)
}

pub(crate) fn blob(container: UnitId, name: &str) -> Bytes {
    named(BLOB, container, name)
}

/// The blobs of a container whose names begin with `prefix`.
pub(crate) fn blobs(container: UnitId, prefix: &str) -> KeyRange {
    key(BLOB).number(container.number()).bytes_prefix(prefix.as_bytes()).range()
}

/// The first place behind every blob whose name begins with `prefix`; `None` when nothing can stand there.
pub(crate) fn behind_prefix(container: UnitId, prefix: &str) -> Option<Bytes> {
    blobs(container, prefix).end
}

pub(crate) fn parse_blob(bytes: &[u8]) -> Result<(UnitId, String), StoreError> {
    parse_named(bytes, BLOB)
}

/// The row of a part of a blob.
pub(crate) fn part(container: UnitId, name: &str, part: BlobPart) -> Bytes {
    match part {
        BlobPart::Base => blob(container, name),
        BlobPart::Snapshot(time) => snapshot(container, name, time),
        BlobPart::Version(time) => version(container, name, time),
    }
}

pub(crate) fn version(container: UnitId, name: &str, time: Timestamp) -> Bytes {
    timed(VERSION, container, name, time)
}

pub(crate) fn parse_version(bytes: &[u8]) -> Result<(UnitId, String, Timestamp), StoreError> {
    parse_timed(bytes, VERSION)
}

fn timed(kind: u8, container: UnitId, name: &str, time: Timestamp) -> Bytes {
    key(kind).number(container.number()).bytes(name.as_bytes()).number(time.ticks()).build()
}

fn parse_timed(bytes: &[u8], kind: u8) -> Result<(UnitId, String, Timestamp), StoreError> {
    let mut parser = KeyParser::new(bytes, Space::Blob, kind)?;
    let (container, name) = take_named(&mut parser)?;
    let time = Timestamp::from_ticks(parser.number()?);
    parser.end()?;
    Ok((container, name, time))
}

pub(crate) fn snapshot(container: UnitId, name: &str, time: Timestamp) -> Bytes {
    timed(SNAPSHOT, container, name, time)
}

/// The snapshots of a blob, the oldest first.
pub(crate) fn snapshots(container: UnitId, name: &str) -> KeyRange {
    key(SNAPSHOT).number(container.number()).bytes(name.as_bytes()).range()
}

/// The snapshots of all blobs of a container.
pub(crate) fn snapshots_of_container(container: UnitId) -> KeyRange {
    key(SNAPSHOT).number(container.number()).range()
}

pub(crate) fn parse_snapshot(bytes: &[u8]) -> Result<(UnitId, String, Timestamp), StoreError> {
    parse_timed(bytes, SNAPSHOT)
}

pub(crate) fn unit(container: UnitId) -> Bytes {
    key(UNIT).number(container.number()).build()
}

pub(crate) fn sweep(container: UnitId) -> Bytes {
    key(SWEEP).number(container.number()).build()
}

/// The one number of a key that has only one.
pub(crate) fn parse_one(bytes: &[u8], kind: u8) -> Result<u64, StoreError> {
    let mut parser = KeyParser::new(bytes, Space::Blob, kind)?;
    let number = parser.number()?;
    parser.end()?;
    Ok(number)
}

/// The two numbers of a key that has two.
pub(crate) fn parse_two(bytes: &[u8], kind: u8) -> Result<(u64, u64), StoreError> {
    let mut parser = KeyParser::new(bytes, Space::Blob, kind)?;
    let numbers = (parser.number()?, parser.number()?);
    parser.end()?;
    Ok(numbers)
}

pub(crate) fn sharer(content: ContentId, epoch: u64, who: u64) -> Bytes {
    key(SHARER).number(content.number()).number(epoch).number(who).build()
}

/// Everything besides the base blob that needs a content, the oldest epoch first.
pub(crate) fn sharers(content: ContentId) -> KeyRange {
    key(SHARER).number(content.number()).range()
}

pub(crate) fn parse_sharer(bytes: &[u8]) -> Result<(ContentId, u64, u64), StoreError> {
    let mut parser = KeyParser::new(bytes, Space::Blob, SHARER)?;
    let sharer = (ContentId::new(parser.number()?), parser.number()?, parser.number()?);
    parser.end()?;
    Ok(sharer)
}

pub(crate) fn sharer_guard(content: ContentId) -> Bytes {
    key(SHARER_GUARD).number(content.number()).build()
}

pub(crate) fn upload(upload: ContentId) -> Bytes {
    key(UPLOAD).number(upload.number()).build()
}

pub(crate) fn block(upload: ContentId, id: &[u8]) -> Bytes {
    key(BLOCK).number(upload.number()).bytes(id).build()
}

pub(crate) fn blocks(upload: ContentId) -> KeyRange {
    key(BLOCK).number(upload.number()).range()
}

pub(crate) fn parse_block(bytes: &[u8]) -> Result<(ContentId, Bytes), StoreError> {
    let mut parser = KeyParser::new(bytes, Space::Blob, BLOCK)?;
    let upload = ContentId::new(parser.number()?);
    let id = Bytes::copy_from_slice(&parser.bytes()?);
    parser.end()?;
    Ok((upload, id))
}

pub(crate) fn dropped_upload(upload: ContentId) -> Bytes {
    key(DROPPED_UPLOAD).number(upload.number()).build()
}

pub(crate) fn upload_deadline(time: Timestamp, upload: ContentId) -> Bytes {
    key(UPLOAD_DEADLINE).number(time.ticks()).number(upload.number()).build()
}

pub(crate) fn expiry(time: Timestamp, container: UnitId, name: &str) -> Bytes {
    key(EXPIRY).number(time.ticks()).number(container.number()).bytes(name.as_bytes()).build()
}

pub(crate) fn parse_expiry(bytes: &[u8]) -> Result<(Timestamp, UnitId, String), StoreError> {
    let mut parser = KeyParser::new(bytes, Space::Blob, EXPIRY)?;
    let time = Timestamp::from_ticks(parser.number()?);
    let (container, name) = take_named(&mut parser)?;
    parser.end()?;
    Ok((time, container, name))
}

/// A row of the tag index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TagKey {
    pub(crate) account: UnitId,
    pub(crate) tag: String,
    pub(crate) value: String,
    pub(crate) container: UnitId,
    pub(crate) blob: String,
}

pub(crate) fn tag(account: UnitId, tag: &str, value: &str, container: UnitId, blob: &str) -> Bytes {
    tag_value(account, tag, value).number(container.number()).bytes(blob.as_bytes()).build()
}

/// The rows of one tag with one value.
pub(crate) fn tag_value(account: UnitId, tag: &str, value: &str) -> KeyBuilder {
    key(TAG).number(account.number()).bytes(tag.as_bytes()).bytes(value.as_bytes())
}

/// The rows of one tag, whatever its value.
pub(crate) fn tag_rows(account: UnitId, tag: &str) -> KeyRange {
    key(TAG).number(account.number()).bytes(tag.as_bytes()).range()
}

pub(crate) fn parse_tag(bytes: &[u8]) -> Result<TagKey, StoreError> {
    let mut parser = KeyParser::new(bytes, Space::Blob, TAG)?;
    let account = UnitId::new(parser.number()?);
    let (tag, value) = (text(&parser.bytes()?)?, text(&parser.bytes()?)?);
    let (container, blob) = take_named(&mut parser)?;
    parser.end()?;
    Ok(TagKey { account, tag, value, container, blob })
}

pub(crate) fn prune(content: ContentId) -> Bytes {
    key(PRUNE).number(content.number()).build()
}

pub(crate) fn adoption(user: ContentId, source: ContentId) -> Bytes {
    key(ADOPTION).number(user.number()).number(source.number()).build()
}

pub(crate) fn trim(container: UnitId, name: &str) -> Bytes {
    named(TRIM, container, name)
}

pub(crate) fn copy(container: UnitId, name: &str) -> Bytes {
    named(COPY, container, name)
}

/// The container and the blob of a key that has only these.
pub(crate) fn parse_named(bytes: &[u8], kind: u8) -> Result<(UnitId, String), StoreError> {
    let mut parser = KeyParser::new(bytes, Space::Blob, kind)?;
    let named = take_named(&mut parser)?;
    parser.end()?;
    Ok(named)
}

fn named(kind: u8, container: UnitId, name: &str) -> Bytes {
    key(kind).number(container.number()).bytes(name.as_bytes()).build()
}

fn take_named(parser: &mut KeyParser<'_>) -> Result<(UnitId, String), StoreError> {
    Ok((UnitId::new(parser.number()?), text(&parser.bytes()?)?))
}

fn text(bytes: &[u8]) -> Result<String, StoreError> {
    String::from_utf8(bytes.to_vec()).map_err(|_| StoreError::corrupt("a name that is not text"))
}

#[cfg(test)]
mod tests;
