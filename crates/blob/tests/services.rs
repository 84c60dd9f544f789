//! Containers, listings, tags and the search for them, tiers, expiry.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::time::Duration;

use blob::{
    Preconditions, PublicAccess, RehydratePriority,
    block_blob::NewBlob,
    container::{
        ContainerPreconditions, CreateContainer, DeleteContainer, GetContainerProperties, LeaseContainer,
        SetContainerMetadata,
    },
    find::FindBlobs,
    list::{ListBlobs, ListContainers},
    part::NamedPart,
    settings::{Expiry, SetMetadata},
    tier::{AccessTier, SetTier, TierSet},
};
use concurrency::{
    conditions::Conditions,
    lease::{BreakPeriod, LeaseDuration, LeaseId, LeaseOperation, LeaseState},
    tag_condition::{Dialect, TagExpression},
};
use store::Scope;
use support::*;
use types::Timestamp;

#[test]
fn a_deleted_container_gives_its_name_back_at_once_and_its_space_later() {
    run(async {
        let world = World::new().await;
        for number in 0..600 {
            let new = NewBlob { tags: tags_of(&[("number", &number.to_string())]), ..NewBlob::default() };
            world.put_with(&format!("b{number}"), b"bytes", Preconditions::default(), new).await.unwrap();
        }
        world.snapshot("b1").await.unwrap();
        world.stage("u", "x", b"staged").await.unwrap();
        world.expire("b2", Expiry::RelativeToNow(Duration::from_secs(100)), Preconditions::default()).await.unwrap();
        world.drop_container().await.unwrap();
        assert_eq!(name_of(&world.get("b1").await), "ContainerNotFound");
        world.create().await.unwrap();
        assert_eq!(name_of(&world.get("b1").await), "BlobNotFound");
        world.put("b1", b"new").await.unwrap();
        assert_eq!(found(&world, None, "number = '1'").await, Vec::<String>::new(), "rows of a dead container");
        world.sweep().await;
        assert_eq!(world.engine.stored_chunks(), 1, "only the new blob's bytes are left");
        assert_eq!(world.get("b1").await.unwrap(), b"new");
        assert_eq!(world.problems().await, Vec::<String>::new());
        world.check_empties().await;
    });
}

#[test]
fn a_container_lease_protects_against_deletion_and_nothing_else() {
    run(async {
        let (world, time) = World::with_time().await;
        let name = || container_name("things");
        let (a, b) = (LeaseId::from_u128(1), LeaseId::from_u128(2));
        let lease = async |operation| {
            let request =
                &asked(LeaseContainer { account: ACCOUNT, name: name(), conditions: Conditions::default(), operation });
            world.blobs.lease_container(request).await
        };
        let properties = async |lease_id| {
            let request = asked(GetContainerProperties { account: ACCOUNT, name: name(), lease_id });
            world.blobs.get_container_properties(&request).await
        };
        let set = async |lease_id| {
            let preconditions = ContainerPreconditions { lease_id, ..ContainerPreconditions::default() };
            let metadata = vec![("a".to_owned(), "b".to_owned())];
            let request = &asked(SetContainerMetadata { account: ACCOUNT, name: name(), preconditions, metadata });
            world.blobs.set_container_metadata(request).await
        };
        let delete = async |lease_id| {
            let preconditions = ContainerPreconditions { lease_id, ..ContainerPreconditions::default() };
            let request = &asked(DeleteContainer { account: ACCOUNT, name: name(), preconditions });
            world.blobs.delete_container(request).await
        };
        let before = properties(None).await.unwrap();
        let acquire = |id| LeaseOperation::Acquire { proposed: Some(id), fresh: id, duration: LeaseDuration::Infinite };
        lease(acquire(a)).await.unwrap();
        assert_eq!(name_of(&lease(acquire(b)).await), "AlreadyPresent");
        assert_eq!(properties(None).await.unwrap().etag, before.etag, "a lease changes no ETag");
        world.put("b", b"x").await.unwrap();
        for (id, outcome) in [(None, "ok"), (Some(a), "ok"), (Some(b), "IdMismatch")] {
            assert_eq!(name_of(&properties(id).await), outcome);
            assert_eq!(name_of(&set(id).await), outcome);
        }
        assert!(properties(None).await.unwrap().etag > before.etag);
        for (id, outcome) in [(None, "IdMissing"), (Some(b), "IdMismatch")] {
            assert_eq!(name_of(&delete(id).await), outcome);
        }
        lease(LeaseOperation::Break { period: Some(BreakPeriod::from_seconds(10).unwrap()) }).await.unwrap();
        assert_eq!(name_of(&delete(None).await), "IdMissing");
        time.advance(Duration::from_secs(11));
        set(None).await.unwrap();
        assert_eq!(properties(None).await.unwrap().lease.state, LeaseState::Broken, "a write leaves it as it is");
        assert_eq!(name_of(&delete(Some(a)).await), "Lost");
        delete(None).await.unwrap();
    });
}

