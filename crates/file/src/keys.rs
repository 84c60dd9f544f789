//! The key types of the File service, one function each. Kinds are pinned for ever.

use bytes::Bytes;
use store::{
    StoreError,
    key::{KeyBuilder, KeyParser, KeyRange},
    space::Space,
};
use types::{ContentId, Inode, Timestamp, UnitId, names::ShareName};

/// `(account, share name)`: the share.
pub(crate) const SHARE: u8 = 0x01;
/// `(share, time)`: a snapshot of a share.
pub(crate) const SHARE_SNAPSHOT: u8 = 0x02;
/// `(share)`: the account and the name of a share that exists.
pub(crate) const UNIT: u8 = 0x03;
/// `(share, parent, upcased name)`: what a name in a directory means.
pub(crate) const ENTRY: u8 = 0x04;
/// `(share, parent, upcased name, epoch)`: what it meant until that epoch, for snapshots.
pub(crate) const ENTRY_HISTORY: u8 = 0x05;
/// `(share, inode)`: a directory or a file.
pub(crate) const NODE: u8 = 0x06;
/// `(share, inode, epoch)`: what it was until that epoch, for snapshots.
pub(crate) const NODE_HISTORY: u8 = 0x07;
/// The guard of a directory between those who make entries and those who rest on there being none. Never a row.
const DIRECTORY_GUARD: u8 = 0x08;
/// `(share, key)`: a security descriptor.
pub(crate) const PERMISSION: u8 = 0x09;
/// `(share, stripe)`: bytes that files of the share hold, a part of the sum.
pub(crate) const USAGE: u8 = 0x0A;
/// `(share)`: a deleted share whose rows are being swept.
pub(crate) const SWEEP: u8 = 0x0B;
/// `(share)`: a share that lost a snapshot, and may hold rows that nobody sees any more.
pub(crate) const PRUNE: u8 = 0x0C;
/// `(share, inode, content)`: a map that may hold what nobody sees any more.
pub(crate) const PRUNE_MAP: u8 = 0x0D;
/// `(share, inode)`: a file that was made shorter and whose map was not.
pub(crate) const TRIM: u8 = 0x0E;
/// `(share, inode)`: a copy into a file that has not ended.
pub(crate) const COPY: u8 = 0x0F;
/// `(account, share name, version)`: a share that was deleted and can be restored.
pub(crate) const DELETED_SHARE: u8 = 0x10;
/// `(time, account, share name, version)`: when a deleted share is gone for good.
pub(crate) const DELETED_SHARE_DEADLINE: u8 = 0x11;
/// `(share)`: where a deleted share that can be restored stands.
pub(crate) const DELETED_UNIT: u8 = 0x12;
/// `(content, epoch, content)`: a state of a map that a copy reads into another map.
pub(crate) const COPY_SOURCE: u8 = 0x13;

fn key(kind: u8) -> KeyBuilder {
    KeyBuilder::new(Space::File, kind)
}

/// Every row of the service.
pub(crate) fn everything() -> KeyRange {
    KeyBuilder::space(Space::File).range()
}

/// All rows of a kind.
pub(crate) fn all(kind: u8) -> KeyRange {
    key(kind).range()
}

/// The rows of a kind whose time is not after `now`.
pub(crate) fn due(kind: u8, now: Timestamp) -> KeyRange {
    KeyRange::between(key(kind).build(), key(kind).number(now.ticks().saturating_add(1)).build())
}

/// The rows of a kind that belong to a share.
pub(crate) fn of_share(kind: u8, share: UnitId) -> KeyRange {
    key(kind).number(share.number()).range()
}

pub(crate) fn share(account: UnitId, name: &ShareName) -> Bytes {
    share_marker(account, name.as_str())
}

/// The shares of an account whose names begin with `prefix`.
pub(crate) fn shares(account: UnitId, prefix: &str) -> KeyRange {
    key(SHARE).number(account.number()).bytes_prefix(prefix.as_bytes()).range()
}

/// The place in a listing of shares where `name` would stand.
pub(crate) fn share_marker(account: UnitId, name: &str) -> Bytes {
    key(SHARE).number(account.number()).bytes(name.as_bytes()).build()
}

