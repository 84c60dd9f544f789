//! Every operation against every state of a lease, and against conditions: the tables of the mission, through the domain.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod support;

use std::time::Duration;

use blob::{
    Preconditions, Written,
    blocks::{BlockListType, GetBlockList},
    copy::CopyMode,
    page_ranges::GetPageRanges,
    part::NamedPart,
    settings::{Expiry, SetProperties},
    snapshot::SnapshotBlob,
    tags::GetTags,
    tier::AccessTier,
};
use concurrency::{
    append_condition::AppendConditions,
    conditions::{Conditions, ETagCondition},
    lease::{BreakPeriod, LeaseDuration, LeaseId, LeaseOperation, LeaseState},
    sequence_number::SequenceNumberConditions,
    tag_condition::{Dialect, TagExpression},
};
use store_memory::ManualTime;
use support::*;

const A: LeaseId = LeaseId::from_u128(0xA);
const B: LeaseId = LeaseId::from_u128(0xB);

/// Every operation on a blob that exists. Each has the blob of its kind.
const OPERATIONS: &[(&str, &str)] = &[
    ("put blob", "block"),
    ("put block", "block"),
    ("put block list", "block"),
    ("put page", "page"),
    ("clear page", "page"),
    ("append block", "append"),
    ("set metadata", "block"),
    ("set properties", "block"),
    ("resize", "page"),
    ("set expiry", "block"),
    ("set tags", "block"),
    ("set tier", "block"),
    ("put blob from url", "block"),
    ("copy blob", "block"),
    ("delete", "block"),
    ("snapshot", "block"),
    ("get properties", "block"),
    ("get block list", "block"),
    ("get page ranges", "page"),
    ("get tags", "block"),
];

async fn perform(world: &World, operation: &str, blob: &str, pre: Preconditions<'_>) -> String {
    let lease_id = pre.lease_id;
    let properties = |length| SetProperties {
        address: address(blob),
        preconditions: pre.clone(),
        headers: None,
        length,
        sequence_number: None,
    };
    let sequence = SequenceNumberConditions::default();
    match operation {
        "put blob" => name_of(&world.put_with(blob, b"new", pre, blob::block_blob::NewBlob::default()).await),
        "put block" => name_of(&world.stage_with(blob, "x", b"new", lease_id).await),
        "put block list" => name_of(&world.commit_with(blob, &[], pre).await),
        "put page" => name_of(&world.put_pages(blob, (0, 512), Some(&[1; 512]), pre, sequence).await),
        "clear page" => name_of(&world.put_pages(blob, (0, 512), None, pre, sequence).await),
        "append block" => name_of(&world.append_with(blob, b"x", pre, AppendConditions::default()).await),
        "set metadata" => name_of(&world.set_metadata(blob, pre).await),
        "set properties" => name_of(&world.set_properties(properties(None)).await),
        "resize" => name_of(&world.set_properties(properties(Some(1024))).await),
        "set expiry" => name_of(&world.expire(blob, Expiry::Never, pre).await),
        "set tags" => name_of(&world.set_tags(blob, &[("a", "b")], pre).await),
        "set tier" => name_of(&world.set_tier(blob, AccessTier::Cool, pre).await),
        "put blob from url" => {
            name_of(&world.copy_with("source", None, copy_request(blob, pre, CopyMode::PutBlobFromUrl)).await)
        }
        "copy blob" => name_of(&world.copy_with("source", None, copy_request(blob, pre, CopyMode::CopyBlob)).await),
        "delete" => name_of(&world.delete_with(blob, None, None, pre).await),
        "snapshot" => {
            let request = &asked(SnapshotBlob { address: address(blob), preconditions: pre, metadata: None });
            name_of(&world.blobs.snapshot_blob(request).await)
        }
        "get properties" => name_of(&world.properties_with(blob, None, pre).await),
        "get block list" => {
            let list = BlockListType::All;
            let (address, if_tags) = (address(blob), pre.if_tags);
            let request = asked(GetBlockList { address, part: NamedPart::Base, lease_id, if_tags, list });
            name_of(&world.blobs.get_block_list(&request).await)
        }
        "get page ranges" => {
            let request = asked(GetPageRanges {
                address: address(blob),
                part: NamedPart::Base,
                preconditions: pre,
                range: None,
                previous: None,
                marker: None,
                limit: 10,
                at_once: false,
            });
            name_of(&world.blobs.get_page_ranges(&request).await)
        }
        "get tags" => {
            let request = asked(GetTags { address: address(blob), part: NamedPart::Base, preconditions: pre });
            name_of(&world.blobs.get_blob_tags(&request).await)
        }
        other => panic!("{other}"),
    }
}

async fn world() -> (World, ManualTime) {
    let (world, time) = World::with_time().await;
    world.put("source", b"source").await.unwrap();
    world.put("block", b"block").await.unwrap();
    world.create_pages("page", 1024).await.unwrap();
    world.create_append("append").await.unwrap();
    (world, time)
}

