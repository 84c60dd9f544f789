//! The conditions of Put Range From URL on the bytes of its source: their CRC-64.
//!
//! Owns the two comparisons. Must never compute a checksum: it comes in as a number.

/// `x-ms-source-if-match-crc64` and `x-ms-source-if-none-match-crc64`; both hold if both are sent.
///
/// ```
/// use concurrency::source_crc64::SourceCrc64Conditions;
/// let same = SourceCrc64Conditions { if_match: Some(7), if_none_match: None };
/// assert!(same.check(7).is_ok() && same.check(8).is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceCrc64Conditions {
    /// The source bytes have this checksum.
    pub if_match: Option<u64>,
    /// The source bytes have another checksum than this.
    pub if_none_match: Option<u64>,
}

/// The source bytes are not what the condition says (412 SourceConditionNotMet).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the CRC-64 condition of the source is not met")]
pub struct SourceCrc64NotMet;

impl SourceCrc64Conditions {
    /// Decides a copy of bytes with this checksum.
    ///
    /// # Errors
    /// [`SourceCrc64NotMet`].
    pub fn check(&self, source_crc64: u64) -> Result<(), SourceCrc64NotMet> {
        let holds = self.if_match.is_none_or(|wanted| wanted == source_crc64)
            && self.if_none_match.is_none_or(|unwanted| unwanted != source_crc64);
        if holds { Ok(()) } else { Err(SourceCrc64NotMet) }
    }
}

#[cfg(test)]
mod tests {
    use super::SourceCrc64Conditions;
    use crate::table_test::check_cells;

    #[test]
    fn b4_crc64_of_the_source() {
        let table = "
if-match | if-none-match | source 7 | source 8
         |               | ok       | ok
7        |               | ok       | 412
         | 7             | 412      | ok
7        | 8             | ok       | 412
7        | 7             | 412      | 412
";
        let cells = check_cells(table, 2, |row, heading| {
            let conditions =
                SourceCrc64Conditions { if_match: row[0].parse().ok(), if_none_match: row[1].parse().ok() };
            let source = if heading == "source 7" { 7 } else { 8 };
            if conditions.check(source).is_ok() { "ok".into() } else { "412".into() }
        });
        assert_eq!(cells, 10);
    }
}
