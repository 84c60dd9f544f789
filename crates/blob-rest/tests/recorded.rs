//! Single answers of the service that were recorded, and ours that differed.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use std::time::Duration;

use support::{Sent, put, signed, with_blob};
use testkit::RestService;

const MD5: &str = "x-ms-blob-content-md5";

async fn head(blobs: &RestService, target: &str) -> testkit::Answer {
    let answer = blobs.call("HEAD", target, &[("x-ms-version", "2026-10-06")], b"").await;
    assert_eq!(answer.status, 200, "{target}");
    answer
}

#[tokio::test]
async fn any_base64_is_stored_as_content_md5() {
    let blobs = with_blob().await;
    for value in ["YQ==", "AAAAAAAAAAAAAAAAAAAAAA==", "bm90IGFuIG1kNSBidXQgYSB2ZXJ5IGxvbmcgdGV4dA=="] {
        assert_eq!(blobs.call("PUT", "/box/b?comp=properties", &[(MD5, value)], b"").await.status, 200, "{value}");
        assert_eq!(head(&blobs, "/box/b").await.header("content-md5"), value);
        let ranged = blobs.call("GET", "/box/b", &[("Range", "bytes=0-1")], b"").await;
        assert_eq!(ranged.header(MD5), value);
        let listed = blobs.call("GET", "/box?restype=container&comp=list", &[], b"").await;
        assert_eq!(listed.element("Content-MD5").as_deref(), Some(value));
    }
    let wrong = blobs.call("PUT", "/box/b?comp=properties", &[(MD5, "no base64")], b"").await;
    assert_eq!(wrong.verdict(), (400, "InvalidMd5"));
    put(&blobs, "/box/p", "PageBlob", &[("x-ms-blob-content-length", "512"), (MD5, "YQ==")], b"").await;
    put(&blobs, "/box/n", "BlockBlob", &[(MD5, "YQ==")], b"hello").await;
    for name in ["p", "n"] {
        assert_eq!(head(&blobs, &format!("/box/{name}")).await.header("content-md5"), "YQ==", "{name}");
    }
    let sixteen = [("x-ms-blob-type", "BlockBlob"), (MD5, "AAAAAAAAAAAAAAAAAAAAAA==")];
    assert_eq!(blobs.call("PUT", "/box/n", &sixteen, b"hello").await.verdict(), (400, "Md5Mismatch"));
}

#[tokio::test]
async fn set_blob_properties_without_headers_takes_type_and_md5_away() {
    let blobs = with_blob().await;
    let before = head(&blobs, "/box/b").await;
    assert!(before.has("content-md5") && before.header("content-type") == "application/octet-stream");
    assert_eq!(blobs.call("PUT", "/box/b?comp=properties", &[], b"").await.status, 200);
    let after = head(&blobs, "/box/b").await;
    assert!(!after.has("content-md5") && !after.has("content-type"), "{after:?}");
    // What is about pages only leaves the others as they are.
    let kept: Sent<'_> = &[("x-ms-blob-content-length", "512"), ("x-ms-blob-content-type", "text/x"), (MD5, "YQ==")];
    put(&blobs, "/box/p", "PageBlob", kept, b"").await;
    for sent in [("x-ms-blob-content-length", "1024"), ("x-ms-sequence-number-action", "increment")] {
        assert_eq!(blobs.call("PUT", "/box/p?comp=properties", &[sent], b"").await.status, 200);
        let after = head(&blobs, "/box/p").await;
        assert_eq!((after.header("content-type"), after.header("content-md5")), ("text/x", "YQ=="), "{sent:?}");
    }
}

#[tokio::test]
async fn seal_changes_etag_and_last_modified() {
    let blobs = with_blob().await;
    let put = put(&blobs, "/box/a", "AppendBlob", &[], b"").await;
    blobs.time.advance(Duration::from_secs(5));
    let sealed = blobs.call("PUT", "/box/a?comp=seal", &[], b"").await;
    assert_eq!(sealed.status, 200);
    assert_ne!(sealed.header("etag"), put.header("etag"));
    assert_ne!(sealed.header("last-modified"), put.header("last-modified"));
    assert_eq!(head(&blobs, "/box/a").await.header("etag"), sealed.header("etag"));
}

