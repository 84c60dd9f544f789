//! Conditions: refused where they are not taken, and what HTTP says about reads.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use support::{Sent, put, with_blob};

#[tokio::test]
async fn a_write_refuses_a_condition_that_it_does_not_take() {
    let blobs = with_blob().await;
    let tags = b"<Tags><TagSet/></Tags>";
    let none: [(&str, &str, Sent<'_>, &[u8]); 8] = [
        ("If-Match", "/box/b?comp=tier", &[("x-ms-access-tier", "Cool")], b""),
        ("If-Match", "/box/b?comp=tags", &[], tags),
        ("If-Match", "/box/b?comp=expiry", &[("x-ms-expiry-option", "NeverExpire")], b""),
        ("x-ms-if-tags", "/box/b?comp=block&blockid=YQ==", &[], b"x"),
        ("If-None-Match", "/box/b?comp=block&blockid=YQ==", &[], b"x"),
        ("If-Match", "/new?restype=container", &[], b""),
        ("x-ms-if-tags", "/box?restype=container&comp=metadata", &[], b""),
        ("x-ms-blob-if-match", "/box/b", &[("x-ms-blob-type", "BlockBlob")], b"x"),
    ];
    for (condition, target, sent, body) in none {
        let value = if condition == "x-ms-if-tags" { "a = 'b'" } else { "\"0x0\"" };
        let answer = blobs.call("PUT", target, &[&[(condition, value)], sent].concat(), body).await;
        assert_eq!(answer.verdict(), (400, "ConditionHeadersNotSupported"), "{condition} {target}");
        assert_eq!(answer.element("HeaderName"), Some(condition.to_lowercase()), "{target}");
        let without = blobs.call("PUT", target, sent, body).await;
        assert!(without.status < 300, "{target} {without:?}");
    }
}

#[tokio::test]
async fn listings_and_get_block_list_go_on_ignoring_conditions() {
    let blobs = with_blob().await;
    for target in ["/?comp=list", "/box?restype=container&comp=list", "/box/b?comp=blocklist", "/box?restype=container"]
    {
        let answer = blobs.call("GET", target, &[("If-Match", "\"0x0\"")], b"").await;
        assert_eq!(answer.verdict(), (200, ""), "{target}");
    }
}

#[tokio::test]
async fn if_range_gives_a_part_of_the_same_blob_or_all_of_another() {
    let blobs = with_blob().await;
    let current = blobs.call("HEAD", "/box/b", &[], b"").await;
    let (etag, date) = (current.header("etag").to_owned(), current.header("last-modified").to_owned());
    let weak = format!("W/{etag}");
    let table = [
        (etag.as_str(), 206, "el"),
        (date.as_str(), 206, "el"),
        (weak.as_str(), 200, "hello"),
        ("\"0x0\"", 200, "hello"),
        ("Sun, 09 Sep 2001 01:46:40 GMT", 200, "hello"),
        ("nonsense\"", 200, "hello"),
    ];
    for (condition, status, body) in table {
        for range in ["Range", "x-ms-range"] {
            let sent = [(range, "bytes=1-2"), ("If-Range", condition)];
            let answer = blobs.call("GET", "/box/b", &sent, b"").await;
            assert_eq!((answer.status, answer.text().as_str()), (status, body), "{range} {condition}");
            assert_eq!(answer.has("content-range"), status == 206, "{range} {condition}");
        }
    }
    let beyond = [("Range", "bytes=9-"), ("If-Range", "\"0x0\""), ("x-ms-range-get-content-md5", "true")];
    assert_eq!(
        blobs.call("GET", "/box/b", &beyond, b"").await.status,
        200,
        "a range that does not count is not looked at"
    );
}

#[tokio::test]
async fn a_304_names_what_the_client_has() {
    let blobs = with_blob().await;
    let current = blobs.call("HEAD", "/box/b", &[], b"").await;
    let (etag, date) = (current.header("etag").to_owned(), current.header("last-modified").to_owned());
    let weak = format!("W/{etag}");
    for method in ["GET", "HEAD"] {
        let conditions =
            [("If-None-Match", etag.as_str()), ("If-None-Match", weak.as_str()), ("If-Modified-Since", date.as_str())];
        for condition in conditions {
            let answer = blobs.call(method, "/box/b", &[condition], b"").await;
            assert_eq!(answer.verdict(), (304, "ConditionNotMet"), "{method} {condition:?}");
            let named = (answer.header("etag"), answer.header("last-modified"));
            assert_eq!(named, (etag.as_str(), date.as_str()), "{method} {condition:?}");
        }
    }
    // A write compares strongly: whoever has a weak ETag has not seen the very bytes.
    let put = [("x-ms-blob-type", "BlockBlob"), ("If-Match", weak.as_str())];
    assert_eq!(blobs.call("PUT", "/box/b", &put, b"x").await.verdict(), (412, "ConditionNotMet"));
}

#[tokio::test]
async fn an_empty_optional_header_counts_as_absent() {
    let blobs = with_blob().await;
    put(&blobs, "/box/page", "PageBlob", &[("x-ms-blob-content-length", "512"), ("x-ms-lease-id", "")], b"").await;
    let acquire = [("x-ms-lease-action", "acquire"), ("x-ms-lease-duration", "15"), ("x-ms-proposed-lease-id", "")];
    let leased = blobs.call("PUT", "/box/b?comp=lease", &acquire, b"").await;
    assert_eq!(leased.verdict(), (201, ""), "{leased:?}");
    let absent: [(&str, &str, u16); 9] = [
        ("/box/b", "x-ms-lease-id", 200),
        ("/box/b", "x-ms-range", 200),
        ("/box/b", "Range", 200),
        ("/box/b", "x-ms-if-tags", 200),
        ("/box/b", "If-Modified-Since", 200),
        ("/box/b", "If-Unmodified-Since", 200),
        ("/box/b?snapshot=", "x-ms-range-get-content-md5", 200),
        ("/box/b", "If-Match", 400),
        ("/box/b", "If-None-Match", 400),
    ];
    for (target, name, status) in absent {
        let answer = blobs.call("GET", target, &[(name, "")], b"").await;
        assert_eq!(answer.status, status, "{target} {name} {answer:?}");
    }
    for target in ["/box/page?snapshot=", "/box/page?versionid="] {
        assert_eq!(blobs.call("DELETE", target, &[], b"").await.status, 400, "{target}");
        assert_eq!(blobs.call("PUT", &format!("{target}&comp=metadata"), &[], b"").await.status, 400, "{target}");
    }
    assert_eq!(blobs.call("HEAD", "/box/page", &[], b"").await.status, 200, "nothing was deleted");
}
