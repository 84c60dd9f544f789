//! Closing, marking and removing; List Handles and Force Close; caches of several handles; bounds; nothing that stays.

use concurrency::{
    delete_pending::{MarkRefusal, Obstacles},
    durable::Kind,
    file_open::OpenRefusal,
    oplock::{CacheGrant, Caching, OplockLevel},
    range_lock::{ByteRange, Io},
    rest_open::{RestOperation, RestRefusal},
};
use file::opens::{
    Asking, CacheKey, Census, ClaimRefusal, Closed, Handle, HandleClosed, HandleId, HandleScope, IoRefusal, Keeping,
    LeaseKey, NotMarked, NotOpened, Notice, Opens, Place, Removal, Turn,
};
use types::{Inode, UnitId, limits};

use crate::support::{
    FREE, NOW, ROOT, SHARE, Session, a_file, asking, at, caching, claim, claimed, on_close, open, root, tentative,
    ticket,
};

const PENDING: ClaimRefusal = ClaimRefusal::Rest(RestRefusal::DeletePending);

fn removal(closed: Closed) -> Removal {
    match closed {
        Closed::Remove(removal) => removal,
        other => panic!("not removed: {other:?}"),
    }
}

fn is_hidden(opens: &Opens, place: &Place) -> bool {
    opens.hidden(SHARE, ROOT).contains(&place.file().inode)
}

#[test]
fn a_marked_file_is_pending_until_its_remover_has_spoken() {
    for removed in [true, false] {
        let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
        let (one, other) =
            (open(&opens, &asking(&place, &session, "D", "RWD")), open(&opens, &asking(&place, &session, "R", "RWD")));
        assert_eq!(claim(&opens, &place, RestOperation::GetFile).err(), None);
        one.set_disposition(true, FREE, NOW).unwrap();
        let pending = |when: &str| {
            for operation in [RestOperation::GetProperties, RestOperation::DeleteFile, RestOperation::CreateFile] {
                assert_eq!(claim(&opens, &place, operation).err(), Some(PENDING), "{when}");
            }
            let opened = opens.open(&asking(&place, &session, "R", "RWD"), NOW).map(|_| ());
            assert_eq!(opened, Err(NotOpened::Refused(OpenRefusal::DeletePending)), "{when}");
            assert!(is_hidden(&opens, &place), "{when}");
        };
        pending("marked");
        assert!(matches!(one.close(FREE), Closed::Kept));
        pending("one handle is left");
        let removal = removal(other.close(FREE));
        pending("being removed");
        assert_eq!(removal.name(), Some((ROOT, "file-9".into())));
        if removed {
            removal.removed()
        } else {
            removal.kept()
        }
        assert!(!is_hidden(&opens, &place));
        assert_eq!(opens.census(), Census::default());
        assert!(claim(&opens, &place, RestOperation::GetFile).is_ok(), "now the rows decide");
    }
}

#[test]
fn clearing_the_mark_keeps_the_file() {
    let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
    let handle = open(&opens, &asking(&place, &session, "D", "RWD"));
    handle.set_disposition(true, FREE, NOW).unwrap();
    assert!(is_hidden(&opens, &place));
    handle.set_disposition(false, FREE, NOW).unwrap();
    assert!(!is_hidden(&opens, &place));
    assert!(claim(&opens, &place, RestOperation::GetFile).is_ok());
    assert!(matches!(handle.close(FREE), Closed::Kept));
}

#[test]
fn who_may_not_delete_sets_no_mark() {
    let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
    let reader = open(&opens, &asking(&place, &session, "R", "RWD"));
    let refused = reader.set_disposition(true, FREE, NOW).map(|_| ());
    assert_eq!(refused, Err(NotMarked::Refused(MarkRefusal::AccessDenied)));
    let deleter = open(&opens, &asking(&place, &session, "D", "RWD"));
    let full = Obstacles { not_empty: true, ..FREE };
    let refused = deleter.set_disposition(true, full, NOW).map(|_| ());
    assert_eq!(refused, Err(NotMarked::Refused(MarkRefusal::DirectoryNotEmpty)));
    assert!(!is_hidden(&opens, &place));
}

#[test]
fn delete_on_close_acts_at_the_last_close() {
    let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
    let deleting = open(&opens, &on_close(asking(&place, &session, "D", "RWD")));
    let other = open(&opens, &asking(&place, &session, "R", "RWD"));
    assert!(is_hidden(&opens, &place), "as soon as the handle is open");
    assert!(matches!(deleting.close(FREE), Closed::Kept));
    assert!(opens.open(&asking(&place, &session, "R", "RWD"), NOW).is_err());
    removal(other.close(FREE)).removed();
    assert_eq!(opens.census(), Census::default());
}

