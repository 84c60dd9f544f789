//! Handles whose clients are gone: what stays, who takes it back, what makes it go, and how many there can be.

use concurrency::{
    durable::Kind,
    file_open::OpenRefusal,
    oplock::{CacheGrant, Caching, OplockLevel, Trigger},
    range_lock::{ByteRange, Io, LockKind},
    rest_open::{RestOperation, RestRefusal},
};
use file::opens::{
    Asking, CacheKey, Census, ClaimRefusal, FileKey, Handle, HandleId, HandleScope, Keeping, LeaseKey, Locking,
    NotOpened, Notice, Opens, Place, Turn,
};
use types::{UnitId, limits};

use crate::support::{NOW, Session, a_file, asking, at, caching, claim, on_close, open};

const BATCH: CacheGrant = CacheGrant::Oplock(OplockLevel::Batch);
const RH: CacheGrant = CacheGrant::Lease(Caching::Rh);
const RWH: CacheGrant = CacheGrant::Lease(Caching::Rwh);

fn leased(asking: Asking, key: u8, cache: CacheGrant) -> Asking {
    let lease_key = Some(LeaseKey { account: UnitId::new(1), client: [1; 16], key: [key; 16] });
    Asking { lease_key, ..caching(asking, cache) }
}

fn keeping(session: &Session, seconds: u64) -> Keeping {
    Keeping { account: UnitId::new(1), until: at(seconds), kind: Kind::Durable, keeper: session.owner.clone() }
}

/// Opens, and leaves: the number of the handle.
fn left(opens: &Opens, asking: &Asking, keeper: &Session) -> HandleId {
    let handle = open(opens, asking);
    let id = handle.id();
    handle.leave(&keeping(keeper, 2000)).expect("its client caches it");
    id
}

fn is_there(opens: &Opens, place: &Place, id: HandleId) -> bool {
    let scope = HandleScope { file: place.file(), recursive: false };
    opens.list_handles(scope, None, 100).handles.iter().any(|handle| handle.id == id)
}

fn closed(file: FileKey, handle: HandleId) -> Notice {
    Notice::Closed { file, handle }
}

fn range(offset: u64) -> ByteRange {
    ByteRange::new(offset, 10).unwrap()
}

fn lock(handle: &Handle, offset: u64) {
    let locked = handle.lock(&[(range(offset), LockKind::Exclusive)], false, NOW).unwrap();
    assert!(matches!(locked, Locking::Locked), "{locked:?}");
}

#[test]
fn a_client_that_comes_back_finds_its_locks_and_its_cache() {
    let (opens, session, keeper, place) = (Opens::default(), Session::new(1), Session::new(1), a_file(9));
    let handle = open(&opens, &leased(asking(&place, &session, "RW", "R"), 3, RWH));
    lock(&handle, 0);
    let id = handle.id();
    handle.leave(&keeping(&keeper, 2000)).unwrap();
    assert_eq!((opens.census().orphans, opens.census().locks, opens.census().handles), (1, 1, 1));
    assert!(is_there(&opens, &place, id), "List Handles shows it");
    let refused = claim(&opens, &place, RestOperation::PutRange).map(|_| ());
    assert!(refused.is_ok(), "what it shares is asked of its client, who is gone");
    assert_eq!(opens.census(), Census::default());

    let handle = open(&opens, &leased(asking(&place, &session, "RW", "RWD"), 3, RWH));
    lock(&handle, 0);
    let id = handle.id();
    handle.leave(&keeping(&keeper, 2000)).unwrap();
    let refused = claim(&opens, &place, RestOperation::PutRange).err();
    assert_eq!(refused, Some(ClaimRefusal::Rest(RestRefusal::FileLockConflict)), "a lock is a lock");
    let back = opens.take_back(place.file(), id, &Session::new(2).owner, at(1500)).unwrap();
    assert_eq!((back.id(), back.caching(), opens.census().orphans), (id, RWH, 0));
    assert!(back.unlock(range(0)).is_ok());
    assert!(opens.take_back(place.file(), id, &session.owner, at(1500)).is_err(), "once");
}

#[test]
fn only_who_caches_the_handle_and_owes_no_answer_can_leave() {
    let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
    for cache in
        [CacheGrant::Lease(Caching::Rw), CacheGrant::Oplock(OplockLevel::Exclusive), CacheGrant::Lease(Caching::None)]
    {
        let handle = open(&opens, &caching(asking(&place, &session, "RW", "RWD"), cache));
        assert!(handle.leave(&keeping(&session, 2000)).is_err(), "{cache:?}");
    }
    let handle = open(&opens, &caching(asking(&place, &session, "RW", "RWD"), BATCH));
    let other = asking(&place, &Session::new(2), "R", "RWD");
    let Turn::Wait(ticket) = opens.open(&other, NOW).unwrap() else { panic!("the oplock is broken first") };
    let handle = handle.leave(&keeping(&session, 2000)).unwrap_err();
    drop(handle);
    assert!(ticket.is_rung(), "nobody waits for a client that is gone");
    drop(ticket);
    assert_eq!(opens.census(), Census::default());
}

