//! Block blobs: blocks, block lists, and what becomes of blocks that are not needed any more.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::time::Duration;

use blob::{blocks::ListedBlock, list::ListBlobs};
use support::*;

fn listed(blocks: Option<Vec<ListedBlock>>) -> String {
    let text = |block: ListedBlock| format!("{}:{}", String::from_utf8(block.id.to_vec()).unwrap(), block.length);
    blocks.unwrap().into_iter().map(text).collect::<Vec<_>>().join(" ")
}

#[test]
fn blocks_are_invisible_until_a_list_names_them() {
    run(async {
        let world = World::new().await;
        for (id, data) in [("b1", "one"), ("b2", "two"), ("b3", "three")] {
            world.stage("b", id, data.as_bytes()).await.unwrap();
        }
        assert_eq!(name_of(&world.get("b").await), "BlobNotFound");
        let all = ListBlobs::new(ACCOUNT, container_name("things"), 10);
        assert_eq!(world.listing(all.clone()).await, Vec::<String>::new());
        assert_eq!(world.listing(ListBlobs { uncommitted: true, ..all }).await, ["b?"]);
        let list = world.block_list("b").await.unwrap();
        assert_eq!((list.written, list.length), (None, 0));
        assert_eq!(listed(list.uncommitted), "b1:3 b2:3 b3:5");

        assert_eq!(name_of(&world.commit("b", &["ub1", "ux"]).await), "InvalidBlockList");
        assert_eq!(name_of(&world.commit("b", &["cb1"]).await), "InvalidBlockList");
        world.commit("b", &["ub3", "lb1", "ub3"]).await.unwrap();
        assert_eq!(world.get("b").await.unwrap(), b"threeonethree");
        let list = world.block_list("b").await.unwrap();
        assert_eq!(listed(list.committed), "b3:5 b1:3 b3:5");
        assert_eq!(listed(list.uncommitted), "", "what the list left out is gone");
        assert!(list.written.is_some());
        world.sweep().await;
        assert_eq!(world.engine.stored_chunks(), 3, "two blocks and the manifest");
        assert_eq!(world.get("b").await.unwrap(), b"threeonethree");
        world.check_empties().await;
    });
}

#[test]
fn a_list_keeps_what_it_names_of_the_one_before_and_gives_the_rest_back() {
    run(async {
        let world = World::new().await;
        world.stage("b", "b0", &[7; 100]).await.unwrap();
        world.commit("b", &["ub0"]).await.unwrap();
        // A block is appended and another replaced, again and again.
        for round in 1..=20_u8 {
            world.stage("b", "b1", &[round; 100]).await.unwrap();
            world.stage("b", "b2", &[round; 50]).await.unwrap();
            world.commit("b", &["cb0", "lb1"]).await.unwrap();
            if round % 5 == 0 {
                world.sweep().await;
                assert_eq!(world.engine.stored_chunks(), 3, "two blocks and the manifest, in round {round}");
            }
        }
        assert_eq!(world.get("b").await.unwrap(), [vec![7; 100], vec![20; 100]].concat());
        assert_eq!(name_of(&world.commit("b", &["cb2"]).await), "InvalidBlockList");
        assert_eq!(world.problems().await, Vec::<String>::new());
        world.check_empties().await;
    });
}

#[test]
fn a_snapshot_and_a_copy_keep_the_blocks_that_the_blob_let_go_of() {
    run(async {
        let world = World::new().await;
        for id in ["b0", "b1", "b2"] {
            world.stage("b", id, id.as_bytes()).await.unwrap();
        }
        world.commit("b", &["ub0", "ub1", "ub2"]).await.unwrap();
        let snapshot = world.snapshot("b").await.unwrap();
        world.copy("b", None, "copy").await.unwrap();
        world.stage("b", "b3", b"b3").await.unwrap();
        world.commit("b", &["cb1", "ub3"]).await.unwrap();
        world.sweep().await;
        let check = async |blob: &str, part, expected: &str| {
            assert_eq!(world.get_part(blob, part).await.unwrap(), expected.as_bytes(), "{blob}");
        };
        check("b", None, "b1b3").await;
        check("b", Some(snapshot), "b0b1b2").await;
        check("copy", None, "b0b1b2").await;
        world.delete_with("b", Some(snapshot), None, blob::Preconditions::default()).await.unwrap();
        world.sweep().await;
        check("b", None, "b1b3").await;
        check("copy", None, "b0b1b2").await;
        world.delete("copy").await.unwrap();
        world.sweep().await;
        check("b", None, "b1b3").await;
        assert_eq!(world.problems().await, Vec::<String>::new());
        world.check_empties().await;
    });
}

#[test]
fn deleting_the_snapshot_lets_the_blob_adopt_what_it_uses() {
    run(async {
        let world = World::new().await;
        for id in ["b0", "b1", "b2"] {
            world.stage("b", id, id.as_bytes()).await.unwrap();
        }
        world.commit("b", &["ub0", "ub1", "ub2"]).await.unwrap();
        let snapshot = world.snapshot("b").await.unwrap();
        world.commit("b", &["cb1"]).await.unwrap();
        world.delete_with("b", Some(snapshot), None, blob::Preconditions::default()).await.unwrap();
        world.sweep().await;
        assert_eq!(world.engine.stored_chunks(), 2, "one block and the manifest");
        assert_eq!(world.get("b").await.unwrap(), b"b1");
        world.check_empties().await;
    });
}

