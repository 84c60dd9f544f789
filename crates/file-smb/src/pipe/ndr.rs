//! NDR (C706 chapter 14), little endian, 32 bits: numbers at multiples of their size, pointers, conformant strings.
//!
//! **Invariant.** A count that was sent is compared with the bytes that are there before anything is made of it.

use crate::{NtStatus, wire::text};

/// The longest string that is read, in UTF-16 units: `\\server\share` is shorter.
const MAX_STRING: usize = 1024;

/// Reads what a client marshalled.
#[derive(Clone, Copy, Debug)]
pub struct NdrReader<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> NdrReader<'a> {
    /// At the first byte, from which alignment counts.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    fn take(&mut self, count: usize, alignment: usize) -> Result<&'a [u8], NtStatus> {
        let start = self.position.next_multiple_of(alignment);
        let end = start.checked_add(count).ok_or(NtStatus::INVALID_PARAMETER)?;
        let taken = self.bytes.get(start..end).ok_or(NtStatus::INVALID_PARAMETER)?;
        self.position = end;
        Ok(taken)
    }

    /// A number of four bytes.
    ///
    /// # Errors
    /// There are fewer.
    pub fn u32(&mut self) -> Result<u32, NtStatus> {
        let bytes = self.take(4, 4)?;
        bytes.try_into().map(u32::from_le_bytes).map_err(|_length| NtStatus::INVALID_PARAMETER)
    }

    /// A conformant and varying string of UTF-16, ended by a zero.
    ///
    /// # Errors
    /// It is longer than it may be or than what is there, or no text.
    pub fn string(&mut self) -> Result<String, NtStatus> {
        let (most, offset, actual) = (self.u32()?, self.u32()?, self.u32()?);
        let length = usize::try_from(actual).map_err(|_large| NtStatus::INVALID_PARAMETER)?;
        if offset != 0 || actual > most || length > MAX_STRING {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let bytes = self.take(length.saturating_mul(2), 2)?;
        text::decode(bytes.strip_suffix(&[0, 0]).unwrap_or(bytes))
    }

    /// A unique pointer to a string.
    ///
    /// # Errors
    /// As of the string.
    pub fn unique_string(&mut self) -> Result<Option<String>, NtStatus> {
        if self.u32()? == 0 { Ok(None) } else { self.string().map(Some) }
    }
}

/// Marshals an answer.
#[derive(Clone, Debug, Default)]
pub struct NdrWriter {
    out: Vec<u8>,
    pointers: u32,
}

impl NdrWriter {
    /// A number of four bytes.
    pub fn u32(&mut self, number: u32) {
        self.align(4);
        self.out.extend_from_slice(&number.to_le_bytes());
    }

    /// A pointer that is not null: what it points to comes later.
    pub fn pointer(&mut self) {
        self.pointers = self.pointers.saturating_add(1);
        // Any number that is not used twice.
        self.u32(0x0002_0000_u32.saturating_add(self.pointers.saturating_mul(4)));
    }

    /// A string, ended by a zero.
    pub fn string(&mut self, string: &str) {
        let units = u32::try_from(text::length(string) / 2).unwrap_or(u32::MAX).saturating_add(1);
        self.u32(units);
        self.u32(0);
        self.u32(units);
        text::encode_into(&mut self.out, string);
        self.out.extend_from_slice(&[0, 0]);
    }

    /// Appends zeros up to a multiple.
    pub fn align(&mut self, multiple: usize) {
        let length = self.out.len().next_multiple_of(multiple);
        self.out.resize(length, 0);
    }

    /// What was marshalled.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.out
    }
}
