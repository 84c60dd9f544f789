//! A full disk: writes that grow are refused before anything is written, reads and reclaiming go on, and everything
//! recovers when space is freed, without a restart. Nothing is poisoned, nothing acknowledged is lost.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

mod support;

use store::StoreError;
use store_embedded::{
    Options,
    disk::{Fault, FaultyDisk, SimulatedDisk},
};
use support::{Opened, TestClock, block_on, index_directory, options, pattern};
use tempfile::TempDir;

struct Subject {
    disk: SimulatedDisk,
    faulty: FaultyDisk,
    index: TempDir,
    clock: TestClock,
    opened: Opened,
}

fn subject(reserve_bytes: u64) -> Subject {
    let (disk, index) = (SimulatedDisk::new(), index_directory());
    let faulty = FaultyDisk::new(disk.clone());
    let clock = TestClock::at(1_000_000);
    let options = Options { reserve_bytes, log_segment_bytes: 32 * 1024, ..options() };
    let opened = Opened::with(faulty.clone(), index.path(), clock.clone(), options).unwrap();
    Subject { disk, faulty, index, clock, opened }
}

impl Subject {
    /// What is visible now is there after a power failure too, and clean.
    fn must_survive(self) {
        let before = block_on(self.opened.visible()).unwrap();
        for seed in 0..5 {
            let index = support::copy_index(self.index.path());
            let opened = Opened::on(SimulatedDisk::from_image(self.disk.crash(seed)), index.path()).unwrap();
            assert_eq!(block_on(opened.visible()).unwrap(), before, "seed {seed}");
            block_on(opened.must_be_clean(&format!("seed {seed}")));
        }
    }
}

fn expect_full(outcome: Result<(), StoreError>) {
    assert!(matches!(outcome, Err(StoreError::Full { .. })), "{outcome:?}");
}

#[test]
fn below_the_reserve_writes_that_grow_are_refused_and_reclaiming_goes_on() {
    let subject = subject(1 << 20);
    let opened = &subject.opened;
    block_on(async {
        opened.put("row", "value").await.unwrap();
        opened.put_chunk("small", pattern(1, 1_000)).await.unwrap();
        opened.put_chunk("large", pattern(2, 100_000)).await.unwrap();
        let before = opened.visible().await.unwrap();
        let calls = subject.disk.calls();

        subject.faulty.inject(Fault::NoSpace, "", 0);
        subject.clock.pass(1_000);
        expect_full(opened.put("more", "value").await);
        expect_full(opened.put("more", pattern(3, 30_000)).await);
        expect_full(opened.put_chunk("more", pattern(3, 1_000)).await);
        expect_full(opened.put_chunk("more", pattern(3, 100_000)).await);
        assert_eq!(subject.disk.calls(), calls, "something was written");
        assert_eq!(opened.visible().await.unwrap(), before);

        // The log's segment has room left, as it always has when it was made ahead.
        subject.faulty.inject(Fault::NoSpace, "extents/", 0);
        opened.release("large").await.unwrap();
        opened.sweep().await.unwrap();
        assert_eq!(opened.engine.delete_dead_extents().unwrap(), 1);

        subject.faulty.heal();
        opened.put("more", "value").await.unwrap();
        opened.put_chunk("more", pattern(3, 100_000)).await.unwrap();
        opened.must_be_clean("after space was freed").await;
    });
    subject.must_survive();
}

#[test]
fn a_log_without_room_for_its_next_segment_waits_and_goes_on() {
    let subject = subject(0);
    let opened = &subject.opened;
    block_on(opened.put("before", "value")).unwrap();
    subject.faulty.inject(Fault::NoSpace, "log/", 2);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            block_on(async {
                for row in 0..20 {
                    opened.put(&format!("{row}"), pattern(row, 10_000)).await?;
                }
                Ok::<_, StoreError>(())
            })
        });
        while subject.faulty.hits() < 2 {
            std::thread::yield_now();
        }
        assert!(!writer.is_finished(), "it was told that something is durable for which there is no room");
        let during = block_on(opened.visible()).unwrap();
        assert!(during.contains_key("before"), "reads go on");
        assert!(during.len() < 20);
        subject.faulty.heal();
        writer.join().unwrap().unwrap();
    });
    assert_eq!(block_on(opened.visible()).unwrap().len(), 21);
    subject.must_survive();
}

#[test]
fn a_small_chunk_without_room_in_its_extent_is_kept_by_the_log_and_deletes_go_on() {
    let faults = [Fault::NoSpace, Fault::NoQuota];
    for (fault, survives_there) in faults.into_iter().flat_map(|fault| [(fault, true), (fault, false)]) {
        let subject = subject(0);
        let opened = &subject.opened;
        block_on(async {
            opened.put_chunk("before", pattern(1, 1_000)).await.unwrap();
            opened.put("row", "value").await.unwrap();
            subject.faulty.inject(fault, "extents/", 0);
            opened.put_chunk("chunk", pattern(2, 1_000)).await.unwrap();
            assert!(subject.faulty.hits() > 0, "there was no room");
            opened.put_all(&[("row", None)]).await.unwrap();
            let found = opened.visible().await.unwrap();
            assert_eq!(found.len(), 2);
            expect_full(opened.engine.checkpoint());
            assert_eq!(opened.visible().await.unwrap(), found, "what the log carries is not let go");
        });
        if !survives_there {
            subject.faulty.heal();
            block_on(async {
                opened.engine.checkpoint().unwrap();
                opened.must_be_clean("after there was room").await;
            });
        }
        subject.must_survive();
    }
}

