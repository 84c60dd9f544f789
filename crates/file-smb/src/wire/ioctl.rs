//! IOCTL (MS-SMB2 2.2.31, 2.2.32) and the buffers of the control codes that are answered.

use super::{
    FileId,
    bytes::{Reader, U16s, align, layout, length16, length32, part, size},
    header::HEADER,
    text,
};
use crate::NtStatus;
use bytes::BufMut;

/// Control codes.
pub mod code {
    #![expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.31 and MS-FSCC 2.3")]
    pub const DFS_GET_REFERRALS: u32 = 0x0006_0194;
    pub const DFS_GET_REFERRALS_EX: u32 = 0x0006_01B0;
    pub const SET_REPARSE_POINT: u32 = 0x0009_00A4;
    pub const GET_REPARSE_POINT: u32 = 0x0009_00A8;
    pub const CREATE_OR_GET_OBJECT_ID: u32 = 0x0009_00C0;
    pub const SET_SPARSE: u32 = 0x0009_00C4;
    pub const SET_ZERO_DATA: u32 = 0x0009_80C8;
    pub const QUERY_ALLOCATED_RANGES: u32 = 0x0009_40CF;
    pub const GET_COMPRESSION: u32 = 0x0009_003C;
    pub const SET_COMPRESSION: u32 = 0x0009_C040;
    pub const FILE_LEVEL_TRIM: u32 = 0x0009_8208;
    pub const GET_INTEGRITY_INFORMATION: u32 = 0x0009_027C;
    pub const DUPLICATE_EXTENTS_TO_FILE: u32 = 0x0009_8344;
    pub const PIPE_PEEK: u32 = 0x0011_400C;
    pub const PIPE_WAIT: u32 = 0x0011_0018;
    pub const PIPE_TRANSCEIVE: u32 = 0x0011_C017;
    pub const SRV_ENUMERATE_SNAPSHOTS: u32 = 0x0014_4064;
    pub const SRV_REQUEST_RESUME_KEY: u32 = 0x0014_0078;
    pub const SRV_COPYCHUNK: u32 = 0x0014_40F2;
    pub const SRV_COPYCHUNK_WRITE: u32 = 0x0014_80F2;
    pub const SRV_READ_HASH: u32 = 0x0014_41BB;
    pub const LMR_REQUEST_RESILIENCY: u32 = 0x0014_01D4;
    pub const QUERY_NETWORK_INTERFACE_INFO: u32 = 0x0014_01FC;
    pub const VALIDATE_NEGOTIATE_INFO: u32 = 0x0014_0204;
}

/// In the flags: it is a control code of the file system, the only kind that there is.
pub const IOCTL_IS_FSCTL: u32 = 1;

/// Asks for a control code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoctlRequest<'a> {
    /// See [`code`].
    pub ctl_code: u32,
    /// The open, or all ones.
    pub file_id: FileId,
    /// The buffer that goes in.
    pub input: &'a [u8],
    /// Input parameters that the answer may have at most.
    pub max_input_response: u32,
    /// The longest output that the client takes.
    pub max_output_response: u32,
    /// [`IOCTL_IS_FSCTL`].
    pub flags: u32,
}

impl<'a> IoctlRequest<'a> {
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
        reader.skip(2)?;
        let ctl_code = reader.u32()?;
        let file_id = FileId::read(&mut reader)?;
        let (input_offset, input_count, max_input_response) = (size(reader.u32()?), size(reader.u32()?), reader.u32()?);
        // Where the output would be: there is none in a request.
        reader.skip(8)?;
        let (max_output_response, flags) = (reader.u32()?, reader.u32()?);
        reader.skip(4)?;
        let input = part(message, input_offset, input_count, HEADER.saturating_add(Self::FIXED))?;
        Ok(Self { ctl_code, file_id, input, max_input_response, max_output_response, flags })
    }

    /// Appends the body, as a client would send it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.put_u16_le(57);
        out.put_u16_le(0);
        out.put_u32_le(self.ctl_code);
        self.file_id.write(out);
        out.put_u32_le(length32(HEADER.saturating_add(Self::FIXED)));
        out.put_u32_le(length32(self.input.len()));
        out.put_u32_le(self.max_input_response);
        out.put_u64_le(0);
        out.put_u32_le(self.max_output_response);
        out.put_u32_le(self.flags);
        out.put_u32_le(0);
        out.put_slice(self.input);
    }
}

