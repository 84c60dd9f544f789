//! The File service over REST: a request becomes a typed operation, its result becomes headers and XML.
//!
//! Decides no rule: what may happen is asked of `access`, what happens of `file`.

mod acl;
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
mod permissions;
mod preconditions;
mod ranges;
mod renames;
mod route;
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
use rest::{BoxFuture, Outcome, Request, Service, cors, leases::FreshLeaseIds};
use transfer::Transfers;

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
