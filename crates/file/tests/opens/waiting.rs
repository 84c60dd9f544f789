//! Who waits for whom, and that each is woken when its reason is over and not before.

use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use concurrency::{
    delete_pending::Obstacles,
    file_open::OpenRefusal,
    oplock::{BREAK_TIMEOUT, CacheGrant, Caching},
    range_lock::{ByteRange, Io, LockKind},
    rest_open::{RestOperation, RestRefusal},
};
use file::opens::{CacheKey, Census, ClaimRefusal, Closed, Locking, NotOpened, Opens, Turn};

use crate::support::{
    FREE, NOW, Session, Woken, a_file, asking, caching, claim, claimed, on_close, open, tentative, ticket,
};

const RWH: CacheGrant = CacheGrant::Lease(Caching::Rwh);

#[test]
fn an_open_waits_for_conflicting_claims_only() {
    // x = the open waits while the operation is under way.
    let cases = [
        (RestOperation::GetProperties, "R", "", false),
        (RestOperation::GetFile, "R", "RWD", false),
        (RestOperation::GetFile, "R", "", true),
        (RestOperation::GetFile, "R", "W", true),
        (RestOperation::GetFile, "", "", false),
        (RestOperation::PutRange, "R", "R", true),
        (RestOperation::PutRange, "R", "RW", false),
        (RestOperation::CreateFile, "R", "RW", true),
        (RestOperation::CreateFile, "R", "WD", false),
        (RestOperation::LeaseFile, "W", "RWD", true),
        (RestOperation::LeaseFile, "R", "RWD", false),
        (RestOperation::DeleteFile, "", "RWD", true),
        (RestOperation::RenameSource, "", "RWD", true),
        (RestOperation::ListFiles, "RWD", "", false),
    ];
    for (operation, accesses, shares, waits) in cases {
        let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
        let under_way = claimed(&opens, &place, operation);
        let asking = asking(&place, &session, accesses, shares);
        let turn = opens.open(&asking, NOW).unwrap();
        assert_eq!(matches!(turn, Turn::Wait(_)), waits, "{operation:?} {accesses} {shares}");
        if let Turn::Wait(ticket) = turn {
            assert!(!ticket.is_rung());
            drop(under_way);
            assert!(ticket.is_rung());
            drop(open(&opens, &asking));
        }
    }
}

#[test]
fn a_ticket_wakes_its_task_once() {
    let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
    let (one, other, look) = (
        claimed(&opens, &place, RestOperation::GetFile),
        claimed(&opens, &place, RestOperation::GetFile),
        claimed(&opens, &place, RestOperation::GetProperties),
    );
    let ticket = ticket(opens.open(&asking(&place, &session, "R", ""), NOW).unwrap());
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut context = Context::from_waker(&waker);
    let mut ticket = pin!(ticket);
    assert_eq!(ticket.as_mut().poll(&mut context), Poll::Pending);
    drop(one);
    assert_eq!(woken.count(), 0, "another read is under way");
    drop(other);
    assert_eq!(woken.count(), 1, "the look at properties does not matter");
    drop(look);
    assert_eq!(woken.count(), 1);
    assert_eq!(ticket.as_mut().poll(&mut context), Poll::Ready(()));
}

#[test]
fn later_claims_do_not_overtake_an_open_that_waits() {
    let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
    let under_way = claimed(&opens, &place, RestOperation::GetFile);
    let exclusive = asking(&place, &session, "R", "");
    let first = ticket(opens.open(&exclusive, NOW).unwrap());
    let later = ticket(claim(&opens, &place, RestOperation::GetFile).unwrap());
    drop(under_way);
    assert!(first.is_rung() && !later.is_rung(), "the open comes first");
    let handle = open(&opens, &exclusive);
    drop(first);
    assert!(later.is_rung());
    let refused = claim(&opens, &place, RestOperation::GetFile).err();
    assert_eq!(refused, Some(ClaimRefusal::Rest(RestRefusal::SharingViolation)));
    drop((handle, later));
    assert_eq!(opens.census(), Census::default());
}

