//! The clock of a world: it moves when the scheduler says so.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use store::clock::TimeSource;

/// When every world begins: some day of 2026.
const BEGIN: Duration = Duration::from_secs(1_790_000_000);

/// A clock in microseconds. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Clock(Arc<AtomicU64>);

impl Clock {
    pub(crate) fn micros(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn pass(&self, micros: u64) {
        self.0.fetch_add(micros, Ordering::Relaxed);
    }
}

impl TimeSource for Clock {
    fn wall(&self) -> Duration {
        BEGIN + Duration::from_micros(self.micros())
    }

    fn monotonic(&self) -> Duration {
        Duration::from_micros(self.micros())
    }
}
