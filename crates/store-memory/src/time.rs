//! A clock that moves only when a test moves it.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use store::clock::TimeSource;
use types::Timestamp;

/// 2024-01-01T00:00:00Z: late enough that subtracting a week is still a date.
const START: Duration = Duration::from_secs(1_704_067_200);

/// Time that a test sets; clones share it.
#[derive(Clone, Debug)]
pub struct ManualTime(Arc<Mutex<Clocks>>);

#[derive(Debug)]
struct Clocks {
    wall: Duration,
    monotonic: Duration,
}

impl Default for ManualTime {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Clocks { wall: START, monotonic: Duration::ZERO })))
    }
}

impl ManualTime {
    fn clocks<T>(&self, look: impl FnOnce(&mut Clocks) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets time pass.
    pub fn advance(&self, passed: Duration) {
        self.clocks(|clocks| {
            clocks.wall += passed;
            clocks.monotonic += passed;
        });
    }

    /// Wall time jumps: somebody sets the machine's clock, or it slept and its monotonic clock stood still meanwhile.
    pub fn jump_to(&self, wall: Timestamp) {
        self.clocks(|clocks| clocks.wall = wall.saturating_since(Timestamp::EPOCH));
    }
}

impl TimeSource for ManualTime {
    fn wall(&self) -> Duration {
        self.clocks(|clocks| clocks.wall)
    }

    fn monotonic(&self) -> Duration {
        self.clocks(|clocks| clocks.monotonic)
    }
}

/// The same source for the engine before and after a restart.
pub(crate) struct SharedTime(pub(crate) Arc<dyn TimeSource>);

impl TimeSource for SharedTime {
    fn wall(&self) -> Duration {
        self.0.wall()
    }

    fn monotonic(&self) -> Duration {
        self.0.monotonic()
    }
}
