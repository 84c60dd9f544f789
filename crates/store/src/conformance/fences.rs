//! What is fenced off: it is refused whatever it tries, and what its successor sees moves no more.

use std::sync::Arc;

use bytes::Bytes;
use types::ContentId;

use super::{Subject, support::*};
use crate::{
    StoreError,
    content::{self, Holdings},
    manifest::read_exactly,
    read::{Direction, Read},
    transact::{Scope, Store},
};

const OWNER: ContentId = ContentId::new(41);

async fn increment(store: &Store) -> Result<u64, StoreError> {
    store
        .transact(Scope::new(), |txn| async move {
            let next = count(&txn).await? + 1;
            txn.put(key("counter"), next.to_le_bytes().to_vec());
            Ok(next)
        })
        .await
}

async fn count(rows: &impl Read) -> Result<u64, StoreError> {
    let row = rows.get(&key("counter")).await?;
    Ok(row.map_or(0, |row| u64::from_le_bytes(row[..].try_into().unwrap())))
}

pub async fn what_is_fenced_off_is_refused(subject: Box<dyn Subject>) {
    let store = subject.store();
    put(&store, "row", "kept").await;
    let chunk = linked(&store, OWNER, Bytes::from_static(b"bytes")).await;
    let clone = store.clone();
    store.fence().await;
    store.fence().await; // twice is once

    let closed = |outcome: Result<(), StoreError>, what: &str| {
        assert!(matches!(outcome, Err(StoreError::Closed)), "{what}: {outcome:?}");
    };
    let key = &key("row");
    let write = |txn: crate::Txn| async move {
        txn.put(key.clone(), "lost");
        Ok::<_, StoreError>(())
    };
    closed(clone.transact(Scope::new(), write).await, "a write");
    closed(clone.transact(Scope::of(b"object").reclaims(), write).await, "a write behind a latch");
    closed(clone.series().transact(Scope::new(), write).await, "a write of the background");
    let read = clone.transact(Scope::new(), |txn| async move { txn.get(key).await.map(|_| ()) });
    closed(read.await, "a transaction that only reads");
    let refused = clone.transact(Scope::new(), |_| async { Err::<(), _>(Outcome::Refused("by a rule")) });
    assert!(matches!(refused.await, Err(Outcome::Store(StoreError::Closed))), "a refusal is an answer too");
    closed(clone.snapshot().get(key).await.map(|_| ()), "a row");
    closed(clone.snapshot().scan(everything(), Direction::Ascending).next().await.map(|_| ()), "a scan");
    closed(clone.write_chunk(None).map(|_| ()), "a new chunk");
    closed(clone.open_chunk(chunk).await.map(|_| ()), "a chunk");
    closed(crate::sweep::step(&clone).await.map(|_| ()), "the sweeper");

    let next = store.successor();
    assert_eq!(now(&next, "row").await.unwrap(), "kept");
    put(&next, "row", "changed").await;
    let source = next.open_chunk(chunk).await.unwrap();
    assert_eq!(read_exactly(&*source, 0, 5).await.unwrap(), "bytes");
}

pub async fn what_was_begun_before_the_fence_ends_without_harm(subject: Box<dyn Subject>) {
    let store = subject.store();
    put(&store, "row", "kept").await;
    let chunk = linked(&store, OWNER, Bytes::from_static(b"read to its end")).await;
    let (snapshot, source) = (store.snapshot(), store.open_chunk(chunk).await.unwrap());
    let mut upload = store.write_chunk(None).unwrap();
    upload.write(Bytes::from_static(b"first half, ")).await.unwrap();
    let _pinned = store.pins().hold(OWNER);
    store.fence().await;

    let next = store.successor();
    put(&next, "row", "changed").await;
    commit(&next, |txn| async move { content::release(&txn, OWNER, Holdings::Chunk(chunk)).await }).await;
    // The pin was memory of the first store; what is open can be read all the same.
    while crate::sweep::step(&next).await.unwrap().more {}
    assert!(content::find(&next.snapshot(), chunk).await.unwrap().is_none());
    assert_eq!(read_exactly(&*source, 0, 15).await.unwrap(), "read to its end");
    assert_eq!(get(&snapshot, "row").await.unwrap(), "kept", "a view is of its instant");

    // A body may come to its end, and nothing will ever point to it.
    upload.write(Bytes::from_static(b"second half")).await.unwrap();
    let pending = &upload.finish().await.unwrap();
    let link = store.transact(Scope::new(), |txn| async move {
        content::link(&txn, pending, OWNER);
        Ok::<_, StoreError>(())
    });
    assert!(matches!(link.await, Err(StoreError::Closed)));
    assert!(content::find(&next.snapshot(), pending.reference()).await.unwrap().is_none());
}

pub async fn nothing_is_sequenced_behind_a_fence(subject: Box<dyn Subject>) {
    const WRITERS: usize = 4;
    let mut store = subject.store();
    let mut answered = 0;
    for _ in 0..20 {
        let started = Arc::new(tokio::sync::Semaphore::new(0));
        let writers: Vec<_> = (0..WRITERS)
            .map(|_| {
                let (store, started) = (store.clone(), Arc::clone(&started));
                tokio::spawn(async move {
                    let mut answered = 0;
                    loop {
                        match increment(&store).await {
                            Ok(_) => answered += 1,
                            Err(StoreError::Busy { .. }) => {}
                            Err(StoreError::Closed) => return answered,
                            Err(error) => panic!("{error}"),
                        }
                        started.add_permits(1);
                    }
                })
            })
            .collect();
        let _under_way = started.acquire_many(8).await.unwrap();
        store.fence().await;
        store = store.successor();
        let seen = commit(&store, |txn| async move { count(&txn).await }).await;
        for writer in writers {
            answered += writer.await.unwrap();
        }
        assert_eq!(count(&store.snapshot()).await.unwrap(), seen, "somebody wrote behind the fence");
        assert_eq!(answered, seen, "what was answered is there, and what was refused is not");
    }
}
