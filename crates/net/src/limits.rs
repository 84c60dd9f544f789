//! What a port allows its clients, whatever is spoken on it. What a protocol bounds besides is in its own table.

use std::time::Duration;

/// The limits of a port.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at once, of all ports that share them. An idle one gives way to a new one; when none is idle, new ones
    /// are refused and closed.
    pub connections: usize,
    /// Requests in work at once, of all connections of a service; further ones are refused.
    pub requests: usize,
    /// Longest time in which a client takes nothing of an answer.
    pub write_timeout: Duration,
    /// The same for a client that has shown no credential.
    pub stranger_timeout: Duration,
    /// Time for the handshake of TLS.
    pub handshake_timeout: Duration,
    /// Time that requests in flight get at shutdown.
    pub drain_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4096,
            requests: 4096,
            write_timeout: Duration::from_secs(120),
            stranger_timeout: Duration::from_secs(30),
            handshake_timeout: Duration::from_secs(10),
            drain_timeout: Duration::from_secs(25),
        }
    }
}

impl Limits {
    /// Longest time in which this client takes nothing of an answer.
    #[must_use]
    pub const fn write_timeout(&self, known: bool) -> Duration {
        if known { self.write_timeout } else { self.stranger_timeout }
    }
}
