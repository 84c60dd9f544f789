//! Content maps against a plain array: at every epoch, each byte comes from where the last write put it.

use bytes::Bytes;
use types::ContentId;

use super::{Subject, support::*};
use crate::{
    chunk::ChunkRef,
    content::{self, Holdings},
    content_map::{self, Bounds, CELL_BYTES, MapWriter, Slice},
    epoch::Epochs,
    manifest::read_exactly,
    read::Direction,
    testing::Random,
    transact::Store,
};

mod property;

pub use property::{MapModel, Op, WINDOW, random_histories_match_an_array_of_bytes_per_epoch};

const FIRST_EPOCH: Epochs = Epochs { current: 1, newest_snapshot: None };

/// Writes a chunk's bytes into a map, in one transaction.
async fn write_at(store: &Store, content: ContentId, offset: u64, bytes: impl Into<Bytes>) -> ChunkRef {
    let pending = &pending(store, bytes).await;
    commit(store, |txn| async move {
        content::link(&txn, pending, content);
        let chunk = pending.reference();
        let mut map = MapWriter::new(&txn, content, FIRST_EPOCH);
        map.write(offset, Slice { chunk, skip: 0, length: chunk.length }).await?;
        map.finish().await
    })
    .await;
    pending.reference()
}

async fn clear(store: &Store, content: ContentId, start: u64, end: u64) {
    commit(store, |txn| async move {
        let mut map = MapWriter::new(&txn, content, FIRST_EPOCH);
        map.clear(start, end).await?;
        map.finish().await
    })
    .await;
}

async fn count_rows(store: &Store, content: ContentId) -> usize {
    rows(&store.snapshot(), content_map::all_rows(content), Direction::Ascending).await.len()
}

/// A map of `count` chunks with holes between them.
pub async fn striped(store: &Store, content: ContentId, count: u64) -> Vec<ChunkRef> {
    let mut chunks = Vec::new();
    for number in 0..count {
        chunks.push(write_at(store, content, number * 1500, stripe(number)).await);
    }
    chunks
}

fn stripe(number: u64) -> Vec<u8> {
    Random::new(number).bytes(1000)
}

/// The map is as [`striped`] made it.
pub async fn check_striped(store: &Store, content: ContentId, chunks: &[ChunkRef]) {
    let (segments, more) = content_map::read(&store.snapshot(), content, 1, (0, u64::MAX), usize::MAX).await.unwrap();
    assert_eq!((segments.len(), more), (chunks.len(), None));
    for ((segment, chunk), number) in segments.iter().zip(chunks).zip(0..) {
        assert_eq!((segment.offset, segment.slice.chunk, segment.slice.skip), (number * 1500, *chunk, 0));
        assert!(chunk_bytes(store, *chunk).await.unwrap() == stripe(number));
    }
}

/// A range of a map as bytes, holes as zeros.
async fn map_bytes(store: &Store, content: ContentId, start: u64, end: u64) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(end - start).unwrap()];
    let (segments, _) = content_map::read(&store.snapshot(), content, 1, (start, end), usize::MAX).await.unwrap();
    for segment in segments {
        let source = store.open_chunk(segment.slice.chunk).await.unwrap();
        let length = usize::try_from(segment.slice.length).unwrap();
        let part = read_exactly(&*source, segment.slice.skip, length).await.unwrap();
        let place = usize::try_from(segment.offset - start).unwrap();
        bytes[place..place + length].copy_from_slice(&part);
    }
    bytes
}

pub async fn the_bytes_of_a_map_come_back(subject: Box<dyn Subject>) {
    let store = subject.store();
    let content = content_id(&store);
    let mut random = Random::new(31);
    let mut model = vec![0; 20_000];
    for _ in 0..100 {
        let (offset, length) = (random.index(16_000), 1 + random.index(4_000));
        let place = offset..offset + length;
        let (start, end) = (u64::try_from(place.start).unwrap(), u64::try_from(place.end).unwrap());
        if random.one_in(4) {
            clear(&store, content, start, end).await;
            model[place].fill(0);
        } else {
            let bytes = random.bytes(length);
            model[place].copy_from_slice(&bytes);
            write_at(&store, content, start, bytes).await;
        }
    }
    assert!(map_bytes(&store, content, 0, 20_000).await == model);
    for _ in 0..50 {
        let start = random.index(20_000);
        let end = start + random.index(20_000 - start);
        let read = map_bytes(&store, content, u64::try_from(start).unwrap(), u64::try_from(end).unwrap()).await;
        assert!(read == model[start..end], "{start}..{end}");
    }
}

