//! What the fault tests share: a store on a simulated disk, a clock that tests move, and a small model of what is visible.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "helpers of tests fail by panicking, and copy the index's real files"
)]

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use store::{
    ChunkRef, Direction, PendingChunk, Read, Scope, Store, StoreError,
    clock::TimeSource,
    conformance::support::{everything, key},
    content::{self, Holdings},
    engine::{Engine, Horizon},
    manifest::read_exactly,
    sweep,
};
use store_embedded::{EmbeddedEngine, OpenError, Options, disk::Disk};
use tempfile::TempDir;
use types::ContentId;

pub(crate) mod holding;

/// A clock that moves one millisecond with every look, unless somebody moves it.
#[derive(Clone, Default)]
pub(crate) struct TestClock {
    pub(crate) wall_ms: Arc<AtomicU64>,
    monotonic_ms: Arc<AtomicU64>,
}

impl TestClock {
    pub(crate) fn at(wall_ms: u64) -> Self {
        Self { wall_ms: Arc::new(AtomicU64::new(wall_ms)), monotonic_ms: Arc::default() }
    }

    pub(crate) fn pass(&self, milliseconds: u64) {
        self.wall_ms.fetch_add(milliseconds, Ordering::Relaxed);
        self.monotonic_ms.fetch_add(milliseconds, Ordering::Relaxed);
    }
}

impl TimeSource for TestClock {
    fn wall(&self) -> Duration {
        Duration::from_millis(self.wall_ms.fetch_add(1, Ordering::Relaxed))
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.monotonic_ms.fetch_add(1, Ordering::Relaxed))
    }
}

/// Small, every step the test's.
pub(crate) fn options() -> Options {
    Options::by_hand()
}

/// A place for the index's real files, in memory when the machine offers it.
pub(crate) fn index_directory() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}

/// Copies the index's files, so that one crash can be continued in several ways.
pub(crate) fn copy_index(from: &Path) -> TempDir {
    let to = index_directory();
    copy_tree(from, to.path());
    to
}

