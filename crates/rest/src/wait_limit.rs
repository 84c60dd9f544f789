//! How long a request waits for somebody else before it is answered without what it wanted.

use std::{future::Future, time::Duration};

use tokio::time::{Instant, timeout_at};

use crate::Request;

/// Until when a request waits for somebody else.
#[derive(Clone, Copy, Debug)]
pub struct WaitLimit {
    until: Instant,
}

impl Request {
    /// How long this request waits from now on: at most this long, and less than the `timeout` that it asked for, so that
    /// it is told what it waited for.
    #[must_use]
    pub fn wait_limit(&self, longest: Duration) -> WaitLimit {
        let asked = self.timeout(longest).ok().flatten().map_or(longest, |timeout| timeout * 9 / 10);
        WaitLimit { until: Instant::now() + asked }
    }
}

impl WaitLimit {
    /// Waits for something; `None` when the time is over before.
    pub async fn wait<T>(self, awaited: impl Future<Output = T>) -> Option<T> {
        timeout_at(self.until, awaited).await.ok()
    }
}
