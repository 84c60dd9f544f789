//! Copies in the background, and sources that are slow: they cost their own account at most.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use account::Settings;
use blob::Blobs;
use blob_rest::{BlobService, PendingCopies};
use bytes::Bytes;
use http::StatusCode;
use jobs::Work;
use rest::{
    BoxFuture, Headers, Shutdown,
    outgoing::{Fetch, FetchError, Fetched, Outgoing, Pieces},
};
use testkit::RestService;
use tokio::sync::Notify;
use transfer::{Here, Pace, Transfers};

/// Sources whose first bytes come, and whose rest never does; those named `quick` are there at once.
struct Elsewhere {
    asked: AtomicUsize,
    changed: Notify,
}

const LENGTH: usize = 1000;

struct Stalling(usize);

impl Pieces for Stalling {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, FetchError>> {
        Box::pin(async move {
            if self.0 == 0 {
                return std::future::pending().await;
            }
            let piece = Bytes::from(vec![b'x'; self.0]);
            self.0 = 0;
            Ok(Some(piece))
        })
    }
}

impl Outgoing for Elsewhere {
    fn fetch(&self, request: Fetch) -> BoxFuture<'_, Result<Fetched, FetchError>> {
        Box::pin(async move {
            let from = request.headers.iter().find(|(name, _)| name == http::header::RANGE);
            let from: usize =
                from.map_or(0, |(_, range)| range.trim_matches(|it: char| !it.is_ascii_digit()).parse().unwrap());
            let status = if from > 0 { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
            let mut headers = Headers::new();
            headers.append("content-length", (LENGTH - from).to_string());
            headers.append("etag", "\"1\"");
            let bytes = if request.url.contains("quick") { LENGTH - from } else { 10 };
            if !request.head {
                self.asked.fetch_add(1, Ordering::SeqCst);
                self.changed.notify_one();
            }
            Ok(Fetched { status, headers, body: Box::new(Stalling(bytes)) })
        })
    }
}

async fn world(pace: Pace) -> (RestService, Arc<Transfers>, Arc<Elsewhere>) {
    let outgoing = Arc::new(Elsewhere { asked: AtomicUsize::new(0), changed: Notify::new() });
    let copies = Arc::new(Transfers::new(Arc::<Elsewhere>::clone(&outgoing), Here::default()).with_pace(pace));
    let shared = Arc::clone(&copies);
    let build = |parts: testkit::Parts| -> Arc<dyn rest::Service> {
        let (blobs, settings) = (Blobs::new(parts.store.clone()), Settings::new(parts.store));
        Arc::new(BlobService::new(blobs, settings, parts.accounts, shared))
    };
    let blobs = RestService::new(build).await.unwrap();
    assert_eq!(blobs.call("PUT", "/box?restype=container", &[], b"").await.status, 201);
    (blobs, copies, outgoing)
}

/// Goes on with copies, those that were told of and those that are found.
async fn run(copies: &Arc<Transfers>, blobs: &RestService, shutdown: Shutdown) {
    let pending = PendingCopies::new(Blobs::new(blobs.store.clone()));
    let (turns, found) = (copies.work(shutdown), copies.finding(pending));
    tokio::join!(drive(turns), drive(found));
}

async fn drive(mut work: Box<dyn Work>) {
    loop {
        let pause = if work.step().await.unwrap().more { Duration::from_millis(20) } else { Duration::from_secs(30) };
        // Either is a reason for the next step.
        drop(tokio::time::timeout(pause, work.wanted()).await);
    }
}

async fn begin(blobs: &RestService, name: &str) {
    let source = format!("http://elsewhere.test/{name}");
    let begun = blobs.call("PUT", &format!("/box/{name}"), &[("x-ms-copy-source", &source)], b"").await;
    assert_eq!((begun.status, begun.header("x-ms-copy-status")), (202, "pending"), "{begun:?}");
}

/// Waits until a blob's copy has this status.
async fn until(blobs: &RestService, name: &str, status: &str) -> testkit::Answer {
    loop {
        let found = blobs.call("HEAD", &format!("/box/{name}"), &[], b"").await;
        if found.header("x-ms-copy-status") == status {
            return found;
        }
        tokio::time::timeout(Duration::from_millis(20), std::future::pending::<()>()).await.unwrap_err();
    }
}

fn pace() -> Pace {
    Pace {
        turn: Duration::from_millis(30),
        window: Duration::from_millis(60),
        least_rate: 100_000,
        longest_run: Duration::from_secs(60),
        first_pause: Duration::from_millis(5),
    }
}

#[tokio::test]
async fn slow_sources_do_not_stop_the_copies_behind_them() {
    let (blobs, copies, _) = world(pace()).await;
    let (_stop, shutdown) = Shutdown::channel();
    for number in 0..8 {
        begin(&blobs, &format!("slow{number}")).await;
    }
    begin(&blobs, "quick").await;
    let waited = async { until(&blobs, "quick", "success").await };
    tokio::select! {
        () = run(&copies, &blobs, shutdown) => unreachable!("it runs until shutdown"),
        done = waited => assert_eq!(done.header("x-ms-copy-progress"), "1000/1000"),
    }
}

#[tokio::test]
async fn a_source_below_the_least_rate_is_given_up() {
    let (blobs, copies, outgoing) = world(pace()).await;
    let (_stop, shutdown) = Shutdown::channel();
    begin(&blobs, "slow").await;
    tokio::select! {
        () = run(&copies, &blobs, shutdown) => unreachable!("it runs until shutdown"),
        failed = until(&blobs, "slow", "failed") => {
            let why = failed.header("x-ms-copy-status-description").to_owned();
            assert!(why.contains("slower than the least rate"), "{why}");
            assert_eq!(failed.header("x-ms-copy-progress"), "60/1000", "what came was kept");
        }
    }
    assert_eq!(outgoing.asked.load(Ordering::SeqCst), 6, "it was asked again, and not for ever");
}

#[tokio::test]
async fn copies_that_nobody_told_of_are_found() {
    let (blobs, _, outgoing) = world(pace()).await;
    for number in 0..40 {
        begin(&blobs, &format!("quick{number}")).await;
    }
    // After a restart nothing is known but what stands in rows.
    let copies = Arc::new(Transfers::new(outgoing, Here::default()).with_pace(pace()));
    let (_stop, shutdown) = Shutdown::channel();
    let all = async {
        for number in 0..40 {
            until(&blobs, &format!("quick{number}"), "success").await;
        }
    };
    tokio::select! {
        () = run(&copies, &blobs, shutdown) => unreachable!("it runs until shutdown"),
        () = all => {}
    }
}
