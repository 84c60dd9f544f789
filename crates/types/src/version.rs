//! The service version a request asks for: a date, compared as a date.

use std::fmt;

/// A service version such as `2021-12-02`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServiceVersion {
    year: u16,
    month: u8,
    day: u8,
}

impl ServiceVersion {
    /// The oldest version the service answers.
    pub const OLDEST: Self = Self::new(2009, 9, 19);
    /// The newest version this build knows; later ones are served as this one.
    pub const NEWEST: Self = Self::new(2026, 10, 6);

    /// The version of this date. Not checked: for constants.
    #[must_use]
    pub const fn new(year: u16, month: u8, day: u8) -> Self {
        Self { year, month, day }
    }

    /// Reads `YYYY-MM-DD` with a real month and a day from 1 to 31; anything else is `None`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() || year.len() != 4 || month.len() != 2 || day.len() != 2 {
            return None;
        }
        if !text.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
            return None;
        }
        let version = Self::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
        ((1..=12).contains(&version.month) && (1..=31).contains(&version.day)).then_some(version)
    }

    /// True for versions from the one of this date on.
    #[must_use]
    pub fn at_least(self, year: u16, month: u8, day: u8) -> bool {
        self >= Self::new(year, month, day)
    }
}

impl fmt::Display for ServiceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl fmt::Debug for ServiceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServiceVersion({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::ServiceVersion;

    #[test]
    fn reads_dates_and_nothing_else() {
        assert_eq!(ServiceVersion::parse("2026-10-06"), Some(ServiceVersion::NEWEST));
        for bad in
            ["", "2026-10-6", "2026-13-01", "2026-00-01", "2026-01-32", "2026-10-06-1", "+026-10-06", "2026/10/06"]
        {
            assert_eq!(ServiceVersion::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn compares_as_a_date() {
        let v = ServiceVersion::new(2013, 8, 15);
        assert!(v.at_least(2013, 8, 15) && v.at_least(2012, 12, 31) && !v.at_least(2013, 8, 16));
    }
}
