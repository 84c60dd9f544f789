//! What the engine does beside answering: emptying extents, scrubbing, repacking maps, backing up while writing.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use store::{
    Read, Scope, Store, StoreError,
    conformance::support::key,
    content,
    content_map::{self, MapWriter, Slice},
    epoch::Epochs,
    manifest::read_exactly,
    sweep,
};
use store_embedded::{EmbeddedEngine, Options, ScrubCursor, disk::SimulatedDisk, restore};
use support::{Opened, block_on, index_directory, pattern};
use types::ContentId;

const MIB: usize = 1024 * 1024;

fn extent_files(path: &Path) -> u64 {
    std::fs::read_dir(path.join("extents")).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
}

fn open(path: &Path) -> (Arc<EmbeddedEngine>, Store) {
    let engine = Arc::new(EmbeddedEngine::open(path, Options { reserve_bytes: 0, ..Options::default() }).unwrap());
    let store = Store::new(Arc::<EmbeddedEngine>::clone(&engine));
    (engine, store)
}

async fn put_chunk(store: &Store, name: &str, bytes: Vec<u8>) -> (ContentId, store::ChunkRef) {
    let mut writer = store.write_chunk(None).unwrap();
    writer.write(Bytes::from(bytes)).await.unwrap();
    let pending = &writer.finish().await.unwrap();
    let owner = ContentId::new(store.fresh_id());
    store
        .transact(Scope::new(), |txn| async move {
            content::link(&txn, pending, owner);
            txn.put(key(name), Bytes::copy_from_slice(&pending.reference().encode()));
            Ok::<_, StoreError>(())
        })
        .await
        .unwrap();
    (owner, pending.reference())
}

#[test]
fn a_mostly_dead_extent_is_emptied_and_its_space_comes_back() {
    let directory = tempfile::tempdir().unwrap();
    let (engine, store) = open(directory.path());
    block_on(async {
        let mut chunks = Vec::new();
        for number in 0..40_u64 {
            // Streamed ones and small ones, which live in different extents.
            let length = if number % 2 == 0 { MIB } else { 60_000 };
            chunks.push((number, put_chunk(&store, &format!("c{number}"), pattern(number, length)).await, length));
        }
        let full = extent_files(directory.path());
        for (number, (owner, chunk), _) in &chunks {
            if number % 10 >= 2 {
                let freed =
                    store.transact(Scope::new(), |txn| async move { content::free(&txn, *chunk, *owner).await });
                assert!(freed.await.unwrap());
            }
        }
        let mut moved = 0;
        loop {
            let step = engine.collect().await.unwrap();
            moved += step.chunks;
            if !step.more {
                break;
            }
        }
        assert!(moved > 0, "nothing was moved");
        engine.delete_dead_extents().unwrap();
        assert!(
            extent_files(directory.path()) < full / 2,
            "{} of {full} bytes are left",
            extent_files(directory.path())
        );
        for (number, (_, chunk), length) in &chunks {
            if number % 10 < 2 {
                // By the reference it always had.
                let source = store.open_chunk(*chunk).await.unwrap();
                assert!(read_exactly(&*source, 0, *length).await.unwrap() == pattern(*number, *length));
            }
        }
        let report = engine.check(|_| {}).await.unwrap();
        assert!(report.is_clean(), "{:?}", report.problems);
    });
}

#[test]
fn a_scrub_visits_every_chunk_once_and_names_the_damaged_one() {
    let (disk, index) = (SimulatedDisk::new(), index_directory());
    let opened = Opened::on(disk.clone(), index.path()).unwrap();
    block_on(async {
        for number in 0..300_u64 {
            opened.put_chunk(&format!("c{number}"), pattern(number, 1000)).await.unwrap();
        }
        opened.put_chunk("large", pattern(7, 200_000)).await.unwrap();
        let round = async || {
            let (mut cursor, mut chunks, mut problems) = (ScrubCursor::default(), 0, Vec::new());
            loop {
                let step = opened.engine.scrub(cursor, 10_000).await.unwrap();
                chunks += step.chunks;
                problems.extend(step.problems);
                match step.next {
                    Some(next) => cursor = next,
                    None => return (chunks, problems),
                }
            }
        };
        assert_eq!(round().await, (301, vec![]));
        let extents = store_embedded::disk::Disk::list(&disk, "extents").unwrap();
        let small = extents.iter().min().unwrap();
        disk.flip_bit(&format!("extents/{small}"), 700, 3);
        let (chunks, problems) = round().await;
        assert_eq!((chunks, problems.len()), (301, 1));
        assert!(problems[0].contains(small), "{problems:?}");
    });
}

