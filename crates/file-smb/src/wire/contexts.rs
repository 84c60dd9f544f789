//! The contexts of NEGOTIATE in 3.1.1 (MS-SMB2 2.2.3.1, 2.2.4.1): preauth integrity, ciphers, signing, the name of the server.
//! Others are ignored, in requests and in answers.
//!
//! **Invariant.** Each kind that is known stands at most once; two would let an attacker choose which one counts.

use super::bytes::{Reader, U16s, align, length16};
use crate::NtStatus;
use bytes::BufMut;

/// Numbers of kinds of contexts.
pub mod kind {
    #![expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.3.1")]
    pub const PREAUTH_INTEGRITY: u16 = 1;
    pub const ENCRYPTION: u16 = 2;
    pub const COMPRESSION: u16 = 3;
    pub const NETNAME: u16 = 5;
    pub const TRANSPORT: u16 = 6;
    pub const RDMA_TRANSFORM: u16 = 7;
    pub const SIGNING: u16 = 8;
}

/// The one hash of preauth integrity.
pub const SHA_512: u16 = 1;

/// Numbers of ciphers.
pub mod cipher {
    #![expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.3.1.2")]
    pub const AES_128_CCM: u16 = 1;
    pub const AES_128_GCM: u16 = 2;
    pub const AES_256_CCM: u16 = 3;
    pub const AES_256_GCM: u16 = 4;
}

/// Numbers of signing algorithms.
pub mod signing {
    #![expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.3.1.7")]
    pub const HMAC_SHA256: u16 = 0;
    pub const AES_CMAC: u16 = 1;
    pub const AES_GMAC: u16 = 2;
}

/// More contexts in one message are refused.
const MAX_CONTEXTS: u16 = 64;

/// What a client offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NegotiateContexts<'a> {
    /// Hashes of preauth integrity; SHA-512 is among them.
    pub hash_algorithms: U16s<'a>,
    /// Its salt, which is only there to be hashed.
    pub salt: &'a [u8],
    /// Ciphers, the best first.
    pub ciphers: Option<U16s<'a>>,
    /// Signing algorithms, the best first.
    pub signing_algorithms: Option<U16s<'a>>,
    /// The name that the client asks for, UTF-16.
    pub netname: Option<&'a [u8]>,
}

impl<'a> NegotiateContexts<'a> {
    /// Reads a list of so many contexts.
    pub(super) fn parse(list: &'a [u8], count: u16) -> Result<Self, NtStatus> {
        let (mut contexts, mut preauth) = (Self::default(), None);
        for context in Contexts::new(list, count)? {
            let (kind, data) = context?;
            match kind {
                kind::PREAUTH_INTEGRITY => once(&mut preauth, hashes(data)?)?,
                kind::ENCRYPTION => once(&mut contexts.ciphers, numbers(data)?)?,
                kind::SIGNING => once(&mut contexts.signing_algorithms, numbers(data)?)?,
                kind::NETNAME => contexts.netname = Some(data),
                _unknown => {}
            }
        }
        (contexts.hash_algorithms, contexts.salt) = preauth.ok_or(NtStatus::INVALID_PARAMETER)?;
        if !contexts.hash_algorithms.contains(SHA_512) {
            return Err(NtStatus::SMB_NO_PREAUTH_INTEGRITY_HASH_OVERLAP);
        }
        Ok(contexts)
    }

    /// Appends the list and says how many there are.
    pub(super) fn encode(&self, out: &mut Vec<u8>) -> u16 {
        let mut writer = Writer::new(out);
        writer.preauth(self.hash_algorithms.0, self.salt);
        if let Some(ciphers) = self.ciphers {
            writer.numbers(kind::ENCRYPTION, ciphers.0);
        }
        if let Some(algorithms) = self.signing_algorithms {
            writer.numbers(kind::SIGNING, algorithms.0);
        }
        if let Some(name) = self.netname {
            writer.context(kind::NETNAME, |out| out.put_slice(name));
        }
        writer.count
    }
}

/// What a server answers: one of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NegotiateReply<'a> {
    /// The salt for SHA-512.
    pub salt: &'a [u8],
    /// The chosen cipher, 0 for none in common; `None` when the client offered none.
    pub cipher: Option<u16>,
    /// The chosen signing algorithm; `None` when the client offered none.
    pub signing_algorithm: Option<u16>,
}

