//! Copy File and Abort Copy File: from files of this server and from elsewhere, and what is told about both ends.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use std::{
    sync::{Arc, atomic::AtomicBool, atomic::Ordering},
    time::Duration,
};

use account::Settings;
use bytes::Bytes;
use file::Files;
use file_rest::{FileService, PendingCopies};
use http::StatusCode;
use jobs::Work;
use rest::{
    BoxFuture, Headers, Shutdown,
    outgoing::{Fetch, FetchError, Fetched, Outgoing, Pieces},
};
use support::{Sent, create, done, refused, with_file, write};
use testkit::{Answer, RestService};
use transfer::{Here, Pace, Transfers};

const SOURCE: &str = "http://127.0.0.1/devstoreaccount1/abc/d/f";

async fn copy(files: &RestService, target: &str, source: &str, further: Sent<'_>) -> Answer {
    let sent = [&[("x-ms-copy-source", source)], further].concat();
    files.call("PUT", target, &sent, b"").await
}

#[tokio::test]
async fn a_file_is_copied_at_once_with_what_is_asked_for() {
    let files = with_file().await;
    let set = [
        ("x-ms-content-type", "text/x"),
        ("x-ms-file-attributes", "Hidden"),
        ("x-ms-file-creation-time", "2001-02-03T04:05:06.7000000Z"),
    ];
    done(&files, "PUT", "/abc/d/f?comp=properties", &set, b"", 200).await;
    done(&files, "PUT", "/abc/d/f?comp=metadata", &[("x-ms-meta-a", "1")], b"", 200).await;
    let copied = copy(&files, "/abc/copy", SOURCE, &[]).await;
    assert_eq!((copied.verdict(), copied.header("x-ms-copy-status")), ((202, ""), "success"), "{copied:?}");
    let found = done(&files, "GET", "/abc/copy", &[], b"", 200).await;
    assert_eq!((&found.body[..], found.header("etag")), (&b"0123456789"[..], copied.header("etag")));
    let expected = [
        ("x-ms-copy-id", copied.header("x-ms-copy-id")),
        ("x-ms-copy-status", "success"),
        ("x-ms-copy-progress", "10/10"),
        ("x-ms-copy-source", SOURCE),
        ("content-type", "text/x"),
        ("x-ms-meta-a", "1"),
        ("x-ms-file-attributes", "Archive"),
    ];
    for (name, value) in expected {
        assert_eq!(found.header(name), value, "{name}");
    }
    assert!(found.has("x-ms-copy-completion-time"));
    let of_source = [
        ("x-ms-file-attributes", "source"),
        ("x-ms-file-copy-set-archive", "true"),
        ("x-ms-file-creation-time", "source"),
        ("x-ms-file-last-write-time", "2002-02-03T04:05:06.7000000Z"),
        ("x-ms-file-permission-copy-mode", "source"),
        ("x-ms-meta-b", "2"),
    ];
    assert_eq!(copy(&files, "/abc/copy", SOURCE, &of_source).await.status, 202);
    let found = done(&files, "HEAD", "/abc/copy", &[], b"", 200).await;
    let source = done(&files, "HEAD", "/abc/d/f", &[], b"", 200).await;
    assert_eq!(found.header("x-ms-file-attributes"), "Hidden | Archive");
    assert_eq!(found.header("x-ms-file-creation-time"), "2001-02-03T04:05:06.7000000Z");
    assert_eq!(found.header("x-ms-file-last-write-time"), "2002-02-03T04:05:06.7000000Z");
    assert_eq!(found.header("x-ms-file-permission-key"), source.header("x-ms-file-permission-key"));
    assert_eq!((found.header("x-ms-meta-b"), found.has("x-ms-meta-a")), ("2", false));
    // What was set since is not what was copied.
    done(&files, "PUT", "/abc/copy?comp=properties", &[("x-ms-content-type", "text/y")], b"", 200).await;
    assert!(!done(&files, "HEAD", "/abc/copy", &[], b"", 200).await.has("x-ms-copy-id"));
}

#[tokio::test]
async fn a_snapshot_and_another_share_are_copied_from() {
    let files = with_file().await;
    let taken = done(&files, "PUT", "/abc?restype=share&comp=snapshot", &[], b"", 201).await;
    write(&files, "/abc/d/f", 0, b"xyz").await;
    done(&files, "PUT", "/other?restype=share", &[], b"", 201).await;
    let source = format!("{SOURCE}?sharesnapshot={}", taken.header("x-ms-snapshot"));
    let permission = [("x-ms-file-permission-copy-mode", "source")];
    assert_eq!(copy(&files, "/other/copy", &source, &permission).await.verdict(), (202, ""));
    let found = done(&files, "GET", "/other/copy", &[], b"", 200).await;
    assert_eq!((&found.body[..], found.header("x-ms-copy-source")), (&b"0123456789"[..], source.as_str()));
    let key = [("x-ms-file-permission-key", found.header("x-ms-file-permission-key"))];
    done(&files, "GET", "/other?restype=share&comp=filepermission", &key, b"", 200).await;
}

