//! Backup and restore. A backup is a data directory of its own: the rows at one instant, and the extents they need.
//!
//! Backups are taken while serving: a view fixes the rows, and no extent file is deleted while they are copied. Both
//! directions write beside their target and rename at the end, so half of one is never mistaken for a whole.

#![expect(clippy::disallowed_methods, reason = "copies whole directories, among them the index's files")]

use std::{
    collections::{BTreeMap, HashSet},
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use store::{
    StoreError,
    content::{self, ChunkRecord},
    engine::{Horizon, Sequence, View},
    key::{KeyBuilder, KeyRange},
    space::Space,
};

use crate::{
    checkpoint::{self, Meta},
    disk::{Disk, RealDisk, copy_private, create_private, make_private},
    engine::EmbeddedEngine,
    extent::{self, Extent},
    identity::{Identity, VERSION_FILE},
    index::Index,
    log::{self, LogWriter, SegmentSource, StoredRow, Value},
    moved,
    open::OpenError,
    options::Options,
    views::IndexView,
};

/// How far a copy has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyProgress {
    /// Rows copied; a restore copies files only.
    pub rows: u64,
    /// Bytes of files copied.
    pub bytes: u64,
    /// Bytes of files in all, as far as known.
    pub total_bytes: u64,
}

/// Rows of a backup's index are flushed when they take this much memory.
const FLUSH_BYTES: u64 = 8 * 1024 * 1024;
/// All rows of a backup have this sequence.
const SEQUENCE: u64 = 1;
const FIRST_LOG_BYTES: u64 = 64 * 1024;
const PIECE_BYTES: usize = 1024 * 1024;

impl EmbeddedEngine {
    /// Copies a consistent state into a new directory while the engine serves. Everything acknowledged before the call
    /// is in it.
    ///
    /// # Errors
    /// The target exists, or cannot be written; nothing is left behind under its name.
    pub fn backup(&self, target: &Path, mut progress: impl FnMut(CopyProgress)) -> Result<CopyProgress, OpenError> {
        let partial = begin(target)?;
        let mut done = CopyProgress::default();
        // Before the view: what the view sees stays on disk until the hold is dropped.
        let _files_stay = self.shared().extents.hold_deletions();
        let live = {
            let view = IndexView::new(Arc::clone(self.shared()), Horizon::Durable);
            self.copy_rows(&partial.join("index"), view.instant().0 + 1, &mut done, &mut progress)?
        };
        let disk = RealDisk::new(&partial)?;
        disk.create_directory(extent::DIRECTORY)?;
        for id in live.keys() {
            done.total_bytes += self.extent(*id)?.file.length()?;
        }
        for id in live.keys() {
            let to = disk.create(&extent::file_name(*id))?;
            let extent = self.extent(*id)?;
            // Before the file: what is not held now is in it already.
            let held = extent.held();
            let mut buffer = vec![0; PIECE_BYTES];
            let mut offset = 0;
            loop {
                let count = extent.file.read_at(&mut buffer, offset)?;
                let piece = buffer.get(..count).filter(|piece| !piece.is_empty());
                let Some(piece) = piece else { break };
                to.write_at(piece, offset)?;
                offset += u64::try_from(count).unwrap_or(u64::MAX);
                done.bytes += u64::try_from(count).unwrap_or(u64::MAX);
                progress(done);
            }
            held.write_to(&*to)?;
            to.sync()?;
        }
        disk.sync_directory(extent::DIRECTORY)?;
        let disk = Arc::new(disk);
        let identity = Identity::new();
        self.begin_log(&disk, identity)?;
        identity.write(&*disk)?;
        end(&partial, target)?;
        Ok(done)
    }

    fn extent(&self, id: u64) -> Result<Arc<Extent>, StoreError> {
        let missing = || StoreError::corrupt(format!("extent {id:x} holds live chunks and does not exist"));
        self.shared().extents.get(id)?.ok_or_else(missing)
    }

    /// Every store has a log with a frame in it: without one, it would look as if the log were lost.
    fn begin_log(&self, disk: &Arc<RealDisk>, identity: Identity) -> io::Result<()> {
        disk.create_directory(log::DIRECTORY)?;
        let options = Options { background: false, log_segment_bytes: FIRST_LOG_BYTES, ..Options::default() };
        let source = SegmentSource::new(Arc::<RealDisk>::clone(disk), 1, &options)?;
        let mut log = LogWriter::new(source, identity.salt, 0, SEQUENCE, Vec::new());
        log.mark(self.shared().clock.now(), self.shared().ids.limit())
    }

