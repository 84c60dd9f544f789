//! Edm.DateTime: an instant from 1601 to 9999 in ticks of 100 nanoseconds, always UTC.

use types::{
    Timestamp,
    calendar::{DAY_SECONDS, EPOCH_DAY, date_of, day_of, second_of_day, time_of},
};

const TICKS_PER_SECOND: u64 = 10_000_000;
/// Ticks from 0001-01-01 to 1970-01-01.
const UNIX_EPOCH: u64 = EPOCH_DAY * DAY_SECONDS * TICKS_PER_SECOND;
/// 1601-01-01, the earliest that the service stores.
const FIRST: u64 = 584_388 * DAY_SECONDS * TICKS_PER_SECOND;
/// Behind 9999-12-31.
const END: u64 = 3_652_059 * DAY_SECONDS * TICKS_PER_SECOND;

/// The length of the longest text.
pub const TEXT_MAX: usize = 28;

/// An instant: 100-nanosecond ticks since 0001-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTime(u64);

impl DateTime {
    /// The instant of these ticks; `None` outside of 1601 to 9999.
    #[must_use]
    pub fn from_ticks(ticks: u64) -> Option<Self> {
        (FIRST..END).contains(&ticks).then_some(Self(ticks))
    }

    /// Ticks since 0001-01-01.
    #[must_use]
    pub const fn ticks(self) -> u64 {
        self.0
    }

    /// An instant of server time.
    #[must_use]
    pub fn of(timestamp: Timestamp) -> Self {
        Self(UNIX_EPOCH.saturating_add(timestamp.ticks()).min(END - 1))
    }

    /// Reads `2024-05-01T10:20:30.1234567Z`. Without a zone it is UTC; an offset is applied; the time, its seconds and
    /// the fraction may be missing; digits behind the seventh are dropped.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        ticks(text).and_then(Self::from_ticks)
    }

    /// True for the text of an instant that the service does not store: one before 1601.
    #[must_use]
    pub fn is_out_of_range(text: &str) -> bool {
        ticks(text).is_some_and(|ticks| Self::from_ticks(ticks).is_none())
    }

    /// Appends `2024-05-01T10:20:30.1234567Z`, without the zeros at the end of the fraction and without an empty one.
    pub fn write(self, out: &mut Vec<u8>) {
        self.write_seconds(out);
        let mut fraction = self.0 % TICKS_PER_SECOND;
        if fraction > 0 {
            let mut digits = 7;
            while fraction.is_multiple_of(10) {
                fraction /= 10;
                digits -= 1;
            }
            out.push(b'.');
            push(out, fraction, digits);
        }
        out.push(b'Z');
    }

    /// Appends the same with all seven digits: the form of a Timestamp, which its ETag repeats.
    pub fn write_full(self, out: &mut Vec<u8>) {
        self.write_seconds(out);
        out.push(b'.');
        push(out, self.0 % TICKS_PER_SECOND, 7);
        out.push(b'Z');
    }

    fn write_seconds(self, out: &mut Vec<u8>) {
        let seconds = self.0 / TICKS_PER_SECOND;
        let (year, month, day) = date_of(seconds / DAY_SECONDS);
        let (hour, minute, second) = time_of(seconds);
        for (number, digits, behind) in
            [(year, 4, b'-'), (month, 2, b'-'), (day, 2, b'T'), (hour, 2, b':'), (minute, 2, b':')]
        {
            push(out, number, digits);
            out.push(behind);
        }
        push(out, second, 2);
    }
}

impl std::fmt::Display for DateTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = Vec::with_capacity(TEXT_MAX);
        self.write(&mut text);
        f.write_str(&String::from_utf8_lossy(&text))
    }
}

/// The ticks since 0001-01-01 that a text stands for.
fn ticks(text: &str) -> Option<u64> {
    let (date, time) = match text.split_once(['T', 't', ' ']) {
        Some((date, time)) => (date, time),
        None => (text, "00:00"),
    };
    let (time, offset_minutes) = zone(time)?;
    let (year, rest) = date.split_once('-')?;
    let (month, day) = rest.split_once('-')?;
    let day = day_of(number(year, 4)?, number(month, 2)?, number(day, 2)?)?;
    let (time, fraction) = match time.split_once('.') {
        Some((time, digits)) => (time, fraction(digits)?),
        None => (time, 0),
    };
    let (hour, rest) = time.split_once(':')?;
    let (minute, second) = match rest.split_once(':') {
        Some((minute, second)) => (number(minute, 2)?, number(second, 2)?),
        None if fraction == 0 => (number(rest, 2)?, 0),
        None => return None,
    };
    let seconds = day * DAY_SECONDS + second_of_day(number(hour, 2)?, minute, second)?;
    let seconds = seconds.checked_add_signed(offset_minutes.checked_mul(-60)?)?;
    seconds.checked_mul(TICKS_PER_SECOND)?.checked_add(fraction)
}

