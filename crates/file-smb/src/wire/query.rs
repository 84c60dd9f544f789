//! QUERY_DIRECTORY, CHANGE_NOTIFY, QUERY_INFO, SET_INFO (MS-SMB2 2.2.33 to 2.2.40). Their buffers are in `info/`.

use super::{
    FileId,
    bytes::{Reader, layout, length16, length32, part, size},
    header::HEADER,
};
use crate::NtStatus;
use bytes::BufMut;

/// Flags of QUERY_DIRECTORY.
pub mod directory_flags {
    #![expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.33")]
    pub const RESTART_SCANS: u8 = 0x01;
    pub const RETURN_SINGLE_ENTRY: u8 = 0x02;
    pub const INDEX_SPECIFIED: u8 = 0x04;
    pub const REOPEN: u8 = 0x10;
}

/// Asks what is in a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueryDirectoryRequest<'a> {
    /// See [`super::info::directory::DirectoryClass`].
    pub file_information_class: u8,
    /// See [`directory_flags`].
    pub flags: u8,
    /// With `INDEX_SPECIFIED`.
    pub file_index: u32,
    /// The open.
    pub file_id: FileId,
    /// UTF-16.
    pub pattern: &'a [u8],
    /// The longest answer.
    pub output_buffer_length: u32,
}

impl<'a> QueryDirectoryRequest<'a> {
    const FIXED: usize = 32;

    /// Reads a message (header and body).
    ///
    /// # Errors
    /// `INVALID_PARAMETER`: malformed.
    pub fn parse(message: &'a [u8]) -> Result<Self, NtStatus> {
        let mut reader = Reader::at(message, HEADER)?;
        if reader.u16()? != 33 {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let (file_information_class, flags, file_index) = (reader.u8()?, reader.u8()?, reader.u32()?);
        let file_id = FileId::read(&mut reader)?;
        let (offset, length) = (usize::from(reader.u16()?), usize::from(reader.u16()?));
        let output_buffer_length = reader.u32()?;
        let pattern = part(message, offset, length, HEADER.saturating_add(Self::FIXED))?;
        if pattern.len() % 2 != 0 {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        Ok(Self { file_information_class, flags, file_index, file_id, pattern, output_buffer_length })
    }

    /// Appends the body, as a client would send it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.put_u16_le(33);
        out.put_u8(self.file_information_class);
        out.put_u8(self.flags);
        out.put_u32_le(self.file_index);
        self.file_id.write(out);
        out.put_u16_le(length16(HEADER.saturating_add(Self::FIXED)));
        out.put_u16_le(length16(self.pattern.len()));
        out.put_u32_le(self.output_buffer_length);
        out.put_slice(self.pattern);
    }
}

/// A buffer: the answer to QUERY_DIRECTORY, CHANGE_NOTIFY and QUERY_INFO.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferResponse<'a> {
    /// What was asked for.
    pub buffer: &'a [u8],
}

impl<'a> BufferResponse<'a> {
    /// The bytes before the buffer, which begins 72 bytes after the header's first one.
    pub const FIXED: usize = 8;

    /// Appends the body.
    pub fn encode(&self, out: &mut Vec<u8>) {
        Self::encode_head(self.buffer.len(), out);
        out.put_slice(self.buffer);
    }

    /// Appends the body without its buffer.
    pub fn encode_head(length: usize, out: &mut Vec<u8>) {
        out.put_u16_le(9);
        out.put_u16_le(if length == 0 { 0 } else { length16(HEADER.saturating_add(Self::FIXED)) });
        out.put_u32_le(length32(length));
    }