#[test]
fn a_tentative_open_is_refused_when_the_removal_was_decided_meanwhile() {
    for (removed, confirmed) in [(None, false), (Some(true), false), (Some(false), true)] {
        let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
        let deleting = open(&opens, &on_close(asking(&place, &session, "D", "RWD")));
        let late = tentative(&opens, &asking(&place, &session, "R", "RWD"));
        let removal = removal(deleting.close(FREE));
        let unsaid = match removed {
            Some(true) => {
                removal.removed();
                None
            }
            Some(false) => {
                removal.kept();
                None
            }
            None => Some(removal),
        };
        let handle = late.confirm();
        assert_eq!(handle.is_ok(), confirmed, "{removed:?}");
        drop(handle);
        if let Some(removal) = unsaid {
            removal.removed();
        }
        assert_eq!(opens.census(), Census::default(), "{removed:?}");
    }
}

#[test]
fn a_removal_that_nobody_finished_is_found() {
    let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
    // The holder is gone: its handle is dropped, not closed.
    drop(open(&opens, &on_close(asking(&place, &session, "D", "RWD"))));
    assert_eq!(claim(&opens, &place, RestOperation::GetFile).err(), Some(PENDING));
    let removal = opens.unfinished().unwrap();
    assert_eq!((removal.file(), removal.name()), (place.file(), Some((ROOT, "file-9".into()))));
    // The remover fails.
    drop(removal);
    assert_eq!(claim(&opens, &place, RestOperation::GetFile).err(), Some(PENDING));
    opens.unfinished().unwrap().removed();
    assert!(opens.unfinished().is_none());
    assert_eq!(opens.census(), Census::default());
}

fn ids(handles: &[Handle]) -> Vec<u64> {
    handles.iter().map(|handle| handle.id().number()).collect()
}

#[test]
fn handles_are_listed_in_pages() {
    let (opens, session) = (Opens::default(), Session::new(42));
    let docs = root().child(Inode::new(20), "docs");
    let deep = docs.clone().child(Inode::new(21), "deep").child(Inode::new(22), "a.txt");
    let other = a_file(9);
    let mut handles = Vec::new();
    for place in [&docs, &deep, &other, &deep, &root(), &deep] {
        let key = [u8::try_from(place.file().inode.number()).unwrap(); 16];
        let lease = LeaseKey { account: UnitId::new(1), client: [1; 16], key };
        let asking = Asking { lease_key: Some(lease), ..asking(place, &session, "RW", "RWD") };
        handles.push(open(&opens, &caching(asking, CacheGrant::Lease(Caching::Rh))));
    }
    let ids = ids(&handles);
    let list = |place: &Place, recursive, limit| {
        let (mut after, mut found, mut pages) = (None, Vec::new(), 0);
        loop {
            let page = opens.list_handles(HandleScope { file: place.file(), recursive }, after, limit);
            found.extend(page.handles.iter().map(|handle| handle.id.number()));
            pages += 1;
            after = page.next;
            if after.is_none() {
                return (found, pages);
            }
        }
    };
    assert_eq!(list(&deep, false, 2), (vec![ids[1], ids[3], ids[5]], 2));
    assert_eq!(list(&docs, false, 10), (vec![ids[0]], 1));
    assert_eq!(list(&docs, true, 10), (vec![ids[0], ids[1], ids[3], ids[5]], 1));
    assert_eq!(list(&root(), true, 4), (ids.clone(), 2));
    assert_eq!(list(&a_file(77), true, 4), (vec![], 1));

    let (left, number) = (handles.remove(3), ids[3]);
    let keeping =
        Keeping { account: UnitId::new(1), until: at(3000), kind: Kind::Durable, keeper: Session::new(42).owner };
    left.leave(&keeping).unwrap();
    let back = opens.take_back(deep.file(), HandleId::new(number), &Session::new(43).owner, at(2000)).unwrap();
    let page = opens.list_handles(HandleScope { file: deep.file(), recursive: false }, Some(handles[1].id()), 1);
    let info = &page.handles[0];
    assert_eq!((info.path.as_str(), info.file, info.parent), ("docs/deep/a.txt", Inode::new(22), Some(Inode::new(21))));
    assert_eq!((info.session, info.client_name.as_str()), (43, "client-43"));
    assert_eq!(info.client, ([10, 0, 0, 1], 4000).into());
    assert_eq!((info.opened_at, info.reconnected_at), (NOW, Some(at(2000))));
    assert!(info.access.read && info.access.write && !info.access.delete);
    let of_root = opens.list_handles(HandleScope { file: root().file(), recursive: false }, None, 10).handles;
    assert_eq!((of_root[0].path.as_str(), of_root[0].parent), ("", None));
    back.close(FREE);
}

