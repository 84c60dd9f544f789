//! Copies that go on in the background: the bytes of a source elsewhere, piece by piece, until the copy has ended. How far
//! it is stands in rows, so that it goes on after a crash.
//!
//! **Invariant.** A slow source costs its own account at most: copies run in turns, shared by account; the pace says how long a
//! turn is, how slow a source may be and how long it may be read at a time.

mod transfer;
mod turns;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use blob::{
    Blobs,
    copy::{CopyCursor, PendingCopy},
};
use rest::{Shutdown, outgoing::Outgoing};
use tokio::{
    sync::Notify,
    task::{Id, JoinSet},
};

use self::{
    transfer::{Transfer, Turn},
    turns::Turns,
};
use crate::Here;

/// Rows of copies that are looked at at a time, and the pause until the next ones.
const LOOKED_AT: usize = 1024;
const SOON: Duration = Duration::from_millis(20);
/// Until it looks for copies that nobody told it about.
const LOOK: Duration = Duration::from_secs(30);
/// Copies that were just begun and wait to be taken over; more of them are found in their rows.
const TOLD: usize = 1024;

/// How long a copy may take for what.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// A turn, when others wait.
    pub turn: Duration,
    /// The stretch of time in which the rate of a source is measured.
    pub window: Duration,
    /// The least bytes of a second.
    pub least_rate: u64,
    /// The longest time for a source that has no ETag, and so cannot be gone on with.
    pub longest_run: Duration,
    /// The first pause before a source that did not answer is asked again; each further one is twice as long.
    pub first_pause: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            turn: Duration::from_secs(20),
            window: Duration::from_secs(30),
            least_rate: 16 * 1024,
            longest_run: Duration::from_hours(12),
            first_pause: Duration::from_secs(1),
        }
    }
}

impl Pace {
    /// The least bytes of so much time.
    fn least(&self, time: Duration) -> u64 {
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.least_rate.saturating_mul(millis) / 1000
    }
}

/// What copies need of their surroundings.
pub struct Copies {
    /// Who fetches the sources.
    pub(crate) outgoing: Arc<dyn Outgoing>,
    /// What this server itself is reached by.
    pub(crate) here: Here,
    pace: Pace,
    told: Mutex<Vec<PendingCopy>>,
    begun: Notify,
}

impl Copies {
    /// Copies whose sources are fetched by this.
    #[must_use]
    pub fn new(outgoing: Arc<dyn Outgoing>, here: Here) -> Self {
        Self { outgoing, here, pace: Pace::default(), told: Mutex::default(), begun: Notify::new() }
    }

    /// The same at another pace.
    #[must_use]
    pub fn with_pace(self, pace: Pace) -> Self {
        Self { pace, ..self }
    }

    /// There is a copy to go on with.
    pub(crate) fn tell(&self, copy: PendingCopy) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() < TOLD {
            told.push(copy);
        }
        drop(told);
        self.begun.notify_one();
    }

    fn told(&self) -> Vec<PendingCopy> {
        std::mem::take(&mut *self.told.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Goes on with copies until shutdown, first with those that were there before.
    pub async fn run(self: Arc<Self>, blobs: Blobs, mut shutdown: Shutdown) {
        let mut tasks: JoinSet<(PendingCopy, Turn)> = JoinSet::new();
        let mut running: HashMap<Id, PendingCopy> = HashMap::new();
        let (mut turns, waiting) = (Turns::default(), Arc::new(AtomicUsize::new(0)));
        let (mut cursor, mut looking) = (CopyCursor::default(), true);
        loop {
            let told = self.told();
            // More may have been told than was kept.
            looking |= told.len() >= TOLD;
            told.into_iter().for_each(|copy| turns.offer(copy));
            if looking {
                match blobs.pending_copies(&mut cursor, LOOKED_AT).await {
                    Ok(found) => {
                        found.into_iter().for_each(|copy| turns.offer(copy));
                        looking = !cursor.is_at_start();
                    }
                    Err(error) => {
                        tracing::warn!(%error, "pending copies cannot be looked up");
                        looking = false;
                    }
                }
            }
            while let Some(copy) = turns.next() {
                let (this, blobs, shutdown) = (Arc::clone(&self), blobs.clone(), shutdown.clone());
                let (kept, waiting) = (copy.clone(), Arc::clone(&waiting));
                let task = tasks.spawn(async move { this.turn(&blobs, copy, waiting, shutdown).await });
                running.insert(task.id(), kept);
            }
            waiting.store(turns.waiting(), Ordering::Relaxed);
            tokio::select! {
                stopped = shutdown.pause(if looking { SOON } else { LOOK }) => {
                    if stopped {
                        return;
                    }
                    looking = true;
                }
                () = self.begun.notified() => {}
                Some(ended) = tasks.join_next_with_id() => {
                    match ended {
                        Ok((id, (copy, turn))) => {
                            running.remove(&id);
                            turns.ended(copy, turn == Turn::Again);
                        }
                        Err(error) => {
                            tracing::error!(%error, "a copy broke off");
                            // It is found again in its row, and not before the others.
                            if let Some(copy) = running.remove(&error.id()) {
                                turns.ended(copy, false);
                            }
                        }
                    }
                    looking |= turns.take_overflowed();
                }
            }
        }
    }

    async fn turn(
        &self,
        blobs: &Blobs,
        mut copy: PendingCopy,
        waiting: Arc<AtomicUsize>,
        shutdown: Shutdown,
    ) -> (PendingCopy, Turn) {
        let others_wait = || waiting.load(Ordering::Relaxed) > 0;
        let transfer = Transfer { blobs, outgoing: &*self.outgoing, pace: self.pace, others_wait };
        let turn = transfer.go_on(&mut copy, shutdown).await;
        (copy, turn)
    }
}
