//! A disk that holds a call until it is told to go on, so that races can be made to happen.

use std::{
    io,
    path::Path,
    sync::{Arc, Condvar, Mutex},
    time::Duration,
};

use store_embedded::disk::{Disk, DiskFile, SimulatedDisk};
use tempfile::TempDir;

use super::{Opened, Visible, block_on, copy_index};

/// A call that can be held: in the directory of extents, unless it says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Write,
    Sync,
    /// A sync that is done and has not returned.
    Synced,
    SyncDirectory,
    SyncLog,
}

/// Holds the next call of a kind.
#[derive(Clone)]
pub(crate) struct HoldingDisk {
    inner: Arc<dyn Disk>,
    gates: Arc<[Gate; 5]>,
}

/// Holds one kind of call.
pub(crate) struct Gate {
    call: Call,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum State {
    #[default]
    Open,
    /// The next call stops here.
    Armed,
    /// One stands here.
    Holding,
}

impl Gate {
    fn new(call: Call) -> Self {
        Self { call, state: Mutex::default(), changed: Condvar::new() }
    }

    pub(crate) fn set(&self, state: State) {
        *self.state.lock().unwrap() = state;
        self.changed.notify_all();
    }

    pub(crate) fn wait_until_holding(&self) {
        let state = self.state.lock().unwrap();
        drop(self.changed.wait_while(state, |state| *state != State::Holding).unwrap());
    }

    pub(crate) fn is_holding(&self) -> bool {
        *self.state.lock().unwrap() == State::Holding
    }

    /// Gives another thread the time to come here, if it can.
    pub(crate) fn wait_a_little(&self) {
        let (state, little) = (self.state.lock().unwrap(), Duration::from_millis(200));
        drop(self.changed.wait_timeout_while(state, little, |state| *state != State::Holding).unwrap());
    }

    fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        if *state == State::Armed {
            *state = State::Holding;
            self.changed.notify_all();
            drop(self.changed.wait_while(state, |state| *state == State::Holding).unwrap());
        }
    }
}

struct HoldingFile {
    disk: HoldingDisk,
    inner: Arc<dyn DiskFile>,
    in_extents: bool,
}

impl HoldingDisk {
    pub(crate) fn new(inner: impl Disk) -> Self {
        let calls = [Call::Write, Call::Sync, Call::Synced, Call::SyncDirectory, Call::SyncLog];
        Self { inner: Arc::new(inner), gates: Arc::new(calls.map(Gate::new)) }
    }

    pub(crate) fn gate(&self, call: Call) -> &Gate {
        self.gates.iter().find(|gate| gate.call == call).unwrap()
    }

    fn wrap(&self, name: &str, inner: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        Arc::new(HoldingFile { disk: self.clone(), inner, in_extents: name.starts_with("extents/") })
    }
}

impl Disk for HoldingDisk {
    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        Ok(self.wrap(name, self.inner.open(name)?))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        Ok(self.wrap(name, self.inner.create(name)?))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.inner.remove(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn list(&self, directory: &str) -> io::Result<Vec<String>> {
        self.inner.list(directory)
    }

    fn create_directory(&self, directory: &str) -> io::Result<()> {
        self.inner.create_directory(directory)
    }

    fn sync_directory(&self, directory: &str) -> io::Result<()> {
        if directory == "extents" {
            self.gate(Call::SyncDirectory).pass();
        }
        self.inner.sync_directory(directory)
    }

    fn available_bytes(&self) -> io::Result<u64> {
        self.inner.available_bytes()
    }
}

impl DiskFile for HoldingFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.inner.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if self.in_extents && offset > 0 {
            self.disk.gate(Call::Write).pass();
        }
        self.inner.write_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        if !self.in_extents {
            self.disk.gate(Call::SyncLog).pass();
            return self.inner.sync();
        }
        self.disk.gate(Call::Sync).pass();
        let synced = self.inner.sync();
        self.disk.gate(Call::Synced).pass();
        synced
    }

    fn length(&self) -> io::Result<u64> {
        self.inner.length()
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.inner.set_length(length)
    }
}

/// What power failures at one moment would leave, and what was visible then.
pub(crate) struct Moment {
    visible: Visible,
    left: Vec<(SimulatedDisk, TempDir)>,
}

impl Moment {
    pub(crate) fn now(opened: &Opened, disk: &SimulatedDisk, index: &Path) -> Self {
        let left = |seed| (SimulatedDisk::from_image(disk.crash(seed)), copy_index(index));
        Self { visible: block_on(opened.visible()).unwrap(), left: (0..10).map(left).collect() }
    }

    pub(crate) fn must_survive(self) {
        for (seed, (disk, index)) in self.left.into_iter().enumerate() {
            let opened = Opened::on(disk, index.path()).unwrap();
            block_on(opened.must_be_clean(&format!("seed {seed}")));
            assert_eq!(block_on(opened.visible()).unwrap(), self.visible, "seed {seed}");
        }
    }
}