#[tokio::test]
async fn what_stands_against_a_copy_is_told() {
    let files = with_file().await;
    create(&files, "/abc/g", 1).await;
    done(&files, "PUT", "/abc/g?comp=properties", &[("x-ms-file-attributes", "ReadOnly")], b"", 200).await;
    let of = |source: &'static str| [("x-ms-copy-source", source)];
    let (good, none) = (of(SOURCE), of("http://127.0.0.1/devstoreaccount1/abc/none"));
    let (no_share, no_url) = (of("http://127.0.0.1/devstoreaccount1/none/f"), of("abc/d/f"));
    let stranger = of("http://127.0.0.1/stranger/abc/d/f");
    let elsewhere = of("http://elsewhere.test/f");
    let with = |name, value| [good[0], (name, value)];
    let (lease, mode) = (with("x-ms-lease-id", "00000000-0000-0000-0000-00000000000a"), with("x-ms-mode", "0644"));
    let condition = with("x-ms-source-if-match", "\"0x1\"");
    let of_elsewhere = [elsewhere[0], ("x-ms-file-attributes", "source")];
    let abort = [("x-ms-copy-action", "abort")];
    let (cannot, invalid) = ("CannotVerifyCopySource", "InvalidHeaderValue");
    let table: [support::Refusal<'_>; 17] = [
        ("PUT", "/abc/h", &none, b"", (404, cannot)),
        ("PUT", "/abc/h", &no_share, b"", (404, cannot)),
        ("PUT", "/abc/h", &no_url, b"", (400, invalid)),
        ("PUT", "/abc/h", &stranger, b"", (403, cannot)),
        ("PUT", "/abc/h", &elsewhere, b"", (404, cannot)),
        ("PUT", "/abc/h", &of_elsewhere, b"", (400, invalid)),
        ("PUT", "/abc/h", &condition, b"", (412, "SourceConditionNotMet")),
        ("PUT", "/abc/h", &good, b"body", (400, invalid)),
        ("PUT", "/abc/h", &mode, b"", (400, "UnsupportedHeader")),
        ("PUT", "/abc/h", &lease, b"", (412, "LeaseNotPresentWithFileOperation")),
        ("PUT", "/abc/none/h", &good, b"", (404, "ParentNotFound")),
        ("PUT", "/none/h", &good, b"", (404, "ShareNotFound")),
        ("PUT", "/abc/d", &good, b"", (409, "ResourceTypeMismatch")),
        ("PUT", "/abc/g", &good, b"", (409, "ReadOnlyAttribute")),
        ("PUT", "/abc/d/f?comp=copy&copyid=1", &abort, b"", (409, "NoPendingCopyOperation")),
        ("PUT", "/abc/d/f?comp=copy", &abort, b"", (400, "MissingRequiredQueryParameter")),
        ("PUT", "/abc/d/f?comp=copy&copyid=1", &[("x-ms-copy-action", "stop")], b"", (400, invalid)),
    ];
    refused(&files, &table).await;
    assert_eq!(files.call("HEAD", "/abc/h", &[], b"").await.status, 404, "nothing was made");
    for name in ["x-ms-file-copy-ignore-readonly", "x-ms-file-copy-ignore-read-only"] {
        assert_eq!(copy(&files, "/abc/g", SOURCE, &[(name, "true")]).await.status, 202, "{name}");
        done(&files, "PUT", "/abc/g?comp=properties", &[("x-ms-file-attributes", "ReadOnly")], b"", 200).await;
    }
    let unsigned = files.unsigned("PUT", "/abc/h", &good, b"").await;
    assert_eq!(unsigned.status, 401, "{unsigned:?}");
}

/// A source whose second half comes when it is let go.
#[derive(Default)]
struct Elsewhere {
    let_go: Arc<AtomicBool>,
}

const CONTENT: &[u8] = b"0123456789";

struct Halves {
    left: Vec<Bytes>,
    let_go: Arc<AtomicBool>,
}

impl Pieces for Halves {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, FetchError>> {
        Box::pin(async move {
            if self.left.len() == 1 && !self.let_go.load(Ordering::SeqCst) {
                return Err(FetchError::Unreachable("it broke off".to_owned()));
            }
            Ok((!self.left.is_empty()).then(|| self.left.remove(0)))
        })
    }
}

impl Outgoing for Elsewhere {
    fn fetch(&self, request: Fetch) -> BoxFuture<'_, Result<Fetched, FetchError>> {
        Box::pin(async move {
            let ranged = request.headers.iter().any(|(name, _)| name == http::header::RANGE);
            let from = if ranged { CONTENT.len() / 2 } else { 0 };
            let rest = CONTENT.get(from..).unwrap_or_default();
            let mut headers = Headers::new();
            headers.append("content-length", rest.len().to_string());
            headers.append("content-type", "text/elsewhere");
            headers.append("x-ms-meta-from", "elsewhere");
            headers.append("etag", "\"1\"");
            let (half, let_go) = (CONTENT.len() / 2, Arc::clone(&self.let_go));
            let left = rest.chunks(half).map(Bytes::copy_from_slice).collect();
            let status = if ranged { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
            Ok(Fetched { status, headers, body: Box::new(Halves { left, let_go }) })
        })
    }
}

