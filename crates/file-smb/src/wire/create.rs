//! CREATE (MS-SMB2 2.2.13, 2.2.14): opening a file, a directory or a pipe. Its contexts are in `create_contexts.rs`.

use super::{
    FileId,
    bytes::{Field, Reader, align, layout, length16, length32, part, patch32, size},
    create_contexts::{CreateContexts, ResponseContexts},
    header::HEADER,
};
use crate::NtStatus;
use bytes::BufMut;

/// Access rights (MS-SMB2 2.2.13.1).
pub mod access {
    #![expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.13.1")]
    pub const READ_DATA: u32 = 0x0000_0001;
    pub const WRITE_DATA: u32 = 0x0000_0002;
    pub const APPEND_DATA: u32 = 0x0000_0004;
    pub const READ_EA: u32 = 0x0000_0008;
    pub const WRITE_EA: u32 = 0x0000_0010;
    pub const EXECUTE: u32 = 0x0000_0020;
    pub const DELETE_CHILD: u32 = 0x0000_0040;
    pub const READ_ATTRIBUTES: u32 = 0x0000_0080;
    pub const WRITE_ATTRIBUTES: u32 = 0x0000_0100;
    pub const DELETE: u32 = 0x0001_0000;
    pub const READ_CONTROL: u32 = 0x0002_0000;
    pub const WRITE_DAC: u32 = 0x0004_0000;
    pub const WRITE_OWNER: u32 = 0x0008_0000;
    pub const SYNCHRONIZE: u32 = 0x0010_0000;
    pub const ACCESS_SYSTEM_SECURITY: u32 = 0x0100_0000;
    pub const MAXIMUM_ALLOWED: u32 = 0x0200_0000;
    pub const GENERIC_ALL: u32 = 0x1000_0000;
    pub const GENERIC_EXECUTE: u32 = 0x2000_0000;
    pub const GENERIC_WRITE: u32 = 0x4000_0000;
    pub const GENERIC_READ: u32 = 0x8000_0000;
    /// Every specific and standard right of a file.
    pub const FILE_ALL: u32 = 0x001F_01FF;
}

/// Share access.
pub mod share_access {
    #![expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.13")]
    pub const READ: u32 = 1;
    pub const WRITE: u32 = 2;
    pub const DELETE: u32 = 4;
}

/// What is to happen when the name is there or not.
pub mod disposition {
    #![expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.13")]
    pub const SUPERSEDE: u32 = 0;
    pub const OPEN: u32 = 1;
    pub const CREATE: u32 = 2;
    pub const OPEN_IF: u32 = 3;
    pub const OVERWRITE: u32 = 4;
    pub const OVERWRITE_IF: u32 = 5;
}

/// Options of a create.
pub mod options {
    #![expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.13")]
    pub const DIRECTORY_FILE: u32 = 0x0000_0001;
    pub const WRITE_THROUGH: u32 = 0x0000_0002;
    pub const SEQUENTIAL_ONLY: u32 = 0x0000_0004;
    pub const NO_INTERMEDIATE_BUFFERING: u32 = 0x0000_0008;
    pub const SYNCHRONOUS_IO_ALERT: u32 = 0x0000_0010;
    pub const SYNCHRONOUS_IO_NONALERT: u32 = 0x0000_0020;
    pub const NON_DIRECTORY_FILE: u32 = 0x0000_0040;
    pub const COMPLETE_IF_OPLOCKED: u32 = 0x0000_0100;
    pub const NO_EA_KNOWLEDGE: u32 = 0x0000_0200;
    pub const RANDOM_ACCESS: u32 = 0x0000_0800;
    pub const DELETE_ON_CLOSE: u32 = 0x0000_1000;
    pub const OPEN_BY_FILE_ID: u32 = 0x0000_2000;
    pub const OPEN_FOR_BACKUP_INTENT: u32 = 0x0000_4000;
    pub const NO_COMPRESSION: u32 = 0x0000_8000;
    pub const OPEN_REMOTE_INSTANCE: u32 = 0x0000_0400;
    pub const OPEN_REQUIRING_OPLOCK: u32 = 0x0001_0000;
    pub const DISALLOW_EXCLUSIVE: u32 = 0x0002_0000;
    pub const RESERVE_OPFILTER: u32 = 0x0010_0000;
    pub const OPEN_REPARSE_POINT: u32 = 0x0020_0000;
    pub const OPEN_NO_RECALL: u32 = 0x0040_0000;
    pub const OPEN_FOR_FREE_SPACE_QUERY: u32 = 0x0080_0000;
}

