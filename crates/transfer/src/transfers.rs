//! Copies that go on in the background: the bytes of a source elsewhere, piece by piece, until the copy has ended. How far
//! it is stands in rows, so that it goes on after a crash.
//!
//! **Invariant.** A slow source costs its own account at most: copies of all services run in turns, shared by account; the
//! pace says how long a turn is, how slow a source may be and how long it may be read at a time.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use jobs::{Failure, Progress, Work};
use rest::{BoxFuture, Shutdown, outgoing::Outgoing};
use tokio::{
    sync::{Notify, watch},
    task::{Id, JoinError, JoinSet},
};

use crate::{
    Here, Pace, Pending, Sources, Unfinished,
    turn::{Transfer, Turn},
    turns::{Ticket, Turns},
};

/// Rows of copies that are looked at at a time.
const LOOKED_AT: usize = 1024;

/// What copies need of their surroundings, and whose turn it is. A process has one, for all services.
pub struct Transfers {
    /// What copies can be made of.
    pub sources: Sources,
    pace: Pace,
    turns: Mutex<Turns>,
    /// How many of them wait.
    waiting: AtomicUsize,
    /// A copy was begun, or found.
    begun: Notify,
    /// Some copies were left in their rows, and there is room for them now.
    room: watch::Sender<()>,
}

impl Transfers {
    /// Copies whose sources elsewhere are fetched by this.
    #[must_use]
    pub fn new(outgoing: Arc<dyn Outgoing>, here: Here) -> Self {
        Self {
            sources: Sources::new(outgoing, here),
            pace: Pace::default(),
            turns: Mutex::default(),
            waiting: AtomicUsize::new(0),
            begun: Notify::new(),
            room: watch::Sender::new(()),
        }
    }

    /// The same at another pace.
    #[must_use]
    pub fn with_pace(self, pace: Pace) -> Self {
        Self { pace, ..self }
    }

    /// There is a copy to go on with. When too many wait already, it is found in its row later.
    pub fn tell(&self, copy: Pending) {
        self.turns().offer(copy);
        self.begun.notify_one();
    }

    /// The work of going on with copies. It is wanted when there is something to do, and needs no pace.
    #[must_use]
    pub fn work(self: &Arc<Self>, shutdown: Shutdown) -> Box<dyn Work> {
        let transfers = Arc::clone(self);
        Box::new(Running { transfers, shutdown, tasks: JoinSet::new(), tickets: HashMap::new(), ended: Vec::new() })
    }

    /// The work of finding copies that nobody told of in their rows: those of before a start, and those that were too many.
    #[must_use]
    pub fn finding(self: &Arc<Self>, unfinished: impl Unfinished + 'static) -> Box<dyn Work> {
        let (transfers, room) = (Arc::clone(self), self.room.subscribe());
        Box::new(Finding { transfers, room, unfinished: Box::new(unfinished) })
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn turn(&self, mut copy: Pending, shutdown: Shutdown) -> (Pending, Turn) {
        let others_wait = || self.waiting.load(Ordering::Relaxed) > 0;
        let transfer = Transfer { outgoing: &*self.sources.outgoing, pace: self.pace, others_wait };
        let turn = transfer.go_on(&mut copy, shutdown).await;
        (copy, turn)
    }
}

/// How a turn ended: with what it was about, unless it broke off.
type Ended = Result<(Id, (Pending, Turn)), JoinError>;

/// The copies that have their turn. Dropped, they stop where they are, and go on at the next start.
struct Running {
    transfers: Arc<Transfers>,
    shutdown: Shutdown,
    tasks: JoinSet<(Pending, Turn)>,
    tickets: HashMap<Id, Ticket>,
    /// Turns that are over and not yet given up.
    ended: Vec<Ended>,
}

impl Running {
    /// Gives up the turns that are over and begins those that can be. Returns how many were over.
    fn exchange(&mut self) -> usize {
        let over = std::mem::take(&mut self.ended);
        let count = over.len();
        let mut turns = self.transfers.turns();
        for ended in over {
            let (id, again) = match ended {
                Ok((id, (copy, turn))) => (id, (turn == Turn::Again).then_some(copy)),
                Err(error) => {
                    tracing::error!(%error, "a copy broke off");
                    // It is found again in its row, and not before the others.
                    (error.id(), None)
                }
            };
            if let Some(ticket) = self.tickets.remove(&id) {
                turns.ended(&ticket, again);
            }
        }
        let room = count > 0 && turns.take_overflowed();
        while let Some(copy) = turns.next() {
            let (ticket, transfers, shutdown) = (Ticket::of(&copy), Arc::clone(&self.transfers), self.shutdown.clone());
            let task = self.tasks.spawn(async move { transfers.turn(copy, shutdown).await });
            self.tickets.insert(task.id(), ticket);
        }
        self.transfers.waiting.store(turns.waiting(), Ordering::Relaxed);
        drop(turns);
        if room {
            self.transfers.room.send_replace(());
        }
        count
    }
}

impl Work for Running {
    fn name(&self) -> &'static str {
        "transfers"
    }

    fn step(&mut self) -> BoxFuture<'_, Result<Progress, Failure>> {
        Box::pin(async { Ok(Progress { more: false, ..Progress::found(self.exchange()) }) })
    }

    fn wanted(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            tokio::select! {
                () = self.transfers.begun.notified() => {}
                Some(ended) = self.tasks.join_next_with_id() => self.ended.push(ended),
            }
        })
    }
}

/// Where copies are looked for.
struct Finding {
    transfers: Arc<Transfers>,
    room: watch::Receiver<()>,
    unfinished: Box<dyn Unfinished>,
}

impl Work for Finding {
    fn name(&self) -> &'static str {
        self.unfinished.name()
    }

    fn step(&mut self) -> BoxFuture<'_, Result<Progress, Failure>> {
        Box::pin(async {
            let look = self.unfinished.look(LOOKED_AT).await?;
            let found = Progress::found(look.found.len());
            for copy in look.found {
                self.transfers.tell(copy);
            }
            Ok(Progress { more: look.more, ..found })
        })
    }

    fn wanted(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            if self.room.changed().await.is_err() {
                std::future::pending().await // there are no copies any more
            }
        })
    }
}
