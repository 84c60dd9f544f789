//! What all ports of a process share, so that it is bounded for all of them together: seats for connections, room for
//! documents and for answers, and how much strangers may have of all that.
//!
//! A **stranger** is who has shown no credential that is right. Strangers may read what is public, so they are served; but
//! what they have together is a small part, which they share, and which nobody else needs.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::{documents::Documents, outbox::Outbox, seats::Seats};

/// Requests of strangers in work at once. They read, and wait for nobody, so a few serve many.
const STRANGERS_AT_WORK: usize = 32;
/// Requests of strangers that wait for that.
const STRANGERS_WAITING: usize = 256;

/// The shared bounds. One a process; tests have one a listener.
#[derive(Debug)]
pub struct Commons {
    pub(crate) seats: Arc<Seats>,
    /// Room for what must be read as a whole.
    pub documents: Arc<Documents>,
    /// Room for answers that were not taken yet.
    pub outbox: Arc<Outbox>,
    pub(crate) strangers_at_work: Arc<Semaphore>,
    pub(crate) strangers_waiting: Arc<Semaphore>,
}

impl Commons {
    /// With so many connections at once.
    #[must_use]
    pub fn new(connections: usize) -> Self {
        let semaphore = |permits| Arc::new(Semaphore::new(permits));
        Self {
            seats: Arc::new(Seats::new(connections)),
            documents: Arc::default(),
            outbox: Arc::default(),
            strangers_at_work: semaphore(STRANGERS_AT_WORK),
            strangers_waiting: semaphore(STRANGERS_WAITING),
        }
    }

    /// Connections that were closed so that others could come.
    #[must_use]
    pub fn gave_way(&self) -> u64 {
        self.seats.gave_way()
    }

    /// Answers that were broken off because their clients did not take them.
    #[must_use]
    pub fn given_up(&self) -> u64 {
        self.outbox.given_up()
    }
}
