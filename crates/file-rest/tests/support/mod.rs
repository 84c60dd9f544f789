//! The File service, called as a function, and the words that tables are written in.

#![allow(dead_code, reason = "each test needs some of it")]

pub(crate) mod opens;

use std::sync::Arc;

use access::{
    account::AccountKey,
    bearer::{Bearer, BearerSettings},
    need::Service,
    sas::{Fields, sign::sign},
};
use account::Settings;
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD as URL_SAFE_NO_PAD};
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
    fill(&files).await;
    files
}

/// Makes the share, the directory and the file.
pub(crate) async fn fill(files: &RestService) {
    done(files, "PUT", "/abc?restype=share", &[], b"", 201).await;
    done(files, "PUT", "/abc/d?restype=directory", &[], b"", 201).await;
    create(files, "/abc/d/f", 10).await;
    write(files, "/abc/d/f", 0, b"0123456789").await;
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

/// The query of a signature with the account's key, for a share or something in it.
pub(crate) fn signed(path: Option<&str>, fields: &Fields<'_>) -> String {
    let key = AccountKey::parse(testkit::KEY).unwrap();
    let signed = sign(&key, Service::File, testkit::ACCOUNT, Some("abc"), path, fields).unwrap();
    let pairs: Vec<String> =
        signed.iter().map(|(name, value)| format!("{name}={}", rest::percent::encode(value))).collect();
    pairs.join("&")
}

/// A token that the service believes.
pub(crate) fn token() -> String {
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let claims = r#"{"iss":"https://issuer.test/","aud":"https://storage.azure.com","oid":"o","tid":"t","nbf":0,"exp":9999999999}"#;
    format!("Bearer {}.{}.", part(r#"{"alg":"none"}"#), part(claims))
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
