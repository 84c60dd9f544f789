//! The tables of part (a) of the semantics, cell by cell.

use types::{ServiceVersion, Timestamp};

use super::{
    BreakPeriod, FixedDuration, Grant, Leasable, Lease, LeaseCheckRefusal, LeaseDuration, LeaseId, LeaseOperation,
    LeaseOutcome, LeaseRecord, LeaseRefusal, LeaseState, LeaseUse, check::refuse_while_copying,
};
use crate::table_test::check_cells;

const A: LeaseId = LeaseId::from_u128(0xA);
const B: LeaseId = LeaseId::from_u128(0xB);
const C: LeaseId = LeaseId::from_u128(0xC);
const X: LeaseId = LeaseId::from_u128(0xF);
const NOW: u64 = 1000;

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_seconds(seconds)
}

fn name(id: LeaseId) -> &'static str {
    [(A, "A"), (B, "B"), (C, "C"), (X, "X")].into_iter().find(|(known, _)| *known == id).expect("a known id").1
}

fn fixed(id: LeaseId, seconds: u8, expiry: u64) -> Lease {
    let grant = Grant::Fixed { duration: FixedDuration::new(seconds).unwrap(), expiry: at(expiry) };
    Lease::from_record(LeaseRecord::Leased { id, grant }, at(expiry - u64::from(seconds)))
}

/// Every way to be in the state that a heading names, at the instant `NOW`.
fn leases(heading: &str) -> Vec<Lease> {
    let stored = |record| Lease::from_record(record, at(900));
    match heading {
        "Available" => vec![Lease::default()],
        "Available, A released" => vec![stored(LeaseRecord::Available { last_held: Some(A) })],
        "Leased(A) 60 s" | "Leased(A)" => vec![fixed(A, 60, 1050)],
        "Leased(A) infinite" => vec![stored(LeaseRecord::Leased { id: A, grant: Grant::Infinite })],
        "Breaking(A)" => vec![stored(LeaseRecord::Breaking { id: A, break_at: at(1020) })],
        "Broken(A)" => vec![
            stored(LeaseRecord::Broken { id: A }),
            stored(LeaseRecord::Breaking { id: A, break_at: at(NOW) }),
            stored(LeaseRecord::Breaking { id: A, break_at: at(950) }),
        ],
        "Expired(A)" => vec![fixed(A, 30, 970), fixed(A, 30, NOW)],
        _ => panic!("no such heading: {heading}"),
    }
}

/// The same answer from every lease of a heading, or the differing ones side by side.
fn same(answers: impl Iterator<Item = String>) -> String {
    let mut distinct: Vec<String> = answers.collect();
    distinct.dedup();
    distinct.join(" <> ")
}

fn show(lease: Lease) -> String {
    match (lease.state(at(NOW)), lease.record()) {
        (LeaseState::Available, _) => "Available".into(),
        (LeaseState::Leased, LeaseRecord::Leased { id, grant: Grant::Infinite }) => format!("Leased({})", name(id)),
        (LeaseState::Leased, LeaseRecord::Leased { id, grant: Grant::Fixed { expiry, .. } }) => {
            format!("Leased({}) until {}", name(id), expiry.seconds())
        }
        (LeaseState::Breaking, LeaseRecord::Breaking { id, break_at }) => {
            format!("Breaking({}) until {}", name(id), break_at.seconds())
        }
        (LeaseState::Broken, _) => format!("Broken({})", name(lease.id().unwrap())),
        (LeaseState::Expired, _) => format!("Expired({})", name(lease.id().unwrap())),
        other => panic!("{other:?}"),
    }
}