/// What a control code gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoctlResponse<'a> {
    /// As in the request.
    pub ctl_code: u32,
    /// As in the request.
    pub file_id: FileId,
    /// The buffer that comes out.
    pub output: &'a [u8],
}

impl<'a> IoctlResponse<'a> {
    const FIXED: usize = 48;

    /// Appends the body.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let buffer = length32(HEADER.saturating_add(Self::FIXED));
        out.put_u16_le(49);
        out.put_u16_le(0);
        out.put_u32_le(self.ctl_code);
        self.file_id.write(out);
        out.put_u32_le(buffer);
        out.put_u32_le(0);
        out.put_u32_le(buffer);
        out.put_u32_le(length32(self.output.len()));
        out.put_u64_le(0);
        out.put_slice(self.output);
    }

    /// Reads a message (header and body), as a client would.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`: malformed.
    pub fn parse(message: &'a [u8]) -> Result<Self, NtStatus> {
        let mut reader = Reader::at(message, HEADER)?;
        if reader.u16()? != 49 {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        reader.skip(2)?;
        let ctl_code = reader.u32()?;
        let file_id = FileId::read(&mut reader)?;
        reader.skip(8)?;
        let (offset, length) = (size(reader.u32()?), size(reader.u32()?));
        let output = part(message, offset, length, HEADER.saturating_add(Self::FIXED))?;
        Ok(Self { ctl_code, file_id, output })
    }
}

/// VALIDATE_NEGOTIATE_INFO: what the client says that it negotiated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ValidateNegotiate<'a> {
    /// As in its NEGOTIATE.
    pub capabilities: u32,
    /// As in its NEGOTIATE.
    pub client_guid: [u8; 16],
    /// As in its NEGOTIATE.
    pub security_mode: u16,
    /// As in its NEGOTIATE.
    pub dialects: U16s<'a>,
}

impl<'a> ValidateNegotiate<'a> {
    /// Reads the input.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`: malformed.
    pub fn parse(input: &'a [u8]) -> Result<Self, NtStatus> {
        let mut reader = Reader::new(input);
        let (capabilities, client_guid, security_mode) = (reader.u32()?, reader.array()?, reader.u16()?);
        let count = usize::from(reader.u16()?);
        let dialects = U16s(reader.take(count.saturating_mul(2))?);
        Ok(Self { capabilities, client_guid, security_mode, dialects })
    }

    /// Appends the input, as a client would send it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.put_u32_le(self.capabilities);
        out.put_slice(&self.client_guid);
        out.put_u16_le(self.security_mode);
        out.put_u16_le(length16(self.dialects.len()));
        out.put_slice(self.dialects.0);
    }
}

layout! {
    /// VALIDATE_NEGOTIATE_INFO: what the server says that it negotiated.
    ValidateNegotiateResponse {
        capabilities: u32,
        server_guid: [u8; 16],
        security_mode: u16,
        dialect: u16,
    }
}

/// SRV_ENUMERATE_SNAPSHOTS: the names of snapshots (`@GMT-…`), as many as fit; of what does not, only the number and the size.
#[must_use]
pub fn snapshots(names: &[&str], max_output: usize) -> Option<Vec<u8>> {
    let bytes: usize = names.iter().map(|name| text::length(name).saturating_add(2)).sum::<usize>().saturating_add(2);
    let mut out = Vec::new();
    let fits = bytes.saturating_add(12) <= max_output;
    if max_output < 16 {
        return None;
    }
    out.put_u32_le(length32(names.len()));
    out.put_u32_le(if fits { length32(names.len()) } else { 0 });
    out.put_u32_le(length32(bytes));
    if fits {
        for name in names {
            text::encode_into(&mut out, name);
            out.put_u16_le(0);
        }
        out.put_u16_le(0);
    }
    align(&mut out, 0, 4);
    // Who asks for the size alone asks for 16 bytes, and Samba's client takes no fewer.
    out.resize(out.len().max(16), 0);
    Some(out)
}
