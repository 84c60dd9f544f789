//! The background of shares: what is deleted gives everything back, what snapshots need stays, what nobody needs goes.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot go on fails, and one looks at a clock"
)]

mod shares_support;
mod support;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use concurrency::{
    lease::LeaseId,
    share_mode::{Access, OpenMode, ShareMode},
};
use file::{
    Files, Preconditions,
    audit::audit,
    download::GetFile,
    open::Disposition,
    share_delete::{DeleteShareSnapshots as Mode, RestoreShare},
    share_list::{ListShares, SharePart},
};
use shares_support::*;
use store::Store;
use store_embedded::{Durability, EmbeddedEngine, Options};
use store_memory::{ManualTime, MemoryEngine};
use support::{ACCOUNT, World, asked, run};
use types::{ShareName, Timestamp};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

async fn with_time() -> (World, ManualTime) {
    let time = ManualTime::default();
    let engine = MemoryEngine::new(time.clone());
    let world = World { files: Files::new(engine.store()), engine };
    create(&world, "share").await.unwrap();
    (world, time)
}

async fn fill(world: &World, path: &str, byte: u8) {
    world.put_range(path, 0, &[byte; 4096]).await.unwrap();
}

#[test]
fn a_deleted_share_gives_everything_back() {
    run(async {
        let world = World::new().await;
        settle(&world).await;
        let empty = rows(&world).await;
        create(&world, "other").await.unwrap();
        delete_named(&world, "other").await.unwrap();
        settle(&world).await;
        assert_eq!(rows(&world).await, empty, "an empty share leaves nothing");
        for file in 0..700 {
            world.create_file(&format!("f{file}"), 8192).await.unwrap();
        }
        for file in ["f0", "f1", "f2"] {
            fill(&world, file, 1).await;
        }
        world.snapshot().await;
        fill(&world, "f0", 2).await; // one content in the history and in the present
        world.delete("f1").await.unwrap(); // only in the history
        world.create_file("f2", 10).await.unwrap(); // another content
        fill_at(&world, "f3", 4096).await;
        world.resize("f3", 100).await.unwrap();
        assert_sound(&world).await;
        delete(&world, None, Mode::Include, None).await.unwrap();
        assert_sound(&world).await;
        settle(&world).await;
        assert_eq!((rows(&world).await, chunks(&world).await), (0, 0));
        assert_sound(&world).await;
    });
}

async fn fill_at(world: &World, path: &str, start: u64) {
    world.put_range(path, start, &[7; 4096]).await.unwrap();
}

#[test]
fn a_deleted_snapshot_costs_nothing_that_others_do_not_need() {
    run(async {
        let world = World::new().await;
        for file in ["a", "b", "c"] {
            world.create_file(file, 8192).await.unwrap();
            fill(&world, file, 1).await;
        }
        let first = world.snapshot().await;
        fill(&world, "a", 2).await;
        world.delete("b").await.unwrap();
        let second = world.snapshot().await;
        fill(&world, "a", 3).await;
        world.rename("c", "d", false).await.unwrap();
        let read = async |path: &str, at| world.read(path, at).await.ok().and_then(|bytes| bytes.first().copied());
        let table = async || {
            let mut found = Vec::new();
            for at in [Some(first), Some(second), None] {
                for path in ["a", "b", "c", "d"] {
                    found.push(read(path, at).await);
                }
            }
            found
        };
        let one = |byte: u8| Some(byte);
        let expected =
            [[one(1), one(1), one(1), None], [one(2), None, one(1), None], [one(3), None, None, one(1)]].concat();
        assert_eq!(table().await, expected);
        settle(&world).await;
        assert_eq!(table().await, expected, "nothing goes that is needed");
        assert_eq!(chunks(&world).await, 5, "a three times, b, c");

        delete(&world, Some(first), Mode::Refuse, None).await.unwrap();
        settle(&world).await;
        assert_sound(&world).await;
        assert_eq!(chunks(&world).await, 3, "what the first one kept is gone");
        assert_eq!(read("a", Some(second)).await, Some(2));
        assert_eq!(read("c", Some(second)).await, Some(1));
        fill(&world, "a", 4).await;
        assert_eq!((read("a", Some(second)).await, read("a", None).await), (Some(2), Some(4)));

        delete(&world, Some(second), Mode::Refuse, None).await.unwrap();
        settle(&world).await;
        assert_sound(&world).await;
        assert_eq!(chunks(&world).await, 2);
        fill(&world, "a", 5).await;
        settle(&world).await;
        assert_eq!(chunks(&world).await, 2, "nothing is kept for nobody");
        assert_eq!((read("a", None).await, read("d", None).await), (Some(5), Some(1)));
    });
}

