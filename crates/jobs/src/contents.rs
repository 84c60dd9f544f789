//! The store's own sweeper as a job: contents that nothing points to any more give their space back.

use store::{Store, StoreError, sweep};

use crate::{Job, Progress};

/// Frees the chunks of contents that are gone. What is done are contents.
#[derive(Debug)]
pub struct Contents;

impl Job for Contents {
    const NAME: &'static str = "contents";
    type Cursor = ();
    type Error = StoreError;

    async fn step(store: &Store, (): &mut ()) -> Result<Progress, StoreError> {
        let swept = sweep::step(store).await?;
        // Where one was, others follow: while it finds any it stays awake.
        let found = Progress::found(swept.finished);
        Ok(Progress { more: found.more || swept.more, ..found })
    }
}
