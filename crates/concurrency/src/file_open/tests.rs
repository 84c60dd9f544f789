//! An SMB create against caches, share modes, the REST lease and a pending delete.

use proptest::prelude::*;

use super::{FileOpen, OpenRefusal, OpenRequest, OpenStep, OpenedFile, Reach, break_for_open, decide_open};
use crate::{
    delete_pending::{DeleteIntent, DeleteMark, Obstacles},
    lease::LeaseState,
    oplock::{CacheGrant, Caching, OplockLevel},
    share_mode::{Access, OpenMode, ShareMode},
    table_test::check_cells,
};

const CACHINGS: [Caching; 5] = [Caching::None, Caching::R, Caching::Rh, Caching::Rw, Caching::Rwh];
const ON_CLOSE: DeleteIntent = DeleteIntent { delete_on_close: true, delete_access: true };
const FREE: OpenedFile = OpenedFile { delete_mark: DeleteMark::CLEAR, lease: LeaseState::Available };

fn request(access: Access, share: ShareMode) -> OpenRequest {
    let mode = OpenMode { access, share };
    OpenRequest { mode, reach: Reach::File, overwrites: false, delete: DeleteIntent::default() }
}

fn show(request: OpenRequest, open: FileOpen) -> String {
    let told = break_for_open(request, open).map(|found| format!("{:?}", found.to.caching()));
    match (decide_open(request, FREE, [open]), told) {
        (Ok(OpenStep::Proceed(_)), None) => "ok".into(),
        (Ok(OpenStep::ProceedAndBreak(_)), Some(to)) => format!("ok, {to}"),
        (Ok(OpenStep::BreakAndWait), Some(to)) => format!("wait, {to}"),
        (Err(OpenRefusal::SharingViolation), _) => "violation".into(),
        other => format!("{other:?}"),
    }
}

#[test]
fn a_second_open_against_the_cache_of_the_first() {
    // The first open reads; `conflict` is an open to write where the first shares reading only.
    let table = "
second open      | None      | R         | Rh       | Rw        | Rwh
attributes only  | ok        | ok        | ok       | ok        | ok
descriptor only  | ok        | ok        | ok       | ok        | ok
owner only       | ok        | ok        | ok       | wait, R   | wait, Rh
read             | ok        | ok        | ok       | wait, R   | wait, Rh
overwrite        | ok        | ok, None  | ok, None | wait, None | wait, None
delete on close  | ok        | ok        | wait, R  | wait, R   | wait, Rh
conflict         | violation | violation | wait, R  | violation | wait, Rw
read, same key   | ok        | ok        | ok       | ok        | ok
conflict, same key | violation | violation | violation | violation | violation
";
    let cells = check_cells(table, 1, |row, heading| {
        let caching = CACHINGS.into_iter().find(|caching| format!("{caching:?}") == heading).unwrap();
        let shares = if row[0].starts_with("conflict") { ShareMode::READ } else { ShareMode::ALL };
        let first = FileOpen {
            mode: OpenMode { access: Access::READ, share: shares },
            cache: CacheGrant::Lease(caching),
            same_lease_key: row[0].ends_with("same key"),
        };
        let second = match row[0] {
            "attributes only" => OpenRequest { reach: Reach::Attributes, ..request(Access::NONE, ShareMode::ALL) },
            "descriptor only" => OpenRequest { reach: Reach::Descriptor, ..request(Access::NONE, ShareMode::ALL) },
            "owner only" => request(Access::NONE, ShareMode::ALL),
            "delete on close" => OpenRequest { delete: ON_CLOSE, ..request(Access::DELETE, ShareMode::ALL) },
            "overwrite" => OpenRequest { overwrites: true, ..request(Access::WRITE, ShareMode::ALL) },
            text if text.starts_with("read") => request(Access::READ, ShareMode::ALL),
            _ => request(Access::WRITE, ShareMode::ALL),
        };
        show(second, first)
    });
    assert_eq!(cells, 45);
}