pub(crate) fn parse_share(bytes: &[u8]) -> Result<(UnitId, String), StoreError> {
    let mut parser = KeyParser::new(bytes, Space::File, SHARE)?;
    let named = (UnitId::new(parser.number()?), text(&parser.bytes()?)?);
    parser.end()?;
    Ok(named)
}

pub(crate) fn share_snapshot(share: UnitId, time: Timestamp) -> Bytes {
    key(SHARE_SNAPSHOT).number(share.number()).number(time.ticks()).build()
}

/// The snapshots of a share, the oldest first.
pub(crate) fn share_snapshots(share: UnitId) -> KeyRange {
    of_share(SHARE_SNAPSHOT, share)
}

pub(crate) fn parse_share_snapshot(bytes: &[u8]) -> Result<(UnitId, Timestamp), StoreError> {
    let (share, time) = parse_two(bytes, SHARE_SNAPSHOT)?;
    Ok((UnitId::new(share), Timestamp::from_ticks(time)))
}

pub(crate) fn unit(share: UnitId) -> Bytes {
    one(UNIT, share)
}

/// A row of a share that has one of a kind.
pub(crate) fn one(kind: u8, share: UnitId) -> Bytes {
    key(kind).number(share.number()).build()
}

/// The one number of a key that has only one.
pub(crate) fn parse_one(bytes: &[u8], kind: u8) -> Result<u64, StoreError> {
    let mut parser = KeyParser::new(bytes, Space::File, kind)?;
    let number = parser.number()?;
    parser.end()?;
    Ok(number)
}

/// The two numbers of a key that has two.
pub(crate) fn parse_two(bytes: &[u8], kind: u8) -> Result<(u64, u64), StoreError> {
    let mut parser = KeyParser::new(bytes, Space::File, kind)?;
    let numbers = (parser.number()?, parser.number()?);
    parser.end()?;
    Ok(numbers)
}

/// The key of an entry, to which a history adds an epoch.
pub(crate) fn entry(kind: u8, share: UnitId, parent: Inode, name: &str) -> KeyBuilder {
    key(kind).number(share.number()).number(parent.number()).bytes(name.as_bytes())
}

/// The entries of a directory whose upcased names begin with `prefix`, or what is kept of them.
pub(crate) fn entries(kind: u8, share: UnitId, parent: Inode, prefix: &str) -> KeyRange {
    key(kind).number(share.number()).number(parent.number()).bytes_prefix(prefix.as_bytes()).range()
}

/// The share, the parent and the upcased name of an entry.
pub(crate) fn parse_entry(bytes: &[u8]) -> Result<(UnitId, Inode, String), StoreError> {
    let mut parser = KeyParser::new(bytes, Space::File, ENTRY)?;
    let entry = take_entry(&mut parser)?;
    parser.end()?;
    Ok(entry)
}

/// The same of what is kept, with the epoch until which it held.
pub(crate) fn parse_entry_history(bytes: &[u8]) -> Result<(UnitId, Inode, String, u64), StoreError> {
    let mut parser = KeyParser::new(bytes, Space::File, ENTRY_HISTORY)?;
    let (share, parent, name) = take_entry(&mut parser)?;
    let until = parser.number()?;
    parser.end()?;
    Ok((share, parent, name, until))
}

fn take_entry(parser: &mut KeyParser<'_>) -> Result<(UnitId, Inode, String), StoreError> {
    Ok((UnitId::new(parser.number()?), Inode::new(parser.number()?), text(&parser.bytes()?)?))
}

/// The key of a node, or of something else that a node has one of; a history adds an epoch.
pub(crate) fn node(kind: u8, share: UnitId, inode: Inode) -> KeyBuilder {
    key(kind).number(share.number()).number(inode.number())
}

/// The share and the inode of what is kept of a node, and the epoch until which it held.
pub(crate) fn parse_node_history(bytes: &[u8]) -> Result<(UnitId, Inode, u64), StoreError> {
    let mut parser = KeyParser::new(bytes, Space::File, NODE_HISTORY)?;
    let history = (UnitId::new(parser.number()?), Inode::new(parser.number()?), parser.number()?);
    parser.end()?;
    Ok(history)
}

/// A map of a node that is to be pruned.
pub(crate) fn prune_map(share: UnitId, inode: Inode, content: ContentId) -> Bytes {
    node(PRUNE_MAP, share, inode).number(content.number()).build()
}

