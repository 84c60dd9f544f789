//! The one place that draws randomness: ids of requests and messages, pop receipts, keys of accounts, and the token in
//! the admin note.

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context as _, Result};
use rest::RequestId;

/// So many random bytes.
#[expect(clippy::disallowed_methods, reason = "the one place that draws randomness")]
fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).context("the system gives no randomness")?;
    Ok(bytes)
}

/// A key for an account, as long as the service's own.
pub(crate) fn account_key() -> Result<access::AccountKey> {
    Ok(access::AccountKey::new(&*zeroize::Zeroizing::new(random::<64>()?)))
}

/// A token that nobody guesses.
pub(crate) fn token() -> Result<String> {
    Ok(format!("{:032x}", u128::from_le_bytes(random()?)))
}

/// Bits for ids and receipts that nobody guesses. `None` when the system gives none.
pub(crate) fn bits() -> Option<u128> {
    random().map(u128::from_le_bytes).inspect_err(|error| tracing::error!(%error, "no randomness")).ok()
}

/// Ids of requests: 64 random bits for this run, and a number that counts them.
pub(crate) struct RequestIds {
    run: u128,
    count: AtomicU64,
}

impl RequestIds {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self { run: u128::from(u64::from_le_bytes(random()?)) << 64, count: AtomicU64::new(1) })
    }

    pub(crate) fn next(&self) -> RequestId {
        RequestId::new(self.run | u128::from(self.count.fetch_add(1, Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_comes_twice() {
        let (first, second) = (RequestIds::new().unwrap(), RequestIds::new().unwrap());
        let ids: std::collections::HashSet<_> = [first.next(), first.next(), second.next()].into();
        assert_eq!(ids.len(), 3);
        assert!(token().unwrap() != token().unwrap() && token().unwrap().len() == 32);
    }
}
