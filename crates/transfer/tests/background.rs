//! Copies in the background into a destination that is no blob: what any service gets by implementing the traits.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use http::{StatusCode, header};
use jobs::{Failure, Work};
use rest::{
    BoxFuture, Headers, Shutdown,
    outgoing::{Fetch, FetchError, Fetched, Outgoing, Pieces},
};
use tokio::sync::Notify;
use transfer::{Destination, Here, Look, Pace, Pending, Piece, Stop, Transfers, Unfinished};
use types::UnitId;

const LENGTH: usize = 1000;

fn content() -> Vec<u8> {
    (0..LENGTH).map(|place| u8::try_from(place % 251).unwrap()).collect()
}

/// A source that breaks off after some bytes of each answer. What it was asked for is written down.
struct BreaksOff {
    after: usize,
    asked: Mutex<Vec<(Option<String>, Option<String>)>>,
}

struct Once(Option<Bytes>);

impl Pieces for Once {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, FetchError>> {
        let piece = self.0.take();
        Box::pin(async { piece.map(Some).ok_or_else(|| FetchError::Unreachable("it broke off".to_owned())) })
    }
}

impl Outgoing for BreaksOff {
    fn fetch(&self, request: Fetch) -> BoxFuture<'_, Result<Fetched, FetchError>> {
        let sent = |name| request.headers.iter().find(|(sent, _)| sent == name).map(|(_, value)| value.clone());
        let range = sent(header::RANGE);
        self.asked.lock().unwrap().push((sent(header::IF_MATCH), range.clone()));
        let from: usize =
            range.as_ref().map_or(0, |range| range.trim_matches(|it: char| !it.is_ascii_digit()).parse().unwrap());
        let status = if range.is_some() { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
        let mut headers = Headers::new();
        headers.append("content-length", (LENGTH - from).to_string());
        let piece = Bytes::from(content()).slice(from..(from + self.after).min(LENGTH));
        Box::pin(async move { Ok(Fetched { status, headers, body: Box::new(Once(Some(piece))) }) })
    }
}

/// What stands in the rows of some service.
#[derive(Default)]
struct Rows {
    written: Mutex<Vec<u8>>,
    /// How it ended.
    end: Mutex<Option<Result<(), String>>>,
    ended: Notify,
    aborted: bool,
}

impl Rows {
    fn end(&self, end: Result<(), String>) {
        *self.end.lock().unwrap() = Some(end);
        self.ended.notify_one();
    }
}

struct Kept(Arc<Rows>);

impl Destination for Kept {
    fn piece(&self, _: u64) -> Result<Box<dyn Piece>, Stop> {
        if self.0.aborted {
            self.0.ended.notify_one();
            return Err(Stop::Ended);
        }
        Ok(Box::new(Part(Arc::clone(&self.0), Vec::new())))
    }

    fn finish(&self) -> BoxFuture<'_, Result<(), Stop>> {
        Box::pin(async {
            self.0.end(Ok(()));
            Ok(())
        })
    }

    fn fail<'a>(&'a self, why: &'a str) -> BoxFuture<'a, Result<(), Stop>> {
        Box::pin(async {
            self.0.end(Err(why.to_owned()));
            Ok(())
        })
    }
}

struct Part(Arc<Rows>, Vec<u8>);

impl Piece for Part {
    fn write(&mut self, bytes: Bytes) -> BoxFuture<'_, Result<(), Stop>> {
        Box::pin(async move {
            self.1.extend_from_slice(&bytes);
            Ok(())
        })
    }

    fn keep(self: Box<Self>, offset: u64) -> BoxFuture<'static, Result<(), Stop>> {
        Box::pin(async move {
            let mut written = self.0.written.lock().unwrap();
            written.truncate(usize::try_from(offset).unwrap());
            written.extend_from_slice(&self.1);
            Ok(())
        })
    }
}

