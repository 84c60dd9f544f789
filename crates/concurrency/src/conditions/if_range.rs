//! `If-Range`: a part of what the client has a part of already, or else all of what there is now (RFC 9110, 13.1.5).
//!
//! Owns when the range of a read counts. Must never refuse: a validator that does not hold, or is none, makes the answer
//! the whole content.

use types::Timestamp;

use super::{ETagCondition, Resource};

/// The value of `If-Range`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfRange<'a> {
    /// An ETag. A weak one never holds.
    ETag(ETagCondition<'a>),
    /// The Last-Modified that an answer had; it holds only if it is exactly the present one.
    Date(Timestamp),
    /// Something else, which never holds.
    Unknown,
}

impl IfRange<'_> {
    /// Whether the range of the request counts.
    ///
    /// ```
    /// use concurrency::conditions::{ETagCondition, IfRange, Resource};
    /// use types::{ETag, Timestamp};
    ///
    /// let resource = Resource::Present { etag: ETag::new(7), last_modified: Timestamp::from_seconds(100) };
    /// assert!(IfRange::ETag(ETagCondition::parse("\"0x0000000000000007\"")?).holds(resource));
    /// assert!(!IfRange::Date(Timestamp::from_seconds(101)).holds(resource));
    /// # Ok::<(), concurrency::conditions::InvalidETagCondition>(())
    /// ```
    #[must_use]
    pub fn holds(&self, resource: Resource) -> bool {
        let Resource::Present { etag, last_modified } = resource else { return false };
        match self {
            Self::ETag(condition) => condition.count() == 1 && condition.names(etag),
            Self::Date(date) => date.seconds() == last_modified.seconds(),
            Self::Unknown => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use types::ETag;

    use super::*;

    #[test]
    fn only_the_same_state_gives_a_part() {
        let resource = Resource::Present { etag: ETag::new(7), last_modified: Timestamp::from_ticks(1_000_000_005) };
        let tag = |text| IfRange::ETag(ETagCondition::parse(text).unwrap());
        let table = [
            (tag("\"0x0000000000000007\""), true),
            (tag("W/\"0x0000000000000007\""), false),
            (tag("\"0x0000000000000008\""), false),
            (tag("\"0x0000000000000007\", \"0x0000000000000008\""), false),
            (tag("*"), false),
            (IfRange::Date(Timestamp::from_seconds(100)), true),
            (IfRange::Date(Timestamp::from_seconds(99)), false),
            (IfRange::Date(Timestamp::from_seconds(101)), false),
            (IfRange::Unknown, false),
        ];
        for (condition, holds) in table {
            assert_eq!(condition.holds(resource), holds, "{condition:?}");
            assert!(!condition.holds(Resource::Absent), "{condition:?}");
        }
    }
}
