//! Damage and failure, one promise per test: torn and flipped logs, failed syncs, broken devices, foreign and missing
//! files.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "helpers of tests fail by panicking")]

mod support;

use bytes::Bytes;
use store::{Direction, Read, StoreError, conformance::support::everything};
use store_embedded::{
    EmbeddedEngine, OpenError, Options,
    disk::{Disk, Fault, FaultyDisk, SimulatedDisk},
};
use support::{Opened, Visible, block_on, chunk_name, index_directory, options, parse_link, pattern};
use tempfile::TempDir;

/// A store with two rows, a spilled row, a small and a large chunk.
async fn fill(opened: &Opened) {
    opened.put("row", "value").await.unwrap();
    opened.put("spilled", pattern(1, 30_000)).await.unwrap();
    opened.put_chunk("small", pattern(2, 5_000)).await.unwrap();
    opened.put_chunk("large", pattern(3, 150_000)).await.unwrap();
    opened.put("last", "value").await.unwrap();
}

/// It was on its way when a sync failed: it may have happened.
fn expect_unknown(outcome: Result<(), StoreError>) {
    assert!(matches!(outcome, Err(StoreError::OutcomeUnknown(_))), "{outcome:?}");
}

/// It came after a sync failed, or its chunk could not be synced: it has not happened.
fn expect_poisoned(outcome: Result<(), StoreError>) {
    assert!(matches!(outcome, Err(StoreError::Poisoned(_))), "{outcome:?}");
}

fn corrupt_message(outcome: Result<Opened, OpenError>) -> String {
    match outcome {
        Err(OpenError::Store(StoreError::Corrupt(what))) => what.to_string(),
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("it opened"),
    }
}

/// Every power failure from here on, seed by seed.
fn after_power_failures(disk: &SimulatedDisk, index: &TempDir, seeds: u64, look: impl Fn(u64, Opened)) {
    for seed in 0..seeds {
        let index = support::copy_index(index.path());
        let opened = Opened::on(SimulatedDisk::from_image(disk.crash(seed)), index.path());
        look(seed, opened.unwrap_or_else(|error| panic!("seed {seed}: {error}")));
    }
}

#[test]
fn a_torn_last_record_opens_and_loses_only_unacknowledged_work() {
    let (disk, index) = (SimulatedDisk::new(), index_directory());
    let opened = Opened::on(disk.clone(), index.path()).unwrap();
    block_on(async {
        for row in 0..5 {
            opened.put(&format!("{row}"), pattern(row, 2_000)).await.unwrap();
        }
        // The write of the frame happens, its sync does not.
        disk.fail_power_at(disk.calls() + 1);
        expect_unknown(opened.put("torn", pattern(9, 2_000)).await);
    });
    let (mut whole, mut lost) = (0, 0);
    for seed in 0..80 {
        let opened = Opened::on(SimulatedDisk::from_image(disk.crash(seed)), index.path()).unwrap();
        let mut found = block_on(opened.visible()).unwrap();
        match found.remove("torn") {
            Some(value) => {
                assert_eq!(*value, *pattern(9, 2_000), "seed {seed}");
                whole += 1;
            }
            None => lost += 1,
        }
        assert_eq!(found.len(), 5, "seed {seed}");
        block_on(opened.must_be_clean(&format!("seed {seed}")));
    }
    assert!(whole > 0 && lost > 0, "{whole} whole, {lost} lost");
}

const FIRST_SEGMENT: &str = "log/0000000000000001.log";

