//! REST against an SMB open, every cell: 8 share modes x 11 operations x delete pending x range locks x caches.
//!
//! The expected values are the tables of the documentation, written out; what is computed here is only which table
//! speaks first: delete pending, then sharing, then locks, then caches.

use concurrency::{
    delete_pending::DeleteIntent,
    lease::LeaseState,
    oplock::{CacheGrant, Caching, OplockLevel},
    range_lock::{ByteRange, LockKind},
    rest_open::{RestOperation, RestRefusal},
};
use file::opens::{ClaimRefusal, Locking, NotOpened, Notice, Opens, Turn};

use crate::support::{FREE, NOW, Session, a_file, asking, caching, claim, open};

const OPERATIONS: [(&str, RestOperation); 11] = [
    ("List Files", RestOperation::ListFiles),
    ("Get Properties", RestOperation::GetProperties),
    ("Get Metadata", RestOperation::GetMetadata),
    ("Get File", RestOperation::GetFile),
    ("List Ranges", RestOperation::ListRanges),
    ("Set Properties", RestOperation::SetProperties),
    ("Set Metadata", RestOperation::SetMetadata),
    ("Put Range", RestOperation::PutRange),
    ("Create File", RestOperation::CreateFile),
    ("Delete File", RestOperation::DeleteFile),
    ("Lease File", RestOperation::LeaseFile),
];

/// x = SharingViolation, by what the handle shares. It reads.
const SHARING: &str = "
operation      | none | R | W | D | RW | RD | WD | RWD
List Files     |      |   |   |   |    |    |    |
Get Properties |      |   |   |   |    |    |    |
Get Metadata   |      |   |   |   |    |    |    |
Get File       | x    |   | x | x |    |    | x  |
List Ranges    | x    |   | x | x |    |    | x  |
Set Properties | x    | x |   | x |    | x  |    |
Set Metadata   | x    | x |   | x |    | x  |    |
Put Range      | x    | x |   | x |    | x  |    |
Create File    | x    | x | x | x | x  | x  |    |
Delete File    | x    | x | x | x | x  | x  | x  | x
Lease File     | x    | x | x | x | x  | x  | x  |
";

/// x = FileLockConflict, by a lock of the handle on a part of the file.
const LOCKS: &str = "
operation      | no lock | shared | exclusive
List Files     |         |        |
Get Properties |         |        |
Get Metadata   |         |        |
Get File       |         |        | x
List Ranges    |         |        |
Set Properties |         | x      | x
Set Metadata   |         | x      | x
Put Range      |         | x      | x
Create File    |         | x      | x
Delete File    |         |        |
Lease File     |         |        |
";

/// What happens to the cache where sharing and locks allow the operation. Lease File is ours: it reads.
const CACHES: &str = "
operation      | no cache | R       | RH        | RW        | RWH       | II      | Exclusive | Batch
List Files     | ok       | ok      | ok        | ok        | ok        | ok      | ok        | ok
Get Properties | ok       | ok      | ok        | wait R    | wait RH   | ok      | wait II   | wait II
Get Metadata   | ok       | ok      | ok        | wait R    | wait RH   | ok      | wait II   | wait II
Get File       | ok       | ok      | ok        | wait R    | wait RH   | ok      | wait II   | wait II
List Ranges    | ok       | ok      | ok        | wait R    | wait RH   | ok      | wait II   | wait II
Set Properties | ok       | go none | go none   | wait none | wait none | go none | wait none | wait none
Set Metadata   | ok       | go none | go none   | wait none | wait none | go none | wait none | wait none
Put Range      | ok       | go none | go none   | wait none | wait none | go none | wait none | wait none
Create File    | ok       | go none | wait none | wait none | wait none | go none | wait none | wait none
Lease File     | ok       | ok      | ok        | wait R    | wait RH   | ok      | wait II   | wait II
";

/// What happens where sharing forbids it, Delete File included: a cached handle may be closed already.
const CONFLICTS: &str = "
cache     | outcome
no cache  | SharingViolation
R         | SharingViolation
RH        | wait R
RW        | SharingViolation
RWH       | wait RW
II        | SharingViolation
Exclusive | SharingViolation
Batch     | wait II
";