pub async fn a_row_never_crosses_a_cell(subject: Box<dyn Subject>) {
    let store = subject.store();
    let content = content_id(&store);
    let bytes = Random::new(37).bytes(9 * 1024 * 1024);
    let length = u64::try_from(bytes.len()).unwrap();
    let start = CELL_BYTES - 5;
    let chunk = write_at(&store, content, start, bytes.clone()).await;
    assert_eq!(live_chunks(&store).await[&chunk].slices.rows, 4, "5 bytes, two cells, the rest");
    assert!(map_bytes(&store, content, start, start + length).await == bytes);
    clear(&store, content, start + 1, start + length - 1).await;
    assert_eq!(live_chunks(&store).await[&chunk].slices.rows, 2, "the first and the last byte");
    clear(&store, content, 0, start + length).await;
    assert!(live_chunks(&store).await.is_empty());
    assert_eq!(count_rows(&store, content).await, 0);
}

pub async fn a_chunk_overwritten_in_its_own_transaction_is_freed(subject: Box<dyn Subject>) {
    let store = subject.store();
    let content = content_id(&store);
    let (hidden, seen) = (&pending(&store, "hidden").await, &pending(&store, "seen!!").await);
    commit(&store, |txn| async move {
        let mut map = MapWriter::new(&txn, content, FIRST_EPOCH);
        for pending in [hidden, seen] {
            content::link(&txn, pending, content);
            map.write(0, Slice { chunk: pending.reference(), skip: 0, length: 6 }).await?;
        }
        map.finish().await
    })
    .await;
    assert_eq!(live_chunks(&store).await.into_keys().collect::<Vec<_>>(), [seen.reference()]);
}

pub async fn two_writers_of_one_map_never_overlap(subject: Box<dyn Subject>) {
    let store = subject.store();
    let content = content_id(&store);
    // Nothing is there yet, so the two write no row in common.
    let (outer, inner) = (&pending(&store, "outer bytes").await, &pending(&store, "inner bytes").await);
    let attempts = interrupted(
        &store,
        |txn| async move {
            content::link(&txn, outer, content);
            let mut map = MapWriter::new(&txn, content, FIRST_EPOCH);
            map.write(0, Slice { chunk: outer.reference(), skip: 0, length: 11 }).await?;
            map.finish().await
        },
        |txn| async move {
            content::link(&txn, inner, content);
            let mut map = MapWriter::new(&txn, content, FIRST_EPOCH);
            map.write(5, Slice { chunk: inner.reference(), skip: 0, length: 11 }).await?;
            map.finish().await
        },
    )
    .await;
    assert_eq!(attempts, 2);
    assert_eq!(map_bytes(&store, content, 0, 16).await, b"outer bytesbytes");
    assert_eq!(count_rows(&store, content).await, 2);
}

pub async fn clearing_nothing_changes_nothing(subject: Box<dyn Subject>) {
    let store = subject.store();
    let content = content_id(&store);
    write_at(&store, content, 100, vec![1; 100]).await;
    let before = store.snapshot().instant();
    for (start, end) in [(0, 100), (200, 300), (150, 150), (0, 0), (CELL_BYTES, 2 * CELL_BYTES)] {
        clear(&store, content, start, end).await;
    }
    write_at(&store, content, 150, "").await;
    assert_eq!(store.snapshot().instant(), before);
    assert_eq!(count_rows(&store, content).await, 1);
}

