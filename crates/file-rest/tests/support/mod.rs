//! The File service, called as a function, and the words that tables are written in.

#![allow(dead_code, reason = "each test needs some of it")]

use std::sync::Arc;

use access::bearer::{Bearer, BearerSettings};
use account::Settings;
use file::Files;
use file_rest::FileService;
use testkit::{Answer, Nowhere, RestService};
use transfer::{Here, Transfers};

/// Headers of a request.
pub(crate) type Sent<'a> = &'a [(&'a str, &'a str)];

/// A new service, with nothing in it. Tokens need no signature.
pub(crate) async fn service() -> RestService {
    let bearer = Bearer::new(BearerSettings { unsigned: true, ..BearerSettings::default() });
    RestService::with_tokens(bearer, build).await.unwrap()
}

/// The service on what a store holds.
pub(crate) fn build(parts: testkit::Parts) -> Arc<dyn rest::Service> {
    let (files, settings) = (Files::new(parts.store.clone()), Settings::new(parts.store));
    let transfers = Arc::new(Transfers::new(Arc::new(Nowhere), Here::default()));
    Arc::new(FileService::new(files, settings, parts.accounts, transfers))
}

/// A service with the share `abc`, the directory `d`, and the file `d/f` of ten bytes, `0123456789`.
pub(crate) async fn with_file() -> RestService {
    let files = service().await;
    done(&files, "PUT", "/abc?restype=share", &[], b"", 201).await;
    done(&files, "PUT", "/abc/d?restype=directory", &[], b"", 201).await;
    create(&files, "/abc/d/f", 10).await;
    write(&files, "/abc/d/f", 0, b"0123456789").await;
    files
}

/// Creates a file.
pub(crate) async fn create(files: &RestService, target: &str, length: u64) -> Answer {
    let sent = [("x-ms-type", "file"), ("x-ms-content-length", &length.to_string())];
    done(files, "PUT", target, &sent, b"", 201).await
}

/// Writes a range.
pub(crate) async fn write(files: &RestService, target: &str, start: usize, bytes: &[u8]) -> Answer {
    let range = format!("bytes={start}-{}", start + bytes.len() - 1);
    let sent = [("x-ms-write", "update"), ("x-ms-range", range.as_str())];
    done(files, "PUT", &format!("{target}?comp=range"), &sent, bytes, 201).await
}

/// A call that must have this status.
pub(crate) async fn done(
    files: &RestService,
    method: &str,
    target: &str,
    sent: Sent<'_>,
    body: &[u8],
    status: u16,
) -> Answer {
    let answer = files.call(method, target, sent, body).await;
    assert_eq!(answer.status, status, "{method} {target}: {answer:?}");
    answer
}

/// A row of a table of refusals: method, target, headers, body, status and code.
pub(crate) type Refusal<'a> = (&'a str, &'a str, Sent<'a>, &'a [u8], (u16, &'a str));

/// Every call is refused as its row says.
pub(crate) async fn refused(files: &RestService, table: &[Refusal<'_>]) {
    for (method, target, sent, body, expected) in table {
        let answer = files.call(method, target, sent, body).await;
        assert_eq!(answer.verdict(), *expected, "{method} {target} {sent:?}: {answer:?}");
    }
}
