//! Sources of this server that are not blobs: their own service reads them, and nobody goes over the network.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use access::need::Service;
use account::Settings;
use blob::Blobs;
use blob_rest::BlobService;
use bytes::Bytes;
use http::StatusCode;
use rest::{BoxFuture, ServiceError, Target};
use testkit::{ACCOUNT, Nowhere, RestService};
use transfer::{Arriving, Found, Here, Opened, Read, Readable, Transfers, refusals::unverified};

/// Files: one, of an account that may be read by those who show its key.
struct Files;

struct Twice(usize);

impl Arriving for Twice {
    fn next(&mut self) -> BoxFuture<'_, Result<Bytes, ServiceError>> {
        self.0 += 1;
        let piece = if self.0 == 1 { "from a " } else { "file, and more than was said" };
        Box::pin(async move { Ok(Bytes::from_static(piece.as_bytes())) })
    }
}

impl Readable for Files {
    fn prepare(&self, _: &mut Target) -> Result<(), ServiceError> {
        Ok(())
    }

    fn open<'a>(&'a self, read: Read<'a>) -> BoxFuture<'a, Result<Opened, ServiceError>> {
        Box::pin(async move {
            if read.target.segments() != (Some("share"), Some("directory/file")) || read.reader.is_anonymous() {
                return Err(unverified(StatusCode::NOT_FOUND, "ResourceNotFound", "There is no such file."));
            }
            let found = Found { length: 11, content_type: Some("text/plain".to_owned()), ..Found::default() };
            Ok(Opened { found, bytes: Box::new(Twice(0)) })
        })
    }
}

async fn service(files: bool) -> RestService {
    let here = Here { listeners: vec![(Service::File, "127.0.0.1:10004".parse().unwrap())], ..Here::default() };
    let transfers = Arc::new(Transfers::new(Arc::new(Nowhere), here));
    if files {
        transfers.sources.add(Service::File, Arc::new(Files));
    }
    let build = |parts: testkit::Parts| -> Arc<dyn rest::Service> {
        let (blobs, settings) = (Blobs::new(parts.store.clone()), Settings::new(parts.store));
        Arc::new(BlobService::new(blobs, settings, parts.accounts, transfers))
    };
    let blobs = RestService::new(build).await.unwrap();
    assert_eq!(blobs.call("PUT", "/box?restype=container", &[], b"").await.status, 201);
    blobs
}

#[tokio::test]
async fn a_file_of_this_server_is_copied_into_a_blob() {
    let blobs = service(true).await;
    let source = &*format!("http://127.0.0.1:10004/{ACCOUNT}/share/directory/file");
    let copied = blobs.call("PUT", "/box/copy", &[("x-ms-copy-source", source)], b"").await;
    assert_eq!((copied.verdict(), copied.header("x-ms-copy-status")), ((202, ""), "success"), "{copied:?}");
    let read = blobs.call("GET", "/box/copy", &[], b"").await;
    assert_eq!((&*read.text(), read.header("content-type")), ("from a file", "text/plain"));
    // An operation that is done at once needs a credential of the source's own.
    let block = &[("x-ms-copy-source", source)];
    let refused = blobs.call("PUT", "/box/copy?comp=block&blockid=YQ==", block, b"").await;
    assert_eq!(refused.verdict(), (404, "CannotVerifyCopySource"));
    assert_eq!(refused.header("x-ms-copy-source-error-code"), "ResourceNotFound");
    let tags = &[("x-ms-copy-source", source), ("x-ms-copy-source-tag-option", "COPY")];
    assert_eq!(blobs.call("PUT", "/box/copy", tags, b"").await.verdict(), (400, "InvalidHeaderValue"));
}

#[tokio::test]
async fn a_service_that_cannot_be_read_from_is_like_any_other_address() {
    let blobs = service(false).await;
    let source = format!("http://127.0.0.1:10004/{ACCOUNT}/share/directory/file");
    let refused = blobs.call("PUT", "/box/copy", &[("x-ms-copy-source", &source)], b"").await;
    assert_eq!(refused.verdict(), (404, "CannotVerifyCopySource"), "it was asked over the network, which is not there");
    assert!(refused.text().contains("there is no network in this test"));
}
