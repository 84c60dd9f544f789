//! CLOSE, FLUSH, READ, WRITE (MS-SMB2 2.2.15 to 2.2.22).
//!
//! **Invariant.** Payloads are never copied: the data of a WRITE is a part of the frame, and a READ is answered with the head
//! that stands before its data.

use super::{
    FileId,
    bytes::{Reader, layout, length16, length32, part, size},
    create::FileTimes,
    header::HEADER,
};
use crate::NtStatus;
use bytes::BufMut;
use std::ops::Range;

/// In CLOSE: the answer shall have the attributes.
pub const CLOSE_FLAG_POSTQUERY_ATTRIB: u16 = 1;

layout! {
    /// Ends an open.
    CloseRequest[24] {
        /// [`CLOSE_FLAG_POSTQUERY_ATTRIB`].
        flags: u16 => 4,
        file_id: FileId,
    }
}

layout! {
    /// An open has ended; what follows the flags is zero unless it was asked for.
    CloseResponse[60] {
        flags: u16 => 4,
        times: FileTimes,
        allocation_size: u64,
        end_of_file: u64,
        file_attributes: u32,
    }
}

layout! {
    /// What was written shall be durable.
    FlushRequest[24] { => 6, file_id: FileId }
}

/// In READ: do not keep it in a buffer.
pub const READ_FLAG_READ_UNBUFFERED: u8 = 1;
/// In WRITE: answer when it is durable.
pub const WRITE_FLAG_WRITE_THROUGH: u32 = 1;
/// In WRITE: do not keep it in a buffer.
pub const WRITE_FLAG_WRITE_UNBUFFERED: u32 = 2;

layout! {
    /// The fixed part of READ; what may follow it (RDMA) is not looked at.
    ReadRequest[49] {
        /// Where the client would like the data in the answer.
        padding: u8,
        /// [`READ_FLAG_READ_UNBUFFERED`].
        flags: u8,
        length: u32,
        offset: u64,
        file_id: FileId,
        minimum_count: u32,
        channel: u32,
        remaining_bytes: u32 => 4,
    }
}

/// Data that was read: its head. The payload follows in the same frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadResponse {
    /// The bytes that follow.
    pub data_length: u32,
    /// More that the client will ask for.
    pub data_remaining: u32,
}

impl ReadResponse {
    /// The fixed part; the data begins 80 bytes after the header's first one.
    pub const FIXED: usize = 16;

    /// Appends the body without its data. With none, the byte that the StructureSize counts is written.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.put_u16_le(17);
        out.put_u16_le(length16(HEADER.saturating_add(Self::FIXED)));
        out.put_u32_le(self.data_length);
        out.put_u32_le(self.data_remaining);
        out.put_u32_le(0);
        if self.data_length == 0 {
            out.put_u8(0);
        }
    }

    /// Reads a message (header and body), as a client would.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`: malformed.
    pub fn parse(message: &[u8]) -> Result<(Self, &[u8]), NtStatus> {
        let mut reader = Reader::at(message, HEADER)?;
        if reader.u16()? != 17 {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let offset = usize::from(reader.u8()?);
        reader.skip(1)?;
        let (data_length, data_remaining) = (reader.u32()?, reader.u32()?);
        let data = part(message, offset, size(data_length), HEADER.saturating_add(Self::FIXED))?;
        Ok((Self { data_length, data_remaining }, data))
    }
}

/// Data to be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteRequest<'a> {
    /// Where in the file.
    pub offset: u64,
    /// The open.
    pub file_id: FileId,
    /// RDMA; anything but 0 is not supported.
    pub channel: u32,
    /// What the client will write besides.
    pub remaining_bytes: u32,
    /// [`WRITE_FLAG_WRITE_THROUGH`], [`WRITE_FLAG_WRITE_UNBUFFERED`].
    pub flags: u32,
    /// The bytes, in the frame.
    pub data: &'a [u8],
    /// Where they stand in the message.
    pub data_range: Range<usize>,
}

impl<'a> WriteRequest<'a> {
    const FIXED: usize = 48;

    /// Reads a message (header and body).
    ///
    /// # Errors
    /// `INVALID_PARAMETER`: malformed, or longer than the message.
    pub fn parse(message: &'a [u8]) -> Result<Self, NtStatus> {
        let mut reader = Reader::at(message, HEADER)?;
        if reader.u16()? != 49 {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let (at, length, offset) = (usize::from(reader.u16()?), size(reader.u32()?), reader.u64()?);
        let file_id = FileId::read(&mut reader)?;
        let (channel, remaining_bytes) = (reader.u32()?, reader.u32()?);
        // Where RDMA descriptors would be.
        reader.skip(4)?;
        let flags = reader.u32()?;
        let data = part(message, at, length, HEADER.saturating_add(Self::FIXED))?;
        let data_range = if data.is_empty() { 0..0 } else { at..at.saturating_add(length) };
        Ok(Self { offset, file_id, channel, remaining_bytes, flags, data, data_range })
    }

    /// Appends the body, as a client would send it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.put_u16_le(49);
        out.put_u16_le(length16(HEADER.saturating_add(Self::FIXED)));
        out.put_u32_le(length32(self.data.len()));
        out.put_u64_le(self.offset);
        self.file_id.write(out);
        out.put_u32_le(self.channel);
        out.put_u32_le(self.remaining_bytes);
        out.put_u32_le(0);
        out.put_u32_le(self.flags);
        out.put_slice(self.data);
    }
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteResponse {
    /// Bytes.
    pub count: u32,
}

impl WriteResponse {
    /// Appends the body.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.put_u16_le(17);
        out.put_u16_le(0);
        out.put_u32_le(self.count);
        out.put_u64_le(0);
        // smbd and Windows leave out the byte that the StructureSize counts.
    }

    /// Reads a message (header and body), as a client would.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`: malformed.
    pub fn parse(message: &[u8]) -> Result<Self, NtStatus> {
        let mut reader = Reader::at(message, HEADER)?;
        if reader.u16()? != 17 {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        reader.skip(2)?;
        let count = reader.u32()?;
        reader.skip(8)?;
        Ok(Self { count })
    }
}