fn push(out: &mut Vec<u8>, number: u64, digits: u32) {
    for place in (0..digits).rev() {
        let digit = u8::try_from(number / 10_u64.pow(place) % 10).unwrap_or_default();
        out.push(b'0' + digit);
    }
}

fn number(text: &str, digits: usize) -> Option<u64> {
    let right = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    right.then(|| text.parse().ok()).flatten()
}

fn fraction(digits: &str) -> Option<u64> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let kept = digits.get(..7).unwrap_or(digits);
    let places = u32::try_from(7 - kept.len()).ok()?;
    Some(kept.parse::<u64>().ok()? * 10_u64.pow(places))
}

/// The time without its zone, and the minutes that the zone is ahead of UTC.
fn zone(time: &str) -> Option<(&str, i64)> {
    if let Some(time) = time.strip_suffix(['Z', 'z']) {
        return Some((time, 0));
    }
    let Some(sign) = time.find(['+', '-']) else { return Some((time, 0)) };
    let (time, zone) = time.split_at_checked(sign)?;
    let (sign, digits) = zone.split_at_checked(1)?;
    let (hours, minutes) = digits.split_once(':')?;
    let (hours, minutes) = (number(hours, 2)?, number(minutes, 2)?);
    if hours > 14 || minutes > 59 {
        return None;
    }
    let minutes = i64::try_from(hours * 60 + minutes).ok()?;
    Some((time, if sign == "-" { -minutes } else { minutes }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_and_instants() {
        // text, the same written by us
        let table = [
            ("2024-05-01T10:20:30.1234567Z", Some("2024-05-01T10:20:30.1234567Z")),
            ("2024-05-01T10:20:30.12345678901Z", Some("2024-05-01T10:20:30.1234567Z")),
            ("2024-02-29T00:00:00Z", Some("2024-02-29T00:00:00Z")),
            ("2024-05-01T10:20:30.120Z", Some("2024-05-01T10:20:30.12Z")),
            ("2024-05-01T10:20:30", Some("2024-05-01T10:20:30Z")),
            ("2024-05-01T10:20", Some("2024-05-01T10:20:00Z")),
            ("2024-05-01", Some("2024-05-01T00:00:00Z")),
            ("2024-05-01T00:30:00+01:00", Some("2024-04-30T23:30:00Z")),
            ("2024-05-01T23:30:00-01:00", Some("2024-05-02T00:30:00Z")),
            ("1601-01-01T00:00:00Z", Some("1601-01-01T00:00:00Z")),
            ("9999-12-31T23:59:59.9999999Z", Some("9999-12-31T23:59:59.9999999Z")),
            ("1600-12-31T23:59:59Z", None),
            ("9999-12-31T23:59:59-01:00", None),
            ("0000-01-01", None),
            ("2023-02-29", None),
            ("2024-13-01", None),
            ("2024-05-01T24:00:00Z", None),
            ("2024-05-01T10:20:60Z", None),
            ("2024-05-01T10:20:30.Z", None),
            ("2024-05-01T10:20.5Z", None),
            ("24-05-01", None),
            ("", None),
            ("T", None),
            ("2024-05-01T", None),
        ];
        for (text, written) in table {
            assert_eq!(DateTime::parse(text).map(|instant| instant.to_string()).as_deref(), written, "{text}");
        }
    }

    #[test]
    fn server_time_is_an_instant() {
        let instant = DateTime::of(Timestamp::from_ticks(17_145_588_301_234_560));
        let mut full = Vec::new();
        instant.write_full(&mut full);
        assert_eq!(full, b"2024-05-01T10:20:30.1234560Z");
    }

    proptest! {
        #[test]
        fn every_instant_comes_back(ticks in FIRST..END) {
            let instant = DateTime(ticks);
            prop_assert_eq!(DateTime::parse(&instant.to_string()), Some(instant));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC*|[0-9TZ:.+ -]{0,40}") {
            let _read = DateTime::parse(&text);
        }
    }
}
