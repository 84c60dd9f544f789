//! What one operation changes, from its transaction until its outcome is known.

use std::sync::{Mutex, PoisonError};

use store::StoreError;
use types::UnitId;

use super::{Change, Changes};
use crate::errors::FileError;

/// An operation that changes something. Its transaction says what it is about, each time it is tried; then the operation says
/// what became of it. When it does not, because nobody waits for its outcome any more, those who watch have to look.
#[must_use = "what became of the operation is to be said"]
pub(crate) struct Telling<'a, W> {
    changes: &'a Changes,
    state: Mutex<State<W>>,
}

enum State<W> {
    /// Nothing was tried.
    Nothing,
    /// Something, in this share if that is known, and nobody watched or knows what it is.
    Unwatched(Option<UnitId>),
    /// This, under a number.
    Watched(UnitId, u64, W),
}

impl<'a, W> Telling<'a, W> {
    pub(super) const fn new(changes: &'a Changes) -> Self {
        Self { changes, state: Mutex::new(State::Nothing) }
    }

    fn become_state(&self, state: State<W>) -> State<W> {
        std::mem::replace(&mut *self.state.lock().unwrap_or_else(PoisonError::into_inner), state)
    }

    /// Inside the transaction, when it is tried: what it is about to change. Only looked for when somebody watches. An attempt
    /// before this one came to nothing.
    pub(crate) fn about(&self, share: UnitId, what: impl FnOnce() -> Option<W>) {
        let state = match self.changes.is_watched().then(what).flatten() {
            Some(what) => State::Watched(share, self.changes.with(|table, _| table.begin()), what),
            None => State::Unwatched(Some(share)),
        };
        self.forget(self.become_state(state));
    }

    /// The same when nobody watches, before anything was looked for. False when somebody does.
    pub(crate) fn about_nothing_watched(&self) -> bool {
        if self.changes.is_watched() {
            return false;
        }
        self.forget(self.become_state(State::Unwatched(None)));
        true
    }

    /// It is durable.
    pub(crate) fn told(self, changes: impl FnOnce(W) -> Vec<Change>) {
        match self.become_state(State::Nothing) {
            State::Watched(_, number, what) => {
                self.changes.with(|table, bells| table.end(number, changes(what), bells));
            }
            // Somebody may have begun to watch between the transaction and its end.
            State::Unwatched(share) => self.missed(share),
            State::Nothing => {}
        }
    }

    /// It failed: nothing was changed, unless the store does not know.
    pub(crate) fn failed(&self, error: &FileError) {
        if !matches!(error, FileError::Store(StoreError::OutcomeUnknown(_))) {
            self.undone();
        }
    }

    /// Nothing was changed.
    pub(crate) fn undone(&self) {
        self.forget(self.become_state(State::Nothing));
    }

    fn forget(&self, state: State<W>) {
        if let State::Watched(_, number, _) = state {
            self.changes.with(|table, bells| table.end(number, Vec::new(), bells));
        }
    }

    fn missed(&self, share: Option<UnitId>) {
        if self.changes.is_watched() {
            self.changes.with(|table, bells| table.changed_somewhere(share, bells));
        }
    }
}

impl<W> Drop for Telling<'_, W> {
    fn drop(&mut self) {
        let state = self.become_state(State::Nothing);
        match state {
            State::Nothing => {}
            State::Unwatched(share) => self.missed(share),
            State::Watched(share, number, what) => {
                self.missed(Some(share));
                self.forget(State::Watched(share, number, what));
            }
        }
    }
}