/// Brings a blob's lease into a state; A is or was the holder.
async fn lease_to(world: &World, time: &ManualTime, blob: &str, state: LeaseState) {
    let acquire = |duration| LeaseOperation::Acquire { proposed: Some(A), fresh: A, duration };
    let break_in = |seconds| LeaseOperation::Break { period: Some(BreakPeriod::from_seconds(seconds).unwrap()) };
    let infinite = LeaseDuration::Infinite;
    let steps: &[LeaseOperation] = match state {
        LeaseState::Available => &[],
        LeaseState::Leased => &[acquire(infinite)],
        LeaseState::Expired => &[acquire(LeaseDuration::from_seconds(15).unwrap())],
        LeaseState::Breaking => &[acquire(infinite), break_in(60)],
        LeaseState::Broken => &[acquire(infinite), break_in(0)],
    };
    for step in steps {
        world.lease(blob, *step).await.unwrap();
    }
    if state == LeaseState::Expired {
        time.advance(Duration::from_secs(16));
    }
    assert_eq!(world.properties(blob).await.unwrap().lease.unwrap().state, state);
}

const STATES: [LeaseState; 5] =
    [LeaseState::Available, LeaseState::Leased, LeaseState::Breaking, LeaseState::Broken, LeaseState::Expired];

/// What the table of the documentation says.
fn expected(operation: &str, state: LeaseState, sent: Option<LeaseId>) -> &'static str {
    let reads = operation.starts_with("get") || operation == "snapshot";
    match (state, sent) {
        (LeaseState::Leased | LeaseState::Breaking, None) if !reads => "IdMissing",
        (_, None) => "ok",
        (LeaseState::Leased | LeaseState::Breaking, Some(B)) => "IdMismatch",
        (LeaseState::Breaking, Some(_)) if operation == "copy blob" => "InfiniteDurationRequired",
        (LeaseState::Leased | LeaseState::Breaking, Some(_)) => "ok",
        (LeaseState::Available, Some(_)) | (_, Some(B)) => "NotPresent",
        (_, Some(_)) => "Lost",
    }
}

#[test]
fn every_operation_in_every_state_of_the_lease() {
    run(async {
        let mut cells = 0;
        for (operation, blob) in OPERATIONS {
            for state in STATES {
                for sent in [None, Some(A), Some(B)] {
                    let (world, time) = world().await;
                    lease_to(&world, &time, blob, state).await;
                    let outcome = perform(&world, operation, blob, with_lease(sent)).await;
                    assert_eq!(outcome, expected(operation, state, sent), "{operation}, {state:?}, {sent:?}");
                    cells += 1;
                }
            }
        }
        assert_eq!(cells, OPERATIONS.len() * 15);
    });
}

#[test]
fn a_write_without_the_id_ends_a_lease_that_is_over_and_nothing_else_does() {
    run(async {
        for (operation, blob) in OPERATIONS.iter().filter(|(operation, _)| *operation != "delete") {
            for state in [LeaseState::Broken, LeaseState::Expired] {
                let (world, time) = world().await;
                lease_to(&world, &time, blob, state).await;
                assert_eq!(perform(&world, operation, blob, Preconditions::default()).await, "ok");
                let reads = operation.starts_with("get") || *operation == "snapshot";
                let beside = matches!(*operation, "set tags" | "set tier");
                let after = if reads || beside { state } else { LeaseState::Available };
                let found = world.properties(blob).await.unwrap().lease.unwrap().state;
                assert_eq!(found, after, "{operation} on {state:?}");
            }
        }
    });
}

#[test]
fn etags_change_with_writes_and_with_nothing_else() {
    run(async {
        for (operation, blob) in OPERATIONS.iter().filter(|(operation, _)| *operation != "delete") {
            let (world, time) = world().await;
            let before = world.properties(blob).await.unwrap();
            time.advance(Duration::from_secs(2));
            assert_eq!(perform(&world, operation, blob, Preconditions::default()).await, "ok");
            let after = world.properties(blob).await.unwrap();
            let keeps = operation.starts_with("get")
                || matches!(*operation, "snapshot" | "put block" | "set tags" | "set tier");
            assert_eq!(after.etag == before.etag, keeps, "{operation}");
            assert_eq!(after.last_modified == before.last_modified, keeps, "{operation}");
            assert!(after.etag >= before.etag);
        }
        // Neither does a lease.
        let (world, time) = world().await;
        let before = world.properties("block").await.unwrap();
        lease_to(&world, &time, "block", LeaseState::Broken).await;
        assert_eq!(world.properties("block").await.unwrap().etag, before.etag);
    });
}

