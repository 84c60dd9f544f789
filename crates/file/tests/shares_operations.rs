//! Operations on shares, as tables where they can be.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod shares_support;
mod support;

use access::acl::StoredAccessPolicy;
use concurrency::{
    conditions::{Conditions, ETagCondition},
    lease::{LeaseId, LeaseState},
};
use file::{
    FileError, PermissionKey, SecurityDescriptor,
    permission::{CreatePermission, GetPermission},
    share::ShareTier,
    share_acl::{GetShareAcl, SetShareAcl},
    share_delete::DeleteShareSnapshots as Mode,
    share_list::{ListShares, ShareMarker, SharePart},
    share_properties::{SetShareMetadata, SetShareProperties, SharePreconditions, ShareSettingsChange},
    share_snapshot::SnapshotShare,
};
use shares_support::*;
use support::{ACCOUNT, World, asked, run, share_address};
use types::{Metadata, Timestamp};

fn pairs(name: &str, value: &str) -> Metadata {
    vec![(name.to_owned(), value.to_owned())]
}

fn under<'a>(lease_id: Option<LeaseId>) -> SharePreconditions<'a> {
    SharePreconditions { lease_id, ..SharePreconditions::default() }
}

async fn set_metadata(world: &World, preconditions: SharePreconditions<'_>) -> Result<(), FileError> {
    let set = SetShareMetadata { share: share_address(None), preconditions, metadata: pairs("a", "1") };
    world.files.set_share_metadata(&asked(set)).await.map(|_| ())
}

#[test]
fn settings_that_a_change_leaves_out_stay() {
    run(async {
        let world = World::new().await;
        let before = properties(&world, None).await.unwrap();
        let changes = [
            ShareSettingsChange { quota_gib: Some(7), ..ShareSettingsChange::default() },
            ShareSettingsChange { tier: Some(ShareTier::Cool), ..ShareSettingsChange::default() },
            ShareSettingsChange { provisioned_iops: Some(500), paid_bursting: Some(true), ..Default::default() },
            ShareSettingsChange { snapshot_virtual_directory: Some(false), ..ShareSettingsChange::default() },
        ];
        for change in changes {
            let set = SetShareProperties { share: share_address(None), preconditions: under(None), change };
            let written = world.files.set_share_properties(&asked(set)).await.unwrap();
            assert_eq!(properties(&world, None).await.unwrap().etag, written.etag);
        }
        let after = properties(&world, None).await.unwrap();
        assert_ne!(after.etag, before.etag);
        let settings = after.settings;
        assert_eq!((settings.quota_gib, settings.tier), (7, ShareTier::Cool));
        assert!(settings.tier_changed.is_some() && settings.paid_bursting);
        assert_eq!((settings.provisioned_iops, settings.snapshot_virtual_directory), (Some(500), Some(false)));
    });
}

#[test]
fn everything_that_is_set_needs_the_lease_and_what_is_read_does_not() {
    run(async {
        let world = World::new().await;
        let id = LeaseId::from_u128(1);
        acquire(&world, None, id).await.unwrap();
        for (sent, expected) in [(None, "IdMissing"), (Some(LeaseId::from_u128(2)), "IdMismatch"), (Some(id), "ok")] {
            let outcomes = [
                set_metadata(&world, under(sent)).await,
                set(&world, sent).await,
                world
                    .files
                    .set_share_acl(&asked(SetShareAcl {
                        share: share_address(None),
                        preconditions: under(sent),
                        policies: Vec::new(),
                    }))
                    .await
                    .map(|_| ()),
            ];
            for outcome in outcomes {
                assert_eq!(name_of(&outcome), expected);
            }
        }
        properties(&world, None).await.unwrap();
        assert_eq!(name_of(&get(&world, None, Some(LeaseId::from_u128(2))).await), "IdMismatch");
        assert_eq!(name_of(&delete(&world, None, Mode::Refuse, None).await), "IdMissing");
        delete(&world, None, Mode::Refuse, Some(id)).await.unwrap();
        assert_eq!(name_of(&get(&world, None, None).await), "ShareNotFound");
    });
}

async fn set(world: &World, lease_id: Option<LeaseId>) -> Result<(), FileError> {
    let change = ShareSettingsChange::default();
    let set = SetShareProperties { share: share_address(None), preconditions: under(lease_id), change };
    world.files.set_share_properties(&asked(set)).await.map(|_| ())
}

