//! Handles of SMB clients beside REST: listed and closed; what they cache is waited for.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use std::time::Duration;

use concurrency::oplock::{CacheGrant, Caching};
use file::opens::Notice;
use support::{Refusal, done, opens::Shared, refused, with_file};

/// The ids that a page of handles names, in order.
fn ids(text: &str) -> Vec<String> {
    let parts = text.split("<HandleId>").skip(1);
    parts.filter_map(|part| part.split('<').next()).map(str::to_owned).collect()
}

#[tokio::test]
async fn handles_are_listed_by_file_by_directory_and_below() {
    let shared = Shared::new().await;
    let file = shared.open("d/f", Caching::None).await.handle;
    let directory = shared.open("d", Caching::None).await.handle;
    let root = shared.open("", Caching::None).await.handle;
    let number = |handle: &file::opens::Handle| handle.id().number().to_string();
    let list = async |target: &str, recursive: &str| {
        let sent = [("x-ms-recursive", recursive), ("x-ms-version", "2024-11-04")];
        done(&shared.rest, "GET", target, &sent, b"", 200).await.text()
    };
    let table = [
        ("/abc/d/f?comp=listhandles", "false", vec![number(&file)]),
        ("/abc/d?comp=listhandles", "false", vec![number(&directory)]),
        ("/abc/d?comp=listhandles", "true", vec![number(&file), number(&directory)]),
        ("/abc?comp=listhandles", "false", vec![number(&root)]),
        ("/abc?comp=listhandles", "true", vec![number(&file), number(&directory), number(&root)]),
    ];
    for (target, recursive, mut expected) in table {
        expected.sort_by_key(|id| id.parse::<u64>().unwrap());
        assert_eq!(ids(&list(target, recursive).await), expected, "{target} {recursive}");
    }
    let found = list("/abc/d/f?comp=listhandles", "false").await;
    for part in [
        "<Path>d/f</Path>",
        "<SessionId>3</SessionId>",
        "<ClientIp>10.0.0.7:5000</ClientIp>",
        "<ClientName>machine</ClientName>",
        "<AccessRightList><AccessRight>Read</AccessRight></AccessRightList>",
        "<OpenTime>",
    ] {
        assert!(found.contains(part), "{part}: {found}");
    }
    let table: [Refusal<'_>; 3] = [
        ("GET", "/abc/d/f?comp=listhandles", &[("x-ms-recursive", "true")], b"", (400, "InvalidHeaderValue")),
        ("GET", "/abc/none?comp=listhandles", &[], b"", (404, "ResourceNotFound")),
        ("GET", "/abc/d?comp=listhandles&marker=x", &[], b"", (400, "InvalidQueryParameterValue")),
    ];
    refused(&shared.rest, &table).await;
}

#[tokio::test]
async fn handles_are_listed_in_pages() {
    let shared = Shared::new().await;
    let mut handles = Vec::new();
    for _ in 0..7 {
        handles.push(shared.open("d/f", Caching::None).await.handle);
    }
    let (mut found, mut marker, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let target = format!("/abc?comp=listhandles&maxresults=3&marker={marker}");
        let page = done(&shared.rest, "GET", &target, &[("x-ms-recursive", "true")], b"", 200).await;
        found.extend(ids(&page.text()));
        pages += 1;
        marker = page.element("NextMarker").unwrap_or_default();
        if marker.is_empty() {
            break;
        }
    }
    let mut expected: Vec<u64> = handles.iter().map(|handle| handle.id().number()).collect();
    expected.sort_unstable();
    assert_eq!((found, pages), (expected.iter().map(u64::to_string).collect(), 3));
}

