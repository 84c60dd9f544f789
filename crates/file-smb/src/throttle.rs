//! Logons that fail: an address that has failed often waits before it is answered again.
//!
//! **Invariants.** What is remembered is bounded, and forgotten with time. Nobody is locked out by somebody else: the count
//! is of an address, not of an account.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use types::Timestamp;

/// Failures that cost nothing.
const FREE: u32 = 5;
/// The longest wait.
const LONGEST: Duration = Duration::from_secs(10);
/// After so long without a failure, an address begins anew.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60);
/// Addresses that are remembered.
const ADDRESSES: usize = 4096;

/// Who has failed, and when.
#[derive(Debug, Default)]
pub(crate) struct Throttle(Mutex<HashMap<IpAddr, Failures>>);

#[derive(Clone, Copy, Debug)]
struct Failures {
    count: u32,
    last: Timestamp,
}

impl Throttle {
    /// A logon has failed. How long its answer waits.
    pub(crate) fn failed(&self, peer: IpAddr, now: Timestamp) -> Duration {
        let mut addresses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if addresses.len() >= ADDRESSES {
            addresses.retain(|_, failures| now.saturating_since(failures.last) < FORGOTTEN_AFTER);
        }
        let address = network_of(peer);
        if addresses.len() >= ADDRESSES && !addresses.contains_key(&address) {
            // So many that fail at once are not many people who mistype.
            return LONGEST;
        }
        let failures = addresses.entry(address).or_insert(Failures { count: 0, last: now });
        if now.saturating_since(failures.last) >= FORGOTTEN_AFTER {
            failures.count = 0;
        }
        failures.count = failures.count.saturating_add(1);
        failures.last = now;
        match failures.count.checked_sub(FREE) {
            None | Some(0) => Duration::ZERO,
            Some(over) => Duration::from_millis(100).saturating_mul(1 << over.min(10)).min(LONGEST),
        }
    }

    /// A logon has succeeded: its address begins anew.
    pub(crate) fn succeeded(&self, peer: IpAddr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&network_of(peer));
    }
}

/// Addresses that count as one: a network of IPv6 gives its users 64 bits to choose from.
fn network_of(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_seconds(1_000_000 + seconds)
    }

    #[test]
    fn who_fails_often_waits_and_is_forgiven() {
        let (throttle, peer) = (Throttle::default(), IpAddr::from([10, 0, 0, 1]));
        for _ in 0..FREE {
            assert_eq!(throttle.failed(peer, at(0)), Duration::ZERO);
        }
        assert_eq!(throttle.failed(peer, at(0)), Duration::from_millis(200));
        assert_eq!(throttle.failed(peer, at(0)), Duration::from_millis(400));
        for _ in 0..20 {
            throttle.failed(peer, at(0));
        }
        assert_eq!(throttle.failed(peer, at(0)), LONGEST);
        assert_eq!(throttle.failed(IpAddr::from([10, 0, 0, 2]), at(0)), Duration::ZERO, "nobody else");
        assert_eq!(throttle.failed(peer, at(61)), Duration::ZERO, "long ago");
        throttle.succeeded(peer);
        assert_eq!(throttle.0.lock().unwrap().len(), 1);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let throttle = Throttle::default();
        for number in 0..10_000_u32 {
            throttle.failed(IpAddr::from(number.to_be_bytes()), at(0));
        }
        assert_eq!(throttle.0.lock().unwrap().len(), ADDRESSES);
        assert_eq!(throttle.failed(IpAddr::from([200, 0, 0, 1]), at(1)), LONGEST);
        assert_eq!(throttle.failed(IpAddr::from([200, 0, 0, 1]), at(100)), Duration::ZERO);
    }
}