/// Goes on with copies, those that were told of and those that are found.
async fn run(copies: &Arc<Transfers>, files: &RestService, shutdown: Shutdown) {
    let pending = PendingCopies::new(Files::new(files.store.clone()));
    tokio::join!(drive(copies.work(shutdown)), drive(copies.finding(pending)));
}

async fn drive(mut work: Box<dyn Work>) {
    loop {
        let pause = if work.step().await.unwrap().more { Duration::from_millis(20) } else { Duration::from_secs(30) };
        // Either is a reason for the next step.
        drop(tokio::time::timeout(pause, work.wanted()).await);
    }
}

async fn until(files: &RestService, target: &str, progress: &str) -> Answer {
    loop {
        let found = done(files, "HEAD", target, &[], b"", 200).await;
        if found.header("x-ms-copy-progress") == progress {
            return found;
        }
        tokio::task::yield_now().await;
    }
}

fn transfers(outgoing: Arc<Elsewhere>) -> Arc<Transfers> {
    let pace = Pace { first_pause: Duration::from_millis(1), ..Pace::default() };
    Arc::new(Transfers::new(outgoing, Here::default()).with_pace(pace))
}

fn built(copies: Arc<Transfers>) -> impl FnOnce(testkit::Parts) -> Arc<dyn rest::Service> {
    |parts| {
        let (files, settings) = (Files::new(parts.store.clone()), Settings::new(parts.store));
        Arc::new(FileService::new(files, settings, parts.accounts, copies))
    }
}

#[tokio::test]
async fn a_copy_from_elsewhere_goes_on_after_a_restart_and_can_be_aborted() {
    let elsewhere = Arc::new(Elsewhere::default());
    let copies = transfers(Arc::clone(&elsewhere));
    let files = RestService::new(built(Arc::clone(&copies))).await.unwrap();
    done(&files, "PUT", "/abc?restype=share", &[], b"", 201).await;
    for target in ["/abc/f", "/abc/aborted"] {
        let begun = copy(&files, target, "http://elsewhere.test/f?sig=secret", &[]).await;
        assert_eq!((begun.verdict(), begun.header("x-ms-copy-status")), ((202, ""), "pending"), "{begun:?}");
    }
    let (_stop, shutdown) = Shutdown::channel();
    let halfway = async {
        until(&files, "/abc/aborted", "5/10").await;
        until(&files, "/abc/f", "5/10").await
    };
    let found = tokio::select! {
        found = halfway => found,
        () = run(&copies, &files, shutdown.clone()) => unreachable!("it goes on for ever"),
    };
    assert_eq!((found.header("x-ms-copy-status"), found.header("content-length")), ("pending", "0"));
    assert_eq!(found.header("x-ms-copy-source"), "http://elsewhere.test/f");
    let range = [("x-ms-write", "update"), ("x-ms-range", "bytes=0-0")];
    let other = [("x-ms-copy-action", "abort")];
    let pending = (409, "PendingCopyOperation");
    let table: [support::Refusal<'_>; 5] = [
        ("PUT", "/abc/f?comp=range", &range, b"x", pending),
        ("PUT", "/abc/f?comp=metadata", &[], b"", pending),
        ("PUT", "/abc/f", &[("x-ms-type", "file"), ("x-ms-content-length", "0")], b"", pending),
        ("PUT", "/abc/f", &[("x-ms-copy-source", "http://elsewhere.test/f")], b"", pending),
        ("PUT", "/abc/f?comp=copy&copyid=other", &other, b"", (409, "CopyIdMismatch")),
    ];
    refused(&files, &table).await;
    let aborted = done(&files, "HEAD", "/abc/aborted", &[], b"", 200).await;
    let target = format!("/abc/aborted?comp=copy&copyid={}", aborted.header("x-ms-copy-id"));
    done(&files, "PUT", &target, &other, b"", 204).await;
    let aborted = done(&files, "HEAD", "/abc/aborted", &[], b"", 200).await;
    let state = ["x-ms-copy-status", "content-length", "x-ms-meta-from"].map(|name| aborted.header(name));
    assert_eq!(state, ["aborted", "0", "elsewhere"]);

    elsewhere.let_go.store(true, Ordering::SeqCst);
    let copies = transfers(elsewhere);
    let files = files.restart(built(Arc::clone(&copies))).await.unwrap();
    let found = tokio::select! {
        found = until(&files, "/abc/f", "10/10") => found,
        () = run(&copies, &files, shutdown) => unreachable!("it goes on for ever"),
    };
    assert_eq!((found.header("x-ms-copy-status"), found.header("content-type")), ("success", "text/elsewhere"));
    assert_eq!(&done(&files, "GET", "/abc/f", &[], b"", 200).await.body[..], CONTENT);
}
