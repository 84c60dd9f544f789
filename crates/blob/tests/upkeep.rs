//! The background: what it must get done whatever stands before it, and what it must not lose.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::time::Duration;

use blob::{Preconditions, block_blob::NewBlob, settings::Expiry};
use bytes::Bytes;
use store::{Scope, StoreError, key::KeyBuilder, space::Space};
use support::*;

#[test]
fn a_container_goes_however_much_its_blobs_say_about_themselves() {
    run(async {
        let world = World::new().await;
        let value = "v".repeat(256);
        let tags: Vec<_> = (0..10).map(|tag| (format!("{tag}{}", "t".repeat(127)), value.clone())).collect();
        for number in 0..300 {
            let name = format!("{number:03}{}", "\u{611b}".repeat(1_021));
            let new = NewBlob { tags: tags.clone(), ..NewBlob::default() };
            world.put_with(&name, b"x", Preconditions::default(), new).await.unwrap();
            let expiry = Expiry::RelativeToNow(Duration::from_hours(1));
            world.expire(&name, expiry, Preconditions::default()).await.unwrap();
        }
        world.check_empties().await;
        assert_eq!(world.engine.stored_chunks(), 0);
    });
}

#[test]
fn what_a_blob_would_inherit_is_not_lost_when_it_goes_itself() {
    run(async {
        let world = World::new().await;
        world.stage("b", "1", b"one").await.unwrap();
        world.commit("b", &["u1"]).await.unwrap();
        world.stage("b", "2", b"two").await.unwrap();
        world.commit("b", &["c1", "u2"]).await.unwrap();
        world.delete("b").await.unwrap();
        // The sweep of the second content has begun before it took over the block of the first.
        store::sweep::step(&world.store).await.unwrap();
        world.check_empties().await;
        assert_eq!(world.engine.stored_chunks(), 0);
    });
}

#[test]
fn downloads_hold_up_nothing_but_what_they_read() {
    run(async {
        let world = World::new().await;
        let mut readers = Vec::new();
        for number in 0..260 {
            let name = format!("b{number}");
            world.stage(&name, "1", b"one").await.unwrap();
            world.commit(&name, &["u1"]).await.unwrap();
            readers.push(world.open(&name, None).await.unwrap());
            world.delete(&name).await.unwrap();
        }
        for number in 0..20 {
            let name = format!("p{number}");
            world.create_pages(&name, 1_200 * 512).await.unwrap();
            for page in 0..600 {
                world.fill(&name, (page * 1024, page * 1024 + 512), b'a').await.unwrap();
            }
            readers.push(world.open(&name, None).await.unwrap());
        }
        world.sweep().await;
        let held = world.engine.stored_chunks();
        world.put("c", b"other").await.unwrap();
        world.delete("c").await.unwrap();
        world.create_pages("q", 512).await.unwrap();
        world.fill("q", (0, 512), b'a').await.unwrap();
        let time = world.snapshot("q").await.unwrap();
        world.fill("q", (0, 512), b'b').await.unwrap();
        world.delete_with("q", Some(time), None, Preconditions::default()).await.unwrap();
        world.sweep().await;
        assert_eq!(world.engine.stored_chunks(), held + 1, "what nobody reads is gone");
        drop(readers);
        world.check_empties().await;
    });
}

#[test]
fn a_row_that_cannot_be_read_holds_up_nothing_behind_it() {
    run(async {
        let world = World::new().await;
        world.stage("b", "1", b"one").await.unwrap();
        world.put_with("b", b"x", Preconditions::default(), NewBlob::default()).await.unwrap();
        assert_eq!(world.engine.stored_chunks(), 2);
        // A deleted container whose key is longer than one should be.
        let damaged = &KeyBuilder::new(Space::Blob, 0x03).number(1).number(2).build();
        let written = world.store.transact(Scope::new(), |txn| async move {
            txn.put(damaged.clone(), Bytes::new());
            Ok::<_, StoreError>(())
        });
        written.await.unwrap();
        let mut jobs = blob::jobs(&world.store);
        for _ in 0..4 {
            assert!(jobs::round(&mut jobs).await.is_err());
            store::sweep::step(&world.store).await.unwrap();
        }
        assert_eq!(world.engine.stored_chunks(), 1, "the block that no list took is gone");
    });
}
