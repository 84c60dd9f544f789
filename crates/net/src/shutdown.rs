//! The signal to stop. One sender, many who hear it; a sender that is gone is the signal too.

use std::time::Duration;

use tokio::sync::watch;

/// Hears when it is time to stop; clones hear the same.
#[derive(Clone, Debug)]
pub struct Shutdown(watch::Receiver<bool>);

impl Shutdown {
    /// A signal and who hears it. Dropping the sender is the signal too.
    #[must_use]
    pub fn channel() -> (watch::Sender<bool>, Self) {
        let (sender, receiver) = watch::channel(false);
        (sender, Self(receiver))
    }

    /// Returns when it is time to stop.
    pub async fn requested(&mut self) {
        let _stopped_or_sender_gone = self.0.wait_for(|stop| *stop).await;
    }

    /// True from the signal on.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }

    /// Waits for the time, but not past the signal. True when it is time to stop.
    pub async fn pause(&mut self, time: Duration) -> bool {
        tokio::time::timeout(time, self.requested()).await.is_ok()
    }
}