#[test]
fn conditions_that_a_container_operation_takes() {
    run(async {
        let (world, _) = World::with_time().await;
        let now = world.store.now();
        let (past, future) = (Timestamp::from_seconds(now.seconds() - 10), Timestamp::from_seconds(now.seconds() + 10));
        let none = Conditions::default();
        let modified = |date| Conditions { if_modified_since: Some(date), ..none };
        let unmodified = |date| Conditions { if_unmodified_since: Some(date), ..none };
        for (conditions, outcome) in [
            (modified(past), "ok"),
            (modified(future), "ConditionNotMet(IfModifiedSince)"),
            (unmodified(future), "HeaderNotSupported(IfUnmodifiedSince)"),
        ] {
            let preconditions = ContainerPreconditions { conditions, ..ContainerPreconditions::default() };
            let (name, metadata) = (container_name("things"), Vec::new());
            let request = &asked(SetContainerMetadata { account: ACCOUNT, name, preconditions, metadata });
            assert_eq!(name_of(&world.blobs.set_container_metadata(request).await), outcome, "{conditions:?}");
        }
        for (conditions, outcome) in [
            (unmodified(past), "ConditionNotMet(IfUnmodifiedSince)"),
            (modified(future), "ConditionNotMet(IfModifiedSince)"),
            (unmodified(future), "ok"),
        ] {
            let preconditions = ContainerPreconditions { conditions, ..ContainerPreconditions::default() };
            let request = &asked(DeleteContainer { account: ACCOUNT, name: container_name("things"), preconditions });
            assert_eq!(name_of(&world.blobs.delete_container(request).await), outcome, "{conditions:?}");
        }
    });
}

#[test]
fn public_access_stands_in_the_access_control_list() {
    run(async {
        let world = World::new().await;
        let request = &asked(CreateContainer {
            account: ACCOUNT,
            name: container_name("public"),
            public_access: PublicAccess::Blob,
            metadata: Vec::new(),
        });
        let scope = || Scope::new();
        world.blobs.create_container(request).await.unwrap();
        let holder = access::acl::Holder { service: access::need::Service::Blob, account: ACCOUNT, name: "public" };
        let listed = async || {
            let all =
                ListContainers { account: ACCOUNT, prefix: String::new(), marker: None, system: false, limit: 10 };
            let page = world.blobs.list_containers(&asked(all)).await.unwrap();
            page.items.into_iter().map(|(name, found)| (name, found.public_access)).collect::<Vec<_>>()
        };
        let (private, public) = (PublicAccess::Private, PublicAccess::Blob);
        assert_eq!(listed().await, [("public".to_owned(), public), ("things".to_owned(), private)]);
        let open = &access::acl::Acl { public_access: PublicAccess::Container, policies: Vec::new() };
        let widen = |txn: store::Txn| async move { access::acl::write(&txn, holder, open) };
        world.store.transact(scope(), widen).await.unwrap();
        assert_eq!(listed().await[0].1, PublicAccess::Container);
        let preconditions = ContainerPreconditions::default();
        let gone = &asked(DeleteContainer { account: ACCOUNT, name: container_name("public"), preconditions });
        world.blobs.delete_container(gone).await.unwrap();
        assert_eq!(access::acl::read(&world.store.snapshot(), holder).await.unwrap(), access::acl::Acl::default());
    });
}

