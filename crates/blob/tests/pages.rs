//! Page blobs: pages, ranges, differences, lengths, sequence numbers, and downloads that are not torn.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use blob::{Preconditions, object::DeleteSnapshots, settings::SetProperties};
use concurrency::{
    conditions::{Conditions, ETagCondition},
    sequence_number::{SequenceNumber, SequenceNumberAction, SequenceNumberConditions},
};
use support::*;

const PAGE: u64 = 512;

/// A range of pages, by their numbers.
const fn pages(start: u64, end: u64) -> (u64, u64) {
    (start * PAGE, end * PAGE)
}

/// The first byte of each page.
async fn letters(world: &World, blob: &str, part: Option<types::Timestamp>) -> String {
    let content = world.get_part(blob, part).await.unwrap();
    content.iter().step_by(512).map(|byte| if *byte == 0 { '.' } else { char::from(*byte) }).collect()
}

#[test]
fn ranges_and_differences_tell_what_was_written() {
    run(async {
        let world = World::new().await;
        world.create_pages("p", 16 * PAGE).await.unwrap();
        assert_eq!(world.ranges("p", None, None).await.unwrap(), "");
        world.fill("p", pages(0, 2), b'a').await.unwrap();
        world.fill("p", pages(2, 3), b'b').await.unwrap();
        world.fill("p", pages(8, 12), b'c').await.unwrap();
        assert_eq!(letters(&world, "p", None).await, "aab.....cccc....");
        assert_eq!(world.ranges("p", None, None).await.unwrap(), "0-3 8-12", "ranges that touch are one");

        let first = world.snapshot("p").await.unwrap();
        assert_eq!(world.ranges("p", None, Some(first)).await.unwrap(), "");
        world.fill("p", pages(1, 2), b'a').await.unwrap();
        world.clear("p", pages(8, 10)).await.unwrap();
        world.fill("p", pages(14, 15), b'd').await.unwrap();
        assert_eq!(world.ranges("p", None, Some(first)).await.unwrap(), "1-2 (8-10) 14-15", "equal bytes are a change");
        let second = world.snapshot("p").await.unwrap();
        world.clear("p", pages(0, 16)).await.unwrap();
        assert_eq!(world.ranges("p", None, None).await.unwrap(), "");
        assert_eq!(world.ranges("p", None, Some(second)).await.unwrap(), "(0-3) (10-12) (14-15)");
        assert_eq!(world.ranges("p", Some(second), Some(first)).await.unwrap(), "1-2 (8-10) 14-15");
        assert_eq!(world.ranges("p", Some(first), None).await.unwrap(), "0-3 8-12");
        assert_eq!(letters(&world, "p", Some(first)).await, "aab.....cccc....");
        assert_eq!(letters(&world, "p", Some(second)).await, "aab.......cc..d.");

        let newer = world.ranges("p", Some(first), Some(second)).await;
        assert_eq!(name_of(&newer), "PreviousSnapshotCannotBeNewer");
        world.create_pages("p", 16 * PAGE).await.unwrap();
        assert_eq!(name_of(&world.ranges("p", None, Some(second)).await), "BlobOverwritten");
        assert_eq!(letters(&world, "p", Some(first)).await, "aab.....cccc....");
        world.delete_with("p", Some(first), None, Preconditions::default()).await.unwrap();
        assert_eq!(name_of(&world.ranges("p", None, Some(first)).await), "PreviousSnapshotNotFound");
        world.sweep().await;
        assert_eq!(letters(&world, "p", Some(second)).await, "aab.......cc..d.");
        world.check_empties().await;
    });
}

#[test]
fn what_a_shorter_length_cut_off_never_comes_back() {
    run(async {
        let world = World::new().await;
        world.create_pages("p", 8 * PAGE).await.unwrap();
        world.fill("p", pages(0, 8), b'a').await.unwrap();
        let before = world.snapshot("p").await.unwrap();
        world.resize("p", 3 * PAGE).await.unwrap();
        assert_eq!(letters(&world, "p", None).await, "aaa");
        assert_eq!(name_of(&world.fill("p", pages(3, 4), b'x').await), "InvalidPageRange");
        assert_eq!(world.ranges("p", None, Some(before)).await.unwrap(), "", "behind the end there is nothing");
        world.resize("p", 6 * PAGE).await.unwrap();
        assert_eq!(letters(&world, "p", None).await, "aaa...");
        assert_eq!(world.ranges("p", None, Some(before)).await.unwrap(), "(3-6)");
        assert_eq!(letters(&world, "p", Some(before)).await, "aaaaaaaa");
        for wrong in [100, 512 * 3 + 1, (1 << 43) + 512] {
            assert_eq!(name_of(&world.resize("p", wrong).await), "InvalidPageBlobLength", "{wrong}");
        }
        world.check_empties().await;
    });
}