#[test]
fn conditions_are_decided_by_where_they_are_sent() {
    run(async {
        let world = World::new().await;
        let etag = properties(&world, None).await.unwrap().etag.to_string();
        for (text, expected) in [("\"0x1\"", "Condition"), (etag.as_str(), "ok"), (etag.as_str(), "Condition")] {
            let if_match = Some(ETagCondition::parse(text).unwrap());
            let conditions = Conditions { if_match, ..Conditions::default() };
            let outcome = set_metadata(&world, SharePreconditions { conditions, ..under(None) }).await;
            assert_eq!(name_of(&outcome), expected, "the last one changed it");
        }
    });
}

#[test]
fn a_snapshot_is_a_state_of_its_own() {
    run(async {
        let world = World::new().await;
        set_metadata(&world, under(None)).await.unwrap();
        let first = world.snapshot().await;
        let base = properties(&world, None).await.unwrap();
        let kept = properties(&world, Some(first)).await.unwrap();
        assert_eq!((kept.etag, &kept.metadata), (base.etag, &pairs("a", "1")));
        let take = SnapshotShare { share: share_address(None), metadata: Some(pairs("b", "2")) };
        let second = world.files.snapshot_share(&asked(take)).await.unwrap();
        assert!(second.snapshot > first);
        assert_ne!(second.written.etag, base.etag, "it has metadata of its own");
        assert_eq!(properties(&world, Some(second.snapshot)).await.unwrap().metadata, pairs("b", "2"));
        assert_eq!(properties(&world, None).await.unwrap().etag, base.etag, "the share is unchanged");
        assert_eq!(name_of(&get(&world, Some(Timestamp::EPOCH), None).await), "ShareSnapshotNotFound");
        let take = SnapshotShare { share: share_address(Some(first)), metadata: None };
        let refused = world.files.snapshot_share(&asked(take)).await;
        assert_eq!(name_of(&refused), "ShareSnapshotOperationNotSupported");
    });
}

#[test]
fn a_share_has_at_most_two_hundred_snapshots() {
    run(async {
        let world = World::new().await;
        let mut times = Vec::new();
        for _ in 0..200 {
            times.push(world.snapshot().await);
        }
        assert!(times.is_sorted_by(|one, other| one < other));
        let take = SnapshotShare { share: share_address(None), metadata: None };
        let refused = world.files.snapshot_share(&asked(take.clone())).await;
        assert_eq!(name_of(&refused), "ShareSnapshotCountExceeded");
        delete(&world, times.first().copied(), Mode::Refuse, None).await.unwrap();
        world.files.snapshot_share(&asked(take)).await.unwrap();
        settle(&world).await;
        assert_sound(&world).await;
    });
}

#[test]
fn snapshots_go_with_their_share_only_when_that_is_said() {
    run(async {
        let world = World::new().await;
        let (one, two) = (world.snapshot().await, world.snapshot().await);
        let id = LeaseId::from_u128(1);
        acquire(&world, Some(one), id).await.unwrap();
        assert_eq!(properties(&world, Some(one)).await.unwrap().lease.state, LeaseState::Leased);
        assert_eq!(properties(&world, None).await.unwrap().lease.state, LeaseState::Available, "each has its own");
        assert_eq!(name_of(&delete(&world, None, Mode::Refuse, None).await), "ShareHasSnapshots");
        assert_eq!(name_of(&delete(&world, None, Mode::Include, None).await), "IdMissing");
        assert_eq!(name_of(&delete(&world, Some(one), Mode::Refuse, None).await), "IdMissing");
        delete(&world, Some(two), Mode::Refuse, None).await.unwrap();
        assert_eq!(name_of(&get(&world, Some(two), None).await), "ShareSnapshotNotFound");
        delete(&world, None, Mode::IncludeLeased, None).await.unwrap();
        assert_eq!(name_of(&get(&world, None, None).await), "ShareNotFound");
        create(&world, "share").await.unwrap();
        assert_eq!(name_of(&get(&world, Some(one), None).await), "ShareSnapshotNotFound", "the name is free");
        settle(&world).await;
        assert_sound(&world).await;
    });
}

