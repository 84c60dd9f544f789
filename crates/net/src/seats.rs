//! The seats of connections: how many there may be at once, who gives way when there is none left, and what each address
//! may have of them. One set of seats for all listeners of the services, because they share the process's descriptors.
//!
//! Invariants: a connection on which a request is in work never gives way; nobody who has shown a credential gives way
//! while there is somebody who has not; one address never has more than three quarters of the seats; a seat is free
//! again only when its socket is closed.

use std::{
    cmp::Reverse,
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Notify, task::AbortHandle, time::Instant};

/// The number of requests in work on a connection that was told to give way.
const GONE: u32 = u32::MAX;
/// How long a new connection waits for the one that gives way.
const EVICTION_TIMEOUT: Duration = Duration::from_secs(1);
/// An answer to a stranger that was begun so long ago may be broken off for a new connection.
const SLOW_ANSWER: Duration = Duration::from_secs(5);
/// Of so many strangers that are idle, one more gives way at once: a flood is not evicted one by one.
const STRANGERS_PER_EVICTION: usize = 64;

/// The seats, and who sits on them.
#[derive(Debug)]
pub(crate) struct Seats {
    limit: usize,
    table: Mutex<Table>,
    freed: Notify,
    begun: Instant,
    gave_way: AtomicU64,
}

#[derive(Debug, Default)]
struct Table {
    seats: HashMap<u64, Arc<Seat>>,
    addresses: HashMap<IpAddr, Arc<AtomicUsize>>,
    next: u64,
}

/// What is known of one connection.
#[derive(Debug)]
pub struct Seat {
    /// How many connections its address has.
    neighbours: Arc<AtomicUsize>,
    /// When it was accepted, or when its last answer ended; milliseconds.
    since: AtomicU64,
    begun: Instant,
    working: AtomicU32,
    sending: AtomicU32,
    known: AtomicBool,
    became_known: Notify,
    task: OnceLock<AbortHandle>,
}

/// Who gives way first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// Idle, and has never shown a credential.
    Stranger,
    /// Idle, and somebody whom we know.
    Idle,
    /// A stranger who takes an answer slowly.
    SlowStranger,
}

/// A seat while it is taken.
#[derive(Debug)]
pub(crate) struct Taken {
    seats: Arc<Seats>,
    number: u64,
    address: IpAddr,
    pub(crate) seat: Arc<Seat>,
}

impl Seats {
    pub(crate) fn new(limit: usize) -> Self {
        let begun = Instant::now();
        Self { limit: limit.max(1), table: Mutex::default(), freed: Notify::new(), begun, gave_way: AtomicU64::new(0) }
    }

    /// Connections that were closed so that others could come.
    pub(crate) fn gave_way(&self) -> u64 {
        self.gave_way.load(Ordering::Relaxed)
    }

    /// A seat for a new connection; `None` when nobody can give way to it.
    pub(crate) async fn take(self: &Arc<Self>, peer: IpAddr) -> Option<Taken> {
        let address = network_of(peer);
        let deadline = Instant::now() + EVICTION_TIMEOUT;
        loop {
            let freed = self.freed.notified();
            let mut freed = std::pin::pin!(freed);
            freed.as_mut().enable();
            match self.try_take(address) {
                Ok(taken) => return Some(taken),
                Err(false) => return None,
                Err(true) => {}
            }
            tokio::time::timeout_at(deadline, freed).await.ok()?;
        }
    }

    /// Makes somebody give way, because the machine itself has no more.
    pub(crate) fn make_room(&self) {
        self.dismiss(&self.lock(), None);
    }

    /// `Err(true)` when somebody is about to give way.
    fn try_take(self: &Arc<Self>, address: IpAddr) -> Result<Taken, bool> {
        let mut table = self.lock();
        let share = self.limit - self.limit / 4;
        let own = table.addresses.get(&address).map_or(0, |count| count.load(Ordering::Relaxed));
        if own >= share {
            return Err(self.dismiss(&table, table.addresses.get(&address)));
        }
        if table.seats.len() >= self.limit {
            return Err(self.dismiss(&table, None));
        }
        let neighbours = Arc::clone(table.addresses.entry(address).or_default());
        neighbours.fetch_add(1, Ordering::Relaxed);
        let seat = Arc::new(Seat::new(neighbours, self.begun));
        let number = table.next;
        table.next += 1;
        table.seats.insert(number, Arc::clone(&seat));
        Ok(Taken { seats: Arc::clone(self), number, address, seat })
    }

