//! Chunks: every byte comes back, verified, from the moment they are linked until they are freed.

use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use types::ContentId;

use super::{Subject, support::*};
use crate::{
    chunk::{ChunkRef, PendingChunk},
    content,
    content_map::{MapWriter, Slice},
    epoch::Epochs,
    manifest::read_exactly,
    testing::Random,
    transact::{Scope, Store},
};

const KIB: usize = 1024;
const LENGTHS: [usize; 7] = [0, 1, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 1024 * KIB + 3, 10 * 1024 * KIB];

fn bytes_of(length: usize) -> Bytes {
    Bytes::from(Random::new(u64::try_from(length).unwrap()).bytes(length))
}

/// Writes a chunk in pieces of these lengths, over and over.
async fn stream(store: &Store, bytes: &Bytes, pieces: &[usize], expected: Option<u64>) -> PendingChunk {
    let mut writer = store.write_chunk(expected).unwrap();
    let mut rest = bytes.clone();
    for piece in pieces.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let piece = rest.split_to(rest.len().min(*piece));
        writer.write(piece).await.unwrap();
    }
    writer.finish().await.unwrap()
}

async fn link(store: &Store, pending: &PendingChunk, owner: ContentId) {
    commit(store, |txn| async move {
        content::link(&txn, pending, owner);
        Ok(())
    })
    .await;
}

async fn free(store: &Store, chunk: ChunkRef, owner: ContentId) -> bool {
    commit(store, |txn| async move { content::free(&txn, chunk, owner).await }).await
}

pub async fn chunks_of_every_size_come_back_in_any_pieces(subject: Box<dyn Subject>) {
    let store = subject.store();
    let owner = content_id(&store);
    let pieces: [&[usize]; 4] = [&[usize::MAX], &[1, 4093, 0, 65_537], &[64 * KIB], &[64 * KIB - 1, 3]];
    for length in LENGTHS {
        let bytes = bytes_of(length);
        let hints = [Some(u64::try_from(length).unwrap()), None, Some(0), Some(1 << 24)];
        for (pieces, hint) in pieces.iter().zip(hints) {
            let pending = stream(&store, &bytes, pieces, hint).await;
            link(&store, &pending, owner).await;
            let read = chunk_bytes(&store, pending.reference()).await.unwrap();
            assert!(read == bytes, "{length} bytes in pieces of {pieces:?}");
        }
    }
}

pub async fn ranges_of_a_chunk_come_back(subject: Box<dyn Subject>) {
    let store = subject.store();
    let mut random = Random::new(5);
    for length in LENGTHS {
        let bytes = bytes_of(length);
        let chunk = linked(&store, content_id(&store), bytes.clone()).await;
        let source = store.open_chunk(chunk).await.unwrap();
        let borders = [0, 1, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, length / 2, length.saturating_sub(1), length];
        let random_places: Vec<usize> = (0..20).map(|_| random.index(length + 1)).collect();
        for start in borders.into_iter().chain(random_places).filter(|start| *start <= length) {
            let end = start + random.index(length - start + 1).min(300_000);
            let read = read_exactly(&*source, u64::try_from(start).unwrap(), end - start).await.unwrap();
            assert!(read == bytes[start..end], "{start}..{end} of {length}");
        }
        for beyond in [0, 1, u64::MAX - chunk.length] {
            assert_eq!(source.read(chunk.length + beyond, 10).await.unwrap(), "", "{beyond} behind {length}");
        }
        let cut = source.read(chunk.length.saturating_sub(1), usize::MAX).await.unwrap();
        assert!(cut == bytes[length.saturating_sub(1)..], "a read past the end of {length} is cut");
    }
}

pub async fn the_reference_carries_length_and_checksum(subject: Box<dyn Subject>) {
    assert_eq!(crc64(b"123456789"), 0xAE8B_1486_0A79_9888, "the check value of CRC-64/NVME");
    let store = subject.store();
    for length in LENGTHS {
        let bytes = bytes_of(length);
        let reference = stream(&store, &bytes, &[10_007], None).await.reference();
        assert_eq!(reference.length, u64::try_from(length).unwrap());
        assert_eq!(reference.crc64, crc64(&bytes), "{length} bytes");
    }
}

pub async fn the_empty_chunk_needs_no_row(subject: Box<dyn Subject>) {
    let store = subject.store();
    let owner = content_id(&store);
    let chunk = linked(&store, owner, "").await;
    assert!(live_chunks(&store).await.is_empty());
    assert_eq!(chunk_bytes(&store, chunk).await.unwrap(), "");
    assert!(!free(&store, chunk, owner).await, "there is nothing to free");
    assert_eq!(chunk_bytes(&store, chunk).await.unwrap(), "");
}

