//! The id of a message, written as a GUID. Fresh for each message; the protocol draws it.

use std::fmt;

/// The id of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct MessageId(u128);

impl MessageId {
    /// The id with these bits.
    #[must_use]
    pub const fn new(bits: u128) -> Self {
        Self(bits)
    }

    /// An id made of random bits, marked as such (a GUID of version 4).
    #[must_use]
    pub const fn from_random(bits: u128) -> Self {
        const KEEP: u128 = !((0xF << 76) | (0x3 << 62));
        Self((bits & KEEP) | (0x4 << 76) | (0x2 << 62))
    }

    /// The 128 bits, in the order in which the GUID is written.
    #[must_use]
    pub const fn bits(self) -> u128 {
        self.0
    }

    /// Reads a GUID with its dashes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let dashes = text.len() == 36 && text.bytes().enumerate().all(|(at, byte)| is_dash_place(at) == (byte == b'-'));
        let digits = text.bytes().filter(u8::is_ascii_hexdigit).count() == 32;
        if !dashes || !digits {
            return None;
        }
        u128::from_str_radix(&text.replace('-', ""), 16).ok().map(Self)
    }
}

const fn is_dash_place(at: usize) -> bool {
    matches!(at, 8 | 13 | 18 | 23)
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |shift: u32, digits: u32| (self.0 >> shift) & ((1 << (4 * digits)) - 1);
        let (a, b, c, d, e) = (part(96, 8), part(80, 4), part(64, 4), part(48, 4), part(0, 12));
        write!(f, "{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}")
    }
}

impl fmt::Debug for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MessageId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_guids() {
        let text = "01234567-89ab-cdef-0011-223344556677";
        let id = MessageId::parse(text).unwrap();
        assert_eq!((id.to_string().as_str(), MessageId::parse(&text.to_uppercase())), (text, Some(id)));
        assert_eq!(MessageId::from_random(u128::MAX).to_string(), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(MessageId::from_random(0).to_string(), "00000000-0000-4000-8000-000000000000");
        for wrong in ["", "x", "0123456789abcdef0011223344556677", "01234567-89ab-cdef-0011-22334455667g", &text[1..]] {
            assert_eq!(MessageId::parse(wrong), None, "{wrong}");
        }
    }
}
