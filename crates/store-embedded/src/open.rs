//! Opening a data directory: take its lock, check its format, read the index's checkpoint, replay the log.

use std::{
    io,
    path::Path,
    sync::{Arc, atomic::AtomicU64},
};

use store::{
    StoreError,
    clock::{ServerClock, SystemTime, TimeSource},
    engine::Sequence,
    limits,
};
use tokio::sync::broadcast;

use crate::{
    checkpoint,
    disk::{DirectoryLock, Disk, RealDisk},
    engine::EmbeddedEngine,
    extent::Extents,
    identity::{Identity, VERSION_FILE},
    ids::Ids,
    index::Index,
    io_pool::IoPool,
    log::{self, LogWriter, SegmentSource},
    options::Options,
    pace::Pacer,
    sequencer::{Sequencer, Unsaved},
    shared::{Progress, Shared, Stall, Waiters},
    shortage::Shortage,
    space::Space,
    stepped::{Stepped, Waiting},
    views::Views,
};

/// The format this build writes, and the newest it reads.
pub const FORMAT: u32 = 1;
const IO_THREADS: usize = 4;

/// Why a data directory could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it.
    #[error("the data directory {0} is in use by another process")]
    Locked(String),
    /// It was written by a newer build.
    #[error("the data directory has format {found}, and this build reads formats up to {FORMAT}: use a newer build")]
    Newer {
        /// The format it says it has.
        found: u32,
    },
    /// It is not a data directory, or not any more.
    #[error("the file {VERSION_FILE} of the data directory is not readable: {0:?}")]
    NotOurs(String),
    /// It cannot be read or written.
    #[error("the data directory cannot be used: {0}")]
    Io(#[from] io::Error),
    /// What it holds is damaged, or the engine failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What recovery found, for the log and for `check`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Frames of the log that were read.
    pub frames: u64,
    /// Frames that were torn: written but never acknowledged.
    pub torn_frames: u64,
}

pub(crate) struct Opened {
    pub(crate) shared: Arc<Shared>,
    pub(crate) log: LogWriter,
    pub(crate) lock: Option<DirectoryLock>,
}

impl EmbeddedEngine {
    /// Opens a data directory of this machine, creating it if it is missing.
    ///
    /// # Errors
    /// It is in use, of a newer format, damaged, or cannot be written.
    pub fn open(path: &Path, options: Options) -> Result<Self, OpenError> {
        let disk = RealDisk::new(path)?;
        let lock = disk.lock()?.ok_or_else(|| OpenError::Locked(path.display().to_string()))?;
        Self::open_with(Arc::new(disk), &path.join("index"), SystemTime::default(), Some(lock), options, None)
    }

    /// Opens a store on any disk and clock; only the index's tables are real files, below `index`.
    ///
    /// # Errors
    /// As for [`EmbeddedEngine::open`].
    pub fn open_on(
        disk: Arc<dyn Disk>,
        index: &Path,
        time: impl TimeSource,
        options: Options,
    ) -> Result<Self, OpenError> {
        Self::open_with(disk, index, time, None, options, None)
    }

    /// The same without any thread: nothing happens unless a step is called, see [`EmbeddedEngine::step_log`],
    /// [`EmbeddedEngine::step_io`] and [`EmbeddedEngine::step_pace`]. Upkeep in the background is left to the caller too.
    ///
    /// # Errors
    /// As for [`EmbeddedEngine::open`].
    pub fn open_stepped(
        disk: Arc<dyn Disk>,
        index: &Path,
        time: impl TimeSource,
        options: Options,
        waiting: Waiting,
    ) -> Result<Self, OpenError> {
        let options = Options { background: false, ..options };
        Self::open_with(disk, index, time, None, options, Some(Stepped::new(waiting)))
    }

    fn open_with(
        disk: Arc<dyn Disk>,
        index: &Path,
        time: impl TimeSource,
        lock: Option<DirectoryLock>,
        options: Options,
        stepped: Option<Stepped>,
    ) -> Result<Self, OpenError> {
        let found = Identity::read(&*disk)?;
        let identity = found.unwrap_or_else(Identity::new);
        let opened = recover(Arc::clone(&disk), index, time, lock, (options, stepped), (identity, found.is_some()))?;
        if found.is_none() {
            identity.write(&*disk)?;
        }
        Ok(Self::start(opened)?)
    }
}

