//! Copies: at once within an account, pending from elsewhere, over crashes, with leases and conditions.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use blob::{
    BlobKind, Blobs, CopyStatus, HttpHeaders, Preconditions,
    block_blob::NewBlob,
    copy::{AbortCopy, CopyCursor, CopyMode, ForeignSource, PendingCopy},
    errors::BlobError,
    tier::AccessTier,
};
use bytes::Bytes;
use concurrency::{
    conditions::{Conditions, ETagCondition},
    lease::{LeaseDuration, LeaseId, LeaseOperation},
};
use support::*;

#[test]
fn a_copy_within_the_account_is_done_at_once_and_lives_its_own_life() {
    run(async {
        let world = World::new().await;
        world.put("block", b"whole").await.unwrap();
        world.stage("list", "x", b"staged").await.unwrap();
        world.commit("list", &["ux", "ux"]).await.unwrap();
        world.create_pages("page", 2048).await.unwrap();
        world.fill("page", (512, 1024), b'p').await.unwrap();
        world.create_append("append").await.unwrap();
        world.append("append", b"one").await.unwrap();
        world.put("empty", b"").await.unwrap();
        for blob in ["block", "list", "page", "append", "empty"] {
            let copy = format!("copy-of-{blob}");
            let expected = world.get(blob).await.unwrap();
            let copied = world.copy(blob, None, &copy).await.unwrap();
            assert_eq!(copied.status, CopyStatus::Success);
            let properties = world.properties(&copy).await.unwrap();
            let state = properties.copy.unwrap();
            assert_eq!(
                (state.status, (state.copied, state.total)),
                (CopyStatus::Success, (properties.length, properties.length))
            );
            assert!(state.completed.is_some());
            world.delete(blob).await.unwrap();
            world.sweep().await;
            assert_eq!(world.get(&copy).await.unwrap(), expected, "{blob}");
        }
        world.fill("copy-of-page", (0, 512), b'q').await.unwrap();
        world.append("copy-of-append", b"two").await.unwrap();
        assert_eq!(world.get("copy-of-append").await.unwrap(), b"onetwo");
        assert_eq!(world.block_list("copy-of-list").await.unwrap().committed.unwrap().len(), 2, "blocks are kept");
        world.copy("copy-of-page", None, "copy-of-page").await.unwrap();
        world.sweep().await;
        assert_eq!(world.problems().await, Vec::<String>::new());
        world.check_empties().await;
    });
}

#[test]
fn what_a_copy_takes_of_its_source() {
    run(async {
        let world = World::new().await;
        let new = NewBlob {
            headers: HttpHeaders { content_type: Some("text/x".into()), ..HttpHeaders::default() },
            metadata: vec![("m".into(), "source".into())],
            tags: tags_of(&[("t", "source")]),
            tier: Some(AccessTier::Cool),
            expiry: None,
        };
        world.put_with("s", b"bytes", Preconditions::default(), new).await.unwrap();
        let mode = |mode| copy_request("d", Preconditions::default(), mode);
        let own = vec![("m".to_owned(), "own".to_owned())];
        for (what, request, metadata, tags, has_state) in [
            ("Copy Blob", mode(CopyMode::CopyBlob), "source", 0, true),
            ("own metadata", blob::copy::CopyBlob { metadata: Some(own), ..mode(CopyMode::CopyBlob) }, "own", 0, true),
            (
                "tags too",
                blob::copy::CopyBlob { copy_tags: true, ..mode(CopyMode::CopyBlobFromUrl) },
                "source",
                1,
                true,
            ),
            ("Put Blob From URL", mode(CopyMode::PutBlobFromUrl), "", 0, false),
        ] {
            world.copy_with("s", None, request).await.unwrap();
            let found = world.properties("d").await.unwrap();
            assert_eq!(found.headers.content_type.as_deref(), Some("text/x"), "{what}");
            assert_eq!(found.metadata.first().map_or("", |(_, value)| value.as_str()), metadata, "{what}");
            assert_eq!((found.tags.len(), found.copy.is_some()), (tags, has_state), "{what}");
            assert!(found.tier.unwrap().inferred, "{what}");
            world.delete("d").await.unwrap();
        }
        let both = blob::copy::CopyBlob { copy_tags: true, tags: tags_of(&[("t", "1")]), ..mode(CopyMode::CopyBlob) };
        assert_eq!(name_of(&world.copy_with("s", None, both).await), "BothTags");
        world.create_pages("page", 512).await.unwrap();
        let synchronous = world.copy_with("page", None, mode(CopyMode::CopyBlobFromUrl)).await;
        assert_eq!(name_of(&synchronous), "InvalidSourceBlobType");
        world.check_empties().await;
    });
}

