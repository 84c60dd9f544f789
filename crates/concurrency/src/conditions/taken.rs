//! Which conditions an operation takes at all.
//!
//! Owns one rule: a write refuses a condition that it does not take (400 ConditionHeadersNotSupported), because a client
//! that sent one believes that it was checked, and an update that ignores it is a lost one. Reads and listings that take
//! none ignore them: nothing is lost.

/// The kinds of conditional headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConditionKind {
    /// `If-Match`, `If-None-Match`, `If-Modified-Since`, `If-Unmodified-Since`.
    Standard,
    /// `x-ms-if-tags`.
    Tags,
    /// `x-ms-blob-if-...`: the four, under the names that the operations on tags have for them.
    OfTagged,
}

/// What an operation does with conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It changes nothing: what it does not take is ignored.
    Read,
    /// It writes, and takes only these.
    Write {
        /// The four standard ones; which of them, the operation says itself.
        standard: bool,
        /// The condition on tags.
        tags: bool,
        /// The four under their other names.
        of_tagged: bool,
    },
}

/// A write does not take a condition that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the operation takes no condition of the kind {0:?}")]
pub struct NotTaken(pub ConditionKind);

impl Taken {
    /// A write without conditions (Put Block, Abort Copy Blob, Create Container).
    pub const NONE: Self = Self::Write { standard: false, tags: false, of_tagged: false };
    /// A write that takes the standard ones (those of containers).
    pub const STANDARD: Self = Self::Write { standard: true, tags: false, of_tagged: false };
    /// A write that takes the standard ones and the one on tags: most of them.
    pub const STANDARD_AND_TAGS: Self = Self::Write { standard: true, tags: true, of_tagged: false };
    /// A write that takes the one on tags only (Set Blob Tier, Set Blob Expiry).
    pub const TAGS: Self = Self::Write { standard: false, tags: true, of_tagged: false };
    /// Set Blob Tags.
    pub const OF_TAGGED: Self = Self::Write { standard: false, tags: true, of_tagged: true };

    /// Decides whether a condition of this kind may be sent.
    ///
    /// # Errors
    /// [`NotTaken`].
    ///
    /// ```
    /// use concurrency::conditions::{ConditionKind, Taken};
    /// assert!(Taken::TAGS.check(ConditionKind::Standard).is_err());
    /// assert!(Taken::Read.check(ConditionKind::Standard).is_ok());
    /// ```
    pub const fn check(self, sent: ConditionKind) -> Result<(), NotTaken> {
        let taken = match (self, sent) {
            (Self::Read, _) => true,
            (Self::Write { standard, .. }, ConditionKind::Standard) => standard,
            (Self::Write { tags, .. }, ConditionKind::Tags) => tags,
            (Self::Write { of_tagged, .. }, ConditionKind::OfTagged) => of_tagged,
        };
        if taken { Ok(()) } else { Err(NotTaken(sent)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table_test::check_cells;

    #[test]
    fn a_write_refuses_what_it_does_not_take() {
        let table = "
operation         | Standard | Tags | OfTagged
read              | ok       | ok   | ok
none              | 400      | 400  | 400
standard          | ok       | 400  | 400
standard and tags | ok       | ok   | 400
tags              | 400      | ok   | 400
of tagged         | 400      | ok   | ok
";
        let cells = check_cells(table, 1, |row, kind| {
            let taken = match row[0] {
                "read" => Taken::Read,
                "none" => Taken::NONE,
                "standard" => Taken::STANDARD,
                "standard and tags" => Taken::STANDARD_AND_TAGS,
                "tags" => Taken::TAGS,
                _ => Taken::OF_TAGGED,
            };
            let kind = match kind {
                "Standard" => ConditionKind::Standard,
                "Tags" => ConditionKind::Tags,
                _ => ConditionKind::OfTagged,
            };
            if taken.check(kind).is_ok() { "ok" } else { "400" }.to_owned()
        });
        assert_eq!(cells, 18);
    }
}
