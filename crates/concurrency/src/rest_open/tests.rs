//! The tables of part (e) of the semantics, cell by cell.

use proptest::prelude::*;

use super::{
    FileInUse, RestOperation, RestRefusal, RestRequest, RestStep, SmbOpen, break_for_rest, check_open_under_lease,
    decide_rest,
};
use crate::{
    delete_pending::{DeleteIntent, DeleteMark, Obstacles},
    lease::LeaseState,
    oplock::{CacheGrant, Caching},
    range_lock::{ByteRange, LockKind, LockOwner, RangeLock, RangeLocks},
    share_mode::{Access, OpenMode, ShareMode},
    table_test::check_cells,
};

const OPERATIONS: [(&str, RestOperation); 14] = [
    ("List Files", RestOperation::ListFiles),
    ("Get Properties", RestOperation::GetProperties),
    ("Get Metadata", RestOperation::GetMetadata),
    ("Get", RestOperation::GetFile),
    ("List Ranges", RestOperation::ListRanges),
    ("Set Props", RestOperation::SetProperties),
    ("Set Meta", RestOperation::SetMetadata),
    ("Put Range", RestOperation::PutRange),
    ("Create", RestOperation::CreateFile),
    ("Delete", RestOperation::DeleteFile),
    ("Lease", RestOperation::LeaseFile),
    ("Rename from", RestOperation::RenameSource),
    ("Rename onto", RestOperation::RenameDestination),
    ("Copy onto", RestOperation::CopyDestination),
];

fn operation(name: &str) -> RestOperation {
    OPERATIONS.into_iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no such operation: {name}")).1
}

fn request(operation: RestOperation) -> RestRequest {
    RestRequest { operation, range: None, ignores_read_only: false }
}

fn share(text: &str) -> ShareMode {
    ShareMode { read: text.contains("read"), write: text.contains("write"), delete: text.contains("delete") }
}

fn access(text: &str) -> Access {
    Access { read: text.contains("read"), write: text.contains("write"), delete: text.contains("delete") }
}

fn open(access: Access, share: ShareMode, caching: Caching) -> SmbOpen {
    SmbOpen { mode: OpenMode { access, share }, cache: CacheGrant::Lease(caching) }
}

fn decide(request: RestRequest, opens: &[SmbOpen]) -> Result<RestStep, RestRefusal> {
    let file = FileInUse { delete_mark: DeleteMark::default(), read_only: false, locks: &RangeLocks::default() };
    decide_rest(request, file, opens.iter().copied())
}

#[test]
fn e1_access_a_rest_call_stands_for() {
    let table = "
operation      | access
List Files     | nothing
Get Properties | nothing
Get Metadata   | nothing
Get            | read
List Ranges    | read
Set Props      | write
Set Meta       | write
Put Range      | write
Create         | write, delete
Delete         | delete
Lease          | read, write, delete
Rename from    | delete
Rename onto    | write, delete
Copy onto      | write, delete
";
    let cells = check_cells(table, 1, |row, _| {
        let found = operation(row[0]).momentary_open();
        let shares = if row[0] == "Lease" { ShareMode::READ } else { ShareMode::ALL };
        assert_eq!(found.share, shares, "{}", row[0]);
        let words = [("read", found.access.read), ("write", found.access.write), ("delete", found.access.delete)];
        let words: Vec<&str> = words.into_iter().filter(|(_, counts)| *counts).map(|(word, _)| word).collect();
        if words.is_empty() { "nothing".into() } else { words.join(", ") }
    });
    assert_eq!(cells, 14);
}

