//! Data directories of every released format are opened for ever.
//!
//! `testdata/format-N` is a directory that a build of format N left without a clean close: part of it in the tables of the
//! index, part of it in the log alone. `LAZULI_TEST_WRITE_FIXTURE=1 cargo nextest run -p lazuli-store-embedded --test format`
//! writes that of the present format, when there is none yet. A directory that was released is never written again.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test that cannot go on fails; data directories are copied as files"
)]

mod support;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use store::{
    ChunkRef, Read, Scope, Store,
    conformance::support as contract,
    content::{self, Holdings},
    content_map::{self, MapWriter, Slice},
    epoch::Epochs,
    manifest::{Encoder, Manifest, read_exactly},
    sweep,
    testing::Random,
};
use store_embedded::{EmbeddedEngine, FORMAT, Options};
use support::{block_on, copy_tree};
use types::{ContentId, Timestamp};

const MAP: ContentId = ContentId::new(100);
const MANIFEST: ContentId = ContentId::new(101);
const GONE: ContentId = ContentId::new(102);
const USER: ContentId = ContentId::new(103);

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata")
}

fn open(path: &Path) -> (Arc<EmbeddedEngine>, Store) {
    // Small segments of the log, so that the directory is small.
    let options = Options { background: false, reserve_bytes: 0, log_segment_bytes: 8 * 1024, ..Options::default() };
    let engine = Arc::new(EmbeddedEngine::open(path, options).unwrap());
    let store = Store::new(Arc::<EmbeddedEngine>::clone(&engine));
    (engine, store)
}

fn bytes(seed: u64, length: usize) -> Bytes {
    Bytes::from(Random::new(seed).bytes(length))
}

/// Links a chunk and names it by a row.
async fn put_chunk(store: &Store, name: &str, owner: ContentId, bytes: Bytes) -> ChunkRef {
    let chunk = contract::linked(store, owner, bytes).await;
    contract::put(store, name, Bytes::copy_from_slice(&chunk.encode())).await;
    chunk
}

async fn chunk_of(store: &Store, name: &str) -> ChunkRef {
    let row = contract::now(store, name).await.unwrap();
    ChunkRef::decode(row[..].try_into().unwrap())
}

async fn write_map(store: &Store, offset: u64, seed: u64, epochs: Epochs) {
    let pending = &contract::pending(store, bytes(seed, 1000)).await;
    contract::commit(store, |txn| async move {
        content::link(&txn, pending, MAP);
        let mut map = MapWriter::new(&txn, MAP, epochs);
        map.write(offset, Slice { chunk: pending.reference(), skip: 0, length: 1000 }).await?;
        map.finish().await
    })
    .await;
}

/// Everything that the test below looks for.
async fn write(path: &Path) {
    let (engine, store) = open(path);
    contract::put(&store, "in the tables", "first").await;
    contract::put(&store, "deleted", "soon").await;
    contract::put(&store, "spilled", bytes(1, 17_000)).await;
    put_chunk(&store, "small chunk", ContentId::new(1), bytes(2, 300)).await;
    let moved = put_chunk(&store, "moved chunk", ContentId::new(2), bytes(3, 400)).await;
    let epochs = Epochs { current: 1, newest_snapshot: None };
    write_map(&store, 0, 4, epochs).await;
    engine.checkpoint().unwrap();

    contract::delete(&store, "deleted").await;
    contract::put(&store, "in the log", "second").await;
    assert!(engine.move_chunk(moved).await.unwrap());
    write_map(&store, 500, 5, Epochs { current: 2, newest_snapshot: Some(1) }).await;
    let block = put_chunk(&store, "block", MANIFEST, bytes(6, 100)).await;
    let mut manifest = Encoder::header(1).to_vec();
    manifest.extend_from_slice(&Encoder::default().block(block, b"id").unwrap());
    put_chunk(&store, "manifest", MANIFEST, Bytes::from(manifest)).await;
    let gone = put_chunk(&store, "used by another", GONE, bytes(7, 200)).await;
    contract::commit(&store, |txn| async move {
        assert!(content::add_edge(&txn, GONE, USER).await?);
        assert!(content::pin(&txn, MANIFEST, 9, Timestamp::from_ticks(u64::MAX / 4)).await?);
        content::release(&txn, GONE, Holdings::Chunk(gone)).await
    })
    .await;
    drop((store, engine)); // without a close: the end of it is in the log alone
}