#[test]
fn a_listing_merges_blobs_snapshots_and_groups_in_the_order_of_names() {
    run(async {
        let world = World::new().await;
        for name in ["a", "a/1", "a/2", "b", "c/x/y", "d"] {
            world.put(name, b"x").await.unwrap();
        }
        let first = world.snapshot("a/1").await.unwrap().ticks();
        let second = world.snapshot("a/1").await.unwrap().ticks();
        let third = world.snapshot("d").await.unwrap().ticks();
        world.stage("bb", "x", b"x").await.unwrap();
        let all = ListBlobs::new(ACCOUNT, container_name("things"), 10);
        for limit in [1, 2, 3, 5000] {
            let list = |request: ListBlobs| world.listing(ListBlobs { limit, ..request });
            assert_eq!(list(all.clone()).await, ["a", "a/1", "a/2", "b", "c/x/y", "d"]);
            let snapshots = ListBlobs { snapshots: true, ..all.clone() };
            let (one, two, three) = (format!("a/1@{first}"), format!("a/1@{second}"), format!("d@{third}"));
            assert_eq!(list(snapshots).await, ["a", &one, &two, "a/1", "a/2", "b", "c/x/y", &three, "d"]);
            assert_eq!(
                list(ListBlobs { uncommitted: true, start_from: Some("b".into()), ..all.clone() }).await,
                ["b", "bb?", "c/x/y", "d"]
            );
            let groups = ListBlobs { delimiter: Some("/".into()), ..all.clone() };
            assert_eq!(list(groups.clone()).await, ["a", "a/…", "b", "c/…", "d"]);
            assert_eq!(list(ListBlobs { prefix: "c/".into(), ..groups.clone() }).await, ["c/x/…"]);
            assert_eq!(list(ListBlobs { prefix: "a".into(), ..groups }).await, ["a", "a/…"]);
        }
    });
}

#[test]
fn a_page_of_a_listing_ends_by_its_bytes() {
    run(async {
        let world = World::new().await;
        // Ten blobs of 8 KiB of metadata and 600 snapshots of one of them: about 5 MB.
        for number in 0..10 {
            let name = format!("b{number}");
            world.put(&name, b"x").await.unwrap();
            let metadata = vec![("m".to_owned(), "v".repeat(8000))];
            let preconditions = Preconditions::default();
            let request = &asked(SetMetadata { address: address(&name), preconditions, metadata });
            world.blobs.set_blob_metadata(request).await.unwrap();
        }
        for _ in 0..600 {
            world.snapshot("b5").await.unwrap();
        }
        let all =
            ListBlobs { snapshots: true, metadata: true, ..ListBlobs::new(ACCOUNT, container_name("things"), 5000) };
        let page = |request: ListBlobs| async { world.blobs.list_blobs(&asked(request)).await.unwrap() };
        let first = page(all.clone()).await;
        assert!(first.next.is_some() && first.items.len() < 600, "{} items", first.items.len());
        assert_eq!(world.listing(all.clone()).await.len(), 610, "the pages together are everything");
        let lean = page(ListBlobs { metadata: false, ..all }).await;
        assert!(lean.next.is_none() && lean.items.len() == 610, "what is not shown does not count");
    });
}

/// The names that an expression finds, a page of two at a time.
async fn found(world: &World, container: Option<&str>, expression: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut marker = None;
    loop {
        let request = asked(FindBlobs {
            account: ACCOUNT,
            container: container.map(container_name),
            expression: TagExpression::parse(expression, Dialect::Find).unwrap(),
            marker,
            limit: 2,
        });
        let page = world.blobs.find_blobs_by_tags(&request).await.unwrap();
        names.extend(page.items.into_iter().map(|blob| format!("{}/{}", blob.container, blob.name)));
        match page.next {
            Some(next) => marker = Some(next),
            None => return names,
        }
    }
}