/// Attributes of files (MS-FSCC 2.6).
pub mod attributes {
    #![expect(missing_docs, reason = "the names are those of MS-FSCC 2.6")]
    pub const READONLY: u32 = 0x0001;
    pub const HIDDEN: u32 = 0x0002;
    pub const SYSTEM: u32 = 0x0004;
    pub const DIRECTORY: u32 = 0x0010;
    pub const ARCHIVE: u32 = 0x0020;
    pub const NORMAL: u32 = 0x0080;
    pub const TEMPORARY: u32 = 0x0100;
    pub const SPARSE_FILE: u32 = 0x0200;
    pub const REPARSE_POINT: u32 = 0x0400;
    pub const COMPRESSED: u32 = 0x0800;
    pub const OFFLINE: u32 = 0x1000;
    pub const NOT_CONTENT_INDEXED: u32 = 0x2000;
    pub const ENCRYPTED: u32 = 0x4000;
    pub const INTEGRITY_STREAM: u32 = 0x8000;
    pub const NO_SCRUB_DATA: u32 = 0x2_0000;
}

/// Levels of oplocks.
pub mod oplock_level {
    #![expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.13")]
    pub const NONE: u8 = 0x00;
    pub const II: u8 = 0x01;
    pub const EXCLUSIVE: u8 = 0x08;
    pub const BATCH: u8 = 0x09;
    pub const LEASE: u8 = 0xFF;
}

/// What was done.
pub mod create_action {
    #![expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.14")]
    pub const SUPERSEDED: u32 = 0;
    pub const OPENED: u32 = 1;
    pub const CREATED: u32 = 2;
    pub const OVERWRITTEN: u32 = 3;
}

/// Asks for an open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CreateRequest<'a> {
    /// See [`oplock_level`].
    pub requested_oplock_level: u8,
    /// Anonymous, identification, impersonation, delegate.
    pub impersonation_level: u32,
    /// See [`access`].
    pub desired_access: u32,
    /// See [`attributes`].
    pub file_attributes: u32,
    /// See [`share_access`].
    pub share_access: u32,
    /// See [`disposition`].
    pub create_disposition: u32,
    /// See [`options`].
    pub create_options: u32,
    /// From the root of the share, UTF-16, without a separator at the beginning. See [`super::text::decode`].
    pub name: &'a [u8],
    /// What is asked besides.
    pub contexts: CreateContexts<'a>,
}

impl<'a> CreateRequest<'a> {
    const FIXED: usize = 56;