#[test]
fn a_sparse_chunk_of_a_map_is_repacked_and_reads_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let (engine, store) = open(directory.path());
    let content = ContentId::new(store.fresh_id());
    let epochs = Epochs { current: 1, newest_snapshot: None };
    block_on(async {
        let write = async |offset: u64, bytes: Vec<u8>| {
            let length = u64::try_from(bytes.len()).unwrap();
            let mut writer = store.write_chunk(None).unwrap();
            writer.write(Bytes::from(bytes)).await.unwrap();
            let pending = &writer.finish().await.unwrap();
            let written = store.transact(Scope::new(), |txn| async move {
                content::link(&txn, pending, content);
                let mut map = MapWriter::new(&txn, content, epochs);
                map.write(offset, Slice { chunk: pending.reference(), skip: 0, length }).await?;
                map.finish().await
            });
            written.await.unwrap();
            pending.reference()
        };
        let mut model = pattern(1, MIB);
        let big = write(0, model.clone()).await;
        // Every page but each tenth is overwritten: the first chunk is nine tenths unused.
        for page in (0..256_usize).filter(|page| page % 10 != 0) {
            let bytes = pattern(u64::try_from(page).unwrap() + 2, 4096);
            model[page * 4096..(page + 1) * 4096].copy_from_slice(&bytes);
            write(u64::try_from(page * 4096).unwrap(), bytes).await;
        }
        let before = engine.metrics().live_chunk_bytes;
        while sweep::step(&store).await.unwrap().more {}
        let after = engine.metrics().live_chunk_bytes;
        assert!(before - after > 800_000, "{before} bytes before, {after} after");
        assert!(content::find(&store.snapshot(), big).await.unwrap().is_none(), "the sparse chunk was freed");
        let (segments, next) =
            content_map::read(&store.snapshot(), content, 1, (0, u64::try_from(MIB).unwrap()), 1000).await.unwrap();
        assert_eq!((segments.len(), next), (256, None));
        for segment in segments {
            let source = store.open_chunk(segment.slice.chunk).await.unwrap();
            let read = read_exactly(&*source, segment.slice.skip, 4096).await.unwrap();
            let start = usize::try_from(segment.offset).unwrap();
            assert!(read == model[start..start + 4096], "at {start}");
        }
        let report = engine.check(|_| {}).await.unwrap();
        assert!(report.is_clean(), "{:?}", report.problems);
    });
}

