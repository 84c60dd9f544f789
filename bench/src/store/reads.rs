//! Random gets, quiet and while the index compacts after a load.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use bytes::Bytes;
use store::{Read, Scope, Store, StoreError, key::KeyBuilder, space::Space};

use super::{Arguments, Dice, Opened, Report, open, runtime};

pub(crate) const ROW_BYTES: usize = 300;

pub(crate) fn key(number: u64) -> Bytes {
    // Spread, so that loads are not in key order.
    KeyBuilder::new(Space::Test, 3).number(number.wrapping_mul(0x9E37_79B9_7F4A_7C15)).build()
}

/// Loads rows in large transactions.
pub(crate) fn load(opened: &Opened, rows: u64) -> anyhow::Result<()> {
    let value = Bytes::from(vec![5; ROW_BYTES]);
    let runtime = runtime()?;
    for start in (0..rows).step_by(2000) {
        let value = &value;
        runtime.block_on(opened.store.transact(Scope::new(), |txn| async move {
            for number in start..(start + 2000).min(rows) {
                txn.put(key(number), value.clone());
            }
            Ok::<_, StoreError>(())
        }))?;
    }
    Ok(())
}

pub(crate) fn run(arguments: &Arguments, report: &mut Report) -> anyhow::Result<()> {
    let rows = if arguments.quick { 200_000 } else { 1_000_000 };
    let directory = tempfile::tempdir_in(&arguments.directory)?;
    let opened = open(&directory.path().join("ours"))?;
    load(&opened, rows)?;
    // The load left work behind: read while it is done, then when it is over.
    let busy = gets_while(&opened.store, rows, || compacting(&opened, Duration::from_secs(6)))?;
    opened.engine.checkpoint()?;
    opened.engine.compact()?;
    let quiet = gets_for(&opened.store, rows, Duration::from_secs(3))?;
    let what = format!("random gets while compacting, {rows} rows");
    report.ratio(&what, "/s", busy, ("quiet", quiet), 0.5);
    Ok(())
}

/// Overwrites rows at a steady pace, so that the engine has tables to write and to compact all the time.
fn compacting(opened: &Opened, time: Duration) -> anyhow::Result<()> {
    let start = Instant::now();
    let value = Bytes::from(vec![6; ROW_BYTES]);
    let runtime = runtime()?;
    let mut round = 0;
    while start.elapsed() < time {
        let value = &value;
        runtime.block_on(opened.store.transact(Scope::new(), |txn| async move {
            for number in 0..500 {
                txn.put(key(round * 7919 + number), value.clone());
            }
            Ok::<_, StoreError>(())
        }))?;
        round += 1;
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

fn gets_while(store: &Store, rows: u64, work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| gets_until(store, rows, || stop.load(Ordering::Relaxed)));
        let worked = work();
        stop.store(true, Ordering::Relaxed);
        let rate = reader.join().map_err(|_| anyhow::anyhow!("the reader panicked"))?;
        worked?;
        rate
    })
}

pub(crate) fn gets_for(store: &Store, rows: u64, time: Duration) -> anyhow::Result<f64> {
    let end = Instant::now() + time;
    gets_until(store, rows, || Instant::now() >= end)
}

fn gets_until(store: &Store, rows: u64, done: impl Fn() -> bool) -> anyhow::Result<f64> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let start = Instant::now();
    let mut dice = Dice(99);
    let mut gets = 0_u64;
    runtime.block_on(async {
        while !done() {
            for _ in 0..100 {
                let found = store.snapshot().get(&key(dice.next() % rows)).await?;
                anyhow::ensure!(found.is_some(), "a row is missing");
            }
            gets += 100;
        }
        Ok(())
    })?;
    Ok(gets as f64 / start.elapsed().as_secs_f64())
}
