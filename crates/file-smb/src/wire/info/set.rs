//! What SET_INFO asks to be changed of a file (MS-FSCC 2.4).

use super::{file::class, filetime::SetTime};
use crate::{
    NtStatus,
    wire::{Reader, bytes::size},
};
use bytes::BufMut;

/// Flags of FileRenameInformationEx.
pub mod rename_flags {
    #![expect(missing_docs, reason = "the names are those of MS-FSCC 2.4.43")]
    pub const REPLACE_IF_EXISTS: u32 = 0x01;
    pub const POSIX_SEMANTICS: u32 = 0x02;
    pub const IGNORE_READONLY_ATTRIBUTE: u32 = 0x40;
}

/// Flags of FileDispositionInformationEx.
pub mod disposition_flags {
    #![expect(missing_docs, reason = "the names are those of MS-FSCC 2.4.12")]
    pub const DELETE: u32 = 0x01;
    pub const POSIX_SEMANTICS: u32 = 0x02;
    pub const FORCE_IMAGE_SECTION_CHECK: u32 = 0x04;
    pub const ON_CLOSE: u32 = 0x08;
    pub const IGNORE_READONLY_ATTRIBUTE: u32 = 0x10;
}

/// The modes that can be set on an open: write through, sequential, no buffering, synchronous (two), delete on close.
const MODES: u32 = 0x0000_103E;

/// What shall be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetInfo<'a> {
    /// Times and attributes; attributes of 0 stay.
    Basic {
        /// When it was created.
        creation_time: SetTime,
        /// When it was read.
        last_access_time: SetTime,
        /// When it was written.
        last_write_time: SetTime,
        /// When anything of it was changed.
        change_time: SetTime,
        /// See [`crate::wire::create::attributes`].
        file_attributes: u32,
    },
    /// Another name.
    Rename {
        /// See [`rename_flags`].
        flags: u32,
        /// From the root of the share, UTF-16.
        name: &'a [u8],
    },
    /// Gone with the last open, or not.
    Disposition {
        /// See [`disposition_flags`].
        flags: u32,
    },
    /// The length.
    EndOfFile(u64),
    /// The room.
    Allocation(u64),
    /// Where the open is.
    Position(u64),
    /// How the open works.
    Mode(u32),
}

impl<'a> SetInfo<'a> {
    /// Reads a buffer.
    ///
    /// # Errors
    /// `INFO_LENGTH_MISMATCH`: shorter than the class; `INVALID_PARAMETER`: a value that cannot be; `NOT_SUPPORTED`: links;
    /// `EAS_NOT_SUPPORTED`: extended attributes; `INVALID_INFO_CLASS`: no such class, or only to be asked for.
    pub fn parse(class: u8, buffer: &'a [u8]) -> Result<Self, NtStatus> {
        match class {
            class::BASIC => basic(buffer),
            class::RENAME => rename(buffer, false),
            class::RENAME_EX => rename(buffer, true),
            class::DISPOSITION => {
                let [delete, ..] = at_least::<1>(buffer)?;
                Ok(Self::Disposition { flags: u32::from(delete != 0) })
            }
            class::DISPOSITION_EX => Ok(Self::Disposition { flags: u32::from_le_bytes(at_least(buffer)?) }),
            class::END_OF_FILE => length(buffer).map(Self::EndOfFile),
            class::ALLOCATION => length(buffer).map(Self::Allocation),
            class::POSITION => length(buffer).map(Self::Position),
            class::MODE => match u32::from_le_bytes(at_least(buffer)?) {
                mode if mode & !MODES != 0 => Err(NtStatus::INVALID_PARAMETER),
                mode => Ok(Self::Mode(mode)),
            },
            class::LINK => Err(NtStatus::NOT_SUPPORTED),
            class::FULL_EA => Err(NtStatus::EAS_NOT_SUPPORTED),
            class::VALID_DATA_LENGTH => Err(NtStatus::PRIVILEGE_NOT_HELD),
            _unknown => Err(NtStatus::INVALID_INFO_CLASS),
        }
    }

    /// The class and the buffer, as a client would send them. Names and dispositions are written in their newer forms.
    #[must_use]
    pub fn encode(&self) -> (u8, Vec<u8>) {
        let mut out = Vec::new();
        let class = match self {
            Self::Basic { creation_time, last_access_time, last_write_time, change_time, file_attributes } => {
                for time in [creation_time, last_access_time, last_write_time, change_time] {
                    out.put_i64_le(time.field());
                }
                out.put_u32_le(*file_attributes);
                out.put_u32_le(0);
                class::BASIC
            }
            Self::Rename { flags, name } => {
                out.put_u32_le(*flags);
                out.put_u32_le(0);
                out.put_u64_le(0);
                out.put_u32_le(crate::wire::bytes::length32(name.len()));
                out.put_slice(name);
                class::RENAME_EX
            }
            Self::Disposition { flags } => {
                out.put_u32_le(*flags);
                class::DISPOSITION_EX
            }
            Self::EndOfFile(length) => {
                out.put_u64_le(*length);
                class::END_OF_FILE
            }
            Self::Allocation(length) => {
                out.put_u64_le(*length);
                class::ALLOCATION
            }
            Self::Position(position) => {
                out.put_u64_le(*position);
                class::POSITION
            }
            Self::Mode(mode) => {
                out.put_u32_le(*mode);
                class::MODE
            }
        };
        (class, out)
    }
}

