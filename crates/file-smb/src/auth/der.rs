//! As much of DER as SPNEGO needs: elements with a tag of one byte and a length of at most four.
//!
//! **Invariant.** An element is inside of the one around it. Readers go down by calls that are written out, so depth is that
//! of the code, not of the input.

use crate::NtStatus;

/// Tags.
pub(super) mod tag {
    pub(in crate::auth) const OCTET_STRING: u8 = 0x04;
    pub(in crate::auth) const OID: u8 = 0x06;
    pub(in crate::auth) const ENUMERATED: u8 = 0x0A;
    pub(in crate::auth) const GENERAL_STRING: u8 = 0x1B;
    pub(in crate::auth) const SEQUENCE: u8 = 0x30;
    pub(in crate::auth) const APPLICATION: u8 = 0x60;

    /// `[n]`.
    pub(in crate::auth) const fn context(number: u8) -> u8 {
        0xA0 | number
    }
}

/// Reads elements one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elements<'a> {
    rest: &'a [u8],
}

impl<'a> Elements<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next element: its tag and what is in it.
    pub(super) fn next(&mut self) -> Result<(u8, &'a [u8]), NtStatus> {
        let (tag, rest) = self.rest.split_first().ok_or(NtStatus::INVALID_PARAMETER)?;
        let (first, mut rest) = rest.split_first().ok_or(NtStatus::INVALID_PARAMETER)?;
        let length = match *first {
            short @ 0..=0x7F => usize::from(short),
            long @ 0x81..=0x84 => {
                let (digits, after) =
                    rest.split_at_checked(usize::from(long & 0x7F)).ok_or(NtStatus::INVALID_PARAMETER)?;
                rest = after;
                digits.iter().fold(0_usize, |length, digit| (length << 8) | usize::from(*digit))
            }
            _other => return Err(NtStatus::INVALID_PARAMETER),
        };
        let (content, rest) = rest.split_at_checked(length).ok_or(NtStatus::INVALID_PARAMETER)?;
        self.rest = rest;
        Ok((*tag, content))
    }

    /// What is in the next element, which has this tag.
    pub(super) fn expect(&mut self, tag: u8) -> Result<&'a [u8], NtStatus> {
        match self.next()? {
            (found, content) if found == tag => Ok(content),
            _other => Err(NtStatus::INVALID_PARAMETER),
        }
    }
}

/// What is in the one element that the bytes begin with.
pub(super) fn only(bytes: &[u8], tag: u8) -> Result<&[u8], NtStatus> {
    Elements::new(bytes).expect(tag)
}

/// An element.
pub(super) fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(content.len().saturating_add(6));
    out.push(tag);
    let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
    match u8::try_from(length) {
        Ok(short @ 0..=0x7F) => out.push(short),
        Ok(byte) => out.extend_from_slice(&[0x81, byte]),
        Err(_longer) => {
            let digits = length.to_be_bytes();
            let zeros = digits.iter().take_while(|digit| **digit == 0).count();
            let digits = digits.get(zeros..).unwrap_or_default();
            out.push(0x80 | u8::try_from(digits.len()).unwrap_or(4));
            out.extend_from_slice(digits);
        }
    }
    out.extend_from_slice(content);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_read_as_they_are_written() {
        for length in [0, 1, 0x7F, 0x80, 0xFF, 0x100, 0xFFFF, 0x1_0000] {
            let content = vec![7; length];
            let bytes = element(tag::OCTET_STRING, &content);
            assert_eq!(only(&bytes, tag::OCTET_STRING), Ok(content.as_slice()), "{length}");
            assert!(only(&bytes, tag::OID).is_err());
            assert!(only(&bytes[..bytes.len() - 1], tag::OCTET_STRING).is_err(), "{length}");
        }
    }

    #[test]
    fn lengths_that_are_refused() {
        for bytes in [
            &b""[..],
            b"\x04",
            b"\x04\x80",
            b"\x04\x85\0\0\0\0\0",
            b"\x04\xFF",
            b"\x04\x84\xFF\xFF\xFF\xFF",
            b"\x04\x82\x01",
        ] {
            assert!(Elements::new(bytes).next().is_err(), "{bytes:?}");
        }
    }
}