#[test]
fn a_tentative_open_is_not_listed() {
    let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
    let opening = tentative(&opens, &asking(&place, &session, "R", "RWD"));
    for recursive in [true, false] {
        assert!(opens.list_handles(HandleScope { file: place.file(), recursive }, None, 10).handles.is_empty());
    }
    assert_eq!(opens.force_close(HandleScope { file: place.file(), recursive: true }, opening.id()).closed, 0);
    assert!(opening.confirm().is_ok());
}

#[test]
fn handles_are_closed_by_force() {
    let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
    let exclusive = open(&opens, &asking(&place, &session, "RW", ""));
    let elsewhere = HandleScope { file: a_file(10).file(), recursive: false };
    assert_eq!(opens.force_close(elsewhere, exclusive.id()).closed, 0, "not of this file");
    assert!(claim(&opens, &place, RestOperation::GetFile).is_err());
    let scope = HandleScope { file: root().file(), recursive: true };
    assert_eq!(opens.force_close(scope, exclusive.id()).closed, 1);
    assert_eq!(session.take_notices(), [Notice::Closed { file: place.file(), handle: exclusive.id() }]);
    assert!(claim(&opens, &place, RestOperation::GetFile).is_ok());
    assert_eq!(opens.force_close(scope, exclusive.id()).closed, 0, "only once");
    let io = exclusive.begin_io(ByteRange::WHOLE_FILE, Io::Read, NOW).map(|_| ());
    assert_eq!(io, Err(IoRefusal::Closed(HandleClosed)));
    assert!(matches!(exclusive.close(FREE), Closed::Already));

    let many: Vec<_> = (0..5).map(|_| open(&opens, &asking(&place, &session, "D", "RWD"))).collect();
    many[0].set_disposition(true, FREE, NOW).unwrap();
    let first = opens.force_close_all(scope, None, 3);
    assert_eq!((first.closed, first.removals.len()), (3, 0));
    let mut second = opens.force_close_all(scope, first.next, 3);
    assert_eq!((second.closed, second.next, second.removals.len()), (2, None, 1));
    second.removals.remove(0).removed();
    drop(many);
    assert_eq!(opens.census(), Census::default());
}

fn lease(session: &Session, place: &Place, key: u8, wanted: Caching) -> file::opens::Asking {
    let mut asking = caching(asking(place, session, "RW", "RWD"), CacheGrant::Lease(wanted));
    asking.lease_key = Some(LeaseKey { account: SHARE, client: [1; 16], key: [key; 16] });
    asking
}

#[test]
fn handles_under_one_lease_key_share_a_cache() {
    let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
    let one = open(&opens, &lease(&session, &place, 1, Caching::R));
    let two = open(&opens, &lease(&session, &place, 1, Caching::Rwh));
    assert_eq!(one.caching(), CacheGrant::Lease(Caching::Rwh), "raised by the second handle");
    assert!(session.take_notices().is_empty(), "nobody breaks its own cache");
    assert!(one.begin_io(ByteRange::WHOLE_FILE, Io::Write, NOW).unwrap().granted().is_some());

    let other = Session::new(2);
    let waiting = ticket(opens.open(&lease(&other, &place, 2, Caching::Rwh), NOW).unwrap());
    let key = CacheKey::Lease(LeaseKey { account: SHARE, client: [1; 16], key: [1; 16] });
    let notices = session.take_notices();
    let [Notice::Break { key: told, to, must_acknowledge, .. }] = notices.as_slice() else { panic!("{notices:?}") };
    assert_eq!((*told, *to, *must_acknowledge), (key, CacheGrant::Lease(Caching::Rh), true));
    assert!(matches!(one.close(FREE), Closed::Kept));
    assert!(!waiting.is_rung(), "the other handle of the key is still open");
    opens.acknowledge(place.file(), key, CacheGrant::Lease(Caching::Rh), NOW).unwrap();
    assert!(waiting.is_rung());
    let third = open(&opens, &lease(&other, &place, 2, Caching::Rwh));
    assert_eq!(third.caching(), CacheGrant::Lease(Caching::Rh), "nobody caches writes beside others");

    let write = two.begin_io(ByteRange::WHOLE_FILE, Io::Write, NOW).unwrap();
    assert!(matches!(write, Turn::Granted(_)), "handles are not in the way of a write");
    let told = other.take_notices();
    assert!(matches!(told.as_slice(), [Notice::Break { to: CacheGrant::Lease(Caching::None), .. }]), "{told:?}");
    assert!(session.take_notices().is_empty());
}

