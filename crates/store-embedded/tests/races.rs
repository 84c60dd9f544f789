//! Races with the checkpoint, made to happen: a disk that holds a call until it is told to go on.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

mod support;

use std::{
    io,
    sync::{Arc, Condvar, Mutex},
};

use store_embedded::disk::{Disk, DiskFile, SimulatedDisk};
use support::{Opened, block_on, index_directory, pattern};

/// Holds the next write to an extent of more than a header.
#[derive(Clone)]
struct HoldingDisk {
    inner: SimulatedDisk,
    gate: Arc<Gate>,
}

#[derive(Default)]
struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Open,
    /// The next write stops here.
    Armed,
    /// One stands here.
    Holding,
}

impl Gate {
    fn set(&self, state: State) {
        *self.state.lock().unwrap() = state;
        self.changed.notify_all();
    }

    fn wait_for(&self, wanted: State) {
        let state = self.state.lock().unwrap();
        drop(self.changed.wait_while(state, |state| *state != wanted).unwrap());
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

struct HoldingFile(Arc<dyn DiskFile>, Option<Arc<Gate>>);

impl HoldingDisk {
    fn wrap(&self, name: &str, file: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        Arc::new(HoldingFile(file, name.starts_with("extents/").then(|| Arc::clone(&self.gate))))
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
        self.inner.sync_directory(directory)
    }

    fn available_bytes(&self) -> io::Result<u64> {
        self.inner.available_bytes()
    }
}

impl DiskFile for HoldingFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if let Some(gate) = self.1.as_ref().filter(|_| offset > 0) {
            gate.pass();
        }
        self.0.write_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }

    fn length(&self) -> io::Result<u64> {
        self.0.length()
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.0.set_length(length)
    }
}

#[test]
fn a_chunk_written_during_a_checkpoint_is_synced_by_the_next_one() {
    let (inner, index) = (SimulatedDisk::new(), index_directory());
    let disk = HoldingDisk { inner: inner.clone(), gate: Arc::default() };
    let opened = Opened::on(disk.clone(), index.path()).unwrap();
    block_on(opened.put_chunk("first", pattern(1, 1_000))).unwrap();
    disk.gate.set(State::Armed);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| block_on(opened.put_chunk("second", pattern(2, 1_000))));
        disk.gate.wait_for(State::Holding);
        opened.engine.checkpoint().unwrap();
        disk.gate.set(State::Open);
        writer.join().unwrap().unwrap();
    });
    opened.engine.checkpoint().unwrap();
    let before = block_on(opened.visible()).unwrap();
    assert_eq!(before.len(), 2);
    for seed in 0..10 {
        let index = support::copy_index(index.path());
        let opened = Opened::on(SimulatedDisk::from_image(inner.crash(seed)), index.path()).unwrap();
        block_on(opened.must_be_clean(&format!("seed {seed}")));
        assert_eq!(block_on(opened.visible()).unwrap(), before, "seed {seed}");
    }
}
