//! Races with the checkpoint, made to happen: a disk that holds a call until it is told to go on.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

mod support;

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use store::{Read, Scope, StoreError, conformance::support::key};
use store_embedded::disk::{Fault, FaultyDisk, SimulatedDisk};
use support::{
    Opened, block_on,
    holding::{Call, HoldingDisk, Moment, State},
    index_directory, pattern,
};

#[test]
fn a_checkpoint_waits_for_the_small_chunks_of_the_commits_before_it() {
    let (power, index) = (SimulatedDisk::new(), index_directory());
    let disk = HoldingDisk::new(power.clone());
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
        let during = Moment::now(&opened, &power, index.path());
        directory.set(State::Open);
        checkpoint.join().unwrap().unwrap();
        during.must_survive();
    });
    Moment::now(&opened, &power, index.path()).must_survive();
}

#[test]
fn a_checkpoint_does_not_write_out_what_another_one_has_not_synced() {
    let (power, index) = (SimulatedDisk::new(), index_directory());
    let disk = HoldingDisk::new(power.clone());
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
        let between = Moment::now(&opened, &power, index.path());
        sync.set(State::Open);
        second.join().unwrap().unwrap();
        between
    });
    between.must_survive();
    Moment::now(&opened, &power, index.path()).must_survive();
}

/// While the first checkpoint syncs an extent, a chunk of a later commit comes into it: the second one must sync it again.
#[test]
fn a_chunk_that_comes_while_its_extent_is_synced_is_synced_by_the_next_checkpoint() {
    for call in [Call::Sync, Call::Synced] {
        let (power, index) = (SimulatedDisk::new(), index_directory());
        let disk = HoldingDisk::new(power.clone());
        let opened = Opened::on(disk.clone(), index.path()).unwrap();
        block_on(opened.put_chunk("first", pattern(1, 1_000))).unwrap();
        let gate = disk.gate(call);
        gate.set(State::Armed);
        std::thread::scope(|scope| {
            let checkpoint = scope.spawn(|| opened.engine.checkpoint());
            gate.wait_until_holding();
            block_on(opened.put_chunk("second", pattern(2, 1_000))).unwrap();
            gate.set(State::Open);
            checkpoint.join().unwrap().unwrap();
        });
        opened.engine.checkpoint().unwrap();
        Moment::now(&opened, &power, index.path()).must_survive();
    }
}

/// A chunk is being written while the extent under it is synced for the commits before: that sync is not its own.
#[test]
fn a_chunk_whose_write_outlasts_a_sync_of_its_extent_is_synced_by_the_next_checkpoint() {
    let (power, index) = (SimulatedDisk::new(), index_directory());
    let disk = HoldingDisk::new(power.clone());
    let opened = Opened::on(disk.clone(), index.path()).unwrap();
    // Two extents with unsynced bytes: a dead one that a reader may still see, and the present one.
    block_on(async {
        opened.put_chunk("dead", pattern(1, 1_000)).await.unwrap();
        let _reader = opened.store.snapshot();
        opened.release("dead").await.unwrap();
        opened.sweep().await.unwrap();
        assert_eq!(opened.engine.delete_dead_extents().unwrap(), 0);
        opened.put_chunk("first", pattern(2, 1_000)).await.unwrap();
        assert_eq!(opened.engine.metrics().extents, 2);
    });
    let (write, sync) = (disk.gate(Call::Write), disk.gate(Call::Sync));
    sync.set(State::Armed);
    std::thread::scope(|scope| {
        let checkpoint = scope.spawn(|| opened.engine.checkpoint());
        sync.wait_until_holding(); // at the first extent
        write.set(State::Armed);
        let writer = scope.spawn(|| block_on(opened.put_chunk("second", pattern(3, 1_000))));
        write.wait_until_holding();
        sync.set(State::Open);
        let checkpointed = checkpoint.join();
        write.set(State::Open);
        checkpointed.unwrap().unwrap();
        writer.join().unwrap().unwrap();
    });
    opened.engine.checkpoint().unwrap();
    Moment::now(&opened, &power, index.path()).must_survive();
}

