//! Blobs that change between being found and being open, step by step.

use access::Asked;

use super::*;
use crate::{Preconditions, object::ReadBlob, part::NamedPart, support::*};

const PAGE: u64 = 512;

/// A range of pages, by their numbers.
const fn pages(start: u64, end: u64) -> (u64, u64) {
    (start * PAGE, end * PAGE)
}

/// A page blob whose map has so many parts.
async fn many_parts(world: &World, count: u64) {
    world.create_pages("p", count * 2 * PAGE).await.unwrap();
    for page in 0..count {
        world.fill("p", pages(page * 2, page * 2 + 1), b'a').await.unwrap();
    }
}

fn download(blob: &str) -> Asked<GetBlob<'static>> {
    let read = ReadBlob { address: address(blob), part: NamedPart::Base, preconditions: Preconditions::default() };
    asked(GetBlob { read, range: None, if_range: None })
}

#[test]
fn a_blob_that_is_always_being_written_can_be_read() {
    run(async {
        let world = World::new().await;
        many_parts(&world, 700).await;
        let request = &download("p");
        world.engine.hold();
        let write = world.fill("p", pages(0, 1), b'y');
        let finding = async {
            // What is durable is not what the next writer sees: it cannot be kept.
            let snapshot = world.store.snapshot();
            let found = object::read_content(&snapshot, &request.read, world.store.now()).await.unwrap();
            let opening = open(&world.store, &snapshot, &found, 0..found.properties.length);
            let (opened, kept, ()) = tokio::join!(opening, find_and_keep(&world.store, request), async {
                tokio::task::yield_now().await;
                world.engine.release();
            });
            assert!(opened.unwrap().is_none());
            kept.unwrap()
        };
        let (written, kept) = tokio::join!(write, finding);
        assert_eq!(kept.properties.etag, written.unwrap().written.etag);
        let expected = world.get("p").await.unwrap();
        world.fill("p", pages(0, 1_400), b'z').await.unwrap();
        world.sweep().await;
        let (snapshot, length) = (world.store.snapshot(), kept.properties.length);
        let mut reader = open(&world.store, &snapshot, &kept, 0..length).await.unwrap().unwrap();
        drop((snapshot, kept));
        world.sweep().await;
        assert!(reader.collect(0..length).await.unwrap() == expected);
        drop(reader);
        world.sweep().await;
        assert_eq!(world.engine.stored_chunks(), 1);
        world.check_empties().await;
    });
}

#[test]
fn a_blob_whose_bytes_went_before_they_were_open_is_found_again() {
    run(async {
        let world = World::new().await;
        world.put("chunk", b"old").await.unwrap();
        world.stage("list", "1", b"old").await.unwrap();
        world.commit("list", &["u1"]).await.unwrap();
        world.create_pages("page", PAGE).await.unwrap();
        world.fill("page", pages(0, 1), b'o').await.unwrap();
        for blob in ["chunk", "list", "page"] {
            let request = download(blob);
            let snapshot = world.store.snapshot();
            let found = object::read_content(&snapshot, &request.read, world.store.now()).await.unwrap();
            world.delete(blob).await.unwrap();
            world.sweep().await;
            let opened = open(&world.store, &snapshot, &found, 0..found.properties.length).await;
            assert!(opened.unwrap().is_none(), "{blob}");
        }
    });
}