fn recover(
    disk: Arc<dyn Disk>,
    index: &Path,
    time: impl TimeSource,
    lock: Option<DirectoryLock>,
    (options, stepped): (Options, Option<Stepped>),
    (identity, exists): (Identity, bool),
) -> Result<Opened, OpenError> {
    disk.create_directory(log::DIRECTORY)?;
    let index = Index::open(index, options.cache_bytes)?;
    let (meta, mut live) = checkpoint::read(&index)?;

    // Rides are written again before anything else is: they need extents, which need ids only for new ones.
    let unused_ids = Arc::new(Ids::new(u64::MAX / 2));
    let extents = Extents::open(Arc::clone(&disk), unused_ids)?;
    let (mut unsaved, mut buffer) = (Unsaved::default(), Vec::new());
    let mut changed = std::collections::HashSet::new();
    let recovered = log::recover(&*disk, identity.salt, meta.sequence, |sequence, record| {
        for row in &record.rows {
            unsaved.memtable_bytes = index.insert(row, sequence.0);
        }
        unsaved.log_bytes += u64::try_from(record.framed_bytes()).unwrap_or(u64::MAX);
        for (extent, bytes) in &record.live_bytes {
            *live.entry(*extent).or_default() += bytes;
            changed.insert(*extent);
        }
        extents.replay(&record.rides, &mut buffer)
    })?;
    if exists && recovered.frames == 0 {
        // Every store that was ever open has a frame, so the log is gone, and with it what it held.
        let what = format!("the directory {} holds no frame of the log", log::DIRECTORY);
        return Err(StoreError::corrupt(what).into());
    }
    extents.delete_unserved(|id| live.get(&id).is_none_or(|bytes| *bytes == 0));
    index.skip_to(recovered.last_sequence);
    if recovered.torn > 0 {
        tracing::info!(torn = recovered.torn, "cut unacknowledged frames off the end of the log");
    }

    let ids = Arc::new(Ids::new(recovered.id_limit.max(meta.id_limit)));
    let extents = Arc::new(extents.with_ids(Arc::clone(&ids)));
    let clock = ServerClock::new(time, recovered.time.max(meta.time));
    let last_sequence = recovered.last_sequence.max(meta.sequence.0);
    let sequencer = Sequencer::new(last_sequence, live);
    {
        let mut state = sequencer.lock();
        state.unsaved = unsaved;
        state.live_changed = changed;
    }
    let source = SegmentSource::new(Arc::clone(&disk), recovered.next_segment, &options)?;
    let mut log = LogWriter::new(source, identity.salt, recovered.last_frame, last_sequence, recovered.sealed);
    // The first frame of every run: it makes the ids that this run gives out safe, and proves the frames before it.
    log.mark(clock.now(), ids.limit())?;

    let views = Views::default();
    let unused = index.unused_sequence();
    views.publish_sequenced(unused);
    views.publish_durable(unused);
    let progress = Progress::default();
    progress.set_persisted(meta.sequence);
    progress.synced(unused - 1);
    log.forget(Sequence(meta.sequence.0));
    let shared = Arc::new(Shared {
        index,
        views,
        sequencer,
        extents,
        pool: Arc::new(IoPool::new(if stepped.is_some() { 0 } else { IO_THREADS })?),
        stepped,
        ids,
        clock,
        events: broadcast::Sender::new(limits::EVENTS),
        waiters: Waiters::default(),
        progress,
        checkpointing: std::sync::Mutex::default(),
        stall: Stall::default(),
        space: Space::new(options.reserve_bytes),
        pacer: Pacer::default(),
        shortage: Shortage::default(),
        freed_bytes: AtomicU64::new(0),
        padded: std::sync::Mutex::default(),
        metrics: crate::metrics::Metrics::default(),
        recovery: Recovery { frames: recovered.frames, torn_frames: recovered.torn },
        options,
        disk,
    });
    Ok(Opened { shared, log, lock })
}