#[test]
fn a_map_that_is_too_long_to_cut_at_once_is_cut_in_steps() {
    run(async {
        let world = World::new().await;
        world.create_pages("p", 40_000 * PAGE).await.unwrap();
        for page in 0..9_000 {
            world.fill("p", pages(page * 4, page * 4 + 1), b'a').await.unwrap();
        }
        world.resize("p", PAGE).await.unwrap();
        assert_eq!(world.problems().await, Vec::<String>::new());
        world.resize("p", 40_000 * PAGE).await.unwrap();
        assert_eq!(world.ranges("p", None, None).await.unwrap(), "0-1");
        for page in 0..9_000 {
            world.fill("p", pages(page * 4, page * 4 + 1), b'b').await.unwrap();
        }
        world.resize("p", PAGE).await.unwrap();
        world.sweep().await;
        assert_eq!(world.engine.stored_chunks(), 1, "the background cut the rest");
        world.check_empties().await;
    });
}

#[test]
fn a_clear_in_steps_never_shows_two_states_under_one_etag() {
    run(async {
        let world = World::new().await;
        world.create_pages("p", 40_000 * PAGE).await.unwrap();
        for page in 0..9_000 {
            world.fill("p", pages(page * 4, page * 4 + 1), b'a').await.unwrap();
        }
        let before = world.properties("p").await.unwrap().etag;
        let text = before.to_string();
        let conditions = Conditions { if_match: Some(ETagCondition::parse(&text).unwrap()), ..Conditions::default() };
        let preconditions = Preconditions { conditions, ..Preconditions::default() };
        let numbers = SequenceNumberConditions::default();
        let cleared = world.put_pages("p", pages(0, 40_000), None, preconditions, numbers).await.unwrap();
        assert_eq!(world.ranges("p", None, None).await.unwrap(), "", "the condition is that of the first step");
        let after = world.properties("p").await.unwrap().etag;
        assert_eq!(cleared.written.etag, after);
        assert_ne!(before, after);
        world.check_empties().await;
    });
}

#[test]
fn sequence_numbers_guard_pages() {
    run(async {
        let world = World::new().await;
        world.create_pages("p", PAGE).await.unwrap();
        let number = |value| SequenceNumber::new(value).unwrap();
        let set = |action| {
            world.set_properties(SetProperties {
                address: address("p"),
                preconditions: Preconditions::default(),
                headers: None,
                length: None,
                sequence_number: Some(action),
            })
        };
        for (action, expected) in [
            (SequenceNumberAction::Update(number(7)), 7),
            (SequenceNumberAction::Max(number(5)), 7),
            (SequenceNumberAction::Max(number(9)), 9),
            (SequenceNumberAction::Increment, 10),
        ] {
            assert_eq!(set(action).await.unwrap().sequence_number, Some(number(expected)), "{action:?}");
        }
        let equal = |value| SequenceNumberConditions { equal: Some(number(value)), ..Default::default() };
        let data = [b'x'; 512];
        for (sent, outcome) in [(9, "SequenceNumberConditionNotMet"), (10, "ok")] {
            let written = world.put_pages("p", pages(0, 1), Some(&data), Preconditions::default(), equal(sent)).await;
            assert_eq!(name_of(&written), outcome);
        }
        set(SequenceNumberAction::Update(SequenceNumber::MAX)).await.unwrap();
        assert_eq!(name_of(&set(SequenceNumberAction::Increment).await), "SequenceNumberIncrementTooLarge");
    });
}

