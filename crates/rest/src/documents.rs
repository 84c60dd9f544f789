//! The memory of documents: bodies that must be read as a whole before they mean anything, such as block lists, batches,
//! entities and messages.
//!
//! Invariants: all of them together never have more than the two pools; one account never has more than half of a pool;
//! large documents never stand before small ones. Who finds no room waits for a moment, and is then answered 503.

use std::{sync::Arc, time::Duration};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};

use crate::Known;

/// Longest document of the small ones: every message, and nearly every entity.
pub(crate) const SMALL_BYTES: usize = 64 * 1024;
/// What the small ones have together.
const SMALL_POOL_BYTES: usize = 16 * 1024 * 1024;
/// What the others have together. What is read out of a document takes up to three times its bytes.
const LARGE_POOL_BYTES: usize = 32 * 1024 * 1024;
/// Accounts are spread over so many shares; each is half of a pool.
const SHARES: usize = 32;
/// What is counted in.
const UNIT_BYTES: usize = 1024;
/// Longest wait for room.
const WAIT: Duration = Duration::from_secs(5);

/// Room for documents. Shared by all services of the process.
#[derive(Debug)]
pub(crate) struct Documents {
    small: Pool,
    large: Pool,
    wait: Duration,
}

#[derive(Debug)]
struct Pool {
    all: Arc<Semaphore>,
    shares: Vec<Arc<Semaphore>>,
}

/// The room of one document, until it is dropped.
#[derive(Debug)]
pub(crate) struct Room {
    _share: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl Default for Documents {
    fn default() -> Self {
        Self { small: Pool::new(SMALL_POOL_BYTES), large: Pool::new(LARGE_POOL_BYTES), wait: WAIT }
    }
}

impl Documents {
    /// Room for a document of so many bytes; `None` when there was none for too long.
    pub(crate) async fn reserve(&self, known: Known, bytes: usize) -> Option<Room> {
        let pool = if bytes <= SMALL_BYTES { &self.small } else { &self.large };
        let units = u32::try_from(bytes.div_ceil(UNIT_BYTES).max(1)).ok()?;
        let share = pool.shares.get(known.share_of(SHARES))?;
        if let Ok(room) = pool.at_once(share, units) {
            return Some(room);
        }
        tokio::time::timeout(self.wait, pool.patiently(share, units)).await.ok().flatten()
    }
}

impl Pool {
    fn new(bytes: usize) -> Self {
        let units = bytes / UNIT_BYTES;
        let half = || Arc::new(Semaphore::new(units / 2));
        Self { all: Arc::new(Semaphore::new(units)), shares: std::iter::repeat_with(half).take(SHARES).collect() }
    }

    fn at_once(&self, share: &Arc<Semaphore>, units: u32) -> Result<Room, TryAcquireError> {
        let share = Arc::clone(share).try_acquire_many_owned(units)?;
        Ok(Room { _share: share, _all: Arc::clone(&self.all).try_acquire_many_owned(units)? })
    }

    async fn patiently(&self, share: &Arc<Semaphore>, units: u32) -> Option<Room> {
        let share = Arc::clone(share).acquire_many_owned(units).await.ok()?;
        Some(Room { _share: share, _all: Arc::clone(&self.all).acquire_many_owned(units).await.ok()? })
    }
}

const _: () = assert!(SMALL_BYTES < SMALL_POOL_BYTES / 2 && crate::limits::XML_MAX_BYTES <= LARGE_POOL_BYTES / 2);

#[cfg(test)]
mod tests {
    use types::UnitId;

    use super::*;

    #[tokio::test]
    async fn one_account_has_at_most_half_and_small_documents_pass_large_ones() {
        let documents = Documents { wait: Duration::from_millis(20), ..Documents::default() };
        let account = |number| Known::by_credential(UnitId::new(number));
        let mib = 1024 * 1024;
        let held = [documents.reserve(account(1), 8 * mib).await, documents.reserve(account(1), 8 * mib).await];
        assert!(held.iter().all(Option::is_some));
        assert!(documents.reserve(account(1), 8 * mib).await.is_none(), "it waits, and is then told so");
        let other = documents.reserve(account(2), 8 * mib).await;
        assert!(other.is_some(), "the other half is for others");
        assert!(documents.reserve(account(1), SMALL_BYTES).await.is_some(), "a small one has its own pool");
        drop(held);
        assert!(documents.reserve(account(1), 8 * mib).await.is_some(), "room comes back");
    }

    #[tokio::test]
    async fn who_waits_gets_the_room_that_another_gives_back() {
        let documents = Documents::default();
        let known = Known::by_credential(UnitId::new(1));
        let held = documents.reserve(known, LARGE_POOL_BYTES / 2).await;
        let give_back = async {
            tokio::task::yield_now().await;
            drop(held);
        };
        let (waited, ()) = tokio::join!(documents.reserve(known, LARGE_POOL_BYTES / 2), give_back);
        assert!(waited.is_some());
    }
}
