//! FILETIMEs: 100-nanosecond ticks since 1601. What a client sets has three values with a meaning of their own.

use crate::NtStatus;
use types::Timestamp;

/// Ticks from 1601 to 1970.
const EPOCH: u64 = 116_444_736_000_000_000;

/// The FILETIME of an instant.
#[must_use]
pub const fn from_timestamp(instant: Timestamp) -> u64 {
    instant.ticks().saturating_add(EPOCH)
}

/// The instant of a FILETIME; none before 1970.
#[must_use]
pub const fn to_timestamp(filetime: u64) -> Option<Timestamp> {
    match filetime.checked_sub(EPOCH) {
        Some(ticks) => Some(Timestamp::from_ticks(ticks)),
        None => None,
    }
}

/// What SET_INFO says about a time (MS-FSCC 2.4.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetTime {
    /// 0: leave it as it is.
    Keep,
    /// -1: leave it, and do not change it for what this open does from now on.
    Freeze,
    /// -2: change it again for what this open does.
    Thaw,
    /// This FILETIME; not changed any more for what this open does.
    At(u64),
}

impl SetTime {
    /// Reads a field.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`: less than -2.
    pub fn parse(field: i64) -> Result<Self, NtStatus> {
        match field {
            0 => Ok(Self::Keep),
            -1 => Ok(Self::Freeze),
            -2 => Ok(Self::Thaw),
            field => u64::try_from(field).map(Self::At).map_err(|_negative| NtStatus::INVALID_PARAMETER),
        }
    }

    /// The field.
    #[must_use]
    pub fn field(self) -> i64 {
        match self {
            Self::Keep => 0,
            Self::Freeze => -1,
            Self::Thaw => -2,
            Self::At(filetime) => i64::try_from(filetime).unwrap_or(i64::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants() {
        assert_eq!(from_timestamp(Timestamp::EPOCH), EPOCH);
        assert_eq!(to_timestamp(EPOCH + 5), Some(Timestamp::from_ticks(5)));
        assert_eq!(to_timestamp(EPOCH - 1), None);
        // 2009-07-25T23:00:00Z, an example of Microsoft's.
        assert_eq!(to_timestamp(128_930_364_000_000_000), Some(Timestamp::from_seconds(1_248_562_800)));
    }

    #[test]
    fn fields() {
        let table = [
            (0, Ok(SetTime::Keep)),
            (-1, Ok(SetTime::Freeze)),
            (-2, Ok(SetTime::Thaw)),
            (7, Ok(SetTime::At(7))),
            (-3, Err(NtStatus::INVALID_PARAMETER)),
            (i64::MIN, Err(NtStatus::INVALID_PARAMETER)),
        ];
        for (field, expected) in table {
            assert_eq!(SetTime::parse(field), expected);
            if let Ok(time) = expected {
                assert_eq!(time.field(), field);
            }
        }
    }
}