/// A later transaction decides on what has its place and is not written yet.
#[test]
fn a_transaction_reads_what_the_log_has_yet_to_write() {
    let (power, index) = (SimulatedDisk::new(), index_directory());
    let disk = HoldingDisk::new(power.clone());
    let opened = Opened::on(disk.clone(), index.path()).unwrap();
    // One block, and several.
    for (step, length) in [(1, 20_000), (2, 200_000)] {
        let value = Bytes::from(pattern(step, length));
        let write = disk.gate(Call::Write);
        write.set(State::Armed);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| block_on(opened.put("spilled", value.clone())));
            write.wait_until_holding();
            let (sender, receiver) = std::sync::mpsc::channel();
            let opened = &opened;
            let reader = scope.spawn(move || {
                let sender = &sender;
                block_on(opened.store.transact(Scope::new(), |txn| async move {
                    sender.send(txn.get(&key("spilled")).await).unwrap();
                    Ok::<_, StoreError>(())
                }))
            });
            let read = receiver.recv().unwrap();
            let waiting = !writer.is_finished() && !reader.is_finished();
            write.set(State::Open);
            assert_eq!(read.unwrap(), Some(value.clone()), "{length}");
            assert!(waiting, "nothing of it is durable");
            writer.join().unwrap().unwrap();
            reader.join().unwrap().unwrap();
        });
    }
    Moment::now(&opened, &power, index.path()).must_survive();
}

#[test]
fn what_comes_to_be_owed_while_debts_are_paid_stays_owed() {
    let (power, index) = (SimulatedDisk::new(), index_directory());
    let faulty = FaultyDisk::new(power.clone());
    let disk = HoldingDisk::new(faulty.clone());
    let opened = Opened::on(disk.clone(), index.path()).unwrap();
    block_on(opened.put_chunk("before", pattern(1, 1_000))).unwrap();
    faulty.inject(Fault::NoSpace, "extents/", 0);
    block_on(opened.put_chunk("first", pattern(2, 1_000))).unwrap();
    let write = disk.gate(Call::Write);
    write.set(State::Armed);
    std::thread::scope(|scope| {
        let checkpoint = scope.spawn(|| opened.engine.checkpoint());
        write.wait_until_holding();
        let second = block_on(opened.put_chunk("second", pattern(3, 1_000)));
        let hits = faulty.hits();
        faulty.heal();
        write.set(State::Open);
        second.unwrap();
        assert_eq!(hits, 2, "both found no room");
        checkpoint.join().unwrap().unwrap();
    });
    Moment::now(&opened, &power, index.path()).must_survive();
    opened.engine.checkpoint().unwrap();
    Moment::now(&opened, &power, index.path()).must_survive();
}

/// Readers of rows and chunks beside writers that replace them: what is seen is whole, wherever it is at that moment.
#[test]
fn readers_never_miss_a_chunk_on_its_way_into_its_extent() {
    let index = index_directory();
    let opened = Opened::on(SimulatedDisk::new(), index.path()).unwrap();
    let (names, rounds) = (4_u64, 150_u64);
    let done = AtomicBool::new(false);
    let (opened, done) = (&opened, &done);
    std::thread::scope(|scope| {
        let write = async move |name: u64, round: u64| {
            let length = 17_000 + usize::try_from(round * 97).unwrap();
            opened.put_chunk(&format!("{name}"), pattern(round, length)).await.unwrap();
            // All writers replace this one: most find what another has just given its place.
            let row = &key("row");
            let replaced = opened.store.transact(Scope::new(), |txn| async move {
                let before = txn.get(row).await?.unwrap_or_default();
                let first = before.first().copied().unwrap_or_default();
                assert!(before.iter().all(|byte| *byte == first), "half of one value, half of another");
                txn.put(row.clone(), vec![first.wrapping_add(1); length]);
                Ok::<_, StoreError>(())
            });
            replaced.await.unwrap();
        };
        let writers: Vec<_> = (0..names)
            .map(|name| {
                scope.spawn(move || {
                    block_on(async {
                        for round in 0..rounds {
                            write(name, round).await;
                        }
                    });
                })
            })
            .collect();
        let reader = move || {
            let mut seen = 0_u64;
            while !done.load(Ordering::Relaxed) {
                // A chunk may be freed between its row and its opening, which is no answer about its bytes.
                match block_on(opened.visible()) {
                    Ok(visible) => seen += u64::try_from(visible.len()).unwrap(),
                    Err(StoreError::ChunkGone(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            seen
        };
        let readers: Vec<_> = (0..4).map(|_| scope.spawn(reader)).collect();
        let written: Vec<_> = writers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        done.store(true, Ordering::Relaxed);
        let seen: u64 = readers.into_iter().map(|reader| reader.join().unwrap()).sum();
        assert!(written.into_iter().all(|writer| writer.is_ok()) && seen > 0);
    });
    block_on(opened.must_be_clean("after all"));
}
