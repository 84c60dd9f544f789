//! Requests that the server makes itself, for tests in which it must not make any.

use rest::{
    BoxFuture,
    outgoing::{Fetch, FetchError, Fetched, Outgoing},
};

/// Reaches nobody.
pub struct Nowhere;

impl Outgoing for Nowhere {
    fn fetch(&self, _: Fetch) -> BoxFuture<'_, Result<Fetched, FetchError>> {
        Box::pin(async { Err(FetchError::Unreachable("there is no network in this test".to_owned())) })
    }
}