const CACHES_HELD: [(&str, CacheGrant); 8] = [
    ("no cache", CacheGrant::Lease(Caching::None)),
    ("R", CacheGrant::Lease(Caching::R)),
    ("RH", CacheGrant::Lease(Caching::Rh)),
    ("RW", CacheGrant::Lease(Caching::Rw)),
    ("RWH", CacheGrant::Lease(Caching::Rwh)),
    ("II", CacheGrant::Oplock(OplockLevel::Two)),
    ("Exclusive", CacheGrant::Oplock(OplockLevel::Exclusive)),
    ("Batch", CacheGrant::Oplock(OplockLevel::Batch)),
];

fn cell<'a>(table: &'a str, row: &str, column: &str) -> &'a str {
    let mut lines = table.trim().lines().map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    let at = lines.next().unwrap().iter().position(|heading| *heading == column).unwrap();
    lines.find(|line| line[0] == row).unwrap_or_else(|| panic!("no row {row}"))[at]
}

fn shown(grant: CacheGrant) -> &'static str {
    match grant {
        CacheGrant::Lease(Caching::None) | CacheGrant::Oplock(OplockLevel::None) => "none",
        CacheGrant::Lease(Caching::R) => "R",
        CacheGrant::Lease(Caching::Rh) => "RH",
        CacheGrant::Lease(Caching::Rw) => "RW",
        CacheGrant::Lease(Caching::Rwh) => "RWH",
        CacheGrant::Oplock(OplockLevel::Two) => "II",
        CacheGrant::Oplock(OplockLevel::Exclusive) => "Exclusive",
        CacheGrant::Oplock(OplockLevel::Batch) => "Batch",
    }
}

/// The outcome of the operation, and of the same operation once the client has answered.
fn expected(operation: &str, shares: &str, pending: bool, lock: &str, cache: &str) -> (String, &'static str) {
    let conflict = cell(SHARING, operation, shares) == "x";
    let locked = cell(LOCKS, operation, lock) == "x";
    let cache = if cache == "II" && lock != "no lock" { "no cache" } else { cache };
    if operation == "List Files" {
        return ("ok".into(), "ok");
    }
    if pending {
        return ("SMBDeletePending".into(), "SMBDeletePending");
    }
    if conflict {
        return (cell(CONFLICTS, cache, "outcome").into(), "SharingViolation");
    }
    if locked {
        return ("FileLockConflict".into(), "FileLockConflict");
    }
    (cell(CACHES, operation, cache).into(), "ok")
}

fn refused(refusal: ClaimRefusal) -> &'static str {
    match refusal {
        ClaimRefusal::Rest(RestRefusal::DeletePending) => "SMBDeletePending",
        ClaimRefusal::Rest(RestRefusal::SharingViolation) => "SharingViolation",
        ClaimRefusal::Rest(RestRefusal::FileLockConflict) => "FileLockConflict",
        ClaimRefusal::Rest(RestRefusal::ReadOnlyAttribute) => "ReadOnlyAttribute",
        ClaimRefusal::TooManyWaiters(_) => "TooManyWaiters",
    }
}

fn actual(
    operation: RestOperation,
    shares: &str,
    pending: bool,
    lock: &str,
    cache: CacheGrant,
) -> (String, &'static str) {
    let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
    let mut asking = caching(asking(&place, &session, "R", shares), cache);
    asking.request.delete = DeleteIntent { delete_on_close: false, delete_access: true };
    let handle = open(&opens, &asking);
    assert_eq!(handle.caching().caching(), cache.caching(), "alone, it gets what it asks for");
    if lock != "no lock" {
        let kind = if lock == "shared" { LockKind::Shared } else { LockKind::Exclusive };
        let locked = handle.lock(&[(ByteRange::new(100, 50).unwrap(), kind)], false, NOW).unwrap();
        assert!(matches!(locked, Locking::Locked));
        let lost = matches!(session.take_notices().as_slice(), [Notice::Break { must_acknowledge: false, .. }]);
        assert_eq!(
            lost,
            cache == CacheGrant::Oplock(OplockLevel::Two),
            "level II goes with the first lock, also its own"
        );
    }
    if pending {
        assert!(matches!(handle.set_disposition(true, FREE, NOW).unwrap(), Turn::Granted(())));
    }
    let first = claim(&opens, &place, operation);
    let notices = session.take_notices();
    let to = match notices.as_slice() {
        [] => None,
        [Notice::Break { key, from, to, .. }] => {
            assert_eq!(*from, cache);
            Some((*key, *to))
        }
        other => panic!("told more than once: {other:?}"),
    };
    let outcome = match (&first, to) {
        (Ok(Turn::Granted(_)), None) => "ok".into(),
        (Ok(Turn::Granted(_)), Some((_, to))) => format!("go {}", shown(to)),
        (Ok(Turn::Wait(ticket)), Some((_, to))) => {
            assert!(!ticket.is_rung());
            format!("wait {}", shown(to))
        }
        (Err(refusal), None) => refused(*refusal).into(),
        other => format!("{other:?}"),
    };
    if let (Ok(Turn::Wait(ticket)), Some((key, to))) = (&first, to) {
        opens.acknowledge(place.file(), key, to, NOW).unwrap();
        assert!(ticket.is_rung());
    }
    drop(first);
    let second = match claim(&opens, &place, operation) {
        Ok(Turn::Granted(_)) => "ok",
        Ok(Turn::Wait(_)) => "wait",
        Err(refusal) => refused(refusal),
    };
    (outcome, second)
}