#[tokio::test]
async fn handles_are_closed_one_by_one_and_all_together() {
    let shared = Shared::new().await;
    let one = shared.open("d/f", Caching::None).await.handle;
    let others = [shared.open("d/f", Caching::None).await.handle, shared.open("d", Caching::None).await.handle];
    let close = async |target: &str, id: &str, recursive: &str| {
        let sent = [("x-ms-handle-id", id), ("x-ms-recursive", recursive)];
        let closed = done(&shared.rest, "PUT", target, &sent, b"", 200).await;
        assert_eq!(closed.header("x-ms-number-of-handles-failed"), "0");
        closed.header("x-ms-number-of-handles-closed").to_owned()
    };
    refused(&shared.rest, &[("DELETE", "/abc/d/f", &[], b"", (409, "SharingViolation"))]).await;
    let id = one.id().number().to_string();
    assert_eq!(close("/abc/d?comp=forceclosehandles", &id, "false").await, "0", "it is not on the directory");
    assert_eq!(close("/abc/d/f?comp=forceclosehandles", &id, "false").await, "1");
    assert_eq!(close("/abc/d/f?comp=forceclosehandles", &id, "false").await, "0", "it is closed already");
    assert_eq!(close("/abc?comp=forceclosehandles", "*", "false").await, "0");
    assert_eq!(close("/abc?comp=forceclosehandles", "*", "true").await, "2");
    let told = shared.notices.lock().unwrap().iter().filter(|told| matches!(told, Notice::Closed { .. })).count();
    assert_eq!(told, 3, "each client learns it");
    done(&shared.rest, "DELETE", "/abc/d/f", &[], b"", 202).await;
    drop((one, others));
    let table: [Refusal<'_>; 2] = [
        ("PUT", "/abc/d?comp=forceclosehandles", &[], b"", (400, "MissingRequiredHeader")),
        ("PUT", "/abc/d?comp=forceclosehandles", &[("x-ms-handle-id", "x")], b"", (400, "InvalidHeaderValue")),
    ];
    refused(&shared.rest, &table).await;
}

#[tokio::test]
async fn a_marked_file_goes_when_its_last_handle_is_closed_by_force() {
    let shared = Shared::new().await;
    let opened = shared.open_to_delete("d/f").await;
    shared.files.set_disposition(&opened.handle, true).await.unwrap();
    refused(&shared.rest, &[("GET", "/abc/d/f", &[], b"", (409, "SMBDeletePending"))]).await;
    let listed = done(&shared.rest, "GET", "/abc/d?restype=directory&comp=list", &[], b"", 200).await.text();
    assert!(!listed.contains("<Name>f</Name>"), "{listed}");
    let sent = [("x-ms-handle-id", "*"), ("x-ms-recursive", "true")];
    done(&shared.rest, "PUT", "/abc?comp=forceclosehandles", &sent, b"", 200).await;
    refused(&shared.rest, &[("GET", "/abc/d/f", &[], b"", (404, "ResourceNotFound"))]).await;
}

/// A client that caches writes answers while the request waits: the request is done.
#[tokio::test]
async fn a_request_waits_for_a_client_that_gives_up_its_cache() {
    let shared = Shared::new().await;
    let opened = shared.open("d/f", Caching::Rwh).await;
    assert_eq!(opened.handle.caching(), CacheGrant::Lease(Caching::Rwh));
    let read = shared.rest.call("GET", "/abc/d/f", &[], b"");
    let answers = async {
        // As soon as it is told; until then the request is on its way.
        let (file, key) = loop {
            let told = shared.notices.lock().unwrap().first().copied();
            if let Some(Notice::Break { file, key, must_acknowledge: true, .. }) = told {
                break (file, key);
            }
            tokio::task::yield_now().await;
        };
        shared.files.opens().acknowledge(file, key, CacheGrant::Lease(Caching::Rh), shared.files.now()).unwrap();
    };
    let (read, ()) = tokio::join!(read, answers);
    assert_eq!((read.status, &read.body[..]), (200, &b"0123456789"[..]), "{read:?}");
    drop(opened);
}

/// A client that never answers: the request is told why, before its own time is over.
#[tokio::test]
async fn a_request_does_not_wait_for_ever_for_a_cache() {
    let shared = Shared::new().await;
    let opened = shared.open("d/f", Caching::Rwh).await;
    let sent = [("x-ms-write", "update"), ("x-ms-range", "bytes=0-0")];
    let delayed = (500, "ClientCacheFlushDelay");
    let table: [Refusal<'_>; 2] = [
        ("GET", "/abc/d/f?timeout=1", &[], b"", delayed),
        ("PUT", "/abc/d/f?comp=range&timeout=1", &sent, b"x", delayed),
    ];
    refused(&shared.rest, &table).await;
    // Its time ends, whatever it does.
    shared.rest.time.advance(Duration::from_secs(60));
    shared.files.tend_opens().await.unwrap();
    done(&shared.rest, "GET", "/abc/d/f", &[], b"", 200).await;
    drop(opened);
}

#[tokio::test]
async fn nothing_is_open_where_nobody_opened_anything() {
    let files = with_file().await;
    let sent = [("x-ms-recursive", "true")];
    let found = done(&files, "GET", "/abc?comp=listhandles", &sent, b"", 200).await.text();
    assert!(found.contains("<Entries></Entries>") || found.contains("<Entries />"), "{found}");
}