fn operation(text: &str) -> LeaseOperation {
    let period = |seconds| BreakPeriod::from_seconds(seconds).unwrap();
    let acquire = |proposed, seconds| LeaseOperation::Acquire {
        proposed,
        fresh: X,
        duration: LeaseDuration::from_seconds(seconds).unwrap(),
    };
    match text {
        "acquire, no id" => acquire(None, 30),
        "acquire A" => acquire(Some(A), 30),
        "acquire B" => acquire(Some(B), 30),
        "acquire, no id, infinite" => acquire(None, -1),
        "acquire A, infinite" => acquire(Some(A), -1),
        "acquire B, infinite" => acquire(Some(B), -1),
        "renew A" => LeaseOperation::Renew { id: A },
        "renew B" => LeaseOperation::Renew { id: B },
        "change A to A" => LeaseOperation::Change { id: A, proposed: A },
        "change A to B" => LeaseOperation::Change { id: A, proposed: B },
        "change B to A" => LeaseOperation::Change { id: B, proposed: A },
        "change B to C" => LeaseOperation::Change { id: B, proposed: C },
        "release A" => LeaseOperation::Release { id: A },
        "release B" => LeaseOperation::Release { id: B },
        "break, no period" => LeaseOperation::Break { period: None },
        "break, period 0" => LeaseOperation::Break { period: Some(period(0)) },
        "break, period 10" => LeaseOperation::Break { period: Some(period(10)) },
        "break, period 60" => LeaseOperation::Break { period: Some(period(60)) },
        _ => panic!("no such operation: {text}"),
    }
}

fn lease_operation(kind: Leasable, text: &str, heading: &str) -> String {
    same(leases(heading).into_iter().map(|lease| match lease.apply(kind, operation(text), at(NOW)) {
        Ok(change) => match change.outcome {
            LeaseOutcome::Acquired(id) => {
                assert!(change.lease.is_held_by(id, at(NOW)));
                format!("201 {}", show(change.lease))
            }
            LeaseOutcome::Renewed(id) | LeaseOutcome::Changed(id) => {
                assert!(change.lease.is_held_by(id, at(NOW)));
                format!("200 {}", show(change.lease))
            }
            LeaseOutcome::Released => format!("200 {}", show(change.lease)),
            LeaseOutcome::Broken { seconds_left } => format!("202 {}, time {seconds_left}", show(change.lease)),
        },
        Err(refusal) => lease_code(refusal).into(),
    }))
}

fn lease_code(refusal: LeaseRefusal) -> &'static str {
    match refusal {
        LeaseRefusal::AlreadyPresent => "409 AlreadyPresent",
        LeaseRefusal::IdMismatch => "409 IdMismatch",
        LeaseRefusal::NotPresent => "409 NotPresent",
        LeaseRefusal::BreakingCannotBeAcquired => "409 IsBreakingCannotBeAcquired",
        LeaseRefusal::BreakingCannotBeChanged => "409 IsBreakingCannotBeChanged",
        LeaseRefusal::BrokenCannotBeRenewed => "409 IsBrokenCannotBeRenewed",
        LeaseRefusal::RenewNotSupported
        | LeaseRefusal::FixedDurationNotSupported
        | LeaseRefusal::BreakPeriodNotSupported => "400",
    }
}

fn data_operation(kind: Leasable, text: &str, heading: &str) -> String {
    let (usage, id) = text.split_once(' ').expect("use and id");
    let usage = match usage.trim_end_matches(',') {
        "read" => LeaseUse::Read,
        "write" => LeaseUse::Write,
        "annotate" => LeaseUse::Annotate,
        "delete" => LeaseUse::Delete,
        "copy" => LeaseUse::CopyInto,
        other => panic!("no such use: {other}"),
    };
    let id = match id {
        "with A" => Some(A),
        "with B" => Some(B),
        "no id" => None,
        other => panic!("no such id: {other}"),
    };
    same(leases(heading).into_iter().map(|lease| match lease.admit(kind, usage, id, at(NOW)) {
        Ok(after) if after == lease => "ok".into(),
        Ok(after) => format!("ok, {}", show(after)),
        Err(LeaseCheckRefusal::IdMissing) => "412 IdMissing".into(),
        Err(LeaseCheckRefusal::IdMismatch) => "412 IdMismatch".into(),
        Err(LeaseCheckRefusal::NotPresent) => "412 NotPresent".into(),
        Err(LeaseCheckRefusal::Lost) => "412 Lost".into(),
        Err(LeaseCheckRefusal::InfiniteDurationRequired) => "412 InfiniteRequired".into(),
    }))
}

