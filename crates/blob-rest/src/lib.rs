//! The Blob service over REST: a request becomes a typed operation, its result becomes headers and XML.
//!
//! Decides no rule: what may happen is asked of `access`, what happens of `blob`.

mod acl;
mod answers;
mod append;
mod batch;
mod blobs;
mod blocks;
mod conditions;
mod containers;
mod copies;
mod described;
mod errors;
mod find;
mod from_url;
mod header_names;
mod leases;
mod listing;
mod metadata;
mod names;
mod page_ranges;
mod pages;
mod pending;
mod properties;
mod put_blob;
mod route;
mod snapshots;
mod sources;
mod tags;
mod tier;
mod unsupported;
mod upload;

use std::sync::Arc;

use access::Accounts;
use account::Settings;
use blob::Blobs;
use concurrency::lease::LeaseId;
pub use pending::PendingCopies;
use rest::{BoxFuture, Caller, Outcome, Request, Service, ServiceError, cors, leases::FreshLeaseIds};
use transfer::{Asking, Opened, Source, SourceUse, Transfers, Wanted};

/// The service behind the blob port.
pub struct BlobService {
    blobs: Blobs,
    settings: Settings,
    accounts: Arc<Accounts>,
    lease_ids: FreshLeaseIds,
    transfers: Arc<Transfers>,
}

impl BlobService {
    /// Serves the blobs of these accounts, also to copies.
    #[must_use]
    pub fn new(blobs: Blobs, settings: Settings, accounts: Arc<Accounts>, transfers: Arc<Transfers>) -> Self {
        transfers.sources.add(access::need::Service::Blob, Arc::new(sources::ReadableBlobs(blobs.clone())));
        Self { blobs, settings, accounts, lease_ids: FreshLeaseIds::default(), transfers }
    }

    /// The source that a request names.
    fn source<'a>(&self, request: &'a Request, usage: SourceUse) -> Result<Source<'a>, ServiceError> {
        let has_account = |account: &str| self.accounts.get(account).is_some();
        Source::named(&self.transfers.sources, access::need::Service::Blob, request, has_account, usage)
    }

    fn asking<'a>(&'a self, caller: &'a Caller, request: &'a Request) -> Asking<'a> {
        Asking { accounts: &self.accounts, caller, request }
    }

    async fn open(
        &self,
        source: &Source<'_>,
        caller: &Caller,
        request: &Request,
        wanted: Wanted,
    ) -> Result<Opened, ServiceError> {
        self.transfers.sources.open(source, self.asking(caller, request), wanted).await
    }

    fn fresh_lease_id(&self, request: &Request) -> LeaseId {
        self.lease_ids.of(request)
    }
}

impl Service for BlobService {
    fn name(&self) -> &'static str {
        "blob"
    }

    fn call(&self, request: Request) -> BoxFuture<'_, Outcome> {
        Box::pin(cors::around(&self.settings, &self.accounts, access::need::Service::Blob, request, |request| {
            route::answer(self, request)
        }))
    }
}
