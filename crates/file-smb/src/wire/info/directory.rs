//! Entries of directories (MS-FSCC 2.4): one after the other at multiples of eight, each with the offset of the next.
//!
//! **Invariant.** Whether an entry fits is known before a byte of it is written.

use super::super::{
    bytes::{align, length32, patch32, zeros},
    create::FileTimes,
    text,
};
use bytes::BufMut;

/// Kinds of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of MS-FSCC 2.4")]
pub enum DirectoryClass {
    Directory,
    FullDirectory,
    BothDirectory,
    Names,
    IdBothDirectory,
    IdFullDirectory,
    IdExtdDirectory,
}

impl DirectoryClass {
    /// Every class.
    pub const ALL: [Self; 7] = [
        Self::Directory,
        Self::FullDirectory,
        Self::BothDirectory,
        Self::Names,
        Self::IdBothDirectory,
        Self::IdFullDirectory,
        Self::IdExtdDirectory,
    ];

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Directory => 1,
            Self::FullDirectory => 2,
            Self::BothDirectory => 3,
            Self::Names => 12,
            Self::IdBothDirectory => 37,
            Self::IdFullDirectory => 38,
            Self::IdExtdDirectory => 60,
        }
    }

    /// The class with the number.
    #[must_use]
    pub fn numbered(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.number() == number)
    }

    /// The bytes before the name: a client that takes less gets `INFO_LENGTH_MISMATCH`.
    #[must_use]
    pub const fn fixed(self) -> usize {
        match self {
            Self::Names => 12,
            Self::Directory => 64,
            Self::FullDirectory => 68,
            Self::IdFullDirectory => 80,
            Self::IdExtdDirectory => 88,
            Self::BothDirectory => 94,
            Self::IdBothDirectory => 104,
        }
    }
}

/// What is known of a file or directory in a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The name, without its directory.
    pub name: &'a str,
    /// FILETIMEs.
    pub times: FileTimes,
    /// Bytes that it has.
    pub end_of_file: u64,
    /// Bytes that it takes.
    pub allocation_size: u64,
    /// See [`super::super::create::attributes`].
    pub file_attributes: u32,
    /// Its id on the volume.
    pub file_id: u64,
}

/// A buffer of entries.
#[derive(Clone, Debug)]
pub struct DirectoryBuffer {
    class: DirectoryClass,
    limit: usize,
    out: Vec<u8>,
    last: usize,
}

impl DirectoryBuffer {
    /// An empty one, for at most so many bytes.
    #[must_use]
    pub const fn new(class: DirectoryClass, limit: usize) -> Self {
        Self { class, limit, out: Vec::new(), last: 0 }
    }

    /// Adds an entry if it fits; nothing is written of one that does not.
    #[must_use = "an entry that does not fit begins the next answer"]
    pub fn push(&mut self, entry: &Entry<'_>) -> bool {
        let start = self.out.len().next_multiple_of(8);
        let name_length = text::length(entry.name);
        let end = start.saturating_add(self.class.fixed()).saturating_add(name_length);
        if end > self.limit {
            return false;
        }
        if !self.out.is_empty() {
            align(&mut self.out, 0, 8);
            let next = length32(start.saturating_sub(self.last));
            patch32(&mut self.out, self.last, next);
        }
        self.last = start;
        self.write(entry, length32(name_length));
        true
    }

