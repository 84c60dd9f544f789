//! The ETag of an object: a number that changes on every update and never repeats.
//!
//! This is the stored value. How it is written on the wire is the service's business; Blob, Queue and File use the
//! quoted hexadecimal form made here, Table writes its own weak form from the entity's Timestamp.

use std::fmt;

use crate::time::Timestamp;

/// The identifier of one state of one object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ETag(u64);

impl ETag {
    /// An ETag with this value. The caller guarantees that the object never had it before.
    #[must_use]
    pub const fn new(value: u64) -> Self {
        Self(value)
    }

    /// The ETag of an object's next state: later than every one it had, and than every one that an object of the same
    /// name had before it. Made from server time, so that it never repeats, also after a backup was restored; `salt` is
    /// any number that changes, for two states in one tick.
    #[must_use]
    pub fn next(previous: Option<Self>, now: Timestamp, salt: u64) -> Self {
        let fresh = (now.ticks() << 8) | (salt & 0xFF);
        Self(previous.map_or(fresh, |previous| fresh.max(previous.0.saturating_add(1))))
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
    use crate::time::Timestamp;

    #[test]
    fn the_next_one_is_later_than_the_last_whatever_the_clock_says() {
        let (early, late) = (Timestamp::from_ticks(5), Timestamp::from_ticks(6));
        let first = ETag::next(None, late, 0xFFFF);
        assert!(ETag::next(Some(first), early, 0) > first);
        assert!(ETag::next(Some(first), late, 0) > first);
        assert_ne!(ETag::next(None, early, 1), ETag::next(None, early, 2));
    }

    #[test]
    fn is_written_as_sixteen_hexadecimal_digits() {
        assert_eq!(ETag::new(0x8DC0_FFEE_1234_5678).to_string(), "0x8DC0FFEE12345678");
        assert_eq!(ETag::new(1).to_string(), "0x0000000000000001");
    }
}