#[test]
fn an_orphan_gives_way_to_whoever_wants_what_it_holds() {
    // What it caches and shares, what comes, and whether it goes.
    let read = |place: &Place| asking(place, &Session::new(2), "R", "RWD");
    let write = |place: &Place| asking(place, &Session::new(2), "RW", "RWD");
    let look = |place: &Place| asking(place, &Session::new(2), "", "RWD");
    type Comes = fn(&Place) -> Asking;
    let table: [(CacheGrant, &str, Comes, bool); 7] = [
        (BATCH, "RWD", read, true),
        (BATCH, "RWD", look, false),
        (RWH, "RWD", read, true),
        (RH, "RWD", read, false),
        (RH, "RWD", write, false),
        (RH, "R", write, true),
        (RH, "", look, false),
    ];
    for (number, (cache, shares, comes, goes)) in table.into_iter().enumerate() {
        let (opens, session, keeper, place) = (Opens::default(), Session::new(1), Session::new(1), a_file(9));
        let id = left(&opens, &caching(asking(&place, &session, "R", shares), cache), &keeper);
        let other = opens.open(&comes(&place), NOW).unwrap().granted().expect("nobody waits for an orphan");
        let other = other.confirm().unwrap();
        assert_eq!(is_there(&opens, &place, id), !goes, "{number}");
        assert_eq!(keeper.take_notices(), if goes { vec![closed(place.file(), id)] } else { vec![] }, "{number}");
        assert!(session.take_notices().is_empty(), "its client is gone");
        assert_eq!(opens.take_back(place.file(), id, &session.owner, NOW).is_err(), goes, "{number}");
        drop(other);
        assert_eq!(opens.census(), Census::default(), "{number}");
    }
}

#[test]
fn rest_sees_an_orphan_and_takes_what_its_client_only_caches() {
    let goes = |operation, cache, shares: &str| {
        let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
        let id = left(&opens, &caching(asking(&place, &session, "R", shares), cache), &session);
        let claimed = claim(&opens, &place, operation).unwrap();
        assert!(matches!(claimed, Turn::Granted(_)), "nobody waits: {operation:?}");
        !is_there(&opens, &place, id)
    };
    assert!(!goes(RestOperation::GetFile, RH, "RWD"));
    assert!(goes(RestOperation::GetFile, BATCH, "RWD"));
    assert!(goes(RestOperation::GetFile, RH, ""));
    assert!(!goes(RestOperation::GetProperties, RH, ""));
    assert!(goes(RestOperation::PutRange, RH, "RWD"));
    assert!(goes(RestOperation::DeleteFile, RH, "RWD"));
}

#[test]
fn what_is_done_through_other_handles_takes_an_orphan_with_it() {
    let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
    let beside = open(&opens, &asking(&place, &Session::new(2), "RW", "RWD"));
    let id = left(&opens, &leased(asking(&place, &session, "R", "RWD"), 3, RH), &session);
    assert!(matches!(beside.begin_io(range(0), Io::Read, NOW), Ok(Turn::Granted(_))));
    assert!(is_there(&opens, &place, id));
    assert!(matches!(beside.begin_io(range(0), Io::Write, NOW), Ok(Turn::Granted(_))));
    assert!(!is_there(&opens, &place, id));
    let id = left(&opens, &leased(asking(&place, &session, "R", "RWD"), 3, RH), &session);
    lock(&beside, 0);
    assert!(!is_there(&opens, &place, id));
}

#[test]
fn breaks_of_a_shared_lease_are_told_to_the_handle_that_is_there() {
    let (opens, gone, here, place) = (Opens::default(), Session::new(1), Session::new(2), a_file(9));
    let first = open(&opens, &leased(asking(&place, &gone, "R", "RWD"), 3, RWH));
    let second = open(&opens, &leased(asking(&place, &here, "R", "RWD"), 3, RWH));
    let id = first.id();
    first.leave(&keeping(&gone, 2000)).unwrap();
    let other = asking(&place, &Session::new(3), "R", "RWD");
    assert!(matches!(opens.open(&other, NOW).unwrap(), Turn::Wait(_)), "{:?}", Trigger::Read);
    assert_eq!(gone.take_notices(), [closed(place.file(), id)]);
    let notices = here.take_notices();
    let broken = matches!(notices.as_slice(), [Notice::Break { key: CacheKey::Lease(_), .. }]);
    assert!(broken, "{notices:?}");
    drop(second);
}

#[test]
fn an_orphan_ends_when_its_time_is_up() {
    let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
    let id = left(&opens, &caching(asking(&place, &session, "R", ""), BATCH), &session);
    assert_eq!(opens.next_deadline(), Some(at(2000)));
    opens.expire(at(1999));
    assert!(is_there(&opens, &place, id));
    opens.expire(at(2000));
    assert_eq!((opens.census(), session.take_notices()), (Census::default(), vec![closed(place.file(), id)]));

    let id = left(&opens, &caching(asking(&place, &session, "R", ""), BATCH), &session);
    assert!(opens.take_back(place.file(), id, &session.owner, at(2000)).is_err(), "too late, before anybody looked");
    assert_eq!(opens.census(), Census::default());
}

