//! Every workload of up to three operations, every crash point of its last one: the store opens again, has everything
//! that was acknowledged, nothing torn, verifies clean, and goes on; also when recovery itself is interrupted.
//!
//! A crash point is a disk call at which the power fails. Points before the last operation belong to the shorter
//! workload, so each is visited once. `LAZULI_CRASH_SEEDS` raises the fates that unsynced sectors meet at each point.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

mod support;

use bytes::Bytes;
use store::StoreError;
use store_embedded::disk::SimulatedDisk;
use support::{Opened, Visible, block_on, chunk_name, copy_index, count, index_directory, pattern};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    PutTwoRows,
    Overwrite,
    Delete,
    PutSpilled,
    LinkSmall,
    LinkLarge,
    ReleaseAndSweep,
    MoveChunks,
    Checkpoint,
    Compact,
    DeleteDeadExtents,
    Reopen,
}

use Operation::{
    Checkpoint, Compact, Delete, DeleteDeadExtents, LinkLarge, LinkSmall, MoveChunks, Overwrite, PutSpilled,
    PutTwoRows, ReleaseAndSweep, Reopen,
};

const ALPHABET: [Operation; 12] = [
    PutTwoRows,
    Overwrite,
    Delete,
    PutSpilled,
    LinkSmall,
    LinkLarge,
    ReleaseAndSweep,
    MoveChunks,
    Checkpoint,
    Compact,
    DeleteDeadExtents,
    Reopen,
];

impl Operation {
    /// What is visible after it. `step` makes the values of each step its own.
    fn apply(self, step: u64, state: &mut Visible) {
        let mut put = |name: &str, bytes: Vec<u8>| drop(state.insert(name.to_owned(), Bytes::from(bytes)));
        match self {
            PutTwoRows => {
                put("a", pattern(step, 100));
                put("b", pattern(step + 50, 700));
            }
            Overwrite => put("a", pattern(step + 100, 300)),
            PutSpilled => put("s", pattern(step, 20_000)),
            LinkSmall => put(&chunk_name("c"), pattern(step, 3_000)),
            LinkLarge => put(&chunk_name("c"), pattern(step, 70_000)),
            Delete => drop(state.remove("a")),
            ReleaseAndSweep => drop(state.remove(&chunk_name("c"))),
            MoveChunks | Checkpoint | Compact | DeleteDeadExtents | Reopen => {}
        }
    }

    /// Does it. An error means that nobody was told that it happened.
    async fn run(self, step: u64, subject: &mut Subject) -> Result<(), StoreError> {
        if self == Reopen {
            return subject.reopen();
        }
        let Some(opened) = &subject.opened else { return Err(StoreError::Closed) };
        let bytes = |seed, length| Some(Bytes::from(pattern(seed, length)));
        match self {
            PutTwoRows => opened.put_all(&[("a", bytes(step, 100)), ("b", bytes(step + 50, 700))]).await,
            Overwrite => opened.put_all(&[("a", bytes(step + 100, 300))]).await,
            Delete => opened.put_all(&[("a", None)]).await,
            PutSpilled => opened.put_all(&[("s", bytes(step, 20_000))]).await,
            LinkSmall => opened.put_chunk("c", pattern(step, 3_000)).await,
            LinkLarge => opened.put_chunk("c", pattern(step, 70_000)).await,
            ReleaseAndSweep => {
                opened.release("c").await?;
                // The release is acknowledged; how far the sweep came is not visible.
                opened.sweep().await.or(Ok(()))
            }
            MoveChunks => opened.move_chunks().await,
            Checkpoint => opened.engine.checkpoint(),
            Compact => opened.engine.compact(),
            DeleteDeadExtents => opened.engine.delete_dead_extents().map(drop),
            Reopen => unreachable!("handled above"),
        }
    }
}

struct Subject {
    disk: SimulatedDisk,
    index: tempfile::TempDir,
    opened: Option<Opened>,
}

impl Subject {
    fn new() -> Self {
        let mut subject = Self { disk: SimulatedDisk::new(), index: index_directory(), opened: None };
        subject.open().unwrap();
        subject
    }

    fn open(&mut self) -> Result<(), StoreError> {
        let opened = Opened::on(self.disk.clone(), self.index.path());
        self.opened = Some(opened.map_err(|error| StoreError::corrupt(error.to_string()))?);
        Ok(())
    }

    fn reopen(&mut self) -> Result<(), StoreError> {
        if let Some(opened) = self.opened.take() {
            opened.close()?;
        }
        self.open()
    }
}

/// Crashes at every call of the last operation. Returns how many crash points and recoveries there were.
async fn crash_everywhere(workload: &[Operation], seeds: u64) -> (u64, u64) {
    let (last, before) = workload.split_last().unwrap();
    let mut recoveries = 0;
    for point in 0.. {
        let mut subject = Subject::new();
        let mut state = Visible::new();
        let mut step = 0;
        for operation in before {
            step += 1;
            operation.run(step, &mut subject).await.unwrap();
            operation.apply(step, &mut state);
        }
        step += 1;
        let mut after = state.clone();
        last.apply(step, &mut after);
        let crash_at = subject.disk.calls() + point;
        subject.disk.fail_power_at(crash_at);
        let outcome = last.run(step, &mut subject).await;
        drop(subject.opened.take());
        let unharmed = subject.disk.calls() < crash_at;
        let allowed = if outcome.is_ok() { vec![after] } else { vec![state, after] };
        for seed in 0..seeds {
            let place = format!("{workload:?} crash point {point} seed {seed}");
            recover(&subject, seed, &allowed, &place).await;
            recoveries += 1;
        }
        die_and_lose_power(&mut subject, point, &allowed, &format!("{workload:?} process dies at {point}")).await;
        recoveries += 2;
        if unharmed {
            return (point, recoveries); // the power did not fail before the end
        }
    }
    unreachable!("a workload has an end")
}

