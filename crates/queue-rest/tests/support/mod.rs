//! The Queue service, called as a function.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use access::bearer::{Bearer, BearerSettings};
use account::Settings;
use queue::Queues;
use queue_rest::QueueService;
use testkit::RestService;

/// A new one, with nothing in it. Tokens need no signature.
pub(crate) async fn service() -> RestService {
    let bearer = Bearer::new(BearerSettings { unsigned: true, ..BearerSettings::default() });
    RestService::with_tokens(bearer, build).await.unwrap()
}

/// The service on what a store holds.
pub(crate) fn build(parts: testkit::Parts) -> Arc<dyn rest::Service> {
    let (queues, settings) = (Queues::new(parts.store.clone()), Settings::new(parts.store));
    Arc::new(QueueService::new(queues, settings, parts.accounts, bits))
}

/// Bits that nobody had before.
fn bits() -> Option<u128> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    Some(u128::from(NEXT.fetch_add(1, Ordering::Relaxed)).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835))
}
