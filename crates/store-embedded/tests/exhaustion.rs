//! A system without descriptors: whoever needs a file waits for one, nothing is poisoned, and everything goes on by itself.
//! What a write or a sync itself returns is final all the same.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

mod support;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use store::StoreError;
use store_embedded::{
    Options,
    disk::{Fault, FaultyDisk, SimulatedDisk},
};
use support::{Opened, TestClock, block_on, index_directory, options, pattern};
use tempfile::TempDir;

fn subject(background: bool) -> (FaultyDisk, TempDir, Opened) {
    let (faulty, index) = (FaultyDisk::new(SimulatedDisk::new()), index_directory());
    let options = Options { background, log_segment_bytes: 32 * 1024, ..options() };
    let opened = Opened::with(faulty.clone(), index.path(), TestClock::at(1_000_000), options).unwrap();
    (faulty, index, opened)
}

/// Runs `work` while no file whose name contains `only` can be opened, and lets it go on once it has met that.
fn through_exhaustion<T: Send>(
    faulty: &FaultyDisk,
    only: &str,
    work: impl Future<Output = Result<T, StoreError>> + Send,
) -> T {
    faulty.inject(Fault::NoHandles, only, 0);
    let ended = Arc::new(AtomicBool::new(false));
    std::thread::scope(|scope| {
        let mine = Arc::clone(&ended);
        let worker = scope.spawn(move || {
            let outcome = block_on(work);
            mine.store(true, Ordering::SeqCst);
            outcome
        });
        while faulty.hits() < 3 {
            assert!(!ended.load(Ordering::SeqCst), "{only}: it did not wait");
            std::thread::yield_now();
        }
        faulty.heal();
        worker.join().unwrap().unwrap_or_else(|error| panic!("{only}: {error}"))
    })
}

#[test]
fn descriptor_exhaustion_on_a_new_log_segment_waits_and_goes_on() {
    for background in [false, true] {
        let (faulty, index, opened) = subject(background);
        block_on(opened.put("before", "value")).unwrap();
        through_exhaustion(&faulty, "log/", async {
            for row in 0..40 {
                opened.put(&format!("{row}"), pattern(row, 10_000)).await?;
            }
            Ok(())
        });
        assert_eq!(block_on(opened.visible()).unwrap().len(), 41, "{background}");
        block_on(opened.put("after", "value")).unwrap();
        block_on(opened.must_be_clean("after descriptors were free"));
        opened.close().unwrap();
        let opened = Opened::on(faulty, index.path()).unwrap();
        assert_eq!(block_on(opened.visible()).unwrap().len(), 42, "{background}");
    }
}

#[test]
fn descriptor_exhaustion_on_a_new_extent_waits_and_goes_on() {
    for (what, length) in [("a small chunk", 1_000), ("a streamed chunk", 100_000), ("a long one", 1_500_000)] {
        let (faulty, _index, opened) = subject(false);
        through_exhaustion(&faulty, "extents/", opened.put_chunk("chunk", pattern(1, length)));
        assert_eq!(block_on(opened.visible()).unwrap().len(), 1, "{what}");
        block_on(opened.must_be_clean(what));
    }
    // A row whose value is spilled needs one too.
    let (faulty, _index, opened) = subject(false);
    through_exhaustion(&faulty, "extents/", opened.put("row", pattern(1, 30_000)));
    assert_eq!(block_on(opened.visible()).unwrap().len(), 1);
}

#[test]
fn descriptor_exhaustion_on_a_read_waits_and_goes_on() {
    let (faulty, index, opened) = subject(false);
    block_on(async {
        opened.put_chunk("small", pattern(1, 1_000)).await.unwrap();
        opened.put_chunk("large", pattern(2, 100_000)).await.unwrap();
        opened.put("spilled", pattern(3, 30_000)).await.unwrap();
    });
    let before = block_on(opened.visible()).unwrap();
    opened.close().unwrap();
    let opened = Opened::on(faulty.clone(), index.path()).unwrap();
    // Nothing of it is open yet.
    let read = through_exhaustion(&faulty, "extents/", async {
        let spilled = opened.sequenced("spilled").await?;
        assert_eq!(spilled.map(|value| value.len()), Some(30_000));
        opened.visible().await
    });
    assert_eq!(read, before);
}

#[test]
fn a_checkpoint_and_a_sweep_go_on_after_descriptor_exhaustion() {
    let (faulty, _index, opened) = subject(false);
    block_on(async {
        for number in 0..10 {
            opened.put_chunk(&format!("{number}"), pattern(number, 5_000)).await.unwrap();
        }
        faulty.inject(Fault::NoHandles, "", 0);
        for number in 0..5 {
            opened.release(&format!("{number}")).await.unwrap();
        }
        opened.sweep().await.unwrap();
        opened.engine.checkpoint().unwrap();
        faulty.heal();
        opened.put_chunk("after", pattern(7, 5_000)).await.unwrap();
        assert_eq!(opened.visible().await.unwrap().len(), 6);
        opened.must_be_clean("after descriptors were free").await;
    });
}

#[test]
fn an_error_of_a_write_or_a_sync_that_looks_like_exhaustion_is_final() {
    for after in 0..2 {
        let (faulty, _index, opened) = subject(false);
        block_on(async {
            opened.put("before", "value").await.unwrap();
            faulty.inject(Fault::NoMemory, "log/", after);
            let refused = opened.put("lost", "value").await;
            assert!(matches!(refused, Err(StoreError::OutcomeUnknown(_))), "{after}: {refused:?}");
            faulty.heal();
            let still = opened.put("more", "value").await;
            assert!(matches!(still, Err(StoreError::Poisoned(_))), "{after}: {still:?}");
            assert_eq!(opened.visible().await.unwrap().len(), 1, "reads go on");
        });
    }
}
