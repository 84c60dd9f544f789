//! What QUERY_INFO says about a file (MS-FSCC 2.4).

use super::{
    super::{bytes::align, create::FileTimes, text},
    Answer, fit, name,
};
use crate::NtStatus;
use bytes::BufMut;

/// Numbers of classes.
pub mod class {
    #![expect(missing_docs, reason = "the names are those of MS-FSCC 2.4")]
    pub const BASIC: u8 = 4;
    pub const STANDARD: u8 = 5;
    pub const INTERNAL: u8 = 6;
    pub const EA: u8 = 7;
    pub const ACCESS: u8 = 8;
    pub const NAME: u8 = 9;
    pub const RENAME: u8 = 10;
    pub const LINK: u8 = 11;
    pub const DISPOSITION: u8 = 13;
    pub const POSITION: u8 = 14;
    pub const FULL_EA: u8 = 15;
    pub const MODE: u8 = 16;
    pub const ALIGNMENT: u8 = 17;
    pub const ALL: u8 = 18;
    pub const ALLOCATION: u8 = 19;
    pub const END_OF_FILE: u8 = 20;
    pub const ALTERNATE_NAME: u8 = 21;
    pub const STREAM: u8 = 22;
    pub const COMPRESSION: u8 = 28;
    pub const NETWORK_OPEN: u8 = 34;
    pub const ATTRIBUTE_TAG: u8 = 35;
    pub const VALID_DATA_LENGTH: u8 = 39;
    pub const NORMALIZED_NAME: u8 = 48;
    pub const ID: u8 = 59;
    pub const DISPOSITION_EX: u8 = 64;
    pub const RENAME_EX: u8 = 65;
}

/// Everything that is asked about a file and its open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileFacts<'a> {
    /// FILETIMEs.
    pub times: FileTimes,
    /// See [`super::super::create::attributes`]; never 0.
    pub file_attributes: u32,
    /// Bytes that it takes.
    pub allocation_size: u64,
    /// Bytes that it has.
    pub end_of_file: u64,
    /// It is gone with its last open.
    pub delete_pending: bool,
    /// It is a directory.
    pub directory: bool,
    /// Its id on the volume.
    pub file_id: u64,
    /// The volume.
    pub volume_id: u64,
    /// What the open may do.
    pub access: u32,
    /// Where the open is.
    pub position: u64,
    /// How the open was made.
    pub mode: u32,
    /// The path from the root of the share, with `\` between names and none at the beginning.
    pub path: &'a str,
}

/// The answer to a class, for a client that takes so many bytes.
///
/// # Errors
/// `INFO_LENGTH_MISMATCH`: less than the fixed part; `OBJECT_NAME_NOT_FOUND`: there are no short names;
/// `INVALID_INFO_CLASS`: no such class; `NOT_SUPPORTED`: not in SMB2.
pub fn query(class: u8, facts: &FileFacts<'_>, limit: u32) -> Result<Answer, NtStatus> {
    let mut out = Vec::new();
    let fixed = match class {
        class::BASIC => {
            basic(&mut out, facts);
            40
        }
        class::STANDARD => {
            standard(&mut out, facts);
            24
        }
        class::INTERNAL => {
            out.put_u64_le(facts.file_id);
            8
        }
        class::EA | class::ALIGNMENT => {
            out.put_u32_le(0);
            4
        }
        class::ACCESS => {
            out.put_u32_le(facts.access);
            4
        }
        class::POSITION => {
            out.put_u64_le(facts.position);
            8
        }
        class::MODE => {
            out.put_u32_le(facts.mode);
            4
        }
        class::ALL => {
            basic(&mut out, facts);
            standard(&mut out, facts);
            out.put_u64_le(facts.file_id);
            out.put_u32_le(0);
            out.put_u32_le(facts.access);
            out.put_u64_le(facts.position);
            out.put_u32_le(facts.mode);
            out.put_u32_le(0);
            rooted(&mut out, facts.path);
            104
        }
        class::NETWORK_OPEN => {
            facts.times.write(&mut out);
            out.put_u64_le(facts.allocation_size);
            out.put_u64_le(facts.end_of_file);
            out.put_u32_le(facts.file_attributes);
            out.put_u32_le(0);
            56
        }
        class::ATTRIBUTE_TAG => {
            out.put_u32_le(facts.file_attributes);
            out.put_u32_le(0);
            8
        }
        class::STREAM => {
            stream(&mut out, facts);
            32
        }
        class::NORMALIZED_NAME => {
            name(&mut out, facts.path);
            8
        }
        class::COMPRESSION => {
            out.put_u64_le(facts.end_of_file);
            out.put_u64_le(0);
            16
        }
        class::ID => {
            out.put_u64_le(facts.volume_id);
            out.put_u64_le(facts.file_id);
            out.put_u64_le(0);
            24
        }
        class::ALTERNATE_NAME => return Err(NtStatus::OBJECT_NAME_NOT_FOUND),
        class::NAME => return Err(NtStatus::NOT_SUPPORTED),
        class::FULL_EA => return Err(NtStatus::NO_MORE_EAS),
        _unknown => return Err(NtStatus::INVALID_INFO_CLASS),
    };
    // A file without a stream (a directory) has nothing to be cut.
    let fixed = if out.is_empty() { 0 } else { fixed };
    fit(out, fixed, limit)
}

