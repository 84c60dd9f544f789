//! What does not depend on how much is in a directory or a share, by what it touches: an engine that counts the rows that
//! are read and written.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;
use store::{
    Answer, Direction, Engine, Horizon, Row, Sequence, Store, StoreError,
    clock::SystemTime,
    engine::{Commit, SequenceError, View},
    key::KeyRange,
    read::Cursor,
    testing::Around,
};
use store_memory::MemoryEngine;
use support::{World, run};

/// Files of a large directory, and of a small one.
const MANY: usize = 100_000;
const FEW: usize = 10;
/// Entries of a page.
const PAGE: usize = 5;

#[derive(Default)]
struct Touched {
    read: AtomicUsize,
    written: AtomicUsize,
}

impl Touched {
    fn take(&self) -> (usize, usize) {
        (self.read.swap(0, Ordering::Relaxed), self.written.swap(0, Ordering::Relaxed))
    }
}

struct Counting {
    inner: MemoryEngine,
    touched: Arc<Touched>,
}

struct CountingView(Box<dyn View>, Arc<Touched>);

struct CountingCursor(Box<dyn Cursor>, Arc<Touched>);

impl Cursor for CountingCursor {
    fn next(&mut self) -> Answer<'_, Result<Option<Row>, StoreError>> {
        self.1.read.fetch_add(1, Ordering::Relaxed);
        self.0.next()
    }
}

impl View for CountingView {
    fn instant(&self) -> Sequence {
        self.0.instant()
    }

    fn get<'a>(&'a self, key: &'a [u8]) -> Answer<'a, Result<Option<Bytes>, StoreError>> {
        self.1.read.fetch_add(1, Ordering::Relaxed);
        self.0.get(key)
    }

    fn scan(&self, range: KeyRange, direction: Direction) -> Box<dyn Cursor> {
        Box::new(CountingCursor(self.0.scan(range, direction), Arc::clone(&self.1)))
    }
}

impl Around for Counting {
    fn inner(&self) -> &dyn Engine {
        &self.inner
    }

    fn view(&self, horizon: Horizon) -> Box<dyn View> {
        Box::new(CountingView(self.inner.view(horizon), Arc::clone(&self.touched)))
    }

    fn sequence(&self, commit: Commit) -> Answer<'_, Result<Sequence, SequenceError>> {
        self.touched.written.fetch_add(commit.writes.len(), Ordering::Relaxed);
        self.inner.sequence(commit)
    }
}

/// A share with so many files in one directory, and rows touched by each of some operations: read, and written.
async fn touched(files: usize) -> Vec<(&'static str, (usize, usize))> {
    let touched = Arc::<Touched>::default();
    let inner = MemoryEngine::new(SystemTime::default());
    let store = Store::new(Arc::new(Counting { inner: inner.clone(), touched: Arc::clone(&touched) }));
    let world = World::on(inner, store).await;
    world.create_directory("a").await.unwrap();
    for number in 0..files {
        world.create_file(&format!("a/file-{number:06}"), 16).await.unwrap();
    }
    let mut seen = Vec::new();
    let mut note = |what| seen.push((what, touched.take()));
    note("the load");
    world.rename("a", "b", true).await.unwrap();
    note("rename of the directory");
    world.snapshot().await;
    note("snapshot of the share");
    world.rename("b", "c", true).await.unwrap();
    note("rename of what a snapshot keeps");
    let snapshot = world.snapshot().await;
    note("another snapshot");
    let page = world.page("c", None, None, PAGE).await.unwrap();
    assert_eq!((page.entries.len(), page.next.is_some()), (PAGE, true));
    note("a page");
    let page = world.page("c", Some(snapshot), None, PAGE).await.unwrap();
    assert_eq!((page.entries.len(), page.next.is_some()), (PAGE, true));
    note("a page of a snapshot");
    world.properties("c/file-000007", false).await.unwrap();
    note("properties of a file");
    world.put_range("c/file-000007", 0, b"sixteen bytes ok").await.unwrap();
    note("a range");
    world.create_file("c/one-more", 0).await.unwrap();
    note("a file");
    world.delete("c/one-more").await.unwrap();
    note("the end of it");
    world.delete_directory("c").await.unwrap_err();
    note("a directory that is not empty");
    seen.split_off(1)
}

#[test]
fn what_is_touched_does_not_depend_on_how_many_files_there_are() {
    run(async {
        let (few, many) = (touched(FEW).await, touched(MANY).await);
        assert_eq!(few, many);
        for (what, (read, written)) in many {
            assert!(read <= 80 && written <= 10, "{what}: {read} read, {written} written");
        }
    });
}