    /// Reads a message (header and body).
    ///
    /// # Errors
    /// `INVALID_PARAMETER`: malformed.
    pub fn parse(message: &'a [u8]) -> Result<Self, NtStatus> {
        let mut reader = Reader::at(message, HEADER)?;
        if reader.u16()? != 57 {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        reader.skip(1)?;
        let (requested_oplock_level, impersonation_level) = (reader.u8()?, reader.u32()?);
        // SmbCreateFlags and a reserved field, both to be ignored.
        reader.skip(16)?;
        let (desired_access, file_attributes, share_access) = (reader.u32()?, reader.u32()?, reader.u32()?);
        let (create_disposition, create_options) = (reader.u32()?, reader.u32()?);
        let (name_offset, name_length) = (usize::from(reader.u16()?), usize::from(reader.u16()?));
        let (contexts_offset, contexts_length) = (size(reader.u32()?), size(reader.u32()?));
        let earliest = HEADER.saturating_add(Self::FIXED);
        let name = part(message, name_offset, name_length, earliest)?;
        if name.len() % 2 != 0 {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let contexts = part(message, contexts_offset, contexts_length, earliest)?;
        if !contexts.is_empty() && !contexts_offset.is_multiple_of(8) {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        Ok(Self {
            requested_oplock_level,
            impersonation_level,
            desired_access,
            file_attributes,
            share_access,
            create_disposition,
            create_options,
            name,
            contexts: CreateContexts::parse(contexts)?,
        })
    }

    /// Appends the body, as a client would send it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.put_u16_le(57);
        out.put_u8(0);
        out.put_u8(self.requested_oplock_level);
        out.put_u32_le(self.impersonation_level);
        out.put_u64_le(0);
        out.put_u64_le(0);
        out.put_u32_le(self.desired_access);
        out.put_u32_le(self.file_attributes);
        out.put_u32_le(self.share_access);
        out.put_u32_le(self.create_disposition);
        out.put_u32_le(self.create_options);
        out.put_u16_le(length16(HEADER.saturating_add(Self::FIXED)));
        out.put_u16_le(length16(self.name.len()));
        out.put_u64_le(0);
        out.put_slice(self.name);
        align(out, start, 8);
        let contexts = out.len();
        self.contexts.encode(out);
        let length = out.len().saturating_sub(contexts);
        if length > 0 {
            let offset = contexts.saturating_sub(start).saturating_add(HEADER);
            patch32(out, start.saturating_add(48), length32(offset));
            patch32(out, start.saturating_add(52), length32(length));
        } else if self.name.is_empty() {
            // The buffer has at least a byte.
            out.put_u8(0);
        }
    }
}

layout! {
    /// Times and sizes of a file, as CREATE, CLOSE and FileNetworkOpenInformation have them. Times are FILETIMEs.
    FileTimes {
        creation_time: u64,
        last_access_time: u64,
        last_write_time: u64,
        change_time: u64,
    }
}

/// An open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CreateResponse {
    /// See [`oplock_level`].
    pub oplock_level: u8,
    /// 1: the name has a reparse point in it.
    pub flags: u8,
    /// See [`create_action`].
    pub create_action: u32,
    /// When it was created, read, written and changed.
    pub times: FileTimes,
    /// Bytes that it takes.
    pub allocation_size: u64,
    /// Bytes that it has.
    pub end_of_file: u64,
    /// See [`attributes`].
    pub file_attributes: u32,
    /// The open.
    pub file_id: FileId,
}

impl CreateResponse {
    const FIXED: usize = 88;

    /// Appends the body. Contexts are made with [`ResponseContexts`].
    pub fn encode(&self, contexts: &ResponseContexts, out: &mut Vec<u8>) {
        out.put_u16_le(89);
        out.put_u8(self.oplock_level);
        out.put_u8(self.flags);
        out.put_u32_le(self.create_action);
        self.times.write(out);
        out.put_u64_le(self.allocation_size);
        out.put_u64_le(self.end_of_file);
        out.put_u32_le(self.file_attributes);
        out.put_u32_le(0);
        Field::write(&self.file_id, out);
        let list = contexts.as_bytes();
        // The fixed part ends at a multiple of eight, 152 from the header.
        out.put_u32_le(if list.is_empty() { 0 } else { length32(HEADER.saturating_add(Self::FIXED)) });
        out.put_u32_le(length32(list.len()));
        out.put_slice(list);
    }

    /// Reads a message (header and body), as a client would; with its contexts as they stand.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`: malformed.
    pub fn parse(message: &[u8]) -> Result<(Self, &[u8]), NtStatus> {
        let mut reader = Reader::at(message, HEADER)?;
        if reader.u16()? != 89 {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let (oplock_level, flags, create_action) = (reader.u8()?, reader.u8()?, reader.u32()?);
        let times = FileTimes::read(&mut reader)?;
        let (allocation_size, end_of_file, file_attributes) = (reader.u64()?, reader.u64()?, reader.u32()?);
        reader.skip(4)?;
        let file_id = FileId::read(&mut reader)?;
        let (offset, length) = (size(reader.u32()?), size(reader.u32()?));
        let contexts = part(message, offset, length, HEADER.saturating_add(Self::FIXED))?;
        let response =
            Self { oplock_level, flags, create_action, times, allocation_size, end_of_file, file_attributes, file_id };
        Ok((response, contexts))
    }
}
