//! Races with the checkpoint, made to happen: a disk that holds a call until it is told to go on.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

mod support;

use std::{
    io,
    path::Path,
    sync::{Arc, Condvar, Mutex},
    time::Duration,
};

use store_embedded::disk::{Disk, DiskFile, SimulatedDisk};
use support::{Opened, Visible, block_on, index_directory, pattern};
use tempfile::TempDir;

/// A call that can be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Write,
    Sync,
    SyncDirectory,
}

/// Holds the next call of a kind in the directory of extents.
#[derive(Clone)]
struct HoldingDisk {
    inner: SimulatedDisk,
    gates: Arc<[Gate; 3]>,
}

/// Holds one kind of call.
struct Gate {
    call: Call,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
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

    fn set(&self, state: State) {
        *self.state.lock().unwrap() = state;
        self.changed.notify_all();
    }

    fn wait_until_holding(&self) {
        let state = self.state.lock().unwrap();
        drop(self.changed.wait_while(state, |state| *state != State::Holding).unwrap());
    }

    /// Gives another thread the time to come here, if it can.
    fn wait_a_little(&self) {
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
    fn new(inner: SimulatedDisk) -> Self {
        Self { inner, gates: Arc::new([Call::Write, Call::Sync, Call::SyncDirectory].map(Gate::new)) }
    }

    fn gate(&self, call: Call) -> &Gate {
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
        if self.in_extents {
            self.disk.gate(Call::Sync).pass();
        }
        self.inner.sync()
    }

    fn length(&self) -> io::Result<u64> {
        self.inner.length()
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.inner.set_length(length)
    }
}

/// What power failures at one moment would leave, and what was visible then.
struct Moment {
    visible: Visible,
    left: Vec<(SimulatedDisk, TempDir)>,
}

impl Moment {
    fn now(opened: &Opened, disk: &HoldingDisk, index: &Path) -> Self {
        let left = |seed| (SimulatedDisk::from_image(disk.inner.crash(seed)), support::copy_index(index));
        Self { visible: block_on(opened.visible()).unwrap(), left: (0..10).map(left).collect() }
    }

    fn must_survive(self) {
        for (seed, (disk, index)) in self.left.into_iter().enumerate() {
            let opened = Opened::on(disk, index.path()).unwrap();
            block_on(opened.must_be_clean(&format!("seed {seed}")));
            assert_eq!(block_on(opened.visible()).unwrap(), self.visible, "seed {seed}");
        }
    }
}

#[test]
fn a_checkpoint_waits_for_the_small_chunks_of_the_commits_before_it() {
    let (disk, index) = (HoldingDisk::new(SimulatedDisk::new()), index_directory());
    let opened = Opened::on(disk.clone(), index.path()).unwrap();
    block_on(opened.put_chunk("first", pattern(1, 1_000))).unwrap();
    let (write, directory) = (disk.gate(Call::Write), disk.gate(Call::SyncDirectory));
    write.set(State::Armed);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| block_on(opened.put_chunk("second", pattern(2, 1_000))));
        // The commit has its place, so the checkpoint has it in its tables; its chunk is not written yet.
        write.wait_until_holding();
        directory.set(State::Armed);
        let checkpoint = scope.spawn(|| opened.engine.checkpoint());
        directory.wait_a_little();
        assert!(!checkpoint.is_finished() && !writer.is_finished());
        write.set(State::Open);
        writer.join().unwrap().unwrap();
        directory.wait_until_holding();
        let during = Moment::now(&opened, &disk, index.path());
        directory.set(State::Open);
        checkpoint.join().unwrap().unwrap();
        during.must_survive();
    });
    Moment::now(&opened, &disk, index.path()).must_survive();
}

#[test]
fn a_checkpoint_does_not_write_out_what_another_one_has_not_synced() {
    let (disk, index) = (HoldingDisk::new(SimulatedDisk::new()), index_directory());
    let opened = Opened::on(disk.clone(), index.path()).unwrap();
    block_on(opened.put_chunk("first", pattern(1, 1_000))).unwrap();
    let (last_step, sync) = (disk.gate(Call::SyncDirectory), disk.gate(Call::Sync));
    last_step.set(State::Armed);
    let between = std::thread::scope(|scope| {
        // The first checkpoint has synced all extents it knew of and is about to write its tables.
        let first = scope.spawn(|| opened.engine.checkpoint());
        last_step.wait_until_holding();
        block_on(opened.put_chunk("second", pattern(2, 1_000))).unwrap();
        // The second one must not seal what the first would take along.
        sync.set(State::Armed);
        let second = scope.spawn(|| opened.engine.checkpoint());
        sync.wait_a_little();
        last_step.set(State::Open);
        first.join().unwrap().unwrap();
        sync.wait_until_holding();
        let between = Moment::now(&opened, &disk, index.path());
        sync.set(State::Open);
        second.join().unwrap().unwrap();
        between
    });
    between.must_survive();
    Moment::now(&opened, &disk, index.path()).must_survive();
}