fn read_file(disk: &SimulatedDisk, name: &str) -> Vec<u8> {
    let file = disk.open(name).unwrap();
    let mut bytes = vec![0; usize::try_from(file.length().unwrap()).unwrap()];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

/// Where the frames of a segment begin.
fn frames(segment: &[u8]) -> Vec<usize> {
    let sectors = segment.chunks(512).enumerate();
    sectors.filter(|(_, sector)| sector.starts_with(b"LZFRAME1")).map(|(sector, _)| sector * 512).collect()
}

/// Flips a bit of many bytes, one at a time, and opens: the store is whole, or refuses and names the damaged frame.
/// What may be missing is told by the frame. Returns how many were refused.
fn flip_everywhere(
    disk: &SimulatedDisk,
    index: &TempDir,
    name: &str,
    whole: &Visible,
    spared: impl Fn(usize) -> bool,
) -> usize {
    let starts = frames(&read_file(disk, name));
    let end = starts.last().unwrap() + 4096;
    let mut refused = 0;
    // Every byte of the headers and of the first sectors, a sample of what follows.
    let offsets = (0..end).filter(|offset| offset % 512 < 96 || offset % 7 == 0);
    for offset in offsets {
        let damaged = SimulatedDisk::from_image(disk.crash(0));
        damaged.flip_bit(name, offset, u8::try_from(offset % 8).unwrap());
        let frame = starts.iter().rposition(|start| *start <= offset).unwrap();
        match Opened::on(damaged, index.path()) {
            Ok(opened) => {
                let found = block_on(opened.visible()).unwrap();
                assert!(found == *whole || spared(frame), "byte {offset} of frame {frame} was skipped");
            }
            Err(OpenError::Store(StoreError::Corrupt(what))) => {
                assert!(what.contains(name), "{what}");
                assert!(what.contains(&format!("at byte {}:", starts[frame])), "byte {offset}: {what}");
                refused += 1;
            }
            Err(error) => panic!("byte {offset}: {error}"),
        }
    }
    refused
}

#[test]
fn a_flipped_byte_in_synced_log_is_refused_and_located() {
    let (disk, index) = (SimulatedDisk::new(), index_directory());
    let opened = Opened::on(disk.clone(), index.path()).unwrap();
    block_on(async {
        for row in 0..3 {
            opened.put(&format!("{row}"), pattern(row, 700)).await.unwrap();
        }
        opened.put_chunk("inline", pattern(7, 600)).await.unwrap();
    });
    let whole = block_on(opened.visible()).unwrap();
    opened.abandon();
    let last = frames(&read_file(&disk, FIRST_SEGMENT)).len() - 1;
    // Nothing stands behind the last frame to prove that it was synced.
    let refused = flip_everywhere(&disk, &index, FIRST_SEGMENT, &whole, |frame| frame == last);
    assert!(refused > 500, "{refused} flips were refused");
}

#[test]
fn a_flipped_byte_behind_the_first_open_after_a_crash_is_refused() {
    let (disk, index) = (SimulatedDisk::new(), index_directory());
    let opened = Opened::on(disk.clone(), index.path()).unwrap();
    block_on(async {
        for row in 0..2 {
            opened.put(&format!("{row}"), pattern(row, 300)).await.unwrap();
        }
    });
    let whole = block_on(opened.visible()).unwrap();
    opened.abandon();
    // Opening writes a frame: from then on even the last commit of the run before is proven.
    Opened::on(disk.clone(), index.path()).unwrap().abandon();
    let starts = frames(&read_file(&disk, FIRST_SEGMENT));
    let mut refused = 0;
    for offset in *starts.last().unwrap()..starts.last().unwrap() + 400 {
        let damaged = SimulatedDisk::from_image(disk.crash(0));
        damaged.flip_bit(FIRST_SEGMENT, offset, 3);
        match Opened::on(damaged, index.path()) {
            Ok(opened) => assert_eq!(block_on(opened.visible()).unwrap(), whole, "byte {offset}"),
            Err(error) => {
                refused += 1;
                // Seen from the frame that misses it: the one that is expected next.
                assert!(error.to_string().contains("was synced but is not readable"), "{error}");
                assert!(error.to_string().contains("log/"), "{error}");
            }
        }
    }
    assert!(refused > 350, "{refused}");
}

#[test]
fn after_a_clean_close_every_flip_is_refused_or_harmless() {
    let (disk, index) = (SimulatedDisk::new(), index_directory());
    let opened = Opened::on(disk.clone(), index.path()).unwrap();
    block_on(fill(&opened));
    let whole = block_on(opened.visible()).unwrap();
    opened.close().unwrap();
    let names = disk.list("log").unwrap();
    for name in names {
        flip_everywhere(&disk, &index, &format!("log/{name}"), &whole, |_| false);
    }
}

#[test]
fn a_failed_sync_of_the_log_poisons_and_shows_nothing_unsynced() {
    let (disk, index) = (SimulatedDisk::new(), index_directory());
    let opened = Opened::on(disk.clone(), index.path()).unwrap();
    block_on(fill(&opened));
    let before = block_on(opened.visible()).unwrap();
    disk.fail_syncs(Some("log/"));
    block_on(async {
        expect_unknown(opened.put("unsynced", "value").await);
        disk.fail_syncs(None);
        expect_poisoned(opened.put("later", "value").await);
        expect_poisoned(opened.put_chunk("later", vec![1; 100]).await);
        assert_eq!(opened.visible().await.unwrap(), before);
    });
    assert!(opened.engine.checkpoint().is_err(), "what is not in the log must not get into tables");
    let _poisoned = opened.close();

    // The frame is in the page cache and was never on the medium. The next run finds it; then it must stay.
    let opened = Opened::on(disk.clone(), index.path()).unwrap();
    let found = block_on(opened.visible()).unwrap();
    let mut without = found.clone();
    without.remove("unsynced");
    assert_eq!(without, before);
    block_on(opened.must_be_clean("after the failed sync"));
    after_power_failures(&disk, &index, 20, |seed, opened| {
        assert_eq!(block_on(opened.visible()).unwrap(), found, "seed {seed}");
    });
}

#[test]
fn a_failed_sync_of_an_extent_poisons_and_loses_nothing() {
    for (name, length) in [("small", 5_000), ("large", 100_000)] {
        let (disk, index) = (SimulatedDisk::new(), index_directory());
        let opened = Opened::on(disk.clone(), index.path()).unwrap();
        let before = block_on(async {
            fill(&opened).await;
            disk.fail_syncs(Some("extents/"));
            let outcome = opened.put_chunk("new", pattern(9, length)).await;
            let before = opened.visible().await.unwrap();
            if name == "small" {
                // It stands inline in the log; only the checkpoint syncs its extent.
                outcome.unwrap();
                assert!(opened.engine.checkpoint().is_err());
            } else {
                expect_poisoned(outcome);
            }
            expect_poisoned(opened.put("later", "value").await);
            assert_eq!(opened.visible().await.unwrap(), before);
            disk.fail_syncs(None);
            assert!(opened.engine.checkpoint().is_err(), "a second try must not succeed");
            before
        });
        after_power_failures(&disk, &index, 5, |seed, opened| {
            assert_eq!(block_on(opened.visible()).unwrap(), before, "{name} seed {seed}");
            block_on(opened.must_be_clean(name));
        });
    }
}

#[test]
fn a_failed_sync_of_the_extents_directory_poisons() {
    let (disk, index) = (SimulatedDisk::new(), index_directory());
    let faulty = FaultyDisk::new(disk.clone());
    let opened = Opened::on(faulty.clone(), index.path()).unwrap();
    let before = block_on(async {
        opened.put_chunk("small", pattern(1, 1_000)).await.unwrap();
        faulty.inject(Fault::FailedSync, "extents", 0);
        expect_poisoned(opened.put_chunk("large", pattern(2, 100_000)).await);
        assert_eq!(faulty.hits(), 1);
        faulty.heal();
        expect_poisoned(opened.put_chunk("large", pattern(2, 100_000)).await);
        opened.visible().await.unwrap()
    });
    assert_eq!(before.len(), 1);
    after_power_failures(&disk, &index, 5, |seed, opened| {
        assert_eq!(block_on(opened.visible()).unwrap(), before, "seed {seed}");
        block_on(opened.must_be_clean(&format!("seed {seed}")));
    });
}

#[test]
fn a_process_that_dies_before_its_sync_leaves_nothing_that_a_power_failure_can_break() {
    let (disk, index) = (SimulatedDisk::new(), index_directory());
    let opened = Opened::on(disk.clone(), index.path()).unwrap();
    block_on(async {
        opened.put("before", "value").await.unwrap();
        disk.fail_power_at(disk.calls() + 1);
        expect_unknown(opened.put("unsynced", pattern(1, 3_000)).await);
    });
    opened.abandon();
    disk.restart_process();
    let opened = Opened::on(disk.clone(), index.path()).unwrap();
    let found = block_on(opened.visible()).unwrap();
    assert!(found.contains_key("unsynced"), "the page cache has it");
    after_power_failures(&disk, &index, 20, |seed, opened| {
        assert_eq!(block_on(opened.visible()).unwrap(), found, "seed {seed}");
    });
}

#[test]
fn a_device_error_on_the_log_poisons_and_recovers() {
    for fault in [Fault::Error, Fault::ShortWrite, Fault::FailedSync] {
        let (disk, index) = (SimulatedDisk::new(), index_directory());
        let faulty = FaultyDisk::new(disk.clone());
        let opened = Opened::on(faulty.clone(), index.path()).unwrap();
        block_on(fill(&opened));
        let before = block_on(opened.visible()).unwrap();
        faulty.inject(fault, "log/", 0);
        block_on(async {
            expect_unknown(opened.put("failed", pattern(1, 3_000)).await);
            assert_eq!(opened.visible().await.unwrap(), before, "{fault:?}");
        });
        let _poisoned = opened.close();
        faulty.heal();
        let opened = Opened::on(faulty, index.path()).unwrap();
        block_on(async {
            let mut found = opened.visible().await.unwrap();
            assert!(found.remove("failed").is_none_or(|value| *value == *pattern(1, 3_000)), "{fault:?}");
            assert_eq!(found, before, "{fault:?}");
            opened.must_be_clean(&format!("{fault:?}")).await;
            opened.put("next", "value").await.unwrap();
        });
    }
}

#[test]
fn a_device_error_while_a_segment_is_made_poisons_instead_of_waiting() {
    for after in [0, 1] {
        let (disk, index) = (SimulatedDisk::new(), index_directory());
        let faulty = FaultyDisk::new(disk);
        let options = Options { log_segment_bytes: 4096, ..options() };
        let opened = Opened::with(faulty.clone(), index.path(), support::TestClock::default(), options).unwrap();
        block_on(async {
            opened.put("before", pattern(1, 2_000)).await.unwrap();
            // The frame does not fit any more: the file is created, then filled.
            faulty.inject(Fault::Error, "log/", after);
            expect_unknown(opened.put("next", pattern(2, 3_000)).await);
        });
        faulty.heal();
        opened.abandon();
        let opened = Opened::on(faulty, index.path()).unwrap();
        block_on(async {
            assert!(opened.visible().await.unwrap().contains_key("before"));
            opened.put("next", pattern(2, 3_000)).await.unwrap();
        });
    }
}

/// Small chunks have their place in the order of commits when they are written: there is no way back.
#[test]
fn a_device_error_under_a_small_chunk_poisons_and_recovers() {
    for fault in [Fault::Error, Fault::ShortWrite] {
        let (disk, index) = (SimulatedDisk::new(), index_directory());
        let faulty = FaultyDisk::new(disk);
        let opened = Opened::on(faulty.clone(), index.path()).unwrap();
        block_on(fill(&opened));
        let before = block_on(opened.visible()).unwrap();
        faulty.inject(fault, "extents/", 0);
        block_on(async {
            expect_unknown(opened.put_chunk("failed", pattern(5, 500)).await);
            assert_eq!(opened.visible().await.unwrap(), before, "{fault:?}");
        });
        let _poisoned = opened.close();
        faulty.heal();
        let opened = Opened::on(faulty, index.path()).unwrap();
        block_on(async {
            assert_eq!(opened.visible().await.unwrap(), before, "{fault:?}");
            opened.put_chunk("next", pattern(6, 500)).await.unwrap();
            opened.must_be_clean(&format!("{fault:?}")).await;
        });
    }
}

#[test]
fn a_device_error_on_an_extent_fails_the_chunk_and_nothing_else() {
    for (fault, length) in [(Fault::Error, 100_000), (Fault::ShortWrite, 100_000)] {
        let (disk, index) = (SimulatedDisk::new(), index_directory());
        let faulty = FaultyDisk::new(disk.clone());
        let opened = Opened::on(faulty.clone(), index.path()).unwrap();
        block_on(async {
            fill(&opened).await;
            faulty.inject(fault, "extents/", 0);
            let failed = opened.put_chunk("chunk", pattern(5, length)).await;
            assert!(matches!(failed, Err(StoreError::Io(_))), "{fault:?} {length}: {failed:?}");
            opened.put("row beside it", "value").await.unwrap();
            faulty.heal();
            opened.put_chunk("chunk", pattern(6, length)).await.unwrap();
            opened.engine.checkpoint().unwrap();
            opened.must_be_clean(&format!("{fault:?} {length}")).await;
        });
        let before = block_on(opened.visible()).unwrap();
        after_power_failures(&disk, &index, 5, |seed, opened| {
            assert_eq!(block_on(opened.visible()).unwrap(), before, "{fault:?} {length} seed {seed}");
            block_on(opened.must_be_clean(&format!("{fault:?} {length} seed {seed}")));
        });
    }
}

#[test]
fn a_flipped_bit_of_a_chunk_is_reported_and_never_returned() {
    let (disk, index) = (SimulatedDisk::new(), index_directory());
    let faulty = FaultyDisk::new(disk);
    let opened = Opened::on(faulty.clone(), index.path()).unwrap();
    block_on(async {
        fill(&opened).await;
        let whole = opened.visible().await.unwrap();
        let rows = opened.store.snapshot().scan(everything(), Direction::Ascending).take(1).await.unwrap();
        let (_, chunk) = parse_link(&rows[0].value);
        faulty.inject(Fault::FlippedBit, "extents/", 0);
        let source = opened.store.open_chunk(chunk).await.unwrap();
        let read = source.read(0, 100).await;
        assert!(matches!(&read, Err(StoreError::Corrupt(what)) if what.contains("extents/")), "{read:?}");
        // A spilled value is a chunk too.
        let spilled = opened.store.snapshot().get(&store::conformance::support::key("spilled")).await;
        assert!(matches!(&spilled, Err(StoreError::Corrupt(what)) if what.contains("extents/")), "{spilled:?}");
        let report = opened.engine.check(|_| {}).await.unwrap();
        assert_eq!(report.problems.len(), 3, "{:?}", report.problems);
        faulty.heal();
        assert_eq!(opened.visible().await.unwrap(), whole);
    });
}

#[test]
fn damage_of_an_extent_at_rest_is_found_by_the_check() {
    let (disk, index) = (SimulatedDisk::new(), index_directory());
    let opened = Opened::on(disk.clone(), index.path()).unwrap();
    block_on(fill(&opened));
    opened.close().unwrap();
    for name in disk.list("extents").unwrap() {
        let damaged = SimulatedDisk::from_image(disk.crash(0));
        damaged.flip_bit(&format!("extents/{name}"), 5_000, 0);
        let opened = Opened::on(damaged, index.path()).unwrap();
        let report = block_on(opened.engine.check(|_| {})).unwrap();
        assert_eq!(report.problems.len(), 1, "{:?}", report.problems);
        assert!(report.problems[0].contains(&name), "{:?}", report.problems);
    }
}

/// Writes another text into VERSION; returns the one that was there.
fn write_version(disk: &SimulatedDisk, text: &str) -> String {
    let file = disk.open("VERSION").unwrap();
    let mut before = vec![0; usize::try_from(file.length().unwrap()).unwrap()];
    file.read_at(&mut before, 0).unwrap();
    file.set_length(0).unwrap();
    file.write_at(text.as_bytes(), 0).unwrap();
    String::from_utf8(before).unwrap()
}

#[test]
fn a_newer_format_is_refused_with_a_clear_message() {
    let (disk, index) = (SimulatedDisk::new(), index_directory());
    Opened::on(disk.clone(), index.path()).unwrap().close().unwrap();
    let before = write_version(&disk, "lazuli 3\nwhatever comes then\n");
    let calls = disk.calls();
    let Err(error) = Opened::on(disk.clone(), index.path()) else { panic!("it opened") };
    assert!(matches!(error, OpenError::Newer { found: 3 }), "{error:?}");
    assert!(error.to_string().contains("format 3"), "{error}");
    assert_eq!(disk.calls(), calls, "nothing was touched");
    write_version(&disk, &before);
    Opened::on(disk, index.path()).unwrap();
}

#[test]
fn a_format_from_before_the_first_release_is_refused_and_says_what_to_do() {
    let (disk, index) = (SimulatedDisk::new(), index_directory());
    Opened::on(disk.clone(), index.path()).unwrap().close().unwrap();
    let before = write_version(&disk, "lazuli 1\nsalt 0123456789abcdef\n");
    let calls = disk.calls();
    let Err(error) = Opened::on(disk.clone(), index.path()) else { panic!("it opened") };
    assert!(matches!(error, OpenError::Older { found: 1 }), "{error:?}");
    assert_eq!(
        error.to_string(),
        "the data directory has format 1, and this build reads formats from 2 on: copy the data out with the build that \
         wrote it, for example with azcopy, and into a new data directory"
    );
    assert_eq!(disk.calls(), calls, "nothing was touched");
    write_version(&disk, &before);
    Opened::on(disk, index.path()).unwrap();
}

#[test]
fn a_version_that_is_none_is_refused() {
    for text in ["", "lazuli", "lazuli one\n", "lazuli 0\n", "lazuli -1\n", "something else\n", "lazuli 2\n", "\u{0}"] {
        let (disk, index) = (SimulatedDisk::new(), index_directory());
        Opened::on(disk.clone(), index.path()).unwrap().close().unwrap();
        write_version(&disk, text);
        let Err(error) = Opened::on(disk, index.path()) else { panic!("{text:?} opened") };
        assert!(matches!(error, OpenError::NotOurs(_)), "{text:?}: {error:?}");
    }
}

#[test]
fn a_data_directory_is_locked_while_it_is_open() {
    let directory = tempfile::tempdir().unwrap();
    let options = || Options { reserve_bytes: 0, ..Options::default() };
    let first = EmbeddedEngine::open(directory.path(), options()).unwrap();
    let second = EmbeddedEngine::open(directory.path(), options());
    assert!(matches!(second, Err(OpenError::Locked(_))));
    first.close().unwrap();
    assert!(EmbeddedEngine::open(directory.path(), options()).is_err(), "closed, but still held");
    drop(first);
    EmbeddedEngine::open(directory.path(), options()).unwrap();
}

#[test]
fn a_missing_log_is_reported() {
    for clean in [true, false] {
        let (disk, index) = (SimulatedDisk::new(), index_directory());
        let opened = Opened::on(disk.clone(), index.path()).unwrap();
        block_on(fill(&opened));
        if clean {
            opened.close().unwrap();
        } else {
            opened.abandon();
        }
        for name in disk.list("log").unwrap() {
            disk.remove(&format!("log/{name}")).unwrap();
        }
        let message = corrupt_message(Opened::on(disk, index.path()));
        assert!(message.contains("log"), "{message}");
    }
}

#[test]
fn a_missing_segment_in_the_middle_is_reported() {
    let (disk, index) = (SimulatedDisk::new(), index_directory());
    let opened = Opened::on(disk.clone(), index.path()).unwrap();
    block_on(async {
        for row in 0..20 {
            opened.put(&format!("{row}"), pattern(row, 15_000)).await.unwrap();
        }
    });
    opened.abandon();
    let mut names = disk.list("log").unwrap();
    names.sort();
    assert!(names.len() >= 4, "{names:?}");
    for name in &names[..names.len() - 1] {
        let damaged = SimulatedDisk::from_image(disk.crash(0));
        damaged.remove(&format!("log/{name}")).unwrap();
        let message = corrupt_message(Opened::on(damaged, index.path()));
        assert!(message.contains("log/") && message.contains("at byte"), "{message}");
    }
}

#[test]
fn a_missing_extent_is_reported() {
    let (disk, index) = (SimulatedDisk::new(), index_directory());
    let opened = Opened::on(disk.clone(), index.path()).unwrap();
    block_on(fill(&opened));
    opened.close().unwrap();
    for name in disk.list("extents").unwrap() {
        let damaged = SimulatedDisk::from_image(disk.crash(0));
        damaged.remove(&format!("extents/{name}")).unwrap();
        let opened = Opened::on(damaged, index.path()).unwrap();
        let report = block_on(opened.engine.check(|_| {})).unwrap();
        let id = name.trim_start_matches('0').trim_end_matches(".ext");
        assert!(report.problems.iter().any(|problem| problem.contains(id)), "{name}: {:?}", report.problems);
        assert!(block_on(opened.visible()).is_err(), "a chunk without its extent was read");
    }
}

#[test]
fn a_missing_index_is_reported_once_the_log_before_it_is_gone() {
    let (disk, index) = (SimulatedDisk::new(), index_directory());
    let opened = Opened::on(disk.clone(), index.path()).unwrap();
    block_on(fill(&opened));
    opened.close().unwrap();
    Opened::on(disk.clone(), index.path()).unwrap().close().unwrap();
    let empty = index_directory();
    let message = corrupt_message(Opened::on(disk, empty.path()));
    assert!(message.contains("log"), "{message}");
}

#[test]
fn an_extent_whose_name_was_lost_is_made_again_from_the_log() {
    let (disk, index) = (SimulatedDisk::new(), index_directory());
    let opened = Opened::on(disk.clone(), index.path()).unwrap();
    block_on(async {
        for number in 0..5 {
            opened.put_chunk(&format!("{number}"), pattern(number, 1_000)).await.unwrap();
        }
        opened.put("spilled", pattern(9, 20_000)).await.unwrap();
    });
    let whole = block_on(opened.visible()).unwrap();
    let mut lost = 0;
    after_power_failures(&disk, &index, 30, |seed, opened| {
        assert_eq!(block_on(opened.visible()).unwrap(), whole, "seed {seed}");
        block_on(opened.must_be_clean(&format!("seed {seed}")));
    });
    for seed in 0..30 {
        lost += u32::from(SimulatedDisk::from_image(disk.crash(seed)).list("extents").unwrap().is_empty());
    }
    assert!(lost > 0, "no seed lost the name");
}

/// A process that died before its first checkpoint left names of extents that no sync has reached: the next one finds
/// them like any other, and must not let go of the log before they are safe.
#[test]
fn the_extents_that_a_dead_process_left_are_durable_before_the_log_lets_go_of_them() {
    let (disk, index) = (SimulatedDisk::new(), index_directory());
    let opened = Opened::on(disk.clone(), index.path()).unwrap();
    block_on(async {
        opened.put_chunk("small", pattern(1, 1_000)).await.unwrap();
        opened.put("spilled", pattern(2, 20_000)).await.unwrap();
    });
    let whole = block_on(opened.visible()).unwrap();
    opened.abandon();
    let opened = Opened::on(disk.clone(), index.path()).unwrap();
    opened.engine.checkpoint().unwrap();
    after_power_failures(&disk, &index, 20, |seed, opened| {
        assert_eq!(block_on(opened.visible()).unwrap(), whole, "seed {seed}");
        block_on(opened.must_be_clean(&format!("seed {seed}")));
    });
}

#[test]
fn a_chunk_whose_extent_was_deleted_before_the_crash_stays_dead() {
    let (disk, index) = (SimulatedDisk::new(), index_directory());
    let opened = Opened::on(disk.clone(), index.path()).unwrap();
    block_on(async {
        opened.put_chunk("gone", pattern(1, 1_000)).await.unwrap();
        opened.put_chunk("gone too", pattern(2, 100_000)).await.unwrap();
        opened.release("gone").await.unwrap();
        opened.release("gone too").await.unwrap();
        opened.sweep().await.unwrap();
        assert_eq!(opened.engine.delete_dead_extents().unwrap(), 2);
    });
    after_power_failures(&disk, &index, 10, |seed, opened| {
        assert_eq!(block_on(opened.visible()).unwrap(), Visible::new(), "seed {seed}");
        block_on(opened.must_be_clean(&format!("seed {seed}")));
        assert_eq!(opened.engine.metrics().extents, 0, "seed {seed}");
    });
}

#[test]
fn chunks_are_whole_bytes_of_their_own_name() {
    // The helper that the other tests rest on: two chunks under one name never mix.
    let (disk, index) = (SimulatedDisk::new(), index_directory());
    let opened = Opened::on(disk, index.path()).unwrap();
    block_on(async {
        opened.put_chunk("one", pattern(1, 1_000)).await.unwrap();
        opened.put_chunk("one", pattern(2, 70_000)).await.unwrap();
        let found = opened.visible().await.unwrap();
        assert_eq!(found.get(&chunk_name("one")), Some(&Bytes::from(pattern(2, 70_000))));
        assert_eq!(found.len(), 1);
    });
}
