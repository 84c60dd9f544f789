//! The encoding of stored records: a format byte, then fixed-width little-endian fields.
//!
//! Small enough to read in a hex dump; every reader checks the format and the end, so a record of the future or a cut
//! one is corruption with a name, never a wrong value.

use crate::error::StoreError;

/// Appends fields to a record.
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn new(format: u8) -> Self {
        Self(vec![format])
    }

    #[must_use]
    pub(crate) fn byte(mut self, value: u8) -> Self {
        self.0.push(value);
        self
    }

    #[must_use]
    pub(crate) fn number(mut self, value: u64) -> Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    #[must_use]
    pub(crate) fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn build(self) -> bytes::Bytes {
        bytes::Bytes::from(self.0)
    }
}

/// Takes fields off a record.
pub(crate) struct Reader<'a> {
    what: &'static str,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A record of the given kind, which must have the given format.
    pub(crate) fn new(what: &'static str, record: &'a [u8], format: u8) -> Result<Self, StoreError> {
        let mut reader = Self { what, rest: record };
        let found = reader.byte()?;
        if found == format {
            Ok(reader)
        } else {
            Err(StoreError::corrupt(format!("{what} has format {found}, this build reads {format}")))
        }
    }

    pub(crate) fn byte(&mut self) -> Result<u8, StoreError> {
        self.take::<1>().map(|[byte]| byte)
    }

    pub(crate) fn number(&mut self) -> Result<u64, StoreError> {
        self.take().map(u64::from_le_bytes)
    }

    pub(crate) fn take<const N: usize>(&mut self) -> Result<[u8; N], StoreError> {
        let (head, rest) = self.rest.split_first_chunk::<N>().ok_or_else(|| self.cut())?;
        self.rest = rest;
        Ok(*head)
    }

    pub(crate) fn end(self) -> Result<(), StoreError> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.cut()) }
    }

    fn cut(&self) -> StoreError {
        StoreError::corrupt(format!("{} has the wrong length", self.what))
    }
}
