//! FILETIMEs: 100-nanosecond ticks since 1601. What a client sets has three values with a meaning of their own.

use crate::NtStatus;
use types::FileTime;

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
    At(FileTime),
}

impl SetTime {
    /// Reads a field.
    ///
    /// # Errors
    /// `INVALID_PARAMETER`: less than -2, or behind the year 9999.
    pub fn parse(field: i64) -> Result<Self, NtStatus> {
        match field {
            0 => Ok(Self::Keep),
            -1 => Ok(Self::Freeze),
            -2 => Ok(Self::Thaw),
            field => {
                let time = u64::try_from(field).ok().and_then(FileTime::from_filetime);
                time.map(Self::At).ok_or(NtStatus::INVALID_PARAMETER)
            }
        }
    }

    /// The field.
    #[must_use]
    pub fn field(self) -> i64 {
        match self {
            Self::Keep => 0,
            Self::Freeze => -1,
            Self::Thaw => -2,
            Self::At(time) => i64::try_from(time.filetime()).unwrap_or(i64::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields() {
        let table = [
            (0, Ok(SetTime::Keep)),
            (-1, Ok(SetTime::Freeze)),
            (-2, Ok(SetTime::Thaw)),
            (7, Ok(SetTime::At(FileTime::from_filetime(7).unwrap()))),
            (i64::MAX, Err(NtStatus::INVALID_PARAMETER)),
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