pub async fn an_unfinished_chunk_vanishes(subject: Box<dyn Subject>) {
    let store = subject.store();
    for length in LENGTHS {
        let mut writer = store.write_chunk(None).unwrap();
        writer.write(bytes_of(length)).await.unwrap();
        drop(writer);
        drop(store.write_chunk(Some(1_000_000)).unwrap());
    }
    assert!(live_chunks(&store).await.is_empty());
    let chunk = linked(&store, content_id(&store), "the next one").await;
    assert_eq!(chunk_bytes(&store, chunk).await.unwrap(), "the next one");
}

pub async fn an_unlinked_chunk_vanishes(subject: Box<dyn Subject>) {
    let store = subject.store();
    for length in &LENGTHS[1..] {
        let chunk = pending(&store, bytes_of(*length)).await.reference();
        assert!(!is_live(&store, chunk).await, "{length} bytes");
    }
    assert!(live_chunks(&store).await.is_empty());
}

pub async fn a_linked_chunk_outlives_its_pending_value(subject: Box<dyn Subject>) {
    let store = subject.store();
    let owner = content_id(&store);
    for length in &LENGTHS[1..] {
        let pending = pending(&store, bytes_of(*length)).await;
        let chunk = pending.reference();
        link(&store, &pending, owner).await;
        assert!(chunk_bytes(&store, chunk).await.unwrap() == bytes_of(*length));
        drop(pending);
        assert!(chunk_bytes(&store, chunk).await.unwrap() == bytes_of(*length));
        assert_eq!(live_chunks(&store).await[&chunk].owner, owner);
    }
}

pub async fn a_freed_chunk_is_gone_and_freed_once(subject: Box<dyn Subject>) {
    let store = subject.store();
    let owner = content_id(&store);
    let neighbours = [linked(&store, owner, "before").await, linked(&store, owner, "behind").await];
    for length in &LENGTHS[1..] {
        let chunk = linked(&store, owner, bytes_of(*length)).await;
        assert!(free(&store, chunk, owner).await);
        assert!(!is_live(&store, chunk).await, "{length} bytes");
        assert!(!free(&store, chunk, owner).await, "{length} bytes freed twice");
    }
    for chunk in neighbours {
        assert!(is_live(&store, chunk).await);
    }
    assert_eq!(live_chunks(&store).await.len(), 2);
}

pub async fn only_its_owner_frees_a_chunk(subject: Box<dyn Subject>) {
    let store = subject.store();
    let (owner, other) = (content_id(&store), content_id(&store));
    let chunk = linked(&store, owner, "owned").await;
    assert!(!free(&store, chunk, other).await);
    assert_eq!(chunk_bytes(&store, chunk).await.unwrap(), "owned");
}

pub async fn an_open_source_outlives_the_free(subject: Box<dyn Subject>) {
    let store = subject.store();
    let owner = content_id(&store);
    for length in &LENGTHS[1..] {
        let bytes = bytes_of(*length);
        let chunk = linked(&store, owner, bytes.clone()).await;
        let source = store.open_chunk(chunk).await.unwrap();
        assert!(free(&store, chunk, owner).await);
        // Others come, and take whatever place became free.
        for _ in 0..4 {
            linked(&store, owner, bytes_of(64 * KIB + 1)).await;
        }
        assert!(!is_live(&store, chunk).await);
        assert!(read_exactly(&*source, 0, *length).await.unwrap() == bytes, "{length} bytes");
    }
}

pub async fn a_refused_link_leaves_the_chunk_pending(subject: Box<dyn Subject>) {
    let store = subject.store();
    let owner = content_id(&store);
    let pending = &pending(&store, bytes_of(1000)).await;
    let refused: Result<(), Outcome> = store
        .transact(Scope::new(), |txn| async move {
            content::link(&txn, pending, owner);
            Err(Outcome::Refused("not now"))
        })
        .await;
    assert!(refused.is_err());
    assert!(live_chunks(&store).await.is_empty());
    link(&store, pending, owner).await;
    assert!(chunk_bytes(&store, pending.reference()).await.unwrap() == bytes_of(1000));
}

pub async fn many_chunks_at_once_do_not_mix(subject: Box<dyn Subject>) {
    let store = subject.store();
    let mut running = Vec::new();
    for task in 0..8 {
        let store = store.clone();
        running.push(tokio::spawn(async move {
            let mut random = Random::new(task);
            let owner = content_id(&store);
            let mut written = Vec::new();
            for round in 0..20 {
                let length = if round % 5 == 0 { random.index(300_000) } else { random.index(3_000) };
                let bytes = Bytes::from(random.bytes(length));
                let piece = 1 + random.index(100_000);
                let pending = stream(&store, &bytes, &[piece], None).await;
                if random.one_in(4) {
                    continue; // abandoned
                }
                link(&store, &pending, owner).await;
                written.push((pending.reference(), bytes));
            }
            for (chunk, bytes) in written {
                assert!(chunk_bytes(&store, chunk).await.unwrap() == bytes, "{chunk}");
            }
        }));
    }
    for task in running {
        task.await.unwrap();
    }
}

