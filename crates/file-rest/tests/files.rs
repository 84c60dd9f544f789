//! Files: create, ranges, download, properties, metadata, leases, delete.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use std::time::Duration;

use access::{
    account::AccountKey,
    need::Service,
    sas::{Fields, sign::sign},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use support::{create, done, refused, service, with_file, write};

#[tokio::test]
async fn a_file_is_created_written_and_read() {
    let files = service().await;
    done(&files, "PUT", "/abc?restype=share", &[], b"", 201).await;
    let made = create(&files, "/abc/f", 10).await;
    let expected =
        [("x-ms-file-attributes", "Archive"), ("x-ms-file-parent-id", "0"), ("x-ms-request-server-encrypted", "false")];
    for (name, value) in expected {
        assert_eq!(made.header(name), value, "{name}");
    }
    for name in ["etag", "last-modified", "x-ms-file-id", "x-ms-file-permission-key"] {
        assert!(made.has(name), "{name}");
    }
    for name in ["x-ms-file-creation-time", "x-ms-file-last-write-time", "x-ms-file-change-time"] {
        let time = made.header(name);
        assert!(time.len() == 28 && time.ends_with('Z'), "seven digits: {time}");
    }

    let written = write(&files, "/abc/f", 2, b"abc").await;
    assert_eq!(written.header("content-md5"), "kAFQmDzST7DWlj99KOF/cg==");
    assert!(written.has("x-ms-file-last-write-time") && written.header("etag") != made.header("etag"));

    let whole = done(&files, "GET", "/abc/f", &[], b"", 200).await;
    assert_eq!(&whole.body[..], b"\0\0abc\0\0\0\0\0");
    let expected = [
        ("accept-ranges", "bytes"),
        ("content-type", "application/octet-stream"),
        ("x-ms-type", "File"),
        ("x-ms-lease-state", "available"),
        ("x-ms-lease-status", "unlocked"),
        ("x-ms-server-encrypted", "false"),
        ("x-ms-file-id", made.header("x-ms-file-id")),
    ];
    for (name, value) in expected {
        assert_eq!(whole.header(name), value, "{name}");
    }
    let head = done(&files, "HEAD", "/abc/f", &[], b"", 200).await;
    assert_eq!((head.header("content-length"), head.header("etag")), ("10", written.header("etag")));
}

#[tokio::test]
async fn the_md5_of_a_range_is_told_whatever_its_length() {
    let files = service().await;
    done(&files, "PUT", "/abc?restype=share", &[], b"", 201).await;
    create(&files, "/abc/f", 100_000).await;
    for length in [1, 4096, 16 * 1024, 16 * 1024 + 1, 100_000] {
        let bytes: Vec<u8> = (0..length).map(|number: usize| number.to_le_bytes()[0]).collect();
        let written = write(&files, "/abc/f", 0, &bytes).await;
        let range = format!("bytes=0-{}", length - 1);
        let sent = [("x-ms-range", range.as_str()), ("x-ms-range-get-content-md5", "true")];
        let read = done(&files, "GET", "/abc/f", &sent, b"", 206).await;
        assert_eq!(&read.body[..], bytes);
        assert_eq!(written.header("content-md5"), read.header("content-md5"), "{length} bytes");
    }
}

#[tokio::test]
async fn ranges_are_read_with_their_checksums() {
    let files = with_file().await;
    let table = [
        ("bytes=0-3", &b"0123"[..], "bytes 0-3/10"),
        ("bytes=8-", b"89", "bytes 8-9/10"),
        ("bytes=5-100", b"56789", "bytes 5-9/10"),
    ];
    for (range, expected, shown) in table {
        for name in ["x-ms-range", "Range"] {
            let part = done(&files, "GET", "/abc/d/f", &[(name, range)], b"", 206).await;
            assert_eq!((&part.body[..], part.header("content-range")), (expected, shown));
        }
    }
    let sent = [("x-ms-range", "bytes=2-4"), ("x-ms-range-get-content-md5", "true")];
    let part = done(&files, "GET", "/abc/d/f", &sent, b"", 206).await;
    assert_eq!((&part.body[..], part.header("content-md5")), (&b"234"[..], "KJ3/B2adeiPeDviNL3Ep5w=="));
    let behind = files.call("GET", "/abc/d/f", &[("x-ms-range", "bytes=10-")], b"").await;
    assert_eq!((behind.verdict(), behind.header("content-range")), ((416, "InvalidRange"), "bytes */10"));
}

#[tokio::test]
async fn ranges_are_listed_cleared_and_compared() {
    let files = with_file().await;
    let list = async |query: &str, version: &str| {
        let target = format!("/abc/d/f?comp=rangelist{query}");
        done(&files, "GET", &target, &[("x-ms-version", version)], b"", 200).await
    };
    let range = |start: u64, end: u64| format!("<Range><Start>{start}</Start><End>{end}</End></Range>");
    let all = list("", "2021-12-02").await;
    assert_eq!(all.header("x-ms-content-length"), "10");
    assert!(all.text().ends_with(&format!("<Ranges>{}</Ranges>", range(0, 9))), "{all:?}");
    let clear = [("x-ms-write", "clear"), ("x-ms-range", "bytes=3-5")];
    done(&files, "PUT", "/abc/d/f?comp=range", &clear, b"", 201).await;
    let found = list("", "2021-12-02").await.text();
    assert!(found.ends_with(&format!("<Ranges>{}{}</Ranges>", range(0, 2), range(6, 9))), "{found}");
    let page = list("&maxresults=1", "2026-10-06").await;
    assert_eq!(page.element("NextMarker").as_deref(), Some("6"));
    let rest = list("&maxresults=1&marker=6", "2026-10-06").await.text();
    assert!(rest.contains(&range(6, 9)) && rest.contains("<NextMarker></NextMarker>"), "{rest}");

    let taken = done(&files, "PUT", "/abc?restype=share&comp=snapshot", &[], b"", 201).await;
    write(&files, "/abc/d/f", 4, b"x").await;
    let since = list(&format!("&prevsharesnapshot={}", taken.header("x-ms-snapshot")), "2021-12-02").await.text();
    assert!(since.contains(&range(4, 4)) && !since.contains(&range(6, 9)), "{since}");
    let target = format!("/abc/d/f?sharesnapshot={}", taken.header("x-ms-snapshot"));
    let old = done(&files, "GET", &target, &[], b"", 200).await;
    assert_eq!(&old.body[..], b"012\0\0\x006789");
}

#[tokio::test]
async fn properties_are_set_all_together_or_left() {
    let files = with_file().await;
    let properties = async |sent: support::Sent<'_>| {
        let set = done(&files, "PUT", "/abc/d/f?comp=properties", sent, b"", 200).await;
        assert!(set.has("x-ms-file-id") && set.has("x-ms-request-server-encrypted"));
        done(&files, "HEAD", "/abc/d/f", &[], b"", 200).await
    };
    let sent = [("x-ms-content-language", "es"), ("x-ms-content-disposition", "inline"), ("x-ms-content-md5", "AQID")];
    let found = properties(&sent).await;
    assert_eq!((found.header("content-language"), found.header("content-disposition")), ("es", "inline"));
    assert_eq!((found.header("content-md5"), found.has("content-type")), ("AQID", false));
    // A new length leaves the others, and changes the time of the last write.
    let before = done(&files, "HEAD", "/abc/d/f", &[], b"", 200).await;
    files.time.advance(Duration::from_secs(5));
    let found = properties(&[("x-ms-content-length", "4"), ("x-ms-file-last-write-time", "preserve")]).await;
    assert_eq!((found.header("content-length"), found.header("content-language")), ("4", "es"));
    assert_ne!(found.header("x-ms-file-last-write-time"), before.header("x-ms-file-last-write-time"));
    let sent = [("x-ms-file-attributes", "ReadOnly | Hidden"), ("x-ms-file-creation-time", "2019-01-01T00:00:00Z")];
    let found = properties(&sent).await;
    assert_eq!(found.header("x-ms-file-attributes"), "ReadOnly | Hidden");
    assert_eq!(found.header("x-ms-file-creation-time"), "2019-01-01T00:00:00.0000000Z");
    let update = [("x-ms-write", "update"), ("x-ms-range", "bytes=0-0")];
    let read_only = (409, "ReadOnlyAttribute");
    let table: [support::Refusal<'_>; 3] = [
        ("PUT", "/abc/d/f?comp=range", &update, b"a", read_only),
        ("DELETE", "/abc/d/f", &[], b"", read_only),
        ("PUT", "/abc/d/f?comp=metadata", &[], b"", read_only),
    ];
    refused(&files, &table).await;
    let found = properties(&[("x-ms-file-attributes", "None")]).await;
    assert_eq!(found.header("x-ms-file-attributes"), "None");
    done(&files, "DELETE", "/abc/d/f", &[], b"", 202).await;
}

