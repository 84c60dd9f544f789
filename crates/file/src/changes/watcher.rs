//! A watcher of a directory, and the requests by which its client takes what changed.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use concurrency::rest_open::RestRefusal;

use super::{Changes, Told, TooManyWatchers, Watch};
use crate::{
    Files,
    errors::FileError,
    handle_io::found,
    history::At,
    opens::{Bell, FileKey, Rung},
};

/// Somebody who is told what changes in a directory. Dropping it ends its requests.
#[derive(Debug)]
#[must_use = "a watcher that is dropped is told nothing"]
pub struct Watcher {
    changes: Changes,
    number: u64,
}

impl Files {
    /// Watches a directory. From now on every change is told, or that there were too many.
    ///
    /// # Errors
    /// [`TooManyWatchers`].
    pub fn watch(&self, watch: Watch) -> Result<Watcher, TooManyWatchers> {
        Watcher::new(&self.changes, watch)
    }

    /// Whether what is to be watched is there, and not going to be deleted.
    ///
    /// # Errors
    /// Its share is gone, it is going or gone itself, or the store failed.
    pub async fn check_watched(&self, directory: FileKey) -> Result<(), FileError> {
        let (rows, _) = self.view();
        found(&rows, directory, At::Present).await?;
        if self.opens.is_marked(directory) { Err(RestRefusal::DeletePending.into()) } else { Ok(()) }
    }

    /// How much the change feed holds.
    #[must_use]
    pub fn feed(&self) -> super::Feed {
        self.changes.feed()
    }
}

impl Watcher {
    pub(super) fn new(changes: &Changes, watch: Watch) -> Result<Self, TooManyWatchers> {
        let number = changes.with(|table, _| table.watch(watch))?;
        Ok(Self { changes: changes.clone(), number })
    }

    /// The changes since the last request, or the next one.
    ///
    /// # Errors
    /// [`TooManyWatchers`].
    pub fn next(&self) -> Result<Next, TooManyWatchers> {
        let bell = Arc::<Bell>::default();
        let request = self.changes.with(|table, _| table.request(self.number, &bell))?;
        Ok(Next { changes: self.changes.clone(), watcher: self.number, request, rung: Rung(bell) })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.changes.with(|table, bells| table.close(self.number, bells));
    }
}

/// A request of a watcher: ready when there is something to take. Requests of one watcher are answered in their order, each with
/// changes of its own. What was not taken when it is dropped goes to the next one.
#[derive(Debug)]
#[must_use = "dropping it gives the request up"]
pub struct Next {
    changes: Changes,
    watcher: u64,
    request: u64,
    rung: Rung,
}

impl Next {
    /// What there is to tell; `None` while there is nothing, and when it was taken.
    pub fn take(&mut self) -> Option<Told> {
        let is_rung = self.rung.is_rung();
        is_rung.then(|| self.changes.with(|table, _| table.take(self.watcher, self.request))).flatten()
    }
}

impl Future for Next {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.rung).poll(context)
    }
}

impl Drop for Next {
    fn drop(&mut self) {
        self.changes.with(|table, bells| table.give_up(self.watcher, self.request, bells));
    }
}
