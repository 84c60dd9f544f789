//! The Queue service, called as a function.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use queue_rest::QueueService;
use testkit::RestService;

/// A new one, with nothing in it.
pub(crate) async fn service() -> RestService {
    let build = |parts: testkit::Parts| -> Arc<dyn rest::Service> {
        Arc::new(QueueService::new(parts.store, parts.accounts, bits))
    };
    RestService::new(build).await.unwrap()
}

/// Bits that nobody had before.
fn bits() -> Option<u128> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    Some(u128::from(NEXT.fetch_add(1, Ordering::Relaxed)).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835))
}