fn pending(rows: &Arc<Rows>, etag: Option<&str>) -> Pending {
    Pending {
        account: UnitId::new(1),
        id: "copy".to_owned(),
        url: "http://elsewhere.test/source".to_owned(),
        etag: etag.map(str::to_owned),
        copied: 0,
        total: u64::try_from(LENGTH).unwrap(),
        destination: Box::new(Kept(Arc::clone(rows))),
    }
}

fn transfers(after: usize) -> (Arc<Transfers>, Arc<BreaksOff>) {
    let source = Arc::new(BreaksOff { after, asked: Mutex::default() });
    let pace = Pace { first_pause: Duration::from_millis(1), least_rate: 0, ..Pace::default() };
    (Arc::new(Transfers::new(Arc::<BreaksOff>::clone(&source), Here::default()).with_pace(pace)), source)
}

/// Drives work by its own wishes alone.
async fn drive(mut work: Box<dyn Work>) {
    loop {
        work.step().await.unwrap();
        work.wanted().await;
    }
}

async fn run(transfers: &Arc<Transfers>, rows: &Rows) {
    let (_stop, shutdown) = Shutdown::channel();
    tokio::select! {
        () = drive(transfers.work(shutdown)) => {}
        () = rows.ended.notified() => {}
    }
}

#[tokio::test]
async fn a_copy_goes_on_where_its_source_broke_off_and_holds_its_etag() {
    let (transfers, source) = transfers(400);
    let rows = Arc::new(Rows::default());
    transfers.tell(pending(&rows, Some("\"1\"")));
    run(&transfers, &rows).await;
    assert_eq!(*rows.end.lock().unwrap(), Some(Ok(())));
    assert_eq!(*rows.written.lock().unwrap(), content());
    let etag = || Some("\"1\"".to_owned());
    let expected = [None, Some("bytes=400-"), Some("bytes=800-")].map(|range| (etag(), range.map(str::to_owned)));
    assert_eq!(*source.asked.lock().unwrap(), expected);
}

#[tokio::test]
async fn a_source_without_an_etag_is_fetched_whole_or_not_at_all() {
    let (transfers, source) = transfers(400);
    let rows = Arc::new(Rows::default());
    transfers.tell(pending(&rows, None));
    run(&transfers, &rows).await;
    assert_eq!(*rows.end.lock().unwrap(), Some(Err("it broke off".to_owned())));
    assert!(source.asked.lock().unwrap().iter().all(|asked| *asked == (None, None)));
    assert_eq!(source.asked.lock().unwrap().len(), 6);
}

#[tokio::test]
async fn a_copy_that_was_aborted_is_neither_finished_nor_failed() {
    let (transfers, source) = transfers(LENGTH);
    let rows = Arc::new(Rows { aborted: true, ..Rows::default() });
    transfers.tell(pending(&rows, Some("\"1\"")));
    run(&transfers, &rows).await;
    assert_eq!((rows.end.lock().unwrap().clone(), source.asked.lock().unwrap().len()), (None, 1));
}

/// Rows with one copy, behind others that are none.
struct Found(Arc<Rows>, usize);

impl Unfinished for Found {
    fn name(&self) -> &'static str {
        "found"
    }

    fn look(&mut self, _: usize) -> BoxFuture<'_, Result<Look, Failure>> {
        self.1 += 1;
        let found = if self.1 == 2 { vec![pending(&self.0, Some("\"1\""))] } else { Vec::new() };
        Box::pin(async move { Ok(Look { found, more: self.1 < 2 }) })
    }
}

#[tokio::test]
async fn a_copy_that_nobody_told_of_is_found_in_its_row() {
    let (transfers, _) = transfers(LENGTH);
    let rows = Arc::new(Rows::default());
    let mut finding = transfers.finding(Found(Arc::clone(&rows), 0));
    assert!(finding.step().await.unwrap().more);
    let found = finding.step().await.unwrap();
    assert_eq!((found.done, found.more), (1, false));
    run(&transfers, &rows).await;
    assert_eq!(*rows.end.lock().unwrap(), Some(Ok(())));
}