#[test]
fn a1_reported_properties() {
    let table = "
state              | x-ms-lease-status | x-ms-lease-state | x-ms-lease-duration
Available          | unlocked          | available        | absent
Leased(A) infinite | locked            | leased           | infinite
Leased(A) 60 s     | locked            | leased           | fixed
Expired(A)         | unlocked          | expired          | absent
Breaking(A)        | locked            | breaking         | absent
Broken(A)          | unlocked          | broken           | absent
";
    let cells = check_cells(table, 1, |row, header| {
        same(leases(row[0]).into_iter().map(|lease| {
            let reported = lease.properties(at(NOW));
            match header {
                "x-ms-lease-status" => reported.status().into(),
                "x-ms-lease-state" => reported.state.as_str().into(),
                _ => reported.duration().unwrap_or("absent").into(),
            }
        }))
    });
    assert_eq!(cells, 18);
}

#[test]
fn a2_parameters() {
    for (seconds, valid) in [(-2, false), (-1, true), (0, false), (14, false), (15, true), (60, true), (61, false)] {
        assert_eq!(LeaseDuration::from_seconds(seconds).is_ok(), valid, "duration {seconds}");
    }
    for (seconds, valid) in [(-1, false), (0, true), (60, true), (61, false), (i64::MAX, false)] {
        assert_eq!(BreakPeriod::from_seconds(seconds).is_ok(), valid, "break period {seconds}");
    }
    let id = LeaseId::from_u128(0x1f81_2371_a41d_49e6_b123_f4b5_42e8_51c5);
    for text in [
        "1f812371a41d49e6b123f4b542e851c5",
        "1F812371-A41D-49E6-B123-F4B542E851C5",
        "{1f812371-a41d-49e6-b123-f4b542e851c5}",
        "(1f812371-a41d-49e6-b123-f4b542e851c5)",
    ] {
        assert_eq!(LeaseId::parse(text), Ok(id), "{text}");
    }
    for text in [
        "",
        "{}",
        "()",
        "not a guid",
        "1f812371a41d49e6b123f4b542e851c",
        "1f812371a41d49e6b123f4b542e851c5a",
        "1f812371a41d-49e6-b123-f4b542e851c5-",
        "{1f812371a41d49e6b123f4b542e851c5}",
        "{1f812371-a41d-49e6-b123-f4b542e851c5)",
        "g f812371-a41d-49e6-b123-f4b542e851c5",
        "+f812371a41d49e6b123f4b542e851c5a",
        "äöü12371-a41d-49e6-b123-f4b542e85",
    ] {
        assert!(LeaseId::parse(text).is_err(), "{text}");
    }
    assert_eq!(LeaseId::parse(&id.to_string()), Ok(id));
}