#[test]
fn block_ids_have_limits() {
    run(async {
        let world = World::new().await;
        assert_eq!(name_of(&world.stage("b", "", b"x").await), "InvalidBlockId");
        assert_eq!(name_of(&world.stage("b", &"x".repeat(65), b"x").await), "InvalidBlockId");
        world.stage("b", &"x".repeat(64), b"x").await.unwrap();
        assert_eq!(name_of(&world.stage("b", "x", b"x").await), "BlockIdLength");
        world.commit("b", &[]).await.unwrap();
        assert_eq!(world.get("b").await.unwrap(), b"");
        world.stage("b", "x", b"another length after a commit").await.unwrap();
        world.stage("b", "x", b"replaced").await.unwrap();
        world.commit("b", &["ux"]).await.unwrap();
        assert_eq!(world.get("b").await.unwrap(), b"replaced");
        world.check_empties().await;
    });
}

#[test]
fn a_put_blob_or_a_delete_drops_the_blocks() {
    run(async {
        let world = World::new().await;
        world.stage("b", "x", b"staged").await.unwrap();
        world.put("b", b"whole").await.unwrap();
        assert_eq!(name_of(&world.commit("b", &["ux"]).await), "InvalidBlockList");
        world.stage("b", "x", b"staged").await.unwrap();
        world.delete("b").await.unwrap();
        world.stage("c", "x", b"staged").await.unwrap();
        world.delete("c").await.unwrap();
        assert_eq!(name_of(&world.block_list("c").await), "BlobNotFound");
        world.sweep().await;
        assert_eq!(world.engine.stored_chunks(), 0);
        world.check_empties().await;
    });
}

#[test]
fn blocks_that_nobody_commits_are_dropped_after_a_week() {
    run(async {
        let (world, time) = World::with_time().await;
        world.stage("new", "x", b"staged").await.unwrap();
        world.put("old", b"whole").await.unwrap();
        world.stage("old", "x", b"staged").await.unwrap();
        let days = |days: u64| Duration::from_hours(24 * days);
        time.advance(days(6));
        world.stage("new", "y", b"staged").await.unwrap();
        time.advance(days(2));
        world.sweep().await;
        assert_eq!(listed(world.block_list("new").await.unwrap().uncommitted), "x:6 y:6", "somebody is still at it");
        assert_eq!(listed(world.block_list("old").await.unwrap().uncommitted), "");
        time.advance(days(6));
        world.sweep().await;
        assert_eq!(name_of(&world.block_list("new").await), "BlobNotFound");
        assert_eq!(world.get("old").await.unwrap(), b"whole");
        assert_eq!(world.engine.stored_chunks(), 1);
        world.check_empties().await;
    });
}

#[test]
fn a_list_that_raced_with_a_block_sees_all_of_it_or_nothing() {
    run(async {
        let world = World::new().await;
        world.stage("b", "x", b"one").await.unwrap();
        let list = world.commit("b", &["ux"]);
        let stage = world.stage("b", "x", b"two");
        let (list, stage) = tokio::join!(list, stage);
        list.unwrap();
        stage.unwrap();
        let content = world.get("b").await.unwrap();
        assert!(content == b"one" || content == b"two");
        world.check_empties().await;
    });
}

#[test]
fn a_range_of_many_blocks_is_found_wherever_it_is() {
    run(async {
        let world = World::new().await;
        let ids: Vec<String> = (0..300).map(|number| format!("{number:03}")).collect();
        let mut model = Vec::new();
        for (number, id) in ids.iter().enumerate() {
            let data = vec![u8::try_from(number % 251).unwrap(); 1 + number % 7];
            world.stage("b", id, &data).await.unwrap();
            model.extend(data);
        }
        let list: Vec<String> = ids.iter().map(|id| format!("u{id}")).collect();
        world.commit("b", &list.iter().map(String::as_str).collect::<Vec<_>>()).await.unwrap();
        let (properties, mut reader) = world.open("b", None).await.unwrap();
        assert_eq!(usize::try_from(properties.length).unwrap(), model.len());
        for (start, end) in [(0, model.len()), (500, 900), (3, 4), (model.len() - 5, model.len()), (100, 101)] {
            let range = u64::try_from(start).unwrap()..u64::try_from(end).unwrap();
            assert_eq!(reader.collect(range).await.unwrap(), model[start..end], "{start}..{end}");
        }
    });
}

#[test]
fn a_copy_onto_itself_keeps_its_manifest_when_the_snapshot_goes() {
    run(async {
        let world = World::new().await;
        world.stage("b", "x", b"staged").await.unwrap();
        world.commit("b", &["ux"]).await.unwrap();
        let snapshot = world.snapshot("b").await.unwrap();
        world.copy("b", None, "b").await.unwrap();
        world.delete_with("b", Some(snapshot), None, blob::Preconditions::default()).await.unwrap();
        world.sweep().await;
        assert_eq!(world.get("b").await.unwrap(), b"staged");
        assert_eq!(world.problems().await, Vec::<String>::new());
        world.check_empties().await;
    });
}
