//! The time between sequenced and durable, made visible by holding durability back.

#![expect(clippy::unwrap_used, reason = "helpers of tests panic to fail")]

use std::{future::poll_fn, pin::pin, task::Poll, time::Duration};

use bytes::Bytes;
use store::{
    Direction, Engine, Horizon, Read, Scope, Store, StoreError, Txn,
    content::{self, Holdings},
    engine::Commit,
    key::{KeyBuilder, KeyRange},
    space::Space,
    sweep,
};
use store_memory::{ManualTime, MemoryEngine};
use types::{ContentId, Timestamp};

fn key(name: &str) -> Bytes {
    KeyBuilder::new(Space::Test, 1).bytes(name.as_bytes()).build()
}

fn run(case: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(case);
}

/// Polls once: `None` while the future waits.
async fn poll_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    poll_fn(|context| match pin!(&mut *future).poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

async fn put(store: &Store, name: &str, value: &'static str) -> Result<(), StoreError> {
    store
        .transact(Scope::of(name.as_bytes()), |txn| async move {
            txn.put(key(name), value);
            Ok(())
        })
        .await
}

async fn value(rows: &impl Read, name: &str) -> Option<Bytes> {
    rows.get(&key(name)).await.unwrap()
}

#[test]
fn a_snapshot_does_not_see_what_is_not_durable_and_a_transaction_does() {
    run(async {
        let engine = MemoryEngine::default();
        let store = engine.store();
        engine.hold();
        let mut write = Box::pin(put(&store, "row", "held"));
        assert!(poll_once(&mut write).await.is_none(), "answered before it was durable");
        assert_eq!(value(&store.snapshot(), "row").await, None);

        let seen = std::sync::Mutex::new(None);
        let look = |txn: Txn| {
            let seen = &seen;
            async move {
                let found = value(&txn, "row").await;
                *seen.lock().unwrap() = found;
                Ok::<_, StoreError>(())
            }
        };
        let mut read = Box::pin(store.transact(Scope::new(), look));
        assert!(poll_once(&mut read).await.is_none(), "a read of undurable state answered");
        assert_eq!(seen.lock().unwrap().as_deref(), Some(&b"held"[..]));

        engine.sync();
        assert!(poll_once(&mut write).await.unwrap().is_ok());
        assert!(poll_once(&mut read).await.unwrap().is_ok());
        assert_eq!(value(&store.snapshot(), "row").await.unwrap(), "held");
        assert!(poll_once(&mut Box::pin(put(&store, "row", "still held"))).await.is_none());
    });
}

#[test]
fn a_refusal_that_read_undurable_state_waits_for_it() {
    run(async {
        let engine = MemoryEngine::default();
        let store = engine.store();
        engine.hold();
        let mut write = Box::pin(put(&store, "lease", "taken"));
        assert!(poll_once(&mut write).await.is_none());
        let mut refusal = Box::pin(store.transact(Scope::new(), |txn| async move {
            assert!(value(&txn, "lease").await.is_some());
            Err::<(), _>(StoreError::corrupt("stands for: there is a lease"))
        }));
        assert!(poll_once(&mut refusal).await.is_none(), "a refusal about state that a crash may undo");
        engine.release();
        assert!(matches!(poll_once(&mut refusal).await, Some(Err(StoreError::Corrupt(_)))));
        // About durable state it is answered at once.
        assert!(put(&store, "lease", "released").await.is_ok());
    });
}

#[test]
fn the_latch_is_released_before_the_commit_is_durable() {
    run(async {
        let engine = MemoryEngine::default();
        let store = engine.store();
        engine.hold();
        let mut writers: Vec<_> = ["first", "second", "third"].map(|value| Box::pin(put(&store, "row", value))).into();
        for writer in &mut writers {
            assert!(poll_once(writer).await.is_none());
        }
        let view = engine.view(Horizon::Sequenced);
        assert_eq!(view.get(&key("row")).await.unwrap().unwrap(), "third", "all three went through the latch");
        engine.release();
        for writer in writers {
            writer.await.unwrap();
        }
    });
}

#[test]
fn events_wait_for_durability() {
    run(async {
        let engine = MemoryEngine::default();
        let store = engine.store();
        let mut events = store.events();
        engine.hold();
        let tell = |what: &'static str| {
            let store = store.clone();
            Box::pin(async move {
                let told = store.transact(Scope::new(), |txn| async move {
                    txn.emit(what);
                    Ok::<_, StoreError>(())
                });
                told.await
            })
        };
        let (mut first, mut second) = (tell("first"), tell("second"));
        assert!(poll_once(&mut first).await.is_none());
        assert!(poll_once(&mut second).await.is_none());
        assert!(events.try_recv().is_err());
        engine.release();
        assert_eq!(events.try_recv().unwrap().payload, "first");
        assert_eq!(events.try_recv().unwrap().payload, "second");
    });
}

