//! The ETag of an object: a number that changes on every update and never repeats.
//!
//! This is the stored value. How it is written on the wire is the service's business; Blob, Queue and File use the
//! quoted hexadecimal form made here, Table writes its own weak form from the entity's Timestamp.

use std::fmt;

/// The identifier of one state of one object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ETag(u64);

impl ETag {
    /// An ETag with this value. The caller guarantees that the object never had it before.
    #[must_use]
    pub const fn new(value: u64) -> Self {
        Self(value)
    }

    /// The stored value.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.0
    }
}

impl fmt::Display for ETag {
    /// The text between the quotes, in the form clients know: `0x8DC0FFEE12345678`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:016X}", self.0)
    }
}

impl fmt::Debug for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ETag({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::ETag;

    #[test]
    fn is_written_as_sixteen_hexadecimal_digits() {
        assert_eq!(ETag::new(0x8DC0_FFEE_1234_5678).to_string(), "0x8DC0FFEE12345678");
        assert_eq!(ETag::new(1).to_string(), "0x0000000000000001");
    }
}
