//! The encoding of stored records: a version, one byte, then fixed-width fields, their numbers little-endian.
//!
//! Small enough to read in a hex dump. Every reader checks the version and the end, so a record of the future or a cut one
//! is an error with a name, never a wrong value.
//!
//! **How a record evolves.** A new field is appended under the next version; what stands before it never changes. A reader
//! names the newest version it knows, accepts all versions up to it, and asks which one it reads, so rows of older versions
//! stay readable for ever and nothing has to be rewritten. Writers write the newest version only. A version beyond the newest
//! is refused by a sentence that says so.
//!
//! ```
//! use store::record::{Reader, Writer};
//! # use store::StoreError;
//!
//! /// Version 1 had an owner; version 2 added a colour.
//! struct Thing {
//!     owner: u64,
//!     colour: u8,
//! }
//!
//! const NEWEST: u8 = 2;
//!
//! fn encode(thing: &Thing) -> bytes::Bytes {
//!     Writer::new(NEWEST).number(thing.owner).byte(thing.colour).build()
//! }
//!
//! fn decode(record: &[u8]) -> Result<Thing, StoreError> {
//!     let mut reader = Reader::new("a thing", record, NEWEST)?;
//!     let owner = reader.number()?;
//!     let colour = if reader.version() >= 2 { reader.byte()? } else { 0 };
//!     reader.end()?;
//!     Ok(Thing { owner, colour })
//! }
//!
//! // A row of version 1, written long ago.
//! let old = decode(&[1, 9, 0, 0, 0, 0, 0, 0, 0])?;
//! assert_eq!((old.owner, old.colour), (9, 0));
//! assert_eq!(&*encode(&old), [2, 9, 0, 0, 0, 0, 0, 0, 0, 0]);
//!
//! let future = decode(&[3, 0]).map(|_| ()).unwrap_err().to_string();
//! assert!(future.contains("a thing has version 3, and this build reads versions up to 2"), "{future}");
//! # Ok::<_, StoreError>(())
//! ```

use crate::error::StoreError;

mod fields;
mod vocabulary;

/// Appends fields to a record.
#[derive(Clone, Debug)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// A record of this version: the newest that its reader knows.
    #[must_use]
    pub fn new(version: u8) -> Self {
        Self(vec![version])
    }

    /// Appends one byte.
    #[must_use]
    pub fn byte(mut self, value: u8) -> Self {
        self.0.push(value);
        self
    }

    /// Appends a number of eight bytes.
    #[must_use]
    pub fn number(mut self, value: u64) -> Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Appends bytes as they are. Their reader knows how many.
    #[must_use]
    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// The finished record.
    #[must_use]
    pub fn build(self) -> bytes::Bytes {
        bytes::Bytes::from(self.0)
    }
}

/// Takes fields off a record, in the order in which they were appended.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    what: &'static str,
    version: u8,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A record of the given kind, of any version up to the newest.
    ///
    /// # Errors
    /// The record is empty, or of a version that this build does not know.
    pub fn new(what: &'static str, record: &'a [u8], newest: u8) -> Result<Self, StoreError> {
        Self::since(what, record, 1, newest)
    }

    /// The same for a kind whose versions before the oldest were written in another way.
    ///
    /// # Errors
    /// The record is empty, or of a version that is not read here.
    pub fn since(what: &'static str, record: &'a [u8], oldest: u8, newest: u8) -> Result<Self, StoreError> {
        let mut reader = Self { what, version: 0, rest: record };
        reader.version = reader.byte()?;
        if (oldest..=newest).contains(&reader.version) {
            return Ok(reader);
        }
        let version = reader.version;
        Err(StoreError::corrupt(format!("{what} has version {version}, and this build reads versions up to {newest}")))
    }

    /// The version of the record: which fields it has.
    #[must_use]
    pub const fn version(&self) -> u8 {
        self.version
    }

    /// Takes one byte.
    ///
    /// # Errors
    /// The record ends before it.
    pub fn byte(&mut self) -> Result<u8, StoreError> {
        self.take::<1>().map(|[byte]| byte)
    }

    /// Takes a number.
    ///
    /// # Errors
    /// The record ends before it.
    pub fn number(&mut self) -> Result<u64, StoreError> {
        self.take().map(u64::from_le_bytes)
    }

    /// Takes so many bytes.
    ///
    /// # Errors
    /// The record ends before them.
    pub fn take<const N: usize>(&mut self) -> Result<[u8; N], StoreError> {
        let (head, rest) = self.rest.split_first_chunk::<N>().ok_or_else(|| self.wrong_length())?;
        self.rest = rest;
        Ok(*head)
    }

    /// Checks that nothing is left.
    ///
    /// # Errors
    /// Something is.
    pub fn end(self) -> Result<(), StoreError> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.wrong_length()) }
    }

    fn wrong_length(&self) -> StoreError {
        StoreError::corrupt(format!("{} of version {} has the wrong length", self.what, self.version))
    }
}