#[test]
fn e2_failing_operations_by_share_mode() {
    // x = SharingViolation. The SMB handle reads; the last Lease cell depends on its access, see e.3.
    let table = "
handle shares       | Create | Get | Set Props | Set Meta | Delete | Put Range | List Ranges | Lease | List Files | Get Properties | Get Metadata
nothing             | x      | x   | x         | x        | x      | x         | x           | x     |            |                |
read                | x      |     | x         | x        | x      | x         |             | x     |            |                |
write               | x      | x   |           |          | x      |           | x           | x     |            |                |
delete              | x      | x   | x         | x        | x      | x         | x           | x     |            |                |
read, write         | x      |     |           |          | x      |           |             | x     |            |                |
read, delete        | x      |     | x         | x        | x      | x         |             | x     |            |                |
write, delete       |        | x   |           |          | x      |           | x           | x     |            |                |
read, write, delete |        |     |           |          | x      |           |             |       |            |                |
";
    let cells = check_cells(table, 1, |row, heading| {
        let handle = open(Access::READ, share(row[0]), Caching::None);
        match decide(request(operation(heading)), &[handle]) {
            Ok(RestStep::Proceed) => String::new(),
            Err(RestRefusal::SharingViolation) => "x".into(),
            other => format!("{other:?}"),
        }
    });
    assert_eq!(cells, 88);
}

#[test]
fn e3_lease_file_against_the_access_of_handles() {
    // Handles share everything. Acquire is of an unleased file; the other columns are SMB opens.
    let table = "
access              | acquire   | open while Leased | open while Available | open while Broken
none                | ok        | ok                | ok                   | ok
read                | ok        | ok                | ok                   | ok
write               | violation | violation         | ok                   | ok
delete              | violation | violation         | ok                   | ok
read, write         | violation | violation         | ok                   | ok
read, delete        | violation | violation         | ok                   | ok
write, delete       | violation | violation         | ok                   | ok
read, write, delete | violation | violation         | ok                   | ok
";
    let cells = check_cells(table, 1, |row, heading| {
        let access = access(row[0]);
        let ok = match heading {
            "acquire" => {
                decide(request(RestOperation::LeaseFile), &[open(access, ShareMode::ALL, Caching::None)]).is_ok()
            }
            "open while Leased" => check_open_under_lease(LeaseState::Leased, access).is_ok(),
            "open while Available" => check_open_under_lease(LeaseState::Available, access).is_ok(),
            _ => check_open_under_lease(LeaseState::Broken, access).is_ok(),
        };
        if ok { "ok".into() } else { "violation".into() }
    });
    assert_eq!(cells, 32);
}

#[test]
fn e4_pending_delete_refuses_every_operation_on_the_file() {
    let intent = DeleteIntent { delete_on_close: false, delete_access: true };
    let marked = DeleteMark::default().set_disposition(true, intent, Obstacles::default()).unwrap();
    let announced = DeleteMark::default().open(DeleteIntent { delete_on_close: true, ..intent }).unwrap();
    for delete_mark in [marked, announced] {
        let file = FileInUse { delete_mark, read_only: true, locks: &RangeLocks::default() };
        for (name, operation) in OPERATIONS {
            let expected = match operation {
                RestOperation::ListFiles => Ok(RestStep::Proceed),
                _ => Err(RestRefusal::DeletePending),
            };
            assert_eq!(decide_rest(request(operation), file, []), expected, "{name}");
        }
    }
}

