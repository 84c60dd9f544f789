//! What all REST services of a process share, besides what all its ports share: bounds that only HTTP needs.

use std::sync::Arc;

use tokio::sync::Semaphore;

/// Streams of HTTP/2 on connections of strangers, beside those that each connection has anyway.
const STRANGERS_STREAMS: usize = 1024;
/// Bytes of heads that have not arrived as a whole, beside what every connection has anyway.
const HEADS_BYTES: usize = 16 * 1024 * 1024;

/// The shared bounds. One a process; tests have one a listener.
#[derive(Debug)]
pub struct Commons {
    /// What every protocol shares.
    pub net: Arc<net::Commons>,
    pub(crate) strangers_streams: Arc<Semaphore>,
    pub(crate) heads: Arc<Semaphore>,
}

impl Commons {
    /// Besides what all ports share.
    #[must_use]
    pub fn new(net: Arc<net::Commons>) -> Self {
        let semaphore = |permits| Arc::new(Semaphore::new(permits));
        Self { net, strangers_streams: semaphore(STRANGERS_STREAMS), heads: semaphore(HEADS_BYTES) }
    }
}
