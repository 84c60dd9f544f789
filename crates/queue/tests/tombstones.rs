//! A Get does not walk over what was got and deleted before it, and what it remembers hides nothing: an engine that
//! counts what scans pass, and that can let others go first.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod support;

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::Poll,
    time::Duration,
};

use bytes::Bytes;
use store::{
    Answer, BoxFuture, Direction, Engine as Contract, Horizon, Row, Sequence, Store, StoreError,
    engine::{Commit, SequenceError, View},
    key::KeyRange,
    read::Cursor,
    testing::Around,
};
use store_memory::{ManualTime, MemoryEngine};
use support::{Engine, Rig, run};

/// What the engine has seen.
#[derive(Default)]
struct Seen {
    tombstones: Mutex<BTreeSet<Bytes>>,
    /// Tombstones and rows that scans passed.
    walked: AtomicUsize,
    /// Runs before the next commit gets its place.
    interlude: Mutex<Option<BoxFuture<'static, ()>>>,
    /// Nothing gets durable.
    stuck: AtomicBool,
}

struct Watched {
    inner: MemoryEngine,
    seen: Arc<Seen>,
}

struct WatchedView(Box<dyn View>, Arc<Seen>);

struct WatchedCursor {
    inner: Box<dyn Cursor>,
    at: Bytes,
    end: Option<Bytes>,
    seen: Arc<Seen>,
}

impl Cursor for WatchedCursor {
    fn next(&mut self) -> Answer<'_, Result<Option<Row>, StoreError>> {
        let Answer::Now(Some(Ok(row))) = self.inner.next() else { panic!("the memory engine answers at once") };
        let to = row.as_ref().map(|row| row.key.clone()).or_else(|| self.end.clone());
        let tombstones = self.seen.tombstones.lock().unwrap();
        let passed =
            tombstones.range(self.at.clone()..).take_while(|key| to.as_ref().is_none_or(|to| *key < to)).count();
        self.seen.walked.fetch_add(passed + usize::from(row.is_some()), Ordering::Relaxed);
        self.at = to.unwrap_or_default();
        Answer::now(Ok(row))
    }
}

impl View for WatchedView {
    fn instant(&self) -> Sequence {
        self.0.instant()
    }

    fn get<'a>(&'a self, key: &'a [u8]) -> Answer<'a, Result<Option<Bytes>, StoreError>> {
        self.0.get(key)
    }

    fn scan(&self, range: KeyRange, direction: Direction) -> Box<dyn Cursor> {
        let (at, end, seen) = (range.start.clone(), range.end.clone(), Arc::clone(&self.1));
        Box::new(WatchedCursor { inner: self.0.scan(range, direction), at, end, seen })
    }
}

impl Around for Watched {
    fn inner(&self) -> &dyn Contract {
        &self.inner
    }

    fn view(&self, horizon: Horizon) -> Box<dyn View> {
        Box::new(WatchedView(self.inner.view(horizon), Arc::clone(&self.seen)))
    }

    fn sequence(&self, commit: Commit) -> Answer<'_, Result<Sequence, SequenceError>> {
        let interlude = self.seen.interlude.lock().unwrap().take();
        Answer::Later(Box::pin(async move {
            if let Some(interlude) = interlude {
                interlude.await;
            }
            let writes = commit.writes.clone();
            let sequence = self.inner.sequence(commit).await?;
            let mut tombstones = self.seen.tombstones.lock().unwrap();
            for (key, value) in writes {
                if value.is_none() {
                    tombstones.insert(key)
                } else {
                    tombstones.remove(&key)
                };
            }
            Ok(sequence)
        }))
    }

    fn durable(&self, sequence: Sequence) -> Answer<'_, Result<(), StoreError>> {
        if self.seen.stuck.load(Ordering::Relaxed) {
            return Answer::Later(Box::pin(std::future::pending()));
        }
        self.inner.durable(sequence)
    }
}

fn watched() -> (Rig, Arc<Seen>) {
    let (time, seen) = (ManualTime::default(), Arc::<Seen>::default());
    let inner = MemoryEngine::new(time.clone());
    let store = Store::new(Arc::new(Watched { inner: inner.clone(), seen: Arc::clone(&seen) }));
    (Rig::on(time, Engine::Memory(inner), store), seen)
}

/// Gets a message and deletes it; a millisecond passes. Returns what the Get walked over.
async fn work(rig: &Rig, seen: &Seen, timeout: i64) -> usize {
    let before = seen.walked.load(Ordering::Relaxed);
    let got = rig.get("jobs", 1, timeout).await.unwrap();
    let walked = seen.walked.load(Ordering::Relaxed) - before;
    for message in got {
        rig.delete("jobs", message.properties.id, message.hold.receipt).await.unwrap();
    }
    rig.time.advance(Duration::from_millis(1));
    walked
}

