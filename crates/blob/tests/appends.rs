//! Append blobs: appends, their conditions and limits, sealing, and downloads beside them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use blob::Preconditions;
use concurrency::append_condition::AppendConditions;
use support::*;
use types::ServiceVersion;

#[test]
fn appends_go_to_the_end_and_tell_where() {
    run(async {
        let world = World::new().await;
        assert_eq!(name_of(&world.append("a", b"x").await), "BlobNotFound");
        let created = world.create_append("a").await.unwrap();
        let first = world.append("a", b"one").await.unwrap();
        assert_eq!((first.offset, first.committed_block_count), (0, 1));
        assert!(first.written.etag > created.etag);
        let second = world.append("a", b"three").await.unwrap();
        assert_eq!((second.offset, second.committed_block_count), (3, 2));
        assert_eq!(world.get("a").await.unwrap(), b"onethree");
        assert_eq!(world.properties("a").await.unwrap().committed_block_count, Some(2));
        world.check_empties().await;
    });
}

#[test]
fn conditions_of_an_append() {
    run(async {
        let world = World::new().await;
        world.create_append("a").await.unwrap();
        world.append("a", b"12345").await.unwrap();
        for (position, max_size, outcome) in [
            (Some(4), None, "Append"),
            (None, Some(5), "Append"),
            (Some(5), Some(6), "ok"),
            (Some(5), None, "Append"),
            (None, Some(7), "ok"),
        ] {
            let conditions = AppendConditions { position, max_size };
            let appended = world.append_with("a", b"x", Preconditions::default(), conditions).await;
            assert_eq!(name_of(&appended), outcome, "{conditions:?}");
        }
        let old = Preconditions { version: ServiceVersion::new(2022, 11, 1), ..Preconditions::default() };
        let large = vec![1; 4 * 1024 * 1024 + 1];
        let appended = world.append_with("a", &large, old, AppendConditions::default()).await;
        assert_eq!(name_of(&appended), "TooLarge");
        world.append("a", &large).await.unwrap();
        assert_eq!(world.get("a").await.unwrap().len(), 7 + large.len());
    });
}

#[test]
fn a_sealed_blob_takes_no_more_and_has_another_etag_once() {
    run(async {
        let world = World::new().await;
        world.create_append("a").await.unwrap();
        let last = world.append("a", b"x").await.unwrap();
        let sealed = world.seal("a").await.unwrap();
        assert!(sealed.etag > last.written.etag);
        assert_eq!(world.seal("a").await.unwrap().etag, sealed.etag, "to seal again changes nothing");
        assert_eq!(name_of(&world.append("a", b"x").await), "BlobIsSealed");
        assert!(world.properties("a").await.unwrap().sealed);
        world.set_metadata("a", Preconditions::default()).await.unwrap();
        world.create_append("a").await.unwrap();
        world.append("a", b"y").await.unwrap();
        world.put("block", b"x").await.unwrap();
        assert_eq!(name_of(&world.seal("block").await), "InvalidBlobType");
    });
}

#[test]
fn a_download_sees_the_blob_as_it_began() {
    run(async {
        let world = World::new().await;
        world.create_append("a").await.unwrap();
        for number in 0..600_u16 {
            world.append("a", &number.to_be_bytes()).await.unwrap();
        }
        let before = world.get("a").await.unwrap();
        let (properties, mut reader) = world.open("a", None).await.unwrap();
        let mut read = reader.collect(0..100).await.unwrap().to_vec();
        world.append("a", b"later").await.unwrap();
        let snapshot = world.snapshot("a").await.unwrap();
        world.append("a", b"later still").await.unwrap();
        world.create_append("a").await.unwrap();
        world.sweep().await;
        assert!(world.get_part("a", Some(snapshot)).await.unwrap().ends_with(b"later"));
        read.extend(reader.collect(100..properties.length).await.unwrap());
        assert!(read == before);
        drop(reader);
        world.check_empties().await;
    });
}