fn at_least<const N: usize>(buffer: &[u8]) -> Result<[u8; N], NtStatus> {
    buffer.first_chunk().copied().ok_or(NtStatus::INFO_LENGTH_MISMATCH)
}

/// A length or a position: signed on the wire, and never negative.
fn length(buffer: &[u8]) -> Result<u64, NtStatus> {
    let length = i64::from_le_bytes(at_least(buffer)?);
    u64::try_from(length).map_err(|_negative| NtStatus::INVALID_PARAMETER)
}

fn basic(buffer: &[u8]) -> Result<SetInfo<'_>, NtStatus> {
    let buffer: [u8; 40] = at_least(buffer)?;
    let mut reader = Reader::new(&buffer);
    let mut time = || SetTime::parse(i64::from_le_bytes(reader.array()?));
    let (creation_time, last_access_time, last_write_time, change_time) = (time()?, time()?, time()?, time()?);
    let file_attributes = reader.u32()?;
    Ok(SetInfo::Basic { creation_time, last_access_time, last_write_time, change_time, file_attributes })
}

fn rename(buffer: &[u8], is_ex: bool) -> Result<SetInfo<'_>, NtStatus> {
    let fixed: [u8; 20] = at_least(buffer)?;
    let mut reader = Reader::new(&fixed);
    let flags = reader.u32()?;
    let flags = if is_ex { flags } else { u32::from(flags & 0xFF != 0) };
    reader.skip(4)?;
    let root = reader.u64()?;
    let length = size(reader.u32()?);
    let name = buffer.get(20..).and_then(|rest| rest.get(..length)).ok_or(NtStatus::INFO_LENGTH_MISMATCH)?;
    // A name is from the root of the share, never from another directory.
    if root != 0 || name.is_empty() || name.len() % 2 != 0 {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    Ok(SetInfo::Rename { flags, name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_is_read_as_it_is_written() {
        let table = [
            SetInfo::Basic {
                creation_time: SetTime::Keep,
                last_access_time: SetTime::Freeze,
                last_write_time: SetTime::Thaw,
                change_time: SetTime::At(types::FileTime::from_filetime(132_000_000_000_000_000).unwrap()),
                file_attributes: 0x21,
            },
            SetInfo::Rename { flags: 1, name: b"a\0b\0" },
            SetInfo::Disposition { flags: 3 },
            SetInfo::EndOfFile(1 << 42),
            SetInfo::Allocation(5),
            SetInfo::Position(6),
            SetInfo::Mode(2),
        ];
        for info in table {
            let (class, buffer) = info.encode();
            assert_eq!(SetInfo::parse(class, &buffer), Ok(info));
            for end in 0..buffer.len() {
                assert_eq!(SetInfo::parse(class, &buffer[..end]), Err(NtStatus::INFO_LENGTH_MISMATCH), "{info:?}");
            }
        }
    }

    #[test]
    fn older_forms() {
        let rename = b"\x01\x77\x77\x77\0\0\0\0\0\0\0\0\0\0\0\0\x02\0\0\0a\0rest";
        assert_eq!(SetInfo::parse(class::RENAME, rename), Ok(SetInfo::Rename { flags: 1, name: b"a\0" }));
        assert_eq!(SetInfo::parse(class::DISPOSITION, &[1]), Ok(SetInfo::Disposition { flags: 1 }));
        assert_eq!(SetInfo::parse(class::DISPOSITION, &[0]), Ok(SetInfo::Disposition { flags: 0 }));
    }

    #[test]
    fn what_cannot_be_set() {
        let negative = (-1_i64).to_le_bytes();
        let mut from_elsewhere = b"\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0a\0".to_vec();
        let mut basic = [0; 40];
        basic[..8].copy_from_slice(&(-3_i64).to_le_bytes());
        let table: &[(u8, &[u8], NtStatus)] = &[
            (class::END_OF_FILE, &negative, NtStatus::INVALID_PARAMETER),
            (class::ALLOCATION, &negative, NtStatus::INVALID_PARAMETER),
            (class::POSITION, &negative, NtStatus::INVALID_PARAMETER),
            (class::MODE, &[1, 0, 0, 0], NtStatus::INVALID_PARAMETER),
            (class::BASIC, &basic, NtStatus::INVALID_PARAMETER),
            (class::RENAME, &from_elsewhere.clone(), NtStatus::INVALID_PARAMETER),
            (class::LINK, &[0; 40], NtStatus::NOT_SUPPORTED),
            (class::FULL_EA, &[0; 40], NtStatus::EAS_NOT_SUPPORTED),
            (class::STANDARD, &[0; 40], NtStatus::INVALID_INFO_CLASS),
            (255, &[0; 40], NtStatus::INVALID_INFO_CLASS),
        ];
        for (class, buffer, status) in table {
            assert_eq!(SetInfo::parse(*class, buffer), Err(*status), "{class}");
        }
        from_elsewhere[8] = 0;
        from_elsewhere[16] = 1;
        assert_eq!(SetInfo::parse(class::RENAME, &from_elsewhere), Err(NtStatus::INVALID_PARAMETER), "half a unit");
        from_elsewhere[16] = 0;
        assert_eq!(SetInfo::parse(class::RENAME, &from_elsewhere), Err(NtStatus::INVALID_PARAMETER), "no name");
        from_elsewhere[19] = 0xFF;
        assert_eq!(SetInfo::parse(class::RENAME, &from_elsewhere), Err(NtStatus::INFO_LENGTH_MISMATCH), "too long");
    }
}
