//! Waiting without a runtime: a bell that is rung once, and the ticket that awaits it.
//!
//! Invariants: a ticket is registered at its file until it is rung or dropped, whichever is first, so that nothing
//! stays of a request that gave up; whoever was rung asks again, because somebody else may have been faster.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
};

use super::{place::FileKey, table::Table};

/// What was asked for, or the ticket of whoever has to wait for it.
#[derive(Debug)]
pub enum Turn<T> {
    /// It is granted.
    Granted(T),
    /// Something is in the way for the moment: await the ticket, then ask again.
    Wait(Ticket),
}

impl<T> Turn<T> {
    /// What was granted, `None` for whoever has to wait.
    pub fn granted(self) -> Option<T> {
        match self {
            Self::Granted(granted) => Some(granted),
            Self::Wait(_) => None,
        }
    }
}

/// Rung once; remembers it, and wakes who waits.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    rung: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Bell {
    pub(crate) fn ring(&self) {
        self.rung.store(true, Ordering::SeqCst);
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(crate) fn is_rung(&self) -> bool {
        self.rung.load(Ordering::SeqCst)
    }

    pub(super) fn poll(&self, context: &Context<'_>) -> Poll<()> {
        if !self.is_rung() {
            let mut waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
            match &mut *waker {
                Some(known) => known.clone_from(context.waker()),
                none => *none = Some(context.waker().clone()),
            }
        }
        // Again, because it may have been rung before the waker was there.
        if self.is_rung() { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// Ready when a bell was rung.
#[derive(Debug)]
pub(crate) struct Rung(pub(crate) Arc<Bell>);

impl Rung {
    pub(crate) fn is_rung(&self) -> bool {
        self.0.is_rung()
    }
}

impl Future for Rung {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.poll(context)
    }
}

/// A place in the queue of a file: a future that is ready when it is worth to ask again.
///
/// Await it by `&mut` and keep it until the question has been asked again: as long as it lives, REST requests that come
/// later do not overtake an open, a lock or a delete mark that waits for the ones before them. Whoever holds claims of
/// other files lets go of them before it waits.
#[must_use = "dropping a ticket gives up the place"]
pub struct Ticket {
    bell: Arc<Bell>,
    /// Where it is registered; `None` when there was nothing to wait for any more.
    place: Option<(Arc<Table>, FileKey, u64)>,
}

impl Ticket {
    pub(super) fn new(bell: Arc<Bell>, table: Arc<Table>, file: FileKey, number: u64) -> Self {
        Self { bell, place: Some((table, file, number)) }
    }

    /// A ticket that is rung already.
    pub(super) fn rung() -> Self {
        let bell = Bell::default();
        bell.ring();
        Self { bell: Arc::new(bell), place: None }
    }

    /// True when it is worth to ask again.
    #[must_use]
    pub fn is_rung(&self) -> bool {
        self.bell.is_rung()
    }
}

impl Future for Ticket {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.bell.poll(context)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some((table, file, number)) = self.place.take() {
            table.give_up(file, number);
        }
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("rung", &self.is_rung()).finish_non_exhaustive()
    }
}