#[test]
fn an_open_that_gives_up_waiting_lets_claims_pass() {
    let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
    let under_way = claimed(&opens, &place, RestOperation::GetFile);
    let first = ticket(opens.open(&asking(&place, &session, "R", ""), NOW).unwrap());
    let later = ticket(claim(&opens, &place, RestOperation::GetFile).unwrap());
    drop(first);
    assert!(later.is_rung());
    drop(claimed(&opens, &place, RestOperation::GetFile));
    drop((under_way, later));
    assert_eq!(opens.census(), Census::default());
}

#[test]
fn a_claim_waits_for_an_open_that_may_come_to_nothing() {
    for confirms in [true, false] {
        let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
        let exclusive = tentative(&opens, &asking(&place, &session, "W", ""));
        let ticket = ticket(claim(&opens, &place, RestOperation::GetFile).unwrap());
        assert!(!ticket.is_rung());
        assert!(claim(&opens, &place, RestOperation::GetProperties).unwrap().granted().is_some());
        let handle = if confirms {
            Some(exclusive.confirm().unwrap())
        } else {
            drop(exclusive);
            None
        };
        assert!(ticket.is_rung());
        assert_eq!(claim(&opens, &place, RestOperation::GetFile).is_err(), confirms);
        drop(handle);
    }
}

#[test]
fn a_delete_and_an_open_exclude_each_other() {
    let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
    let asking = asking(&place, &session, "R", "RWD");
    for operation in [RestOperation::DeleteFile, RestOperation::RenameSource] {
        let opening = tentative(&opens, &asking);
        let delete = ticket(claim(&opens, &place, operation).unwrap());
        drop(opening);
        assert!(delete.is_rung());
        let deleting = claimed(&opens, &place, operation);
        let late = ticket(opens.open(&asking, NOW).unwrap());
        assert!(!late.is_rung());
        drop(deleting);
        assert!(late.is_rung());
    }
    let handle = open(&opens, &asking);
    assert!(claim(&opens, &place, RestOperation::DeleteFile).is_err());
    assert!(claim(&opens, &place, RestOperation::RenameSource).is_ok(), "it shares deleting");
    drop(handle);
    assert_eq!(opens.census(), Census::default());
}

#[test]
fn two_tentative_opens_decide_against_each_other() {
    let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
    let _first = tentative(&opens, &asking(&place, &session, "W", ""));
    let second = opens.open(&asking(&place, &session, "R", "RWD"), NOW).map(|_| ());
    assert_eq!(second, Err(NotOpened::Refused(OpenRefusal::SharingViolation)));
}

#[test]
fn a_delete_mark_waits_for_every_claim() {
    let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
    let handle = open(&opens, &asking(&place, &session, "D", "RWD"));
    let look = claimed(&opens, &place, RestOperation::GetProperties);
    let mark = ticket(handle.set_disposition(true, FREE, NOW).unwrap());
    let on_close = on_close(asking(&place, &session, "D", "RWD"));
    let opening = ticket(opens.open(&on_close, NOW).unwrap());
    drop(look);
    assert!(mark.is_rung() && opening.is_rung());
    assert!(handle.set_disposition(true, FREE, NOW).unwrap().granted().is_some());
    drop(mark);
    drop(opening);
    let refused = claim(&opens, &place, RestOperation::GetProperties).err();
    assert_eq!(refused, Some(ClaimRefusal::Rest(RestRefusal::DeletePending)));
}

#[test]
fn a_claim_waits_for_a_tentative_open_that_deletes_on_close() {
    let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
    let opening = tentative(&opens, &on_close(asking(&place, &session, "D", "RWD")));
    let waiting = ticket(claim(&opens, &place, RestOperation::GetFile).unwrap());
    drop(opening);
    assert!(waiting.is_rung());
    assert!(claim(&opens, &place, RestOperation::GetFile).unwrap().granted().is_some());
}