#[tokio::test]
async fn metadata_is_replaced() {
    let files = with_file().await;
    for target in ["/abc/d/f?comp=metadata", "/abc/d?restype=directory&comp=metadata"] {
        let sent = [("x-ms-meta-Color", "blue"), ("x-ms-meta-size", "2")];
        let set = done(&files, "PUT", target, &sent, b"", 200).await;
        assert!(set.has("etag") && set.has("x-ms-request-server-encrypted"));
        for method in ["GET", "HEAD"] {
            let found = done(&files, method, target, &[], b"", 200).await;
            assert_eq!((found.header("x-ms-meta-color"), found.header("x-ms-meta-size")), ("blue", "2"), "{target}");
        }
        done(&files, "PUT", target, &[], b"", 200).await;
        assert!(!done(&files, "GET", target, &[], b"", 200).await.has("x-ms-meta-color"));
    }
}

#[tokio::test]
async fn a_leased_file_is_written_with_the_lease_only() {
    let files = with_file().await;
    let id = "00000000-0000-0000-0000-00000000000a";
    let acquire = [("x-ms-lease-action", "acquire"), ("x-ms-lease-duration", "-1"), ("x-ms-proposed-lease-id", id)];
    let before = done(&files, "HEAD", "/abc/d/f", &[], b"", 200).await;
    let leased = done(&files, "PUT", "/abc/d/f?comp=lease", &acquire, b"", 201).await;
    assert_eq!((leased.header("x-ms-lease-id"), leased.header("etag")), (id, before.header("etag")));
    let found = done(&files, "HEAD", "/abc/d/f", &[], b"", 200).await;
    let lease = ["x-ms-lease-state", "x-ms-lease-status", "x-ms-lease-duration"].map(|name| found.header(name));
    assert_eq!(lease, ["leased", "locked", "infinite"]);
    let other = "00000000-0000-0000-0000-00000000000b";
    let update = |id| [("x-ms-write", "update"), ("x-ms-range", "bytes=0-0"), ("x-ms-lease-id", id)];
    let steal = [("x-ms-lease-action", "acquire"), ("x-ms-lease-duration", "-1")];
    let fixed = [("x-ms-lease-action", "acquire"), ("x-ms-lease-duration", "15")];
    let renew = [("x-ms-lease-action", "renew"), ("x-ms-lease-id", id)];
    let (without, with_other, with_id) = (update(""), update(other), update(id));
    let table: [support::Refusal<'_>; 9] = [
        ("PUT", "/abc/d/f?comp=range", &without[..2], b"x", (412, "LeaseIdMissing")),
        ("PUT", "/abc/d/f?comp=range", &with_other, b"x", (412, "LeaseIdMismatchWithFileOperation")),
        ("PUT", "/abc/d/f?comp=metadata", &[], b"", (412, "LeaseIdMissing")),
        ("DELETE", "/abc/d/f", &[], b"", (412, "LeaseIdMissing")),
        ("GET", "/abc/d/f", &[("x-ms-lease-id", other)], b"", (412, "LeaseIdMismatchWithFileOperation")),
        ("PUT", "/abc/d/f?comp=lease", &steal, b"", (409, "LeaseAlreadyPresent")),
        ("PUT", "/abc/d/f?comp=lease", &fixed, b"", (400, "InvalidHeaderValue")),
        ("PUT", "/abc/d/f?comp=lease", &renew, b"", (400, "InvalidHeaderValue")),
        ("PUT", "/abc/d/f?comp=lease", &[("x-ms-lease-action", "steal")], b"", (400, "InvalidHeaderValue")),
    ];
    refused(&files, &table).await;
    done(&files, "PUT", "/abc/d/f?comp=range", &with_id, b"x", 201).await;
    let broken = done(&files, "PUT", "/abc/d/f?comp=lease", &[("x-ms-lease-action", "break")], b"", 202).await;
    assert_eq!(broken.header("x-ms-lease-time"), "0");
    done(&files, "DELETE", "/abc/d/f", &[], b"", 202).await;
    let sent = [("x-ms-type", "file"), ("x-ms-content-length", "0"), ("x-ms-lease-id", id)];
    refused(&files, &[("PUT", "/abc/d/f", &sent, b"", (412, "LeaseNotPresentWithFileOperation"))]).await;
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_told() {
    let files = with_file().await;
    let file = [("x-ms-type", "file"), ("x-ms-content-length", "1")];
    let (huge, blob) = ([file[0], ("x-ms-content-length", "4398046511105")], [("x-ms-type", "blob"), file[1]]);
    let update = [("x-ms-write", "update"), ("x-ms-range", "bytes=0-0")];
    let range = |range| [("x-ms-write", "update"), ("x-ms-range", range)];
    let (behind, long) = (range("bytes=9-10"), range("bytes=0-4194304"));
    let wrong_md5 = [update[0], update[1], ("Content-MD5", "AAAAAAAAAAAAAAAAAAAAAA==")];
    let wrong_crc64 = [update[0], update[1], ("x-ms-content-crc64", "AAAAAAAAAAA=")];
    let large = vec![0; 4 * 1024 * 1024 + 1];
    let snapshot = "/abc/d/f?sharesnapshot=2020-01-01T00:00:00.0000000Z";
    let (missing, invalid) = ((400, "MissingRequiredHeader"), (400, "InvalidHeaderValue"));
    let table: [support::Refusal<'_>; 26] = [
        ("PUT", "/abc/f", &file[..1], b"", missing),
        ("PUT", "/abc/f", &file[1..], b"", missing),
        ("PUT", "/abc/f", &blob, b"", invalid),
        ("PUT", "/abc/f", &file, b"a", invalid),
        ("PUT", "/abc/f", &huge, b"", invalid),
        ("PUT", "/abc/none/f", &file, b"", (404, "ParentNotFound")),
        ("PUT", "/none/f", &file, b"", (404, "ShareNotFound")),
        ("PUT", "/abc/d", &file, b"", (409, "ResourceTypeMismatch")),
        ("PUT", "/abc/a%3Ab", &file, b"", (400, "InvalidResourceName")),
        ("PUT", snapshot, &file, b"", (400, "ShareSnapshotOperationNotSupported")),
        ("GET", "/abc/d/none", &[], b"", (404, "ResourceNotFound")),
        ("GET", "/abc/none/f", &[], b"", (404, "ParentNotFound")),
        ("GET", snapshot, &[], b"", (404, "ShareSnapshotNotFound")),
        ("GET", "/abc/d/f?sharesnapshot=yesterday", &[], b"", (400, "InvalidQueryParameterValue")),
        ("HEAD", "/abc/d", &[], b"", (404, "ResourceNotFound")),
        ("PUT", "/abc/d/f?comp=range", &update[1..], b"a", missing),
        ("PUT", "/abc/d/f?comp=range", &update[..1], b"a", missing),
        ("PUT", "/abc/d/f?comp=range", &update, b"ab", invalid),
        ("PUT", "/abc/d/f?comp=range", &behind, b"ab", (416, "InvalidRange")),
        ("PUT", "/abc/d/f?comp=range", &long, &large, (413, "RequestBodyTooLarge")),
        ("PUT", "/abc/d/f?comp=range", &wrong_md5, b"a", (400, "Md5Mismatch")),
        ("PUT", "/abc/d/f?comp=range", &wrong_crc64, b"a", (400, "Crc64Mismatch")),
        ("PUT", "/abc/d/none?comp=range", &update, b"a", (404, "ResourceNotFound")),
        ("DELETE", "/abc/d/none", &[], b"", (404, "ResourceNotFound")),
        ("POST", "/abc/d/f", &[], b"", (405, "UnsupportedHttpVerb")),
        ("PUT", "/abc/d/f?comp=block", &[], b"", (400, "InvalidQueryParameterValue")),
    ];
    refused(&files, &table).await;
}

/// The service has none, for reads as for writes.
#[tokio::test]
async fn conditions_are_refused() {
    let files = with_file().await;
    let etag = done(&files, "HEAD", "/abc/d/f", &[], b"", 200).await.header("etag").to_owned();
    let date = "Mon, 01 Jan 2024 00:00:00 GMT";
    let conditions =
        [("If-Match", &*etag), ("If-None-Match", "*"), ("If-Modified-Since", date), ("If-Unmodified-Since", date)];
    for condition in conditions {
        let sent = [condition];
        let verdict = (400, "ConditionHeadersNotSupported");
        let table: [support::Refusal<'_>; 10] = [
            ("GET", "/abc/d/f", &sent, b"", verdict),
            ("HEAD", "/abc/d/f", &sent, b"", verdict),
            ("PUT", "/abc/d/f?comp=metadata", &sent, b"", verdict),
            ("PUT", "/abc/d/f?comp=properties", &sent, b"", verdict),
            ("DELETE", "/abc/d/f", &sent, b"", verdict),
            ("PUT", "/abc/e?restype=directory", &sent, b"", verdict),
            ("GET", "/abc/d?restype=directory", &sent, b"", verdict),
            ("GET", "/abc?restype=share", &sent, b"", verdict),
            ("PUT", "/abc?restype=share&comp=metadata", &sent, b"", verdict),
            ("DELETE", "/abc?restype=share", &sent, b"", verdict),
        ];
        refused(&files, &table).await;
    }
    done(&files, "GET", "/abc/d/f", &[], b"", 200).await;
}

#[tokio::test]
async fn what_does_not_exist_is_refused_by_name() {
    let files = with_file().await;
    let file = [("x-ms-type", "file"), ("x-ms-content-length", "1")];
    let with = |name, value| [file[0], file[1], (name, value)];
    let (mode, restore) = (with("x-ms-mode", "0644"), with("x-ms-file-property-semantics", "Restore"));
    let copy = [("x-ms-copy-source", "http://127.0.0.1/devstoreaccount1/abc/d/f")];
    let (header, query) = ((400, "UnsupportedHeader"), (400, "InvalidQueryParameterValue"));
    let table: [support::Refusal<'_>; 8] = [
        ("PUT", "/abc/g", &mode, b"", header),
        ("PUT", "/abc/g", &restore, b"", header),
        ("PUT", "/other?restype=share", &[("x-ms-enabled-protocols", "NFS")], b"", (400, "InvalidHeaderValue")),
        ("PUT", "/other?restype=share", &[("x-ms-root-squash", "RootSquash")], b"", header),
        ("PUT", "/abc/g?restype=symboliclink", &[("x-ms-link-text", "d/f")], b"", query),
        ("GET", "/abc/g?restype=symboliclink", &[], b"", query),
        ("PUT", "/abc/g?restype=hardlink", &[("x-ms-file-target-file", "/d/f")], b"", query),
        ("GET", "/abc/d/f", &copy, b"", header),
    ];
    refused(&files, &table).await;
    assert_eq!(files.call("GET", "/abc/g", &[], b"").await.verdict(), (404, "ResourceNotFound"));
}

#[tokio::test]
async fn a_range_comes_from_another_file_by_its_own_credential() {
    let files = with_file().await;
    create(&files, "/abc/g", 10).await;
    let key = AccountKey::new(&BASE64_STANDARD.decode(testkit::KEY).unwrap());
    let fields = Fields {
        version: Some("2021-12-02"),
        permissions: Some("r"),
        expiry: Some("2099-01-01"),
        resource: Some("f"),
        ..Fields::default()
    };
    let signed = sign(&key, Service::File, testkit::ACCOUNT, Some("abc"), Some("d/f"), &fields).unwrap();
    let encode = |text: &str| text.replace('%', "%25").replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    let query: Vec<String> = signed.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
    let bare = "http://127.0.0.1/devstoreaccount1/abc/d/f";
    let source = format!("{bare}?{}", query.join("&"));
    let sent = [
        ("x-ms-write", "update"),
        ("x-ms-range", "bytes=1-3"),
        ("x-ms-source-range", "bytes=4-6"),
        ("x-ms-copy-source", source.as_str()),
    ];
    let written = done(&files, "PUT", "/abc/g?comp=range", &sent, b"", 201).await;
    assert!(written.has("x-ms-content-crc64") && written.has("etag"));
    assert_eq!(&done(&files, "GET", "/abc/g", &[], b"", 200).await.body[..], b"\x00456\0\0\0\0\0\0");
    let crc64 = written.header("x-ms-content-crc64").to_owned();
    let same = [&sent[..], &[("x-ms-source-if-match-crc64", crc64.as_str())]].concat();
    done(&files, "PUT", "/abc/g?comp=range", &same, b"", 201).await;
    let other = [&sent[..], &[("x-ms-source-if-none-match-crc64", crc64.as_str())]].concat();
    let unsigned = [sent[0], sent[1], sent[2], ("x-ms-copy-source", bare)];
    let longer = [sent[0], sent[1], ("x-ms-source-range", "bytes=4-7"), sent[3]];
    let table: [support::Refusal<'_>; 4] = [
        ("PUT", "/abc/g?comp=range", &other, b"", (412, "SourceConditionNotMet")),
        ("PUT", "/abc/g?comp=range", &unsigned, b"", (401, "CannotVerifyCopySource")),
        ("PUT", "/abc/g?comp=range", &longer, b"", (400, "InvalidHeaderValue")),
        ("PUT", "/abc/none?comp=range", &sent, b"", (404, "ResourceNotFound")),
    ];
    refused(&files, &table).await;
}

#[tokio::test]
async fn a_file_is_created_with_data_in_new_versions() {
    let files = with_file().await;
    let sent = [("x-ms-type", "file"), ("x-ms-content-length", "6"), ("x-ms-version", "2026-06-06")];
    done(&files, "PUT", "/abc/g", &sent, b"data", 201).await;
    assert_eq!(&done(&files, "GET", "/abc/g", &[], b"", 200).await.body[..], b"data\0\0");
}

#[tokio::test]
async fn old_versions_say_less_and_must_say_more() {
    let files = with_file().await;
    let file = [("x-ms-type", "file"), ("x-ms-content-length", "1"), ("x-ms-version", "2018-11-09")];
    let made = done(&files, "PUT", "/abc/old", &file, b"", 201).await;
    assert!(!made.has("x-ms-file-id") && !made.has("x-ms-file-attributes"));
    let file = [file[0], file[1], ("x-ms-version", "2019-07-07")];
    refused(&files, &[("PUT", "/abc/old", &file, b"", (400, "MissingRequiredHeader"))]).await;
    let all = [
        ("x-ms-file-attributes", "None"),
        ("x-ms-file-creation-time", "Now"),
        ("x-ms-file-last-write-time", "Now"),
        ("x-ms-file-permission", "Inherit"),
    ];
    let made = done(&files, "PUT", "/abc/old", &[&file[..], &all[..]].concat(), b"", 201).await;
    assert_eq!(made.header("x-ms-file-attributes"), "Archive");
    let range = [("x-ms-write", "update"), ("x-ms-range", "bytes=0-0"), ("x-ms-version", "2019-07-07")];
    let before = done(&files, "HEAD", "/abc/old", &[], b"", 200).await;
    files.time.advance(Duration::from_secs(5));
    let written = done(&files, "PUT", "/abc/old?comp=range", &range, b"a", 201).await;
    assert!(!written.has("x-ms-file-last-write-time"));
    // To keep the time came with the header; before, every write changes it.
    let after = done(&files, "HEAD", "/abc/old", &[], b"", 200).await;
    assert_ne!(after.header("x-ms-file-last-write-time"), before.header("x-ms-file-last-write-time"));
}
