//! NEGOTIATE (MS-SMB2 2.2.3, 2.2.4) and the hello of SMB1 that asks for SMB2.

use super::{
    bytes::{Reader, U16s, align, length16, length32, part, patch32, size},
    contexts::{NegotiateContexts, NegotiateReply},
    header::{HEADER, PROTOCOL_SMB1},
};
use crate::NtStatus;
use bytes::BufMut;

/// The fixed part of a request.
const REQUEST: usize = 36;
/// The fixed part of a response, without the byte that its StructureSize counts of the buffer.
const RESPONSE: usize = 64;

/// Dialect revisions.
pub mod dialect {
    #![expect(missing_docs, reason = "the numbers are the names")]
    pub const SMB_2_0_2: u16 = 0x0202;
    pub const SMB_2_1: u16 = 0x0210;
    pub const SMB_3_0: u16 = 0x0300;
    pub const SMB_3_0_2: u16 = 0x0302;
    pub const SMB_3_1_1: u16 = 0x0311;
    /// The answer to a hello of SMB1 that offers "SMB 2.???": negotiate again, in SMB2.
    pub const WILDCARD: u16 = 0x02FF;
}

/// Bits of the security mode.
pub mod security_mode {
    #![expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.3")]
    pub const SIGNING_ENABLED: u16 = 1;
    pub const SIGNING_REQUIRED: u16 = 2;
}

/// Capabilities.
pub mod capabilities {
    #![expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.3")]
    pub const DFS: u32 = 0x01;
    pub const LEASING: u32 = 0x02;
    pub const LARGE_MTU: u32 = 0x04;
    pub const MULTI_CHANNEL: u32 = 0x08;
    pub const PERSISTENT_HANDLES: u32 = 0x10;
    pub const DIRECTORY_LEASING: u32 = 0x20;
    pub const ENCRYPTION: u32 = 0x40;
    pub const NOTIFICATIONS: u32 = 0x80;
}

/// What a client can speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NegotiateRequest<'a> {
    /// See [`security_mode`].
    pub security_mode: u16,
    /// See [`capabilities`].
    pub capabilities: u32,
    /// The client.
    pub client_guid: [u8; 16],
    /// At least one of [`dialect`].
    pub dialects: U16s<'a>,
    /// Read only when 3.1.1 is among the dialects.
    pub contexts: Option<NegotiateContexts<'a>>,
}

impl<'a> NegotiateRequest<'a> {
    /// Reads a message (header and body).
    ///
    /// # Errors
    /// `INVALID_PARAMETER`: malformed; `SMB_NO_PREAUTH_INTEGRITY_HASH_OVERLAP`: 3.1.1 without SHA-512.
    pub fn parse(message: &'a [u8]) -> Result<Self, NtStatus> {
        let mut reader = Reader::at(message, HEADER)?;
        if usize::from(reader.u16()?) != REQUEST {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let count = usize::from(reader.u16()?);
        let security_mode = reader.u16()?;
        reader.skip(2)?;
        let (capabilities, client_guid) = (reader.u32()?, reader.array()?);
        let (offset, contexts) = (reader.u32()?, reader.u16()?);
        reader.skip(2)?;
        let dialects = U16s(reader.take(count.saturating_mul(2))?);
        if count == 0 {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let contexts = if dialects.contains(dialect::SMB_3_1_1) {
            let earliest = HEADER.saturating_add(REQUEST);
            let list = message.get(size(offset)..).filter(|_| size(offset) >= earliest);
            Some(NegotiateContexts::parse(list.ok_or(NtStatus::INVALID_PARAMETER)?, contexts)?)
        } else {
            None
        };
        Ok(Self { security_mode, capabilities, client_guid, dialects, contexts })
    }

    /// Appends the body, as a client would send it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.put_u16_le(36);
        out.put_u16_le(length16(self.dialects.len()));
        out.put_u16_le(self.security_mode);
        out.put_u16_le(0);
        out.put_u32_le(self.capabilities);
        out.put_slice(&self.client_guid);
        out.put_u64_le(0);
        out.put_slice(self.dialects.0);
        if let Some(contexts) = &self.contexts {
            align(out, start, 8);
            let offset = length32(out.len().saturating_sub(start).saturating_add(HEADER));
            let count = contexts.encode(out);
            patch32(out, start.saturating_add(28), offset);
            patch32(out, start.saturating_add(32), u32::from(count));
        }
    }
}

/// What was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NegotiateResponse<'a> {
    /// See [`security_mode`].
    pub security_mode: u16,
    /// One of [`dialect`].
    pub dialect_revision: u16,
    /// The server.
    pub server_guid: [u8; 16],
    /// See [`capabilities`].
    pub capabilities: u32,
    /// The longest buffer of QUERY_INFO, SET_INFO, IOCTL and the like.
    pub max_transact_size: u32,
    /// The longest READ.
    pub max_read_size: u32,
    /// The longest WRITE.
    pub max_write_size: u32,
    /// A FILETIME.
    pub system_time: u64,
    /// A FILETIME, or 0.
    pub server_start_time: u64,
    /// The SPNEGO hint.
    pub security_buffer: &'a [u8],
    /// Of 3.1.1.
    pub contexts: Option<NegotiateReply<'a>>,
}