#[test]
fn tags_are_found_in_the_account_and_in_a_container() {
    run(async {
        let world = World::new().await;
        for (name, priority, state) in
            [("a", "01", "open"), ("b", "02", "done"), ("c", "03", "open"), ("d", "05", "done")]
        {
            let tags = tags_of(&[("priority", priority), ("state", state)]);
            world.put_with(name, b"x", Preconditions::default(), NewBlob { tags, ..NewBlob::default() }).await.unwrap();
        }
        world.create_named("others").await.unwrap();
        for (expression, expected) in [
            ("state = 'open'", vec!["things/a", "things/c"]),
            ("state = 'open' AND priority > '01'", vec!["things/c"]),
            ("priority >= '02' AND priority < '05'", vec!["things/b", "things/c"]),
            ("priority > '01' AND priority <= '03'", vec!["things/b", "things/c"]),
            ("@container = 'things' AND priority = '05'", vec!["things/d"]),
            ("@container = 'others' AND priority = '05'", vec![]),
            ("state = 'never'", vec![]),
        ] {
            assert_eq!(found(&world, None, expression).await, expected, "{expression}");
            assert_eq!(found(&world, Some("things"), expression).await, expected, "{expression}");
            assert_eq!(found(&world, Some("others"), expression).await, Vec::<String>::new(), "{expression}");
        }
        world.set_tags("a", &[("state", "done")], Preconditions::default()).await.unwrap();
        world.put("c", b"without tags").await.unwrap();
        world.delete("d").await.unwrap();
        assert_eq!(found(&world, None, "state = 'open'").await, Vec::<String>::new());
        assert_eq!(found(&world, None, "state = 'done'").await, ["things/a", "things/b"]);
        assert_eq!(world.problems().await, Vec::<String>::new());
    });
}

#[test]
fn an_archived_blob_is_not_read_until_it_is_rehydrated() {
    run(async {
        let (world, time) = World::with_time().await;
        let pre = Preconditions::default;
        let etag = world.put("b", b"x").await.unwrap().etag;
        let found = world.properties("b").await.unwrap().tier.unwrap();
        assert_eq!((found.tier, found.inferred, found.changed), (AccessTier::Hot, true, None));
        assert_eq!(world.set_tier("b", AccessTier::Archive, pre()).await.unwrap(), TierSet::Now);
        assert_eq!(world.properties("b").await.unwrap().etag, etag);
        for (what, outcome) in [
            ("get", name_of(&world.get("b").await)),
            ("put", name_of(&world.put("b", b"x").await)),
            ("stage", name_of(&world.stage("b", "x", b"x").await)),
            ("list", name_of(&world.block_list("b").await)),
            ("snapshot", name_of(&world.snapshot("b").await)),
            ("metadata", name_of(&world.set_metadata("b", pre()).await)),
        ] {
            assert_eq!(outcome, "BlobArchived", "{what}");
        }
        assert_eq!(name_of(&world.copy("b", None, "c").await), "SourceArchived");
        world.set_tags("b", &[("a", "b")], pre()).await.unwrap();

        assert_eq!(world.set_tier("b", AccessTier::Hot, pre()).await.unwrap(), TierSet::Rehydrating);
        let found = world.properties("b").await.unwrap().tier.unwrap();
        assert_eq!(found.rehydrating, Some((AccessTier::Hot, RehydratePriority::Standard)));
        assert_eq!(found.tier, AccessTier::Archive);
        assert_eq!(name_of(&world.get("b").await), "BlobBeingRehydrated");
        assert_eq!(name_of(&world.set_tier("b", AccessTier::Cool, pre()).await), "BlobBeingRehydrated");
        assert_eq!(world.set_tier("b", AccessTier::Hot, pre()).await.unwrap(), TierSet::Rehydrating);
        time.advance(Duration::from_secs(4));
        let hurry = &asked(SetTier {
            address: address("b"),
            part: NamedPart::Base,
            preconditions: pre(),
            tier: AccessTier::Hot,
            priority: Some(RehydratePriority::High),
            rehydration: Duration::from_secs(1),
        });
        world.blobs.set_blob_tier(hurry).await.unwrap();
        time.advance(Duration::from_secs(2));
        let found = world.properties("b").await.unwrap().tier.unwrap();
        assert_eq!((found.tier, found.rehydrating, found.inferred), (AccessTier::Hot, None, false));
        assert_eq!(world.get("b").await.unwrap(), b"x");
        world.delete("b").await.unwrap();
        world.check_empties().await;
    });
}

