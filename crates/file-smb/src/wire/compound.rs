//! A frame is one message or several, each but the last with the offset of the next (MS-SMB2 3.2.4.1.4).
//!
//! **Invariant.** The parts follow each other, begin at multiples of eight, have at least a header each, and are at most
//! [`MAX_PARTS`]: a frame cannot make the server do more than that before it answers.

use super::header::{HEADER, Header};
use crate::NtStatus;

/// More messages in one frame are refused.
pub const MAX_PARTS: usize = 256;

/// One message of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// Its header.
    pub header: Header,
    /// Header and body, with the padding before the next one: what a signature is over.
    pub message: &'a [u8],
    /// Where it begins in the frame.
    pub offset: usize,
}

/// The messages of a frame.
#[derive(Clone, Debug)]
pub struct Parts<'a> {
    frame: &'a [u8],
    position: Option<usize>,
    count: usize,
}

/// Goes through the messages of a decrypted frame. After an error there is nothing more: the connection is to be closed.
#[must_use]
pub const fn split(frame: &[u8]) -> Parts<'_> {
    Parts { frame, position: Some(0), count: 0 }
}

impl<'a> Iterator for Parts<'a> {
    type Item = Result<Part<'a>, NtStatus>;

    fn next(&mut self) -> Option<Self::Item> {
        let offset = self.position.take()?;
        Some(self.part(offset))
    }
}

impl<'a> Parts<'a> {
    fn part(&mut self, offset: usize) -> Result<Part<'a>, NtStatus> {
        let rest = self.frame.get(offset..).ok_or(NtStatus::INVALID_PARAMETER)?;
        let header = Header::parse(rest)?;
        self.count = self.count.saturating_add(1);
        if self.count > MAX_PARTS {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        if header.next_command == 0 {
            return Ok(Part { header, message: rest, offset });
        }
        let length = usize::try_from(header.next_command).map_err(|_large| NtStatus::INVALID_PARAMETER)?;
        // The next one must have its header: else this one is a lie, and answering it would hide that.
        let next_is_whole = rest.len().checked_sub(length).is_some_and(|left| left >= HEADER);
        if !length.is_multiple_of(8) || length < HEADER || !next_is_whole {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let message = rest.get(..length).ok_or(NtStatus::INVALID_PARAMETER)?;
        self.position = offset.checked_add(length);
        Ok(Part { header, message, offset })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of messages of these lengths, each saying where the next one is.
    fn frame(lengths: &[u32]) -> Vec<u8> {
        let mut out = Vec::new();
        for (position, length) in lengths.iter().enumerate() {
            let start = out.len();
            let next_command = if position + 1 == lengths.len() { 0 } else { *length };
            Header { next_command, ..Header::default() }.encode(&mut out);
            out.resize(start + usize::try_from(*length).unwrap().max(64), 0);
        }
        out
    }

    fn lengths(frame: &[u8]) -> Result<Vec<usize>, NtStatus> {
        split(frame).map(|part| part.map(|part| part.message.len())).collect()
    }

    #[test]
    fn frames_are_split() {
        let table: &[(&[u32], Option<&[usize]>)] = &[
            (&[64], Some(&[64])),
            (&[68], Some(&[68])),
            (&[88, 72, 66], Some(&[88, 72, 66])),
            // Not a multiple of eight, shorter than a header.
            (&[90, 64], None),
            (&[32, 64], None),
        ];
        for (parts, expected) in table {
            assert_eq!(lengths(&frame(parts)).ok().as_deref(), *expected, "{parts:?}");
        }
    }

    #[test]
    fn the_next_one_is_inside_of_the_frame() {
        let whole = frame(&[72, 64]);
        assert!(lengths(&whole).is_ok());
        assert!(lengths(&whole[..whole.len() - 1]).is_err());
        let mut far = whole.clone();
        far[20..24].copy_from_slice(&0xFFFF_FFF8_u32.to_le_bytes());
        assert!(lengths(&far).is_err());
        assert_eq!(split(&far).count(), 1, "nothing after an error");
    }

    #[test]
    fn the_number_of_parts_is_bounded() {
        assert_eq!(lengths(&frame(&[64; MAX_PARTS])).map(|parts| parts.len()), Ok(MAX_PARTS));
        assert!(lengths(&frame(&[64; MAX_PARTS + 1])).is_err());
    }
}