impl<'a> NegotiateResponse<'a> {
    /// Appends the body.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.put_u16_le(65);
        out.put_u16_le(self.security_mode);
        out.put_u16_le(self.dialect_revision);
        out.put_u16_le(self.contexts.as_ref().map_or(0, NegotiateReply::count));
        out.put_slice(&self.server_guid);
        out.put_u32_le(self.capabilities);
        out.put_u32_le(self.max_transact_size);
        out.put_u32_le(self.max_read_size);
        out.put_u32_le(self.max_write_size);
        out.put_u64_le(self.system_time);
        out.put_u64_le(self.server_start_time);
        out.put_u16_le(length16(HEADER.saturating_add(RESPONSE)));
        out.put_u16_le(length16(self.security_buffer.len()));
        out.put_u32_le(0);
        out.put_slice(self.security_buffer);
        if let Some(contexts) = &self.contexts {
            align(out, start, 8);
            let offset = length32(out.len().saturating_sub(start).saturating_add(HEADER));
            patch32(out, start.saturating_add(60), offset);
            contexts.encode(out);
        }
    }

    /// Reads a message (header and body), as a client would.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`: malformed.
    pub fn parse(message: &'a [u8]) -> Result<Self, NtStatus> {
        let mut reader = Reader::at(message, HEADER)?;
        if reader.u16()? != 65 {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let (security_mode, dialect_revision, count) = (reader.u16()?, reader.u16()?, reader.u16()?);
        let (server_guid, capabilities) = (reader.array()?, reader.u32()?);
        let (max_transact_size, max_read_size, max_write_size) = (reader.u32()?, reader.u32()?, reader.u32()?);
        let (system_time, server_start_time) = (reader.u64()?, reader.u64()?);
        let (offset, length, contexts) = (reader.u16()?, reader.u16()?, reader.u32()?);
        let earliest = HEADER.saturating_add(RESPONSE);
        let security_buffer = part(message, usize::from(offset), usize::from(length), earliest)?;
        let contexts = if dialect_revision == dialect::SMB_3_1_1 {
            let list = message.get(size(contexts)..).ok_or(NtStatus::INVALID_PARAMETER)?;
            Some(NegotiateReply::parse(list, count)?)
        } else {
            None
        };
        Ok(Self {
            security_mode,
            dialect_revision,
            server_guid,
            capabilities,
            max_transact_size,
            max_read_size,
            max_write_size,
            system_time,
            server_start_time,
            security_buffer,
            contexts,
        })
    }
}

/// What a hello of SMB1 offers of SMB2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Smb1Hello {
    /// "SMB 2.002": answered with 2.0.2.
    pub smb_2_002: bool,
    /// "SMB 2.???": answered with [`dialect::WILDCARD`].
    pub smb_2_wildcard: bool,
}

impl Smb1Hello {
    /// Reads a frame of SMB1.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`: it is not the NEGOTIATE of SMB1. The connection is to be closed.
    pub fn parse(frame: &[u8]) -> Result<Self, NtStatus> {
        let mut reader = Reader::new(frame);
        // Header of 32 bytes: only the command and what follows say something here.
        if reader.array()? != PROTOCOL_SMB1 || reader.u8()? != 0x72 {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        reader.skip(27)?;
        if reader.u8()? != 0 {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let length = usize::from(reader.u16()?);
        let mut hello = Self::default();
        // Each name begins with a 2 and ends with a 0.
        let names = reader.take(length)?.split(|byte| *byte == 0);
        for name in names {
            hello.smb_2_002 |= name == b"\x02SMB 2.002";
            hello.smb_2_wildcard |= name == b"\x02SMB 2.???";
        }
        Ok(hello)
    }
}
