//! The extents of a store: which exist, which take new chunks, which wait to be synced or deleted.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
};

use store::StoreError;

use super::{
    DIRECTORY,
    file::Extent,
    format::{HEADER_BYTES, file_name, header, parse_name},
    small::Backlog,
};
use crate::{
    disk::{Disk, opened},
    ids::Ids,
};

/// An extent takes no new chunk once it is this long, so that the reserve of a full disk has room for what is live in it.
const TARGET_BYTES: u64 = 128 * 1024 * 1024;
/// The one that small chunks share is shorter: when it is emptied, they take the room of the log too.
pub(super) const SMALL_TARGET_BYTES: u64 = 64 * 1024 * 1024;
/// Open files kept for reading.
const OPEN_FILES: usize = 256;

pub(crate) struct Extents {
    disk: Arc<dyn Disk>,
    ids: Arc<Ids>,
    state: Mutex<State>,
    /// Held while a sync is under way, so that nobody takes what it was begun for as done.
    syncing: Mutex<()>,
}

#[derive(Default)]
pub(super) struct State {
    /// All extents in the directory, with the lengths of those that were looked at and are not open.
    known: BTreeMap<u64, Option<u64>>,
    open: HashMap<u64, Arc<Extent>>,
    /// The one that small chunks share.
    pub(super) small: Option<Arc<Extent>>,
    /// Extents with room that no writer has.
    idle: Vec<Arc<Extent>>,
    /// Extents that some writer has to itself.
    taken: BTreeSet<u64>,
    /// Extents with unsynced bytes.
    dirty: Vec<Arc<Extent>>,
    /// Extents with streamed chunks that were finished without a sync.
    unsynced_streams: Vec<Arc<Extent>>,
    /// Small chunks that found no room in their extents yet.
    pub(super) backlog: Backlog,
    directory_dirty: bool,
    /// Extents to delete once no view is older than the sequence.
    retired: Vec<(u64, u64)>,
    /// Copies under way that need every file to stay.
    holds: usize,
}

impl Extents {
    pub(crate) fn open(disk: Arc<dyn Disk>, ids: Arc<Ids>) -> io::Result<Self> {
        disk.create_directory(DIRECTORY)?;
        let known = disk.list(DIRECTORY)?.iter().filter_map(|name| Some((parse_name(name)?, None))).collect();
        // A process that died may have left names that no sync has reached.
        let state = State { known, directory_dirty: true, ..State::default() };
        Ok(Self { disk, ids, state: Mutex::new(state), syncing: Mutex::default() })
    }