/// Remaining time at `NOW`: 50 s of Leased(A) 60 s, 20 s of Breaking(A).
const A3: &str = "
operation        | Available           | Leased(A) 60 s              | Leased(A) infinite         | Breaking(A)                | Broken(A)                  | Expired(A)
acquire, no id   | 201 Leased(X) until 1030 | 409 AlreadyPresent     | 409 AlreadyPresent         | 409 AlreadyPresent         | 201 Leased(X) until 1030   | 201 Leased(X) until 1030
acquire A        | 201 Leased(A) until 1030 | 201 Leased(A) until 1030 | 201 Leased(A) until 1030 | 409 IsBreakingCannotBeAcquired | 201 Leased(A) until 1030 | 201 Leased(A) until 1030
acquire B        | 201 Leased(B) until 1030 | 409 AlreadyPresent     | 409 AlreadyPresent         | 409 AlreadyPresent         | 201 Leased(B) until 1030   | 201 Leased(B) until 1030
renew A          | 409 IdMismatch      | 200 Leased(A) until 1060    | 200 Leased(A)              | 409 IsBrokenCannotBeRenewed | 409 IsBrokenCannotBeRenewed | 200 Leased(A) until 1030
renew B          | 409 IdMismatch      | 409 IdMismatch              | 409 IdMismatch             | 409 IdMismatch             | 409 IdMismatch             | 409 IdMismatch
change A to A    | 409 NotPresent      | 200 Leased(A) until 1050    | 200 Leased(A)              | 409 IsBreakingCannotBeChanged | 409 NotPresent          | 409 NotPresent
change A to B    | 409 NotPresent      | 200 Leased(B) until 1050    | 200 Leased(B)              | 409 IsBreakingCannotBeChanged | 409 NotPresent          | 409 NotPresent
change B to A    | 409 NotPresent      | 200 Leased(A) until 1050    | 200 Leased(A)              | 409 IdMismatch             | 409 NotPresent             | 409 NotPresent
change B to C    | 409 NotPresent      | 409 IdMismatch              | 409 IdMismatch             | 409 IdMismatch             | 409 NotPresent             | 409 NotPresent
release A        | 409 IdMismatch      | 200 Available               | 200 Available              | 200 Available              | 200 Available              | 200 Available
release B        | 409 IdMismatch      | 409 IdMismatch              | 409 IdMismatch             | 409 IdMismatch             | 409 IdMismatch             | 409 IdMismatch
break, no period | 409 NotPresent      | 202 Breaking(A) until 1050, time 50 | 202 Broken(A), time 0 | 202 Breaking(A) until 1020, time 20 | 202 Broken(A), time 0 | 202 Broken(A), time 0
break, period 0  | 409 NotPresent      | 202 Broken(A), time 0       | 202 Broken(A), time 0      | 202 Broken(A), time 0      | 202 Broken(A), time 0      | 202 Broken(A), time 0
break, period 10 | 409 NotPresent      | 202 Breaking(A) until 1010, time 10 | 202 Breaking(A) until 1010, time 10 | 202 Breaking(A) until 1010, time 10 | 202 Broken(A), time 0 | 202 Broken(A), time 0
break, period 60 | 409 NotPresent      | 202 Breaking(A) until 1050, time 50 | 202 Breaking(A) until 1060, time 60 | 202 Breaking(A) until 1020, time 20 | 202 Broken(A), time 0 | 202 Broken(A), time 0
";

#[test]
fn a3_lease_operations_by_state() {
    // Blobs and containers (a.3); shares and share snapshots follow the same table (a.8).
    for kind in [Leasable::Blob, Leasable::Container, Leasable::Share, Leasable::ShareSnapshot] {
        let cells = check_cells(A3, 1, |row, heading| lease_operation(kind, row[0], heading));
        assert_eq!(cells, 90);
    }
}

#[test]
fn a3_after_a_release_every_operation_behaves_as_in_available() {
    for row in A3.trim().lines().skip(1).filter_map(|line| line.split('|').next()) {
        let operation = row.trim();
        assert_eq!(
            lease_operation(Leasable::Blob, operation, "Available, A released"),
            lease_operation(Leasable::Blob, operation, "Available"),
            "{operation}"
        );
    }
}

#[test]
fn a3_time_passes() {
    let finite = fixed(A, 60, 1050);
    let breaking = Lease::from_record(LeaseRecord::Breaking { id: A, break_at: at(1020) }, at(NOW));
    let infinite = Lease::from_record(LeaseRecord::Leased { id: A, grant: Grant::Infinite }, at(NOW));
    for (lease, instant, state) in [
        (finite, 1049, LeaseState::Leased),
        (finite, 1050, LeaseState::Expired),
        (breaking, 1019, LeaseState::Breaking),
        (breaking, 1020, LeaseState::Broken),
        (infinite, 9_999_999_999, LeaseState::Leased),
        (Lease::default(), 9_999_999_999, LeaseState::Available),
    ] {
        assert_eq!(lease.state(at(instant)), state, "{lease:?} at {instant}");
    }
}