impl<'a> NegotiateReply<'a> {
    pub(super) fn count(&self) -> u16 {
        1_u16.saturating_add(self.cipher.is_some().into()).saturating_add(self.signing_algorithm.is_some().into())
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.preauth(&SHA_512.to_le_bytes(), self.salt);
        if let Some(cipher) = self.cipher {
            writer.numbers(kind::ENCRYPTION, &cipher.to_le_bytes());
        }
        if let Some(algorithm) = self.signing_algorithm {
            writer.numbers(kind::SIGNING, &algorithm.to_le_bytes());
        }
    }

    pub(super) fn parse(list: &'a [u8], count: u16) -> Result<Self, NtStatus> {
        let mut reply = Self::default();
        for context in Contexts::new(list, count)? {
            let (kind, data) = context?;
            match kind {
                kind::PREAUTH_INTEGRITY => reply.salt = hashes(data)?.1,
                kind::ENCRYPTION => reply.cipher = numbers(data)?.iter().next(),
                kind::SIGNING => reply.signing_algorithm = numbers(data)?.iter().next(),
                _unknown => {}
            }
        }
        Ok(reply)
    }
}

fn once<T>(slot: &mut Option<T>, value: T) -> Result<(), NtStatus> {
    if slot.replace(value).is_some() { Err(NtStatus::INVALID_PARAMETER) } else { Ok(()) }
}

/// A count, then so many numbers, at least one.
fn numbers(data: &[u8]) -> Result<U16s<'_>, NtStatus> {
    let mut reader = Reader::new(data);
    let count = usize::from(reader.u16()?);
    if count == 0 {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    reader.take(count.saturating_mul(2)).map(U16s)
}

fn hashes(data: &[u8]) -> Result<(U16s<'_>, &[u8]), NtStatus> {
    let mut reader = Reader::new(data);
    let (count, salt) = (usize::from(reader.u16()?), usize::from(reader.u16()?));
    if count == 0 {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    Ok((U16s(reader.take(count.saturating_mul(2))?), reader.take(salt)?))
}

/// Goes through contexts: kind and data, each but the first at a multiple of eight.
struct Contexts<'a> {
    reader: Reader<'a>,
    left: u16,
}

impl<'a> Contexts<'a> {
    fn new(list: &'a [u8], count: u16) -> Result<Self, NtStatus> {
        if count == 0 || count > MAX_CONTEXTS {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        Ok(Self { reader: Reader::new(list), left: count })
    }

    fn context(&mut self) -> Result<(u16, &'a [u8]), NtStatus> {
        let (kind, length) = (self.reader.u16()?, usize::from(self.reader.u16()?));
        self.reader.skip(4)?;
        let data = self.reader.take(length)?;
        if self.left > 0 {
            self.reader.skip(length.next_multiple_of(8).saturating_sub(length))?;
        }
        Ok((kind, data))
    }
}

impl<'a> Iterator for Contexts<'a> {
    type Item = Result<(u16, &'a [u8]), NtStatus>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        Some(self.context())
    }
}

struct Writer<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
    count: u16,
}

impl<'o> Writer<'o> {
    const fn new(out: &'o mut Vec<u8>) -> Self {
        let start = out.len();
        Self { out, start, count: 0 }
    }

    fn context(&mut self, kind: u16, data: impl FnOnce(&mut Vec<u8>)) {
        align(self.out, self.start, 8);
        let start = self.out.len();
        self.out.put_u16_le(kind);
        self.out.put_u16_le(0);
        self.out.put_u32_le(0);
        data(self.out);
        let length = length16(self.out.len().saturating_sub(start).saturating_sub(8));
        let field = start.saturating_add(2)..start.saturating_add(4);
        if let Some(field) = self.out.get_mut(field) {
            field.copy_from_slice(&length.to_le_bytes());
        }
        self.count = self.count.saturating_add(1);
    }

    fn numbers(&mut self, kind: u16, numbers: &[u8]) {
        self.context(kind, |out| {
            out.put_u16_le(length16(numbers.len() / 2));
            out.put_slice(numbers);
        });
    }

    fn preauth(&mut self, hashes: &[u8], salt: &[u8]) {
        self.context(kind::PREAUTH_INTEGRITY, |out| {
            out.put_u16_le(length16(hashes.len() / 2));
            out.put_u16_le(length16(salt.len()));
            out.put_slice(hashes);
            out.put_slice(salt);
        });
    }
}