#[test]
fn a_range_must_be_whole_pages_within_the_blob() {
    run(async {
        let world = World::new().await;
        world.create_pages("p", 4 * PAGE).await.unwrap();
        for (start, end) in [(0, 100), (1, 512), (0, 5 * 512), (512, 512), (1024, 512)] {
            let length = usize::try_from(end.max(start) - start).unwrap();
            let (pre, sequence) = (Preconditions::default(), SequenceNumberConditions::default());
            let written = world.put_pages("p", (start, end), Some(&vec![1; length]), pre, sequence).await;
            assert_eq!(name_of(&written), "InvalidPageRange", "{start}..{end}");
        }
        world.put("block", b"x").await.unwrap();
        assert_eq!(name_of(&world.fill("block", pages(0, 1), b'x').await), "InvalidBlobType");
        assert_eq!(name_of(&world.create_pages("block", PAGE).await), "InvalidBlobType");
        assert_eq!(name_of(&world.put("p", b"x").await), "InvalidBlobType");
    });
}

/// A blob of many parts: too many to be opened at once.
async fn many_parts(world: &World, count: u64) {
    world.create_pages("p", count * 2 * PAGE).await.unwrap();
    for page in 0..count {
        world.fill("p", pages(page * 2, page * 2 + 1), b'a').await.unwrap();
    }
}

#[test]
fn a_long_download_is_never_torn() {
    run(async {
        let world = World::new().await;
        many_parts(&world, 700).await;
        let before = world.get("p").await.unwrap();
        let (properties, mut reader) = world.open("p", None).await.unwrap();
        let mut read = reader.collect(0..4096).await.unwrap().to_vec();
        for page in 0..100 {
            world.fill("p", pages(page * 13, page * 13 + 1), b'z').await.unwrap();
        }
        world.clear("p", pages(600, 900)).await.unwrap();
        world.sweep().await;
        read.extend(reader.collect(4096..properties.length / 2).await.unwrap());
        world.resize("p", 10 * PAGE).await.unwrap();
        world.sweep().await;
        world.delete("p").await.unwrap();
        world.sweep().await;
        read.extend(reader.collect(properties.length / 2..properties.length).await.unwrap());
        assert!(read == before, "the download saw something that came after it");
        drop(reader);
        world.sweep().await;
        assert_eq!(world.engine.stored_chunks(), 0, "what the download needed is gone with it");
        world.check_empties().await;
    });
}

#[test]
fn a_long_download_outlives_the_snapshots_of_its_blob() {
    run(async {
        for reads_snapshot in [false, true] {
            let world = World::new().await;
            many_parts(&world, 700).await;
            let time = world.snapshot("p").await.unwrap();
            let before = world.get("p").await.unwrap();
            let (properties, mut reader) = world.open("p", reads_snapshot.then_some(time)).await.unwrap();
            let mut read = reader.collect(0..4096).await.unwrap().to_vec();
            world.delete_with("p", Some(time), None, Preconditions::default()).await.unwrap();
            world.fill("p", pages(500, 1_400), b'z').await.unwrap();
            world.sweep().await;
            world.clear("p", pages(0, 700)).await.unwrap();
            read.extend(reader.collect(4096..properties.length).await.unwrap());
            assert!(read == before, "the download saw something that came after it; of the snapshot: {reads_snapshot}");
            drop(reader);
            world.sweep().await;
            assert_eq!(world.engine.stored_chunks(), 1, "what the download needed is gone with it");
            world.check_empties().await;
        }
    });
}

#[test]
fn a_snapshot_whose_end_is_not_durable_yet_is_read_whole_or_not_at_all() {
    run(async {
        let world = World::new().await;
        many_parts(&world, 700).await;
        let time = world.snapshot("p").await.unwrap();
        let before = world.get("p").await.unwrap(); // which asks for a prune
        world.fill("p", pages(0, 1_400), b'z').await.unwrap();
        world.engine.hold();
        let delete = world.delete_with("p", Some(time), None, Preconditions::default());
        let mut jobs = blob::jobs(&world.store);
        let prune = jobs::round(&mut jobs);
        let download = async {
            let release = async {
                tokio::task::yield_now().await;
                world.engine.release();
            };
            let (opened, ()) = tokio::join!(world.open("p", Some(time)), release);
            opened
        };
        let (deleted, pruned, opened) = tokio::join!(delete, prune, download);
        deleted.unwrap();
        pruned.unwrap();
        match opened {
            Ok((properties, mut reader)) => assert!(reader.collect(0..properties.length).await.unwrap() == before),
            gone => assert_eq!(name_of(&gone), "BlobNotFound"),
        }
        world.check_empties().await;
    });
}