#[test]
fn a_crash_drops_what_is_not_durable_and_nothing_else() {
    run(async {
        let engine = MemoryEngine::default();
        let store = engine.store();
        put(&store, "kept", "durable").await.unwrap();
        put(&store, "changed", "durable").await.unwrap();
        engine.hold();
        let mut writes = [Box::pin(put(&store, "changed", "lost")), Box::pin(put(&store, "made", "lost"))];
        for write in &mut writes {
            assert!(poll_once(write).await.is_none());
        }
        let survivor = engine.restart();
        for write in &mut writes {
            let heard = poll_once(write).await;
            assert!(matches!(heard, Some(Err(StoreError::OutcomeUnknown(_)))), "who waits must hear of it: {heard:?}");
        }
        assert!(matches!(put(&store, "kept", "too late").await, Err(StoreError::Closed)));
        let store = survivor.store();
        assert_eq!(value(&store.snapshot(), "kept").await.unwrap(), "durable");
        assert_eq!(value(&store.snapshot(), "changed").await.unwrap(), "durable");
        assert_eq!(value(&store.snapshot(), "made").await, None);
        put(&store, "changed", "again").await.unwrap();
    });
}

#[test]
fn a_chunk_freed_but_not_durably_so_survives_a_crash() {
    run(async {
        let engine = MemoryEngine::default();
        let store = engine.store();
        let owner = ContentId::new(store.fresh_id());
        let mut writer = store.write_chunk(None).unwrap();
        writer.write(Bytes::from("bytes")).await.unwrap();
        let pending = writer.finish().await.unwrap();
        let chunk = pending.reference();
        let link = |txn: Txn| {
            let pending = &pending;
            async move {
                content::link(&txn, pending, owner);
                Ok::<_, StoreError>(())
            }
        };
        store.transact(Scope::new(), link).await.unwrap();
        assert_eq!(engine.live_bytes(), 5);

        engine.hold();
        let mut free =
            Box::pin(store.transact(Scope::new(), |txn| async move { content::free(&txn, chunk, owner).await }));
        assert!(poll_once(&mut free).await.is_none());
        drop(pending);
        assert_eq!(engine.stored_chunks(), 1);
        drop(free);
        let survivor = engine.restart();
        let store = survivor.store();
        assert!(store.open_chunk(chunk).await.is_ok());
        store
            .transact(Scope::new(), |txn| async move { content::release(&txn, owner, Holdings::Chunk(chunk)).await })
            .await
            .unwrap();
        while sweep::step(&store).await.unwrap().more {}
        assert!(matches!(store.open_chunk(chunk).await, Err(StoreError::ChunkGone(_))));
        assert_eq!((survivor.live_bytes(), survivor.stored_chunks()), (0, 0));
    });
}

