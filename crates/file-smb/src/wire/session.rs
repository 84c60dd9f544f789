//! SESSION_SETUP, LOGOFF, TREE_CONNECT, TREE_DISCONNECT (MS-SMB2 2.2.5 to 2.2.12), and the bodies that say nothing.

use super::{
    bytes::{Reader, layout, length16, part},
    header::HEADER,
};
use crate::NtStatus;
use bytes::BufMut;

layout! {
    /// The body of LOGOFF, TREE_DISCONNECT, ECHO, CANCEL and FLUSH's answer, of requests and responses alike.
    Empty[4] { => 2, }
}

/// Flags of a SESSION_SETUP request.
pub const SESSION_FLAG_BINDING: u8 = 1;
/// Flags of a SESSION_SETUP response: a guest, an anonymous client (neither is ever answered), and one who must encrypt.
pub const SESSION_FLAG_ENCRYPT_DATA: u16 = 4;

/// A step of logon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionSetupRequest<'a> {
    /// [`SESSION_FLAG_BINDING`].
    pub flags: u8,
    /// See [`super::negotiate::security_mode`].
    pub security_mode: u8,
    /// See [`super::negotiate::capabilities`].
    pub capabilities: u32,
    /// The session that the client had before its connection broke, or 0.
    pub previous_session_id: u64,
    /// SPNEGO, or NTLMSSP bare.
    pub security_buffer: &'a [u8],
}

impl<'a> SessionSetupRequest<'a> {
    const FIXED: usize = 24;

    /// Reads a message (header and body).
    ///
    /// # Errors
    /// `INVALID_PARAMETER`: malformed.
    pub fn parse(message: &'a [u8]) -> Result<Self, NtStatus> {
        let mut reader = Reader::at(message, HEADER)?;
        if reader.u16()? != 25 {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let (flags, security_mode, capabilities) = (reader.u8()?, reader.u8()?, reader.u32()?);
        reader.skip(4)?;
        let (offset, length) = (usize::from(reader.u16()?), usize::from(reader.u16()?));
        let previous_session_id = reader.u64()?;
        let security_buffer = part(message, offset, length, HEADER.saturating_add(Self::FIXED))?;
        Ok(Self { flags, security_mode, capabilities, previous_session_id, security_buffer })
    }

    /// Appends the body, as a client would send it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.put_u16_le(25);
        out.put_u8(self.flags);
        out.put_u8(self.security_mode);
        out.put_u32_le(self.capabilities);
        out.put_u32_le(0);
        out.put_u16_le(length16(HEADER.saturating_add(Self::FIXED)));
        out.put_u16_le(length16(self.security_buffer.len()));
        out.put_u64_le(self.previous_session_id);
        out.put_slice(self.security_buffer);
    }
}

/// The answer to a step of logon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionSetupResponse<'a> {
    /// [`SESSION_FLAG_ENCRYPT_DATA`].
    pub session_flags: u16,
    /// SPNEGO, or NTLMSSP bare.
    pub security_buffer: &'a [u8],
}

impl<'a> SessionSetupResponse<'a> {
    const FIXED: usize = 8;

    /// Appends the body.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.put_u16_le(9);
        out.put_u16_le(self.session_flags);
        out.put_u16_le(length16(HEADER.saturating_add(Self::FIXED)));
        out.put_u16_le(length16(self.security_buffer.len()));
        out.put_slice(self.security_buffer);
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
        let (session_flags, offset, length) = (reader.u16()?, usize::from(reader.u16()?), usize::from(reader.u16()?));
        let security_buffer = part(message, offset, length, HEADER.saturating_add(Self::FIXED))?;
        Ok(Self { session_flags, security_buffer })
    }
}

/// Flags of a TREE_CONNECT request of 3.1.1.
pub mod tree_connect_flags {
    #![expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.9")]
    pub const CLUSTER_RECONNECT: u16 = 1;
    pub const REDIRECT_TO_OWNER: u16 = 2;
    pub const EXTENSION_PRESENT: u16 = 4;
}

/// Asks for a share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeConnectRequest<'a> {
    /// See [`tree_connect_flags`].
    pub flags: u16,
    /// `\\server\share`, UTF-16.
    pub path: &'a [u8],
}

impl<'a> TreeConnectRequest<'a> {
    const FIXED: usize = 8;

    /// Reads a message (header and body).
    ///
    /// # Errors
    /// `INVALID_PARAMETER`: malformed; `NOT_SUPPORTED`: an extension (identities of remoted clients).
    pub fn parse(message: &'a [u8]) -> Result<Self, NtStatus> {
        let mut reader = Reader::at(message, HEADER)?;
        if reader.u16()? != 9 {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let (flags, offset, length) = (reader.u16()?, usize::from(reader.u16()?), usize::from(reader.u16()?));
        if flags & tree_connect_flags::EXTENSION_PRESENT != 0 {
            return Err(NtStatus::NOT_SUPPORTED);
        }
        let path = part(message, offset, length, HEADER.saturating_add(Self::FIXED))?;
        if path.is_empty() || path.len() % 2 != 0 {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        Ok(Self { flags, path })
    }

    /// Appends the body, as a client would send it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.put_u16_le(9);
        out.put_u16_le(self.flags);
        out.put_u16_le(length16(HEADER.saturating_add(Self::FIXED)));
        out.put_u16_le(length16(self.path.len()));
        out.put_slice(self.path);
    }
}

/// Kinds of shares.
pub mod share_type {
    #![expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.10")]
    pub const DISK: u8 = 1;
    pub const PIPE: u8 = 2;
    pub const PRINT: u8 = 3;
}

/// Flags of a share.
pub mod share_flags {
    #![expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.10")]
    pub const MANUAL_CACHING: u32 = 0x00;
    pub const AUTO_CACHING: u32 = 0x10;
    pub const VDO_CACHING: u32 = 0x20;
    pub const NO_CACHING: u32 = 0x30;
    pub const ACCESS_BASED_DIRECTORY_ENUM: u32 = 0x800;
    pub const ENCRYPT_DATA: u32 = 0x8000;
}

/// Capabilities of a share.
pub mod share_capabilities {
    #![expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.10")]
    pub const DFS: u32 = 0x08;
    pub const CONTINUOUS_AVAILABILITY: u32 = 0x10;
    pub const SCALEOUT: u32 = 0x20;
    pub const CLUSTER: u32 = 0x40;
    pub const ASYMMETRIC: u32 = 0x80;
}

layout! {
    /// A share.
    TreeConnectResponse[16] {
        /// See [`share_type`].
        share_type: u8 => 1,
        /// See [`share_flags`].
        share_flags: u32,
        /// See [`share_capabilities`].
        capabilities: u32,
        /// The most that anybody may do there.
        maximal_access: u32,
    }
}
