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
use account::Settings;
use rest::{BoxFuture, ErrorFormat, ODataMetadata, Outcome, Request, Service, cors};
use table::Tables;

pub use draft::{Draft, DraftError};

/// The service behind the table port.
pub struct TableService {
    tables: Tables,
    settings: Settings,
    accounts: Arc<Accounts>,
}

impl TableService {
    /// Serves the tables of these accounts.
    #[must_use]
    pub const fn new(tables: Tables, settings: Settings, accounts: Arc<Accounts>) -> Self {
        Self { tables, settings, accounts }
    }
}

impl Service for TableService {
    fn name(&self) -> &'static str {
        "table"
    }

    fn call(&self, request: Request) -> BoxFuture<'_, Outcome> {
        Box::pin(cors::around(&self.settings, &self.accounts, access::need::Service::Table, request, |request| {
            route::answer(self, request)
        }))
    }

    fn error_format(&self) -> ErrorFormat {
        ErrorFormat::OData(ODataMetadata::Minimal)
    }
}
