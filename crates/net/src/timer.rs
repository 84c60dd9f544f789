//! The one timer of a connection. Setting and clearing a deadline costs nothing: the timer that runs is left as it is,
//! and when it wakes too early it is set to what is then wanted.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::time::{Instant, Sleep, sleep_until};

/// A timer with at most one deadline.
#[derive(Debug, Default)]
pub struct Timer {
    sleep: Option<Pin<Box<Sleep>>>,
    deadline: Option<Instant>,
}

impl Timer {
    /// Sets the deadline, if there is none yet.
    pub fn begin(&mut self, after: Duration) {
        if self.deadline.is_none() {
            self.deadline = Some(Instant::now() + after);
        }
    }

    /// Takes the deadline back.
    pub const fn clear(&mut self) {
        self.deadline = None;
    }

    /// Ready when the deadline has passed.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(deadline) = self.deadline else { return Poll::Pending };
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if sleep.deadline() > deadline {
            sleep.as_mut().reset(deadline);
        }
        loop {
            ready!(sleep.as_mut().poll(cx));
            if sleep.deadline() >= deadline {
                return Poll::Ready(());
            }
            sleep.as_mut().reset(deadline);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    async fn passes_in(timer: &mut Timer, limit: Duration) -> bool {
        tokio::time::timeout(limit, poll_fn(|cx| timer.poll(cx))).await.is_ok()
    }

    #[tokio::test]
    async fn the_last_deadline_counts() {
        let (short, long) = (Duration::from_millis(20), Duration::from_secs(60));
        let mut timer = Timer::default();
        assert!(!passes_in(&mut timer, short).await, "none is set");
        timer.begin(long);
        assert!(!passes_in(&mut timer, short).await);
        timer.clear();
        timer.begin(short);
        assert!(passes_in(&mut timer, long).await, "an earlier one");
        timer.clear();
        timer.begin(long);
        assert!(!passes_in(&mut timer, Duration::from_millis(60)).await, "a later one");
    }
}