#[test]
fn steady_work_on_an_almost_empty_queue_walks_over_next_to_nothing() {
    run(async {
        let (rig, seen) = watched();
        rig.create("jobs").await.unwrap();
        let mut most = 0;
        for _ in 0..5000 {
            rig.put("jobs", "x").await;
            // Tombstones of a second ago become due all the time.
            most = most.max(work(&rig, &seen, 1).await);
        }
        assert!(most <= 4, "a Get walked over {most}");
        assert_eq!(rig.count("jobs").await, 0);
    });
}

#[test]
fn the_end_of_a_backlog_is_no_cliff() {
    run(async {
        let (rig, seen) = watched();
        rig.create("jobs").await.unwrap();
        for number in 0..6000 {
            rig.put("jobs", &number.to_string()).await;
        }
        rig.pass(1);
        let mut most = 0;
        for _ in 0..6000 {
            most = most.max(work(&rig, &seen, 1).await);
        }
        assert_eq!(rig.count("jobs").await, 0);
        // Six thousand tombstones lie behind the backlog. What one Get looks at is those of a tenth of a second.
        assert!(work(&rig, &seen, 1).await <= 200);
        rig.put("jobs", "last").await;
        most = most.max(work(&rig, &seen, 1).await);
        assert!(most <= 200, "a Get walked over {most}");
        assert_eq!(rig.count("jobs").await, 0);
    });
}

#[test]
fn expired_messages_are_passed_once() {
    run(async {
        let (rig, seen) = watched();
        rig.create("jobs").await.unwrap();
        for _ in 0..1000 {
            rig.put_with("jobs", "brief", 0, 5).await.unwrap();
        }
        rig.pass(10);
        rig.put("jobs", "lasting").await;
        rig.put("jobs", "lasting").await;
        assert!(work(&rig, &seen, 1).await > 1000);
        assert!(work(&rig, &seen, 1).await <= 3);
        assert_eq!(rig.count("jobs").await, 1000, "nobody has removed them yet");
    });
}

#[test]
fn a_restart_remembers_where_the_queue_begins() {
    run(async {
        let (rig, seen) = watched();
        rig.create("jobs").await.unwrap();
        for _ in 0..60 {
            for _ in 0..100 {
                rig.put("jobs", "x").await;
                work(&rig, &seen, 1).await;
            }
            rig.pass(1);
        }
        rig.put("jobs", "last").await;
        let again = Rig { queues: queue::Queues::new(rig.store.clone()), ..rig };
        let walked = work(&again, &seen, 1).await;
        assert!(walked < 2500, "two tombstones a message, of the last ten seconds of a minute: {walked}");
        assert_eq!(again.count("jobs").await, 0);
        again.audit().await;
        again.delete_queue("jobs").await.unwrap();
        again.sweep().await;
        assert_eq!(again.audit().await, 0);
    });
}

/// What a transaction may put stands in the way of marks until it has its place. One that is refused has none to come.
#[test]
fn a_refusal_that_waits_for_the_disk_is_in_nobodys_way() {
    run(async {
        let (rig, seen) = watched();
        rig.create("jobs").await.unwrap();
        let (id, hold) = rig.put_with("jobs", "later", 600, 1000).await.unwrap();
        seen.stuck.store(true, Ordering::Relaxed);
        let mut put = std::pin::pin!(rig.put_with("absent", "x", 0, 1000));
        let mut update = std::pin::pin!(rig.update("absent", id, hold.receipt, 0, None));
        let wait = std::future::poll_fn(|context| {
            Poll::Ready(put.as_mut().poll(context).is_pending() && update.as_mut().poll(context).is_pending())
        });
        assert!(wait.await, "both wait for the disk");
        seen.stuck.store(false, Ordering::Relaxed);
        let mut most = 0;
        for _ in 0..100 {
            rig.put("jobs", "x").await;
            rig.pass(1);
            most = most.max(work(&rig, &seen, 1).await);
        }
        assert!(most <= 4, "a Get walked over {most}");
    });
}

/// A message whose transaction is slow stands in the past when it gets its place.
#[test]
fn a_slow_writer_is_not_passed_by() {
    run(async {
        for slow in ["put", "update"] {
            let (rig, seen) = watched();
            rig.create("jobs").await.unwrap();
            let (id, hold) = rig.put_with("jobs", "x", 100, 1000).await.unwrap();
            let (queues, time) = (rig.queues.clone(), rig.time.clone());
            let other = Rig::on(rig.time.clone(), Engine::Memory(MemoryEngine::default()), rig.store.clone());
            let other = Rig { queues, ..other };
            *seen.interlude.lock().unwrap() = Some(Box::pin(async move {
                for _ in 0..3 {
                    time.advance(Duration::from_secs(1));
                    assert_eq!(other.get("jobs", 1, 1).await.unwrap(), []);
                }
            }));
            if slow == "put" {
                rig.put("jobs", "slow").await;
            } else {
                rig.update("jobs", id, hold.receipt, 0, Some("slow")).await.unwrap();
            }
            assert_eq!(rig.peek("jobs", 1).await.unwrap().len(), 1, "{slow}");
            assert_eq!(rig.texts("jobs", 1, 1).await, ["slow"], "{slow}");
        }
    });
}