/// `annotate` is the rule for tags and tier [U]: the id is needed while locked, an ended lease stays.
const A4: &str = "
request          | Available      | Available, A released | Leased(A)      | Breaking(A)    | Broken(A)     | Expired(A)
write with A     | 412 NotPresent | 412 Lost              | ok             | ok             | 412 Lost      | 412 Lost
write with B     | 412 NotPresent | 412 NotPresent        | 412 IdMismatch | 412 IdMismatch | 412 NotPresent | 412 NotPresent
write, no id     | ok             | ok                    | 412 IdMissing  | 412 IdMissing  | ok, Available | ok, Available
read with A      | 412 NotPresent | 412 Lost              | ok             | ok             | 412 Lost      | 412 Lost
read with B      | 412 NotPresent | 412 NotPresent        | 412 IdMismatch | 412 IdMismatch | 412 NotPresent | 412 NotPresent
read, no id      | ok             | ok                    | ok             | ok             | ok            | ok
annotate with A  | 412 NotPresent | 412 Lost              | ok             | ok             | 412 Lost      | 412 Lost
annotate with B  | 412 NotPresent | 412 NotPresent        | 412 IdMismatch | 412 IdMismatch | 412 NotPresent | 412 NotPresent
annotate, no id  | ok             | ok                    | 412 IdMissing  | 412 IdMissing  | ok            | ok
";

#[test]
fn a4_data_operations_on_blobs_by_state() {
    let cells = check_cells(A4, 1, |row, heading| data_operation(Leasable::Blob, row[0], heading));
    assert_eq!(cells, 54);
}

#[test]
fn a4_a_creating_write_on_an_absent_blob() {
    for (version, id, allowed) in [
        (ServiceVersion::new(2013, 8, 15), Some(A), false),
        (ServiceVersion::new(2013, 8, 15), None, true),
        (ServiceVersion::new(2012, 2, 12), Some(A), true),
        (ServiceVersion::new(2012, 2, 12), None, true),
    ] {
        let expected = if allowed { Ok(()) } else { Err(LeaseCheckRefusal::NotPresent) };
        assert_eq!(Lease::check_absent(version, id), expected, "{version} {id:?}");
    }
}

#[test]
fn a5_what_deletes_and_copies_do() {
    let table = "
request        | Available      | Available, A released | Leased(A) 60 s       | Leased(A) infinite | Breaking(A)          | Broken(A)      | Expired(A)
delete with A  | 412 NotPresent | 412 Lost              | ok, Available        | ok, Available      | ok, Available        | 412 Lost       | 412 Lost
delete with B  | 412 NotPresent | 412 NotPresent        | 412 IdMismatch       | 412 IdMismatch     | 412 IdMismatch       | 412 NotPresent | 412 NotPresent
delete, no id  | ok             | ok, Available         | 412 IdMissing        | 412 IdMissing      | 412 IdMissing        | ok, Available  | ok, Available
copy with A    | 412 NotPresent | 412 Lost              | 412 InfiniteRequired | ok                 | 412 InfiniteRequired | 412 Lost       | 412 Lost
copy with B    | 412 NotPresent | 412 NotPresent        | 412 IdMismatch       | 412 IdMismatch     | 412 IdMismatch       | 412 NotPresent | 412 NotPresent
copy, no id    | ok             | ok                    | 412 IdMissing        | 412 IdMissing      | 412 IdMissing        | ok, Available  | ok, Available
";
    let cells = check_cells(table, 1, |row, heading| data_operation(Leasable::Blob, row[0], heading));
    assert_eq!(cells, 42);
}