#[test]
fn a_second_open_against_the_oplock_of_the_first() {
    let table = "
second open           | Two      | Exclusive  | Batch
attributes only       | ok       | ok         | ok
descriptor only       | ok       | wait, R    | wait, R
read                  | ok       | wait, R    | wait, R
overwrite             | ok, None | wait, None | wait, None
attributes, overwrite | ok, None | wait, None | wait, None
delete on close       | ok       | wait, R    | wait, R
";
    let cells = check_cells(table, 1, |row, heading| {
        let levels = [OplockLevel::Two, OplockLevel::Exclusive, OplockLevel::Batch];
        let level = levels.into_iter().find(|level| format!("{level:?}") == heading).unwrap();
        let mode = OpenMode { access: Access::READ, share: ShareMode::ALL };
        let first = FileOpen { mode, cache: CacheGrant::Oplock(level), same_lease_key: false };
        let looks = request(Access::NONE, ShareMode::ALL);
        let second = match row[0] {
            "attributes only" => OpenRequest { reach: Reach::Attributes, ..looks },
            "descriptor only" => OpenRequest { reach: Reach::Descriptor, ..looks },
            "read" => request(Access::READ, ShareMode::ALL),
            "overwrite" => OpenRequest { overwrites: true, ..request(Access::WRITE, ShareMode::ALL) },
            "delete on close" => OpenRequest { delete: ON_CLOSE, ..request(Access::DELETE, ShareMode::ALL) },
            _ => OpenRequest { reach: Reach::Attributes, overwrites: true, ..request(Access::WRITE, ShareMode::ALL) },
        };
        show(second, first)
    });
    assert_eq!(cells, 18);
}

#[test]
fn the_rest_lease_refuses_writers_and_no_share_mode() {
    // The open shares nothing: the lease does not count as an open that writes.
    let table = "
access | Available | Leased    | Broken
none   | ok        | ok        | ok
read   | ok        | ok        | ok
write  | ok        | violation | ok
delete | ok        | violation | ok
";
    let cells = check_cells(table, 1, |row, heading| {
        let access = match row[0] {
            "none" => Access::NONE,
            "read" => Access::READ,
            "write" => Access::WRITE,
            _ => Access::DELETE,
        };
        let states = [LeaseState::Available, LeaseState::Leased, LeaseState::Broken];
        let lease = states.into_iter().find(|state| format!("{state:?}") == heading).unwrap();
        match decide_open(request(access, ShareMode::NONE), OpenedFile { lease, ..FREE }, []) {
            Ok(OpenStep::Proceed(_)) => "ok".into(),
            Err(OpenRefusal::SharingViolation) => "violation".into(),
            other => format!("{other:?}"),
        }
    });
    assert_eq!(cells, 12);
}

#[test]
fn a_pending_delete_is_told_before_anything_else() {
    let intent = DeleteIntent { delete_on_close: false, delete_access: true };
    let delete_mark = DeleteMark::CLEAR.set_disposition(true, intent, Obstacles::default()).unwrap();
    let file = OpenedFile { delete_mark, lease: LeaseState::Leased };
    let second = request(Access::ALL, ShareMode::NONE);
    assert_eq!(decide_open(second, file, []), Err(OpenRefusal::DeletePending));
}

#[test]
fn an_open_to_delete_on_close_is_marked_when_it_proceeds() {
    let open = OpenRequest { delete: ON_CLOSE, ..request(Access::DELETE, ShareMode::ALL) };
    let Ok(OpenStep::Proceed(mark)) = decide_open(open, FREE, []) else { panic!("it proceeds") };
    assert!(mark.check_rest().is_err());
}

fn any_open() -> impl Strategy<Value = FileOpen> {
    let caching = prop::sample::select(CACHINGS.to_vec());
    (any::<[bool; 3]>(), any::<[bool; 3]>(), caching, any::<bool>()).prop_map(|(a, s, caching, same_lease_key)| {
        FileOpen {
            mode: OpenMode {
                access: Access { read: a[0], write: a[1], delete: a[2] },
                share: ShareMode { read: s[0], write: s[1], delete: s[2] },
            },
            cache: CacheGrant::Lease(caching),
            same_lease_key,
        }
    })
}

proptest! {
    #[test]
    fn an_open_never_goes_on_beside_one_that_it_conflicts_with(
        opens in prop::collection::vec(any_open(), 0..6),
        new in any_open(),
        overwrites in any::<bool>(),
    ) {
        let request = OpenRequest { overwrites, ..request(new.mode.access, new.mode.share) };
        match decide_open(request, FREE, opens.iter().copied()) {
            Ok(OpenStep::Proceed(_) | OpenStep::ProceedAndBreak(_)) => {
                prop_assert!(opens.iter().all(|open| !open.mode.conflicts_with(new.mode)));
                let cached_write = |open: &FileOpen| open.cache.caching().has_write() && !open.same_lease_key;
                let sees_data = overwrites || !new.mode.access.is_none();
                prop_assert!(!sees_data || !opens.iter().any(cached_write), "no cached write is missed");
            }
            Ok(OpenStep::BreakAndWait) => {
                let waits = |open: &FileOpen| break_for_open(request, *open).is_some_and(|found| found.wait);
                prop_assert!(opens.iter().any(waits), "waiting has something to wait for");
            }
            Err(refusal) => {
                prop_assert_eq!(refusal, OpenRefusal::SharingViolation);
                prop_assert!(opens.iter().any(|open| open.mode.conflicts_with(new.mode)));
            }
        }
    }
}
