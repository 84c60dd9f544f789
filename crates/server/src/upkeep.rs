//! Background work, driven at a gentle pace until shutdown: the sweeper gives space back, the collector empties mostly
//! dead extents, the scrub looks for decay.
//!
//! None of it keeps state of its own; after a crash a step is simply done again. A failing step is logged and tried
//! again later: the answers of the services do not depend on it.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use net::Shutdown;
use store::{Store, sweep};
use store_embedded::{EmbeddedEngine, ScrubCursor};

use crate::{engine::Opened, metrics::Metrics};

/// Between two steps while there is work.
const BUSY: Duration = Duration::from_millis(20);
/// Until the sweeper looks again.
const SWEEP_IDLE: Duration = Duration::from_secs(2);
/// Until the sweeper of contents looks whether writers have left much to it, and how much that is: long before they are
/// slowed down.
const SWEEP_LOOK: Duration = Duration::from_millis(100);
const MUCH_BYTES: u64 = 8 * 1024 * 1024;
/// Until the collector looks whether it is urgent, and how many such looks it takes until it looks anyway.
const COLLECT_LOOK: Duration = Duration::from_secs(1);
const COLLECT_LOOKS: u32 = 30;
/// Between two steps of the scrub: with its step, at most 4 MiB a second.
const SCRUB_PACE: Duration = Duration::from_secs(1);
const SCRUB_STEP_BYTES: u64 = 4 * 1024 * 1024;
/// Between two rounds of the scrub, and before the first.
const SCRUB_REST: Duration = Duration::from_hours(24);
const SCRUB_FIRST: Duration = Duration::from_mins(10);
/// After a failure.
const FAILED: Duration = Duration::from_mins(1);

/// Does all of it until shutdown.
pub(crate) async fn run(store: Store, opened: Opened, metrics: Arc<Metrics>, shutdown: Shutdown) {
    let sweep = sweep(&store, &opened, &metrics, shutdown.clone());
    match &opened.embedded {
        None => sweep.await,
        Some(engine) => {
            let collect = collect(engine, &metrics, shutdown.clone());
            let scrub = scrub(engine, &metrics, shutdown);
            tokio::join!(sweep, collect, scrub);
        }
    }
}

/// The sweepers: deleted containers, cleared and deleted queues, expired messages, deleted tables, and the contents that
/// nothing points to any more. Each goes its own way: one that fails holds up no other.
async fn sweep(store: &Store, opened: &Opened, metrics: &Metrics, shutdown: Shutdown) {
    let expired = &tokio::sync::Mutex::new(queue::expiry::Cursor::default());
    let blobs = &tokio::sync::Mutex::new(blob::sweep::Cursor::default());
    let containers = again("containers", shutdown.clone(), || async {
        Ok(blob::sweep::step(store, &mut *blobs.lock().await).await?)
    });
    let queues = again("queues", shutdown.clone(), || async { Ok(queue::sweep::step(store).await?) });
    let messages = again("messages", shutdown.clone(), || async {
        Ok(queue::expiry::step(store, &mut *expired.lock().await).await?)
    });
    let tables = again("tables", shutdown.clone(), || async { Ok(table::sweep::step(store).await?) });
    let contents = contents(store, opened, metrics, shutdown);
    tokio::join!(containers, queues, messages, tables, contents);
}

/// The sweeper of contents. Where one was, others follow: while it finds any it stays awake, and it wakes up when writers
/// have left much.
async fn contents(store: &Store, opened: &Opened, metrics: &Metrics, mut shutdown: Shutdown) {
    let much = || opened.embedded.as_ref().is_some_and(|engine| engine.unswept_bytes() >= MUCH_BYTES);
    let (mut pause, mut waited) = (SWEEP_LOOK, Duration::ZERO);
    while !shutdown.pause(pause.min(SWEEP_LOOK)).await {
        waited += pause.min(SWEEP_LOOK);
        if waited < pause && !(pause == SWEEP_IDLE && much()) {
            continue;
        }
        waited = Duration::ZERO;
        pause = match sweep::step(store).await {
            Ok(progress) => {
                metrics.upkeep.swept.fetch_add(count(progress.finished), Ordering::Relaxed);
                if progress.more || progress.finished > 0 { BUSY } else { SWEEP_IDLE }
            }
            Err(error) => {
                tracing::warn!(sweeper = "contents", %error, "a sweeper failed");
                FAILED
            }
        };
    }
}

/// Does a step of a sweeper over and over, soon while there is more to do.
async fn again<F>(sweeper: &str, mut shutdown: Shutdown, step: impl Fn() -> F)
where
    F: Future<Output = anyhow::Result<bool>>,
{
    let mut pause = SWEEP_IDLE;
    while !shutdown.pause(pause).await {
        pause = match step().await {
            Ok(true) => BUSY,
            Ok(false) => SWEEP_IDLE,
            Err(error) => {
                tracing::warn!(sweeper, %error, "a sweeper failed");
                FAILED
            }
        };
    }
}

async fn collect(engine: &EmbeddedEngine, metrics: &Metrics, mut shutdown: Shutdown) {
    let (mut pause, mut looks) = (COLLECT_LOOK, 0);
    while !shutdown.pause(pause).await {
        looks += 1;
        if pause == COLLECT_LOOK && looks < COLLECT_LOOKS && !engine.wants_collection() {
            continue;
        }
        looks = 0;
        pause = match engine.collect().await {
            Ok(collected) => {
                metrics.upkeep.collected_bytes.fetch_add(collected.bytes, Ordering::Relaxed);
                if collected.more { BUSY } else { COLLECT_LOOK }
            }
            Err(error) => {
                tracing::warn!(%error, "the collector failed");
                FAILED
            }
        };
    }
}

async fn scrub(engine: &EmbeddedEngine, metrics: &Metrics, mut shutdown: Shutdown) {
    let (mut cursor, mut pause) = (ScrubCursor::default(), SCRUB_FIRST);
    while !shutdown.pause(pause).await {
        pause = match engine.scrub(cursor, SCRUB_STEP_BYTES).await {
            Ok(scrubbed) => {
                metrics.upkeep.scrubbed_bytes.fetch_add(scrubbed.bytes, Ordering::Relaxed);
                metrics.upkeep.scrub_problems.fetch_add(count(scrubbed.problems.len()), Ordering::Relaxed);
                for problem in &scrubbed.problems {
                    tracing::error!(problem, "the scrub found damage: restore from a backup");
                }
                cursor = scrubbed.next.unwrap_or_default();
                if scrubbed.next.is_some() { SCRUB_PACE } else { SCRUB_REST }
            }
            Err(error) => {
                tracing::warn!(%error, "the scrub failed");
                FAILED
            }
        };
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use tokio::sync::Notify;

    use super::*;

    #[tokio::test]
    async fn a_sweeper_that_fails_holds_up_no_other() {
        let (_stop, shutdown) = Shutdown::channel();
        let (failures, steps, enough) = (AtomicUsize::new(0), AtomicUsize::new(0), Notify::new());
        let failing = again("failing", shutdown.clone(), || async {
            failures.fetch_add(1, Ordering::Relaxed);
            anyhow::bail!("it always does")
        });
        let busy = again("busy", shutdown, || async {
            if steps.fetch_add(1, Ordering::Relaxed) == 10 {
                enough.notify_one();
            }
            Ok(true)
        });
        tokio::select! {
            () = failing => {}
            () = busy => {}
            () = enough.notified() => {}
        }
        assert_eq!(failures.load(Ordering::Relaxed), 1, "it waits before it tries again");
        assert!(steps.load(Ordering::Relaxed) > 10);
    }
}