fn basic(out: &mut Vec<u8>, facts: &FileFacts<'_>) {
    facts.times.write(out);
    out.put_u32_le(facts.file_attributes);
    out.put_u32_le(0);
}

fn standard(out: &mut Vec<u8>, facts: &FileFacts<'_>) {
    out.put_u64_le(facts.allocation_size);
    out.put_u64_le(facts.end_of_file);
    // A file that is going has no name any more.
    out.put_u32_le(u32::from(!facts.delete_pending));
    out.put_u8(facts.delete_pending.into());
    out.put_u8(facts.directory.into());
    out.put_u16_le(0);
}

/// The name that FileAllInformation has: from the root.
fn rooted(out: &mut Vec<u8>, path: &str) {
    let length = text::length(path).saturating_add(2);
    out.put_u32_le(super::super::bytes::length32(length));
    out.put_u16_le(u16::from(b'\\'));
    text::encode_into(out, path);
}

/// The one stream of a file; a directory has none.
fn stream(out: &mut Vec<u8>, facts: &FileFacts<'_>) {
    if facts.directory {
        return;
    }
    let stream = "::$DATA";
    out.put_u32_le(0);
    out.put_u32_le(super::super::bytes::length32(text::length(stream)));
    out.put_u64_le(facts.end_of_file);
    out.put_u64_le(facts.allocation_size);
    text::encode_into(out, stream);
    align(out, 0, 2);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_and_their_fixed_parts() {
        let facts = FileFacts { path: "dir\\file", file_attributes: 0x20, end_of_file: 9, ..FileFacts::default() };
        // class, fixed part, whole length
        let table = [
            (class::BASIC, 40, 40),
            (class::STANDARD, 24, 24),
            (class::INTERNAL, 8, 8),
            (class::EA, 4, 4),
            (class::ACCESS, 4, 4),
            (class::POSITION, 8, 8),
            (class::MODE, 4, 4),
            (class::ALIGNMENT, 4, 4),
            (class::ALL, 104, 100 + 18),
            (class::NETWORK_OPEN, 56, 56),
            (class::ATTRIBUTE_TAG, 8, 8),
            (class::STREAM, 32, 38),
            (class::NORMALIZED_NAME, 8, 20),
            (class::COMPRESSION, 16, 16),
            (class::ID, 24, 24),
        ];
        for (class, fixed, whole) in table {
            assert_eq!(query(class, &facts, fixed - 1), Err(NtStatus::INFO_LENGTH_MISMATCH), "{class}");
            let least = query(class, &facts, fixed).unwrap();
            let overflow = if fixed < whole { NtStatus::BUFFER_OVERFLOW } else { NtStatus::SUCCESS };
            assert_eq!((least.buffer.len(), least.status), (usize::try_from(fixed).unwrap(), overflow), "{class}");
            let all = query(class, &facts, 65536).unwrap();
            assert_eq!((all.buffer.len(), all.status), (usize::try_from(whole).unwrap(), NtStatus::SUCCESS), "{class}");
        }
    }

    #[test]
    fn what_there_is_not() {
        let facts = FileFacts::default();
        assert_eq!(query(class::ALTERNATE_NAME, &facts, 100), Err(NtStatus::OBJECT_NAME_NOT_FOUND));
        assert_eq!(query(class::RENAME, &facts, 100), Err(NtStatus::INVALID_INFO_CLASS));
        assert_eq!(query(200, &facts, 100), Err(NtStatus::INVALID_INFO_CLASS));
        let directory = FileFacts { directory: true, ..facts };
        assert!(query(class::STREAM, &directory, 100).unwrap().buffer.is_empty());
    }

    #[test]
    fn a_file_that_is_going() {
        let standard = |delete_pending| {
            let facts = FileFacts { delete_pending, allocation_size: 1, end_of_file: 2, ..FileFacts::default() };
            query(class::STANDARD, &facts, 24).unwrap().buffer
        };
        assert_eq!(standard(false)[16..], [1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(standard(true)[16..], [0, 0, 0, 0, 1, 0, 0, 0]);
    }
}
