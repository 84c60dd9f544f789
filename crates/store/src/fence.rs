//! The fence of a store: once it is up, nothing goes through this handle any more.
//!
//! Memory that is right only while one owner writes (message indexes' heads, served accounts, pins) belongs to one store. When
//! another one is opened on the same engine, the first must not write behind its back, so it is fenced off first.
//!
//! **Invariant.** When [`Fence::raise`] has returned, no commit of this store is sequenced any more.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

use crate::{
    answer::Answer,
    engine::{Sequence, View},
    error::StoreError,
    key::KeyRange,
    read::{Cursor, Direction, Row},
};

/// The lowest bit: the fence is up. The bits above count the commits that are being sequenced.
const UP: usize = 1;
const COMMIT: usize = 2;

#[derive(Debug, Default)]
pub(crate) struct Fence {
    state: AtomicUsize,
    last_has_left: Notify,
}

impl Fence {
    pub(crate) fn is_up(&self) -> bool {
        self.state.load(Ordering::Acquire) & UP != 0
    }

    /// Refused once the fence is up.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        if self.is_up() { Err(StoreError::Closed) } else { Ok(()) }
    }

    /// Lets a commit be sequenced. The fence waits for it.
    pub(crate) fn pass(&self) -> Result<Passing<'_>, StoreError> {
        let before = self.state.fetch_add(COMMIT, Ordering::AcqRel);
        let passing = Passing { fence: self };
        if before & UP == 0 { Ok(passing) } else { Err(StoreError::Closed) }
    }

    /// Puts the fence up for good, without waiting for commits that are being sequenced.
    pub(crate) fn put_up(&self) {
        self.state.fetch_or(UP, Ordering::AcqRel);
    }

    /// Puts the fence up for good, and waits until no commit is on its way through.
    pub(crate) async fn raise(&self) {
        self.put_up();
        loop {
            let mut left = std::pin::pin!(self.last_has_left.notified());
            // Registered before the look, so that the last one to leave is not missed.
            left.as_mut().enable();
            if self.state.load(Ordering::Acquire) < COMMIT {
                return;
            }
            left.await;
        }
    }
}

/// A commit that is being sequenced.
pub(crate) struct Passing<'a> {
    fence: &'a Fence,
}

impl Drop for Passing<'_> {
    fn drop(&mut self) {
        if self.fence.state.fetch_sub(COMMIT, Ordering::AcqRel) == COMMIT | UP {
            self.fence.last_has_left.notify_waiters();
        }
    }
}

/// What a store that was fenced off sees: nothing, and it says so.
pub(crate) struct FencedView;

impl View for FencedView {
    fn instant(&self) -> Sequence {
        Sequence::default()
    }

    fn get<'a>(&'a self, _: &'a [u8]) -> Answer<'a, Result<Option<bytes::Bytes>, StoreError>> {
        Answer::now(Err(StoreError::Closed))
    }

    fn scan(&self, _: KeyRange, _: Direction) -> Box<dyn Cursor> {
        Box::new(FencedCursor)
    }
}

struct FencedCursor;

impl Cursor for FencedCursor {
    fn next(&mut self) -> Answer<'_, Result<Option<Row>, StoreError>> {
        Answer::now(Err(StoreError::Closed))
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;

    #[test]
    fn the_fence_waits_for_those_on_their_way_and_lets_nobody_else_through() {
        let fence = Fence::default();
        let (first, second) = (fence.pass().unwrap(), fence.pass().unwrap());
        let mut raise = Box::pin(fence.raise());
        let mut poll = || raise.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(poll().is_pending());
        assert!(fence.is_up() && fence.check().is_err() && fence.pass().is_err());
        drop(first);
        assert!(poll().is_pending(), "one is still on its way");
        drop(second);
        assert_eq!(poll(), Poll::Ready(()));
    }

    #[test]
    fn a_fence_that_nobody_passes_is_up_at_once() {
        let fence = Fence::default();
        drop(fence.pass().unwrap());
        let mut raise = Box::pin(fence.raise());
        assert!(raise.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
    }
}