pub(crate) fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A number from the environment: longer campaigns are the same tests with larger counts.
pub(crate) fn count(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Runs on this thread.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// An open store.
pub(crate) struct Opened {
    pub(crate) engine: Arc<EmbeddedEngine>,
    pub(crate) store: Store,
}

impl Opened {
    pub(crate) fn on(disk: impl Disk, index: &Path) -> Result<Self, OpenError> {
        Self::with(disk, index, TestClock::at(1_000_000), options())
    }

    pub(crate) fn with(disk: impl Disk, index: &Path, clock: TestClock, options: Options) -> Result<Self, OpenError> {
        let engine = Arc::new(EmbeddedEngine::open_on(Arc::new(disk), index, clock, options)?);
        let store = Store::new(Arc::<EmbeddedEngine>::clone(&engine));
        Ok(Self { engine, store })
    }

    pub(crate) async fn put(&self, name: &str, value: impl Into<Bytes>) -> Result<(), StoreError> {
        self.put_all(&[(name, Some(value.into()))]).await
    }

    /// A row as the next transaction sees it, durable or not.
    pub(crate) async fn sequenced(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        Engine::view(&*self.engine, Horizon::Sequenced).get(&key(name)).await
    }

    /// Commits rows; `None` deletes.
    pub(crate) async fn put_all(&self, rows: &[(&str, Option<Bytes>)]) -> Result<(), StoreError> {
        self.store
            .transact(Scope::new(), |txn| async move {
                for (name, value) in rows {
                    match value {
                        Some(value) => txn.put(key(name), value.clone()),
                        None => txn.delete(key(name)),
                    }
                }
                Ok(())
            })
            .await
    }

    /// Writes a chunk and links it under a name; what was there is freed in the same transaction.
    pub(crate) async fn put_chunk(&self, name: &str, bytes: Vec<u8>) -> Result<(), StoreError> {
        let mut writer = self.store.write_chunk(u64::try_from(bytes.len()).ok())?;
        writer.write(Bytes::from(bytes)).await?;
        self.link(name, &writer.finish().await?).await
    }

    /// Links a finished chunk under a name; what was there is freed in the same transaction.
    pub(crate) async fn link(&self, name: &str, pending: &PendingChunk) -> Result<(), StoreError> {
        let owner = ContentId::new(self.store.fresh_id());
        let name = &chunk_key(name);
        self.store
            .transact(Scope::new(), |txn| async move {
                if let Some(old) = txn.get(name).await? {
                    let (owner, chunk) = parse_link(&old);
                    content::free(&txn, chunk, owner).await?;
                }
                content::link(&txn, pending, owner);
                txn.put(name.clone(), link_row(owner, pending.reference()));
                Ok(())
            })
            .await
    }

    /// Takes the name away and leaves the chunk to the sweep.
    pub(crate) async fn release(&self, name: &str) -> Result<(), StoreError> {
        let name = &chunk_key(name);
        self.store
            .transact(Scope::new().reclaims(), |txn| async move {
                let Some(old) = txn.get(name).await? else { return Ok(()) };
                let (owner, chunk) = parse_link(&old);
                txn.delete(name.clone());
                content::release(&txn, owner, Holdings::Chunk(chunk)).await
            })
            .await
    }

    pub(crate) async fn sweep(&self) -> Result<(), StoreError> {
        while sweep::step(&self.store).await?.more {}
        Ok(())
    }

    /// The chunks that are live, also those of spilled values.
    pub(crate) async fn live_chunks(&self) -> Result<Vec<ChunkRef>, StoreError> {
        let rows = self.store.snapshot().scan(content::chunks(&[]), Direction::Ascending).take(usize::MAX).await?;
        rows.iter().map(|row| Ok(content::ChunkRecord::decode(&row.value)?.chunk)).collect()
    }

    /// Moves every live chunk, as the collector would.
    pub(crate) async fn move_chunks(&self) -> Result<(), StoreError> {
        for chunk in self.live_chunks().await? {
            self.engine.move_chunk(chunk).await?;
        }
        Ok(())
    }

    /// Everything visible: rows by name, and the bytes of the chunks that rows name.
    pub(crate) async fn visible(&self) -> Result<Visible, StoreError> {
        let mut visible = Visible::new();
        for row in self.store.snapshot().scan(everything(), Direction::Ascending).take(usize::MAX).await? {
            let name = String::from_utf8(row.key[2..row.key.len() - 2].to_vec()).unwrap();
            let value = if name.starts_with(CHUNK_PREFIX) {
                let (_, chunk) = parse_link(&row.value);
                let source = self.store.open_chunk(chunk).await?;
                read_exactly(&*source, 0, usize::try_from(chunk.length).unwrap()).await?
            } else {
                row.value
            };
            visible.insert(name, value);
        }
        Ok(visible)
    }

    /// Panics unless a verification of everything is clean.
    pub(crate) async fn must_be_clean(&self, place: &str) {
        let report = self.engine.check(|_| {}).await.unwrap_or_else(|error| panic!("{place}: check: {error}"));
        assert!(report.is_clean(), "{place}: {:#?}", report.problems);
    }

    /// Ends without a clean close, like a process that died.
    pub(crate) fn abandon(self) {
        drop(self);
    }

    pub(crate) fn close(self) -> Result<(), StoreError> {
        self.engine.close()
    }
}

/// What everybody can see.
pub(crate) type Visible = BTreeMap<String, Bytes>;

/// The name of a chunk in [`Visible`].
pub(crate) fn chunk_name(name: &str) -> String {
    format!("{CHUNK_PREFIX}{name}")
}

const CHUNK_PREFIX: &str = "chunk ";

fn chunk_key(name: &str) -> Bytes {
    key(&chunk_name(name))
}

fn link_row(owner: ContentId, chunk: ChunkRef) -> Bytes {
    let mut row = owner.number().to_le_bytes().to_vec();
    row.extend_from_slice(&chunk.encode());
    Bytes::from(row)
}

pub(crate) fn parse_link(row: &[u8]) -> (ContentId, ChunkRef) {
    let (owner, chunk) = row.split_first_chunk::<8>().unwrap();
    (ContentId::new(u64::from_le_bytes(*owner)), ChunkRef::decode(chunk.try_into().unwrap()))
}

/// Bytes that differ everywhere and from those of other seeds.
pub(crate) fn pattern(seed: u64, length: usize) -> Vec<u8> {
    store::testing::Random::new(seed).bytes(length)
}