#[test]
fn what_a_download_reads_is_pruned_when_it_has_ended() {
    const PARTS: u64 = 600;
    run(async {
        let engine = MemoryEngine::default();
        let store = engine.store();
        let world = World { engine, files: Files::new(store.clone()) };
        create(&world, "share").await.unwrap();
        world.create_file("a", 2 * PARTS).await.unwrap();
        for part in 0..PARTS {
            world.put_range("a", 2 * part, &[1]).await.unwrap();
        }
        let snapshot = world.snapshot().await;
        world.put_range("a", 0, &[2; 1200]).await.unwrap();
        let address = support::address("a", Some(snapshot));
        let get = asked(GetFile { address, preconditions: Preconditions::default(), range: None });
        let mut download = world.files.get_file(&get).await.unwrap();
        delete(&world, Some(snapshot), Mode::Refuse, None).await.unwrap();
        settle_on(&store).await;
        assert_eq!(chunks(&world).await, PARTS + 1, "it waits");
        let bytes = download.reader.collect(0..2 * PARTS).await.unwrap();
        assert!(bytes.chunks(2).all(|part| part == [1, 0]), "as the snapshot had it");
        drop(download);
        settle_on(&store).await;
        assert_eq!(chunks(&world).await, 1);
        assert_sound(&world).await;
    });
}

/// Files that are made, written, cut, moved and deleted between snapshots, on the engine that is the default.
#[test]
fn a_round_on_the_embedded_engine_leaves_nothing_behind() {
    run(async {
        let directory = tempfile::tempdir().unwrap();
        let options = Options { durability: Durability::Relaxed, ..Options::default() };
        let engine = Arc::new(EmbeddedEngine::open(directory.path(), options).unwrap());
        let store = Store::new(engine.clone());
        let world = World { engine: MemoryEngine::default(), files: Files::new(store.clone()) };
        create(&world, "share").await.unwrap();
        let mut snapshots = Vec::new();
        for round in 1..=3_u8 {
            for file in 0..20 {
                let name = format!("f{file}");
                world.create_file(&name, 8192).await.unwrap();
                world.put_range(&name, 0, &[round; 4096]).await.unwrap();
            }
            snapshots.push((world.snapshot().await, round));
            world.resize("f1", 100).await.unwrap();
            world.delete("f2").await.unwrap();
            world.rename("f3", "g", false).await.unwrap();
            world.delete("g").await.unwrap();
        }
        assert_sound_on(&store).await;
        while let Some((gone, _)) = snapshots.pop() {
            delete(&world, Some(gone), Mode::Refuse, None).await.unwrap();
            settle_on(&store).await;
            assert_sound_on(&store).await;
            for (kept, round) in &snapshots {
                for name in ["f0", "f1", "f2", "f3"] {
                    let bytes = world.read(name, Some(*kept)).await.unwrap();
                    assert_eq!((bytes.len(), bytes.first()), (8192, Some(round)), "{name}");
                }
            }
        }
        delete(&world, None, Mode::Refuse, None).await.unwrap();
        settle_on(&store).await;
        let rows = store.snapshot();
        let left = (audit(&rows).await.unwrap().rows, store::audit::audit(&rows, |_| Ok(())).await.unwrap().chunks);
        assert_eq!(left, (0, 0));
        drop(rows);
        engine.close().unwrap();
    });
}

#[test]
fn a_snapshot_costs_the_same_however_much_is_in_the_share() {
    run(async {
        let world = World::new().await;
        for directory in 0..100 {
            world.create_directory(&format!("d{directory}")).await.unwrap();
            for file in 0..1000 {
                world.create_file(&format!("d{directory}/f{file}"), 1).await.unwrap();
            }
        }
        let before = world.engine.stored_versions();
        let mut quickest = Duration::MAX;
        for _ in 0..5 {
            let begun = Instant::now();
            world.snapshot().await;
            quickest = quickest.min(begun.elapsed());
        }
        let written = world.engine.stored_versions() - before;
        assert!(written <= 5 * 2, "{written} versions of rows for five snapshots: the share's and the snapshot's each");
        assert!(quickest < Duration::from_millis(20), "{quickest:?}");
    });
}

