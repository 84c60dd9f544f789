//! The Blob service over REST: a request becomes a typed operation, its result becomes headers and XML.
//!
//! Decides no rule: what may happen is asked of `access`, what happens of `blob`.

mod acl;
mod blobs;
mod conditions;
mod containers;
mod errors;
mod listing;
mod metadata;
mod names;
mod route;
mod unsupported;

use std::sync::Arc;

use access::Accounts;
use rest::{BoxFuture, Outcome, Request, Service, cors};
use store::Store;

/// The service behind the blob port.
pub struct BlobService {
    store: Store,
    accounts: Arc<Accounts>,
}

impl BlobService {
    /// Serves these accounts from this store.
    #[must_use]
    pub const fn new(store: Store, accounts: Arc<Accounts>) -> Self {
        Self { store, accounts }
    }
}

impl Service for BlobService {
    fn name(&self) -> &'static str {
        "blob"
    }

    fn call(&self, request: Request) -> BoxFuture<'_, Outcome> {
        Box::pin(cors::around(&self.store, &self.accounts, access::need::Service::Blob, request, |request| {
            route::answer(self, request)
        }))
    }
}
