//! How long a copy may take for what, so that a slow source costs its own account at most.

use std::time::Duration;

/// How long a copy may take for what.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// A turn, when others wait.
    pub turn: Duration,
    /// The stretch of time in which the rate of a source is measured.
    pub window: Duration,
    /// The least bytes of a second.
    pub least_rate: u64,
    /// The longest time for a source that has no ETag, and so cannot be gone on with.
    pub longest_run: Duration,
    /// The first pause before a source that did not answer is asked again; each further one is twice as long.
    pub first_pause: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            turn: Duration::from_secs(20),
            window: Duration::from_secs(30),
            least_rate: 16 * 1024,
            longest_run: Duration::from_hours(12),
            first_pause: Duration::from_secs(1),
        }
    }
}

impl Pace {
    /// The least bytes of so much time.
    pub(crate) fn least(&self, time: Duration) -> u64 {
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.least_rate.saturating_mul(millis) / 1000
    }
}
