//! The one scheduler of background work: each job in a task of its own, at its own gentle pace, until shutdown.
//!
//! **Invariants.** A job that fails or panics holds up no other: it is logged and counted by its name, and tried again later
//! whatever wants it meanwhile. The answers of the services do not depend on when a step is done.

use std::{sync::Arc, time::Duration};

use jobs::{Progress, Work};
use net::{Caught, Shutdown};
use tokio::task::JoinSet;

use crate::metrics::{JobCounts, Metrics};

/// After a failure.
const FAILED: Duration = Duration::from_mins(1);

/// How often a step of a job is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Before the first step.
    pub(crate) first: Duration,
    /// Between two steps while there is work.
    pub(crate) busy: Duration,
    /// Until it looks again.
    pub(crate) idle: Duration,
}

/// A job and its pace.
pub(crate) struct Scheduled {
    pub(crate) work: Box<dyn Work>,
    pub(crate) pace: Pace,
}

/// Drives all of them until shutdown.
pub(crate) async fn run(jobs: Vec<Scheduled>, metrics: &Metrics, shutdown: &Shutdown) {
    let mut tasks = JoinSet::new();
    for job in jobs {
        let counts = metrics.job(job.work.name());
        tasks.spawn(drive(job, counts, shutdown.clone()));
    }
    while tasks.join_next().await.is_some() {}
}

async fn drive(Scheduled { mut work, pace }: Scheduled, counts: Arc<JobCounts>, mut shutdown: Shutdown) {
    let (mut pause, mut failed) = (pace.first, false);
    loop {
        tokio::select! {
            stopped = shutdown.pause(pause) => if stopped { return },
            () = work.wanted(), if !failed => if shutdown.is_requested() { return },
        }
        let step = match Caught(work.step()).await {
            Ok(step) => step.map_err(|error| error.to_string()),
            Err(panic) => Err(panic),
        };
        counts.count(step.as_ref().ok());
        failed = step.is_err();
        pause = match step {
            Ok(Progress { more: true, .. }) => pace.busy,
            Ok(_) => pace.idle,
            Err(error) => {
                tracing::warn!(job = work.name(), error, "a background job failed");
                FAILED
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use jobs::{BoxFuture, Failure};
    use tokio::sync::Notify;

    use super::*;

    /// What a job of a test has done.
    #[derive(Default)]
    struct Seen {
        steps: AtomicUsize,
        enough: Notify,
        wanted: Notify,
    }

    struct Job {
        name: &'static str,
        seen: Arc<Seen>,
        step: fn() -> Result<Progress, Failure>,
    }

    impl Work for Job {
        fn name(&self) -> &'static str {
            self.name
        }

        fn step(&mut self) -> BoxFuture<'_, Result<Progress, Failure>> {
            if self.seen.steps.fetch_add(1, Ordering::Relaxed) == 10 {
                self.seen.enough.notify_one();
            }
            Box::pin(async { (self.step)() })
        }

        fn wanted(&mut self) -> BoxFuture<'_, ()> {
            Box::pin(self.seen.wanted.notified())
        }
    }

    fn job(name: &'static str, pace: Pace, step: fn() -> Result<Progress, Failure>) -> (Scheduled, Arc<Seen>) {
        let seen = Arc::new(Seen::default());
        (Scheduled { work: Box::new(Job { name, seen: Arc::clone(&seen), step }), pace }, seen)
    }

    const QUICK: Pace = Pace { first: Duration::ZERO, busy: Duration::from_millis(1), idle: Duration::from_hours(1) };

    #[tokio::test]
    async fn a_sweeper_that_fails_holds_up_no_other() {
        let (_stop, shutdown) = Shutdown::channel();
        let metrics = Metrics::example();
        let (failing, failures) = job("failing", QUICK, || Err("it always does".into()));
        let (panicking, panics) = job("panicking", QUICK, || panic!("it always does"));
        let (busy, steps) = job("busy", QUICK, || Ok(Progress { done: 2, more: true }));
        // However much they are wanted.
        failures.wanted.notify_one();
        panics.wanted.notify_one();
        tokio::select! {
            () = run(vec![failing, panicking, busy], &metrics, &shutdown) => {}
            () = steps.enough.notified() => {}
        }
        assert_eq!(failures.steps.load(Ordering::Relaxed), 1, "it waits before it tries again");
        assert_eq!(panics.steps.load(Ordering::Relaxed), 1);
        assert!(steps.steps.load(Ordering::Relaxed) > 10);
        let counted = ["failing", "panicking", "busy"].map(|name| metrics.job(name).counted());
        assert_eq!((counted[0], counted[1]), ((1, 1, 0), (1, 1, 0)), "steps, failures, what was done");
        assert!(counted[2].0 >= 10 && counted[2].1 == 0 && counted[2].2 == 2 * counted[2].0, "{counted:?}");
    }

    #[tokio::test]
    async fn a_job_that_is_wanted_does_not_wait_for_its_pace() {
        let (stop, shutdown) = Shutdown::channel();
        let metrics = Metrics::example();
        let pace = Pace { first: Duration::from_hours(1), ..QUICK };
        let (idle, seen) = job("idle", pace, || Ok(Progress::default()));
        let called = async {
            for _ in 0..=10 {
                seen.wanted.notify_one();
                let before = seen.steps.load(Ordering::Relaxed);
                while seen.steps.load(Ordering::Relaxed) == before {
                    tokio::task::yield_now().await;
                }
            }
            stop.send(true).unwrap();
        };
        // It ends by itself: shutdown does not wait for anybody's pace.
        tokio::join!(run(vec![idle], &metrics, &shutdown), called);
        assert_eq!(seen.steps.load(Ordering::Relaxed), 11);
    }
}