#[test]
fn conditions_and_leases_of_both_sides() {
    run(async {
        let world = World::new().await;
        world.put("s", b"source").await.unwrap();
        let written = world.put("d", b"destination").await.unwrap();
        assert_eq!(name_of(&world.copy("absent", None, "d").await), "Source");
        let stale = Conditions { if_match: Some(ETagCondition::parse("\"0x1\"").unwrap()), ..Conditions::default() };
        let refused = Preconditions { conditions: stale, ..Preconditions::default() };
        let copied = world.copy_with("s", None, copy_request("d", refused, CopyMode::CopyBlob)).await;
        assert!(matches!(copied, Err(BlobError::Write(_))), "{copied:?}");
        world.create_append("append").await.unwrap();
        assert_eq!(name_of(&world.copy("s", None, "append").await), "InvalidBlobType");

        let id = LeaseId::from_u128(1);
        let acquire = |seconds| LeaseOperation::Acquire {
            proposed: Some(id),
            fresh: id,
            duration: LeaseDuration::from_seconds(seconds).unwrap(),
        };
        world.lease("s", acquire(-1)).await.unwrap();
        for (seconds, sent, mode, outcome) in [
            (15, None, CopyMode::CopyBlob, "IdMissing"),
            (15, Some(id), CopyMode::CopyBlob, "InfiniteDurationRequired"),
            (15, Some(id), CopyMode::CopyBlobFromUrl, "InfiniteDurationRequired"),
            (15, Some(id), CopyMode::PutBlobFromUrl, "ok"),
            (-1, None, CopyMode::CopyBlob, "IdMissing"),
            (-1, Some(id), CopyMode::CopyBlob, "ok"),
        ] {
            world.lease("d", acquire(seconds)).await.unwrap();
            let copied = world.copy_with("s", None, copy_request("d", with_lease(sent), mode)).await;
            assert_eq!(name_of(&copied), outcome, "{seconds} {sent:?} {mode:?}");
        }
        let now = world.properties("d").await.unwrap();
        assert!(now.etag > written.etag && now.lease.unwrap().infinite == Some(true), "the lease stays");
    });
}

fn foreign(kind: BlobKind, length: u64) -> ForeignSource {
    ForeignSource {
        url: "http://elsewhere.test/b?sig=secret".into(),
        etag: Some("\"1\"".into()),
        kind,
        length,
        headers: HttpHeaders::default(),
        metadata: vec![("m".into(), "elsewhere".into())],
        tags: Vec::new(),
        sealed: false,
    }
}

async fn begin(world: &World, to: &str, source: &ForeignSource) -> Outcome<PendingCopy> {
    let request = &asked(copy_request(to, Preconditions::default(), CopyMode::CopyBlob));
    let begun = world.blobs.begin_pending_copy(request, source).await?;
    assert_eq!(begun.0.status, CopyStatus::Pending);
    Ok(begun.1)
}

async fn bring(world: &World, copy: &PendingCopy, offset: u64, data: &[u8]) -> Outcome<()> {
    let mut writer = world.blobs.copied_piece(copy, u64::try_from(data.len()).unwrap())?;
    writer.write(Bytes::copy_from_slice(data)).await?;
    world.blobs.append_copied(copy, offset, &writer.finish().await?).await
}