    fn write(&mut self, entry: &Entry<'_>, name_length: u32) {
        let out = &mut self.out;
        // The offset of the next one, and an index that means nothing.
        out.put_u64_le(0);
        if self.class != DirectoryClass::Names {
            entry.times.write(out);
            out.put_u64_le(entry.end_of_file);
            out.put_u64_le(entry.allocation_size);
            out.put_u32_le(entry.file_attributes);
        }
        out.put_u32_le(name_length);
        // The size of extended attributes (none), a short name (none), the id.
        match self.class {
            DirectoryClass::Names | DirectoryClass::Directory => {}
            DirectoryClass::FullDirectory => zeros(out, 4),
            DirectoryClass::BothDirectory => zeros(out, 30),
            DirectoryClass::IdBothDirectory => {
                zeros(out, 32);
                out.put_u64_le(entry.file_id);
            }
            DirectoryClass::IdFullDirectory => {
                zeros(out, 8);
                out.put_u64_le(entry.file_id);
            }
            DirectoryClass::IdExtdDirectory => {
                zeros(out, 8);
                out.put_u64_le(entry.file_id);
                out.put_u64_le(0);
            }
        }
        text::encode_into(out, entry.name);
    }

    /// Whether nothing fitted, or nothing was there.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// The buffer.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str) -> Entry<'_> {
        Entry {
            name,
            times: FileTimes { creation_time: 1, last_access_time: 2, last_write_time: 3, change_time: 4 },
            end_of_file: 5,
            allocation_size: 6,
            file_attributes: 0x20,
            file_id: 0x1122_3344_5566_7788,
        }
    }

    /// The names that the offsets lead to, as a client reads them.
    fn names(class: DirectoryClass, bytes: &[u8]) -> Vec<String> {
        let (mut found, mut position) = (Vec::new(), 0);
        let number = |at: usize| usize::try_from(u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())).unwrap();
        loop {
            let length = number(position + if class == DirectoryClass::Names { 8 } else { 60 });
            let name = position + class.fixed();
            found.push(text::decode(&bytes[name..name + length]).unwrap());
            match number(position) {
                0 => return found,
                next => position += next,
            }
            assert_eq!(position % 8, 0);
        }
    }

    #[test]
    fn entries_follow_each_other() {
        for class in DirectoryClass::ALL {
            let mut buffer = DirectoryBuffer::new(class, 65536);
            for name in [".", "..", "a", "\u{1f600}.txt"] {
                assert!(buffer.push(&entry(name)));
            }
            assert_eq!(names(class, &buffer.into_bytes()), [".", "..", "a", "\u{1f600}.txt"], "{class:?}");
            assert_eq!(DirectoryClass::numbered(class.number()), Some(class));
        }
        assert_eq!(DirectoryClass::numbered(4), None);
    }

    #[test]
    fn an_entry_fits_to_the_last_byte_or_leaves_no_trace() {
        for class in DirectoryClass::ALL {
            let one = class.fixed() + 6;
            let mut buffer = DirectoryBuffer::new(class, one - 1);
            assert!(!buffer.push(&entry("abc")) && buffer.is_empty());
            let two = one.next_multiple_of(8) + one;
            let mut small = DirectoryBuffer::new(class, two - 1);
            assert!(small.push(&entry("abc")));
            let before = small.clone().into_bytes();
            assert!(!small.push(&entry("abc")));
            assert_eq!(small.clone().into_bytes(), before, "nothing was written: {class:?}");
            assert!(class.fixed() < 8 || !small.push(&entry("abcdefgh")));
            let mut buffer = DirectoryBuffer::new(class, two);
            assert!(buffer.push(&entry("abc")) && buffer.push(&entry("abc")));
            assert_eq!(buffer.into_bytes().len(), two, "{class:?}");
        }
    }

    #[test]
    fn ids_stand_where_clients_look() {
        let table = [
            (DirectoryClass::IdBothDirectory, 96),
            (DirectoryClass::IdFullDirectory, 72),
            (DirectoryClass::IdExtdDirectory, 72),
        ];
        for (class, position) in table {
            let mut buffer = DirectoryBuffer::new(class, 1000);
            assert!(buffer.push(&entry("a")));
            let bytes = buffer.into_bytes();
            assert_eq!(bytes[position..position + 8], 0x1122_3344_5566_7788_u64.to_le_bytes(), "{class:?}");
            assert_eq!(bytes[40..48], [5, 0, 0, 0, 0, 0, 0, 0], "the end of file stands before the allocation");
        }
    }
}