    /// The same extents, with the ids that new ones get.
    pub(crate) fn with_ids(self, ids: Arc<Ids>) -> Self {
        Self { ids, ..self }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The extent with this id, opened if need be; `None` when it was deleted.
    pub(crate) fn get(&self, id: u64) -> Result<Option<Arc<Extent>>, StoreError> {
        let mut state = self.state();
        if !state.known.contains_key(&id) {
            return Ok(None);
        }
        if let Some(extent) = state.open.get(&id) {
            return Ok(Some(Arc::clone(extent)));
        }
        if state.open.len() >= OPEN_FILES {
            state.close_idle();
        }
        let file = self.disk.open(&file_name(id)).map_err(opened)?;
        let end = file.length()?;
        let extent = Arc::new(Extent::new(id, file, end));
        state.open.insert(id, Arc::clone(&extent));
        Ok(Some(extent))
    }

    pub(super) fn create(&self, state: &mut State) -> Result<Arc<Extent>, StoreError> {
        let id = self.ids.fresh();
        let file = self.disk.create(&file_name(id)).map_err(opened)?;
        if let Err(error) = file.write_at(&header(id), 0) {
            let _removed = self.disk.remove(&file_name(id));
            return Err(error.into());
        }
        state.directory_dirty = true;
        state.known.insert(id, None);
        let extent = Arc::new(Extent::new(id, file, HEADER_BYTES));
        state.open.insert(id, Arc::clone(&extent));
        Ok(extent)
    }

    /// The extent with this id, made anew when its name, or all of it, was lost with the power.
    pub(crate) fn get_or_create(&self, id: u64) -> Result<Arc<Extent>, StoreError> {
        if let Some(extent) = self.get(id)? {
            return Ok(extent);
        }
        let mut state = self.state();
        let file = self.disk.create(&file_name(id))?;
        state.directory_dirty = true;
        state.known.insert(id, None);
        let extent = Arc::new(Extent::new(id, file, HEADER_BYTES));
        state.open.insert(id, Arc::clone(&extent));
        Ok(extent)
    }

    /// Bytes were written to the extent that the next sync of all must reach.
    pub(crate) fn mark_dirty(&self, extent: &Arc<Extent>) {
        // Under the lock: whoever finds the mark must find the extent in the list too.
        let mut state = self.state();
        if !extent.dirty.swap(true, Ordering::AcqRel) {
            state.dirty.push(Arc::clone(extent));
        }
    }

    /// An extent for one writer alone. Its name may have to be made durable.
    pub(crate) fn take(self: &Arc<Self>) -> Result<Taken, StoreError> {
        let mut state = self.state();
        let extent = match state.idle.pop() {
            Some(extent) => extent,
            None => self.create(&mut state)?,
        };
        state.taken.insert(extent.id);
        drop(state);
        Ok(Taken { extents: Arc::clone(self), extent })
    }

    /// Makes an extent ready for the next writer, if there is none, and its name durable.
    pub(crate) fn prepare(&self) -> Result<(), StoreError> {
        let mut state = self.state();
        if state.idle.is_empty() {
            let extent = self.create(&mut state)?;
            state.idle.push(extent);
        }
        drop(state);
        self.sync_directory().map_err(opened)
    }

    /// Remembers that a streamed chunk was not synced.
    pub(crate) fn note_unsynced(&self, extent: &Arc<Extent>) {
        self.state().unsynced_streams.push(Arc::clone(extent));
    }

    /// Makes streamed chunks durable that were finished without a sync.
    pub(crate) fn sync_streams(&self) -> io::Result<()> {
        let syncing = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut streams = std::mem::take(&mut self.state().unsynced_streams);
        if streams.is_empty() {
            return Ok(());
        }
        streams.sort_unstable_by_key(|extent| extent.id);
        streams.dedup_by_key(|extent| extent.id);
        for extent in streams {
            extent.file.sync()?;
        }
        drop(syncing);
        self.sync_directory()
    }

    /// Makes names of new extents durable.
    pub(crate) fn sync_directory(&self) -> io::Result<()> {
        let _syncing = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        let dirty = std::mem::take(&mut self.state().directory_dirty);
        if dirty {
            self.disk.sync_directory(DIRECTORY).inspect_err(|_| self.state().directory_dirty = true)?;
        }
        Ok(())
    }

    /// Makes everything written so far durable. An error means that nothing is known about what was written.
    pub(crate) fn sync_all(&self) -> io::Result<()> {
        let dirty = std::mem::take(&mut self.state().dirty);
        for extent in dirty {
            extent.sync()?;
        }
        self.sync_streams()?;
        self.sync_directory()
    }

    /// Ids of all extents.
    pub(crate) fn ids(&self) -> Vec<u64> {
        self.state().known.keys().copied().collect()
    }

    /// Ids of all extents and their lengths, without opening any twice.
    pub(crate) fn sizes(&self) -> Result<Vec<(u64, u64)>, StoreError> {
        let mut sizes = Vec::new();
        for id in self.ids() {
            let known = {
                let state = self.state();
                let open = state.open.get(&id).map(|extent| extent.end.load(Ordering::Relaxed));
                open.or_else(|| state.known.get(&id).copied().flatten())
            };
            let length = match known {
                Some(length) => Some(length),
                None => self.get(id)?.map(|extent| extent.end.load(Ordering::Relaxed)),
            };
            sizes.extend(length.map(|length| (id, length)));
        }
        Ok(sizes)
    }

    /// Closes files that nobody uses at the moment.
    pub(crate) fn close_idle(&self) {
        self.state().close_idle();
    }

    /// Extents that take new chunks, and where they end.
    pub(crate) fn growing(&self) -> Vec<(u64, u64)> {
        let state = self.state();
        let growing = state.small.iter().chain(&state.idle);
        growing.map(|extent| (extent.id, extent.end.load(Ordering::Relaxed))).collect()
    }

    /// Deletes extents, or at least forgets them until the next start: before anybody is served, when the log has brought
    /// back chunks of extents that were emptied and deleted since. A reference names the first place of a chunk, and while
    /// an extent is there, what is read is read there.
    pub(crate) fn delete_unserved(&self, dead: impl Fn(u64) -> bool) {
        let mut state = self.state();
        let ids: Vec<u64> = state.known.keys().copied().filter(|id| dead(*id)).collect();
        for id in ids {
            if let Err(error) = self.disk.remove(&file_name(id)) {
                tracing::warn!(extent = id, %error, "an extent without live chunks was not deleted");
            }
            state.forget(id);
        }
    }

    /// These extents hold nothing live and never will: they are deleted once no view is as old as `sequence`.
    pub(crate) fn retire(&self, dead: &[u64], sequence: u64) {
        let mut state = self.state();
        for id in dead {
            if state.retired.iter().all(|(retired, _)| retired != id) {
                state.retired.push((*id, sequence));
            }
        }
    }

    /// Deletes the retired extents that no view can reach. What is open stays readable.
    pub(crate) fn delete_retired(&self, watermark: u64) -> io::Result<usize> {
        let mut state = self.state();
        if state.holds > 0 {
            return Ok(0);
        }
        let (ready, waiting) = state.retired.iter().partition(|(_, sequence)| *sequence < watermark);
        state.retired = waiting;
        let ready: Vec<(u64, u64)> = ready;
        let (mut deleted, mut failed) = (0, None);
        for (id, _) in &ready {
            match self.disk.remove(&file_name(*id)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    // It stays known, and is found dead again.
                    failed.get_or_insert(error);
                }
                _ => {
                    state.forget(*id);
                    deleted += 1;
                }
            }
        }
        failed.map_or(Ok(deleted), Err)
    }

