//! Two clocks. **Server time** is for what the server itself decides and remembers: leases, messages, ETags, Last-Modified
//! and Timestamps. **Wall time** is for what others wrote down by their own clocks: dates of requests, signatures, tokens.
//!
//! Server time starts at wall time, advances with the monotonic clock, and is corrected towards wall time by slewing.
//! Where wall time is far ahead, as after the machine slept, it jumps there. It never goes backwards; the engine stores its
//! high-water mark so that this also holds across restarts. So a wall clock that was wrong once may leave it ahead for
//! long, which is why no credential is ever measured by it.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use types::Timestamp;

/// Where time comes from. The only place that reads a real clock is [`SystemTime`]; tests bring their own.
pub trait TimeSource: Send + Sync + 'static {
    /// Time since the Unix epoch, as the machine believes. May jump.
    fn wall(&self) -> Duration;
    /// Time since some fixed moment. Never jumps.
    fn monotonic(&self) -> Duration;
}

/// The clocks of the machine.
#[derive(Debug)]
pub struct SystemTime {
    start: std::time::Instant,
}

impl Default for SystemTime {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the monotonic clock")]
    fn default() -> Self {
        Self { start: std::time::Instant::now() }
    }
}

impl TimeSource for SystemTime {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads wall time")]
    fn wall(&self) -> Duration {
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }
}

/// The slew: at most one part in this many, so a lease of 60 seconds is off by 0.3 seconds at worst.
const SLEW_DIVISOR: u32 = 200;

/// How far wall time must be ahead for a jump: the shortest lease. Below it a step of the wall clock ends nothing early.
const JUMP: Duration = Duration::from_secs(15);

/// Server time made from a [`TimeSource`].
pub struct ServerClock {
    source: Box<dyn TimeSource>,
    state: Mutex<State>,
}

struct State {
    time: Duration,
    monotonic: Duration,
}

impl ServerClock {
    /// A clock that begins at wall time, or at `high_water` when that is later: time that was seen is never seen again.
    pub fn new(source: impl TimeSource, high_water: Timestamp) -> Self {
        let monotonic = source.monotonic();
        let time = source.wall().max(high_water.saturating_since(Timestamp::EPOCH));
        Self { source: Box::new(source), state: Mutex::new(State { time, monotonic }) }
    }

    /// Server time now.
    pub fn now(&self) -> Timestamp {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (wall, monotonic) = (self.source.wall(), self.source.monotonic());
        let passed = monotonic.saturating_sub(state.monotonic);
        let slew = passed / SLEW_DIVISOR;
        let unslewed = state.time + passed;
        state.time = if wall.saturating_sub(unslewed) > JUMP {
            wall
        } else if wall > unslewed {
            unslewed + slew.min(wall.saturating_sub(unslewed))
        } else {
            unslewed.saturating_sub(slew.min(unslewed.saturating_sub(wall)))
        };
        state.monotonic = monotonic;
        Timestamp::EPOCH.saturating_add(state.time)
    }

    /// Wall time now, as the machine believes. May jump, also back.
    pub fn wall(&self) -> Timestamp {
        Timestamp::EPOCH.saturating_add(self.source.wall())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    };

    use super::*;

    #[derive(Clone, Default)]
    struct TestTime {
        wall_ms: Arc<AtomicU64>,
        monotonic_ms: Arc<AtomicU64>,
    }

    impl TestTime {
        fn pass(&self, wall_ms: u64, monotonic_ms: u64) {
            self.wall_ms.fetch_add(wall_ms, Ordering::Relaxed);
            self.monotonic_ms.fetch_add(monotonic_ms, Ordering::Relaxed);
        }
    }

    impl TimeSource for TestTime {
        fn wall(&self) -> Duration {
            Duration::from_millis(self.wall_ms.load(Ordering::Relaxed))
        }
        fn monotonic(&self) -> Duration {
            Duration::from_millis(self.monotonic_ms.load(Ordering::Relaxed))
        }
    }

    fn started_at(seconds: u64) -> (TestTime, ServerClock) {
        let time = TestTime::default();
        time.pass(seconds * 1000, 0);
        (time.clone(), ServerClock::new(time, Timestamp::EPOCH))
    }

    #[test]
    fn a_wall_clock_set_back_slows_time_but_never_turns_it() {
        let (time, clock) = started_at(1000);
        time.wall_ms.store(0, Ordering::Relaxed);
        let before = clock.now();
        time.pass(10_000, 10_000);
        let passed = clock.now().saturating_since(before);
        assert_eq!(passed, Duration::from_millis(9_950));
    }

    #[test]
    fn a_wall_clock_set_forward_is_approached_slowly_and_not_passed() {
        let (time, clock) = started_at(1000);
        time.pass(20, 0);
        time.pass(1_000, 1_000);
        assert_eq!(clock.now(), Timestamp::from_ticks(10_010_050_000));
        time.pass(100_000, 100_000);
        assert_eq!(clock.now(), Timestamp::from_ticks(11_010_200_000));
    }

    #[test]
    fn a_machine_that_slept_finds_the_time() {
        // An hour, with a monotonic clock that stands still meanwhile, and with one that goes on.
        for monotonic_ms in [0, 3_600_000] {
            let (time, clock) = started_at(1000);
            time.pass(3_600_000, monotonic_ms);
            assert_eq!(clock.now(), Timestamp::from_seconds(4_600), "{monotonic_ms}");
            assert_eq!(clock.wall(), Timestamp::from_seconds(4_600), "{monotonic_ms}");
        }
    }

    #[test]
    fn a_step_shorter_than_the_shortest_lease_is_no_jump() {
        let (time, clock) = started_at(1000);
        time.pass(15_000, 0);
        assert_eq!(clock.now(), Timestamp::from_seconds(1_000));
        time.pass(1, 0);
        assert_eq!(clock.now(), Timestamp::from_ticks(10_150_010_000));
    }

    #[test]
    fn a_clock_that_was_ahead_and_is_corrected_leaves_wall_time_right_and_server_time_going() {
        let (time, clock) = started_at(9_000);
        assert_eq!(clock.now(), Timestamp::from_seconds(9_000));
        // Two hours back: wall time follows at once, server time goes on from where it was.
        time.wall_ms.store(1_800_000, Ordering::Relaxed);
        assert_eq!(clock.wall(), Timestamp::from_seconds(1_800));
        assert_eq!(clock.now(), Timestamp::from_seconds(9_000));
        // The same behind a restart.
        let clock = ServerClock::new(time, clock.now());
        assert_eq!(clock.wall(), Timestamp::from_seconds(1_800));
        assert_eq!(clock.now(), Timestamp::from_seconds(9_000));
    }

    #[test]
    fn time_goes_on_from_the_high_water_mark_after_a_restart() {
        let time = TestTime::default();
        let clock = ServerClock::new(time, Timestamp::from_seconds(500));
        assert_eq!(clock.now(), Timestamp::from_seconds(500));
    }
}