/// The share, the inode and the content of a map that is to be pruned.
pub(crate) fn parse_prune_map(bytes: &[u8]) -> Result<(UnitId, Inode, ContentId), StoreError> {
    let mut parser = KeyParser::new(bytes, Space::File, PRUNE_MAP)?;
    let named = (UnitId::new(parser.number()?), Inode::new(parser.number()?), ContentId::new(parser.number()?));
    parser.end()?;
    Ok(named)
}

/// A state of a map that a copy reads.
pub(crate) fn copy_source(content: ContentId, epoch: u64, staged: ContentId) -> Bytes {
    key(COPY_SOURCE).number(content.number()).number(epoch).number(staged.number()).build()
}

/// The states of a map that copies read, the oldest first.
pub(crate) fn copy_sources(content: ContentId) -> KeyRange {
    key(COPY_SOURCE).number(content.number()).range()
}

/// The map that is read, at which epoch, and the one that it is read into.
pub(crate) fn parse_copy_source(bytes: &[u8]) -> Result<(ContentId, u64, ContentId), StoreError> {
    let mut parser = KeyParser::new(bytes, Space::File, COPY_SOURCE)?;
    let named = (ContentId::new(parser.number()?), parser.number()?, ContentId::new(parser.number()?));
    parser.end()?;
    Ok(named)
}

pub(crate) fn directory_guard(share: UnitId, directory: Inode) -> Bytes {
    node(DIRECTORY_GUARD, share, directory).build()
}

pub(crate) fn permission(share: UnitId, id: [u8; 16]) -> Bytes {
    key(PERMISSION).number(share.number()).fixed(&id).build()
}

pub(crate) fn usage(share: UnitId, stripe: u64) -> Bytes {
    key(USAGE).number(share.number()).number(stripe).build()
}

/// The security descriptor that a key names.
pub(crate) fn parse_permission(bytes: &[u8]) -> Result<(UnitId, [u8; 16]), StoreError> {
    let mut parser = KeyParser::new(bytes, Space::File, PERMISSION)?;
    let permission = (UnitId::new(parser.number()?), parser.fixed()?);
    parser.end()?;
    Ok(permission)
}

/// A deleted share, by its name and the time that tells it from others of that name.
pub(crate) fn deleted_share(account: UnitId, name: &str, version: Timestamp) -> Bytes {
    key(DELETED_SHARE).number(account.number()).bytes(name.as_bytes()).number(version.ticks()).build()
}

/// The deleted shares of an account whose names begin with `prefix`.
pub(crate) fn deleted_shares(account: UnitId, prefix: &str) -> KeyRange {
    key(DELETED_SHARE).number(account.number()).bytes_prefix(prefix.as_bytes()).range()
}

pub(crate) fn parse_deleted_share(bytes: &[u8]) -> Result<(UnitId, String, Timestamp), StoreError> {
    let mut parser = KeyParser::new(bytes, Space::File, DELETED_SHARE)?;
    take_deleted(&mut parser)
}

/// When a deleted share is gone for good.
pub(crate) fn deleted_share_deadline(until: Timestamp, account: UnitId, name: &str, version: Timestamp) -> Bytes {
    key(DELETED_SHARE_DEADLINE)
        .number(until.ticks())
        .number(account.number())
        .bytes(name.as_bytes())
        .number(version.ticks())
        .build()
}

pub(crate) fn parse_deleted_share_deadline(bytes: &[u8]) -> Result<(Timestamp, UnitId, String, Timestamp), StoreError> {
    let mut parser = KeyParser::new(bytes, Space::File, DELETED_SHARE_DEADLINE)?;
    let until = Timestamp::from_ticks(parser.number()?);
    let (account, name, version) = take_deleted(&mut parser)?;
    Ok((until, account, name, version))
}

fn take_deleted(parser: &mut KeyParser<'_>) -> Result<(UnitId, String, Timestamp), StoreError> {
    let deleted = (UnitId::new(parser.number()?), text(&parser.bytes()?)?, Timestamp::from_ticks(parser.number()?));
    parser.end()?;
    Ok(deleted)
}

fn text(bytes: &[u8]) -> Result<String, StoreError> {
    String::from_utf8(bytes.to_vec()).map_err(|_| StoreError::corrupt("a name that is not text"))
}

#[cfg(test)]
mod tests;