    /// Reads a message (header and body), as a client would.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`: malformed.
    pub fn parse(message: &'a [u8]) -> Result<Self, NtStatus> {
        let mut reader = Reader::at(message, HEADER)?;
        if reader.u16()? != 9 {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let (offset, length) = (usize::from(reader.u16()?), size(reader.u32()?));
        Ok(Self { buffer: part(message, offset, length, HEADER.saturating_add(Self::FIXED))? })
    }
}

/// In CHANGE_NOTIFY: the whole tree below the directory.
pub const WATCH_TREE: u16 = 1;

layout! {
    /// Asks to be told of changes in a directory.
    ChangeNotifyRequest[32] {
        /// [`WATCH_TREE`].
        flags: u16,
        output_buffer_length: u32,
        file_id: FileId,
        /// See [`super::info::notify::filter`].
        completion_filter: u32 => 4,
    }
}

/// Kinds of information.
pub mod info_type {
    #![expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.37")]
    pub const FILE: u8 = 1;
    pub const FILESYSTEM: u8 = 2;
    pub const SECURITY: u8 = 3;
    pub const QUOTA: u8 = 4;
}

/// Which parts of a security descriptor.
pub mod security_information {
    #![expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.37")]
    pub const OWNER: u32 = 0x01;
    pub const GROUP: u32 = 0x02;
    pub const DACL: u32 = 0x04;
    pub const SACL: u32 = 0x08;
    pub const LABEL: u32 = 0x10;
}

/// Asks about a file, its file system or its security.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueryInfoRequest<'a> {
    /// See [`info_type`].
    pub info_type: u8,
    /// The class, by type.
    pub file_info_class: u8,
    /// The longest answer.
    pub output_buffer_length: u32,
    /// Of a quota or a list of extended attributes.
    pub input: &'a [u8],
    /// See [`security_information`].
    pub additional_information: u32,
    /// For extended attributes.
    pub flags: u32,
    /// The open.
    pub file_id: FileId,
}

impl<'a> QueryInfoRequest<'a> {
    const FIXED: usize = 40;

    /// Reads a message (header and body).
    ///
    /// # Errors
    /// `INVALID_PARAMETER`: malformed.
    pub fn parse(message: &'a [u8]) -> Result<Self, NtStatus> {
        let mut reader = Reader::at(message, HEADER)?;
        if reader.u16()? != 41 {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let (info_type, file_info_class, output_buffer_length) = (reader.u8()?, reader.u8()?, reader.u32()?);
        let offset = usize::from(reader.u16()?);
        reader.skip(2)?;
        let (length, additional_information, flags) = (size(reader.u32()?), reader.u32()?, reader.u32()?);
        let file_id = FileId::read(&mut reader)?;
        let input = part(message, offset, length, HEADER.saturating_add(Self::FIXED))?;
        Ok(Self { info_type, file_info_class, output_buffer_length, input, additional_information, flags, file_id })
    }

    /// Appends the body, as a client would send it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.put_u16_le(41);
        out.put_u8(self.info_type);
        out.put_u8(self.file_info_class);
        out.put_u32_le(self.output_buffer_length);
        out.put_u16_le(length16(HEADER.saturating_add(Self::FIXED)));
        out.put_u16_le(0);
        out.put_u32_le(length32(self.input.len()));
        out.put_u32_le(self.additional_information);
        out.put_u32_le(self.flags);
        self.file_id.write(out);
        out.put_slice(self.input);
    }
}

/// Changes a file, its file system or its security.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetInfoRequest<'a> {
    /// See [`info_type`].
    pub info_type: u8,
    /// The class, by type.
    pub file_info_class: u8,
    /// What it shall be: see [`super::info::set::SetInfo`].
    pub buffer: &'a [u8],
    /// See [`security_information`].
    pub additional_information: u32,
    /// The open.
    pub file_id: FileId,
}

impl<'a> SetInfoRequest<'a> {
    const FIXED: usize = 32;

    /// Reads a message (header and body).
    ///
    /// # Errors
    /// `INVALID_PARAMETER`: malformed.
    pub fn parse(message: &'a [u8]) -> Result<Self, NtStatus> {
        let mut reader = Reader::at(message, HEADER)?;
        if reader.u16()? != 33 {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let (info_type, file_info_class, length) = (reader.u8()?, reader.u8()?, size(reader.u32()?));
        let offset = usize::from(reader.u16()?);
        reader.skip(2)?;
        let additional_information = reader.u32()?;
        let file_id = FileId::read(&mut reader)?;
        let buffer = part(message, offset, length, HEADER.saturating_add(Self::FIXED))?;
        Ok(Self { info_type, file_info_class, buffer, additional_information, file_id })
    }

    /// Appends the body, as a client would send it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.put_u16_le(33);
        out.put_u8(self.info_type);
        out.put_u8(self.file_info_class);
        out.put_u32_le(length32(self.buffer.len()));
        out.put_u16_le(length16(HEADER.saturating_add(Self::FIXED)));
        out.put_u16_le(0);
        out.put_u32_le(self.additional_information);
        self.file_id.write(out);
        out.put_slice(self.buffer);
    }
}

layout! {
    /// It was changed.
    SetInfoResponse[2] {}
}
