//! Part a.10 of the semantics: the order of checks, and what a held lease does to `If-None-Match: *`.

use types::{ETag, ServiceVersion, Timestamp};

use super::{Guarded, Guards};
use crate::{
    conditions::{Conditions, ETagCondition, Resource, WriteRule},
    lease::{Grant, Leasable, Lease, LeaseId, LeaseRecord, LeaseUse},
    table_test::check_cells,
};

const A: LeaseId = LeaseId::from_u128(1);
const B: LeaseId = LeaseId::from_u128(2);
const NOW: Timestamp = Timestamp::from_seconds(1000);

fn lease(state: &str) -> Lease {
    let record = match state {
        "Leased(A)" => LeaseRecord::Leased { id: A, grant: Grant::Infinite },
        "Breaking(A)" => LeaseRecord::Breaking { id: A, break_at: Timestamp::from_seconds(1010) },
        "Broken(A)" => LeaseRecord::Broken { id: A },
        _ => LeaseRecord::Available { last_held: None },
    };
    Lease::from_record(record, Timestamp::EPOCH)
}

fn decide(usage: LeaseUse, headers: &str, id: &str, state: &str) -> String {
    let stale = ETagCondition::parse("0x1").unwrap();
    let conditions = match headers {
        "INM:*" => Conditions { if_none_match: Some(ETagCondition::ANY), ..Conditions::default() },
        "IM stale" => Conditions { if_match: Some(stale), ..Conditions::default() },
        _ => Conditions::default(),
    };
    let lease_id = [("A", A), ("B", B)].into_iter().find(|(name, _)| *name == id).map(|(_, id)| id);
    let guards = Guards { version: ServiceVersion::NEWEST, lease_id, conditions };
    let resource = match state {
        "Absent" => Resource::Absent,
        _ => Resource::Present { etag: ETag::new(7), last_modified: Timestamp::from_seconds(900) },
    };
    let target = Guarded { kind: Leasable::Blob, resource, lease: lease(state) };
    if usage != LeaseUse::Read {
        match guards.admit_write(WriteRule::CREATING, usage, target, NOW) {
            Ok(_) => "ok".into(),
            Err(refusal) => format!("{refusal:?}").replace("Condition(ConditionNotMet(IfMatch))", "ConditionNotMet"),
        }
    } else {
        match guards.admit_read(target, NOW) {
            Ok(()) => "ok".into(),
            Err(refusal) => format!("{refusal:?}").replace("Condition(ConditionNotMet(IfMatch))", "ConditionNotMet"),
        }
    }
}

#[test]
fn a10_creating_writes() {
    let table = "
headers  | id | Absent            | Available         | Leased(A)                | Breaking(A)       | Broken(A)
none     |    | ok                | ok                | Lease(IdMissing)         | Lease(IdMissing)  | ok
none     | A  | Lease(NotPresent) | Lease(NotPresent) | ok                       | ok                | Lease(Lost)
INM:*    |    | ok                | Condition(AlreadyExists) | Lease(IdMissing)  | Lease(IdMissing)  | Condition(AlreadyExists)
INM:*    | A  | Lease(NotPresent) | Lease(NotPresent) | ok                       | ok                | Lease(Lost)
INM:*    | B  | Lease(NotPresent) | Lease(NotPresent) | Lease(IdMismatch)        | Lease(IdMismatch) | Lease(NotPresent)
IM stale |    | ConditionNotMet   | ConditionNotMet   | Lease(IdMissing)         | Lease(IdMissing)  | ConditionNotMet
IM stale | A  | Lease(NotPresent) | Lease(NotPresent) | ConditionNotMet          | ConditionNotMet   | Lease(Lost)
";
    let cells = check_cells(table, 2, |row, state| decide(LeaseUse::Write, row[0], row[1], state));
    assert_eq!(cells, 35);
}

#[test]
fn a10_the_holder_of_a_lease_does_not_copy_in_spite_of_if_none_match() {
    let table = "
headers  | id | Absent            | Available                | Leased(A)                | Broken(A)
none     | A  | Lease(NotPresent) | Lease(NotPresent)        | ok                       | Lease(Lost)
INM:*    |    | ok                | Condition(AlreadyExists) | Lease(IdMissing)         | Condition(AlreadyExists)
INM:*    | A  | Lease(NotPresent) | Lease(NotPresent)        | Condition(AlreadyExists) | Lease(Lost)
";
    let cells = check_cells(table, 2, |row, state| decide(LeaseUse::CopyInto, row[0], row[1], state));
    assert_eq!(cells, 12);
}

#[test]
fn a10_reads() {
    let table = "
headers  | id | Absent              | Available         | Leased(A)         | Broken(A)
none     |    | Condition(NotFound) | ok                | ok                | ok
none     | A  | Condition(NotFound) | Lease(NotPresent) | ok                | Lease(Lost)
none     | B  | Condition(NotFound) | Lease(NotPresent) | Lease(IdMismatch) | Lease(NotPresent)
IM stale |    | Condition(NotFound) | ConditionNotMet   | ConditionNotMet   | ConditionNotMet
IM stale | A  | Condition(NotFound) | Lease(NotPresent) | ConditionNotMet   | Lease(Lost)
INM:*    |    | Condition(Unsatisfiable) | Condition(Unsatisfiable) | Condition(Unsatisfiable) | Condition(Unsatisfiable)
";
    let cells = check_cells(table, 2, |row, state| decide(LeaseUse::Read, row[0], row[1], state));
    assert_eq!(cells, 24);
}

#[test]
fn an_operation_on_what_does_not_exist_is_not_found_before_anything_else() {
    let guards = Guards { version: ServiceVersion::NEWEST, lease_id: Some(A), conditions: Conditions::default() };
    let target = Guarded { kind: Leasable::Blob, resource: Resource::Absent, lease: Lease::default() };
    let refused = guards.admit_write(WriteRule::EXISTING, LeaseUse::Write, target, NOW).unwrap_err();
    assert_eq!(format!("{refused:?}"), "Condition(NotFound)");
}