pub async fn a_moved_chunk_is_read_by_its_old_reference(subject: Box<dyn Subject>) {
    let store = subject.store();
    let owner = content_id(&store);
    for length in [1, 1000, 64 * KIB + 1, 1024 * KIB + 3] {
        let chunk = linked(&store, owner, bytes_of(length)).await;
        for _ in 0..3 {
            subject.move_chunk(chunk).await;
            assert!(chunk_bytes(&store, chunk).await.unwrap() == bytes_of(length));
            assert_eq!(live_chunks(&store).await.into_keys().collect::<Vec<_>>(), [chunk]);
        }
        assert!(free(&store, chunk, owner).await);
        assert!(!is_live(&store, chunk).await);
    }
    assert!(live_chunks(&store).await.is_empty());
}

pub async fn an_empty_chunk_is_never_mistaken_for_a_moved_one(subject: Box<dyn Subject>) {
    let store = subject.store();
    let owner = content_id(&store);
    let chunk = linked(&store, owner, "moved").await;
    subject.move_chunk(chunk).await;
    // An engine may give any token to a chunk that needs none.
    let empty = ChunkRef { length: 0, crc64: 0, ..chunk };
    assert!(!free(&store, empty, owner).await);
    assert_eq!(chunk_bytes(&store, chunk).await.unwrap(), "moved");
}

pub async fn every_reference_of_a_chunk_is_the_same_and_no_other_has_its_token(subject: Box<dyn Subject>) {
    let store = subject.store();
    let owner = content_id(&store);
    let mut tokens = std::collections::HashSet::new();
    for length in LENGTHS[1..].iter().cycle().take(30) {
        let pending = pending(&store, bytes_of((*length).min(100_000))).await;
        let chunk = pending.reference();
        link(&store, &pending, owner).await;
        subject.move_chunk(chunk).await;
        assert!(tokens.insert(chunk.token), "the token of {chunk} was given out twice");
        assert_eq!(pending.reference(), chunk);
        assert_eq!(ChunkRef::decode(&chunk.encode()), chunk);
        assert_eq!(content::find(&store.snapshot(), chunk).await.unwrap().unwrap().chunk, chunk);
        if tokens.len() % 2 == 0 {
            assert!(free(&store, chunk, owner).await);
        }
    }
    assert_eq!(live_chunks(&store).await.len(), 15);
}

pub async fn a_chunk_that_is_moved_while_it_is_freed_is_freed(subject: Box<dyn Subject>) {
    let (store, subject) = (subject.store(), &*subject);
    let owner = content_id(&store);
    for length in [1, 1000, 64 * KIB + 1] {
        let chunk = linked(&store, owner, bytes_of(length)).await;
        let attempts = &AtomicU32::new(0);
        let freed = commit(&store, |txn| async move {
            let freed = content::free(&txn, chunk, owner).await?;
            if attempts.fetch_add(1, Ordering::Relaxed) == 0 {
                subject.move_chunk(chunk).await;
            }
            Ok(freed)
        });
        assert!(freed.await);
        assert!(!is_live(&store, chunk).await, "{length} bytes");
        assert!(!free(&store, chunk, owner).await, "{length} bytes freed twice");
    }
    assert!(live_chunks(&store).await.is_empty());
}

pub async fn a_move_disturbs_nobody_who_counts_slices(subject: Box<dyn Subject>) {
    let (store, subject) = (subject.store(), &*subject);
    let content = content_id(&store);
    let chunk = linked(&store, content, bytes_of(1000)).await;
    let attempts = &AtomicU32::new(0);
    commit(&store, |txn| async move {
        attempts.fetch_add(1, Ordering::Relaxed);
        let epochs = Epochs { current: 1, newest_snapshot: None };
        let mut map = MapWriter::new(&txn, content, epochs);
        map.write(0, Slice { chunk, skip: 0, length: 1000 }).await?;
        map.finish().await?;
        subject.move_chunk(chunk).await;
        Ok(())
    })
    .await;
    assert_eq!(attempts.load(Ordering::Relaxed), 1, "moving a chunk changed its row");
    assert_eq!(live_chunks(&store).await[&chunk].slices.rows, 1);
    assert!(chunk_bytes(&store, chunk).await.unwrap() == bytes_of(1000));
}
