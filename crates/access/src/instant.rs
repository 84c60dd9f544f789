//! Instants as signatures and policies write them: the ISO 8601 forms that the services document.
//!
//! `YYYY-MM-DD`, `YYYY-MM-DDThh:mm` and `YYYY-MM-DDThh:mm:ss` with up to seven digits of a fraction; a time ends with `Z`
//! or with its offset from UTC, `+hh:mm`.

use types::Timestamp;

const DAY_SECONDS: u64 = 86_400;

/// Reads an instant; `None` for anything else, and for years before 1970.
#[must_use]
pub fn parse(text: &str) -> Option<Timestamp> {
    let (date, time) = match text.split_once('T') {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let mut parts = date.split('-');
    let (year, month, day) = (digits(parts.next()?, 4)?, digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    if parts.next().is_some() || !(1970..=9999).contains(&year) || !(1..=12).contains(&month) {
        return None;
    }
    if day == 0 || day > days_in(year, month) {
        return None;
    }
    let midnight = (days_before(year, month) + day - 1) * DAY_SECONDS;
    let Some(time) = time else { return Some(Timestamp::from_seconds(midnight)) };
    let (clock, offset) = split_offset(time)?;
    let (clock, fraction) = clock.split_once('.').map_or((clock, None), |(clock, fraction)| (clock, Some(fraction)));
    let mut parts = clock.split(':');
    let (hour, minute) = (digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    let second = parts.next().map_or(Some(0), |second| digits(second, 2))?;
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = (midnight + hour * 3600 + minute * 60 + second).checked_add_signed(-offset)?;
    let ticks = fraction.map_or(Some(0), ticks)?;
    Some(Timestamp::from_ticks(Timestamp::from_seconds(seconds).ticks() + ticks))
}

/// `1994-11-06T08:49:37Z`, the form that every client signs.
#[must_use]
pub fn format(instant: Timestamp) -> String {
    let seconds = instant.seconds();
    // Howard Hinnant's algorithm, for days since 1970 that are never negative.
    let shifted = seconds / DAY_SECONDS + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let of_day = seconds % DAY_SECONDS;
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The clock, and how many seconds it is ahead of UTC.
fn split_offset(time: &str) -> Option<(&str, i64)> {
    if let Some(clock) = time.strip_suffix('Z') {
        return Some((clock, 0));
    }
    let place = time.rfind(['+', '-'])?;
    let (clock, offset) = time.split_at_checked(place)?;
    let (sign, offset) = offset.split_at_checked(1)?;
    let (hours, minutes) = offset.split_once(':')?;
    let (hours, minutes) = (digits(hours, 2)?, digits(minutes, 2)?);
    if hours > 14 || minutes > 59 {
        return None;
    }
    let seconds = i64::try_from(hours * 3600 + minutes * 60).ok()?;
    Some((clock, if sign == "-" { -seconds } else { seconds }))
}

fn ticks(fraction: &str) -> Option<u64> {
    let missing = 7_usize.checked_sub(fraction.len())?;
    digits(fraction, fraction.len())?.checked_mul(10_u64.pow(u32::try_from(missing).ok()?))
}

/// Exactly so many digits, at least one.
fn digits(text: &str, count: usize) -> Option<u64> {
    let right = count > 0 && text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    right.then(|| text.parse().ok())?
}

fn days_before(year: u64, month: u64) -> u64 {
    let leap_days = |year: u64| year / 4 - year / 100 + year / 400;
    (year - 1970) * 365 + leap_days(year - 1) - leap_days(1969)
        + (1..month).map(|month| days_in(year, month)).sum::<u64>()
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
    fn reads_every_documented_form_and_nothing_else() {
        let table = [
            ("1994-11-06", Some(7_840_800_000_000_000)),
            ("1994-11-06T08:49Z", Some(7_841_117_400_000_000)),
            ("1994-11-06T08:49:37Z", Some(7_841_117_770_000_000)),
            ("1994-11-06T08:49:37.1Z", Some(7_841_117_771_000_000)),
            ("1994-11-06T08:49:37.0000001Z", Some(7_841_117_770_000_001)),
            ("1994-11-06T10:49+02:00", Some(7_841_117_400_000_000)),
            ("1994-11-06T03:19:37-05:30", Some(7_841_117_770_000_000)),
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2024-02-29", Some(17_091_648_000_000_000)),
            ("1970-01-01T00:00+01:00", None),
            ("1994-11-06T08:49:37", None),
            ("1994-11-06T08Z", None),
            ("1994-11-06T08:49:37.Z", None),
            ("1994-11-06T08:49:37.12345678Z", None),
            ("1994-11-06T08:49+0200", None),
            ("1994-11-06T08:49+15:00", None),
            ("1994-11-06T24:00Z", None),
            ("1994-11-06 08:49Z", None),
            ("2023-02-29", None),
            ("94-11-06", None),
            ("", None),
        ];
        for (text, ticks) in table {
            assert_eq!(parse(text).map(Timestamp::ticks), ticks, "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        for day in 0..60_000 {
            let instant = Timestamp::from_seconds(day * DAY_SECONDS + day * 7 % DAY_SECONDS);
            assert_eq!(parse(&format(instant)), Some(instant));
        }
        assert_eq!(format(Timestamp::from_seconds(784_111_777)), "1994-11-06T08:49:37Z");
    }
}