#[test]
fn every_operation_that_takes_conditions_honours_them() {
    run(async {
        let none = ["put block", "get block list"];
        for (operation, blob) in OPERATIONS {
            let (world, _) = world().await;
            let etag = format!("\"{}\"", world.properties(blob).await.unwrap().etag);
            let right = Conditions { if_match: Some(ETagCondition::parse(&etag).unwrap()), ..Conditions::default() };
            let stale = Conditions { if_match: Some(ETagCondition::parse("\"0x1\"").unwrap()), ..right };
            let pre = |conditions| Preconditions { conditions, ..Preconditions::default() };
            let refused = perform(&world, operation, blob, pre(stale)).await;
            let outcome = if none.contains(operation) { "ok" } else { "ConditionNotMet(IfMatch)" };
            assert_eq!(refused, outcome, "{operation}");
            assert_eq!(perform(&world, operation, blob, pre(right)).await, "ok", "{operation}");
        }
    });
}

#[test]
fn every_operation_that_takes_a_tag_condition_honours_it() {
    run(async {
        for (operation, blob) in OPERATIONS.iter().filter(|(operation, _)| *operation != "put block") {
            let (world, _) = world().await;
            world.set_tags(blob, &[("state", "done")], Preconditions::default()).await.unwrap();
            let pre = |text| {
                let if_tags = Some(TagExpression::parse(text, Dialect::Condition).unwrap());
                Preconditions { if_tags, ..Preconditions::default() }
            };
            let refused = perform(&world, operation, blob, pre("state = 'open'")).await;
            assert_eq!(refused, "TagConditionNotMet", "{operation}");
            assert_eq!(perform(&world, operation, blob, pre("state = 'done'")).await, "ok", "{operation}");
        }
    });
}

#[test]
fn an_absent_blob_refuses_what_needs_one() {
    run(async {
        let creates = ["put blob", "put block", "put block list", "put blob from url", "copy blob"];
        for (operation, _) in OPERATIONS {
            let (world, _) = world().await;
            let outcome = if creates.contains(operation) { "ok" } else { "BlobNotFound" };
            assert_eq!(perform(&world, operation, "absent", Preconditions::default()).await, outcome, "{operation}");
            let (world, _) = self::world().await;
            let outcome = if creates.contains(operation) { "NotPresent" } else { "BlobNotFound" };
            assert_eq!(perform(&world, operation, "absent", with_lease(Some(A))).await, outcome, "{operation}");
        }
    });
}

#[test]
fn a_blob_of_uncommitted_blocks_counts_as_absent_and_can_be_leased() {
    run(async {
        let (world, _) = world().await;
        world.stage("u", "x", b"x").await.unwrap();
        let any = Conditions { if_none_match: Some(ETagCondition::ANY), ..Conditions::default() };
        let only_if_absent = || Preconditions { conditions: any, ..Preconditions::default() };
        assert_eq!(name_of(&world.stage_with("u", "x", b"x", Some(A)).await), "NotPresent");
        let acquire = LeaseOperation::Acquire { proposed: Some(A), fresh: A, duration: LeaseDuration::Infinite };
        world.lease("u", acquire).await.unwrap();
        assert_eq!(name_of(&world.stage("u", "x", b"x").await), "IdMissing");
        world.stage_with("u", "x", b"x", Some(A)).await.unwrap();
        let with_both = Preconditions { lease_id: Some(A), ..only_if_absent() };
        world.commit_with("u", &["ux"], with_both.clone()).await.unwrap();
        let lease = world.properties("u").await.unwrap().lease.unwrap();
        assert_eq!(lease.state, LeaseState::Leased, "the lease stays");
        world.commit_with("u", &["cx"], with_both).await.unwrap();
        let id_missing = world.commit_with("u", &["cx"], only_if_absent()).await;
        assert_eq!(name_of(&id_missing), "IdMissing");
        for (operation, blob) in OPERATIONS.iter().filter(|(operation, _)| operation.starts_with("set")) {
            world.stage("v", "x", b"x").await.unwrap();
            let _ = blob;
            assert_eq!(perform(&world, operation, "v", Preconditions::default()).await, "BlobNotFound", "{operation}");
        }
    });
}

#[test]
fn exactly_one_of_many_creates_wins() {
    run(async {
        let (world, _) = world().await;
        let any = Conditions { if_none_match: Some(ETagCondition::ANY), ..Conditions::default() };
        let create = || {
            let pre = Preconditions { conditions: any, ..Preconditions::default() };
            world.put_with("one", b"x", pre, blob::block_blob::NewBlob::default())
        };
        let (a, b, c) = tokio::join!(create(), create(), create());
        let outcomes: Vec<String> = [a, b, c].iter().map(|outcome: &Outcome<Written>| name_of(outcome)).collect();
        assert_eq!(outcomes.iter().filter(|outcome| *outcome == "ok").count(), 1, "{outcomes:?}");
        assert_eq!(outcomes.iter().filter(|outcome| *outcome == "BlobAlreadyExists").count(), 2, "{outcomes:?}");
    });
}
