//! Instants as signatures and policies write them: the ISO 8601 forms that the services document.
//!
//! `YYYY-MM-DD`, `YYYY-MM-DDThh:mm` and `YYYY-MM-DDThh:mm:ss` with up to seven digits of a fraction; a time ends with `Z`
//! or with its offset from UTC, `+hh:mm`.

use types::{
    FileTime, Timestamp,
    calendar::{DAY_SECONDS, EPOCH_DAY, date_of, day_of, second_of_day, time_of},
};

/// Reads an instant; `None` for anything else, and for years before 1970.
#[must_use]
pub fn parse(text: &str) -> Option<Timestamp> {
    let (seconds, ticks) = read(text)?;
    let seconds = seconds.checked_sub(EPOCH_DAY * DAY_SECONDS)?;
    Some(Timestamp::from_ticks(Timestamp::from_seconds(seconds).ticks() + ticks))
}

/// The same for a time that a file carries, which can lie before 1970.
#[must_use]
pub fn parse_file_time(text: &str) -> Option<FileTime> {
    let (seconds, ticks) = read(text)?;
    FileTime::from_parts(seconds / DAY_SECONDS, seconds % DAY_SECONDS, ticks)
}

/// Seconds since 0001-01-01, and ticks of the second.
fn read(text: &str) -> Option<(u64, u64)> {
    let (date, time) = match text.split_once('T') {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let mut parts = date.split('-');
    let (year, month, day) = (digits(parts.next()?, 4)?, digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    if parts.next().is_some() {
        return None;
    }
    let midnight = day_of(year, month, day)? * DAY_SECONDS;
    let Some(time) = time else { return Some((midnight, 0)) };
    let (clock, offset) = split_offset(time)?;
    let (clock, fraction) = clock.split_once('.').map_or((clock, None), |(clock, fraction)| (clock, Some(fraction)));
    let mut parts = clock.split(':');
    let (hour, minute) = (digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    let second = match parts.next() {
        Some(second) => digits(second, 2)?,
        None if fraction.is_some() => return None,
        None => 0,
    };
    if parts.next().is_some() {
        return None;
    }
    let seconds = (midnight + second_of_day(hour, minute, second)?).checked_add_signed(-offset)?;
    Some((seconds, fraction.map_or(Some(0), ticks)?))
}

/// `1994-11-06T08:49:37Z`, the form that every client signs.
#[must_use]
pub fn format(instant: Timestamp) -> String {
    let (year, month, day) = date_of(EPOCH_DAY + instant.seconds() / DAY_SECONDS);
    let (hour, minute, second) = time_of(instant.seconds());
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
            ("1994-11-06T08:49.5Z", None),
            ("1969-12-31", None),
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