/// Two rows that always change together, and a chunk each time: a backup must never see one without the other.
#[test]
fn a_backup_while_writing_is_one_instant_and_restores() {
    let directory = tempfile::tempdir().unwrap();
    let (engine, store) = open(&directory.path().join("data"));
    let stop = AtomicBool::new(false);
    let acknowledged = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            block_on(async {
                let mut number = 0_u64;
                while !stop.load(Ordering::Relaxed) {
                    number += 1;
                    put_chunk(&store, &format!("chunk{}", number % 50), pattern(number, 70_000)).await;
                    let value = Bytes::copy_from_slice(&number.to_le_bytes());
                    let (value, store) = (&value, &store);
                    let written = store.transact(Scope::new(), |txn| async move {
                        txn.put(key("left"), value.clone());
                        txn.put(key("right"), value.clone());
                        Ok::<_, StoreError>(())
                    });
                    written.await.unwrap();
                    acknowledged.store(number, Ordering::SeqCst);
                }
            });
        });
        while acknowledged.load(Ordering::SeqCst) < 20 {
            std::thread::yield_now();
        }
        for round in 0..3 {
            let before = acknowledged.load(Ordering::SeqCst);
            let backup = directory.path().join(format!("backup{round}"));
            engine.backup(&backup, |_| {}).unwrap();
            let target = directory.path().join(format!("restored{round}"));
            restore(&backup, &target, |_| {}).unwrap();
            assert!(restore(&backup, &target, |_| {}).is_err(), "a restore overwrites nothing");
            let (restored, rows) = open(&target);
            block_on(async {
                let left = rows.snapshot().get(&key("left")).await.unwrap().unwrap();
                let right = rows.snapshot().get(&key("right")).await.unwrap().unwrap();
                assert_eq!(left, right, "a torn backup");
                assert!(u64::from_le_bytes(left[..].try_into().unwrap()) >= before, "an acknowledged write is missing");
                let report = restored.check(|_| {}).await.unwrap();
                assert!(report.is_clean() && report.chunks > 0, "{:?}", report.problems);
            });
            restored.close().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_backup_takes_along_where_chunks_were_moved() {
    let directory = tempfile::tempdir().unwrap();
    let (engine, store) = open(&directory.path().join("data"));
    let lengths = [1000, 70_000, 3000];
    let read = async |store: &Store, chunk: store::ChunkRef, number: u64, length: usize| {
        let source = store.open_chunk(chunk).await.unwrap();
        assert!(read_exactly(&*source, 0, length).await.unwrap() == pattern(number, length), "{chunk}");
    };
    block_on(async {
        let mut chunks = Vec::new();
        for (number, length) in (0..).zip(lengths) {
            let (owner, chunk) = put_chunk(&store, &format!("{number}"), pattern(number, length)).await;
            assert!(engine.move_chunk(chunk).await.unwrap());
            chunks.push((number, owner, chunk, length));
        }
        // The second one moves again, and the third dies where it was moved to.
        assert!(engine.move_chunk(chunks[1].2).await.unwrap());
        let (_, owner, dead, _) = chunks.pop().unwrap();
        assert!(
            store.transact(Scope::new(), |txn| async move { content::free(&txn, dead, owner).await }).await.unwrap()
        );
        assert!(!engine.move_chunk(dead).await.unwrap(), "it is not live any more");

        let (backup, target) = (directory.path().join("backup"), directory.path().join("restored"));
        engine.backup(&backup, |_| {}).unwrap();
        restore(&backup, &target, |_| {}).unwrap();
        let (restored, rows) = open(&target);
        for (engine, store) in [(&engine, &store), (&restored, &rows)] {
            let report = engine.check(|_| {}).await.unwrap();
            assert!(report.is_clean(), "{:?}", report.problems);
            assert_eq!(report.chunks, 2);
            for (number, owner, chunk, length) in &chunks {
                read(store, *chunk, *number, *length).await;
                let freed =
                    store.transact(Scope::new(), |txn| async move { content::free(&txn, *chunk, *owner).await });
                assert!(freed.await.unwrap());
            }
            let report = engine.check(|_| {}).await.unwrap();
            assert!(report.is_clean(), "{:?}", report.problems);
            assert_eq!(engine.metrics().live_chunk_bytes, 0);
        }
    });
}

#[test]
fn a_closed_store_keeps_no_used_segments_of_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { reserve_bytes: 0, log_segment_bytes: 64 * 1024, ..Options::default() };
    let engine = Arc::new(EmbeddedEngine::open(directory.path(), options).unwrap());
    let store = Store::new(Arc::<EmbeddedEngine>::clone(&engine));
    let segments = || std::fs::read_dir(directory.path().join("log")).unwrap().count();
    block_on(async {
        for number in 0..40 {
            put_chunk(&store, &format!("{number}"), vec![7; 10_000]).await;
        }
    });
    engine.checkpoint().unwrap();
    assert!(segments() > 3, "used ones are kept");
    engine.close().unwrap();
    assert!(segments() <= 2, "the one that is written to, and the next");
}

#[test]
fn the_log_stays_short_also_when_its_rows_are_few() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { reserve_bytes: 0, log_segment_bytes: 1024 * 1024, ..Options::default() };
    let memtable_bytes = options.memtable_bytes;
    let engine = Arc::new(EmbeddedEngine::open(directory.path(), options).unwrap());
    let store = Store::new(Arc::<EmbeddedEngine>::clone(&engine));
    let (commits, mut longest) = (2000, 0);
    block_on(async {
        for _ in 0..commits {
            put_chunk(&store, "one", pattern(0, 60_000)).await;
            longest = longest.max(std::fs::read_dir(directory.path().join("log")).unwrap().count());
        }
    });
    assert!(commits * 1000 < memtable_bytes, "its rows alone ask for no checkpoint");
    assert!(longest < 60, "{longest} segments of 1 MiB for {commits} commits of 60,000 bytes");
}

