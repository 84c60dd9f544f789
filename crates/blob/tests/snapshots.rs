//! Snapshots of every kind of blob: what they keep, how they end, how they are listed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use blob::{Preconditions, list::ListBlobs, object::DeleteSnapshots, part::BlobPart, snapshot::SnapshotBlob};
use support::*;

#[test]
fn times_are_unique_and_ascend_although_the_clock_stands_still() {
    run(async {
        let (world, _) = World::with_time().await;
        world.put("b", b"x").await.unwrap();
        let mut times = Vec::new();
        for _ in 0..10 {
            times.push(world.snapshot("b").await.unwrap());
        }
        assert!(times.is_sorted_by(|a, b| a < b), "{times:?}");
    });
}

#[test]
fn a_snapshot_keeps_its_state_and_the_blob_keeps_its_etag() {
    run(async {
        let world = World::new().await;
        let written = world.put("b", b"one").await.unwrap();
        let address = address("b");
        let plain = SnapshotBlob { address, preconditions: Preconditions::default(), metadata: None };
        let take = async |request: SnapshotBlob<'static>| {
            let request = &asked(request);
            world.blobs.snapshot_blob(request).await.unwrap()
        };
        let first = take(plain.clone()).await;
        assert_eq!(first.written, written, "without metadata it has the blob's ETag");
        let named = SnapshotBlob { metadata: Some(vec![("a".into(), "b".into())]), ..plain };
        let second = take(named).await;
        assert!(second.written.etag > written.etag);
        assert_eq!(world.properties("b").await.unwrap().etag, written.etag);
        world.put("b", b"two").await.unwrap();
        assert_eq!(world.get_part("b", Some(first.snapshot)).await.unwrap(), b"one");
        let kept = world.properties_with("b", Some(second.snapshot), Preconditions::default()).await.unwrap();
        assert_eq!(kept.metadata, [("a".to_owned(), "b".to_owned())]);
        assert_eq!((kept.lease, kept.part), (None, BlobPart::Snapshot(second.snapshot)));
        world.check_empties().await;
    });
}

#[test]
fn a_blob_with_snapshots_is_deleted_with_them_or_not_at_all() {
    run(async {
        let world = World::new().await;
        for (what, snapshots, base, part) in [
            ("nothing said", None, "ok", "ok"),
            ("only", Some(DeleteSnapshots::Only), "ok", "BlobNotFound"),
            ("include", Some(DeleteSnapshots::Include), "BlobNotFound", "BlobNotFound"),
        ] {
            world.put("b", b"x").await.unwrap();
            let time = world.snapshot("b").await.unwrap();
            let deleted = world.delete_with("b", None, snapshots, Preconditions::default()).await;
            assert_eq!(name_of(&deleted), if snapshots.is_none() { "SnapshotsPresent" } else { "ok" }, "{what}");
            assert_eq!(name_of(&world.get("b").await), base, "{what}");
            assert_eq!(name_of(&world.get_part("b", Some(time)).await), part, "{what}");
            world.sweep().await;
            assert_eq!(world.problems().await, Vec::<String>::new());
        }
        world.put("b", b"x").await.unwrap();
        let time = world.snapshot("b").await.unwrap();
        world.delete_with("b", Some(time), None, Preconditions::default()).await.unwrap();
        let again = world.delete_with("b", Some(time), None, Preconditions::default()).await;
        assert_eq!(name_of(&again), "BlobNotFound");
        world.delete("b").await.unwrap();
        world.check_empties().await;
    });
}

#[test]
fn very_many_snapshots_go_at_once_and_their_rows_later() {
    run(async {
        let (world, time) = World::with_time().await;
        for snapshots in [DeleteSnapshots::Only, DeleteSnapshots::Include] {
            world.put("b", b"x").await.unwrap();
            let mut times = Vec::new();
            for _ in 0..1_300 {
                time.advance(std::time::Duration::from_micros(1));
                times.push(world.snapshot("b").await.unwrap());
            }
            time.advance(std::time::Duration::from_micros(1));
            world.delete_with("b", None, Some(snapshots), Preconditions::default()).await.unwrap();
            if snapshots == DeleteSnapshots::Include {
                world.put("b", b"new").await.unwrap();
            }
            let last = times[1_299];
            assert_eq!(name_of(&world.get_part("b", Some(last)).await), "BlobNotFound");
            let all = ListBlobs { snapshots: true, ..ListBlobs::new(ACCOUNT, container_name("things"), 100) };
            assert_eq!(world.listing(all.clone()).await, ["b"]);
            let new = world.snapshot("b").await.unwrap();
            assert_eq!(world.problems().await, Vec::<String>::new());
            world.sweep().await;
            assert_eq!(world.listing(all).await, [format!("b@{}", new.ticks()), "b".to_owned()]);
            assert_eq!(world.problems().await, Vec::<String>::new());
        }
        world.check_empties().await;
    });
}

#[test]
fn a_snapshot_is_promoted_by_a_copy_onto_its_blob() {
    run(async {
        let world = World::new().await;
        world.put("block", b"old").await.unwrap();
        world.create_pages("page", 1024).await.unwrap();
        world.fill("page", (0, 512), b'o').await.unwrap();
        world.create_append("append").await.unwrap();
        world.append("append", b"old").await.unwrap();
        for blob in ["block", "page", "append"] {
            let time = world.snapshot(blob).await.unwrap();
            let old = world.get(blob).await.unwrap();
            match blob {
                "block" => world.put(blob, b"new").await.map(|_| ()).unwrap(),
                "page" => world.fill(blob, (0, 1024), b'n').await.map(|_| ()).unwrap(),
                _ => world.append(blob, b"new").await.map(|_| ()).unwrap(),
            }
            assert_ne!(world.get(blob).await.unwrap(), old);
            world.copy(blob, Some(time), blob).await.unwrap();
            world.sweep().await;
            assert_eq!(world.get(blob).await.unwrap(), old, "{blob}");
            assert_eq!(world.get_part(blob, Some(time)).await.unwrap(), old, "{blob}");
            world.delete_with(blob, Some(time), None, Preconditions::default()).await.unwrap();
            world.sweep().await;
            assert_eq!(world.get(blob).await.unwrap(), old, "{blob}");
        }
        assert_eq!(world.problems().await, Vec::<String>::new());
        world.check_empties().await;
    });
}
