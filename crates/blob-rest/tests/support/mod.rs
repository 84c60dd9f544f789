//! The Blob service, called as a function, and the words that tables are written in.

#![allow(dead_code, reason = "each test needs some of it")]

use std::sync::Arc;

use access::{
    account::AccountKey,
    need::Service,
    sas::{Fields, sign::sign},
};
use account::Settings;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use blob::Blobs;
use blob_rest::BlobService;
use rest::outgoing::Outgoing;
use testkit::{ACCOUNT, Answer, KEY, Nowhere, RestService};
use transfer::{Here, Transfers};

/// Headers of a request.
pub(crate) type Sent<'a> = &'a [(&'a str, &'a str)];

/// A new service, with nothing in it.
pub(crate) async fn service() -> RestService {
    with_transfers(|| Transfers::new(Arc::new(Nowhere), Here::default())).await
}

/// The same, whose sources elsewhere are fetched by this.
pub(crate) async fn service_fetching(outgoing: Arc<dyn Outgoing>, here: Here) -> RestService {
    with_transfers(|| Transfers::new(outgoing, here)).await
}

async fn with_transfers(transfers: impl FnOnce() -> Transfers) -> RestService {
    let build = |parts: testkit::Parts| -> Arc<dyn rest::Service> {
        let (blobs, settings) = (Blobs::new(parts.store.clone()), Settings::new(parts.store));
        Arc::new(BlobService::new(blobs, settings, parts.accounts, Arc::new(transfers())))
    };
    RestService::new(build).await.unwrap()
}

/// A service with the container `box` and the block blob `b` in it.
pub(crate) async fn with_blob() -> RestService {
    let blobs = service().await;
    prepare(&blobs).await;
    blobs
}

/// Makes them.
pub(crate) async fn prepare(blobs: &RestService) {
    assert_eq!(blobs.call("PUT", "/box?restype=container", &[], b"").await.verdict(), (201, ""));
    put(blobs, "/box/b", "BlockBlob", &[], b"hello").await;
}

/// Puts a blob.
pub(crate) async fn put(blobs: &RestService, target: &str, kind: &str, sent: Sent<'_>, body: &[u8]) -> Answer {
    let headers = [&[("x-ms-blob-type", kind)], sent].concat();
    let answer = blobs.call("PUT", target, &headers, body).await;
    assert_eq!(answer.verdict(), (201, ""), "{target} {answer:?}");
    answer
}

/// The address of a blob of this account, without a credential.
pub(crate) fn url(path: &str) -> String {
    format!("http://127.0.0.1/{ACCOUNT}{path}")
}

/// The same with a signature to read it.
pub(crate) fn signed(container: &str, blob: &str) -> String {
    let key = AccountKey::new(&BASE64_STANDARD.decode(KEY).unwrap());
    let fields = Fields {
        version: Some("2021-12-02"),
        permissions: Some("r"),
        expiry: Some("2099-01-01"),
        resource: Some("b"),
        ..Fields::default()
    };
    let signed = sign(&key, Service::Blob, ACCOUNT, Some(container), Some(blob), &fields).unwrap();
    let encode = |text: &str| text.replace('%', "%25").replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    let query: Vec<String> = signed.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
    format!("{}?{}", url(&format!("/{container}/{blob}")), query.join("&"))
}
