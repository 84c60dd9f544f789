//! The calendar: days since 0001-01-01 and the dates that they are.
//!
//! Every text form of an instant is written and read by way of this; the forms themselves belong to whoever uses them.

/// Seconds of a day.
pub const DAY_SECONDS: u64 = 86_400;

/// 1970-01-01, where [`crate::Timestamp`] begins.
pub const EPOCH_DAY: u64 = 719_162;

/// The number of days from 0001-01-01 to a date; `None` for a date that does not exist.
///
/// ```
/// use types::calendar::{EPOCH_DAY, day_of};
/// assert_eq!(day_of(1970, 1, 1), Some(EPOCH_DAY));
/// assert_eq!(day_of(2023, 2, 29), None);
/// ```
#[must_use]
pub fn day_of(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=days_in(year, month)).contains(&day) {
        return None;
    }
    let before = year - 1;
    let months: u64 = (1..month).map(|month| days_in(year, month)).sum();
    Some(before * 365 + before / 4 - before / 100 + before / 400 + months + day - 1)
}

/// Year, month and day of a number of days since 0001-01-01, counted in eras of 400 years that begin in March.
///
/// ```
/// use types::calendar::{EPOCH_DAY, date_of};
/// assert_eq!(date_of(EPOCH_DAY + 59), (1970, 3, 1));
/// ```
#[must_use]
pub const fn date_of(day: u64) -> (u64, u64, u64) {
    let shifted = day + 306;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400;
    (if month <= 2 { year + 1 } else { year }, month, day)
}

/// The second of the day that a clock shows; `None` for a time that does not exist, leap seconds among them.
#[must_use]
pub const fn second_of_day(hour: u64, minute: u64, second: u64) -> Option<u64> {
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    Some(hour * 3600 + minute * 60 + second)
}

/// Hour, minute and second of a second of the day, or of any number of seconds since a midnight.
#[must_use]
pub const fn time_of(seconds: u64) -> (u64, u64, u64) {
    (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60)
}

const fn days_in(year: u64, month: u64) -> u64 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_has_its_date() {
        let mut date = (1, 1, 1);
        for day in 0..3_652_059 {
            assert_eq!((date_of(day), day_of(date.0, date.1, date.2)), (date, Some(day)));
            date = match date {
                (year, 12, 31) => (year + 1, 1, 1),
                (year, month, day) if day == days_in(year, month) => (year, month + 1, 1),
                (year, month, day) => (year, month, day + 1),
            };
        }
        assert_eq!(date, (10_000, 1, 1));
    }

    #[test]
    fn dates_and_times_that_do_not_exist() {
        for (year, month, day) in
            [(0, 1, 1), (10_000, 1, 1), (2024, 0, 1), (2024, 13, 1), (2024, 1, 0), (2024, 4, 31), (1900, 2, 29)]
        {
            assert_eq!(day_of(year, month, day), None, "{year}-{month}-{day}");
        }
        assert_eq!(day_of(2000, 2, 29).map(date_of), Some((2000, 2, 29)));
        for (hour, minute, second) in [(24, 0, 0), (0, 60, 0), (23, 59, 60)] {
            assert_eq!(second_of_day(hour, minute, second), None, "{hour}:{minute}:{second}");
        }
        assert_eq!(second_of_day(23, 59, 58).map(time_of), Some((23, 59, 58)));
    }
}