#[test]
fn e5_byte_range_locks() {
    // An SMB client that shares everything holds a lock on bytes 0 to 99.
    let table = "
operation       | no lock | shared   | exclusive
Put Range       | ok      | conflict | conflict
Set Props       | ok      | conflict | conflict
Set Meta        | ok      | conflict | conflict
Create          | ok      | conflict | conflict
Copy onto       | ok      | conflict | conflict
Rename onto     | ok      | conflict | conflict
Get             | ok      | ok       | conflict
Get 50 to 149   | ok      | ok       | conflict
Get 100 to 199  | ok      | ok       | ok
Get Properties  | ok      | ok       | ok
Get Metadata    | ok      | ok       | ok
List Ranges     | ok      | ok       | ok
List Files      | ok      | ok       | ok
";
    let cells = check_cells(table, 1, |row, heading| {
        let mut locks = RangeLocks::default();
        let kind = if heading == "shared" { LockKind::Shared } else { LockKind::Exclusive };
        if heading != "no lock" {
            let range = ByteRange::new(0, 100).unwrap();
            locks.lock(&[RangeLock { owner: LockOwner::new(1), range, kind }]).unwrap();
        }
        let (name, range) = match row[0] {
            "Get 50 to 149" => ("Get", ByteRange::new(50, 100)),
            "Get 100 to 199" => ("Get", ByteRange::new(100, 100)),
            name => (name, None),
        };
        let request = RestRequest { range, ..request(operation(name)) };
        let file = FileInUse { delete_mark: DeleteMark::default(), read_only: false, locks: &locks };
        let holder = open(Access::ALL, ShareMode::ALL, Caching::None);
        match decide_rest(request, file, [holder]) {
            Ok(RestStep::Proceed) => "ok".into(),
            Err(RestRefusal::FileLockConflict) => "conflict".into(),
            other => format!("{other:?}"),
        }
    });
    assert_eq!(cells, 39);
}

#[test]
fn e6_delete_needs_no_handle_at_all() {
    let attributes_only = open(Access::NONE, ShareMode::ALL, Caching::None);
    let delete = request(RestOperation::DeleteFile);
    assert_eq!(decide(delete, &[]), Ok(RestStep::Proceed));
    assert_eq!(decide(delete, &[attributes_only]), Err(RestRefusal::SharingViolation));
    let cached = open(Access::READ, ShareMode::ALL, Caching::Rh);
    assert_eq!(decide(delete, &[cached]), Ok(RestStep::BreakAndWait), "the handle may be open in the cache only");
    assert_eq!(decide(delete, &[cached, attributes_only]), Err(RestRefusal::SharingViolation));
}

#[test]
fn e7_read_only_attribute() {
    let table = "
operation      | read-only | changes attributes or ignores it
Create         | refused   | ok
Set Props      | refused   | ok
Set Meta       | refused   | ok
Put Range      | refused   | ok
Delete         | refused   | ok
Copy onto      | refused   | ok
Rename onto    | refused   | ok
Rename from    | ok        | ok
Lease          | ok        | ok
Get            | ok        | ok
Get Properties | ok        | ok
Get Metadata   | ok        | ok
List Ranges    | ok        | ok
List Files     | ok        | ok
";
    let cells = check_cells(table, 1, |row, heading| {
        let file = FileInUse { delete_mark: DeleteMark::default(), read_only: true, locks: &RangeLocks::default() };
        let request = RestRequest { ignores_read_only: heading != "read-only", ..request(operation(row[0])) };
        match decide_rest(request, file, []) {
            Ok(RestStep::Proceed) => "ok".into(),
            Err(RestRefusal::ReadOnlyAttribute) => "refused".into(),
            other => format!("{other:?}"),
        }
    });
    assert_eq!(cells, 28);
}

#[test]
fn e8_caches() {
    // The SMB handle reads and shares everything.
    let table = "
REST           | Rwh            | Rh             | Rw             | R
Get            | wait, Rh       | no             | wait, R        | no
Get Properties | wait, Rh       | no             | wait, R        | no
Get Metadata   | wait, Rh       | no             | wait, R        | no
List Ranges    | wait, Rh       | no             | wait, R        | no
List Files     | no             | no             | no             | no
Put Range      | wait, None     | go on, None    | wait, None     | go on, None
Set Props      | wait, None     | go on, None    | wait, None     | go on, None
Set Meta       | wait, None     | go on, None    | wait, None     | go on, None
Delete         | wait, Rw       | wait, R        | no, violation  | no, violation
Create         | wait, None     | wait, None     | wait, None     | go on, None
";
    let cells = check_cells(table, 1, |row, heading| {
        let caching = [Caching::R, Caching::Rh, Caching::Rw, Caching::Rwh];
        let caching = caching.into_iter().find(|caching| format!("{caching:?}") == heading).unwrap();
        let (operation, handle) = (operation(row[0]), open(Access::READ, ShareMode::ALL, caching));
        let told = break_for_rest(operation, handle).map(|found| (found.wait, found.to.caching()));
        match (told, decide(request(operation), &[handle])) {
            (Some((true, to)), Ok(RestStep::BreakAndWait)) => format!("wait, {to:?}"),
            (Some((false, to)), Ok(RestStep::ProceedAndBreak)) => format!("go on, {to:?}"),
            (None, Ok(RestStep::Proceed)) => "no".into(),
            (None, Err(RestRefusal::SharingViolation)) => "no, violation".into(),
            other => format!("{other:?}"),
        }
    });
    assert_eq!(cells, 40);
}

