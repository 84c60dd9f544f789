//! Instants and durations in the resolution that the services promise: 100 nanoseconds.
//!
//! Nothing here reads a clock. Text forms (RFC 1123, ISO 8601) belong to the protocols; [`crate::calendar`] has the dates.

use std::{fmt, time::Duration};

const TICKS_PER_SECOND: u64 = 10_000_000;

/// An instant of server time: 100-nanosecond ticks since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// 1970-01-01T00:00:00Z, before everything we store.
    pub const EPOCH: Self = Self(0);

    /// 9999-12-31T23:59:59Z, which the services show for "never".
    pub const NEVER: Self = Self(253_402_300_799 * TICKS_PER_SECOND);

    /// The instant this many ticks after the epoch.
    #[must_use]
    pub const fn from_ticks(ticks: u64) -> Self {
        Self(ticks)
    }

    /// The instant this many whole seconds after the epoch.
    #[must_use]
    pub const fn from_seconds(seconds: u64) -> Self {
        Self(seconds.saturating_mul(TICKS_PER_SECOND))
    }

    /// Ticks since the epoch.
    #[must_use]
    pub const fn ticks(self) -> u64 {
        self.0
    }

    /// Whole seconds since the epoch, rounded down: the resolution of `Last-Modified` and of HTTP dates.
    #[must_use]
    pub const fn seconds(self) -> u64 {
        self.0 / TICKS_PER_SECOND
    }

    /// This instant cut to whole seconds.
    #[must_use]
    pub const fn truncated_to_seconds(self) -> Self {
        Self(self.0 - self.0 % TICKS_PER_SECOND)
    }

    /// The instant `duration` later, at most the largest representable one.
    #[must_use]
    pub fn saturating_add(self, duration: Duration) -> Self {
        let ticks = u64::try_from(duration.as_nanos() / 100).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(ticks))
    }

    /// The time from `earlier` to this instant, zero when `earlier` is not earlier.
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        let ticks = self.0.saturating_sub(earlier.0);
        Duration::new(ticks / TICKS_PER_SECOND, subsecond_nanos(ticks))
    }
}

#[expect(clippy::as_conversions, reason = "const fn; the value is below 1,000,000,000")]
const fn subsecond_nanos(ticks: u64) -> u32 {
    ((ticks % TICKS_PER_SECOND) * 100) as u32
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:07}", self.0 / TICKS_PER_SECOND, self.0 % TICKS_PER_SECOND)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adding_and_subtracting_keep_100_nanoseconds() {
        let start = Timestamp::from_ticks(5);
        let later = start.saturating_add(Duration::from_nanos(1_234_567_800));
        assert_eq!(later.ticks(), 5 + 12_345_678);
        assert_eq!(later.saturating_since(start), Duration::from_nanos(1_234_567_800));
        assert_eq!(start.saturating_since(later), Duration::ZERO);
    }

    #[test]
    fn addition_saturates() {
        let end = Timestamp::from_ticks(u64::MAX);
        assert_eq!(end.saturating_add(Duration::MAX), end);
    }

    #[test]
    fn truncation_drops_the_fraction() {
        let t = Timestamp::from_ticks(12_345_678);
        assert_eq!(t.truncated_to_seconds(), Timestamp::from_seconds(1));
        assert_eq!(t.seconds(), 1);
    }
}
