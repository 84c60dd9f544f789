//! Dates as text: RFC 1123 in headers, ISO 8601 with 7 digits in documents and snapshot names.
//!
//! Our own parser, because lenient ones read dates that nobody meant: exactly the three forms of RFC 9110, with a
//! weekday that is right, and nothing else.

use types::Timestamp;

const DAY_SECONDS: u64 = 86_400;
const TICKS_PER_SECOND: u64 = 10_000_000;
const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// An instant taken apart.
struct Civil {
    year: u64,
    month: u64,
    day: u64,
    second_of_day: u64,
    /// Monday is zero.
    weekday: u64,
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`.
#[must_use]
pub fn rfc1123(instant: Timestamp) -> String {
    let civil = civil(instant.seconds());
    let (hour, minute, second) = time_of(civil.second_of_day);
    let weekday = pick(&WEEKDAYS, civil.weekday).get(..3).unwrap_or_default();
    let month = pick(&MONTHS, civil.month - 1);
    format!("{weekday}, {:02} {month} {:04} {hour:02}:{minute:02}:{second:02} GMT", civil.day, civil.year)
}

/// `1994-11-06T08:49:37.1234567Z`.
#[must_use]
pub fn iso8601(instant: Timestamp) -> String {
    let civil = civil(instant.seconds());
    let (hour, minute, second) = time_of(civil.second_of_day);
    let fraction = instant.ticks() % TICKS_PER_SECOND;
    let (year, month, day) = (civil.year, civil.month, civil.day);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:07}Z")
}

/// Reads a date of a header: RFC 1123, and the two forms that RFC 9110 calls obsolete. `now` gives the century of a
/// year of two digits.
#[must_use]
pub fn parse_http(text: &str, now: Timestamp) -> Option<Timestamp> {
    if let Some((weekday, rest)) = text.split_once(", ") {
        let rest = rest.strip_suffix(" GMT")?;
        if weekday.len() == 3 {
            let mut parts = rest.split(' ');
            let (day, month, year) = (number(parts.next()?, 2)?, parts.next()?, number(parts.next()?, 4)?);
            return instant(year, month_named(month)?, day, only(&mut parts)?, Some((weekday, 3)));
        }
        let (date, time) = rest.split_once(' ')?;
        let mut parts = date.split('-');
        let (day, month) = (number(parts.next()?, 2)?, parts.next()?);
        let year = century(number(only(&mut parts)?, 2)?, now);
        return instant(year, month_named(month)?, day, time, Some((weekday, weekday.len())));
    }
    let mut parts = text.split(' ').collect::<Vec<_>>();
    // A day of one digit is padded with a space.
    let padded = parts.get(2).is_some_and(|part| part.is_empty());
    if padded {
        parts.remove(2);
    }
    let [weekday, month, day, time, year] = *parts else { return None };
    let day = number(day, if padded { 1 } else { 2 })?;
    instant(number(year, 4)?, month_named(month)?, day, time, Some((weekday, 3)))
}

/// Reads `YYYY-MM-DDThh:mm:ssZ` with up to 7 digits of a fraction, `YYYY-MM-DDThh:mmZ`, or `YYYY-MM-DD`.
#[must_use]
pub fn parse_iso8601(text: &str) -> Option<Timestamp> {
    let (date, time) = match text.split_once('T') {
        Some((date, time)) => (date, time.strip_suffix('Z')?),
        None => (text, "00:00:00"),
    };
    let mut parts = date.split('-');
    let (year, month) = (number(parts.next()?, 4)?, number(parts.next()?, 2)?);
    let day = number(only(&mut parts)?, 2)?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    if fraction.is_empty() || fraction.len() > 7 {
        return None;
    }
    let ticks = number(fraction, fraction.len())?.checked_mul(10_u64.pow(u32::try_from(7 - fraction.len()).ok()?))?;
    let with_seconds = if time.len() == 5 { format!("{time}:00") } else { time.to_owned() };
    let whole = instant(year, month, day, &with_seconds, None)?;
    Some(Timestamp::from_ticks(whole.ticks() + ticks))
}

/// Builds an instant of checked parts; a weekday must be the right one, written in full or with so many letters.
fn instant(year: u64, month: u64, day: u64, time: &str, weekday: Option<(&str, usize)>) -> Option<Timestamp> {
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || day == 0 || day > days_in(year, month) {
        return None;
    }
    let mut parts = time.split(':');
    let (hour, minute) = (number(parts.next()?, 2)?, number(parts.next()?, 2)?);
    let second = number(only(&mut parts)?, 2)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let days = days_before(year, month) + day - 1;
    if let Some((name, letters)) = weekday {
        let full = pick(&WEEKDAYS, (days + 3) % 7);
        let right = if letters == 3 { full.get(..3)? } else { full };
        if name != right {
            return None;
        }
    }
    Some(Timestamp::from_seconds(days * DAY_SECONDS + hour * 3600 + minute * 60 + second))
}

/// RFC 9110: a year that seems more than 50 years ahead is the last one with these digits.
fn century(two_digits: u64, now: Timestamp) -> u64 {
    let this_year = civil(now.seconds()).year;
    let year = this_year - this_year % 100 + two_digits;
    if year > this_year + 50 { year - 100 } else { year }
}

fn civil(seconds: u64) -> Civil {
    // The algorithm of Howard Hinnant, for days since 1970 that are never negative.
    let (days, second_of_day) = (seconds / DAY_SECONDS, seconds % DAY_SECONDS);
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    Civil { year, month, day, second_of_day, weekday: (days + 3) % 7 }
}

/// Days from 1970-01-01 to the first of a month.
fn days_before(year: u64, month: u64) -> u64 {
    let leap_days = |year: u64| year / 4 - year / 100 + year / 400;
    let years = (year - 1970) * 365 + leap_days(year - 1) - leap_days(1969);
    years + (1..month).map(|month| days_in(year, month)).sum::<u64>()
}

const fn days_in(year: u64, month: u64) -> u64 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

const fn time_of(second_of_day: u64) -> (u64, u64, u64) {
    (second_of_day / 3600, second_of_day / 60 % 60, second_of_day % 60)
}

fn pick(names: &'static [&'static str], position: u64) -> &'static str {
    usize::try_from(position).ok().and_then(|position| names.get(position)).copied().unwrap_or_default()
}

fn month_named(name: &str) -> Option<u64> {
    let position = MONTHS.iter().position(|month| *month == name)?;
    u64::try_from(position + 1).ok()
}

/// Exactly so many digits.
fn number(text: &str, digits: usize) -> Option<u64> {
    (text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

/// The last part, and the end behind it.
fn only<'a>(parts: &mut impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let last = parts.next()?;
    parts.next().is_none().then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_790_000_000); // 2026

    #[test]
    fn writes_both_forms() {
        let table = [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT", "1970-01-01T00:00:00.0000000Z"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37.0000000Z"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT", "2000-02-29T00:00:00.0000000Z"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT", "2100-03-01T00:00:00.0000000Z"),
            (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT", "9999-12-31T23:59:59.0000000Z"),
        ];
        for (seconds, header, document) in table {
            let instant = Timestamp::from_seconds(seconds);
            assert_eq!((&*rfc1123(instant), &*iso8601(instant)), (header, document));
            assert_eq!(parse_http(header, NOW), Some(instant), "{header}");
            assert_eq!(parse_iso8601(document), Some(instant), "{document}");
        }
    }

    #[test]
    fn every_day_comes_back() {
        for day in 0..60_000 {
            let instant = Timestamp::from_seconds(day * DAY_SECONDS + day % DAY_SECONDS);
            assert_eq!(parse_http(&rfc1123(instant), NOW), Some(instant));
        }
    }

    #[test]
    fn reads_the_obsolete_forms() {
        let expected = Some(Timestamp::from_seconds(784_111_777));
        assert_eq!(parse_http("Sunday, 06-Nov-94 08:49:37 GMT", NOW), expected);
        assert_eq!(parse_http("Sun Nov  6 08:49:37 1994", NOW), expected);
        let later = parse_http("Wednesday, 16-Sep-26 00:00:00 GMT", NOW).unwrap();
        assert_eq!(rfc1123(later), "Wed, 16 Sep 2026 00:00:00 GMT");
    }

    #[test]
    fn reads_nothing_else() {
        let table = [
            "",
            "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994 08:49:37 +0000",
            "Mon, 06 Nov 1994 08:49:37 GMT",
            "sun, 06 Nov 1994 08:49:37 GMT",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 94 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 06 Nov 1994 08:49:60 GMT",
            "Sun, 06 Nov 1994 08:49:37 GMT ",
            "Sun, 06  Nov 1994 08:49:37 GMT",
            "Wed, 30 Feb 2000 00:00:00 GMT",
            "Sun, +6 Nov 1994 08:49:37 GMT",
            "Sun Nov 6 08:49:37 1994",
            "Thu, 06 Nov 1969 08:49:37 GMT",
            "1994-11-06T08:49:37Z",
            "784111777",
        ];
        for text in table {
            assert_eq!(parse_http(text, NOW), None, "{text}");
        }
    }

    #[test]
    fn reads_iso_8601_with_and_without_a_fraction() {
        let table = [
            ("1994-11-06T08:49:37Z", Some(7_841_117_770_000_000)),
            ("1994-11-06T08:49:37.1Z", Some(7_841_117_771_000_000)),
            ("1994-11-06T08:49:37.0000001Z", Some(7_841_117_770_000_001)),
            ("1994-11-06T08:49Z", Some(7_841_117_400_000_000)),
            ("1994-11-06", Some(7_840_800_000_000_000)),
            ("1994-11-06T08:49:37", None),
            ("1994-11-06T08:49:37.Z", None),
            ("1994-11-06T08:49:37.12345678Z", None),
            ("1994-11-31", None),
            ("94-11-06", None),
            ("", None),
        ];
        for (text, ticks) in table {
            assert_eq!(parse_iso8601(text).map(Timestamp::ticks), ticks, "{text}");
        }
    }
}
