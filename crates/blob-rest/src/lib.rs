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

use std::{
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

use access::Accounts;
use account::Settings;
use blob::Blobs;
use concurrency::lease::LeaseId;
pub use pending::PendingCopies;
use rest::{BoxFuture, Caller, Outcome, Request, Service, ServiceError, cors};
use transfer::{Asking, Opened, Source, SourceUse, Transfers, Wanted};

/// The service behind the blob port.
pub struct BlobService {
    blobs: Blobs,
    settings: Settings,
    accounts: Arc<Accounts>,
    /// Makes ids that nobody can guess out of ids that nobody has twice.
    hasher: RandomState,
    transfers: Arc<Transfers>,
}

impl BlobService {
    /// Serves the blobs of these accounts, also to copies.
    #[must_use]
    pub fn new(blobs: Blobs, settings: Settings, accounts: Arc<Accounts>, transfers: Arc<Transfers>) -> Self {
        transfers.sources.add(access::need::Service::Blob, Arc::new(sources::ReadableBlobs(blobs.clone())));
        Self { blobs, settings, accounts, hasher: RandomState::new(), transfers }
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

    /// A lease id for a request that proposes none: of this request alone, and not to be told from its id.
    fn fresh_lease_id(&self, request: &Request) -> LeaseId {
        let half = |part: u8| u128::from(self.hasher.hash_one((request.request_id, part)));
        // The marks of a GUID that was drawn.
        let marks = (0x4 << 76) | (0b10 << 62);
        let bits = (half(0) << 64 | half(1)) & !((0xF << 76) | (0b11 << 62));
        LeaseId::from_u128(bits | marks)
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