    /// Tells somebody to give way: of all, or of one address. False when nobody can.
    fn dismiss(&self, table: &Table, of: Option<&Arc<AtomicUsize>>) -> bool {
        let now = Instant::now();
        let mut leaving = false;
        let mut candidates = Vec::new();
        for (number, seat) in &table.seats {
            leaving |= seat.working.load(Ordering::Relaxed) == GONE;
            if of.is_none_or(|of| Arc::ptr_eq(of, &seat.neighbours))
                && let Some(rank) = seat.rank(now)
            {
                let crowd = seat.neighbours.load(Ordering::Relaxed);
                let order = (rank, Reverse(crowd), seat.since.load(Ordering::Relaxed), *number);
                candidates.push((order, seat));
            }
        }
        candidates.sort_unstable_by_key(|(order, _)| *order);
        let strangers = candidates.iter().filter(|((rank, ..), _)| *rank == Rank::Stranger).count();
        let wanted = 1 + strangers / STRANGERS_PER_EVICTION;
        let gone = candidates.iter().filter(|(_, seat)| seat.give_way()).take(wanted).count();
        self.gave_way.fetch_add(u64::try_from(gone).unwrap_or_default(), Ordering::Relaxed);
        gone > 0 || leaving
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Addresses that count as one: a network of IPv6 gives its users 64 bits to choose from.
fn network_of(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        address @ IpAddr::V4(_) => address,
    }
}

impl Seat {
    fn new(neighbours: Arc<AtomicUsize>, begun: Instant) -> Self {
        let seat = Self {
            neighbours,
            since: AtomicU64::new(0),
            begun,
            working: AtomicU32::new(0),
            sending: AtomicU32::new(0),
            known: AtomicBool::new(false),
            became_known: Notify::new(),
            task: OnceLock::new(),
        };
        seat.touch();
        seat
    }

    /// A seat of its own, for what comes on no connection.
    #[must_use]
    pub fn alone() -> Arc<Self> {
        Arc::new(Self::new(Arc::default(), Instant::now()))
    }

    fn touch(&self) {
        let millis = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.since.store(millis, Ordering::Relaxed);
    }

    fn rank(&self, now: Instant) -> Option<Rank> {
        if self.working.load(Ordering::Relaxed) != 0 || self.task.get().is_none() {
            return None;
        }
        let since = self.begun + Duration::from_millis(self.since.load(Ordering::Relaxed));
        match (self.sending.load(Ordering::Relaxed), self.is_known()) {
            (0, false) => Some(Rank::Stranger),
            (0, true) => Some(Rank::Idle),
            (_, false) if now.saturating_duration_since(since) > SLOW_ANSWER => Some(Rank::SlowStranger),
            _ => None,
        }
    }

    /// True when it does: no request can begin any more, and its task ends.
    fn give_way(&self) -> bool {
        let Some(task) = self.task.get() else { return false };
        let idle = self.working.compare_exchange(0, GONE, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if idle {
            task.abort();
        }
        idle
    }

    /// A request begins; false when the connection is giving way, or has more than so many in work already.
    pub(crate) fn begin_work(&self, most: u32) -> bool {
        let more = |working: u32| (working != GONE && working < most).then(|| working + 1);
        self.working.fetch_update(Ordering::AcqRel, Ordering::Relaxed, more).is_ok()
    }

    /// It ended. When that was is noted behind its answer.
    pub(crate) fn end_work(&self) {
        self.working.fetch_sub(1, Ordering::AcqRel);
    }

    /// Somebody has shown a credential here.
    pub fn becomes_known(&self) {
        if !self.is_known() {
            self.known.store(true, Ordering::Relaxed);
            self.became_known.notify_one();
        }
    }

    /// Whether somebody has.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.known.load(Ordering::Relaxed)
    }

    /// Returns when somebody shows a credential for the first time.
    pub async fn known(&self) {
        self.became_known.notified().await;
    }

    /// An answer is on its way, until this is dropped.
    #[must_use]
    pub fn sending(self: &Arc<Self>) -> Sending {
        self.sending.fetch_add(1, Ordering::Relaxed);
        Sending(Arc::clone(self))
    }
}

/// An answer on its way.
#[derive(Debug)]
pub struct Sending(Arc<Seat>);

impl Sending {
    /// The seat of its connection.
    #[must_use]
    pub const fn seat(&self) -> &Arc<Seat> {
        &self.0
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.0.touch();
        self.0.sending.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Taken {
    /// Says which task serves the connection: it can be told to end from here on.
    pub(crate) fn served_by(seat: &Seat, task: AbortHandle) {
        let _once = seat.task.set(task);
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut table = self.seats.lock();
        table.seats.remove(&self.number);
        if self.seat.neighbours.fetch_sub(1, Ordering::Relaxed) == 1 {
            table.addresses.remove(&self.address);
        }
        drop(table);
        self.seats.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
