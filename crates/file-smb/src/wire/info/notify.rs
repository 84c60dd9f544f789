//! The buffer of CHANGE_NOTIFY (MS-FSCC 2.7.1).

use super::name;
use crate::wire::{
    bytes::{align, length32, patch32},
    text,
};
use bytes::BufMut;

/// What a client wants to be told of.
pub mod filter {
    #![expect(missing_docs, reason = "the names are those of MS-SMB2 2.2.35")]
    pub const FILE_NAME: u32 = 0x001;
    pub const DIR_NAME: u32 = 0x002;
    pub const ATTRIBUTES: u32 = 0x004;
    pub const SIZE: u32 = 0x008;
    pub const LAST_WRITE: u32 = 0x010;
    pub const LAST_ACCESS: u32 = 0x020;
    pub const CREATION: u32 = 0x040;
    pub const EA: u32 = 0x080;
    pub const SECURITY: u32 = 0x100;
    pub const STREAM_NAME: u32 = 0x200;
    pub const STREAM_SIZE: u32 = 0x400;
    pub const STREAM_WRITE: u32 = 0x800;
}

/// What has happened.
pub mod action {
    #![expect(missing_docs, reason = "the names are those of MS-FSCC 2.7.1")]
    pub const ADDED: u32 = 1;
    pub const REMOVED: u32 = 2;
    pub const MODIFIED: u32 = 3;
    pub const RENAMED_OLD_NAME: u32 = 4;
    pub const RENAMED_NEW_NAME: u32 = 5;
}

/// Changes, one after the other at multiples of four.
#[derive(Clone, Debug)]
pub struct NotifyBuffer {
    limit: usize,
    out: Vec<u8>,
    last: usize,
}

impl NotifyBuffer {
    /// An empty one, for at most so many bytes.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self { limit, out: Vec::new(), last: 0 }
    }

    /// Adds a change if it fits. The path is from the watched directory, with `\` between names.
    #[must_use = "what does not fit is answered with NOTIFY_ENUM_DIR"]
    pub fn push(&mut self, action: u32, path: &str) -> bool {
        let start = self.out.len().next_multiple_of(4);
        if start.saturating_add(12).saturating_add(text::length(path)) > self.limit {
            return false;
        }
        if !self.out.is_empty() {
            align(&mut self.out, 0, 4);
            let next = length32(start.saturating_sub(self.last));
            patch32(&mut self.out, self.last, next);
        }
        self.last = start;
        self.out.put_u32_le(0);
        self.out.put_u32_le(action);
        name(&mut self.out, path);
        true
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

    #[test]
    fn changes_follow_each_other_while_they_fit() {
        let mut buffer = NotifyBuffer::new(16 + 16);
        assert!(buffer.push(action::ADDED, "a"));
        assert!(buffer.push(action::REMOVED, "bc"));
        assert!(!buffer.push(action::MODIFIED, ""));
        let expected = b"\x10\0\0\0\x01\0\0\0\x02\0\0\0a\0\0\0\0\0\0\0\x02\0\0\0\x04\0\0\0b\0c\0";
        assert_eq!(buffer.into_bytes(), expected);
    }
}
