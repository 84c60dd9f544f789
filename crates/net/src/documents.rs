//! The memory of documents: what clients send and must be read as a whole before it means anything, such as block lists,
//! batches, entities and messages.
//!
//! Invariants: all of them together never have more than the two pools; one account never has more than half of a pool;
//! large documents never stand before small ones. Who finds no room waits for a moment, and is then refused.

use std::{sync::Arc, time::Duration};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};

use crate::load::{SHARES, share_of};

/// Longest document of the small ones: every message, and nearly every entity.
pub const SMALL_BYTES: usize = 64 * 1024;
/// What the small ones have together.
const SMALL_POOL_BYTES: usize = 16 * 1024 * 1024;
/// What the others have together. What is read out of a document takes up to three times its bytes.
const LARGE_POOL_BYTES: usize = 32 * 1024 * 1024;
/// Longest document there can be room for. Of the accounts' shares each is half of a pool.
pub const LARGEST_BYTES: usize = LARGE_POOL_BYTES / 2;
/// What is counted in.
const UNIT_BYTES: usize = 1024;
/// Longest wait for room.
const WAIT: Duration = Duration::from_secs(5);

/// Room for documents. Shared by all services of the process.
#[derive(Debug)]
pub struct Documents {
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
pub struct Room {
    _share: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl Default for Documents {
    fn default() -> Self {
        Self { small: Pool::new(SMALL_POOL_BYTES), large: Pool::new(LARGE_POOL_BYTES), wait: WAIT }
    }
}

impl Documents {
    /// Room for a document of so many bytes that an account sends; `None` when there was none for too long.
    pub async fn reserve(&self, account: u64, bytes: usize) -> Option<Room> {
        let pool = if bytes <= SMALL_BYTES { &self.small } else { &self.large };
        let units = u32::try_from(bytes.div_ceil(UNIT_BYTES).max(1)).ok()?;
        let share = pool.shares.get(share_of(account))?;
        if let Ok(room) = pool.at_once(share, units) {
            return Some(room);
        }
        tokio::time::timeout(self.wait, pool.in_turn(share, units)).await.ok().flatten()
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

    async fn in_turn(&self, share: &Arc<Semaphore>, units: u32) -> Option<Room> {
        let share = Arc::clone(share).acquire_many_owned(units).await.ok()?;
        Some(Room { _share: share, _all: Arc::clone(&self.all).acquire_many_owned(units).await.ok()? })
    }
}

const _: () = assert!(SMALL_BYTES < SMALL_POOL_BYTES / 2);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_account_has_at_most_half_and_small_documents_pass_large_ones() {
        let documents = Documents { wait: Duration::from_millis(20), ..Documents::default() };
        let mib = 1024 * 1024;
        let held = [documents.reserve(1, 8 * mib).await, documents.reserve(1, 8 * mib).await];
        assert!(held.iter().all(Option::is_some));
        assert!(documents.reserve(1, 8 * mib).await.is_none(), "it waits, and is then told so");
        let other = documents.reserve(2, 8 * mib).await;
        assert!(other.is_some(), "the other half is for others");
        assert!(documents.reserve(1, SMALL_BYTES).await.is_some(), "a small one has its own pool");
        drop(held);
        assert!(documents.reserve(1, 8 * mib).await.is_some(), "room comes back");
    }

    #[tokio::test]
    async fn who_waits_gets_the_room_that_another_gives_back() {
        let documents = Documents::default();
        let known = 1;
        let held = documents.reserve(known, LARGE_POOL_BYTES / 2).await;
        let give_back = async {
            tokio::task::yield_now().await;
            drop(held);
        };
        let (waited, ()) = tokio::join!(documents.reserve(known, LARGE_POOL_BYTES / 2), give_back);
        assert!(waited.is_some());
    }
}
