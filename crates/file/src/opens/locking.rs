//! Byte-range locks of handles, those that wait for them, and the reads and writes that respect them.
//!
//! Invariants: locks that wait are granted in the order in which they were asked for, as far as they conflict; a lock
//! that fails at once looks only at locks that are held, as Windows does; no lock is granted over a read or write that
//! was decided before and has not ended.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use concurrency::{
    oplock::Trigger,
    range_lock::{ByteRange, Io, LockKind, LockRefusal, RangeLock},
};
use types::Timestamp;

use super::{
    claims::{Claim, ClaimKind, Kinds},
    handle::Handle,
    place::{FileKey, HandleId},
    refusal::{HandleClosed, IoRefusal, NotLocked, NotUnlocked},
    state::{FileState, InUse, Wants},
    table::{Act, Table},
    ticket::{Bell, Ticket, Turn},
};

/// How a request for locks goes on.
#[derive(Debug)]
pub enum Locking {
    /// They are held.
    Locked,
    /// Other locks are in the way; they are held when the future is ready.
    Queued(LockWait),
    /// Something is in the way for the moment: await the ticket, then ask again.
    Wait(Ticket),
}

/// What a lock that waited was told.
type Outcome = Mutex<Option<Result<(), HandleClosed>>>;

#[derive(Debug, Default)]
struct Cell {
    bell: Arc<Bell>,
    outcome: Outcome,
}

impl Cell {
    fn outcome(&self) -> Option<Result<(), HandleClosed>> {
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self, outcome: Result<(), HandleClosed>, act: &mut Act<'_>) {
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        act.bells.push(Arc::clone(&self.bell));
    }
}

/// A request in the queue of a file.
#[derive(Debug)]
pub(super) struct WaitingLock {
    number: u64,
    handle: HandleId,
    pub(super) locks: Vec<RangeLock>,
    cell: Arc<Cell>,
}

/// Locks that are waited for. Dropping it before it is ready cancels the request.
#[derive(Debug)]
#[must_use = "dropping it cancels the request"]
pub struct LockWait {
    table: Arc<Table>,
    file: FileKey,
    number: u64,
    locks: Vec<RangeLock>,
    cell: Arc<Cell>,
    taken: bool,
}

impl Handle {
    /// Locks ranges, all or none. With `wait`, it queues behind other locks that are in the way.
    ///
    /// # Errors
    /// [`NotLocked`].
    pub fn lock(&self, ranges: &[(ByteRange, LockKind)], wait: bool, now: Timestamp) -> Result<Locking, NotLocked> {
        self.table.with(self.file, |state, act| state.lock(self.id, ranges, wait, now, act))
    }

    /// Unlocks exactly this range.
    ///
    /// # Errors
    /// [`NotUnlocked`].
    pub fn unlock(&self, range: ByteRange) -> Result<(), NotUnlocked> {
        self.table.with(self.file, |state, _| {
            let used = state.in_use();
            let owner = used.handle(self.id).ok_or(HandleClosed)?.lock_owner();
            Ok(used.locks.unlock(owner, range)?)
        })
    }

    /// Decides a read or write of bytes. Hold the claim until its transaction has ended: locks wait for it. The caller
    /// has checked that the handle has the right.
    ///
    /// # Errors
    /// [`IoRefusal`].
    pub fn begin_io(&self, range: ByteRange, io: Io, now: Timestamp) -> Result<Turn<Claim>, IoRefusal> {
        let kind = ClaimKind::of_io(io);
        let wants = self.table.with(self.file, |state, act| {
            let wants = state.begin_io(self.id, range, io, now, act)?;
            match wants {
                Some(wants) => Ok(Some(Table::wait(state, wants, act)?)),
                None => {
                    state.claims.add(kind);
                    Ok::<_, IoRefusal>(None)
                }
            }
        })?;
        Ok(match wants {
            Some(ticket) => Turn::Wait(ticket),
            None => Turn::Granted(Claim::new(Arc::clone(&self.table), self.file, Some(kind))),
        })
    }
}

impl Handle {
    /// Decides a change of the length, which no lock refuses. Hold the claim until its transaction has ended.
    ///
    /// # Errors
    /// [`IoRefusal`].
    pub fn begin_resize(&self, now: Timestamp) -> Result<Turn<Claim>, IoRefusal> {
        let kind = ClaimKind::Write;
        let wants = self.table.with(self.file, |state, act| {
            let used = state.in_use();
            let key = used.handle(self.id).ok_or(HandleClosed)?.cache;
            used.settle(now, act);
            let wants = if used.somebody_has_the_turn() {
                Some(Wants::Turn)
            } else {
                used.break_others(key, Trigger::Write, now, act).map(Wants::Answered)
            };
            let Some(wants) = wants else {
                state.claims.add(kind);
                return Ok(None);
            };
            Ok::<_, IoRefusal>(Some(Table::wait(state, wants, act)?))
        })?;
        Ok(match wants {
            Some(ticket) => Turn::Wait(ticket),
            None => Turn::Granted(Claim::new(Arc::clone(&self.table), self.file, Some(kind))),
        })
    }
}

