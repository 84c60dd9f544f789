//! How long a request waits for somebody else before it is answered without what it wanted.

use std::{future::Future, time::Duration};

use tokio::time::{Instant, timeout_at};

use crate::Request;

/// The end of a request's patience.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    until: Instant,
}

impl Request {
    /// The patience of this request from now on: at most this long, and less than the `timeout` that it asked for, so that
    /// it is told what it waited for.
    #[must_use]
    pub fn patience(&self, longest: Duration) -> Patience {
        let asked = self.timeout(longest).ok().flatten().map_or(longest, |timeout| timeout * 9 / 10);
        Patience { until: Instant::now() + asked }
    }
}

impl Patience {
    /// Waits for something; `None` when the patience ends before.
    pub async fn wait<T>(self, awaited: impl Future<Output = T>) -> Option<T> {
        timeout_at(self.until, awaited).await.ok()
    }
}
