//! What the cases share: keys of the test space, short ways to read and write, chunks, a checksum written twice.

use std::{
    collections::BTreeMap,
    future::Future,
    sync::{
        LazyLock,
        atomic::{AtomicU32, Ordering},
    },
};

use bytes::Bytes;
use types::ContentId;

use crate::{
    Txn,
    chunk::{ChunkRef, PendingChunk},
    content::{self, ChunkRecord},
    error::StoreError,
    key::{KeyBuilder, KeyRange},
    manifest::read_exactly,
    read::{Direction, Read, Row},
    space::Space,
    sweep,
    transact::{Scope, Store},
};

/// Why a case's transaction did not commit.
#[derive(Debug, thiserror::Error)]
pub enum Outcome {
    #[error("refused: {0}")]
    Refused(&'static str),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The key of a test row.
#[must_use]
pub fn key(name: &str) -> Bytes {
    KeyBuilder::new(Space::Test, 1).bytes(name.as_bytes()).build()
}

/// All test rows.
#[must_use]
pub fn everything() -> KeyRange {
    KeyBuilder::new(Space::Test, 1).range()
}

/// Commits one row.
pub async fn put(store: &Store, name: &str, value: impl Into<Bytes>) {
    let (key, value) = (&key(name), &value.into());
    commit(store, |txn| async move {
        txn.put(key.clone(), value.clone());
        Ok(())
    })
    .await;
}

/// Commits the deletion of one row.
pub async fn delete(store: &Store, name: &str) {
    let key = &key(name);
    commit(store, |txn| async move {
        txn.delete(key.clone());
        Ok(())
    })
    .await;
}

/// Commits a transaction that must succeed.
pub async fn commit<T, F, Fut>(store: &Store, body: F) -> T
where
    F: Fn(Txn) -> Fut,
    Fut: Future<Output = Result<T, StoreError>>,
{
    store.transact(Scope::new(), body).await.unwrap()
}

/// The value of a row.
pub async fn get(rows: &impl Read, name: &str) -> Option<Bytes> {
    rows.get(&key(name)).await.unwrap()
}

/// The value of a row in a fresh snapshot.
pub async fn now(store: &Store, name: &str) -> Option<Bytes> {
    get(&store.snapshot(), name).await
}

/// All rows of a range.
pub async fn rows(rows: &impl Read, range: KeyRange, direction: Direction) -> Vec<Row> {
    rows.scan(range, direction).take(usize::MAX).await.unwrap()
}

/// The values of all test rows.
pub async fn values(view: &impl Read, direction: Direction) -> Vec<Bytes> {
    rows(view, everything(), direction).await.into_iter().map(|row| row.value).collect()
}

/// Runs `inner` between the reads of `outer` and its commit, in the first attempt only; returns how often `outer` ran.
pub async fn interrupted<O, OF, I, IF>(store: &Store, outer: O, inner: I) -> u32
where
    O: Fn(Txn) -> OF,
    OF: Future<Output = Result<(), StoreError>>,
    I: Fn(Txn) -> IF,
    IF: Future<Output = Result<(), StoreError>>,
{
    let attempts = AtomicU32::new(0);
    let (attempts_made, outer, inner) = (&attempts, &outer, &inner);
    commit(store, |txn| async move {
        let attempt = attempts_made.fetch_add(1, Ordering::Relaxed);
        outer(txn).await?;
        if attempt == 0 {
            commit(store, inner).await;
        }
        Ok(())
    })
    .await;
    attempts.load(Ordering::Relaxed)
}

/// Writes a chunk in one piece. Nothing links it yet.
pub async fn pending(store: &Store, bytes: impl Into<Bytes>) -> PendingChunk {
    let bytes = bytes.into();
    let mut writer = store.write_chunk(u64::try_from(bytes.len()).ok()).unwrap();
    writer.write(bytes).await.unwrap();
    writer.finish().await.unwrap()
}

/// Writes a chunk and links it to its owner.
pub async fn linked(store: &Store, owner: ContentId, bytes: impl Into<Bytes>) -> ChunkRef {
    let pending = &pending(store, bytes).await;
    commit(store, |txn| async move {
        content::link(&txn, pending, owner);
        Ok(())
    })
    .await;
    pending.reference()
}

/// All bytes of a chunk.
///
/// # Errors
/// The chunk cannot be opened.
pub async fn chunk_bytes(store: &Store, chunk: ChunkRef) -> Result<Bytes, StoreError> {
    let source = store.open_chunk(chunk).await?;
    read_exactly(&*source, 0, usize::try_from(chunk.length).unwrap()).await
}

/// True while the chunk has its row; it can be opened then. Without it, opening finds what is left of it or nothing.
pub async fn is_live(store: &Store, chunk: ChunkRef) -> bool {
    let live = chunk.length == 0 || content::find(&store.snapshot(), chunk).await.unwrap().is_some();
    match store.open_chunk(chunk).await {
        Ok(_) => {}
        Err(StoreError::ChunkGone(gone)) => {
            assert_eq!(gone, chunk);
            assert!(!live, "a live chunk is gone: {chunk}");
        }
        Err(error) => panic!("opening {chunk}: {error}"),
    }
    live
}

/// The rows of all live chunks but those that the engine keeps for itself.
pub async fn live_chunks(store: &Store) -> BTreeMap<ChunkRef, ChunkRecord> {
    let found = rows(&store.snapshot(), content::chunks(&[]), Direction::Ascending).await;
    let records = found.iter().map(|row| ChunkRecord::decode(&row.value).unwrap());
    records.filter(|record| record.owner != content::ENGINE).map(|record| (record.chunk, record)).collect()
}

/// Sweeps until nothing is left to do; returns what was held back in the last step.
pub async fn sweep_all(store: &Store) -> usize {
    for _ in 0..10_000 {
        let progress = sweep::step(store).await.unwrap();
        if !progress.more {
            return progress.held;
        }
    }
    panic!("the sweep does not end");
}

/// A fresh content.
#[must_use]
pub fn content_id(store: &Store) -> ContentId {
    ContentId::new(store.fresh_id())
}

/// CRC-64/NVME from its definition, to check engines that compute it cleverly.
#[must_use]
pub fn crc64(bytes: &[u8]) -> u64 {
    let next = |crc: u64, byte: &u8| CRC64[usize::from(crc.to_le_bytes()[0] ^ byte)] ^ (crc >> 8);
    !bytes.iter().fold(!0, next)
}

static CRC64: LazyLock<[u64; 256]> = LazyLock::new(|| {
    let mut table = [0; 256];
    for (entry, index) in table.iter_mut().zip(0u64..) {
        let step = |crc: u64, _| if crc & 1 == 1 { (crc >> 1) ^ 0x9A6C_9329_AC4B_C9B5 } else { crc >> 1 };
        *entry = (0..8).fold(index, step);
    }
    table
});
