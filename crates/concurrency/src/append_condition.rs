//! Append conditions: where the append must begin and how long the blob may become.
//!
//! Owns the two comparisons. Must never be asked outside the transaction of the append: the length it compares is the
//! length the append continues.

/// The conditions of an append: `x-ms-blob-condition-appendpos` and `x-ms-blob-condition-maxsize`.
///
/// ```
/// use concurrency::append_condition::{AppendConditions, AppendRefusal};
/// let once = AppendConditions { position: Some(100), max_size: None };
/// assert_eq!(once.check(100, 20), Ok(()));
/// assert_eq!(once.check(120, 20), Err(AppendRefusal::PositionNotMet { length: 120 }));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AppendConditions {
    /// The length that the blob must have.
    pub position: Option<u64>,
    /// The length that the blob must not exceed afterwards.
    pub max_size: Option<u64>,
}

/// Why an append is refused. Nothing was appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendRefusal {
    /// 412 AppendPositionConditionNotMet.
    #[error("the append position is not the length {length}")]
    PositionNotMet {
        /// The current length.
        length: u64,
    },
    /// 412 MaxBlobSizeConditionNotMet.
    #[error("the blob would become longer than the maximum size of the condition")]
    MaxSizeNotMet,
}

impl AppendConditions {
    /// Decides the append of `block_length` bytes to a blob of `length` bytes. A seal appends 0.
    ///
    /// # Errors
    /// An [`AppendRefusal`]; the position is compared first.
    pub fn check(&self, length: u64, block_length: u64) -> Result<(), AppendRefusal> {
        if self.position.is_some_and(|position| position != length) {
            return Err(AppendRefusal::PositionNotMet { length });
        }
        let fits = |max_size| length.checked_add(block_length).is_some_and(|end| end <= max_size);
        if self.max_size.is_some_and(|max_size| !fits(max_size)) {
            return Err(AppendRefusal::MaxSizeNotMet);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{AppendConditions, AppendRefusal};
    use crate::table_test::check_cells;

    #[test]
    fn b6_append_position_and_maximum_size() {
        let table = "
appendpos | maxsize | length 100, block 20 | length 100, block 0
          |         | ok                   | ok
100       |         | ok                   | ok
99        |         | position             | position
101       |         | position             | position
          | 120     | ok                   | ok
          | 119     | size                 | ok
          | 100     | size                 | ok
          | 99      | size                 | size
100       | 120     | ok                   | ok
100       | 119     | size                 | ok
99        | 120     | position             | position
99        | 0       | position             | position
";
        let cells = check_cells(table, 2, |row, heading| {
            let conditions = AppendConditions { position: row[0].parse().ok(), max_size: row[1].parse().ok() };
            let block = if heading.ends_with("20") { 20 } else { 0 };
            match conditions.check(100, block) {
                Ok(()) => "ok".into(),
                Err(AppendRefusal::PositionNotMet { length: 100 }) => "position".into(),
                Err(AppendRefusal::MaxSizeNotMet) => "size".into(),
                other => format!("{other:?}"),
            }
        });
        assert_eq!(cells, 24);
    }

    #[test]
    fn a_length_beyond_every_number_is_too_long() {
        let conditions = AppendConditions { position: None, max_size: Some(u64::MAX) };
        assert_eq!(conditions.check(u64::MAX, 1), Err(AppendRefusal::MaxSizeNotMet));
        assert_eq!(conditions.check(u64::MAX, 0), Ok(()));
    }
}
