//! The Table service over REST: a request becomes a typed operation, its result becomes headers and JSON or Atom.
//!
//! Decides no rule: what may happen is asked of `access`, what happens of `table`. The parsers of everything that a client
//! sends are plain functions over bytes.

mod acl;
pub mod address;
mod answer;
pub mod atom;
mod batch;
mod behind;
mod continuation;
mod draft;
mod entities;
mod errors;
mod exchange;
mod format;
pub mod json;
mod query;
mod route;
mod service_document;
mod tables;

use std::sync::Arc;

use access::Accounts;
use rest::{BoxFuture, ErrorFormat, ODataMetadata, Outcome, Request, Service, cors};
use store::Store;
use table::Tables;

pub use draft::{Draft, DraftError};

/// The service behind the table port.
pub struct TableService {
    store: Store,
    accounts: Arc<Accounts>,
    tables: Tables,
}

impl TableService {
    /// Serves these accounts from this store.
    #[must_use]
    pub fn new(store: Store, accounts: Arc<Accounts>) -> Self {
        Self { tables: Tables::new(store.clone()), store, accounts }
    }
}

impl Service for TableService {
    fn name(&self) -> &'static str {
        "table"
    }

    fn call(&self, request: Request) -> BoxFuture<'_, Outcome> {
        Box::pin(cors::around(&self.store, &self.accounts, access::need::Service::Table, request, |request| {
            route::answer(self, request)
        }))
    }

    fn error_format(&self) -> ErrorFormat {
        ErrorFormat::OData(ODataMetadata::Minimal)
    }
}
