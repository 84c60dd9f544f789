//! The decisions that stand in front of every request allocate nothing.

use allocation_counter::measure;
use concurrency::{
    append_condition::AppendConditions,
    conditions::{Conditions, ETagCondition, Resource, WriteRule},
    gate::{Guarded, Guards},
    lease::{Grant, Leasable, Lease, LeaseDuration, LeaseId, LeaseOperation, LeaseRecord, LeaseUse},
    sequence_number::{SequenceNumber, SequenceNumberConditions},
    share_mode::{Access, OpenMode, ShareMode, check_open},
    table_etag::{EntityETag, EntityOperation, IfMatch},
    tag_condition::{Dialect, TagExpression},
    visibility::{Message, PopReceipt, PutTimes, VisibilityTimeout},
};
use types::{ETag, ServiceVersion, Timestamp};

const NOW: Timestamp = Timestamp::from_seconds(1_000);
const A: LeaseId = LeaseId::from_u128(1);

fn allocations(decision: impl FnOnce()) -> u64 {
    measure(decision).count_total
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| drop(std::hint::black_box(vec![1_u8]))), 1);
}

#[test]
fn conditions_allocate_nothing() {
    let resource = Resource::Present { etag: ETag::new(7), last_modified: NOW };
    let found = allocations(|| {
        let list = ETagCondition::parse("\"0x0000000000000001\", W/\"x\", 0x0000000000000007").unwrap();
        let read = Conditions { if_none_match: Some(list), if_modified_since: Some(NOW), ..Conditions::default() };
        assert!(read.check_read(ServiceVersion::NEWEST, resource).is_err());
        let write = Conditions { if_match: Some(ETagCondition::ANY), ..Conditions::default() };
        assert!(write.check_write(WriteRule::EXISTING, resource, false).is_ok());
        assert!(write.check_source(resource).is_ok());
        assert!(AppendConditions { position: Some(1), max_size: Some(2) }.check(1, 1).is_ok());
        let sequence = SequenceNumberConditions { equal: Some(SequenceNumber::MAX), ..Default::default() };
        assert!(sequence.check(SequenceNumber::MAX).is_ok());
    });
    assert_eq!(found, 0);
}

#[test]
fn leases_allocate_nothing() {
    let lease = Lease::from_record(LeaseRecord::Leased { id: A, grant: Grant::Infinite }, NOW);
    let resource = Resource::Present { etag: ETag::new(7), last_modified: NOW };
    let found = allocations(|| {
        let id = LeaseId::parse("{00000000-0000-0000-0000-000000000001}").unwrap();
        assert!(lease.check(Leasable::Blob, LeaseUse::Write, Some(id), NOW).is_ok());
        assert!(lease.check(Leasable::Blob, LeaseUse::Write, None, NOW).is_err());
        assert!(lease.apply(Leasable::Blob, LeaseOperation::Break { period: None }, NOW).is_ok());
        let acquire = LeaseOperation::Acquire { proposed: None, fresh: A, duration: LeaseDuration::Infinite };
        assert!(lease.apply(Leasable::Blob, acquire, NOW).is_err());
        let guards = Guards { version: ServiceVersion::NEWEST, lease_id: Some(id), conditions: Conditions::default() };
        let target = Guarded { kind: Leasable::Blob, resource, lease };
        assert!(guards.admit_read(target, NOW).is_ok());
        assert!(guards.admit_write(WriteRule::CREATING, LeaseUse::Write, target, NOW).is_ok());
    });
    assert_eq!(found, 0);
}

#[test]
fn entities_messages_tags_and_opens_allocate_nothing() {
    let etag = EntityETag::new(NOW);
    let text = etag.to_string();
    let tags = TagExpression::parse("a = '1' AND (b > '2' OR c <> '3')", Dialect::Condition).unwrap();
    let open = OpenMode { access: Access::READ, share: ShareMode::READ };
    let found = allocations(|| {
        let if_match = IfMatch::parse(Some(&text), false).unwrap();
        assert!(EntityOperation::Merge.decide(if_match, Some(etag)).is_ok());
        let times = PutTimes::new(ServiceVersion::NEWEST, None, None).unwrap();
        let message = Message::put(times, PopReceipt::new(1), NOW);
        let got = message.get(VisibilityTimeout::for_get(None).unwrap(), PopReceipt::new(2), NOW).unwrap();
        assert!(got.delete(PopReceipt::new(2), NOW).is_ok());
        assert!(tags.holds(None, |_| Some("1")));
        assert!(check_open([open, open], open).is_ok());
    });
    assert_eq!(found, 0);
}
