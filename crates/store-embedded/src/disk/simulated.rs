//! A disk in memory whose power can fail at any call. What was not synced is then lost, kept, reordered or torn,
//! sector by sector, as the seed decides; what was synced is there.
//!
//! Directory operations behave like those of a journalling file system that was not told to sync: each may or may not
//! have happened, but they happened in order. A directory is itself an entry of its parent: what it holds is lost with
//! it until the parent was synced. After a failed sync, processes go on reading what the medium never got.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{Disk, DiskFile};

/// What a device writes whole or not at all.
const SECTOR_BYTES: u64 = 512;
/// Room on a disk that nobody gave a capacity.
const PLENTY_BYTES: u64 = 1 << 40;

/// A simulated disk. Clones share it.
#[derive(Clone)]
pub struct SimulatedDisk(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    files: Vec<FileState>,
    /// Names as processes see them, and as they are known to survive.
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    /// Directory changes since their last sync, in order.
    pending_names: Vec<NameChange>,
    /// Directories, and whether they surely survive.
    directories: BTreeMap<String, bool>,
    calls: u64,
    power_fails_at: Option<u64>,
    /// Syncs of files whose name contains this fail.
    failing_syncs: Option<String>,
    /// Room for all files together; without it there is plenty.
    capacity_bytes: Option<u64>,
}

#[derive(Clone)]
enum NameChange {
    Add(String, usize),
    Remove(String),
    Rename(String, String, usize),
}

#[derive(Clone, Default)]
struct FileState {
    /// As processes see it.
    bytes: Vec<u8>,
    /// As it surely survives.
    durable: Vec<u8>,
    /// Sectors written since the last sync.
    unsynced: BTreeSet<u64>,
}

/// What is on the medium after a power failure.
pub struct CrashImage(State);

impl Default for SimulatedDisk {
    fn default() -> Self {
        Self::new()
    }
}