async fn abort(world: &World, blob: &str, copy_id: &str, lease_id: Option<LeaseId>) -> Outcome<()> {
    let request = &asked(AbortCopy { address: address(blob), lease_id, copy_id: copy_id.to_owned() });
    world.blobs.abort_copy_blob(request).await
}

#[test]
fn a_pending_copy_shows_nothing_and_lets_nobody_write() {
    run(async {
        let world = World::new().await;
        world.put("d", b"before").await.unwrap();
        let copy = begin(&world, "d", &foreign(BlobKind::Block, 10)).await.unwrap();
        bring(&world, &copy, 0, b"01234").await.unwrap();
        assert_eq!(world.get("d").await.unwrap(), b"", "a committed blob of zero length");
        let state = world.properties("d").await.unwrap().copy.unwrap();
        assert_eq!((state.status, (state.copied, state.total)), (CopyStatus::Pending, (5, 10)));
        let pre = Preconditions::default;
        let id = LeaseId::from_u128(1);
        let lease = LeaseOperation::Acquire { proposed: None, fresh: id, duration: LeaseDuration::Infinite };
        let refused = [
            ("put", name_of(&world.put("d", b"x").await)),
            ("stage", name_of(&world.stage("d", "x", b"x").await)),
            ("commit", name_of(&world.commit("d", &[]).await)),
            ("delete", name_of(&world.delete("d").await)),
            ("snapshot", name_of(&world.snapshot("d").await)),
            ("metadata", name_of(&world.set_metadata("d", pre()).await)),
            ("tags", name_of(&world.set_tags("d", &[("a", "b")], pre()).await)),
            ("tier", name_of(&world.set_tier("d", AccessTier::Cool, pre()).await)),
            ("lease", name_of(&world.lease("d", lease).await)),
            ("copy onto", name_of(&world.copy("d", None, "d").await)),
            ("begin again", name_of(&begin(&world, "d", &foreign(BlobKind::Block, 1)).await)),
        ];
        for (what, outcome) in refused {
            assert_eq!(outcome, "PendingCopyOperation", "{what}");
        }
        bring(&world, &copy, 5, b"56789").await.unwrap();
        world.blobs.finish_copy(&copy).await.unwrap();
        assert_eq!(world.get("d").await.unwrap(), b"0123456789");
        let found = world.properties("d").await.unwrap();
        assert_eq!(found.copy.unwrap().status, CopyStatus::Success);
        assert_eq!(found.metadata, [("m".to_owned(), "elsewhere".to_owned())]);
        assert_eq!(name_of(&bring(&world, &copy, 0, b"late").await), "NoPendingCopyOperation");
        world.sweep().await;
        assert_eq!(world.engine.stored_chunks(), 2);
        world.check_empties().await;
    });
}

