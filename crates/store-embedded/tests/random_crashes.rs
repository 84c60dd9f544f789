//! Long random workloads of several tasks at once on one store that loses its power, its process or both, round after
//! round: what was acknowledged is there, what was under way is there whole or not at all, a verification is clean, ids
//! never repeat and time never goes backwards.
//!
//! `LAZULI_CRASH_ROUNDS` and `LAZULI_CRASH_SEED` choose longer campaigns and repeat a failure.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "helpers of tests fail by panicking")]

mod support;

use std::{
    collections::{BTreeSet, HashSet},
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use store::{Scope, StoreError, testing::Random};
use store_embedded::{
    Durability, Options,
    disk::{Fault, FaultyDisk, SimulatedDisk},
};
use support::{Opened, TestClock, Visible, block_on, chunk_name, count, index_directory, options};
use types::Timestamp;

const TASKS: u64 = 4;
const NAMES: u64 = 4;

/// What one task knows: its names are its own, so it knows everything about them.
#[derive(Clone, Debug, Default)]
struct Known {
    acknowledged: Visible,
    /// What would be visible if the operation under way happened.
    under_way: Option<Visible>,
}

#[derive(Default)]
struct Seen {
    ids: HashSet<u64>,
    latest: Timestamp,
}

/// One random operation of a task: what it would change, then the change itself.
async fn operate(task: u64, random: &mut Random, opened: &Opened, known: &mut Known) -> Result<(), StoreError> {
    let name = format!("{task}-{}", random.below(NAMES));
    let mut next = known.acknowledged.clone();
    let kind = random.below(12);
    let outcome = match kind {
        0..4 => {
            let mut rows = Vec::new();
            for row in 0..=random.below(3) {
                let length = random.index(2_000);
                rows.push((format!("{name}-{row}"), (!random.one_in(4)).then(|| Bytes::from(random.bytes(length)))));
            }
            change(&mut next, &rows);
            known.under_way = Some(next);
            put(opened, &rows).await
        }
        4..6 => {
            let large = if random.one_in(8) { 400_000 } else { 0 };
            let length = 16_500 + random.index(20_000);
            let mut rows = vec![(name.clone(), Some(Bytes::from(random.bytes(length + large))))];
            for extra in 0..(large / 100_000) {
                rows.push((format!("{name}-spilled-{extra}"), Some(Bytes::from(random.bytes(300_000)))));
            }
            change(&mut next, &rows);
            known.under_way = Some(next);
            put(opened, &rows).await
        }
        6..10 => {
            let length = match random.below(8) {
                0 => 1_200_000,
                1..3 => 65_537 + random.index(200_000),
                _ => 1 + random.index(20_000),
            };
            let bytes = random.bytes(length);
            next.insert(chunk_name(&name), Bytes::from(bytes.clone()));
            known.under_way = Some(next);
            opened.put_chunk(&name, bytes).await
        }
        _ => {
            next.remove(&chunk_name(&name));
            known.under_way = Some(next);
            opened.release(&name).await
        }
    };
    outcome?;
    known.acknowledged = known.under_way.take().unwrap();
    Ok(())
}

fn change(state: &mut Visible, rows: &[(String, Option<Bytes>)]) {
    for (name, value) in rows {
        match value {
            Some(value) => drop(state.insert(name.clone(), value.clone())),
            None => drop(state.remove(name)),
        }
    }
}

async fn put(opened: &Opened, rows: &[(String, Option<Bytes>)]) -> Result<(), StoreError> {
    let rows: Vec<(&str, Option<Bytes>)> = rows.iter().map(|(name, value)| (&**name, value.clone())).collect();
    opened.put_all(&rows).await
}

/// Reads the clock inside a transaction that commits: the time is durable with it.
async fn note(opened: &Opened, seen: &Mutex<Seen>) -> Result<(), StoreError> {
    let (id, time) = opened
        .store
        .transact(Scope::new(), |txn| async move {
            txn.emit(Bytes::new());
            Ok::<_, StoreError>((txn.fresh_id(), txn.now()))
        })
        .await?;
    let mut seen = seen.lock().unwrap();
    assert!(seen.ids.insert(id), "id {id} was given out twice");
    seen.latest = seen.latest.max(time);
    Ok(())
}

/// Tasks work until the power fails or they have done enough; upkeep goes on beside them. Extents run out of room now and
/// then when `scarce` says where.
fn work(
    opened: &Opened,
    knowledge: &mut [Known],
    seen: &Mutex<Seen>,
    random: &mut Random,
    scarce: Option<&FaultyDisk>,
) {
    let done = AtomicBool::new(false);
    let steps = 5 + random.below(40);
    std::thread::scope(|scope| {
        let mut upkeep_random = Random::new(random.number());
        let done = &done;
        scope.spawn(move || {
            while !done.load(Ordering::Relaxed) {
                block_on(upkeep(opened, &mut upkeep_random));
                match (scarce, upkeep_random.below(8)) {
                    (Some(disk), 0..3) => disk.inject(Fault::NoQuota, "extents/", upkeep_random.below(4)),
                    (Some(disk), 3..5) => disk.heal(),
                    _ => std::thread::yield_now(),
                }
            }
        });
        let mut tasks = Vec::new();
        for (task, known) in (0..TASKS).zip(knowledge) {
            let mut random = Random::new(random.number());
            tasks.push(scope.spawn(move || {
                block_on(async {
                    for _ in 0..steps {
                        match operate(task, &mut random, opened, known).await {
                            Err(StoreError::Full { .. }) => known.under_way = None, // refused before it had its place
                            outcome => outcome?,
                        }
                        if random.one_in(4) {
                            note(opened, seen).await?;
                        }
                    }
                    Ok::<_, StoreError>(())
                })
            }));
        }
        for task in tasks {
            let _stopped_by_the_crash = task.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
}

/// Errors are those of a lost power; whatever it did must not matter.
async fn upkeep(opened: &Opened, random: &mut Random) {
    let _ended = match random.below(12) {
        0 => opened.engine.checkpoint(),
        1 => opened.engine.compact(),
        2..4 => opened.engine.delete_dead_extents().map(drop),
        4..6 => opened.sweep().await,
        6..8 => opened.engine.collect().await.map(drop),
        8..10 => move_any(opened, random).await,
        _ => Ok(()),
    };
}

/// Moves one of the live chunks: a collector that finds little dead would not move any.
async fn move_any(opened: &Opened, random: &mut Random) -> Result<(), StoreError> {
    let chunks = opened.live_chunks().await?;
    match chunks.get(random.index(chunks.len().max(1))) {
        Some(chunk) => opened.engine.move_chunk(*chunk).await.map(drop),
        None => Ok(()),
    }
}

/// What a task finds of its own after a crash must be what it was told, with or without its last operation.
fn settle(found: &Visible, knowledge: &mut [Known], place: &str) {
    for (task, known) in (0..TASKS).zip(knowledge) {
        let prefixes = [format!("{task}-"), chunk_name(&format!("{task}-"))];
        let mine = |name: &str| prefixes.iter().any(|prefix| name.starts_with(&**prefix));
        let mine: Visible =
            found.iter().filter(|(name, _)| mine(name)).map(|(name, value)| (name.clone(), value.clone())).collect();
        let allowed = [Some(&known.acknowledged), known.under_way.as_ref()];
        if !allowed.into_iter().flatten().any(|state| *state == mine) {
            let differing = |state: &Visible| -> BTreeSet<String> {
                let names = state.keys().chain(mine.keys());
                names.filter(|name| state.get(*name) != mine.get(*name)).cloned().collect()
            };
            let acknowledged = differing(&known.acknowledged);
            let under_way = known.under_way.as_ref().map(differing);
            panic!(
                "{place}: task {task}: differs from what was acknowledged in {acknowledged:?}, after in {under_way:?}"
            );
        }
        *known = Known { acknowledged: mine, under_way: None };
    }
}

fn campaign(seed: u64, rounds: u64, options: &Options, scarce: bool) {
    let mut random = Random::new(seed);
    let (mut disk, index) = (SimulatedDisk::new(), index_directory());
    let mut knowledge = vec![Known::default(); usize::try_from(TASKS).unwrap()];
    let seen = Mutex::new(Seen::default());
    let mut grouped = 0;
    for round in 0..rounds {
        let place = format!("LAZULI_CRASH_SEED={seed} LAZULI_CRASH_ROUNDS={} ({options:?})", round + 1);
        // The wall clock of each run is somewhere else, often earlier.
        let clock = || TestClock::at(1_000_000 + (round * 7_919) % 100_000 * 1_000);
        if random.one_in(3) {
            // The power also fails while the store is being opened.
            disk.fail_power_at(disk.calls() + random.below(14));
            drop(Opened::with(disk.clone(), index.path(), clock(), options.clone()));
            disk = SimulatedDisk::from_image(disk.crash(random.number()));
        }
        let faulty = FaultyDisk::new(disk.clone());
        let opened = Opened::with(faulty.clone(), index.path(), clock(), options.clone())
            .unwrap_or_else(|error| panic!("{place}: open: {error}"));
        let now = opened.store.now();
        assert!(now >= seen.lock().unwrap().latest, "{place}: time went backwards");
        let found = block_on(opened.visible()).unwrap_or_else(|error| panic!("{place}: read: {error}"));
        settle(&found, &mut knowledge, &place);
        block_on(opened.must_be_clean(&place));

        disk.fail_power_at(disk.calls() + random.below(400));
        work(&opened, &mut knowledge, &seen, &mut random, scarce.then_some(&faulty));
        if random.one_in(2) {
            faulty.heal();
        }
        let metrics = opened.engine.metrics();
        grouped += metrics.commits - metrics.groups;
        match random.below(4) {
            0 => {
                // Only the process dies: what it wrote is still in the page cache.
                opened.abandon();
                disk.restart_process();
            }
            1 => {
                let _power_may_be_off = opened.close();
                disk = SimulatedDisk::from_image(disk.crash(random.number()));
            }
            _ => {
                // Off before the image is taken: upkeep is still at work, and a table it wrote after that would count as
                // durable work that the image has never seen.
                disk.fail_power_at(0);
                let image = disk.crash(random.number());
                opened.abandon();
                disk = SimulatedDisk::from_image(image);
            }
        }
    }
    assert!(rounds < 20 || grouped > 0, "no frame ever held two commits");
}

fn rounds() -> u64 {
    count("LAZULI_CRASH_ROUNDS", 60)
}

#[test]
fn a_store_survives_crash_after_crash() {
    campaign(count("LAZULI_CRASH_SEED", 1), rounds(), &options(), false);
}

#[test]
fn a_store_with_tiny_segments_survives_crash_after_crash() {
    let options = Options { log_segment_bytes: 8 * 1024, ..options() };
    campaign(count("LAZULI_CRASH_SEED", 2), rounds(), &options, false);
}

#[test]
fn a_store_with_its_own_upkeep_and_reused_segments_survives_crash_after_crash() {
    let options = Options { log_segment_bytes: 32 * 1024, memtable_bytes: 16 * 1024, background: true, ..options() };
    campaign(count("LAZULI_CRASH_SEED", 3), rounds(), &options, false);
}

#[test]
fn a_store_whose_extents_run_out_of_room_survives_crash_after_crash() {
    campaign(count("LAZULI_CRASH_SEED", 5), rounds(), &options(), true);
}

/// In relaxed mode acknowledged work may be lost, but only from the end: each task finds a state it once had, and never
/// half of one.
#[test]
fn a_relaxed_store_loses_only_the_end_of_what_it_did() {
    let seed = count("LAZULI_CRASH_SEED", 4);
    let options = Options { durability: Durability::Relaxed, log_segment_bytes: 32 * 1024, ..options() };
    let mut random = Random::new(seed);
    for round in 0..rounds() {
        let place = format!("LAZULI_CRASH_SEED={seed} round {round}");
        let (disk, index) = (SimulatedDisk::new(), index_directory());
        let opened = Opened::with(disk.clone(), index.path(), TestClock::at(1_000_000), options.clone()).unwrap();
        let mut history = vec![Visible::new()];
        let mut synced = 0;
        block_on(async {
            disk.fail_power_at(disk.calls() + random.below(200));
            let mut known = Known::default();
            for _ in 0..60 {
                match operate(0, &mut random, &opened, &mut known).await {
                    Ok(()) => history.push(known.acknowledged.clone()),
                    Err(_) => {
                        history.extend(known.under_way.take());
                        break;
                    }
                }
                match random.below(10) {
                    0 if opened.engine.checkpoint().is_ok() => synced = history.len() - 1,
                    1 => drop(opened.sweep().await),
                    2 => drop(opened.engine.delete_dead_extents()),
                    3 => drop(opened.engine.collect().await),
                    _ => {}
                }
            }
        });
        disk.fail_power_at(0);
        let image = disk.crash(random.number());
        opened.abandon();
        let opened = Opened::on(SimulatedDisk::from_image(image), index.path())
            .unwrap_or_else(|error| panic!("{place}: open: {error}"));
        let found = block_on(opened.visible()).unwrap_or_else(|error| panic!("{place}: read: {error}"));
        let known = history.iter().skip(synced).any(|state| *state == found);
        assert!(known, "{place}: the state is none of the {} since the last checkpoint", history.len() - synced);
        block_on(opened.must_be_clean(&place));
    }
}
