//! Latches: writers of one object queue here instead of conflicting. First come, first served.
//!
//! A latch is held while the decision runs and is sequenced, never during a sync. It is an optimisation: correctness
//! rests on validation alone, so two objects may share a stripe and no latch may be forgotten at the cost of a re-run.

use std::hash::{DefaultHasher, Hasher};

use tokio::sync::{Mutex, MutexGuard};

const STRIPES: usize = 1024;

pub(crate) struct Latches {
    stripes: Box<[Mutex<()>]>,
    /// Which objects share a stripe is nobody's choice.
    seed: u64,
}

impl Latches {
    pub(crate) fn new(seed: u64) -> Self {
        Self { stripes: (0..STRIPES).map(|_| Mutex::new(())).collect(), seed }
    }

    /// Waits for the object's latch. No object, no latch.
    pub(crate) async fn acquire(&self, object: &[u8]) -> Option<MutexGuard<'_, ()>> {
        if object.is_empty() {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(self.seed);
        hasher.write(object);
        let stripe = usize::try_from(hasher.finish() % (1 << 32)).unwrap_or(0) % STRIPES;
        match self.stripes.get(stripe) {
            Some(latch) => Some(latch.lock().await),
            None => None,
        }
    }
}
