//! Background work in one shape: a [`Job`] is a step over the store that says how far it came. The services own their
//! jobs; whoever drives them (the server, the simulator, a test) owns the pace.
//!
//! **Invariants.** What a job knows stands in rows: after a crash a step is simply done again, also by somebody else at the
//! same time. A cursor only saves looking where nothing is left; a new one finds the same. A step is bounded, reads no
//! clock, never sleeps and spawns nothing.

mod contents;
mod work;

use std::error::Error;

use store::Store;

pub use self::{
    contents::Contents,
    work::{BoxFuture, Failure, Work, on, round},
};

/// A kind of background work. It has no value of its own, so it has nowhere to keep anything but rows and its cursor.
pub trait Job: Send + 'static {
    /// Its name in logs and metrics.
    const NAME: &'static str;
    /// Where it looks next. Memory only.
    type Cursor: Default + Send + 'static;
    /// Why a step can fail.
    type Error: Error + Send + Sync + 'static;

    /// Does one bounded step.
    ///
    /// # Errors
    /// The store failed. What was done before stays done.
    fn step(store: &Store, cursor: &mut Self::Cursor) -> impl Future<Output = Result<Progress, Self::Error>> + Send;
}

/// What a step did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// How much, in whatever the job deals with.
    pub done: u64,
    /// True when another step would find something to do.
    pub more: bool,
}

impl Progress {
    /// The work was found by looking, and where some was there may be more.
    #[must_use]
    pub fn found(count: usize) -> Self {
        Self { done: u64::try_from(count).unwrap_or(u64::MAX), more: count > 0 }
    }
}