#[test]
fn rest_against_an_open_in_every_state() {
    let (mut cells, mut wrong) = (0, Vec::new());
    for (name, operation) in OPERATIONS {
        for shares in ["none", "R", "W", "D", "RW", "RD", "WD", "RWD"] {
            for pending in [false, true] {
                for lock in ["no lock", "shared", "exclusive"] {
                    for (cache_name, cache) in CACHES_HELD {
                        cells += 1;
                        let expected = expected(name, shares, pending, lock, cache_name);
                        let found = actual(operation, shares, pending, lock, cache);
                        if found != expected {
                            let case = format!("{name}, shares {shares}, {pending}, {lock}, {cache_name}");
                            wrong.push(format!("{case}: expected {expected:?}, found {found:?}"));
                        }
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {cells} cells differ:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(cells, 11 * 8 * 2 * 3 * 8);
}

#[test]
fn opens_under_the_rest_lease_of_the_file() {
    // x = sharing violation, by what the open accesses; its share mode does not matter.
    let table = "
lease     | none | R | W | D | RW | RD | WD | RWD
Available |      |   |   |   |    |    |    |
Leased    |      |   | x | x | x  | x  | x  | x
Expired   |      |   |   |   |    |    |    |
Breaking  |      |   | x | x | x  | x  | x  | x
Broken    |      |   |   |   |    |    |    |
";
    let leases =
        [LeaseState::Available, LeaseState::Leased, LeaseState::Expired, LeaseState::Breaking, LeaseState::Broken];
    for lease in leases {
        for access in ["none", "R", "W", "D", "RW", "RD", "WD", "RWD"] {
            for shares in ["none", "R", "RWD"] {
                let (opens, session) = (Opens::default(), Session::new(1));
                let mut asking = asking(&a_file(9), &session, access, shares);
                asking.lease = lease;
                let found = match opens.open(&asking, NOW) {
                    Ok(Turn::Granted(_)) => "",
                    Err(NotOpened::Refused(concurrency::file_open::OpenRefusal::SharingViolation)) => "x",
                    other => panic!("{other:?}"),
                };
                assert_eq!(found, cell(table, &format!("{lease:?}"), access), "{lease:?} {access} {shares}");
            }
        }
    }
}

#[test]
fn lease_file_against_the_access_of_handles() {
    for (access, ok) in [
        ("", true),
        ("R", true),
        ("W", false),
        ("D", false),
        ("RW", false),
        ("RD", false),
        ("WD", false),
        ("RWD", false),
    ] {
        let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
        let _handle = open(&opens, &asking(&place, &session, access, "RWD"));
        assert_eq!(claim(&opens, &place, RestOperation::LeaseFile).is_ok(), ok, "{access}");
    }
}

#[test]
fn a_read_only_file_refuses_without_an_open() {
    let opens = Opens::default();
    for (name, operation) in OPERATIONS {
        let refuses = ["Set Properties", "Set Metadata", "Put Range", "Create File", "Delete File"].contains(&name);
        let asked = crate::support::request(operation);
        let found = opens.claim(a_file(9).file(), asked, true, NOW).map_err(refused).map(|_| ());
        assert_eq!(found, if refuses { Err("ReadOnlyAttribute") } else { Ok(()) }, "{name}");
    }
}
