//! The File service over REST: a request becomes a typed operation, its result becomes headers and XML.
//!
//! Decides no rule: what may happen is asked of `access`, what happens of `file`.

mod acl;
mod copies;
mod copy_headers;
mod described;
mod directories;
mod errors;
mod files;
mod from_url;
mod handles;
mod header_names;
mod leases;
mod listing;
mod names;
pub mod path;
mod pending;
mod permissions;
mod preconditions;
mod ranges;
mod renames;
pub mod route;
mod share_settings;
mod shares;
mod smb_headers;
mod sources;
mod unsupported;
mod waiting;

use std::sync::Arc;

use access::{Accounts, need::Service::File};
use account::Settings;
use file::Files;
pub use pending::PendingCopies;
use rest::{BoxFuture, Caller, Outcome, Request, Service, ServiceError, cors, leases::FreshLeaseIds};
use transfer::{Asking, Opened, Source, SourceUse, Transfers, Wanted};

/// The service behind the file port.
pub struct FileService {
    files: Files,
    settings: Settings,
    accounts: Arc<Accounts>,
    lease_ids: FreshLeaseIds,
    transfers: Arc<Transfers>,
}

impl FileService {
    /// Serves the shares of these accounts, also to copies.
    #[must_use]
    pub fn new(files: Files, settings: Settings, accounts: Arc<Accounts>, transfers: Arc<Transfers>) -> Self {
        transfers.sources.add(File, Arc::new(sources::ReadableFiles(files.clone())));
        Self { files, settings, accounts, lease_ids: FreshLeaseIds::default(), transfers }
    }

    /// The source that a request names.
    fn source<'a>(&self, request: &'a Request, usage: SourceUse) -> Result<Source<'a>, ServiceError> {
        let has_account = |account: &str| self.accounts.get(account).is_some();
        Source::named(&self.transfers.sources, File, request, has_account, usage)
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
}

impl Service for FileService {
    fn name(&self) -> &'static str {
        "file"
    }

    fn call(&self, request: Request) -> BoxFuture<'_, Outcome> {
        let answer = |request| route::answer(self, request);
        Box::pin(cors::around(&self.settings, &self.accounts, File, request, answer))
    }
}
