//! The body of a response that is an error (MS-SMB2 2.2.2), before 3.1.1 and with its contexts.

use super::bytes::length32;
use crate::NtStatus;
use bytes::BufMut;

/// In the context of an error: which kind of data follows.
pub const ERROR_ID_DEFAULT: u32 = 0;

/// What is said besides the status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErrorResponse<'a> {
    /// Empty; the required length of `BUFFER_TOO_SMALL` and `INFO_LENGTH_MISMATCH`; or a symbolic link.
    pub data: &'a [u8],
}

impl ErrorResponse<'_> {
    /// Appends the body. In 3.1.1 data stands in a context.
    pub fn encode(&self, has_contexts: bool, out: &mut Vec<u8>) {
        out.put_u16_le(9);
        let in_context = has_contexts && !self.data.is_empty();
        out.put_u8(u8::from(in_context));
        out.put_u8(0);
        if in_context {
            out.put_u32_le(length32(self.data.len().saturating_add(8)));
            out.put_u32_le(length32(self.data.len()));
            out.put_u32_le(ERROR_ID_DEFAULT);
        } else {
            out.put_u32_le(length32(self.data.len()));
        }
        out.put_slice(self.data);
        if self.data.is_empty() {
            // The byte that the StructureSize counts: clients wait for it.
            out.put_u8(0);
        }
    }
}

/// The statuses that are not errors by their severity, or not only: the response has the command's own body with them.
#[must_use]
pub fn has_own_body(status: NtStatus) -> bool {
    matches!(
        status,
        NtStatus::SUCCESS | NtStatus::MORE_PROCESSING_REQUIRED | NtStatus::BUFFER_OVERFLOW | NtStatus::NOTIFY_ENUM_DIR
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors() {
        let table: &[(&[u8], bool, &[u8])] = &[
            (b"", false, b"\x09\0\0\0\0\0\0\0\0"),
            (b"", true, b"\x09\0\0\0\0\0\0\0\0"),
            (b"\x10\0\0\0", false, b"\x09\0\0\0\x04\0\0\0\x10\0\0\0"),
            (b"\x10\0\0\0", true, b"\x09\0\x01\0\x0c\0\0\0\x04\0\0\0\0\0\0\0\x10\0\0\0"),
        ];
        for (data, has_contexts, expected) in table {
            let mut out = Vec::new();
            ErrorResponse { data }.encode(*has_contexts, &mut out);
            assert_eq!(out, *expected);
        }
    }
}