#[test]
fn a5_an_overwrite_with_the_id_keeps_id_and_expiry() {
    let lease = fixed(A, 60, 1050);
    assert_eq!(lease.admit(Leasable::Blob, LeaseUse::Write, Some(A), at(NOW)), Ok(lease));
}

#[test]
fn a5_the_former_holder_cannot_renew_or_release_after_somebody_wrote() {
    for lease in leases("Expired(A)").into_iter().chain(leases("Broken(A)")) {
        let written = lease.admit(Leasable::Blob, LeaseUse::Write, None, at(NOW)).unwrap();
        for operation in [LeaseOperation::Renew { id: A }, LeaseOperation::Release { id: A }] {
            assert_eq!(written.apply(Leasable::Blob, operation, at(NOW)), Err(LeaseRefusal::IdMismatch));
        }
        let lost = written.check(Leasable::Blob, LeaseUse::Write, Some(A), at(NOW));
        assert_eq!(lost, Err(LeaseCheckRefusal::Lost), "the id is remembered");
    }
}

#[test]
fn a5_nothing_happens_to_the_destination_of_a_running_copy() {
    assert!(refuse_while_copying(true).is_err());
    assert!(refuse_while_copying(false).is_ok());
}

#[test]
fn a6_containers() {
    // Get Properties, Get Metadata and Get ACL read; Set Metadata and Set ACL write; only Delete Container needs the id.
    let table = "
request        | Available      | Available, A released | Leased(A)      | Breaking(A)    | Broken(A)      | Expired(A)
read with A    | 412 NotPresent | 412 Lost              | ok             | ok             | 412 Lost       | 412 Lost
read with B    | 412 NotPresent | 412 NotPresent        | 412 IdMismatch | 412 IdMismatch | 412 NotPresent | 412 NotPresent
read, no id    | ok             | ok                    | ok             | ok             | ok             | ok
write with A   | 412 NotPresent | 412 Lost              | ok             | ok             | 412 Lost       | 412 Lost
write with B   | 412 NotPresent | 412 NotPresent        | 412 IdMismatch | 412 IdMismatch | 412 NotPresent | 412 NotPresent
write, no id   | ok             | ok                    | ok             | ok             | ok             | ok
delete with A  | 412 NotPresent | 412 Lost              | ok, Available  | ok, Available  | 412 Lost       | 412 Lost
delete with B  | 412 NotPresent | 412 NotPresent        | 412 IdMismatch | 412 IdMismatch | 412 NotPresent | 412 NotPresent
delete, no id  | ok             | ok, Available         | 412 IdMissing  | 412 IdMissing  | ok, Available  | ok, Available
";
    let cells = check_cells(table, 1, |row, heading| data_operation(Leasable::Container, row[0], heading));
    assert_eq!(cells, 54);
}

#[test]
fn a6_an_expired_container_lease_can_be_renewed_after_a_write() {
    for lease in leases("Expired(A)") {
        let written = lease.admit(Leasable::Container, LeaseUse::Write, None, at(NOW)).unwrap();
        assert!(written.apply(Leasable::Container, LeaseOperation::Renew { id: A }, at(NOW)).is_ok());
    }
}

