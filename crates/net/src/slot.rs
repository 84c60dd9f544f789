//! The slot of a request in work: from its head to its answer, not to the last byte that a client takes of it.
//!
//! Invariants: a service has so many slots; requests whose sender is not known yet have at most half of them, those of
//! one account at most three quarters, those of one connection at most a quarter. Strangers wait for each other, in a
//! short line, and for nobody else.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::sync::OwnedSemaphorePermit;

use crate::{Commons, Load, load, seats::Seat};

/// Longest wait of a stranger for the strangers before it.
const STRANGERS_WAIT: Duration = Duration::from_secs(2);
/// No share of an account yet.
const NOBODY: usize = usize::MAX;

/// A request in work, until this is dropped.
#[derive(Debug)]
pub struct Slot {
    load: Arc<Load>,
    seat: Arc<Seat>,
    most: usize,
    share: AtomicUsize,
    _stranger: Option<OwnedSemaphorePermit>,
}

impl Slot {
    /// A slot for a request; `None` when there is none. `claims` says whether it shows a credential, right or wrong.
    pub async fn take(
        load: &Arc<Load>,
        seat: &Arc<Seat>,
        commons: &Commons,
        most: usize,
        claims: bool,
    ) -> Option<Arc<Self>> {
        let refused = || {
            load.refuse();
            None
        };
        if load.requests() >= most {
            return refused();
        }
        let stranger = if claims { None } else { among_strangers(commons).await };
        let of_connection = u32::try_from(most.div_ceil(4)).unwrap_or(u32::MAX);
        if stranger.is_none() != claims || !seat.begin_work(of_connection) {
            return refused();
        }
        let within = load.begin(most);
        // From here on, dropping it counts it out.
        let share = AtomicUsize::new(NOBODY);
        let slot = Self { load: Arc::clone(load), seat: Arc::clone(seat), most, share, _stranger: stranger };
        if within { Some(Arc::new(slot)) } else { refused() }
    }

    /// The sender has shown a credential of this account that is right. False when the account has too many in work
    /// already.
    #[must_use]
    pub fn verified(&self, account: u64) -> bool {
        self.seat.becomes_known();
        let share = load::share_of(account);
        // The parts of a batch come with the same slot.
        if self.share.compare_exchange(NOBODY, share, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return true;
        }
        self.load.verified(share, self.most)
    }

    /// Whether the sender has shown a credential.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.share.load(Ordering::Relaxed) != NOBODY
    }
}

async fn among_strangers(commons: &Commons) -> Option<OwnedSemaphorePermit> {
    if let Ok(permit) = Arc::clone(&commons.strangers_at_work).try_acquire_owned() {
        return Some(permit);
    }
    let _in_line = Arc::clone(&commons.strangers_waiting).try_acquire_owned().ok()?;
    let at_work = Arc::clone(&commons.strangers_at_work).acquire_owned();
    tokio::time::timeout(STRANGERS_WAIT, at_work).await.ok()?.ok()
}

impl Drop for Slot {
    fn drop(&mut self) {
        let share = self.share.load(Ordering::Relaxed);
        self.load.end((share != NOBODY).then_some(share));
        self.seat.end_work();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn strangers_wait_for_each_other_and_nobody_waits_for_them() {
        let (load, seat, commons) = (Arc::<Load>::default(), Seat::alone(), Commons::new(1));
        let strangers = commons.strangers_at_work.available_permits();
        let mut slots = Vec::new();
        for _ in 0..strangers {
            slots.push(Slot::take(&load, &seat, &commons, 1000, false).await.unwrap());
        }
        let signed = Slot::take(&load, &seat, &commons, 1000, true).await.unwrap();
        assert!(!signed.is_known() && signed.verified(1) && signed.is_known());
        assert!(seat.is_known());
        let give_back = async {
            tokio::task::yield_now().await;
            slots.pop();
        };
        let (waited, ()) = tokio::join!(Slot::take(&load, &seat, &commons, 1000, false), give_back);
        assert!(waited.is_some());
        assert_eq!(load.requests(), strangers + 1);
        drop((signed, waited, slots));
        assert_eq!(load.requests(), 0);
    }

    #[tokio::test]
    async fn one_connection_has_a_quarter_of_the_slots() {
        let (load, commons) = (Arc::<Load>::default(), Commons::new(1));
        let (greedy, other) = (Seat::alone(), Seat::alone());
        let first =
            [Slot::take(&load, &greedy, &commons, 8, true).await, Slot::take(&load, &greedy, &commons, 8, true).await];
        assert!(first.iter().all(Option::is_some));
        assert!(Slot::take(&load, &greedy, &commons, 8, true).await.is_none());
        assert!(Slot::take(&load, &other, &commons, 8, true).await.is_some());
        assert_eq!(load.refused_requests(), 1);
    }
}
