//! Background work of any kind, as something that can stand in a list.

use std::{error::Error, future, pin::Pin};

use store::Store;

use crate::{Job, Progress};

/// A future in a box.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Why a step failed: whoever drives it can only tell somebody.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Background work that is driven in steps.
pub trait Work: Send {
    /// Its name in logs and metrics, from a table of ours.
    fn name(&self) -> &'static str;

    /// Does one step.
    fn step(&mut self) -> BoxFuture<'_, Result<Progress, Failure>>;

    /// Returns when there is something to do before anybody would look for it. It is dropped when somebody looks first, so
    /// it must not lose anything by that.
    fn wanted(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(future::pending())
    }
}

/// A job on a store.
#[must_use]
pub fn on<J: Job>(store: &Store) -> Box<dyn Work> {
    Box::new(OnStore::<J> { store: store.clone(), cursor: J::Cursor::default() })
}

struct OnStore<J: Job> {
    store: Store,
    cursor: J::Cursor,
}

impl<J: Job> Work for OnStore<J> {
    fn name(&self) -> &'static str {
        J::NAME
    }

    fn step(&mut self) -> BoxFuture<'_, Result<Progress, Failure>> {
        Box::pin(async { Ok(J::step(&self.store, &mut self.cursor).await?) })
    }
}

/// One step of each, for those who drive them by hand. What fails holds up nothing else: the first error is told when
/// everything had its turn.
///
/// # Errors
/// A step failed.
pub async fn round(works: &mut [Box<dyn Work>]) -> Result<Progress, Failure> {
    let mut all = Ok(Progress::default());
    for work in works {
        let step = work.step().await;
        all = match (all, step) {
            (Ok(all), Ok(step)) => {
                Ok(Progress { done: all.done.saturating_add(step.done), more: all.more | step.more })
            }
            (Err(error), _) | (Ok(_), Err(error)) => Err(error),
        };
    }
    all
}

#[cfg(test)]
mod tests {
    use store::StoreError;
    use store_memory::MemoryEngine;

    use super::*;

    struct Counts;

    impl Job for Counts {
        const NAME: &'static str = "counts";
        type Cursor = u64;
        type Error = StoreError;

        async fn step(_: &Store, cursor: &mut u64) -> Result<Progress, StoreError> {
            *cursor += 1;
            Ok(Progress { done: *cursor, more: *cursor < 3 })
        }
    }

    struct Fails;

    impl Job for Fails {
        const NAME: &'static str = "fails";
        type Cursor = ();
        type Error = StoreError;

        async fn step(_: &Store, (): &mut ()) -> Result<Progress, StoreError> {
            Err(StoreError::corrupt("it always is"))
        }
    }

    #[tokio::test]
    async fn a_job_that_fails_holds_up_no_other() {
        let store = MemoryEngine::default().store();
        let mut works = [on::<Fails>(&store), on::<Counts>(&store)];
        for _ in 0..2 {
            assert!(round(&mut works).await.is_err());
        }
        let works = &mut works[1..];
        assert_eq!(round(works).await.unwrap(), Progress { done: 3, more: false }, "it went on meanwhile");
        assert_eq!(works.iter().map(|work| work.name()).collect::<Vec<_>>(), ["counts"]);
    }
}
