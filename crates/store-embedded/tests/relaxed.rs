//! What relaxed durability still promises: nothing stays unsynced for long, and nobody waits for a sync that was done.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod support;

use std::{sync::mpsc, time::Duration};

use store::StoreError;
use store_embedded::{Durability, Options, disk::SimulatedDisk};
use support::{
    Opened, TestClock, block_on, chunk_name,
    holding::{Call, HoldingDisk, State},
    index_directory, options, pattern,
};

fn relaxed() -> Options {
    Options { durability: Durability::Relaxed, ..options() }
}

/// Every commit comes before the time is over in which the log would have synced by itself.
#[test]
fn a_steady_load_is_synced_every_tenth_of_a_second() {
    let (power, index, clock) = (SimulatedDisk::new(), index_directory(), TestClock::at(1_000_000));
    let opened = Opened::with(power.clone(), index.path(), clock.clone(), relaxed()).unwrap();
    block_on(async {
        for number in 0..20 {
            opened.put(&format!("{number}"), "value").await.unwrap();
            opened.put_chunk(&format!("{number}"), pattern(number, 1_000)).await.unwrap();
            opened.put_chunk(&format!("large{number}"), pattern(number, 70_000)).await.unwrap();
            clock.pass(30);
        }
    });
    for seed in 0..20 {
        let index = support::copy_index(index.path());
        let after = Opened::on(SimulatedDisk::from_image(power.crash(seed)), index.path()).unwrap();
        let found = block_on(after.visible()).unwrap();
        for number in 0..12 {
            for name in [format!("{number}"), chunk_name(&format!("{number}")), chunk_name(&format!("large{number}"))] {
                assert!(found.contains_key(&name), "seed {seed}: {name} was written 200 milliseconds ago");
            }
        }
        block_on(after.must_be_clean(&format!("seed {seed}")));
    }
}

#[test]
fn a_checkpoint_hears_of_its_sync_while_commits_go_on() {
    let (power, index) = (SimulatedDisk::new(), index_directory());
    let disk = HoldingDisk::new(power);
    let opened = Opened::with(disk.clone(), index.path(), TestClock::default(), relaxed()).unwrap();
    let sync = disk.gate(Call::SyncLog);
    block_on(opened.put("first", "value")).unwrap();
    sync.set(State::Armed);
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        let opened = &opened;
        scope.spawn(move || sender.send(opened.engine.checkpoint()).unwrap());
        sync.wait_until_holding();
        let writer = scope.spawn(|| block_on(opened.put("second", "value")));
        // It waits behind the sync; the next sync is held too.
        while block_on(opened.sequenced("second")).unwrap().is_none() {
            std::thread::yield_now();
        }
        sync.set(State::Armed);
        let checkpointed = receiver.recv_timeout(Duration::from_secs(20));
        sync.set(State::Open);
        checkpointed.expect("what it waits for is synced").unwrap();
        writer.join().unwrap().unwrap();
    });
}

#[test]
fn a_close_that_cannot_sync_says_so() {
    let (power, index) = (SimulatedDisk::new(), index_directory());
    let disk = HoldingDisk::new(power.clone());
    let opened = Opened::with(disk, index.path(), TestClock::default(), relaxed()).unwrap();
    power.fail_syncs(Some("log/"));
    block_on(opened.put("row", "value")).unwrap();
    assert!(matches!(opened.close(), Err(StoreError::Poisoned(_))));
}
