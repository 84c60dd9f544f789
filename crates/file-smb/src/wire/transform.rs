//! The header of an encrypted message (MS-SMB2 2.2.41).

use super::{
    bytes::{Reader, length32},
    header::PROTOCOL_TRANSFORM,
};
use crate::NtStatus;
use bytes::BufMut;

/// The bytes of a transform header.
pub const TRANSFORM: usize = 52;
/// What of the header is authenticated: everything after the signature.
pub const AUTHENTICATED: std::ops::Range<usize> = 20..52;

/// A transform header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransformHeader {
    /// The tag of the cipher.
    pub signature: [u8; 16],
    /// 11 bytes of it for CCM, 12 for GCM, the others zero.
    pub nonce: [u8; 16],
    /// The bytes behind the header.
    pub original_message_size: u32,
    /// Flags (3.1.1) or the algorithm (3.0): 1 is "encrypted" in both.
    pub flags: u16,
    /// Whose keys.
    pub session_id: u64,
}

impl TransformHeader {
    /// Reads the header of an encrypted message.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`: it is none, or what it says of its length is not so. The connection is to be closed.
    pub fn parse(message: &[u8]) -> Result<Self, NtStatus> {
        let mut reader = Reader::new(message);
        if reader.array()? != PROTOCOL_TRANSFORM {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let (signature, nonce, original_message_size) = (reader.array()?, reader.array()?, reader.u32()?);
        reader.skip(2)?;
        let (flags, session_id) = (reader.u16()?, reader.u64()?);
        if flags != 1 || length32(reader.rest().len()) != original_message_size {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        Ok(Self { signature, nonce, original_message_size, flags, session_id })
    }

    /// The header's bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; TRANSFORM] {
        let mut bytes = [0; TRANSFORM];
        let mut out = bytes.as_mut_slice();
        out.put_slice(&PROTOCOL_TRANSFORM);
        out.put_slice(&self.signature);
        out.put_slice(&self.nonce);
        out.put_u32_le(self.original_message_size);
        out.put_u16_le(0);
        out.put_u16_le(self.flags);
        out.put_u64_le(self.session_id);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_as_it_is_written() {
        let header = TransformHeader {
            signature: [1; 16],
            nonce: [2; 16],
            original_message_size: 3,
            flags: 1,
            session_id: 0x0102_0304_0506_0708,
        };
        let mut message = header.encode().to_vec();
        message.extend_from_slice(b"abc");
        assert_eq!(TransformHeader::parse(&message), Ok(header));
        assert!(TransformHeader::parse(&message[..54]).is_err(), "shorter than it says");
        message.push(0);
        assert!(TransformHeader::parse(&message).is_err(), "longer than it says");
        message.pop();
        message[42] = 0;
        assert!(TransformHeader::parse(&message).is_err(), "not encrypted");
    }
}
