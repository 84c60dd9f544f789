//! How much is going on at a service: connections, requests in work, and what was refused because it was too much.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

/// Accounts are spread over so many shares.
pub(crate) const SHARES: usize = 32;

/// The share of an account. Those that have the same one by chance share it.
pub(crate) fn share_of(account: u64) -> usize {
    let shares = u64::try_from(SHARES).unwrap_or(u64::MAX);
    usize::try_from(account % shares).unwrap_or_default()
}

/// The numbers of one service. All its listeners share them.
#[derive(Debug, Default)]
pub struct Load {
    connections: AtomicUsize,
    requests: AtomicUsize,
    /// Of them, those whose sender is not known.
    unverified: AtomicUsize,
    /// Of them, those of accounts, which are spread over the shares.
    accounts: [AtomicUsize; SHARES],
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

    /// Counts a connection for as long as the answer is kept.
    pub(crate) fn connect(self: &Arc<Self>) -> OpenConnection {
        self.connections.fetch_add(1, Ordering::Relaxed);
        OpenConnection(Arc::clone(self))
    }

    /// Counts a connection that is refused.
    pub(crate) fn refuse_connection(&self) {
        self.refused_connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request in. False when there are too many; it counts until [`Self::end`] all the same.
    pub(crate) fn begin(&self, most: usize) -> bool {
        let within = self.requests.fetch_add(1, Ordering::Relaxed) < most;
        self.unverified.fetch_add(1, Ordering::Relaxed) < most.div_ceil(2) && within
    }

    /// Counts a request as one of an account. False when the account has too many.
    pub(crate) fn verified(&self, share: usize, most: usize) -> bool {
        self.unverified.fetch_sub(1, Ordering::Relaxed);
        let own = self.accounts.get(share).map_or(0, |own| own.fetch_add(1, Ordering::Relaxed));
        let within = own < most - most / 4;
        if !within {
            self.refuse();
        }
        within
    }

    /// Counts a request that is refused.
    pub fn refuse(&self) {
        self.refused_requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request out, of an account or not.
    pub(crate) fn end(&self, share: Option<usize>) {
        self.requests.fetch_sub(1, Ordering::Relaxed);
        match share.and_then(|share| self.accounts.get(share)) {
            Some(own) => own.fetch_sub(1, Ordering::Relaxed),
            None => self.unverified.fetch_sub(1, Ordering::Relaxed),
        };
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
        let first = load.connect();
        load.refuse_connection();
        assert_eq!((load.connections(), load.refused_connections()), (1, 1));
        drop(first);
        assert_eq!(load.connections(), 0);
    }

    #[test]
    fn requests_are_shared_out() {
        let load = Load::default();
        assert!(load.begin(4) && load.begin(4));
        assert!(!load.begin(4), "half is for those who are known");
        load.end(None);
        for _ in 0..2 {
            assert!(load.verified(7, 4));
        }
        assert!(load.begin(4) && load.verified(7, 4));
        assert!(load.begin(4) && !load.verified(7, 4), "three quarters are the most for one account");
        load.end(Some(7));
        assert!(load.begin(4) && load.verified(8, 4), "the rest is for others");
        for share in [7, 7, 7, 8] {
            load.end(Some(share));
        }
        assert_eq!((load.requests(), load.unverified.into_inner()), (0, 0));
    }
}
