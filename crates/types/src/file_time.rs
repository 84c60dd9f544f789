//! The times that files carry. They are data of clients, not instants of the server.

use crate::{Timestamp, calendar};

const TICKS_PER_SECOND: u64 = 10_000_000;
/// Ticks from 1601 to 1970.
const EPOCH: u64 = 116_444_736_000_000_000;
/// 1601-01-01, as [`calendar`] counts days.
const FIRST_DAY: u64 = calendar::EPOCH_DAY - EPOCH / TICKS_PER_SECOND / calendar::DAY_SECONDS;

/// When a file was created, written, read or changed, as somebody says: 100-nanosecond ticks since 1601-01-01T00:00:00Z, as SMB
/// counts. Unlike a [`Timestamp`] it orders nothing.
///
/// ```
/// use types::{FileTime, Timestamp};
/// assert_eq!(FileTime::of(Timestamp::EPOCH).to_string(), "1970-01-01T00:00:00.0000000Z");
/// assert_eq!(FileTime::from_filetime(0).unwrap().to_string(), "1601-01-01T00:00:00.0000000Z");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileTime(u64);

impl FileTime {
    /// 9999-12-31T23:59:59.9999999Z: no text has a later one.
    pub const LAST: Self = Self(2_650_467_743_999_999_999);

    /// So many ticks since 1601; `None` behind the year 9999.
    #[must_use]
    pub const fn from_filetime(ticks: u64) -> Option<Self> {
        if ticks <= Self::LAST.0 { Some(Self(ticks)) } else { None }
    }

    /// Ticks since 1601.
    #[must_use]
    pub const fn filetime(self) -> u64 {
        self.0
    }

    /// An instant of the server; the last time there is for one behind it.
    #[must_use]
    pub const fn of(instant: Timestamp) -> Self {
        let ticks = instant.ticks().saturating_add(EPOCH);
        if ticks <= Self::LAST.0 { Self(ticks) } else { Self::LAST }
    }

    /// As it is stored: ticks since 1970, those before it as the two's complement.
    #[must_use]
    pub const fn to_row(self) -> u64 {
        self.0.wrapping_sub(EPOCH)
    }

    /// As it was stored; the nearest time there is for what no time has.
    #[must_use]
    pub const fn from_row(row: u64) -> Self {
        let ticks = row.wrapping_add(EPOCH);
        if ticks <= Self::LAST.0 { Self(ticks) } else { Self::LAST }
    }

    /// Days since 0001-01-01, seconds of the day, and ticks of the second: the parts of its text.
    #[must_use]
    pub const fn parts(self) -> (u64, u64, u64) {
        let seconds = self.0 / TICKS_PER_SECOND;
        (FIRST_DAY + seconds / calendar::DAY_SECONDS, seconds % calendar::DAY_SECONDS, self.0 % TICKS_PER_SECOND)
    }

    /// The time with these parts; `None` before 1601 and behind 9999.
    #[must_use]
    pub fn from_parts(day: u64, second: u64, tick: u64) -> Option<Self> {
        let seconds = day.checked_sub(FIRST_DAY)?.checked_mul(calendar::DAY_SECONDS)?.checked_add(second)?;
        Self::from_filetime(seconds.checked_mul(TICKS_PER_SECOND)?.checked_add(tick)?)
    }
}

impl From<Timestamp> for FileTime {
    fn from(instant: Timestamp) -> Self {
        Self::of(instant)
    }
}

/// ISO 8601 with seven digits, as the File service shows it.
impl std::fmt::Display for FileTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (day, second, tick) = self.parts();
        let ((year, month, day), (hour, minute, second)) = (calendar::date_of(day), calendar::time_of(second));
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{tick:07}Z")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_instants_are_their_ticks() {
        for ticks in [0, 1, 17_946_000_000_000_000] {
            let time = FileTime::of(Timestamp::from_ticks(ticks));
            assert_eq!((time.to_row(), FileTime::from_row(ticks)), (ticks, time));
        }
        let first = FileTime::from_filetime(0).unwrap();
        assert_eq!(FileTime::from_row(first.to_row()), first);
        assert_eq!(FileTime::from_row(u64::MAX / 2), FileTime::LAST);
    }

    #[test]
    fn texts_and_parts() {
        let table = [
            (0, "1601-01-01T00:00:00.0000000Z"),
            (EPOCH - 1, "1969-12-31T23:59:59.9999999Z"),
            (EPOCH + 12_345_678, "1970-01-01T00:00:01.2345678Z"),
            (FileTime::LAST.0, "9999-12-31T23:59:59.9999999Z"),
        ];
        for (ticks, text) in table {
            let time = FileTime::from_filetime(ticks).unwrap();
            let (day, second, tick) = time.parts();
            assert_eq!((time.to_string().as_str(), FileTime::from_parts(day, second, tick)), (text, Some(time)));
        }
        assert_eq!(FileTime::from_filetime(FileTime::LAST.0 + 1), None);
        assert_eq!(FileTime::from_parts(FIRST_DAY - 1, 0, 0), None);
    }
}
