//! The Table service, called as a function.

use std::sync::Arc;

use table_rest::TableService;
use testkit::RestService;

/// A new one, with nothing in it.
pub(crate) async fn service() -> RestService {
    let build =
        |parts: testkit::Parts| -> Arc<dyn rest::Service> { Arc::new(TableService::new(parts.store, parts.accounts)) };
    RestService::new(build).await.unwrap()
}
