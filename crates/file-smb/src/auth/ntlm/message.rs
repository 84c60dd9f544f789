//! The messages of NTLM: what they begin with, fields that point into them, pairs of target information, the CHALLENGE.

use crate::{
    NtStatus,
    wire::{Reader, text},
};
use bytes::BufMut;

/// Flags of a negotiation.
pub mod flags {
    #![expect(missing_docs, reason = "the names are those of MS-NLMP 2.2.2.5")]
    pub const UNICODE: u32 = 0x0000_0001;
    pub const REQUEST_TARGET: u32 = 0x0000_0004;
    pub const SIGN: u32 = 0x0000_0010;
    pub const SEAL: u32 = 0x0000_0020;
    pub const NTLM: u32 = 0x0000_0200;
    pub const ANONYMOUS: u32 = 0x0000_0800;
    pub const ALWAYS_SIGN: u32 = 0x0000_8000;
    pub const TARGET_TYPE_SERVER: u32 = 0x0002_0000;
    pub const EXTENDED_SESSIONSECURITY: u32 = 0x0008_0000;
    pub const TARGET_INFO: u32 = 0x0080_0000;
    pub const VERSION: u32 = 0x0200_0000;
    pub const KEY_128: u32 = 0x2000_0000;
    pub const KEY_EXCH: u32 = 0x4000_0000;
    pub const KEY_56: u32 = 0x8000_0000;
}

/// What is agreed to when the client asks for it.
const ON_DEMAND: u32 =
    flags::SIGN | flags::SEAL | flags::ALWAYS_SIGN | flags::VERSION | flags::KEY_128 | flags::KEY_EXCH | flags::KEY_56;

/// How the server calls itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// NetBIOS name of the server, at most 15 characters, capitals.
    pub computer: String,
    /// NetBIOS name of its domain; of a server without one its own.
    pub domain: String,
    /// DNS name of the server.
    pub dns_computer: String,
    /// DNS name of its domain.
    pub dns_domain: String,
}

/// A cursor behind the beginning of a message of this type.
pub(super) fn begin(message: &[u8], kind: u32) -> Result<Reader<'_>, NtStatus> {
    let mut reader = Reader::new(message);
    if reader.array()? != *b"NTLMSSP\0" || reader.u32()? != kind {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    Ok(reader)
}

/// The flags of the CHALLENGE. NTLMv2 in Unicode is needed; the rest is as the client likes.
pub(super) fn answered_flags(asked: u32) -> Result<u32, NtStatus> {
    if asked & flags::UNICODE == 0 {
        return Err(NtStatus::LOGON_FAILURE);
    }
    let always = flags::UNICODE
        | flags::REQUEST_TARGET
        | flags::NTLM
        | flags::TARGET_TYPE_SERVER
        | flags::EXTENDED_SESSIONSECURITY
        | flags::TARGET_INFO;
    Ok(always | asked & ON_DEMAND)
}

/// Length and place of a value in a message.
#[derive(Clone, Copy, Default)]
pub(super) struct Fields {
    length: u16,
    offset: u32,
}

impl Fields {
    fn read(reader: &mut Reader<'_>) -> Result<Self, NtStatus> {
        let length = reader.u16()?;
        reader.skip(2)?;
        Ok(Self { length, offset: reader.u32()? })
    }

    pub(super) fn six(reader: &mut Reader<'_>) -> Result<[Self; 6], NtStatus> {
        let mut all = [Self::default(); 6];
        for fields in &mut all {
            *fields = Self::read(reader)?;
        }
        Ok(all)
    }

    /// The value. An empty one may be said to be anywhere.
    pub(super) fn of(self, message: &[u8]) -> Result<&[u8], NtStatus> {
        if self.length == 0 {
            return Ok(&[]);
        }
        let start = usize::try_from(self.offset).map_err(|_large| NtStatus::INVALID_PARAMETER)?;
        let end = start.checked_add(usize::from(self.length)).ok_or(NtStatus::INVALID_PARAMETER)?;
        message.get(start..end).ok_or(NtStatus::INVALID_PARAMETER)
    }
}

/// Numbers of pairs.
mod av {
    pub(super) const EOL: u16 = 0;
    pub(super) const NB_COMPUTER: u16 = 1;
    pub(super) const NB_DOMAIN: u16 = 2;
    pub(super) const DNS_COMPUTER: u16 = 3;
    pub(super) const DNS_DOMAIN: u16 = 4;
    pub(super) const FLAGS: u16 = 6;
    pub(super) const TIMESTAMP: u16 = 7;
}

/// What of a client's pairs counts here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AvPairs {
    /// `MsvAvFlags`; 2 says that there is a MIC.
    pub(super) flags: u32,
}

/// Reads pairs up to their end.
pub(super) fn av_pairs(list: &[u8]) -> Result<AvPairs, NtStatus> {
    let (mut reader, mut pairs) = (Reader::new(list), AvPairs::default());
    loop {
        let (kind, length) = (reader.u16()?, usize::from(reader.u16()?));
        let value = reader.take(length)?;
        match kind {
            av::EOL => return Ok(pairs),
            av::FLAGS => pairs.flags |= Reader::new(value).u32()?,
            _other => {}
        }
    }
}

/// The CHALLENGE.
pub(super) fn challenge(flags: u32, target: &Target, server_challenge: [u8; 8], now: u64) -> Vec<u8> {
    let name = text::encode(&target.computer);
    let mut info = Vec::new();
    let mut pair = |kind: u16, value: &[u8]| {
        info.put_u16_le(kind);
        info.put_u16_le(u16::try_from(value.len()).unwrap_or(u16::MAX));
        info.put_slice(value);
    };
    pair(av::NB_DOMAIN, &text::encode(&target.domain));
    pair(av::NB_COMPUTER, &name);
    pair(av::DNS_DOMAIN, &text::encode(&target.dns_domain));
    pair(av::DNS_COMPUTER, &text::encode(&target.dns_computer));
    pair(av::TIMESTAMP, &now.to_le_bytes());
    pair(av::EOL, &[]);

    let mut out = Vec::with_capacity(info.len().saturating_add(name.len()).saturating_add(56));
    out.put_slice(b"NTLMSSP\0");
    out.put_u32_le(2);
    let mut offset = 56_u32;
    let mut fields = |out: &mut Vec<u8>, value: &[u8]| {
        let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
        out.put_u16_le(length);
        out.put_u16_le(length);
        out.put_u32_le(offset);
        offset = offset.saturating_add(u32::from(length));
    };
    fields(&mut out, &name);
    out.put_u32_le(flags);
    out.put_slice(&server_challenge);
    out.put_u64_le(0);
    fields(&mut out, &info);
    // The version is for people who debug: Windows 10, NTLM revision 15.
    out.put_slice(&[10, 0, 0, 0, 0, 0, 0, 15]);
    out.put_slice(&name);
    out.put_slice(&info);
    out
}