#[test]
fn a_break_that_is_not_answered_ends_at_its_deadline() {
    let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
    let handle = open(&opens, &caching(asking(&place, &session, "RW", "RWD"), RWH));
    let waiting = ticket(claim(&opens, &place, RestOperation::GetFile).unwrap());
    let again = ticket(claim(&opens, &place, RestOperation::GetFile).unwrap());
    assert_eq!(session.take_notices().len(), 1, "told once");
    let deadline = NOW.saturating_add(BREAK_TIMEOUT);
    assert_eq!(opens.next_deadline(), Some(deadline));
    opens.expire(NOW);
    assert!(!waiting.is_rung());
    opens.expire(deadline);
    assert!(waiting.is_rung() && again.is_rung());
    assert_eq!((opens.next_deadline(), handle.caching().caching()), (None, Caching::None));
    assert!(claim(&opens, &place, RestOperation::GetFile).unwrap().granted().is_some());
    let kept = CacheGrant::Lease(Caching::R);
    assert!(opens.acknowledge(place.file(), CacheKey::Oplock(handle.id()), kept, deadline).is_err(), "too late");
}

#[test]
fn closing_the_handle_answers_its_break() {
    let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
    let handle = open(&opens, &caching(asking(&place, &session, "RW", ""), RWH));
    let waiting = ticket(claim(&opens, &place, RestOperation::DeleteFile).unwrap());
    assert!(matches!(handle.close(Obstacles::default()), Closed::Kept));
    assert!(waiting.is_rung());
    assert!(claim(&opens, &place, RestOperation::DeleteFile).unwrap().granted().is_some());
    drop(waiting);
    assert_eq!(opens.census(), Census::default());
}

#[test]
fn nobody_caches_reads_beside_a_write_that_is_under_way() {
    let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
    let asking = caching(asking(&place, &session, "R", "RWD"), RWH);
    let write = claimed(&opens, &place, RestOperation::PutRange);
    assert_eq!(open(&opens, &asking).caching().caching(), Caching::None);
    drop(write);
    let read = claimed(&opens, &place, RestOperation::GetFile);
    assert_eq!(open(&opens, &asking).caching().caching(), Caching::Rwh);
    drop(read);
}

#[test]
fn locks_wait_for_reads_and_writes_that_are_under_way() {
    let range = ByteRange::new(0, 10).unwrap();
    for (operation, kind, waits) in [
        (RestOperation::GetFile, LockKind::Shared, false),
        (RestOperation::GetFile, LockKind::Exclusive, true),
        (RestOperation::PutRange, LockKind::Shared, true),
        (RestOperation::SetMetadata, LockKind::Exclusive, true),
        (RestOperation::GetProperties, LockKind::Exclusive, false),
    ] {
        let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
        let handle = open(&opens, &asking(&place, &session, "RW", "RWD"));
        let under_way = claimed(&opens, &place, operation);
        match handle.lock(&[(range, kind)], false, NOW).unwrap() {
            Locking::Wait(ticket) if waits => {
                drop(under_way);
                assert!(ticket.is_rung());
                assert!(matches!(handle.lock(&[(range, kind)], false, NOW).unwrap(), Locking::Locked));
            }
            Locking::Locked if !waits => {}
            other => panic!("{operation:?} {kind:?}: {other:?}"),
        }
    }
}

#[test]
fn locks_wait_for_the_writes_of_other_handles() {
    let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
    let (writer, locker) =
        (open(&opens, &asking(&place, &session, "W", "RWD")), open(&opens, &asking(&place, &session, "RW", "RWD")));
    let range = ByteRange::new(0, 10).unwrap();
    let writing = writer.begin_io(range, Io::Write, NOW).unwrap().granted().unwrap();
    let Locking::Wait(waiting) = locker.lock(&[(range, LockKind::Exclusive)], true, NOW).unwrap() else {
        panic!("a write is under way")
    };
    let next = ticket(writer.begin_io(range, Io::Write, NOW).unwrap());
    drop(writing);
    assert!(waiting.is_rung() && !next.is_rung(), "the lock comes first");
    assert!(matches!(locker.lock(&[(range, LockKind::Exclusive)], true, NOW).unwrap(), Locking::Locked));
    drop(waiting);
    assert!(next.is_rung());
    assert!(writer.begin_io(range, Io::Write, NOW).is_err());
    assert!(locker.begin_io(range, Io::Write, NOW).unwrap().granted().is_some());
}
