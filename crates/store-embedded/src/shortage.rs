//! That the system has no handles left, said once and once more when it is over, and what a caller does meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};

use store::StoreError;

use crate::shared::Shared;

/// How often an open file is asked for before its caller hears that there is none: about ten seconds, with growing delays.
const ATTEMPTS: u32 = 26;
const LONGEST_DELAY_TICKS: u64 = 50;

/// Whether files can be opened.
#[derive(Debug, Default)]
pub(crate) struct Shortage {
    lasts: AtomicBool,
    /// Somebody met it since the last look.
    met: AtomicBool,
}

impl Shortage {
    /// Somebody could not open a file. True when that is new.
    pub(crate) fn meet(&self, error: &dyn std::fmt::Display) -> bool {
        self.met.store(true, Ordering::Relaxed);
        let new = !self.lasts.swap(true, Ordering::Relaxed);
        if new {
            tracing::warn!(%error, "the system has no descriptors or no memory left to open a file; waiting for some");
        }
        new
    }

    /// Looks whether anybody met it since the last look. True when it has just ended.
    pub(crate) fn look(&self) -> bool {
        let over = !self.met.swap(false, Ordering::Relaxed) && self.lasts.swap(false, Ordering::Relaxed);
        if over {
            tracing::info!("files can be opened again");
        }
        over
    }
}

impl Shared {
    /// Tries again and again, for a while, what fails only because no file can be opened.
    pub(crate) async fn retrying<T>(
        &self,
        mut attempt: impl FnMut() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut ticks = 1;
        for _ in 1..ATTEMPTS {
            match attempt() {
                Err(StoreError::Exhausted(error)) => self.shortage.meet(&error),
                outcome => return outcome,
            };
            self.extents.close_idle();
            self.pacer.delay(ticks).await;
            ticks = (ticks * 2).min(LONGEST_DELAY_TICKS);
        }
        attempt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_once_and_once_when_it_is_over() {
        let shortage = Shortage::default();
        assert!(!shortage.look());
        assert!(shortage.meet(&"none left"));
        assert!(!shortage.meet(&"none left"));
        assert!(!shortage.look(), "it was met since");
        assert!(!shortage.meet(&"none left"));
        assert!(!shortage.look());
        assert!(shortage.look(), "nobody met it for a while");
        assert!(!shortage.look());
        assert!(shortage.meet(&"none left"));
    }
}