    /// Copies the rows below `bound` into a new index; returns the live bytes of each extent.
    fn copy_rows(
        &self,
        path: &Path,
        bound: u64,
        done: &mut CopyProgress,
        progress: &mut impl FnMut(CopyProgress),
    ) -> Result<BTreeMap<u64, i64>, StoreError> {
        let index = Index::open(path, 1024 * 1024)?;
        index.skip_to(SEQUENCE);
        let mut live = BTreeMap::new();
        // Of the engine's own rows the places of moved chunks; its counters are made anew.
        let [places, residents] = moved::all();
        let others = KeyRange { start: KeyBuilder::space(Space::Store).build(), end: None };
        for row in [places, residents, others].iter().flat_map(|range| self.shared().raw_rows(range, bound)) {
            let (key, stored) = row?;
            if let (Ok(token), Value::Inline(row)) = (content::parse_chunk_key(&key), Value::decode(&stored)?) {
                let extent = self.shared().place_of(token, bound)?.extent;
                let bytes = extent::stored_bytes(ChunkRecord::decode(&row)?.chunk.length);
                *live.entry(extent).or_default() += i64::try_from(bytes).unwrap_or(i64::MAX);
            }
            let memtable_bytes = index.insert(&StoredRow { key, value: Some(stored) }, SEQUENCE);
            done.rows += 1;
            if memtable_bytes >= FLUSH_BYTES {
                index.rotate();
                index.flush(0)?;
                progress(*done);
            }
        }
        let meta =
            Meta { sequence: Sequence(SEQUENCE), time: self.shared().clock.now(), id_limit: self.shared().ids.limit() };
        let changed: HashSet<u64> = live.keys().copied().collect();
        let counters = live.iter().map(|(extent, bytes)| (*extent, *bytes)).collect();
        for row in checkpoint::rows(&meta, &counters, &changed) {
            index.insert(&row, SEQUENCE);
        }
        index.rotate();
        index.flush(0)?;
        Ok(live)
    }
}

/// Copies a backup to a new data directory. The backup stays as it is.
///
/// # Errors
/// The backup is not one or is in use, or the target exists or cannot be written.
pub fn restore(
    backup: &Path,
    target: &Path,
    mut progress: impl FnMut(CopyProgress),
) -> Result<CopyProgress, OpenError> {
    if !backup.join(VERSION_FILE).is_file() {
        return Err(OpenError::NotOurs(format!("{} holds no backup", backup.display())));
    }
    let disk = RealDisk::new(backup)?;
    // A store that is being written is not what its files say one after another: that is what a backup is for.
    let _nobody_writes = disk.lock_as_it_stands()?.ok_or_else(|| OpenError::Locked(backup.display().to_string()))?;
    Identity::read(&disk)?;
    let partial = begin(target)?;
    let mut done = CopyProgress { total_bytes: tree_bytes(backup)?, ..CopyProgress::default() };
    copy_tree(backup, &partial, &mut done, &mut progress)?;
    end(&partial, target)?;
    Ok(done)
}

/// The directory beside the target that is written first.
fn begin(target: &Path) -> io::Result<PathBuf> {
    let occupied = match fs::read_dir(target) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(error),
    };
    if occupied {
        let what = format!("{} exists and is not empty", target.display());
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, what));
    }
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    let partial = target.with_file_name(name);
    match fs::remove_dir_all(&partial) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    create_private(&partial)?;
    Ok(partial)
}

fn end(partial: &Path, target: &Path) -> io::Result<()> {
    sync_directories(partial)?;
    fs::rename(partial, target)?;
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::File::open(parent)?.sync_all()
}

fn sync_directories(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_directories(&entry.path())?;
        }
    }
    fs::File::open(path)?.sync_all()
}

fn tree_bytes(path: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        bytes += if entry.file_type()?.is_dir() { tree_bytes(&entry.path())? } else { entry.metadata()?.len() };
    }
    Ok(bytes)
}

fn copy_tree(
    from: &Path,
    to: &Path,
    done: &mut CopyProgress,
    progress: &mut impl FnMut(CopyProgress),
) -> io::Result<()> {
    make_private(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target, done, progress)?;
        } else if entry.file_name() != "LOCK" {
            done.bytes += copy_private(&entry.path(), &target)?;
            progress(*done);
        }
    }
    Ok(())
}
