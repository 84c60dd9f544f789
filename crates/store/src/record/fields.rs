//! Fields of records that are not of a fixed width, and the narrower numbers: what the services need besides bytes and
//! numbers. Lengths are four bytes, little-endian, in front.

use super::{Reader, Writer};
use crate::error::StoreError;

impl Writer {
    /// A record of this version for which so many bytes are likely enough.
    #[must_use]
    pub fn with_capacity(version: u8, bytes: usize) -> Self {
        let mut record = Vec::with_capacity(bytes);
        record.push(version);
        Self(record)
    }

    /// Appends a number of two bytes.
    #[inline]
    #[must_use]
    pub fn short(self, value: u16) -> Self {
        self.raw(&value.to_le_bytes())
    }

    /// Appends a number of four bytes.
    #[inline]
    #[must_use]
    pub fn small(self, value: u32) -> Self {
        self.raw(&value.to_le_bytes())
    }

    /// Appends a number of sixteen bytes.
    #[inline]
    #[must_use]
    pub fn wide(self, value: u128) -> Self {
        self.raw(&value.to_le_bytes())
    }

    /// Appends bytes with their length. No value of a row is nearly as long as the length can say.
    #[inline]
    #[must_use]
    pub fn bytes(self, bytes: &[u8]) -> Self {
        self.small(u32::try_from(bytes.len()).unwrap_or(u32::MAX)).raw(bytes)
    }

    /// Appends a text with its length.
    #[inline]
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
    }

    /// Appends how many of something follow, four bytes. No row has room for more.
    #[inline]
    #[must_use]
    pub fn count(self, number: usize) -> Self {
        self.small(u32::try_from(number).unwrap_or(u32::MAX))
    }

    /// Appends whether there is a value; what follows is the caller's to append.
    #[inline]
    #[must_use]
    pub fn flag(self, value: bool) -> Self {
        self.byte(u8::from(value))
    }
}

impl<'a> Reader<'a> {
    /// Takes a number of two bytes.
    ///
    /// # Errors
    /// The record ends before it.
    #[inline]
    pub fn short(&mut self) -> Result<u16, StoreError> {
        self.take().map(u16::from_le_bytes)
    }

    /// Takes a number of four bytes.
    ///
    /// # Errors
    /// The record ends before it.
    #[inline]
    pub fn small(&mut self) -> Result<u32, StoreError> {
        self.take().map(u32::from_le_bytes)
    }

    /// Takes a number of sixteen bytes.
    ///
    /// # Errors
    /// The record ends before it.
    #[inline]
    pub fn wide(&mut self) -> Result<u128, StoreError> {
        self.take().map(u128::from_le_bytes)
    }

    /// Takes so many bytes, which a field before has told.
    ///
    /// # Errors
    /// The record ends before them.
    #[inline]
    pub fn slice(&mut self, length: usize) -> Result<&'a [u8], StoreError> {
        let (head, rest) = self.rest.split_at_checked(length).ok_or_else(|| self.wrong_length())?;
        self.rest = rest;
        Ok(head)
    }

    /// Takes bytes with their length.
    ///
    /// # Errors
    /// The record ends before them.
    #[inline]
    pub fn bytes(&mut self) -> Result<&'a [u8], StoreError> {
        let length = usize::try_from(self.small()?).map_err(|_| self.wrong_length())?;
        self.slice(length)
    }

    /// Takes a text with its length.
    ///
    /// # Errors
    /// The record ends before it, or it is not text.
    #[inline]
    pub fn text(&mut self) -> Result<&'a str, StoreError> {
        let bytes = self.bytes()?;
        std::str::from_utf8(bytes).map_err(|_| self.malformed("a text that is not UTF-8"))
    }

    /// Takes whether there is a value.
    ///
    /// # Errors
    /// The record ends before it, or says neither.
    #[inline]
    pub fn flag(&mut self) -> Result<bool, StoreError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(self.malformed(&format!("a flag of {other}"))),
        }
    }

    /// True when nothing is left.
    #[must_use]
    pub const fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// What to say about a field that holds what no writer wrote.
    #[must_use]
    pub fn malformed(&self, field: &str) -> StoreError {
        StoreError::corrupt(format!("{} of version {} has {field}", self.what, self.version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: &[u8] =
        b"\x02\x01\x00\x02\x00\x00\x00\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x02\0\0\0\xffx\x01\0\0\0y\x01";

    #[test]
    fn fields_come_back_in_the_order_in_which_they_were_appended() {
        let writer = Writer::with_capacity(2, 64).short(1).small(2).wide(3);
        let record = writer.bytes(b"\xffx").text("y").flag(true).build();
        assert_eq!(&*record, BYTES);
        let mut reader = Reader::new("a thing", &record, 2).unwrap();
        assert_eq!((reader.short().unwrap(), reader.small().unwrap(), reader.wide().unwrap()), (1, 2, 3));
        assert_eq!((reader.bytes().unwrap(), reader.text().unwrap()), (&b"\xffx"[..], "y"));
        assert!(!reader.is_at_end() && reader.flag().unwrap() && reader.is_at_end());
        reader.end().unwrap();
    }

    #[test]
    fn optional_values_and_lists_come_back() {
        let list = |writer: Writer| writer.count(2).text("a").text("b");
        let record = list(Writer::new(1)).optional(Some(7), Writer::small).optional(None, Writer::number).build();
        assert_eq!(&*record, b"\x01\x02\0\0\0\x01\0\0\0a\x01\0\0\0b\x01\x07\0\0\0\0");
        let mut reader = Reader::new("a thing", &record, 1).unwrap();
        let texts: Vec<_> = (0..reader.small().unwrap()).map(|_| reader.text().unwrap()).collect();
        assert_eq!(texts, ["a", "b"]);
        assert_eq!(reader.optional(Reader::small).unwrap(), Some(7));
        assert_eq!(reader.optional(Reader::number).unwrap(), None);
        reader.end().unwrap();
    }

    #[test]
    fn what_no_writer_wrote_is_refused_by_name() {
        let table: [(&[u8], &str); 5] = [
            (b"\x01\x02\0\0\0x", "wrong length"),
            (b"\x01\xff\xff\xff\xffx", "wrong length"),
            (b"\x01\x02\0", "wrong length"),
            (b"\x01\x01\0\0\0\xff", "not UTF-8"),
            (b"\x01\x01\0\0\0x\x02", "a flag of 2"),
        ];
        for (record, expected) in table {
            let mut reader = Reader::new("a thing", record, 1).unwrap();
            let read = reader.text().and_then(|_| reader.flag()).unwrap_err().to_string();
            assert!(read.contains("a thing of version 1 has") && read.contains(expected), "{record:?}: {read}");
        }
    }
}