#[tokio::test]
async fn a_backslash_is_a_slash() {
    let blobs = with_blob().await;
    put(&blobs, "/box/a%5Cb", "BlockBlob", &[], b"x").await;
    let listed = blobs.call("GET", "/box?restype=container&comp=list&prefix=a/", &[], b"").await;
    assert_eq!(listed.element("Name").as_deref(), Some("a/b"));
    let listed = blobs.call("GET", "/box?restype=container&comp=list&prefix=a%5C", &[], b"").await;
    assert_eq!(listed.element("Name"), None, "a prefix is not converted");
    // A signature is for the blob that is meant.
    let (_, signature) = signed("box", "a/b").split_once('?').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let read = blobs.unsigned("GET", &format!("/box/a%5Cb?{signature}"), &[], b"").await;
    assert_eq!((read.status, read.text().as_str()), (200, "x"), "{read:?}");
    let source = support::url("/box/a%5Cb");
    assert_eq!(blobs.call("PUT", "/box/copy", &[("x-ms-copy-source", &source)], b"").await.status, 202);
}

#[tokio::test]
async fn a_range_with_a_negative_end_is_ignored() {
    let blobs = with_blob().await;
    let read = blobs.call("GET", "/box/b", &[("x-ms-range", "bytes=0--1")], b"").await;
    assert_eq!((read.status, read.text().as_str()), (200, "hello"));
}

