//! The Blob service, called as a function.

use std::sync::Arc;

use blob_rest::{BlobService, Copies};
use testkit::{Nowhere, RestService};

/// A new one, with nothing in it.
pub(crate) async fn service() -> RestService {
    let build = |parts: testkit::Parts| -> Arc<dyn rest::Service> {
        let copies = Arc::new(Copies::new(Arc::new(Nowhere), Vec::new()));
        Arc::new(BlobService::new(parts.store, parts.accounts, copies))
    };
    RestService::new(build).await.unwrap()
}
