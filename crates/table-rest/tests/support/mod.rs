//! The Table service, called as a function.

use std::sync::Arc;

use account::Settings;
use table::Tables;
use table_rest::TableService;
use testkit::RestService;

/// A new one, with nothing in it.
pub(crate) async fn service() -> RestService {
    let build = |parts: testkit::Parts| -> Arc<dyn rest::Service> {
        let (tables, settings) = (Tables::new(parts.store.clone()), Settings::new(parts.store));
        Arc::new(TableService::new(tables, settings, parts.accounts))
    };
    RestService::new(build).await.unwrap()
}