#[test]
fn a_deleted_share_can_be_restored_until_its_time_is_over() {
    run(async {
        let (world, time) = with_time().await;
        retain(&world, Some(3)).await;
        world.create_file("a", 8192).await.unwrap();
        fill(&world, "a", 1).await;
        let snapshot = world.snapshot().await;
        fill(&world, "a", 2).await;
        acquire(&world, None, LeaseId::from_u128(1)).await.unwrap();
        delete(&world, None, Mode::Include, Some(LeaseId::from_u128(1))).await.unwrap();
        create(&world, "share").await.unwrap();
        assert!(world.read("a", None).await.is_err(), "the name is free at once, and nothing is in it");
        time.advance(2 * DAY);
        settle(&world).await;
        assert_sound(&world).await;
        let (version, days) = deleted(&world).await.unwrap();
        assert_eq!(days, 1);
        let named = |name: &str| ShareName::parse(name).unwrap();
        let restore = |to: &str, version| {
            asked(RestoreShare { account: ACCOUNT, name: named(to), deleted_name: named("share"), version })
        };
        assert_eq!(name_of(&world.files.restore_share(&restore("share", version)).await), "ShareAlreadyExists");
        assert_eq!(name_of(&world.files.restore_share(&restore("new", Timestamp::EPOCH)).await), "ShareNotFound");
        retain(&world, None).await;
        delete(&world, None, Mode::Refuse, None).await.unwrap();
        world.files.restore_share(&restore("share", version)).await.unwrap();
        assert_eq!(world.read("a", None).await.unwrap().first(), Some(&2));
        assert_eq!(world.read("a", Some(snapshot)).await.unwrap().first(), Some(&1));
        assert!(!properties(&world, None).await.unwrap().lease.state.is_locked(), "its lease is gone");
        settle(&world).await;
        assert_sound(&world).await;

        retain(&world, Some(3)).await;
        delete(&world, None, Mode::Include, None).await.unwrap();
        let (version, _) = deleted(&world).await.unwrap();
        time.advance(3 * DAY);
        assert_eq!(name_of(&world.files.restore_share(&restore("share", version)).await), "ShareNotFound");
        assert_eq!(deleted(&world).await, None);
        settle(&world).await;
        assert_eq!((rows(&world).await, chunks(&world).await), (0, 0), "its time is over");
    });
}

/// A handle that was to delete its file is closed after the share was deleted: what can be restored stays as it is.
#[test]
fn a_mark_for_deletion_does_not_reach_a_share_that_can_be_restored() {
    run(async {
        let (world, _time) = with_time().await;
        retain(&world, Some(3)).await;
        world.create_file("a", 8192).await.unwrap();
        fill(&world, "a", 1).await;
        let mode = OpenMode { access: Access::ALL, share: ShareMode::ALL };
        let opened = world.open("a", Disposition::Open, mode, true).await.unwrap();
        delete(&world, None, Mode::Refuse, None).await.unwrap();
        world.files.close(opened.handle).await.unwrap();
        while world.files.tend_opens().await.unwrap() {}
        settle(&world).await;
        assert_sound(&world).await;
        let (version, _) = deleted(&world).await.unwrap();
        let name = ShareName::parse("share").unwrap();
        let restore = RestoreShare { account: ACCOUNT, deleted_name: name.clone(), name, version };
        world.files.restore_share(&asked(restore)).await.unwrap();
        assert_eq!(world.read("a", None).await.unwrap().first(), Some(&1));
        assert_sound(&world).await;
    });
}

/// The deleted share that is listed, and the days that are left of it.
async fn deleted(world: &World) -> Option<(Timestamp, u64)> {
    let list = ListShares {
        account: ACCOUNT,
        prefix: String::new(),
        marker: None,
        limit: 10,
        metadata: false,
        snapshots: false,
        deleted: true,
    };
    let page = world.files.list_shares(&asked(list)).await.unwrap();
    page.items.into_iter().find_map(|item| match (item.part, item.deleted) {
        (SharePart::Deleted(version), Some(deletion)) => Some((version, deletion.remaining_days)),
        _ => None,
    })
}
