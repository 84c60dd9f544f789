//! The sequence number of a page blob: its conditions and the ways to set it.
//!
//! Owns the comparisons and the arithmetic. Invariant: a sequence number is from 0 to 2^63 - 1; no action leaves that
//! range.

/// A sequence number: 0 to 2^63 - 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SequenceNumber(u64);

impl SequenceNumber {
    /// That of a new page blob.
    pub const ZERO: Self = Self(0);
    /// The largest one.
    pub const MAX: Self = Self(i64::MAX.unsigned_abs());

    /// The sequence number with this value, `None` above 2^63 - 1.
    #[must_use]
    pub const fn new(value: u64) -> Option<Self> {
        if value <= Self::MAX.0 { Some(Self(value)) } else { None }
    }

    /// As it stands in `x-ms-blob-sequence-number`.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.0
    }
}

/// `x-ms-if-sequence-number-le`, `-lt` and `-eq`; all that are sent must hold.
///
/// ```
/// use concurrency::sequence_number::{SequenceNumber, SequenceNumberConditions};
/// let number = |value| SequenceNumber::new(value).unwrap_or_default();
/// let conditions = SequenceNumberConditions { less: Some(number(7)), ..Default::default() };
/// assert!(conditions.check(number(6)).is_ok() && conditions.check(number(7)).is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SequenceNumberConditions {
    /// The sequence number is at most this.
    pub less_or_equal: Option<SequenceNumber>,
    /// The sequence number is below this.
    pub less: Option<SequenceNumber>,
    /// The sequence number is this.
    pub equal: Option<SequenceNumber>,
}

/// A sequence number condition does not hold (412 SequenceNumberConditionNotMet).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the sequence number condition is not met")]
pub struct SequenceNumberConditionNotMet;

impl SequenceNumberConditions {
    /// Decides a write of pages.
    ///
    /// # Errors
    /// [`SequenceNumberConditionNotMet`] when one of them does not hold.
    pub fn check(&self, current: SequenceNumber) -> Result<(), SequenceNumberConditionNotMet> {
        let holds = self.less_or_equal.is_none_or(|limit| current <= limit)
            && self.less.is_none_or(|limit| current < limit)
            && self.equal.is_none_or(|value| current == value);
        if holds { Ok(()) } else { Err(SequenceNumberConditionNotMet) }
    }
}

/// How Set Blob Properties sets the sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceNumberAction {
    /// The larger of the stored and the sent one.
    Max(SequenceNumber),
    /// The sent one.
    Update(SequenceNumber),
    /// One more than the stored one.
    Increment,
}

/// The sequence number cannot grow (409 SequenceNumberIncrementTooLarge).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the sequence number increment cannot be performed because it would result in overflow")]
pub struct SequenceNumberIncrementTooLarge;

impl SequenceNumberAction {
    /// The sequence number after the action.
    ///
    /// # Errors
    /// [`SequenceNumberIncrementTooLarge`] when it is already the largest.
    ///
    /// ```
    /// use concurrency::sequence_number::{SequenceNumber, SequenceNumberAction};
    /// assert_eq!(SequenceNumberAction::Increment.apply(SequenceNumber::default()), Ok(SequenceNumber::new(1).unwrap()));
    /// assert!(SequenceNumberAction::Increment.apply(SequenceNumber::MAX).is_err());
    /// ```
    pub fn apply(self, stored: SequenceNumber) -> Result<SequenceNumber, SequenceNumberIncrementTooLarge> {
        match self {
            Self::Max(sent) => Ok(stored.max(sent)),
            Self::Update(sent) => Ok(sent),
            Self::Increment => SequenceNumber::new(stored.0.saturating_add(1)).ok_or(SequenceNumberIncrementTooLarge),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table_test::check_cells;

    fn number(value: u64) -> SequenceNumber {
        SequenceNumber::new(value).unwrap()
    }

    #[test]
    fn b6_sequence_number_conditions() {
        let table = "
le | lt | eq | sequence 6 | sequence 7 | sequence 8
   |    |    | ok         | ok         | ok
7  |    |    | ok         | ok         | 412
   | 7  |    | ok         | 412        | 412
   |    | 7  | 412        | ok         | 412
7  | 7  |    | ok         | 412        | 412
7  |    | 7  | 412        | ok         | 412
   | 7  | 7  | 412        | 412        | 412
8  | 8  | 7  | 412        | ok         | 412
";
        let cells = check_cells(table, 3, |row, heading| {
            let sent = |text: &str| text.parse().ok().map(number);
            let conditions =
                SequenceNumberConditions { less_or_equal: sent(row[0]), less: sent(row[1]), equal: sent(row[2]) };
            let current = number(heading.trim_start_matches("sequence ").parse().unwrap());
            if conditions.check(current).is_ok() { "ok".into() } else { "412".into() }
        });
        assert_eq!(cells, 24);
    }

    #[test]
    fn b6_sequence_number_actions() {
        for (action, stored, after) in [
            (SequenceNumberAction::Max(number(5)), number(7), Ok(number(7))),
            (SequenceNumberAction::Max(number(9)), number(7), Ok(number(9))),
            (SequenceNumberAction::Update(number(5)), number(7), Ok(number(5))),
            (SequenceNumberAction::Increment, number(7), Ok(number(8))),
            (SequenceNumberAction::Increment, SequenceNumber::MAX, Err(SequenceNumberIncrementTooLarge)),
        ] {
            assert_eq!(action.apply(stored), after, "{action:?} on {stored:?}");
        }
        assert_eq!(SequenceNumber::new(1 << 63), None);
        assert_eq!(SequenceNumber::MAX.value(), (1 << 63) - 1);
    }
}
