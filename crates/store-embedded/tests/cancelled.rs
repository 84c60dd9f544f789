//! Callers that go away in the middle: what they began is undone before its place is used again, and keeps nothing.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

mod support;

use std::{
    pin::pin,
    task::{Context, Waker},
};

use bytes::Bytes;
use store::{StoreError, chunk::ChunkWriter};
use store_embedded::disk::{Fault, FaultyDisk, SimulatedDisk};
use support::{
    Opened, TestClock, block_on,
    holding::{Call, Gate, HoldingDisk, State},
    index_directory, options, pattern,
};

/// Begins to write until the disk holds a call and the writer waits for it; then the caller goes away.
fn cancel_at(gate: &Gate, mut writer: Box<dyn ChunkWriter>, bytes: Vec<u8>) {
    gate.set(State::Armed);
    {
        let mut writing = pin!(async { writer.write(Bytes::from(bytes)).await });
        let mut context = Context::from_waker(Waker::noop());
        let mut waits = || assert!(writing.as_mut().poll(&mut context).is_pending(), "nothing was held");
        while !gate.is_holding() {
            waits();
            std::thread::yield_now();
        }
        waits();
    }
    drop(writer);
}

#[test]
fn the_last_write_of_a_chunk_that_was_given_up_never_lands_in_another_one() {
    let (power, index) = (SimulatedDisk::new(), index_directory());
    let disk = HoldingDisk::new(power.clone());
    let opened = Opened::on(disk.clone(), index.path()).unwrap();
    let write = disk.gate(Call::Write);
    cancel_at(write, opened.store.write_chunk(None).unwrap(), pattern(1, 4_000_000));
    block_on(async {
        // Each has an extent to itself: if the one that was given up is free already, one of them gets it.
        let mut writers = Vec::new();
        for number in 0..3 {
            let mut writer = opened.store.write_chunk(None).unwrap();
            writer.write(Bytes::from(pattern(number, 100_000))).await.unwrap();
            writers.push(writer);
        }
        for (number, writer) in writers.into_iter().enumerate() {
            let pending = writer.finish().await.unwrap();
            opened.link(&format!("{number}"), &pending).await.unwrap();
        }
    });
    write.set(State::Open);
    opened.abandon(); // the write is over with the threads that do it
    let opened = Opened::on(power, index.path()).unwrap();
    assert_eq!(block_on(opened.visible()).unwrap().len(), 3);
    block_on(opened.must_be_clean("after the late write"));
}

#[test]
fn an_extent_that_was_made_for_a_caller_who_went_away_is_deleted() {
    let (power, index) = (SimulatedDisk::new(), index_directory());
    let disk = HoldingDisk::new(power);
    let opened = Opened::on(disk.clone(), index.path()).unwrap();
    let directory = disk.gate(Call::SyncDirectory);
    cancel_at(directory, opened.store.write_chunk(None).unwrap(), pattern(1, 100_000));
    assert_eq!(opened.engine.metrics().extents, 1);
    directory.set(State::Open);
    let deleted = (0..100).any(|_| {
        directory.wait_a_little(); // nobody comes: the job that made it ends
        opened.engine.delete_dead_extents().unwrap() == 1
    });
    assert!(deleted, "nobody has it, and it stays");
    assert_eq!(opened.engine.metrics().extents, 0);
}

/// A commit has its place and no room in the log when the store is closed: it is not durable, and nobody says it is.
#[test]
fn a_close_while_the_log_waits_for_room_is_not_a_clean_one() {
    let (power, index) = (SimulatedDisk::new(), index_directory());
    let faulty = FaultyDisk::new(power.clone());
    let opened = Opened::with(faulty.clone(), index.path(), TestClock::default(), options()).unwrap();
    block_on(opened.put("before", "value")).unwrap();
    faulty.inject(Fault::NoSpace, "log/", 0);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| block_on(opened.put("late", "value")));
        while faulty.hits() == 0 {
            std::thread::yield_now();
        }
        let closed = opened.engine.close();
        assert!(matches!(closed, Err(StoreError::Poisoned(_))), "{closed:?}");
        let late = writer.join().unwrap();
        assert!(matches!(late, Err(StoreError::OutcomeUnknown(_))), "{late:?}");
    });
    drop(opened);
    let opened = Opened::on(power, index.path()).unwrap();
    assert_eq!(block_on(opened.visible()).unwrap().len(), 1);
}