/// Opens what a crash left, looks, writes, crashes again and looks again.
async fn recover(subject: &Subject, seed: u64, allowed: &[Visible], place: &str) {
    let disk = SimulatedDisk::from_image(subject.disk.crash(seed));
    let index = copy_index(subject.index.path());
    // Recovery may be interrupted as well; what it did so far must not be in the way of the next one.
    disk.fail_power_at(seed % 11);
    drop(Opened::on(disk.clone(), index.path()));
    let disk = SimulatedDisk::from_image(disk.crash(seed + 1));

    let opened = Opened::on(disk.clone(), index.path()).unwrap_or_else(|error| panic!("{place}: open: {error}"));
    let mut found = opened.visible().await.unwrap_or_else(|error| panic!("{place}: read: {error}"));
    assert!(allowed.contains(&found), "{place}: found {:?}", found.keys());
    opened.must_be_clean(place).await;
    let late = [("late", Some(Bytes::from_static(b"row")))];
    opened.put_all(&late).await.unwrap_or_else(|error| panic!("{place}: put: {error}"));
    opened.put_chunk("late", vec![7; 100]).await.unwrap_or_else(|error| panic!("{place}: chunk: {error}"));
    found.insert("late".into(), Bytes::from_static(b"row"));
    found.insert(chunk_name("late"), Bytes::from(vec![7; 100]));

    let disk = SimulatedDisk::from_image(disk.crash(seed + 2));
    opened.abandon();
    let opened = Opened::on(disk, index.path()).unwrap_or_else(|error| panic!("{place}: second open: {error}"));
    let again = opened.visible().await.unwrap_or_else(|error| panic!("{place}: second read: {error}"));
    assert!(again == found, "{place}: after the second crash {:?}, not {:?}", again.keys(), found.keys());
    opened.must_be_clean(place).await;
}

/// The process dies and the next one finds all it wrote in the page cache. What that one shows stays when the power
/// fails then.
async fn die_and_lose_power(subject: &mut Subject, seed: u64, allowed: &[Visible], place: &str) {
    subject.disk.restart_process();
    subject.open().unwrap_or_else(|error| panic!("{place}: open: {error}"));
    let opened = subject.opened.take().unwrap();
    let found = opened.visible().await.unwrap_or_else(|error| panic!("{place}: read: {error}"));
    assert!(allowed.contains(&found), "{place}: found {:?}", found.keys());
    subject.disk.fail_power_at(0);
    opened.abandon();
    subject.disk = SimulatedDisk::from_image(subject.disk.crash(seed));
    subject.open().unwrap_or_else(|error| panic!("{place}: open after the power failed: {error}"));
    let opened = subject.opened.take().unwrap();
    let again = opened.visible().await.unwrap_or_else(|error| panic!("{place}: read after the power failed: {error}"));
    assert!(again == found, "{place}: found {:?}, then {:?}", found.keys(), again.keys());
    opened.must_be_clean(place).await;
}

fn all_that_begin_with(first: Operation) {
    let seeds = count("LAZULI_CRASH_SEEDS", 1);
    let mut totals = (0, 0, 0);
    let mut workloads = vec![vec![first]];
    for second in ALPHABET {
        workloads.push(vec![first, second]);
        workloads.extend(ALPHABET.map(|third| vec![first, second, third]));
    }
    block_on(async {
        for workload in &workloads {
            let (points, recoveries) = crash_everywhere(workload, seeds).await;
            totals = (totals.0 + 1, totals.1 + points, totals.2 + recoveries);
        }
    });
    println!("{} workloads, {} crash points, {} recoveries", totals.0, totals.1, totals.2);
}

macro_rules! workloads {
    ($($name:ident: $first:expr;)+) => {
        $(#[test]
        fn $name() {
            all_that_begin_with($first);
        })+
    };
}

workloads! {
    workloads_that_begin_with_two_rows_survive_every_crash: PutTwoRows;
    workloads_that_begin_with_an_overwrite_survive_every_crash: Overwrite;
    workloads_that_begin_with_a_delete_survive_every_crash: Delete;
    workloads_that_begin_with_a_spilled_value_survive_every_crash: PutSpilled;
    workloads_that_begin_with_a_small_chunk_survive_every_crash: LinkSmall;
    workloads_that_begin_with_a_large_chunk_survive_every_crash: LinkLarge;
    workloads_that_begin_with_a_release_survive_every_crash: ReleaseAndSweep;
    workloads_that_begin_with_a_move_survive_every_crash: MoveChunks;
    workloads_that_begin_with_a_checkpoint_survive_every_crash: Checkpoint;
    workloads_that_begin_with_a_compaction_survive_every_crash: Compact;
    workloads_that_begin_with_deleting_extents_survive_every_crash: DeleteDeadExtents;
    workloads_that_begin_with_a_reopen_survive_every_crash: Reopen;
}

#[test]
fn the_very_first_open_survives_every_crash() {
    block_on(async {
        for point in 0..30 {
            for seed in 0..10 {
                let subject = Subject { disk: SimulatedDisk::new(), index: index_directory(), opened: None };
                subject.disk.fail_power_at(point);
                drop(Opened::on(subject.disk.clone(), subject.index.path()));
                recover(&subject, seed, &[Visible::new()], &format!("crash point {point} seed {seed}")).await;
            }
        }
    });
}
