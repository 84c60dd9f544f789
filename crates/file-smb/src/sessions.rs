//! The sessions of all connections, by number.
//!
//! **Invariant.** A session is held by its connection, not here: what is remembered of those that are gone is bounded, however
//! they ended.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use crate::session::Session;

/// From so many on, those that are gone are forgotten whenever their number doubles.
const FEW: usize = 1024;

/// The table.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<HashMap<u64, Weak<Session>>>);

impl Sessions {
    fn table(&self) -> MutexGuard<'_, HashMap<u64, Weak<Session>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new session, whose number nobody guesses. `None` when the system gives no randomness.
    pub(crate) fn begin(&self, random: fn() -> Option<u128>) -> Option<Arc<Session>> {
        loop {
            let bits = random()?;
            // Some clients keep 32 bits of it.
            let id = u64::try_from(bits & u128::from(u32::MAX)).ok()?;
            if id == 0 || id == u64::from(u32::MAX) {
                continue;
            }
            let mut table = self.table();
            if table.len() >= FEW && table.len().is_power_of_two() {
                table.retain(|_, session| session.strong_count() > 0);
            }
            if table.get(&id).is_some_and(|session| session.strong_count() > 0) {
                continue;
            }
            let session = Arc::new(Session::new(id));
            table.insert(id, Arc::downgrade(&session));
            return Some(session);
        }
    }

    /// A session of any connection.
    pub(crate) fn get(&self, id: u64) -> Option<Arc<Session>> {
        self.table().get(&id).and_then(Weak::upgrade)
    }

    /// A session is over.
    pub(crate) fn forget(&self, id: u64) {
        self.table().remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    static DRAWN: AtomicU64 = AtomicU64::new(1);

    #[expect(clippy::unnecessary_wraps, reason = "randomness may be missing")]
    fn counted() -> Option<u128> {
        Some(u128::from(DRAWN.fetch_add(1, Ordering::Relaxed)))
    }

    #[test]
    fn logons_that_are_given_up_are_forgotten() {
        let sessions = Sessions::default();
        let kept = sessions.begin(counted).unwrap();
        for _ in 0..10_000 {
            drop(sessions.begin(counted).unwrap());
        }
        assert!(sessions.table().len() <= FEW);
        assert!(sessions.get(kept.id).is_some_and(|found| Arc::ptr_eq(&found, &kept)), "who is there stays");
        sessions.forget(kept.id);
        assert!(sessions.get(kept.id).is_none());
    }
}