#[tokio::test]
async fn put_blob_honours_its_expiry() {
    let blobs = with_blob().await;
    let relative = [("x-ms-expiry-option", "RelativeToNow"), ("x-ms-expiry-time", "60000")];
    let further: [(&str, Sent<'_>); 3] =
        [("BlockBlob", &[]), ("PageBlob", &[("x-ms-blob-content-length", "512")]), ("AppendBlob", &[])];
    for (kind, sent) in further {
        put(&blobs, &format!("/box/{kind}"), kind, &[&relative, sent].concat(), b"").await;
        assert!(head(&blobs, &format!("/box/{kind}")).await.has("x-ms-expiry-time"), "{kind}");
    }
    put(&blobs, "/box/AppendBlob", "AppendBlob", &[], b"").await;
    let past = [("x-ms-blob-type", "BlockBlob"), ("x-ms-expiry-option", "Absolute")];
    let past = [&past[..], &[("x-ms-expiry-time", "Sun, 09 Sep 2001 01:46:40 GMT")]].concat();
    assert_eq!(blobs.call("PUT", "/box/past", &past, b"").await.verdict(), (400, "InvalidHeaderValue"));
    blobs.time.advance(Duration::from_secs(61));
    for (kind, status) in [("BlockBlob", 404), ("PageBlob", 404), ("AppendBlob", 200)] {
        assert_eq!(blobs.call("HEAD", &format!("/box/{kind}"), &[], b"").await.status, status, "{kind}");
    }
    // Where it would be ignored it is refused: a blob that should be gone must not stay.
    let list = blobs.call("PUT", "/box/list?comp=blocklist", &relative, b"<BlockList/>").await;
    assert_eq!(list.verdict(), (400, "UnsupportedHeader"));
}

#[tokio::test]
async fn get_blob_tells_the_tier_in_new_versions() {
    let blobs = with_blob().await;
    let cool = [("x-ms-access-tier", "Cool")];
    assert_eq!(blobs.call("PUT", "/box/b?comp=tier", &cool, b"").await.status, 200);
    for (version, shown) in [("2026-06-06", false), ("2026-10-06", true)] {
        let read = blobs.call("GET", "/box/b", &[("x-ms-version", version)], b"").await;
        assert_eq!(read.header("x-ms-access-tier"), if shown { "Cool" } else { "" }, "{version}");
        assert_eq!(read.has("x-ms-access-tier-change-time"), shown, "{version}");
    }
}

#[tokio::test]
async fn an_identifier_without_a_policy_comes_back_alone() {
    let blobs = with_blob().await;
    let stored = "<SignedIdentifiers><SignedIdentifier><Id>a</Id></SignedIdentifier></SignedIdentifiers>";
    let target = "/box?restype=container&comp=acl";
    assert_eq!(blobs.call("PUT", target, &[], stored.as_bytes()).await.status, 200);
    let found = blobs.call("GET", target, &[], b"").await.text();
    assert!(found.ends_with(stored), "{found}");
}

#[tokio::test]
async fn the_logs_container_belongs_to_the_service() {
    let blobs = with_blob().await;
    let names = |answer: &testkit::Answer| {
        let text = answer.text();
        text.split("<Name>").skip(1).filter_map(|rest| rest.split_once('<')).map(|(name, _)| name.to_owned()).collect()
    };
    let listed: Vec<String> = names(&blobs.call("GET", "/?comp=list&include=system", &[], b"").await);
    assert_eq!(listed, ["$logs", "box"]);
    let listed: Vec<String> = names(&blobs.call("GET", "/?comp=list&include=metadata", &[], b"").await);
    assert_eq!(listed, ["box"]);
    let put: Sent<'_> = &[("x-ms-blob-type", "BlockBlob")];
    let table: [(&str, &str, Sent<'_>, (u16, &str)); 6] = [
        ("PUT", "/$logs?restype=container", &[], (409, "ContainerAlreadyExists")),
        ("DELETE", "/$logs?restype=container", &[], (403, "AuthorizationFailure")),
        ("PUT", "/$logs?restype=container&comp=acl", &[], (403, "AuthorizationFailure")),
        ("PUT", "/$logs/b", put, (403, "AuthorizationFailure")),
        ("DELETE", "/$logs/b", &[], (404, "BlobNotFound")),
        ("GET", "/$logs?restype=container&comp=list", &[], (200, "")),
    ];
    for (method, target, sent, expected) in table {
        assert_eq!(blobs.call(method, target, sent, b"").await.verdict(), expected, "{method} {target}");
    }
}

#[tokio::test]
async fn list_containers_quotes_its_etags_and_list_blobs_does_not() {
    let blobs = with_blob().await;
    let etag = blobs.call("HEAD", "/box?restype=container", &[], b"").await.header("etag").to_owned();
    let listed = blobs.call("GET", "/?comp=list", &[], b"").await.element("Etag").unwrap();
    assert_eq!(listed.replace("&quot;", "\""), etag);
    let listed = blobs.call("GET", "/box?restype=container&comp=list", &[], b"").await.element("Etag").unwrap();
    assert_eq!(format!("\"{listed}\""), head(&blobs, "/box/b").await.header("etag"));
}

#[tokio::test]
async fn pages_written_and_cleared_since_the_snapshot_are_clear_ranges() {
    let blobs = with_blob().await;
    put(&blobs, "/box/p", "PageBlob", &[("x-ms-blob-content-length", "8192")], b"").await;
    let update = |range| [("x-ms-page-write", "update"), ("x-ms-range", range)];
    let clear = |range| [("x-ms-page-write", "clear"), ("x-ms-range", range)];
    let pages = |blobs: &RestService| {
        let _ = blobs;
        "/box/p?comp=page"
    };
    assert_eq!(blobs.call("PUT", pages(&blobs), &update("bytes=0-511"), &[1; 512]).await.status, 201);
    let taken = blobs.call("PUT", "/box/p?comp=snapshot", &[], b"").await;
    let time = taken.header("x-ms-snapshot").replace(':', "%3A");
    assert_eq!(blobs.call("PUT", pages(&blobs), &update("bytes=1024-3071"), &[2; 2048]).await.status, 201);
    assert_eq!(blobs.call("PUT", pages(&blobs), &clear("bytes=1536-2047"), b"").await.status, 201);
    assert_eq!(blobs.call("PUT", pages(&blobs), &update("bytes=4096-4607"), &[2; 512]).await.status, 201);
    assert_eq!(blobs.call("PUT", pages(&blobs), &clear("bytes=4096-8191"), b"").await.status, 201);
    let found = blobs.call("GET", &format!("/box/p?comp=pagelist&prevsnapshot={time}"), &[], b"").await.text();
    let expected = "<PageRange><Start>1024</Start><End>1535</End></PageRange>\
                    <ClearRange><Start>1536</Start><End>2047</End></ClearRange>\
                    <PageRange><Start>2048</Start><End>3071</End></PageRange>\
                    <ClearRange><Start>4096</Start><End>4607</End></ClearRange>";
    assert!(found.contains(&format!("<PageList>{expected}")), "{found}");
}

#[tokio::test]
async fn a_search_compares_ten_tags_and_errors_say_where() {
    let blobs = with_blob().await;
    let search = |count: usize| {
        let tags: Vec<String> = (0..count).map(|number| format!("t{number}%3D'1'")).collect();
        format!("/?comp=blobs&where=%40container%3D'box'%20AND%20{}", tags.join("%20AND%20"))
    };
    assert_eq!(blobs.call("GET", &search(10), &[], b"").await.status, 200);
    for target in [search(11), "/?comp=blobs&where=a%3D'1'%20AND%20a%3D'2'".to_owned()] {
        let answer = blobs.call("GET", &target, &[], b"").await;
        assert_eq!(answer.verdict(), (400, "InvalidQueryParameterValue"), "{target}");
        assert!(answer.element("Reason").unwrap().contains("at byte") || answer.text().contains("before byte"));
    }
}