#[test]
fn a_full_disk_lets_through_what_gives_space_back() {
    run(async {
        let engine = MemoryEngine::default();
        let store = engine.store();
        put(&store, "row", "before").await.unwrap();
        engine.refuse_writes(Some(StoreError::Full { available_bytes: 1, reserve_bytes: 2 }));
        assert!(matches!(put(&store, "row", "grows").await, Err(StoreError::Full { .. })));
        assert!(matches!(store.write_chunk(None), Err(StoreError::Full { .. })));
        store
            .transact(Scope::new().reclaims(), |txn| async move {
                txn.delete(key("row"));
                Ok::<_, StoreError>(())
            })
            .await
            .unwrap();
        engine.refuse_writes(None);
        put(&store, "row", "after").await.unwrap();
    });
}

#[test]
fn server_time_follows_the_monotonic_clock_and_never_jumps_back() {
    let time = ManualTime::default();
    let engine = MemoryEngine::new(time.clone());
    let start = engine.now();
    time.advance(Duration::from_secs(60));
    assert_eq!(engine.now().saturating_since(start), Duration::from_secs(60));
    time.jump_to(Timestamp::EPOCH);
    assert!(engine.now() >= start.saturating_add(Duration::from_secs(60)));
    let before = engine.now();
    assert!(engine.restart().now() >= before);
}

#[test]
fn old_versions_are_pruned_but_not_under_a_view() {
    run(async {
        let engine = MemoryEngine::default();
        let store = engine.store();
        put(&store, "row", "old").await.unwrap();
        let snapshot = store.snapshot();
        for _ in 0..3_000 {
            put(&store, "row", "new").await.unwrap();
        }
        assert_eq!(value(&snapshot, "row").await.unwrap(), "old");
        assert!(engine.stored_versions() > 3_000);
        drop(snapshot);
        for _ in 0..3_000 {
            put(&store, "row", "newer").await.unwrap();
        }
        assert!(engine.stored_versions() < 2_000);
        assert_eq!(value(&store.snapshot(), "row").await.unwrap(), "newer");
    });
}

#[test]
fn rows_of_the_engine_space_were_in_reach_of_scans() {
    run(async {
        let engine = MemoryEngine::default();
        let store = engine.store();
        let own = Bytes::from_static(&[0, 1]);
        let commit = Commit {
            read_at: store.snapshot().instant(),
            reads: Vec::new(),
            guards_shared: Vec::new(),
            guards_exclusive: Vec::new(),
            writes: vec![(own.clone(), Some(Bytes::from("the engine's")))],
            linked: Vec::new(),
            freed: Vec::new(),
            unswept_bytes: 0,
            events: Vec::new(),
            reclaims: false,
        };
        engine.sequence(commit).await.unwrap();
        put(&store, "row", "ours").await.unwrap();
        let snapshot = store.snapshot();
        assert_eq!(snapshot.get(&own).await.unwrap(), None);
        for direction in [Direction::Ascending, Direction::Descending] {
            let everything = KeyRange { start: Bytes::new(), end: None };
            let rows = snapshot.scan(everything, direction).take(10).await.unwrap();
            assert_eq!(rows.iter().map(|row| &*row.value).collect::<Vec<_>>(), [b"ours"]);
            let below = KeyRange::between(Bytes::new(), Bytes::from_static(&[1]));
            assert!(snapshot.scan(below, direction).next().await.unwrap().is_none());
        }
    });
}

#[test]
fn a_series_waits_for_the_disk_once() {
    run(async {
        let engine = MemoryEngine::default();
        let store = engine.store();
        engine.hold();
        let mut series = store.series();
        for name in ["one", "two"] {
            series
                .transact(Scope::new(), |txn| async move {
                    txn.put(key(name), "value");
                    Ok::<_, StoreError>(())
                })
                .await
                .unwrap();
        }
        assert!(store.snapshot().get(&key("two")).await.unwrap().is_none(), "it is not durable yet");
        let mut durable = Box::pin(series.durable());
        assert!(poll_once(&mut durable).await.is_none());
        engine.release();
        durable.await.unwrap();
        assert!(store.snapshot().get(&key("two")).await.unwrap().is_some());
    });
}
