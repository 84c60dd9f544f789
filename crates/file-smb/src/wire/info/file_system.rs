//! What QUERY_INFO says about a file system (MS-FSCC 2.5).

use super::{Answer, fit, name};
use crate::{
    NtStatus,
    wire::{bytes::zeros, text},
};
use bytes::BufMut;

/// Numbers of classes.
pub mod class {
    #![expect(missing_docs, reason = "the names are those of MS-FSCC 2.5")]
    pub const VOLUME: u8 = 1;
    pub const LABEL: u8 = 2;
    pub const SIZE: u8 = 3;
    pub const DEVICE: u8 = 4;
    pub const ATTRIBUTE: u8 = 5;
    pub const CONTROL: u8 = 6;
    pub const FULL_SIZE: u8 = 7;
    pub const OBJECT_ID: u8 = 8;
    pub const SECTOR_SIZE: u8 = 11;
}

/// Bits of what a file system can do.
pub mod attributes {
    #![expect(missing_docs, reason = "the names are those of MS-FSCC 2.5.1")]
    pub const CASE_SENSITIVE_SEARCH: u32 = 0x0000_0001;
    pub const CASE_PRESERVED_NAMES: u32 = 0x0000_0002;
    pub const UNICODE_ON_DISK: u32 = 0x0000_0004;
    pub const PERSISTENT_ACLS: u32 = 0x0000_0008;
    pub const SUPPORTS_SPARSE_FILES: u32 = 0x0000_0040;
    pub const VOLUME_QUOTAS: u32 = 0x0000_0020;
    pub const READ_ONLY_VOLUME: u32 = 0x0008_0000;
}

/// The bytes of a sector; a unit of allocation has [`SECTORS_PER_UNIT`] of them.
pub const SECTOR: u32 = 512;
/// 4 KiB are allocated at once.
pub const SECTORS_PER_UNIT: u32 = 8;
/// Bytes of a unit of allocation.
const UNIT: u64 = 4096;

/// Everything that is asked about a share as a volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VolumeFacts<'a> {
    /// A FILETIME.
    pub creation_time: u64,
    /// For people.
    pub serial_number: u32,
    /// The name of the share.
    pub label: &'a str,
    /// "NTFS": programs look for it to learn what they may ask.
    pub file_system: &'a str,
    /// See [`attributes`].
    pub attributes: u32,
    /// The quota of the share, in bytes.
    pub total_bytes: u64,
    /// What of it is not used.
    pub free_bytes: u64,
    /// The share.
    pub object_id: [u8; 16],
}

/// The answer to a class, for a client that takes so many bytes.
///
/// # Errors
/// `INFO_LENGTH_MISMATCH`: less than the fixed part; `INVALID_INFO_CLASS`: no such class, or only to be set.
pub fn query(class: u8, facts: &VolumeFacts<'_>, limit: u32) -> Result<Answer, NtStatus> {
    let mut out = Vec::new();
    let (total, free) = (facts.total_bytes / UNIT, facts.free_bytes / UNIT);
    let fixed = match class {
        class::VOLUME => {
            out.put_u64_le(facts.creation_time);
            out.put_u32_le(facts.serial_number);
            out.put_u32_le(crate::wire::bytes::length32(text::length(facts.label)));
            // Objects are not supported.
            out.put_u16_le(0);
            text::encode_into(&mut out, facts.label);
            24
        }
        class::SIZE => {
            out.put_u64_le(total);
            out.put_u64_le(free);
            out.put_u32_le(SECTORS_PER_UNIT);
            out.put_u32_le(SECTOR);
            24
        }
        class::FULL_SIZE => {
            out.put_u64_le(total);
            out.put_u64_le(free);
            out.put_u64_le(free);
            out.put_u32_le(SECTORS_PER_UNIT);
            out.put_u32_le(SECTOR);
            32
        }
        class::DEVICE => {
            // A disk that is mounted.
            out.put_u32_le(7);
            out.put_u32_le(0x20);
            8
        }
        class::ATTRIBUTE => {
            out.put_u32_le(facts.attributes);
            // Longest name of a component.
            out.put_u32_le(255);
            name(&mut out, facts.file_system);
            16
        }
        class::CONTROL => {
            // No quotas of users: nothing begins, nothing ends, no limit.
            zeros(&mut out, 24);
            out.put_u64_le(u64::MAX);
            out.put_u64_le(u64::MAX);
            zeros(&mut out, 8);
            48
        }
        class::OBJECT_ID => {
            out.put_slice(&facts.object_id);
            zeros(&mut out, 48);
            64
        }
        class::SECTOR_SIZE => {
            for _size in 0..4 {
                out.put_u32_le(SECTOR);
            }
            // Aligned, and no seek penalty is known.
            out.put_u32_le(3);
            out.put_u64_le(0);
            28
        }
        _unknown => return Err(NtStatus::INVALID_INFO_CLASS),
    };
    fit(out, fixed, limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_and_their_fixed_parts() {
        let facts = VolumeFacts {
            label: "share",
            file_system: "NTFS",
            total_bytes: 5 << 40,
            free_bytes: 4097,
            ..VolumeFacts::default()
        };
        // class, fixed part, whole length
        let table = [
            (class::VOLUME, 24, 28),
            (class::SIZE, 24, 24),
            (class::DEVICE, 8, 8),
            (class::ATTRIBUTE, 16, 20),
            (class::CONTROL, 48, 48),
            (class::FULL_SIZE, 32, 32),
            (class::OBJECT_ID, 64, 64),
            (class::SECTOR_SIZE, 28, 28),
        ];
        for (class, fixed, whole) in table {
            assert_eq!(query(class, &facts, fixed - 1), Err(NtStatus::INFO_LENGTH_MISMATCH), "{class}");
            let least = query(class, &facts, fixed).unwrap();
            let overflow = if fixed < whole { NtStatus::BUFFER_OVERFLOW } else { NtStatus::SUCCESS };
            assert_eq!((least.buffer.len(), least.status), (usize::try_from(fixed).unwrap(), overflow), "{class}");
            assert_eq!(query(class, &facts, 1000).unwrap().buffer.len(), usize::try_from(whole).unwrap(), "{class}");
        }
        assert_eq!(query(class::LABEL, &facts, 1000), Err(NtStatus::INVALID_INFO_CLASS));
    }

    #[test]
    fn sizes_are_in_units() {
        let facts = VolumeFacts { total_bytes: 8192, free_bytes: 4097, ..VolumeFacts::default() };
        let size = query(class::SIZE, &facts, 24).unwrap().buffer;
        assert_eq!((size[0], size[8], size[16]), (2, 1, 8));
    }
}
