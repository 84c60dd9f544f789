//! The stored records of the File service, apart from what they are read into (`state`): each has a conversion from and to
//! bytes, by [`store::record`], so that a field can be added under a new version while old rows stay readable. Golden bytes
//! of all of them are in `testdata/records.tsv`.
//!
//! **Invariant.** What has a history begins with `since`, see `history`.

use bytes::Bytes;
use concurrency::lease::Lease;
use store::{
    StoreError,
    record::{Reader, Writer},
};
use types::{ContentId, ETag, FileTime, Inode, UnitId};

use crate::{
    permission::PermissionKey,
    share::{ShareSettings, ShareTier},
    state::{Entry, File, FileAttributes, Node, Share, SmbProperties},
};

mod jobs;

pub(crate) use jobs::{CopyJob, CopySource, CopySourceRecord, DeletedShare, DeletedUnit, PruneMapRecord, WalkRecord};

/// The newest versions.
const SHARE: u8 = 1;
const ENTRY: u8 = 1;
const NODE: u8 = 1;
const UNIT: u8 = 1;
/// Bytes of the row of a file with a little metadata.
const LIKELY_BYTES: usize = 192;

impl Share {
    pub(crate) fn encode(&self) -> Bytes {
        let writer = Writer::new(SHARE)
            .number(self.unit.number())
            .number(self.root.number())
            .number(self.etag.value())
            .time(self.last_modified);
        let writer = lease(writer, self.lease).pairs(&self.metadata);
        settings(writer, &self.settings)
            .number(self.epoch)
            .optional(self.newest_snapshot, Writer::number)
            .number(self.snapshots)
            .time(self.last_snapshot)
            .build()
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self, StoreError> {
        let mut reader = Reader::new("the row of a share", row, SHARE)?;
        let share = Self {
            unit: UnitId::new(reader.number()?),
            root: Inode::new(reader.number()?),
            etag: ETag::new(reader.number()?),
            last_modified: reader.time()?,
            lease: take_lease(&mut reader)?,
            metadata: reader.pairs()?,
            settings: take_settings(&mut reader)?,
            epoch: reader.number()?,
            newest_snapshot: reader.optional(Reader::number)?,
            snapshots: reader.number()?,
            last_snapshot: reader.time()?,
        };
        reader.end()?;
        Ok(share)
    }
}

fn settings(writer: Writer, settings: &ShareSettings) -> Writer {
    writer
        .small(settings.quota_gib)
        .byte(match settings.tier {
            ShareTier::TransactionOptimized => 0,
            ShareTier::Hot => 1,
            ShareTier::Cool => 2,
            ShareTier::Premium => 3,
        })
        .optional(settings.tier_changed, Writer::time)
        .optional(settings.provisioned_iops, Writer::number)
        .optional(settings.provisioned_bandwidth_mibps, Writer::number)
        .flag(settings.paid_bursting)
        .optional(settings.paid_bursting_max_iops, Writer::number)
        .optional(settings.paid_bursting_max_bandwidth_mibps, Writer::number)
        .optional(settings.snapshot_virtual_directory, Writer::flag)
        .optional(settings.smb_directory_lease, Writer::flag)
}

fn take_settings(reader: &mut Reader<'_>) -> Result<ShareSettings, StoreError> {
    Ok(ShareSettings {
        quota_gib: reader.small()?,
        tier: match reader.byte()? {
            0 => ShareTier::TransactionOptimized,
            1 => ShareTier::Hot,
            2 => ShareTier::Cool,
            3 => ShareTier::Premium,
            other => return Err(reader.malformed(&format!("the access tier {other}"))),
        },
        tier_changed: reader.optional(Reader::time)?,
        provisioned_iops: reader.optional(Reader::number)?,
        provisioned_bandwidth_mibps: reader.optional(Reader::number)?,
        paid_bursting: reader.flag()?,
        paid_bursting_max_iops: reader.optional(Reader::number)?,
        paid_bursting_max_bandwidth_mibps: reader.optional(Reader::number)?,
        snapshot_virtual_directory: reader.optional(Reader::flag)?,
        smb_directory_lease: reader.optional(Reader::flag)?,
    })
}

impl Entry {
    pub(crate) fn encode(&self) -> Bytes {
        let writer = Writer::new(ENTRY).number(self.since).number(self.inode.number());
        writer.flag(self.is_directory).text(&self.name).build()
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self, StoreError> {
        let mut reader = Reader::new("an entry of a directory", row, ENTRY)?;
        let entry = Self {
            since: reader.number()?,
            inode: Inode::new(reader.number()?),
            is_directory: reader.flag()?,
            name: reader.string()?,
        };
        reader.end()?;
        Ok(entry)
    }
}

impl Node {
    pub(crate) fn encode(&self) -> Bytes {
        let SmbProperties { attributes, created, written, changed, accessed, permission } = self.smb;
        Writer::with_capacity(NODE, LIKELY_BYTES)
            .number(self.since)
            .number(self.inode.number())
            .number(self.parent.number())
            .number(self.etag.value())
            .time(self.last_modified)
            .small(attributes.0)
            .number(created.to_row())
            .number(written.to_row())
            .number(changed.to_row())
            .number(accessed.to_row())
            .raw(&permission.0)
            .pairs(&self.metadata)
            .optional(self.file.as_deref(), file)
            .build()
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self, StoreError> {
        let mut reader = Reader::new("the row of a directory or a file", row, NODE)?;
        let node = Self {
            since: reader.number()?,
            inode: Inode::new(reader.number()?),
            parent: Inode::new(reader.number()?),
            etag: ETag::new(reader.number()?),
            last_modified: reader.time()?,
            smb: SmbProperties {
                attributes: FileAttributes(reader.small()?),
                created: FileTime::from_row(reader.number()?),
                written: FileTime::from_row(reader.number()?),
                changed: FileTime::from_row(reader.number()?),
                accessed: FileTime::from_row(reader.number()?),
                permission: PermissionKey(reader.take()?),
            },
            metadata: reader.pairs()?,
            file: reader.optional(take_file)?.map(Box::new),
        };
        reader.end()?;
        Ok(node)
    }
}

fn file(writer: Writer, file: &File) -> Writer {
    let writer = writer
        .number(file.content.number())
        .number(file.length)
        .number(file.allocated)
        .number(file.epoch)
        .optional(file.newest_shared_epoch, Writer::number)
        .flag(file.untrimmed)
        .headers(&file.headers);
    lease(writer, file.lease).optional(file.copy.as_ref(), Writer::copy_state)
}

fn take_file(reader: &mut Reader<'_>) -> Result<File, StoreError> {
    Ok(File {
        content: ContentId::new(reader.number()?),
        length: reader.number()?,
        allocated: reader.number()?,
        epoch: reader.number()?,
        newest_shared_epoch: reader.optional(Reader::number)?,
        untrimmed: reader.flag()?,
        headers: reader.headers()?,
        lease: take_lease(reader)?,
        copy: reader.optional(Reader::copy_state)?,
    })
}

/// Whose share a unit is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnitRecord {
    pub(crate) account: UnitId,
    pub(crate) name: String,
}

impl UnitRecord {
    pub(crate) fn encode(&self) -> Bytes {
        Writer::new(UNIT).number(self.account.number()).text(&self.name).build()
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self, StoreError> {
        let mut reader = Reader::new("the name of a share", row, UNIT)?;
        let record = Self { account: UnitId::new(reader.number()?), name: reader.string()? };
        reader.end()?;
        Ok(record)
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
