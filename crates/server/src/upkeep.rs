//! The background work of the server and its pace: **the one list of it.** The jobs of the services give space back and
//! end what is over, copies from elsewhere go on; the collector empties mostly dead extents, the scrub looks for decay.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use jobs::{BoxFuture, Contents, Failure, Progress, Work};
use net::Shutdown;
use store::Store;
use store_embedded::{EmbeddedEngine, ScrubCursor};

use crate::{
    engine::Opened,
    metrics::{COLLECT, Metrics, SCRUB},
    scheduler::{self, Pace, Scheduled},
};

/// Between two steps while there is work.
const BUSY: Duration = Duration::from_millis(20);
/// Until a job of a service looks again.
const IDLE: Duration = Duration::from_secs(2);
/// Until the sweeper of contents looks whether writers have left much to it, and how much that is: long before they are
/// slowed down.
const CONTENTS_LOOK: Duration = Duration::from_millis(100);
const MUCH_BYTES: u64 = 8 * 1024 * 1024;
/// Until the collector looks whether it is urgent, and until it looks anyway.
const COLLECT_LOOK: Duration = Duration::from_secs(1);
const COLLECT_IDLE: Duration = Duration::from_secs(30);
/// A step of the scrub: with the pace, at most 4 MiB a second.
const SCRUB_STEP_BYTES: u64 = 4 * 1024 * 1024;

const SERVICES: Pace = Pace { first: IDLE, busy: BUSY, idle: IDLE };
const CONTENTS: Pace = Pace { first: CONTENTS_LOOK, busy: BUSY, idle: IDLE };
const COLLECTOR: Pace = Pace { first: COLLECT_IDLE, busy: BUSY, idle: COLLECT_IDLE };
/// Copies are told of when they begin and looked for in their rows at the start and now and then.
const COPIES: Pace = Pace { first: Duration::ZERO, busy: BUSY, idle: Duration::from_secs(30) };
/// Clients that do not answer lose what they cache on time.
const OPENS: Pace = Pace { first: IDLE, busy: BUSY, idle: Duration::from_secs(1) };
/// A day between two rounds.
const SCRUBBER: Pace =
    Pace { first: Duration::from_mins(10), busy: Duration::from_secs(1), idle: Duration::from_hours(24) };

/// Does all of it until shutdown, with the work of copies from elsewhere.
pub(crate) async fn run(
    store: Store,
    opened: Opened,
    copies: Vec<Box<dyn Work>>,
    opens: Box<dyn Work>,
    metrics: Arc<Metrics>,
    shutdown: Shutdown,
) {
    let store = &store;
    let services = [blob::jobs(store), queue::jobs(store), table::jobs(store), file::jobs(store)].into_iter().flatten();
    let mut all: Vec<Scheduled> = services.map(|work| Scheduled { work, pace: SERVICES }).collect();
    all.extend(copies.into_iter().map(|work| Scheduled { work, pace: COPIES }));
    all.push(Scheduled { work: opens, pace: OPENS });
    let contents = jobs::on::<Contents>(store);
    match opened.embedded {
        None => all.push(Scheduled { work: contents, pace: CONTENTS }),
        Some(engine) => {
            let unswept = Arc::clone(&engine);
            let much = move || unswept.unswept_bytes() >= MUCH_BYTES;
            let contents = Box::new(Urgent { work: contents, look: CONTENTS_LOOK, is_urgent: much });
            all.push(Scheduled { work: contents, pace: CONTENTS });
            let collected = Arc::clone(&engine);
            let wants = move || collected.wants_collection();
            let collect = Box::new(Collect(Arc::clone(&engine)));
            let collect = Box::new(Urgent { work: collect, look: COLLECT_LOOK, is_urgent: wants });
            all.push(Scheduled { work: collect, pace: COLLECTOR });
            let scrub = Scrub { engine, cursor: ScrubCursor::default(), metrics: Arc::clone(&metrics) };
            all.push(Scheduled { work: Box::new(scrub), pace: SCRUBBER });
        }
    }
    scheduler::run(all, &metrics, &shutdown).await;
}

/// Work that is looked at now and then whether it should be done before its time.
struct Urgent<F> {
    work: Box<dyn Work>,
    look: Duration,
    is_urgent: F,
}

impl<F: Fn() -> bool + Send + Sync> Work for Urgent<F> {
    fn name(&self) -> &'static str {
        self.work.name()
    }

    fn step(&mut self) -> BoxFuture<'_, Result<Progress, Failure>> {
        self.work.step()
    }

    fn wanted(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let mut looks = tokio::time::interval(self.look);
            looks.tick().await; // the first comes at once
            loop {
                looks.tick().await;
                if (self.is_urgent)() {
                    return;
                }
            }
        })
    }
}

/// The engine's collector. What is done are bytes moved.
struct Collect(Arc<EmbeddedEngine>);

impl Work for Collect {
    fn name(&self) -> &'static str {
        COLLECT
    }

    fn step(&mut self) -> BoxFuture<'_, Result<Progress, Failure>> {
        Box::pin(async {
            let collected = self.0.collect().await?;
            Ok(Progress { done: collected.bytes, more: collected.more })
        })
    }
}

/// The engine's scrub. What is done are bytes verified.
struct Scrub {
    engine: Arc<EmbeddedEngine>,
    cursor: ScrubCursor,
    metrics: Arc<Metrics>,
}

impl Work for Scrub {
    fn name(&self) -> &'static str {
        SCRUB
    }

    fn step(&mut self) -> BoxFuture<'_, Result<Progress, Failure>> {
        Box::pin(async {
            let scrubbed = self.engine.scrub(self.cursor, SCRUB_STEP_BYTES).await?;
            let problems = u64::try_from(scrubbed.problems.len()).unwrap_or(u64::MAX);
            self.metrics.scrub_problems.fetch_add(problems, Ordering::Relaxed);
            for problem in &scrubbed.problems {
                tracing::error!(problem, "the scrub found damage: restore from a backup");
            }
            self.cursor = scrubbed.next.unwrap_or_default();
            Ok(Progress { done: scrubbed.bytes, more: scrubbed.next.is_some() })
        })
    }
}