/// Neither a comparison of two equal states nor a read of what later epochs wrote walks over a whole map at once.
pub async fn no_call_looks_at_a_whole_map(subject: Box<dyn Subject>) {
    const ROWS: u64 = 50;
    let store = subject.store();
    let content = content_id(&store);
    striped(&store, content, ROWS).await;
    let (snapshot, range) = (&store.snapshot(), (0, ROWS * 1500));
    let bounds = Bounds { found: 1000, examined: 10 };
    let mut differing = Vec::new();
    let mut unseen = Vec::new();
    let (mut from, mut calls) = (Some(0), 0);
    while let Some(start) = from {
        let (found, next) = content_map::diff(snapshot, content, (1, 1), (start, range.1), bounds).await.unwrap();
        differing.extend(found);
        (from, calls) = (next, calls + 1);
    }
    assert!(differing.is_empty() && (5..=6).contains(&calls), "equal states: {differing:?} in {calls} calls");
    (from, calls) = (Some(0), 0);
    while let Some(start) = from {
        // Everything was written after this epoch.
        let read = content_map::read_some(snapshot, content, 0, (start, range.1), bounds);
        let (found, next) = read.await.unwrap();
        unseen.extend(found);
        (from, calls) = (next, calls + 1);
    }
    assert!(unseen.is_empty() && (5..=6).contains(&calls), "of a later epoch: {unseen:?} in {calls} calls");
}

pub async fn a_large_map_is_swept_in_steps(subject: Box<dyn Subject>) {
    let store = subject.store();
    let (content, other) = (content_id(&store), content_id(&store));
    let kept = write_at(&store, other, 0, "stays").await;
    striped(&store, content, 600).await;
    commit(&store, |txn| async move { content::release(&txn, content, Holdings::Map).await }).await;
    sweep_all(&store).await;
    assert_eq!(live_chunks(&store).await.into_keys().collect::<Vec<_>>(), [kept]);
    assert_eq!(count_rows(&store, content).await, 0);
    assert_eq!(count_rows(&store, other).await, 1);
}

/// Copies all rows of a map, as a copy of a blob does.
async fn copy_map(store: &Store, from: ContentId, to: ContentId) {
    commit(store, |txn| async move {
        let (segments, _) = content_map::read(&txn, from, 1, (0, u64::MAX), usize::MAX).await?;
        let mut map = MapWriter::new(&txn, to, FIRST_EPOCH);
        for segment in segments {
            map.append(segment.offset, segment.slice);
        }
        map.finish().await
    })
    .await;
}

pub async fn a_chunk_lives_until_the_last_map_lets_go(subject: Box<dyn Subject>) {
    let store = subject.store();
    for source_goes_first in [true, false] {
        let (source, copy) = (content_id(&store), content_id(&store));
        let chunks = striped(&store, source, 5).await;
        copy_map(&store, source, copy).await;
        check_striped(&store, copy, &chunks).await;
        let (first, last) = if source_goes_first { (source, copy) } else { (copy, source) };
        clear(&store, first, 0, 1500).await;
        commit(&store, |txn| async move { content::release(&txn, first, Holdings::Map).await }).await;
        sweep_all(&store).await;
        check_striped(&store, last, &chunks).await;
        commit(&store, |txn| async move { content::release(&txn, last, Holdings::Map).await }).await;
        sweep_all(&store).await;
        assert!(live_chunks(&store).await.is_empty());
    }
}

pub async fn an_append_is_found_where_it_was_put(subject: Box<dyn Subject>) {
    let store = subject.store();
    let content = content_id(&store);
    let mut model = Vec::new();
    for number in 0..20 {
        let bytes = Random::new(number).bytes(300_000);
        let pending = &pending(&store, bytes.clone()).await;
        let offset = u64::try_from(model.len()).unwrap();
        commit(&store, |txn| async move {
            content::link(&txn, pending, content);
            let chunk = pending.reference();
            let mut map = MapWriter::new(&txn, content, FIRST_EPOCH);
            map.append(offset, Slice { chunk, skip: 0, length: chunk.length });
            map.finish().await
        })
        .await;
        model.extend(bytes);
    }
    assert!(map_bytes(&store, content, 0, u64::try_from(model.len()).unwrap()).await == model);
    assert_eq!(count_rows(&store, content).await, 21, "one of them crosses a cell");
}