impl FileState {
    fn lock(
        &mut self,
        id: HandleId,
        ranges: &[(ByteRange, LockKind)],
        wait: bool,
        now: Timestamp,
        act: &mut Act<'_>,
    ) -> Result<Locking, NotLocked> {
        let under_way = self.claims.kinds();
        let used = self.in_use();
        used.settle(now, act);
        let open = used.handle(id).ok_or(HandleClosed)?;
        let (owner, key) = (open.lock_owner(), open.cache);
        let locks: Vec<_> =
            ranges.iter().map(|(range, kind)| RangeLock { owner, range: *range, kind: *kind }).collect();
        // Nobody caches reads beside locks.
        if let Some(key) = used.break_others(key, Trigger::Write, now, act) {
            return Ok(Locking::Wait(Table::wait(self, Wants::Answered(key), act)?));
        }
        let refused = used.locks.check(&locks);
        let queues = match refused {
            Err(LockRefusal::Conflict(_)) => wait,
            Err(LockRefusal::TooMany) => false,
            Ok(()) => wait && used.overtakes_in_queue(&locks),
        };
        if queues {
            return self.queue(id, locks, act).map(Locking::Queued);
        }
        refused?;
        let in_the_way = Kinds::in_the_way_of_locks(&locks);
        if under_way.meets(in_the_way) {
            return Ok(Locking::Wait(Table::wait(self, Wants::NoClaims(in_the_way), act)?));
        }
        self.in_use().locks.lock(&locks)?;
        Ok(Locking::Locked)
    }

    fn queue(&mut self, handle: HandleId, locks: Vec<RangeLock>, act: &Act<'_>) -> Result<LockWait, NotLocked> {
        let used = self.in_use();
        act.table.take_waiter(used.waiters.len() + used.lock_queue.len())?;
        let (number, cell) = (act.table.next_number(), Arc::new(Cell::default()));
        let (table, file) = (Arc::clone(act.table), act.file);
        used.lock_queue.push_back(WaitingLock { number, handle, locks: locks.clone(), cell: Arc::clone(&cell) });
        Ok(LockWait { table, file, number, locks, cell, taken: false })
    }

    fn begin_io(
        &mut self,
        id: HandleId,
        range: ByteRange,
        io: Io,
        now: Timestamp,
        act: &mut Act<'_>,
    ) -> Result<Option<Wants>, IoRefusal> {
        let used = self.in_use();
        let open = used.handle(id).ok_or(HandleClosed)?;
        let (owner, key) = (open.lock_owner(), open.cache);
        used.locks.check_io(Some(owner), range, io)?;
        if used.somebody_has_the_turn() {
            return Ok(Some(Wants::Turn));
        }
        if io == Io::Read || used.caches.is_empty() {
            return Ok(None);
        }
        used.settle(now, act);
        Ok(used.break_others(key, Trigger::Write, now, act).map(Wants::Answered))
    }
}

impl InUse {
    /// Grants what can be granted of the queue, the oldest first; nobody overtakes a request that it conflicts with.
    pub(super) fn grant_waiting_locks(&mut self, under_way: Kinds, act: &mut Act<'_>) {
        self.lock_turn = false;
        if self.lock_queue.is_empty() {
            return;
        }
        let mut still: Vec<WaitingLock> = Vec::new();
        for waiting in std::mem::take(&mut self.lock_queue) {
            let mut ahead = still.iter().flat_map(|earlier| &earlier.locks);
            let overtakes = ahead.any(|earlier| waiting.locks.iter().any(|lock| earlier.refuses(lock)));
            let free = !overtakes && self.locks.check(&waiting.locks).is_ok();
            let claimed = under_way.meets(Kinds::in_the_way_of_locks(&waiting.locks));
            if free && !claimed && self.locks.lock(&waiting.locks).is_ok() {
                waiting.cell.settle(Ok(()), act);
            } else {
                self.lock_turn |= free && claimed;
                still.push(waiting);
            }
        }
        self.lock_queue = still.into();
    }

    /// The handle is closed: its requests are over.
    pub(super) fn refuse_waiting_locks(&mut self, handle: HandleId, act: &mut Act<'_>) {
        for waiting in self.lock_queue.iter().filter(|waiting| waiting.handle == handle) {
            waiting.cell.settle(Err(HandleClosed), act);
        }
        self.lock_queue.retain(|waiting| waiting.handle != handle);
    }
}

impl Future for LockWait {
    type Output = Result<(), HandleClosed>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match (self.cell.bell.poll(context), self.cell.outcome()) {
            (Poll::Ready(()), Some(outcome)) => {
                self.taken = true;
                Poll::Ready(outcome)
            }
            (Poll::Ready(()) | Poll::Pending, _) => Poll::Pending,
        }
    }
}

impl Drop for LockWait {
    fn drop(&mut self) {
        if !self.taken {
            self.table.with(self.file, |state, _| {
                let used = state.in_use();
                used.lock_queue.retain(|waiting| waiting.number != self.number);
                // Granted, but nobody has learned of it.
                if self.cell.outcome() == Some(Ok(())) {
                    for lock in &self.locks {
                        used.locks.take_back(lock);
                    }
                }
            });
        }
        self.table.free_waiter();
    }
}