#[test]
fn an_extent_without_room_refuses_its_chunk_and_nothing_else() {
    let faults = [Fault::NoSpace, Fault::NoQuota];
    for (fault, length) in faults.into_iter().flat_map(|fault| [(fault, 100_000), (fault, 1_500_000)]) {
        for after in 0..3 {
            let subject = subject(0);
            let opened = &subject.opened;
            block_on(async {
                opened.put_chunk("before", pattern(1, length)).await.unwrap();
                subject.faulty.inject(fault, "extents/", after);
                let mut refused = 0;
                for number in 0..4 {
                    match opened.put_chunk(&format!("{number}"), pattern(number, length)).await {
                        Ok(()) => {}
                        Err(StoreError::Full { .. }) => refused += 1,
                        Err(error) => panic!("{length} {after}: {error}"),
                    }
                }
                assert!(refused > 0, "{length} {after}");
                opened.put("row beside it", "value").await.unwrap();
                subject.faulty.heal();
                opened.put_chunk("after", pattern(3, length)).await.unwrap();
                opened.engine.checkpoint().unwrap();
                opened.must_be_clean(&format!("{length} {after}")).await;
            });
            subject.must_survive();
        }
    }
}

#[test]
fn a_store_does_not_open_on_a_full_disk_and_loses_nothing_by_it() {
    let Subject { disk, faulty, index, opened, .. } = subject(0);
    block_on(async {
        opened.put("row", "value").await.unwrap();
        opened.put_chunk("chunk", pattern(1, 5_000)).await.unwrap();
    });
    let before = block_on(opened.visible()).unwrap();
    opened.abandon();
    for after in 0..6 {
        faulty.inject(Fault::NoSpace, "", after);
        assert!(Opened::on(faulty.clone(), index.path()).is_err() || after > 2, "{after}");
    }
    faulty.heal();
    let opened = Opened::on(SimulatedDisk::from_image(disk.crash(1)), index.path()).unwrap();
    assert_eq!(block_on(opened.visible()).unwrap(), before);
    block_on(opened.must_be_clean("after the full disk"));
}

const MIB: u64 = 1024 * 1024;

/// Fills a disk to its reserve, with chunks of 100,000 bytes. Returns how many.
async fn fill(opened: &Opened) -> u64 {
    for number in 0.. {
        match opened.put_chunk(&format!("{number}"), pattern(number, 100_000)).await {
            Ok(()) => {}
            Err(StoreError::Full { reserve_bytes, .. }) => {
                assert_eq!(reserve_bytes, 60 * MIB, "the reserve is named");
                return number;
            }
            Err(error) => panic!("{error}"),
        }
    }
    0
}

#[test]
fn a_full_disk_recovers_when_users_delete_a_part_of_every_extent() {
    // A third is dead, so the usual rule leaves the extent alone; then a little more, a page at a time.
    for (kept, is_worth) in [(3, true), (50, true), (u64::MAX, false)] {
        let subject = subject(60 * MIB);
        subject.disk.set_capacity(100 * MIB);
        let opened = &subject.opened;
        block_on(async {
            let count = fill(opened).await;
            assert!(count > 300, "{count}");
            assert!(opened.engine.metrics().full);
            for number in (0..count).filter(|number| number % kept == 0 && kept != u64::MAX) {
                opened.release(&format!("{number}")).await.unwrap();
            }
            opened.sweep().await.unwrap();
            let before = opened.engine.metrics();
            assert!(before.full, "what was deleted is inside of an extent");
            assert_eq!(before.reserve_bytes, 60 * MIB);
            assert!(opened.engine.wants_collection());
            let mut steps = 0;
            while opened.engine.collect().await.unwrap().more {
                steps += 1;
                assert!(steps < 100, "it moves the same chunks for ever");
            }
            opened.engine.delete_dead_extents().unwrap();
            subject.clock.pass(1_000);
            let after = opened.engine.metrics();
            if is_worth {
                assert!(after.available_bytes > before.available_bytes, "{kept}: {after:?}");
                assert_eq!(after.live_chunk_bytes, before.live_chunk_bytes);
            } else {
                assert_eq!(steps, 0, "there is nothing to gain but padding");
            }
            if kept == 3 {
                assert!(!after.full, "{after:?}");
                opened.put_chunk("more", pattern(1, 100_000)).await.unwrap();
            }
            opened.must_be_clean(&format!("{kept}")).await;
        });
        subject.must_survive();
    }
}
