//! How long a lease is granted for and how long a break may take: checked numbers, so that no other value can reach
//! the state machine.

use std::time::Duration;

/// The shortest finite lease.
pub const MIN_LEASE_SECONDS: u8 = 15;
/// The longest finite lease.
pub const MAX_LEASE_SECONDS: u8 = 60;
/// The longest break period.
pub const MAX_BREAK_SECONDS: u8 = 60;

/// The duration is neither -1 nor 15 to 60 seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a lease lasts 15 to 60 seconds or -1 for infinite, not {0}")]
pub struct InvalidLeaseDuration(pub i64);

/// The break period is not 0 to 60 seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a break period is 0 to 60 seconds, not {0}")]
pub struct InvalidBreakPeriod(pub i64);

/// The duration of a finite lease: 15 to 60 seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FixedDuration(u8);

impl FixedDuration {
    /// The finite duration of this many seconds, `None` outside 15 to 60.
    #[must_use]
    pub const fn new(seconds: u8) -> Option<Self> {
        if MIN_LEASE_SECONDS <= seconds && seconds <= MAX_LEASE_SECONDS { Some(Self(seconds)) } else { None }
    }

    /// Whole seconds, as they stand in records.
    #[must_use]
    pub const fn seconds(self) -> u8 {
        self.0
    }

    /// The same as a length of time.
    #[must_use]
    pub fn length(self) -> Duration {
        Duration::from_secs(u64::from(self.0))
    }
}

/// The duration that an acquire asks for.
///
/// ```
/// use concurrency::lease::LeaseDuration;
/// assert_eq!(LeaseDuration::from_seconds(-1), Ok(LeaseDuration::Infinite));
/// assert!(LeaseDuration::from_seconds(15).is_ok());
/// assert!(LeaseDuration::from_seconds(61).is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeaseDuration {
    /// Never expires by itself.
    Infinite,
    /// Expires after 15 to 60 seconds.
    Fixed(FixedDuration),
}

impl LeaseDuration {
    /// The duration of `x-ms-lease-duration`.
    ///
    /// # Errors
    /// [`InvalidLeaseDuration`] for anything but -1 and 15 to 60.
    pub fn from_seconds(seconds: i64) -> Result<Self, InvalidLeaseDuration> {
        if seconds == -1 {
            return Ok(Self::Infinite);
        }
        let fixed = u8::try_from(seconds).ok().and_then(FixedDuration::new);
        fixed.map(Self::Fixed).ok_or(InvalidLeaseDuration(seconds))
    }
}

/// How long a break may leave the lease in place: 0 to 60 seconds.
///
/// ```
/// use concurrency::lease::BreakPeriod;
/// assert!(BreakPeriod::from_seconds(0).is_ok() && BreakPeriod::from_seconds(60).is_ok());
/// assert!(BreakPeriod::from_seconds(61).is_err() && BreakPeriod::from_seconds(-1).is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BreakPeriod(u8);

impl BreakPeriod {
    /// The period of `x-ms-lease-break-period`.
    ///
    /// # Errors
    /// [`InvalidBreakPeriod`] outside 0 to 60.
    pub fn from_seconds(seconds: i64) -> Result<Self, InvalidBreakPeriod> {
        match u8::try_from(seconds) {
            Ok(period) if period <= MAX_BREAK_SECONDS => Ok(Self(period)),
            _ => Err(InvalidBreakPeriod(seconds)),
        }
    }

    /// The same as a length of time.
    #[must_use]
    pub fn length(self) -> Duration {
        Duration::from_secs(u64::from(self.0))
    }
}