#[test]
fn e8_a_sharing_conflict_breaks_handle_caching_before_it_is_told() {
    let table = "
handle | Get
None   | violation
R      | violation
Rw     | violation
Rh     | wait, R
Rwh    | wait, Rw
";
    let cells = check_cells(table, 1, |row, heading| {
        let caching = [Caching::None, Caching::R, Caching::Rh, Caching::Rw, Caching::Rwh];
        let caching = caching.into_iter().find(|caching| format!("{caching:?}") == row[0]).unwrap();
        let handle = open(Access::WRITE, ShareMode::NONE, caching);
        match decide(request(operation(heading)), &[handle]) {
            Err(RestRefusal::SharingViolation) => "violation".into(),
            Ok(RestStep::BreakAndWait) => {
                format!("wait, {:?}", break_for_rest(operation(heading), handle).unwrap().to.caching())
            }
            other => format!("{other:?}"),
        }
    });
    assert_eq!(cells, 5);
}

fn any_open() -> impl Strategy<Value = SmbOpen> {
    let caching = prop::sample::select(vec![Caching::None, Caching::R, Caching::Rh, Caching::Rw, Caching::Rwh]);
    (any::<[bool; 3]>(), any::<[bool; 3]>(), caching).prop_map(|(a, s, caching)| {
        open(
            Access { read: a[0], write: a[1], delete: a[2] },
            ShareMode { read: s[0], write: s[1], delete: s[2] },
            caching,
        )
    })
}

proptest! {
    #[test]
    fn a_rest_operation_never_goes_on_against_a_share_mode(
        opens in prop::collection::vec(any_open(), 0..6),
        operation in prop::sample::select(OPERATIONS.map(|(_, operation)| operation).to_vec()),
    ) {
        let step = decide(request(operation), &opens);
        if matches!(step, Ok(RestStep::Proceed | RestStep::ProceedAndBreak)) {
            let access = operation.momentary_open().access;
            for open in opens.iter().filter(|open| !open.mode.access.is_none()) {
                prop_assert!(open.mode.share.read || !access.read);
                prop_assert!(open.mode.share.write || !access.write);
                prop_assert!(open.mode.share.delete || !access.delete);
            }
            if operation == RestOperation::GetFile {
                prop_assert!(opens.iter().all(|open| !open.cache.caching().has_write()), "no cached write is missed");
            }
            if operation == RestOperation::DeleteFile {
                prop_assert!(opens.is_empty());
            }
        }
    }

    #[test]
    fn waiting_always_has_something_to_break(
        opens in prop::collection::vec(any_open(), 0..6),
        operation in prop::sample::select(OPERATIONS.map(|(_, operation)| operation).to_vec()),
    ) {
        let breaks: Vec<_> = opens.iter().filter_map(|open| break_for_rest(operation, *open)).collect();
        match decide(request(operation), &opens) {
            Ok(RestStep::BreakAndWait) => prop_assert!(breaks.iter().any(|found| found.wait)),
            Ok(RestStep::ProceedAndBreak) => prop_assert!(!breaks.is_empty() && breaks.iter().all(|b| !b.wait)),
            Ok(RestStep::Proceed) => prop_assert!(breaks.is_empty()),
            Err(_) => {}
        }
    }
}