#[test]
fn a_long_download_finds_what_was_repacked_under_it() {
    run(async {
        let world = World::new().await;
        world.create_pages("p", 2_000 * PAGE).await.unwrap();
        world.fill("p", pages(0, 1_400), b'a').await.unwrap();
        for page in 0..700 {
            world.fill("p", pages(page, page + 1), b'b').await.unwrap();
        }
        world.fill("p", pages(702, 1_400), b'c').await.unwrap();
        let before = world.get("p").await.unwrap();
        let (properties, mut reader) = world.open("p", None).await.unwrap();
        let mut read = reader.collect(0..680 * PAGE).await.unwrap().to_vec();
        let repacked = store::sweep::step(&world.store).await.unwrap().repacked;
        assert_eq!(repacked, 1, "most of the first chunk was overwritten");
        read.extend(reader.collect(680 * PAGE..properties.length).await.unwrap());
        assert!(read == before);
        drop(reader);
        world.check_empties().await;
    });
}

#[test]
fn a_reader_may_jump_over_parts_and_holes_and_back() {
    run(async {
        let world = World::new().await;
        many_parts(&world, 1_200).await;
        world.clear("p", pages(200, 1_000)).await.unwrap();
        let whole = world.get("p").await.unwrap();
        let length = u64::try_from(whole.len()).unwrap();
        let (_, mut reader) = world.open("p", None).await.unwrap();
        let mut place = 0;
        for step in 0..2_000 {
            // Now forwards by a little, now anywhere.
            place = if step % 5 == 0 { (place * 31 + 7_777) % length } else { (place + 700) % length };
            let end = (place + 900).min(length);
            let found = reader.collect(place..end).await.unwrap();
            let expected = &whole[usize::try_from(place).unwrap()..usize::try_from(end).unwrap()];
            assert!(found == expected, "{place}..{end} at step {step}");
        }
    });
}

#[test]
fn a_download_leaves_nothing_behind() {
    run(async {
        let world = World::new().await;
        many_parts(&world, 600).await;
        let (_, reader) = world.open("p", None).await.unwrap();
        for page in 0..600 {
            world.fill("p", pages(page * 2, page * 2 + 1), b'b').await.unwrap();
        }
        world.sweep().await;
        assert_eq!(world.engine.stored_chunks(), 1200, "both states are kept while one is read");
        drop(reader);
        world.sweep().await;
        assert_eq!(world.engine.stored_chunks(), 600);
        for page in 0..600 {
            world.fill("p", pages(page * 2, page * 2 + 1), b'c').await.unwrap();
        }
        assert_eq!(world.engine.stored_chunks(), 600, "nobody keeps an epoch any more");
        world.check_empties().await;
    });
}

#[test]
fn space_comes_back_when_the_last_snapshot_that_needs_it_goes() {
    run(async {
        let world = World::new().await;
        world.create_pages("p", 4 * PAGE).await.unwrap();
        let mut snapshots = Vec::new();
        for letter in b'a'..=b'e' {
            world.fill("p", pages(0, 4), letter).await.unwrap();
            snapshots.push(world.snapshot("p").await.unwrap());
        }
        world.sweep().await;
        assert_eq!(world.engine.stored_chunks(), 5);
        for (gone, left) in [(2, 4), (0, 3), (4, 3)] {
            world.delete_with("p", Some(snapshots[gone]), None, Preconditions::default()).await.unwrap();
            world.sweep().await;
            assert_eq!(world.engine.stored_chunks(), left, "without {gone}");
        }
        for (kept, letter) in [(1, "bbbb"), (3, "dddd")] {
            assert_eq!(letters(&world, "p", Some(snapshots[kept])).await, letter);
        }
        world.create_pages("p", PAGE).await.unwrap();
        world.sweep().await;
        assert_eq!(world.engine.stored_chunks(), 2, "the present of the former blob is gone");
        world.delete_with("p", None, Some(DeleteSnapshots::Only), Preconditions::default()).await.unwrap();
        world.sweep().await;
        assert_eq!(world.engine.stored_chunks(), 0);
        assert_eq!(letters(&world, "p", None).await, ".");
        world.check_empties().await;
    });
}
