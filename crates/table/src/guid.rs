//! Edm.Guid: 128 bits, written in groups of hexadecimal digits.

use std::fmt;

/// A GUID, in the order in which it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guid(u128);

impl Guid {
    /// The GUID with these bits.
    #[must_use]
    pub const fn new(bits: u128) -> Self {
        Self(bits)
    }

    /// Its digits as one number.
    #[must_use]
    pub const fn bits(self) -> u128 {
        self.0
    }

    /// Reads 32 hexadecimal digits in groups of 8, 4, 4, 4 and 12, or without groups.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let grouped = text.len() == 36
            && text.bytes().enumerate().all(|(place, byte)| (byte == b'-') == matches!(place, 8 | 13 | 18 | 23));
        if !grouped && text.len() != 32 {
            return None;
        }
        let mut bits = 0_u128;
        for byte in text.bytes().filter(|byte| *byte != b'-') {
            bits = bits << 4 | u128::from(char::from(byte).to_digit(16)?);
        }
        (grouped || !text.contains('-')).then_some(Self(bits))
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |shift: u32, digits: u32| (self.0 >> shift) & ((1 << (4 * digits)) - 1);
        let (a, b, c, d, e) = (part(96, 8), part(80, 4), part(64, 4), part(48, 4), part(0, 12));
        write!(f, "{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        let text = "c9da6455-213d-42c9-9a79-3e9149a57833";
        assert_eq!(Guid::parse(text).unwrap().to_string(), text);
        assert_eq!(Guid::parse(&text.to_uppercase().replace('-', "")), Guid::parse(text));
        for wrong in ["", "c9da6455", &text[1..], &text.replacen('c', "g", 1), "c9da6455-213d-42c9-9a79-3e9149a5783-"] {
            assert_eq!(Guid::parse(wrong), None, "{wrong}");
        }
    }
}