#[test]
fn force_close_closes_an_orphan() {
    let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
    let id = left(&opens, &caching(asking(&place, &session, "R", ""), BATCH), &session);
    assert_eq!(opens.force_close(HandleScope { file: place.file(), recursive: false }, id).closed, 1);
    assert!(opens.take_back(place.file(), id, &session.owner, NOW).is_err());
    assert_eq!(opens.census(), Census::default());
}

#[test]
fn a_file_that_an_orphan_would_delete_is_removed_for_whoever_wants_it() {
    for by_disposition in [false, true] {
        let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
        let asked = caching(asking(&place, &session, "RD", "RWD"), BATCH);
        let handle = open(&opens, &if by_disposition { asked } else { on_close(asked) });
        if by_disposition {
            assert!(handle.set_disposition(true, Default::default(), NOW).unwrap().granted().is_some());
        }
        handle.leave(&keeping(&session, 2000)).unwrap();
        let pending = claim(&opens, &place, RestOperation::GetFile).err();
        assert_eq!(pending, Some(ClaimRefusal::Rest(RestRefusal::DeletePending)));
        let refused = opens.open(&asking(&place, &Session::new(2), "R", "RWD"), NOW).err();
        assert_eq!(refused, Some(NotOpened::Refused(OpenRefusal::DeletePending)), "{by_disposition}");
        assert!(opens.unfinished_of(a_file(8).file()).is_none());
        opens.unfinished_of(place.file()).expect("whoever wants the name removes it").removed();
        assert_eq!(opens.census(), Census::default());
    }
}

#[test]
fn when_there_are_too_many_the_oldest_go() {
    let (opens, first, second) = (Opens::default(), Session::new(1), Session::new(2));
    let mut ids = Vec::new();
    for number in 0..limits::ORPHANS_PER_SESSION_MAX + 5 {
        let place = a_file(u64::try_from(number).unwrap() + 100);
        ids.push((place.clone(), left(&opens, &caching(asking(&place, &first, "R", ""), BATCH), &first)));
    }
    assert_eq!(opens.census().orphans, limits::ORPHANS_PER_SESSION_MAX);
    assert!(!is_there(&opens, &ids[4].0, ids[4].1) && is_there(&opens, &ids[5].0, ids[5].1));
    let place = a_file(9);
    let id = left(&opens, &caching(asking(&place, &second, "R", ""), BATCH), &second);
    assert!(is_there(&opens, &place, id) && is_there(&opens, &ids[5].0, ids[5].1), "another client has its own room");
    opens.expire(at(2000));
    assert_eq!(opens.census(), Census::default());
}

#[test]
fn the_orphans_of_one_account_leave_room_for_others() {
    let opens = Opens::default();
    let mut last = None;
    for number in 0..limits::ORPHANS_PER_ACCOUNT_MAX + 3 {
        let number = u64::try_from(number).unwrap();
        let (session, place) = (Session::new(number / 100), a_file(number + 100));
        last = Some((place.clone(), left(&opens, &caching(asking(&place, &session, "R", ""), BATCH), &session)));
    }
    assert_eq!(opens.census().orphans, limits::ORPHANS_PER_ACCOUNT_MAX);
    let (place, id) = last.unwrap();
    assert!(is_there(&opens, &place, id), "the newest stays");
}

#[test]
fn a_resilient_orphan_stays_when_others_want_what_it_holds() {
    let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
    for cache in [BATCH, CacheGrant::Lease(Caching::None)] {
        let handle = open(&opens, &caching(asking(&place, &session, "RW", ""), cache));
        let id = handle.id();
        handle.leave(&Keeping { kind: Kind::Resilient, ..keeping(&session, 2000) }).unwrap();
        let refused = opens.open(&asking(&place, &Session::new(2), "R", "RWD"), NOW).err();
        assert_eq!(refused, Some(NotOpened::Refused(OpenRefusal::SharingViolation)), "{cache:?}");
        let refused = claim(&opens, &place, RestOperation::GetFile).err();
        assert_eq!(refused, Some(ClaimRefusal::Rest(RestRefusal::SharingViolation)), "{cache:?}");
        let back = opens.take_back(place.file(), id, &session.owner, NOW).unwrap();
        assert_eq!(back.caching().caching(), Caching::None, "its client could not be asked");
        drop(back);
        assert_eq!((opens.census(), session.take_notices()), (Census::default(), vec![]));
    }
}

#[test]
fn who_waits_for_an_answer_of_a_resilient_handle_waits_no_more() {
    let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
    let handle = open(&opens, &caching(asking(&place, &session, "RW", "RWD"), BATCH));
    let Turn::Wait(ticket) = opens.open(&asking(&place, &Session::new(2), "R", "RWD"), NOW).unwrap() else {
        panic!("the oplock is broken first")
    };
    handle.leave(&Keeping { kind: Kind::Resilient, ..keeping(&session, 2000) }).unwrap();
    assert!(ticket.is_rung());
    drop(ticket);
    assert!(opens.open(&asking(&place, &Session::new(2), "R", "RWD"), NOW).unwrap().granted().is_some());
}