#[test]
fn policies_are_replaced_and_end_with_their_share() {
    run(async {
        let world = World::new().await;
        let policy =
            StoredAccessPolicy { id: "p".to_owned(), start: None, expiry: None, permissions: Some("r".into()) };
        let (share, preconditions) = (share_address(None), under(None));
        let set = SetShareAcl { share: share.clone(), preconditions, policies: vec![policy.clone()] };
        world.files.set_share_acl(&asked(set)).await.unwrap();
        let get = asked(GetShareAcl { share, preconditions });
        assert_eq!(world.files.get_share_acl(&get).await.unwrap().1, [policy]);
        delete(&world, None, Mode::Refuse, None).await.unwrap();
        create(&world, "share").await.unwrap();
        assert_eq!(world.files.get_share_acl(&get).await.unwrap().1, []);
    });
}

#[test]
fn a_listing_of_any_page_size_is_the_same() {
    run(async {
        let world = World::new().await;
        retain(&world, Some(7)).await;
        for name in ["aaa", "bbb", "other"] {
            create(&world, name).await.unwrap();
        }
        let snapshots = [world.snapshot().await, world.snapshot().await];
        delete_named(&world, "bbb").await.unwrap();
        create(&world, "bbb").await.unwrap();
        delete_named(&world, "bbb").await.unwrap();
        create(&world, "bbb").await.unwrap();
        let list = ListShares {
            account: ACCOUNT,
            prefix: String::new(),
            marker: None,
            limit: 5000,
            metadata: false,
            snapshots: true,
            deleted: true,
        };
        let whole = listed(&world, &list).await;
        let shape: Vec<_> = whole.iter().map(|(name, part)| (name.as_str(), kind_of(part))).collect();
        let expected = [
            ("aaa", 'b'),
            ("bbb", 'd'),
            ("bbb", 'd'),
            ("bbb", 'b'),
            ("other", 'b'),
            ("share", 's'),
            ("share", 's'),
            ("share", 'b'),
        ];
        assert_eq!(shape, expected);
        assert!(whole.contains(&("share".to_owned(), SharePart::Snapshot(snapshots[0]))));
        for limit in 1..8 {
            let mut found = Vec::new();
            let mut marker = None;
            loop {
                let page = world.files.list_shares(&asked(ListShares { limit, marker, ..list.clone() })).await.unwrap();
                assert!(page.items.len() <= limit);
                found.extend(page.items.into_iter().map(|item| (item.name, item.part)));
                let Some(next) = page.next else { break };
                marker = Some(ShareMarker::parse(&next.to_string()));
            }
            assert_eq!(found, whole, "by {limit}");
        }
        let plain = ListShares { snapshots: false, deleted: false, prefix: "b".to_owned(), ..list };
        assert_eq!(listed(&world, &plain).await, [("bbb".to_owned(), SharePart::Share)]);
    });
}

const fn kind_of(part: &SharePart) -> char {
    match part {
        SharePart::Deleted(_) => 'd',
        SharePart::Snapshot(_) => 's',
        SharePart::Share => 'b',
    }
}

async fn listed(world: &World, list: &ListShares) -> Vec<(String, SharePart)> {
    let page = world.files.list_shares(&asked(list.clone())).await.unwrap();
    page.items.into_iter().map(|item| (item.name, item.part)).collect()
}

#[test]
fn a_permission_has_one_key_however_it_was_sent() {
    run(async {
        let world = World::new().await;
        let text = "O:SYG:BAD:AI(A;;FA;;;SY)(A;;0x1200a9;;;S-1-5-21-1-2-3-1001)";
        let sent = SecurityDescriptor::from_sddl(text).unwrap();
        let create = |descriptor| asked(CreatePermission { share: share_address(None), descriptor });
        let key = world.files.create_permission(&create(sent.clone())).await.unwrap();
        let returned = |key| asked(GetPermission { share: share_address(None), key });
        let found = world.files.get_permission(&returned(key)).await.unwrap();
        assert_eq!(found.to_string(), format!("{text}S:NO_ACCESS_CONTROL"));
        for again in [
            SecurityDescriptor::from_sddl(&found.to_string()).unwrap(),
            SecurityDescriptor::from_base64(&found.to_base64()).unwrap(),
        ] {
            assert_eq!(world.files.create_permission(&create(again)).await.unwrap(), key);
        }
        assert_eq!(PermissionKey::parse(&key.to_string()), Some(key));
        for wrong in ["", "1", "*", "1*", "-1*2", "1*2*3", "+1*2", "1*99999999999999999999"] {
            assert_eq!(PermissionKey::parse(wrong), None, "{wrong}");
        }
        let unknown = PermissionKey::parse("1*2").unwrap();
        assert_eq!(name_of(&world.files.get_permission(&returned(unknown)).await), "PermissionNotFound");
        assert_sound(&world).await;
    });
}