#[test]
fn a_second_open_breaks_a_batch_oplock_and_gets_level_two() {
    let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
    let batch = caching(asking(&place, &session, "RW", "RWD"), CacheGrant::Oplock(OplockLevel::Batch));
    let first = open(&opens, &batch);
    let waiting = ticket(opens.open(&batch, NOW).unwrap());
    let level_two = CacheGrant::Oplock(OplockLevel::Two);
    opens.acknowledge(place.file(), CacheKey::Oplock(first.id()), level_two, NOW).unwrap();
    assert!(waiting.is_rung());
    let second = open(&opens, &batch);
    assert_eq!((first.caching(), second.caching()), (level_two, level_two));
}

#[test]
fn an_open_of_attributes_breaks_nothing() {
    let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
    let cached = open(&opens, &lease(&session, &place, 1, Caching::Rwh));
    let _attributes = open(&opens, &asking(&place, &session, "", "RWD"));
    assert_eq!((cached.caching(), session.take_notices()), (CacheGrant::Lease(Caching::Rwh), vec![]));
}

#[test]
fn a_file_has_2000_handles_and_the_root_10000() {
    let (opens, session) = (Opens::default(), Session::new(1));
    for (place, limit) in [(a_file(9), limits::HANDLES_PER_FILE_MAX), (root(), limits::HANDLES_ON_ROOT_MAX)] {
        let asking = asking(&place, &session, "R", "RWD");
        let mut handles: Vec<_> = (0..limit).map(|_| open(&opens, &asking)).collect();
        let refused = opens.open(&asking, NOW).map(|_| ());
        assert_eq!(refused, Err(NotOpened::TooManyHandles { limit }));
        drop(handles.pop());
        assert!(opens.open(&asking, NOW).is_ok());
    }
    assert_eq!(opens.census(), Census::default());
}

#[test]
fn waiters_are_bounded() {
    let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
    let _under_way = claimed(&opens, &place, RestOperation::GetFile);
    let exclusive = asking(&place, &session, "R", "");
    let mut tickets: Vec<_> =
        (0..limits::WAITERS_PER_FILE_MAX).map(|_| ticket(opens.open(&exclusive, NOW).unwrap())).collect();
    assert!(matches!(opens.open(&exclusive, NOW), Err(NotOpened::TooManyWaiters(_))));
    assert!(matches!(claim(&opens, &place, RestOperation::GetFile), Err(ClaimRefusal::TooManyWaiters(_))));
    tickets.clear();
    assert!(claim(&opens, &place, RestOperation::GetFile).unwrap().granted().is_some());
}

#[test]
fn handles_of_the_process_are_bounded() {
    let (opens, session) = (Opens::default(), Session::new(1));
    let per_file = u64::try_from(limits::HANDLES_PER_FILE_MAX).unwrap();
    let handles: Vec<_> = (0..u64::try_from(limits::HANDLES_MAX).unwrap())
        .map(|n| open(&opens, &asking(&a_file(10 + n / per_file), &session, "R", "RWD")))
        .collect();
    let asking = asking(&a_file(5), &session, "R", "RWD");
    assert_eq!(opens.open(&asking, NOW).map(|_| ()), Err(NotOpened::TooManyOpenFiles));
    assert!(claim(&opens, &a_file(10), RestOperation::GetFile).is_ok(), "REST goes on");
    drop(handles);
    assert!(opens.open(&asking, NOW).is_ok());
    assert_eq!(opens.census(), Census::default());
}

#[test]
fn a_claim_of_a_file_that_nobody_opened_leaves_nothing() {
    let opens = Opens::default();
    let claims: Vec<_> = (10..1010).map(|n| claimed(&opens, &a_file(n), RestOperation::PutRange)).collect();
    assert_eq!(opens.census().files, 1000);
    drop(claims);
    assert_eq!(opens.census(), Census::default());
}