#[test]
fn a7_lease_operations_on_files() {
    let table = "
operation                | Available          | Leased(A) infinite    | Broken(A)
acquire, no id, infinite | 201 Leased(X)      | 409 AlreadyPresent    | 201 Leased(X)
acquire A, infinite      | 201 Leased(A)      | 201 Leased(A)         | 201 Leased(A)
acquire B, infinite      | 201 Leased(B)      | 409 AlreadyPresent    | 201 Leased(B)
acquire A                | 400                | 400                   | 400
renew A                  | 400                | 400                   | 400
change A to B            | 409 NotPresent     | 200 Leased(B)         | 409 NotPresent
change B to A            | 409 NotPresent     | 200 Leased(A)         | 409 NotPresent
change B to C            | 409 NotPresent     | 409 IdMismatch        | 409 NotPresent
release A                | 409 IdMismatch     | 200 Available         | 200 Available
release B                | 409 IdMismatch     | 409 IdMismatch        | 409 IdMismatch
break, no period         | 409 NotPresent     | 202 Broken(A), time 0 | 202 Broken(A), time 0
break, period 0          | 400                | 400                   | 400
break, period 10         | 400                | 400                   | 400
";
    let cells = check_cells(table, 1, |row, heading| lease_operation(Leasable::File, row[0], heading));
    assert_eq!(cells, 39);
}

#[test]
fn a7_data_operations_on_files() {
    let table = "
request        | Available      | Available, A released | Leased(A) infinite | Broken(A)
write with A   | 412 NotPresent | 412 Lost              | ok                 | 412 Lost
write with B   | 412 NotPresent | 412 NotPresent        | 412 IdMismatch     | 412 NotPresent
write, no id   | ok             | ok                    | 412 IdMissing      | ok
copy with A    | 412 NotPresent | 412 Lost              | ok                 | 412 Lost
copy, no id    | ok             | ok                    | 412 IdMissing      | ok
delete with A  | 412 NotPresent | 412 Lost              | ok, Available      | 412 Lost
delete, no id  | ok             | ok, Available         | 412 IdMissing      | ok, Available
read with A    | 412 NotPresent | 412 Lost              | ok                 | 412 Lost
read with B    | 412 NotPresent | 412 NotPresent        | 412 IdMismatch     | 412 NotPresent
read, no id    | ok             | ok                    | ok                 | ok
";
    let cells = check_cells(table, 1, |row, heading| data_operation(Leasable::File, row[0], heading));
    assert_eq!(cells, 40);
}

#[test]
fn a8_data_operations_on_shares_and_share_snapshots() {
    // Set Properties, Set Metadata and Set ACL write; Get operations are guards.
    let table = "
request        | Available      | Available, A released | Leased(A)      | Breaking(A)    | Broken(A)      | Expired(A)
read with A    | 412 NotPresent | 412 Lost              | ok             | ok             | 412 Lost       | 412 Lost
read with B    | 412 NotPresent | 412 NotPresent        | 412 IdMismatch | 412 IdMismatch | 412 NotPresent | 412 NotPresent
read, no id    | ok             | ok                    | ok             | ok             | ok             | ok
write with A   | 412 NotPresent | 412 Lost              | ok             | ok             | 412 Lost       | 412 Lost
write with B   | 412 NotPresent | 412 NotPresent        | 412 IdMismatch | 412 IdMismatch | 412 NotPresent | 412 NotPresent
write, no id   | ok             | ok                    | 412 IdMissing  | 412 IdMissing  | ok             | ok
delete with A  | 412 NotPresent | 412 Lost              | ok, Available  | ok, Available  | 412 Lost       | 412 Lost
delete with B  | 412 NotPresent | 412 NotPresent        | 412 IdMismatch | 412 IdMismatch | 412 NotPresent | 412 NotPresent
delete, no id  | ok             | ok, Available         | 412 IdMissing  | 412 IdMissing  | ok, Available  | ok, Available
";
    for kind in [Leasable::Share, Leasable::ShareSnapshot] {
        let cells = check_cells(table, 1, |row, heading| data_operation(kind, row[0], heading));
        assert_eq!(cells, 54);
    }
}

#[test]
fn the_time_left_is_rounded_up() {
    let lease = fixed(A, 60, 1050);
    let just_after = Timestamp::from_ticks(at(NOW).ticks() + 1);
    let broken = lease.apply(Leasable::Blob, LeaseOperation::Break { period: None }, just_after).unwrap();
    assert_eq!(broken.outcome, LeaseOutcome::Broken { seconds_left: 50 });
}