    /// No extent is deleted until this is dropped.
    pub(crate) fn hold_deletions(&self) -> DeletionHold<'_> {
        self.state().holds += 1;
        DeletionHold(self)
    }

    /// Takes an extent out of use for new chunks, so that it can be emptied. False while somebody writes to it.
    pub(crate) fn seal(&self, id: u64) -> bool {
        let mut state = self.state();
        state.idle.retain(|extent| extent.id != id);
        if state.small.as_ref().is_some_and(|small| small.id == id) {
            state.small = None;
        }
        state.is_quiet(id)
    }
}

/// An extent that one writer has to itself, until this is dropped.
pub(crate) struct Taken {
    extents: Arc<Extents>,
    pub(crate) extent: Arc<Extent>,
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut state = self.extents.state();
        state.taken.remove(&self.extent.id);
        if self.extent.end.load(Ordering::Relaxed) < TARGET_BYTES {
            state.idle.push(Arc::clone(&self.extent));
        }
    }
}

/// Keeps every extent file where it is.
pub(crate) struct DeletionHold<'a>(&'a Extents);

impl Drop for DeletionHold<'_> {
    fn drop(&mut self) {
        self.0.state().holds -= 1;
    }
}

impl State {
    fn close_idle(&mut self) {
        for (id, extent) in self.open.extract_if(|_, extent| Arc::strong_count(extent) == 1) {
            self.known.insert(id, Some(extent.end.load(Ordering::Relaxed)));
        }
    }

    fn forget(&mut self, id: u64) {
        self.known.remove(&id);
        self.open.remove(&id);
        self.dirty.retain(|extent| extent.id != id);
    }

    fn is_quiet(&self, id: u64) -> bool {
        !self.taken.contains(&id)
            && self.small.as_ref().is_none_or(|small| small.id != id)
            && self.open.get(&id).is_none_or(|extent| !extent.is_pending())
    }
}
