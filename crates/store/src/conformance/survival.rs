//! What a reopen must keep, and what it must not. Engines that keep nothing end these cases early.

use bytes::Bytes;

use super::{Subject, manifests, maps, spills, support::*};
use crate::{
    chunk::ChunkRef,
    content::{self, Holdings},
    read::Direction,
    sweep,
    testing::Random,
};

pub async fn commits_survive_a_reopen(mut subject: Box<dyn Subject>) {
    let store = subject.store();
    for number in 0..300 {
        put(&store, &format!("{number:03}"), format!("value {number}")).await;
    }
    for number in (0..300).step_by(3) {
        delete(&store, &format!("{number:03}")).await;
    }
    let before = rows(&store.snapshot(), everything(), Direction::Ascending).await;
    assert_eq!(before.len(), 200);
    drop(store);
    for round in 0..3 {
        if !subject.reopen().await {
            return;
        }
        let store = subject.store();
        assert_eq!(rows(&store.snapshot(), everything(), Direction::Ascending).await, before, "round {round}");
        // Conflicts are decided afresh.
        put(&store, "000", "back").await;
        delete(&store, "000").await;
    }
}

pub async fn spilled_values_survive_a_reopen(mut subject: Box<dyn Subject>) {
    let store = subject.store();
    put(&store, "replaced", spills::value(100_000)).await;
    delete(&store, "replaced").await;
    spills::put_all(&store).await;
    drop(store);
    if subject.reopen().await {
        spills::check_all(&subject.store()).await;
    }
}

pub async fn chunks_survive_a_reopen(mut subject: Box<dyn Subject>) {
    let store = subject.store();
    let owner = content_id(&store);
    let mut random = Random::new(23);
    let mut kept = Vec::new();
    let mut freed = Vec::new();
    for length in [1, 100, 4_000, 65_535, 65_536, 65_537, 1_048_579] {
        let bytes = Bytes::from(random.bytes(length));
        kept.push((linked(&store, owner, bytes.clone()).await, bytes));
        let chunk = linked(&store, owner, random.bytes(length)).await;
        commit(&store, |txn| async move { content::free(&txn, chunk, owner).await }).await;
        freed.push(chunk);
    }
    drop(store);
    if !subject.reopen().await {
        return;
    }
    let store = subject.store();
    for (chunk, bytes) in &kept {
        assert!(chunk_bytes(&store, *chunk).await.unwrap() == *bytes, "{chunk}");
    }
    for chunk in freed {
        assert!(!is_live(&store, chunk).await, "{chunk} was freed");
    }
    assert_eq!(live_chunks(&store).await.len(), kept.len());
    let next = linked(&store, owner, "the next one").await;
    assert_eq!(chunk_bytes(&store, next).await.unwrap(), "the next one");
    assert!(kept.iter().all(|(chunk, _)| chunk.token != next.token));
}

pub async fn a_token_is_the_same_after_moves_and_reopens(mut subject: Box<dyn Subject>) {
    let owner = content_id(&subject.store());
    let mut chunks = Vec::new();
    for length in [1, 1_000, 100_000] {
        let bytes = Bytes::from(Random::new(u64::try_from(length).unwrap()).bytes(length));
        chunks.push((linked(&subject.store(), owner, bytes.clone()).await, bytes));
    }
    for _ in 0..3 {
        for (chunk, bytes) in &chunks {
            subject.move_chunk(*chunk).await;
            assert!(chunk_bytes(&subject.store(), *chunk).await.unwrap() == *bytes, "{chunk} was moved");
        }
        if !subject.reopen().await {
            return;
        }
        let store = subject.store();
        let found: Vec<ChunkRef> = live_chunks(&store).await.into_keys().collect();
        let mut expected: Vec<ChunkRef> = chunks.iter().map(|(chunk, _)| *chunk).collect();
        expected.sort_unstable();
        assert_eq!(found, expected);
        for (chunk, bytes) in &chunks {
            assert!(chunk_bytes(&store, *chunk).await.unwrap() == *bytes, "{chunk} after a reopen");
        }
    }
    let store = &subject.store();
    for (chunk, _) in chunks {
        assert!(commit(store, |txn| async move { content::free(&txn, chunk, owner).await }).await);
        assert!(!is_live(store, chunk).await);
    }
}

pub async fn unlinked_chunks_do_not_survive_a_reopen(mut subject: Box<dyn Subject>) {
    let store = subject.store();
    let mut references = Vec::new();
    for length in [1, 1_000, 100_000] {
        references.push(pending(&store, vec![7; length]).await.reference());
    }
    let mut writer = store.write_chunk(None).unwrap();
    writer.write(Bytes::from(vec![8; 100_000])).await.unwrap();
    drop(writer);
    drop(store);
    if !subject.reopen().await {
        return;
    }
    let store = subject.store();
    for chunk in references {
        assert!(!is_live(&store, chunk).await);
    }
}

pub async fn ids_and_time_go_on_after_a_reopen(mut subject: Box<dyn Subject>) {
    let mut seen = std::collections::HashSet::new();
    let mut last = subject.store().now();
    for _ in 0..5 {
        let store = subject.store();
        assert!(store.now() >= last, "time went back over a reopen");
        assert!((0..1_000).all(|_| seen.insert(store.fresh_id())), "an id was given out twice");
        last = commit(&store, |txn| async move {
            txn.put(key("time"), "");
            Ok(txn.now())
        })
        .await;
        drop(store);
        if !subject.reopen().await {
            return;
        }
    }
}

pub async fn a_sweep_goes_on_after_a_reopen(mut subject: Box<dyn Subject>) {
    let store = subject.store();
    let owner = content_id(&store);
    let (manifest, _) = manifests::committed(&store, owner, 600).await;
    commit(&store, |txn| async move { content::release(&txn, owner, Holdings::Manifest { manifest, next: 0 }).await })
        .await;
    drop(store);
    for _ in 0..2 {
        let store = subject.store();
        assert!(sweep::step(&store).await.unwrap().more);
        drop(store);
        if !subject.reopen().await {
            return;
        }
    }
    let store = subject.store();
    sweep_all(&store).await;
    assert!(live_chunks(&store).await.is_empty());
}

pub async fn a_map_survives_a_reopen(mut subject: Box<dyn Subject>) {
    let store = subject.store();
    let content = content_id(&store);
    let chunks = maps::striped(&store, content, 20).await;
    drop(store);
    if !subject.reopen().await {
        return;
    }
    let store = subject.store();
    maps::check_striped(&store, content, &chunks).await;
    commit(&store, |txn| async move { content::release(&txn, content, Holdings::Map).await }).await;
    sweep_all(&store).await;
    assert!(live_chunks(&store).await.is_empty());
}