#[test]
fn tiers_belong_to_kinds_of_blobs() {
    run(async {
        let world = World::new().await;
        world.put("block", b"x").await.unwrap();
        world.create_pages("page", 512).await.unwrap();
        world.create_append("append").await.unwrap();
        for (blob, tier, outcome) in [
            ("block", AccessTier::Cold, "ok"),
            ("block", AccessTier::Smart, "ok"),
            ("block", AccessTier::P10, "AccessTierNotSupported"),
            ("page", AccessTier::Hot, "AccessTierNotSupported"),
            ("page", AccessTier::P10, "ok"),
            ("page", AccessTier::P4, "CannotChangeToLowerTier"),
            ("page", AccessTier::P80, "ok"),
            ("append", AccessTier::Hot, "AccessTierNotSupported"),
            ("absent", AccessTier::Hot, "BlobNotFound"),
        ] {
            let set = world.set_tier(blob, tier, Preconditions::default()).await;
            assert_eq!(name_of(&set), outcome, "{blob} {tier:?}");
        }
        for tier in AccessTier::ALL {
            assert_eq!(AccessTier::parse(&tier.as_str().to_lowercase()), Some(*tier));
        }
        world.create_pages("large", 64 << 30).await.unwrap();
        assert_eq!(name_of(&world.set_tier("large", AccessTier::P4, Preconditions::default()).await), "TierTooSmall");
        world.set_tier("large", AccessTier::P6, Preconditions::default()).await.unwrap();
        assert_eq!(name_of(&world.resize("large", 65 << 30).await), "ContentLengthLargerThanTierLimit");
    });
}

#[test]
fn an_expired_blob_is_gone_at_once_and_its_space_later() {
    run(async {
        let (world, time) = World::with_time().await;
        let pre = Preconditions::default;
        let seconds = Duration::from_secs;
        let now = world.store.now();
        for (blob, expiry) in [
            ("now", Expiry::RelativeToNow(seconds(10))),
            ("creation", Expiry::RelativeToCreation(seconds(10))),
            ("absolute", Expiry::Absolute(now.saturating_add(seconds(10)))),
            ("never", Expiry::Never),
        ] {
            let tags = tags_of(&[("kind", "expiring")]);
            world.put_with(blob, b"x", pre(), NewBlob { tags, ..NewBlob::default() }).await.unwrap();
            world.expire(blob, expiry, pre()).await.unwrap();
        }
        let snapshot = world.snapshot("now").await.unwrap();
        world.expire("never", Expiry::RelativeToNow(seconds(5)), pre()).await.unwrap();
        world.expire("never", Expiry::Never, pre()).await.unwrap();
        let past = world.expire("never", Expiry::Absolute(now), pre()).await;
        assert_eq!(name_of(&past), "InvalidExpiry");
        assert_eq!(world.problems().await, Vec::<String>::new());
        time.advance(seconds(10));
        for blob in ["now", "creation", "absolute"] {
            assert_eq!(name_of(&world.get(blob).await), "BlobNotFound", "{blob}");
            assert_eq!(name_of(&world.delete(blob).await), "BlobNotFound", "{blob}");
        }
        assert_eq!(name_of(&world.get_part("now", Some(snapshot)).await), "BlobNotFound");
        let all = ListBlobs { snapshots: true, ..ListBlobs::new(ACCOUNT, container_name("things"), 10) };
        assert_eq!(world.listing(all.clone()).await, ["never"]);
        assert_eq!(found(&world, None, "kind = 'expiring'").await, ["things/never"]);
        // A new blob of the name has nothing of the old one, also before the background came by.
        world.put("now", b"new").await.unwrap();
        assert_eq!(name_of(&world.get_part("now", Some(snapshot)).await), "BlobNotFound");
        world.sweep().await;
        assert_eq!(world.listing(all).await, ["never", "now"]);
        assert_eq!(world.get("now").await.unwrap(), b"new");
        assert_eq!(world.engine.stored_chunks(), 2);
        assert_eq!(world.problems().await, Vec::<String>::new());
        world.check_empties().await;
    });
}

/// More blobs and more snapshots than one step removes: each step goes on where the last one ended, leaving nothing out.
#[test]
fn a_large_container_is_swept_to_its_last_snapshot() {
    run(async {
        let world = World::new().await;
        for number in 0..600 {
            let name = format!("b{number}");
            world.put(&name, b"x").await.unwrap();
            if number % 2 == 0 {
                world.snapshot(&name).await.unwrap();
            }
        }
        world.check_empties().await;
    });
}