impl SimulatedDisk {
    /// An empty disk with plenty of space.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::default())
    }

    /// The disk after a crash: powered again.
    #[must_use]
    pub fn from_image(image: CrashImage) -> Self {
        Self(Arc::new(Mutex::new(image.0)))
    }

    /// From now on there is room for so many bytes in all files together.
    pub fn set_capacity(&self, bytes: u64) {
        self.state().capacity_bytes = Some(bytes);
    }

    /// Calls made so far: every write, sync and directory change counts.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.state().calls
    }

    /// Power fails at this call and stays off: the call and all after it fail.
    pub fn fail_power_at(&self, call: u64) {
        self.state().power_fails_at = Some(call);
    }

    /// The process died, the machine did not: what was written is there for the next one, still unsynced.
    pub fn restart_process(&self) {
        self.state().power_fails_at = None;
    }

    /// From now on syncs of files whose name contains `only` fail, and what they should have made durable stays in the
    /// cache, marked clean: only writing it again can bring it to the medium. `None` ends it.
    pub fn fail_syncs(&self, only: Option<&str>) {
        self.state().failing_syncs = only.map(str::to_owned);
    }

    /// What the medium holds if power fails now. The seed decides the fate of everything that was not synced.
    #[must_use]
    pub fn crash(&self, seed: u64) -> CrashImage {
        let state = self.state();
        let mut dice = Dice(seed);
        let mut names = state.durable_names.clone();
        let survivors = dice.below(u64::try_from(state.pending_names.len()).unwrap_or(0) + 1);
        for (change, _) in state.pending_names.iter().zip(0..survivors) {
            apply(&mut names, change);
        }
        let mut directories = BTreeMap::new();
        for (directory, durable) in &state.directories {
            if *durable || dice.below(2) == 1 {
                directories.insert(directory.clone(), true);
            }
        }
        names.retain(|name, _| parent(name).is_none_or(|directory| directories.contains_key(directory)));
        let files: Vec<FileState> = state.files.iter().map(|file| file.after_crash(&mut dice)).collect();
        CrashImage(State {
            files,
            durable_names: names.clone(),
            names,
            directories,
            capacity_bytes: state.capacity_bytes,
            ..State::default()
        })
    }

    /// Flips one bit of a file, durable or not.
    pub fn flip_bit(&self, name: &str, offset: usize, bit: u8) {
        let mut state = self.state();
        let Some(index) = state.names.get(name).copied() else { return };
        let Some(file) = state.files.get_mut(index) else { return };
        for bytes in [&mut file.bytes, &mut file.durable] {
            if let Some(byte) = bytes.get_mut(offset) {
                *byte ^= 1 << (bit % 8);
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Counts a call; fails it when the power is off.
    fn call(&mut self) -> io::Result<()> {
        self.powered()?;
        self.calls += 1;
        Ok(())
    }

    fn powered(&self) -> io::Result<()> {
        match self.power_fails_at {
            Some(at) if self.calls >= at => Err(io::Error::other("the power is off")),
            _ => Ok(()),
        }
    }

    fn find(&self, name: &str) -> io::Result<usize> {
        self.names.get(name).copied().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    /// Room that no file with a name takes.
    fn available_bytes(&self) -> u64 {
        let Some(capacity) = self.capacity_bytes else { return PLENTY_BYTES };
        let files = self.names.values().filter_map(|index| self.files.get(*index));
        let taken: usize = files.map(|file| file.bytes.len()).sum();
        capacity.saturating_sub(u64::try_from(taken).unwrap_or(u64::MAX))
    }

    fn change(&mut self, change: NameChange) {
        apply(&mut self.names, &change);
        self.pending_names.push(change);
    }
}

fn apply(names: &mut BTreeMap<String, usize>, change: &NameChange) {
    match change {
        NameChange::Add(name, file) => names.insert(name.clone(), *file),
        NameChange::Remove(name) => names.remove(name),
        NameChange::Rename(from, to, file) => {
            names.remove(from);
            names.insert(to.clone(), *file)
        }
    };
}

/// The directory of a file; `None` for the data directory, which is always there.
fn parent(name: &str) -> Option<&str> {
    name.rsplit_once('/').map(|(directory, _)| directory)
}

impl FileState {
    fn write(&mut self, bytes: &[u8], offset: usize) {
        let end = offset + bytes.len();
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        if let Some(place) = self.bytes.get_mut(offset..end) {
            place.copy_from_slice(bytes);
        }
        self.touch(offset, end);
    }

    fn touch(&mut self, start: usize, end: usize) {
        let sector = |offset: usize| u64::try_from(offset).unwrap_or(0) / SECTOR_BYTES;
        self.unsynced.extend(sector(start)..=sector(end.saturating_sub(1)));
    }

    /// Each unsynced sector is old or new; the length is the old one or reaches to the last surviving sector.
    fn after_crash(&self, dice: &mut Dice) -> Self {
        let mut survived = self.durable.clone();
        let shrank = self.bytes.len() < self.durable.len() && dice.below(2) == 1;
        if shrank {
            survived.truncate(self.bytes.len());
        }
        for sector in &self.unsynced {
            if dice.below(2) == 0 {
                continue;
            }
            let start = usize::try_from(sector * SECTOR_BYTES).unwrap_or(usize::MAX);
            let end = (start + usize::try_from(SECTOR_BYTES).unwrap_or(0)).min(self.bytes.len());
            let Some(new) = self.bytes.get(start..end) else { continue };
            if survived.len() < end {
                survived.resize(end, 0);
            }
            if let Some(place) = survived.get_mut(start..end) {
                place.copy_from_slice(new);
            }
        }
        Self { bytes: survived.clone(), durable: survived, unsynced: BTreeSet::new() }
    }
}

impl Disk for SimulatedDisk {
    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let state = self.state();
        state.powered()?;
        Ok(Arc::new(SimulatedFile { disk: self.clone(), name: name.to_owned(), index: state.find(name)? }))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.state();
        state.call()?;
        if state.names.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        if parent(name).is_some_and(|directory| !state.directories.contains_key(directory)) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let index = state.files.len();
        state.files.push(FileState::default());
        state.change(NameChange::Add(name.to_owned(), index));
        Ok(Arc::new(SimulatedFile { disk: self.clone(), name: name.to_owned(), index }))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.state();
        state.call()?;
        state.find(name)?;
        state.change(NameChange::Remove(name.to_owned()));
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.state();
        state.call()?;
        let index = state.find(from)?;
        state.change(NameChange::Rename(from.to_owned(), to.to_owned(), index));
        Ok(())
    }

    fn list(&self, directory: &str) -> io::Result<Vec<String>> {
        let state = self.state();
        state.powered()?;
        let prefix = format!("{directory}/");
        let names = state.names.keys().filter_map(|name| name.strip_prefix(&prefix));
        Ok(names.filter(|rest| !rest.contains('/')).map(str::to_owned).collect())
    }

    fn create_directory(&self, directory: &str) -> io::Result<()> {
        let mut state = self.state();
        if state.directories.contains_key(directory) {
            return state.powered();
        }
        state.call()?;
        state.directories.insert(directory.to_owned(), false);
        Ok(())
    }

    fn sync_directory(&self, directory: &str) -> io::Result<()> {
        let mut state = self.state();
        state.call()?;
        let pending = std::mem::take(&mut state.pending_names);
        if directory.is_empty() {
            state.directories.values_mut().for_each(|durable| *durable = true);
        }
        for change in pending {
            let (NameChange::Add(name, _) | NameChange::Remove(name) | NameChange::Rename(_, name, _)) = &change;
            if parent(name).unwrap_or_default() == directory {
                apply(&mut state.durable_names, &change);
            } else {
                state.pending_names.push(change);
            }
        }
        Ok(())
    }

    fn available_bytes(&self) -> io::Result<u64> {
        Ok(self.state().available_bytes())
    }
}

struct SimulatedFile {
    disk: SimulatedDisk,
    name: String,
    index: usize,
}

impl SimulatedFile {
    fn with<T>(&self, counts: bool, act: impl FnOnce(&mut FileState) -> T) -> io::Result<T> {
        let mut state = self.disk.state();
        if counts {
            state.call()?;
        } else {
            state.powered()?;
        }
        state.files.get_mut(self.index).map(act).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }
}

fn place(offset: u64) -> io::Result<usize> {
    usize::try_from(offset).map_err(io::Error::other)
}

impl DiskFile for SimulatedFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let start = place(offset)?;
        self.with(false, |file| {
            let available = file.bytes.get(start..).unwrap_or_default();
            let count = available.len().min(buffer.len());
            if let (Some(to), Some(from)) = (buffer.get_mut(..count), available.get(..count)) {
                to.copy_from_slice(from);
            }
            count
        })
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let start = place(offset)?;
        if bytes.is_empty() {
            return Ok(());
        }
        let room = self.disk.state().available_bytes();
        let length = usize::try_from(self.length()?).unwrap_or(usize::MAX);
        let growth = (start + bytes.len()).saturating_sub(length);
        if u64::try_from(growth).unwrap_or(u64::MAX) > room {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.with(true, |file| file.write(bytes, start))
    }

    fn sync(&self) -> io::Result<()> {
        let fails = self.disk.state().failing_syncs.as_ref().is_some_and(|only| self.name.contains(only));
        if fails {
            self.with(true, |file| file.unsynced.clear())?;
            return Err(io::Error::other("the sync failed"));
        }
        self.with(true, |file| {
            file.durable.resize(file.bytes.len(), 0);
            for sector in std::mem::take(&mut file.unsynced) {
                let start = usize::try_from(sector * SECTOR_BYTES).unwrap_or(usize::MAX);
                let end = (start + usize::try_from(SECTOR_BYTES).unwrap_or(0)).min(file.bytes.len());
                if let (Some(to), Some(from)) = (file.durable.get_mut(start..end), file.bytes.get(start..end)) {
                    to.copy_from_slice(from);
                }
            }
        })
    }

    fn length(&self) -> io::Result<u64> {
        self.with(false, |file| u64::try_from(file.bytes.len()).unwrap_or(u64::MAX))
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        let length = place(length)?;
        self.with(true, |file| {
            let before = file.bytes.len();
            file.bytes.resize(length, 0);
            if length > before {
                file.touch(before, length);
            }
        })
    }
}

/// SplitMix64: the fate of sectors, repeatable by its seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % limit.max(1)
    }
}

#[cfg(test)]
mod tests;