#[test]
fn a_crash_brought_back_an_extent_that_the_collector_had_emptied() {
    let (disk, index) = (SimulatedDisk::new(), index_directory());
    let opened = Opened::on(disk.clone(), index.path()).unwrap();
    let extents = |disk: &SimulatedDisk| store_embedded::disk::Disk::list(disk, "extents").unwrap();
    block_on(async {
        for number in 0..4 {
            opened.put_chunk(&format!("kept {number}"), pattern(number, 60_000)).await.unwrap();
        }
        // From now on the log does not carry them any more, but it does carry those that follow in the same extent.
        opened.engine.checkpoint().unwrap();
        let first = extents(&disk);
        for number in 0..30 {
            opened.put_chunk(&format!("{number}"), pattern(number, 60_000)).await.unwrap();
        }
        assert_eq!(extents(&disk), first, "they share an extent");
        for number in 0..30 {
            opened.release(&format!("{number}")).await.unwrap();
        }
        opened.sweep().await.unwrap();
        while opened.engine.collect().await.unwrap().more {}
        opened.engine.delete_dead_extents().unwrap();
        assert!(!extents(&disk).contains(&first[0]), "it was emptied and deleted");
        let before = opened.visible().await.unwrap();
        assert_eq!(before.len(), 4);
        // The power fails, or only the process dies.
        for seed in 0..5 {
            let index = support::copy_index(index.path());
            let opened = Opened::on(SimulatedDisk::from_image(disk.crash(seed)), index.path()).unwrap();
            assert_eq!(opened.visible().await.unwrap(), before, "seed {seed}");
            opened.must_be_clean(&format!("seed {seed}")).await;
        }
        opened.abandon();
        let opened = Opened::on(disk.clone(), index.path()).unwrap();
        assert_eq!(opened.visible().await.unwrap(), before);
        assert!(!extents(&disk).contains(&first[0]), "it was deleted before anybody was served");
        opened.must_be_clean("after the process died").await;
    });
}

#[test]
fn overwrites_were_swept_one_content_a_transaction() {
    let directory = tempfile::tempdir().unwrap();
    let (engine, store) = open(directory.path());
    block_on(async {
        for number in 0..1000_u64 {
            let (owner, chunk) = put_chunk(&store, "one", pattern(number, 100)).await;
            let released = store.transact(Scope::new().reclaims(), |txn| async move {
                content::release(&txn, owner, content::Holdings::Chunk(chunk)).await
            });
            released.await.unwrap();
        }
        let before = engine.metrics();
        let progress = sweep::step(&store).await.unwrap();
        let after = engine.metrics();
        assert_eq!((progress.finished, progress.more), (1000, false));
        assert_eq!(after.live_chunk_bytes, 0);
        let (commits, syncs) = (after.commits - before.commits, after.syncs - before.syncs);
        assert_eq!(commits, 4, "hundreds a transaction");
        assert!(syncs <= commits, "{syncs} syncs");
    });
}

/// Chunks of 60,000 bytes over and over, with the background at work: what they leave behind goes while they come.
#[test]
fn overwriting_over_and_over_grew_the_data_directory_without_bound() {
    const OVERWRITES: u64 = 4000;
    let directory = tempfile::tempdir().unwrap();
    let (engine, store) = open(directory.path());
    let stop = AtomicBool::new(false);
    let mut largest = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            block_on(async {
                while !stop.load(Ordering::Relaxed) {
                    sweep::step(&store).await.unwrap();
                    if engine.wants_collection() {
                        engine.collect().await.unwrap();
                    }
                    std::thread::yield_now();
                }
            });
        });
        block_on(async {
            let mut last = None;
            for number in 0..OVERWRITES {
                let new = put_chunk(&store, "one", pattern(number, 60_000)).await;
                if let Some((owner, chunk)) = last.replace(new) {
                    let released = store.transact(Scope::new(), |txn| async move {
                        content::release(&txn, owner, content::Holdings::Chunk(chunk)).await
                    });
                    released.await.unwrap();
                }
                if number % 100 == 0 {
                    largest = largest.max(extent_files(directory.path()));
                }
            }
        });
        stop.store(true, Ordering::Relaxed);
    });
    assert!(largest < 150 * 1024 * 1024, "{largest} bytes for one chunk that was overwritten {OVERWRITES} times");
}

#[test]
fn writers_wait_for_the_sweeper_when_it_falls_behind_and_nobody_else_does() {
    let directory = tempfile::tempdir().unwrap();
    let (engine, store) = open(directory.path());
    let waits = || matches!(store::Engine::pace(&*engine, 1), store::Answer::Later(_));
    block_on(async {
        let (mut number, mut gone) = (0, Vec::new());
        while engine.metrics().unswept_bytes <= 64 * 1024 * 1024 {
            assert!(!waits());
            let (owner, chunk) = put_chunk(&store, "one", pattern(number, 60_000)).await;
            let released = store.transact(Scope::new(), |txn| async move {
                content::release(&txn, owner, content::Holdings::Chunk(chunk)).await
            });
            released.await.unwrap();
            gone.push(chunk);
            number += 1;
        }
        assert!(waits());
        // It waits, and is answered.
        put_chunk(&store, "one", pattern(number, 60_000)).await;
        sweep::step(&store).await.unwrap();
        assert!(!waits(), "{} bytes", engine.metrics().unswept_bytes);
    });
}
