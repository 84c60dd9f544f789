//! How much is going on at a service: connections, requests in work, and what was refused because it was too much.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

/// The numbers of one service. All its listeners share them.
#[derive(Debug, Default)]
pub struct Load {
    connections: AtomicUsize,
    requests: AtomicUsize,
    refused_connections: AtomicU64,
    refused_requests: AtomicU64,
}

impl Load {
    /// Open connections.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// Requests in work.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }

    /// Connections refused because there were too many.
    #[must_use]
    pub fn refused_connections(&self) -> u64 {
        self.refused_connections.load(Ordering::Relaxed)
    }

    /// Requests refused because there were too many.
    #[must_use]
    pub fn refused_requests(&self) -> u64 {
        self.refused_requests.load(Ordering::Relaxed)
    }

    /// Counts a connection for as long as the answer is kept; `None` when there are too many.
    pub(crate) fn connect(self: &Arc<Self>, most: usize) -> Option<OpenConnection> {
        if self.connections.fetch_add(1, Ordering::Relaxed) < most {
            return Some(OpenConnection(Arc::clone(self)));
        }
        self.connections.fetch_sub(1, Ordering::Relaxed);
        self.refused_connections.fetch_add(1, Ordering::Relaxed);
        None
    }

    /// Counts a request in. False when there are too many; it counts until [`Self::end`] all the same.
    pub(crate) fn begin(&self, most: usize) -> bool {
        let within = self.requests.fetch_add(1, Ordering::Relaxed) < most;
        if !within {
            self.refused_requests.fetch_add(1, Ordering::Relaxed);
        }
        within
    }

    /// Counts a request out.
    pub(crate) fn end(&self) {
        self.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A connection while it lasts.
pub(crate) struct OpenConnection(Arc<Load>);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_is_there_and_what_was_refused() {
        let load = Arc::new(Load::default());
        let first = load.connect(1);
        assert!(first.is_some() && load.connect(1).is_none());
        assert_eq!((load.connections(), load.refused_connections()), (1, 1));
        drop(first);
        assert!(load.connect(1).is_some());
        assert!(load.begin(1) && !load.begin(1));
        assert_eq!((load.requests(), load.refused_requests()), (2, 1));
        load.end();
        load.end();
        assert_eq!(load.requests(), 0);
    }
}