async fn whole(store: &Store, name: &str) -> Bytes {
    let chunk = chunk_of(store, name).await;
    let source = store.open_chunk(chunk).await.unwrap();
    read_exactly(&*source, 0, usize::try_from(chunk.length).unwrap()).await.unwrap()
}

async fn read(path: &Path) {
    let (engine, store) = open(path);
    let report = engine.check(|_| {}).await.unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
    assert_eq!(contract::now(&store, "in the tables").await.unwrap(), "first");
    assert_eq!(contract::now(&store, "in the log").await.unwrap(), "second");
    assert_eq!(contract::now(&store, "deleted").await, None);
    assert_eq!(contract::now(&store, "spilled").await.unwrap(), bytes(1, 17_000));
    for (name, seed, length) in
        [("small chunk", 2, 300), ("moved chunk", 3, 400), ("block", 6, 100), ("used by another", 7, 200)]
    {
        assert!(whole(&store, name).await == bytes(seed, length), "{name}");
    }
    for (epoch, expected) in [(1, [(0, 4)].as_slice()), (2, &[(0, 4), (500, 5)])] {
        let (segments, _) = content_map::read(&store.snapshot(), MAP, epoch, (0, 10_000), 10).await.unwrap();
        assert_eq!(segments.len(), expected.len(), "epoch {epoch}");
        for (segment, (offset, seed)) in segments.iter().zip(expected) {
            assert_eq!(segment.offset, *offset);
            let source = store.open_chunk(segment.slice.chunk).await.unwrap();
            assert!(read_exactly(&*source, 0, 1000).await.unwrap() == bytes(*seed, 1000), "epoch {epoch}");
        }
    }
    let source = store.open_chunk(chunk_of(&store, "manifest").await).await.unwrap();
    let blocks = Manifest::open(&*source).await.unwrap().blocks(0, 10).await.unwrap();
    assert_eq!((&*blocks[0].id, blocks[0].chunk), (&b"id"[..], chunk_of(&store, "block").await));

    // What is gone stays while it is used, and goes with its last user.
    while sweep::step(&store).await.unwrap().more {}
    let gone = chunk_of(&store, "used by another").await;
    assert!(content::find(&store.snapshot(), gone).await.unwrap().is_some());
    contract::commit(&store, |txn| async move { content::drop_edge(&txn, GONE, USER).await }).await;
    while sweep::step(&store).await.unwrap().more {}
    assert!(content::find(&store.snapshot(), gone).await.unwrap().is_none());

    // And it can be written to.
    let moved = chunk_of(&store, "moved chunk").await;
    let freed = store.transact(Scope::new(), |txn| async move {
        txn.put(contract::key("new"), "row");
        content::free(&txn, moved, ContentId::new(2)).await
    });
    assert!(freed.await.unwrap());
    engine.close().unwrap();
    drop((store, engine));
    let (engine, store) = open(path);
    assert!(store.snapshot().get(&contract::key("new")).await.unwrap().is_some());
    let report = engine.check(|_| {}).await.unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
}

#[test]
fn data_directories_of_every_released_format_are_opened() {
    let present = testdata().join(format!("format-{FORMAT}"));
    if std::env::var_os("LAZULI_TEST_WRITE_FIXTURE").is_some() && !present.exists() {
        let directory = tempfile::tempdir().unwrap();
        block_on(write(directory.path()));
        copy_tree(directory.path(), &present);
        std::fs::remove_file(present.join("LOCK")).unwrap();
    }
    for format in 2..=FORMAT {
        let kept = testdata().join(format!("format-{format}"));
        let directory = tempfile::tempdir().unwrap();
        copy_tree(&kept, directory.path());
        block_on(read(directory.path()));
    }
}

#[test]
fn what_the_present_build_writes_is_what_the_kept_directories_hold() {
    let directory = tempfile::tempdir().unwrap();
    block_on(async {
        write(directory.path()).await;
        read(directory.path()).await;
    });
}
