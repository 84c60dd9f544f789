//! Where copies come from: the credential of the source, its conditions, and what is told about both.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use access::need::Service;
use rest::{
    BoxFuture,
    outgoing::{Fetch, FetchError, Fetched, Outgoing},
};
use support::{Sent, prepare, put, service_fetching, signed, url, with_blob};
use testkit::{ACCOUNT, Answer, RestService};
use transfer::Here;

/// The operations that read a source, each with what else it needs.
const READERS: [(&str, &str, Sent<'static>); 6] = [
    ("Copy Blob", "/box/copy", &[]),
    ("Copy Blob From URL", "/box/copy", &[("x-ms-requires-sync", "true")]),
    ("Put Blob From URL", "/box/copy", &[("x-ms-blob-type", "BlockBlob")]),
    ("Put Block From URL", "/box/copy?comp=block&blockid=YQ==", &[]),
    ("Append Block From URL", "/box/append?comp=appendblock", &[]),
    ("Put Page From URL", "/box/page?comp=page", PAGE),
];
const PAGE: Sent<'static> =
    &[("x-ms-page-write", "update"), ("x-ms-range", "bytes=0-511"), ("x-ms-source-range", "bytes=0-511")];

async fn world() -> RestService {
    let blobs = with_blob().await;
    put(&blobs, "/box/append", "AppendBlob", &[], b"").await;
    put(&blobs, "/box/page", "PageBlob", &[("x-ms-blob-content-length", "512")], b"").await;
    put(&blobs, "/box/source", "BlockBlob", &[], &[7; 512]).await;
    blobs
}

async fn copy(blobs: &RestService, target: &str, source: &str, further: &[Sent<'_>]) -> Answer {
    let mut headers = vec![("x-ms-copy-source", source)];
    headers.extend(further.concat());
    blobs.call("PUT", target, &headers, b"").await
}

#[tokio::test]
async fn a_private_source_needs_its_own_credential() {
    let blobs = world().await;
    for (name, target, further) in READERS {
        let answer = copy(&blobs, target, &url("/box/source"), &[further]).await;
        if name == "Copy Blob" {
            assert_eq!(answer.verdict(), (202, ""), "{name}: inside of an account the caller reads it");
            continue;
        }
        assert_eq!(answer.verdict(), (401, "CannotVerifyCopySource"), "{name}");
        assert_eq!(answer.header("x-ms-copy-source-status-code"), "401", "{name}");
        assert_eq!(answer.header("x-ms-copy-source-error-code"), "NoAuthenticationInformation", "{name}");
        let message = "Server failed to authenticate the request. Please refer to the information in the \
                       www-authenticate header.";
        assert!(answer.element("Message").unwrap().starts_with(message), "{name} {answer:?}");
        let elements = ["CopySourceStatusCode", "CopySourceErrorCode", "CopySourceErrorMessage"];
        let found = elements.map(|element| answer.element(element).unwrap_or_default());
        assert_eq!(found, ["401", "NoAuthenticationInformation", message], "{name}");
    }
}

#[tokio::test]
async fn a_source_with_a_signature_or_in_a_public_container_is_read() {
    let blobs = world().await;
    for (name, target, further) in READERS {
        let answer = copy(&blobs, target, &signed("box", "source"), &[further]).await;
        assert!(matches!(answer.status, 201 | 202), "{name} {answer:?}");
    }
    let public = [("x-ms-blob-public-access", "blob")];
    assert_eq!(blobs.call("PUT", "/box?restype=container&comp=acl", &public, b"").await.verdict(), (200, ""));
    for (name, target, further) in READERS {
        let answer = copy(&blobs, target, &url("/box/source"), &[further]).await;
        assert!(matches!(answer.status, 201 | 202), "{name} {answer:?}");
    }
}

#[tokio::test]
async fn failing_source_conditions_are_answered_as_recorded() {
    let blobs = world().await;
    let current = blobs.call("HEAD", "/box/source", &[], b"").await;
    let (etag, date) = (current.header("etag").to_owned(), current.header("last-modified").to_owned());
    let conditions = [
        ("x-ms-source-if-match", "\"0x0\""),
        ("x-ms-source-if-unmodified-since", "Sun, 09 Sep 2001 01:46:40 GMT"),
        ("x-ms-source-if-none-match", etag.as_str()),
        ("x-ms-source-if-modified-since", date.as_str()),
    ];
    let (met, unverified) = ("SourceConditionNotMet", "CannotVerifyCopySource");
    let later = [(412, met), (412, met), (412, met), (412, met)];
    let whole = [(412, met), (412, unverified), (304, unverified), (304, unverified)];
    let part = [(412, unverified), (412, unverified), (304, unverified), (304, unverified)];
    for ((name, target, further), answers) in READERS.into_iter().zip([later, whole, whole, part, part, part]) {
        for (condition, expected) in conditions.into_iter().zip(answers) {
            let answer = copy(&blobs, target, &signed("box", "source"), &[further, &[condition]]).await;
            assert_eq!(answer.verdict(), expected, "{name} {condition:?}");
            assert_eq!(answer.body.is_empty(), expected.0 == 304, "{name} {condition:?}");
        }
    }
}

#[tokio::test]
async fn the_copy_of_a_sealed_append_blob_is_sealed() {
    let blobs = world().await;
    assert_eq!(blobs.call("PUT", "/box/append?comp=seal", &[], b"").await.status, 200);
    let table: [(Sent<'_>, &str); 3] =
        [(&[], "true"), (&[("x-ms-seal-blob", "true")], "true"), (&[("x-ms-seal-blob", "false")], "")];
    for (sent, sealed) in table {
        assert_eq!(copy(&blobs, "/box/sealed", &url("/box/append"), &[sent]).await.status, 202);
        let found = blobs.call("HEAD", "/box/sealed", &[], b"").await;
        assert_eq!(found.header("x-ms-blob-sealed"), sealed, "{sent:?}");
    }
}

#[tokio::test]
async fn whole_copies_answer_the_crc64_and_the_md5_only_when_it_was_sent() {
    let blobs = world().await;
    let blocks = "<BlockList><Latest>YQ==</Latest><Latest>Yg==</Latest></BlockList>";
    for (id, bytes) in [("YQ==", [7; 500].as_slice()), ("Yg==", &[7; 12])] {
        let staged = blobs.call("PUT", &format!("/box/blocks?comp=block&blockid={id}"), &[], bytes).await;
        assert_eq!(staged.status, 201);
    }
    assert_eq!(blobs.call("PUT", "/box/blocks?comp=blocklist", &[], blocks.as_bytes()).await.status, 201);
    let pages = [("x-ms-page-write", "update"), ("x-ms-range", "bytes=0-511")];
    assert_eq!(blobs.call("PUT", "/box/page?comp=page", &pages, &[7; 512]).await.status, 201);
    let expected = put(&blobs, "/box/same", "BlockBlob", &[], &[7; 512]).await;
    let (crc64, md5) = (expected.header("x-ms-content-crc64"), expected.header("content-md5"));
    for (kind, sent) in [("sync", ("x-ms-requires-sync", "true")), ("put", ("x-ms-blob-type", "BlockBlob"))] {
        for source in ["source", "blocks", "page"] {
            if (kind, source) == ("sync", "page") {
                continue; // it copies block blobs only
            }
            let answer = copy(&blobs, "/box/copy", &signed("box", source), &[&[sent]]).await;
            assert_eq!(answer.header("x-ms-content-crc64"), crc64, "{kind} {source} {answer:?}");
            assert!(!answer.has("content-md5"), "{kind} {source}");
        }
        let declared: Sent<'_> = &[sent, ("x-ms-source-content-md5", md5)];
        let answer = copy(&blobs, "/box/copy", &signed("box", "source"), &[declared]).await;
        assert_eq!((answer.header("x-ms-content-crc64"), answer.header("content-md5")), (crc64, md5), "{kind}");
    }
}

#[tokio::test]
async fn copy_headers_vanish_after_set_blob_properties() {
    let blobs = world().await;
    assert_eq!(copy(&blobs, "/box/copy", &url("/box/source"), &[]).await.status, 202);
    let shown = |answer: &Answer| answer.has("x-ms-copy-id") || answer.has("x-ms-copy-status");
    assert_eq!(blobs.call("PUT", "/box/copy?comp=metadata", &[("x-ms-meta-a", "b")], b"").await.status, 200);
    assert!(shown(&blobs.call("HEAD", "/box/copy", &[], b"").await), "metadata keeps them");
    assert_eq!(blobs.call("PUT", "/box/copy?comp=properties", &[], b"").await.status, 200);
    assert!(!shown(&blobs.call("HEAD", "/box/copy", &[], b"").await));
}

#[tokio::test]
async fn what_would_be_ignored_is_refused_by_name() {
    let blobs = world().await;
    let put: Sent<'_> = &[("x-ms-blob-type", "BlockBlob")];
    let source = url("/box/source");
    let copy: Sent<'_> = &[("x-ms-copy-source", &source)];
    let table = [
        (copy, "x-ms-source-range", "bytes=0-1"),
        (copy, "x-ms-source-lease-id", "1f812371-a41d-49e6-b123-f4b542e851c5"),
        (put, "x-ms-owner", "me"),
        (put, "x-ms-group", "us"),
        (put, "x-ms-acl", "user::rwx"),
        (put, "x-ms-permissions", "0777"),
        (put, "x-ms-seal-blob", "true"),
        (put, "x-ms-blob-condition-appendpos", "0"),
        (put, "x-ms-blob-condition-maxsize", "0"),
        (put, "x-ms-delete-snapshots", "include"),
    ];
    for (operation, name, value) in table {
        let answer = blobs.call("PUT", "/box/new", &[operation, &[(name, value)]].concat(), b"").await;
        assert_eq!(answer.verdict(), (400, "UnsupportedHeader"), "{name}");
        assert_eq!(answer.element("HeaderName").as_deref(), Some(name));
    }
    let unknown = blobs.call("PUT", "/box/new", &[put, &[("x-ms-something", "new")]].concat(), b"").await;
    assert_eq!(unknown.status, 201, "headers that nobody knows stay ignored");
}

/// Counts how often somebody else is asked.
#[derive(Default)]
struct Counted(AtomicUsize);

impl Outgoing for Counted {
    fn fetch(&self, _: Fetch) -> BoxFuture<'_, Result<Fetched, FetchError>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { Err(FetchError::Forbidden("the source is not allowed".to_owned())) })
    }
}

#[tokio::test]
async fn a_name_that_is_always_served_is_local_as_a_copy_source() {
    let outgoing = Arc::new(Counted::default());
    let here = Here {
        domains: vec!["example.com".to_owned()],
        listeners: vec![(Service::Blob, "127.0.0.1:10000".parse().unwrap())],
        remote: Vec::new(),
    };
    let blobs = service_fetching(Arc::<Counted>::clone(&outgoing), here).await;
    prepare(&blobs).await;
    for source in [
        format!("https://{ACCOUNT}.blob.core.windows.net/box/b"),
        format!("http://{ACCOUNT}.blob.localhost:10000/box/b"),
        format!("https://{ACCOUNT}.blob.example.com/box/b"),
        format!("http://127.0.0.1:10000/{ACCOUNT}/box/b"),
        format!("http://localhost:10000/{ACCOUNT}/box/b"),
    ] {
        let answer = copy(&blobs, "/box/copy", &source, &[]).await;
        assert_eq!((answer.verdict(), answer.header("x-ms-copy-status")), ((202, ""), "success"), "{source}");
    }
    assert_eq!(outgoing.0.load(Ordering::Relaxed), 0, "nobody was asked");
    let other = copy(&blobs, "/box/copy", "https://another.blob.core.windows.net/box/b", &[]).await;
    assert_eq!((other.verdict(), outgoing.0.load(Ordering::Relaxed)), ((403, "CannotVerifyCopySource"), 1));
}

#[tokio::test]
async fn an_account_that_is_remote_is_asked_in_the_cloud() {
    let outgoing = Arc::new(Counted::default());
    let here = Here { remote: vec![ACCOUNT.to_owned()], ..Here::default() };
    let blobs = service_fetching(Arc::<Counted>::clone(&outgoing), here).await;
    prepare(&blobs).await;
    let answer = copy(&blobs, "/box/copy", &format!("https://{ACCOUNT}.blob.core.windows.net/box/b"), &[]).await;
    assert_eq!((answer.verdict(), outgoing.0.load(Ordering::Relaxed)), ((403, "CannotVerifyCopySource"), 1));
    assert!(!answer.text().contains("127."), "it is not told where the source is: {}", answer.text());
    assert_eq!(copy(&blobs, "/box/copy", &url("/box/b"), &[]).await.status, 202, "its own address stays here");
}
