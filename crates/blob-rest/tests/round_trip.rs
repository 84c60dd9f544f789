//! The whole way of a request, without a socket.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

#[tokio::test]
async fn a_blob_is_written_and_read() {
    let blobs = support::service().await;
    assert_eq!(blobs.call("PUT", "/box?restype=container", &[], b"").await.verdict(), (201, ""));
    let put = blobs.call("PUT", "/box/b", &[("x-ms-blob-type", "BlockBlob")], b"hello").await;
    assert_eq!(put.verdict(), (201, ""), "{put:?}");
    let got = blobs.call("GET", "/box/b", &[], b"").await;
    assert_eq!((got.status, got.header("etag"), got.text().as_str()), (200, put.header("etag"), "hello"));
    assert_eq!(blobs.call("GET", "/box/other", &[], b"").await.verdict(), (404, "BlobNotFound"));
    assert_eq!(blobs.unsigned("GET", "/box/b", &[], b"").await.verdict(), (401, "NoAuthenticationInformation"));
}
