//! Dates as text: RFC 1123 in headers, ISO 8601 with 7 digits in documents and snapshot names.
//!
//! Our own parser, because lenient ones read dates that nobody meant: exactly the three forms of RFC 9110, with a
//! weekday that is right, and nothing else.

use types::{
    FileTime, Timestamp,
    calendar::{DAY_SECONDS, EPOCH_DAY, date_of, day_of, second_of_day, time_of},
};

const TICKS_PER_SECOND: u64 = 10_000_000;
const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// `Sun, 06 Nov 1994 08:49:37 GMT`.
#[must_use]
pub fn rfc1123(instant: Timestamp) -> String {
    let today = EPOCH_DAY + instant.seconds() / DAY_SECONDS;
    let (year, month, day) = date_of(today);
    let (hour, minute, second) = time_of(instant.seconds());
    let (weekday, month) = (weekday(today).get(..3).unwrap_or_default(), pick(&MONTHS, month - 1));
    format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
}

/// `1994-11-06T08:49:37.1234567Z`.
#[must_use]
pub fn iso8601(instant: Timestamp) -> String {
    let (year, month, day) = date_of(EPOCH_DAY + instant.seconds() / DAY_SECONDS);
    let (hour, minute, second) = time_of(instant.seconds());
    let fraction = instant.ticks() % TICKS_PER_SECOND;
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
            return instant(year, month_named(month)?, day, only(&mut parts)?, (weekday, 3));
        }
        let (date, time) = rest.split_once(' ')?;
        let mut parts = date.split('-');
        let (day, month) = (number(parts.next()?, 2)?, parts.next()?);
        let year = century(number(only(&mut parts)?, 2)?, now);
        return instant(year, month_named(month)?, day, time, (weekday, weekday.len()));
    }
    let mut parts = text.split(' ').collect::<Vec<_>>();
    // A day of one digit is padded with a space.
    let padded = parts.get(2).is_some_and(|part| part.is_empty());
    if padded {
        parts.remove(2);
    }
    let [weekday, month, day, time, year] = *parts else { return None };
    let day = number(day, if padded { 1 } else { 2 })?;
    instant(number(year, 4)?, month_named(month)?, day, time, (weekday, 3))
}

/// Reads `YYYY-MM-DDThh:mm:ssZ` with up to 7 digits of a fraction, `YYYY-MM-DDThh:mmZ`, or `YYYY-MM-DD`: what signatures
/// may hold, but for offsets from UTC.
#[must_use]
pub fn parse_iso8601(text: &str) -> Option<Timestamp> {
    let in_utc = text.ends_with('Z') || !text.contains('T');
    in_utc.then(|| access::instant::parse(text)).flatten()
}

/// The same for a time that a file carries: `1601-01-01T00:00:00Z` and later.
#[must_use]
pub fn parse_file_time(text: &str) -> Option<FileTime> {
    text.ends_with('Z').then(|| access::instant::parse_file_time(text)).flatten()
}

/// Builds an instant; the weekday must be the right one, written in full or with so many letters.
fn instant(year: u64, month: u64, day: u64, time: &str, (name, letters): (&str, usize)) -> Option<Timestamp> {
    let mut parts = time.split(':');
    let (hour, minute) = (number(parts.next()?, 2)?, number(parts.next()?, 2)?);
    let second = number(only(&mut parts)?, 2)?;
    let day = day_of(year, month, day)?;
    let full = weekday(day);
    if name != if letters == 3 { full.get(..3)? } else { full } {
        return None;
    }
    let seconds = day.checked_sub(EPOCH_DAY)? * DAY_SECONDS + second_of_day(hour, minute, second)?;
    Some(Timestamp::from_seconds(seconds))
}

/// The first day of the calendar was a Monday.
fn weekday(day: u64) -> &'static str {
    pick(&WEEKDAYS, day % 7)
}

/// RFC 9110: a year that seems more than 50 years ahead is the last one with these digits.
fn century(two_digits: u64, now: Timestamp) -> u64 {
    let (this_year, _, _) = date_of(EPOCH_DAY + now.seconds() / DAY_SECONDS);
    let year = this_year - this_year % 100 + two_digits;
    if year > this_year + 50 { year - 100 } else { year }
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