#[test]
fn a_pending_copy_goes_on_after_a_crash() {
    run(async {
        let mut world = World::new().await;
        let copies = [("a", BlobKind::Block), ("b", BlobKind::Append), ("c", BlobKind::Page)];
        for (to, kind) in copies {
            let copy = begin(&world, to, &foreign(kind, 1024)).await.unwrap();
            bring(&world, &copy, 0, &[b'x'; 512]).await.unwrap();
        }
        world.engine = world.engine.restart();
        world.store = world.engine.store();
        world.blobs = Blobs::new(world.store.clone());
        let mut cursor = CopyCursor::default();
        let pending = world.blobs.pending_copies(&mut cursor, 2).await.unwrap();
        assert!(pending.len() == 2 && !cursor.is_at_start());
        let rest = world.blobs.pending_copies(&mut cursor, 10).await.unwrap();
        assert!(cursor.is_at_start(), "a round is over");
        let pending = [pending, rest].concat();
        assert_eq!(pending.iter().map(|copy| copy.blob.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
        for copy in &pending {
            assert_eq!((copy.copied, copy.total), (512, 1024));
            assert_eq!(
                (copy.url.as_str(), copy.etag.as_deref()),
                ("http://elsewhere.test/b?sig=secret", Some("\"1\""))
            );
            bring(&world, copy, 0, &[b'x'; 512]).await.unwrap();
            bring(&world, copy, copy.copied, &[b'y'; 512]).await.unwrap();
            world.blobs.finish_copy(copy).await.unwrap();
            assert_eq!(world.get(&copy.blob).await.unwrap(), [[b'x'; 512], [b'y'; 512]].concat(), "{}", copy.blob);
        }
        assert_eq!(world.problems().await, Vec::<String>::new());
        world.check_empties().await;
    });
}

#[test]
fn a_copy_that_is_aborted_or_fails_leaves_an_empty_blob_and_no_bytes() {
    run(async {
        let world = World::new().await;
        world.put("plain", b"x").await.unwrap();
        assert_eq!(name_of(&abort(&world, "plain", "any", None).await), "NoPendingCopyOperation");
        assert_eq!(name_of(&abort(&world, "absent", "any", None).await), "BlobNotFound");

        let copy = begin(&world, "d", &foreign(BlobKind::Block, 10)).await.unwrap();
        bring(&world, &copy, 0, b"01234").await.unwrap();
        assert_eq!(name_of(&abort(&world, "d", "another", None).await), "CopyIdMismatch");
        abort(&world, "d", &copy.copy_id, None).await.unwrap();
        let found = world.properties("d").await.unwrap();
        assert_eq!((found.length, found.copy.unwrap().status), (0, CopyStatus::Aborted));
        assert_eq!(name_of(&bring(&world, &copy, 5, b"56789").await), "NoPendingCopyOperation");

        let copy = &begin(&world, "e", &foreign(BlobKind::Page, 1024)).await.unwrap();
        bring(&world, copy, 0, &[1; 512]).await.unwrap();
        world.blobs.fail_copy(copy, "412 the source changed").await.unwrap();
        let state = world.properties("e").await.unwrap().copy.unwrap();
        assert_eq!((state.status, state.description.as_deref()), (CopyStatus::Failed, Some("412 the source changed")));
        world.put("d", b"new").await.unwrap();
        world.sweep().await;
        assert_eq!(world.engine.stored_chunks(), 2);
        world.check_empties().await;
    });
}

#[test]
fn what_a_copy_that_did_not_succeed_left_can_be_written_to() {
    run(async {
        let world = World::new().await;
        for fails in [false, true] {
            for (to, kind) in [("append", BlobKind::Append), ("page", BlobKind::Page)] {
                let copy = &begin(&world, to, &foreign(kind, 1024)).await.unwrap();
                bring(&world, copy, 0, &[1; 512]).await.unwrap();
                if fails {
                    world.blobs.fail_copy(copy, "412 the source changed").await.unwrap();
                } else {
                    abort(&world, to, &copy.copy_id, None).await.unwrap();
                }
            }
            assert_eq!(world.append("append", b"log").await.unwrap().committed_block_count, 1);
            world.resize("page", 1024).await.unwrap();
            world.fill("page", (512, 1024), b'p').await.unwrap();
            for blob in ["append", "page"] {
                let expected = if blob == "append" { b"log".to_vec() } else { [[0; 512], [b'p'; 512]].concat() };
                assert!(world.get(blob).await.unwrap() == expected, "{blob} {fails}");
                world.copy(blob, None, "copy").await.unwrap();
                assert!(world.get("copy").await.unwrap() == expected, "a copy of {blob} {fails}");
                world.delete("copy").await.unwrap();
            }
        }
        let odd = begin(&world, "page", &foreign(BlobKind::Page, 1000)).await;
        assert_eq!(name_of(&odd), "InvalidPageBlobLength", "the source is no page blob, whatever it says");
        world.check_empties().await;
        assert_eq!(world.engine.stored_chunks(), 0);
    });
}

#[test]
fn an_abort_needs_the_lease_of_the_destination() {
    run(async {
        let world = World::new().await;
        world.put("d", b"x").await.unwrap();
        let id = LeaseId::from_u128(1);
        let lease = LeaseOperation::Acquire { proposed: Some(id), fresh: id, duration: LeaseDuration::Infinite };
        world.lease("d", lease).await.unwrap();
        let request = &asked(copy_request("d", with_lease(Some(id)), CopyMode::CopyBlob));
        let source = &foreign(BlobKind::Block, 10);
        let (_, copy) = world.blobs.begin_pending_copy(request, source).await.unwrap();
        assert_eq!(name_of(&abort(&world, "d", &copy.copy_id, None).await), "IdMissing");
        assert_eq!(name_of(&abort(&world, "d", &copy.copy_id, Some(LeaseId::from_u128(2))).await), "IdMismatch");
        abort(&world, "d", &copy.copy_id, Some(id)).await.unwrap();
    });
}

#[test]
fn a_copy_ends_with_its_container_and_with_its_time() {
    run(async {
        let (world, time) = World::with_time().await;
        let copy = begin(&world, "d", &foreign(BlobKind::Block, 10)).await.unwrap();
        bring(&world, &copy, 0, b"01234").await.unwrap();
        time.advance(std::time::Duration::from_hours(15 * 24));
        world.sweep().await;
        assert_eq!(world.properties("d").await.unwrap().copy.unwrap().status, CopyStatus::Failed);
        assert_eq!(world.engine.stored_chunks(), 0);
        let copy = begin(&world, "e", &foreign(BlobKind::Block, 10)).await.unwrap();
        bring(&world, &copy, 0, b"01234").await.unwrap();
        world.check_empties().await;
        assert_eq!(world.engine.stored_chunks(), 0);
    });
}

#[test]
fn a_map_of_very_many_parts_is_copied_by_the_background() {
    run(async {
        let world = World::new().await;
        let parts = 17_000;
        world.create_pages("p", parts * 1024).await.unwrap();
        for part in 0..parts {
            world.fill("p", (part * 1024, part * 1024 + 512), b'a').await.unwrap();
        }
        let expected = world.get("p").await.unwrap();
        let at_once = copy_request("o", Preconditions::default(), CopyMode::PutBlobFromUrl);
        assert_eq!(name_of(&world.copy_with("p", None, at_once).await), "TooManyParts", "this one is never pending");
        assert_eq!(name_of(&world.properties("o").await), "BlobNotFound");
        // However many copies from elsewhere wait before it.
        for number in 0..300 {
            begin(&world, &format!("foreign-{number}"), &foreign(BlobKind::Block, 10)).await.unwrap();
        }
        let copied = world.copy("p", None, "q").await.unwrap();
        assert_eq!(copied.status, CopyStatus::Pending);
        assert_eq!(world.problems().await, Vec::<String>::new());
        // The source goes its own way meanwhile.
        for part in (0..parts).step_by(50) {
            world.fill("p", (part * 1024, part * 1024 + 1024), b'b').await.unwrap();
        }
        jobs::round(&mut blob::jobs(&world.store)).await.unwrap();
        let state = world.properties("q").await.unwrap().copy.unwrap();
        assert!(state.status == CopyStatus::Pending && state.copied > 0);
        world.delete("p").await.unwrap();
        world.sweep().await;
        assert_eq!(world.properties("q").await.unwrap().copy.unwrap().status, CopyStatus::Success);
        assert!(world.get("q").await.unwrap() == expected);
        assert_eq!(world.problems().await, Vec::<String>::new());
        world.copy("q", None, "q").await.unwrap();
        world.sweep().await;
        assert!(world.get("q").await.unwrap() == expected, "copied onto itself");
        world.check_empties().await;
    });
}
