//! Locks that wait: in order, cancelled, granted and closed.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use concurrency::range_lock::{ByteRange, Io, LockKind};
use file::opens::{Census, Handle, HandleClosed, LockWait, Locking, NotLocked, Opens};

use crate::support::{FREE, NOW, Session, a_file, asking, open};

fn range(offset: u64, length: u64) -> ByteRange {
    ByteRange::new(offset, length).unwrap()
}

fn locks(handle: &Handle, range: ByteRange, kind: LockKind) -> bool {
    matches!(handle.lock(&[(range, kind)], false, NOW), Ok(Locking::Locked))
}

fn queued(handle: &Handle, range: ByteRange, kind: LockKind) -> LockWait {
    match handle.lock(&[(range, kind)], true, NOW).unwrap() {
        Locking::Queued(wait) => wait,
        other => panic!("not queued: {other:?}"),
    }
}

fn poll(wait: &mut LockWait) -> Poll<Result<(), HandleClosed>> {
    Pin::new(wait).poll(&mut Context::from_waker(Waker::noop()))
}

fn three(opens: &Opens) -> [Handle; 3] {
    let session = Session::new(1);
    [1, 2, 3].map(|_| open(opens, &asking(&a_file(9), &session, "RW", "RWD")))
}

#[test]
fn waiting_locks_are_granted_in_order() {
    let opens = Opens::default();
    let [one, two, three] = three(&opens);
    assert!(locks(&one, range(0, 10), LockKind::Exclusive));
    let mut second = queued(&two, range(0, 10), LockKind::Exclusive);
    let mut third = queued(&three, range(0, 10), LockKind::Shared);
    assert!(poll(&mut second).is_pending() && poll(&mut third).is_pending());
    one.unlock(range(0, 10)).unwrap();
    assert_eq!(poll(&mut second), Poll::Ready(Ok(())));
    assert!(poll(&mut third).is_pending());
    assert!(one.begin_io(range(0, 1), Io::Read, NOW).is_err(), "the second holds it");
    two.unlock(range(0, 10)).unwrap();
    assert_eq!(poll(&mut third), Poll::Ready(Ok(())));
}

#[test]
fn a_waiting_lock_is_not_overtaken_by_one_that_would_wait_for_it() {
    let opens = Opens::default();
    let [one, two, three] = three(&opens);
    assert!(locks(&one, range(0, 10), LockKind::Shared));
    let mut writer = queued(&two, range(0, 10), LockKind::Exclusive);
    let mut reader = queued(&three, range(5, 10), LockKind::Shared);
    let elsewhere = three.lock(&[(range(10, 5), LockKind::Exclusive)], true, NOW).unwrap();
    assert!(matches!(elsewhere, Locking::Queued(_)), "it conflicts with the reader before it");
    drop(elsewhere);
    assert!(matches!(three.lock(&[(range(20, 5), LockKind::Exclusive)], true, NOW), Ok(Locking::Locked)));
    assert!(locks(&three, range(0, 2), LockKind::Shared), "a lock that fails at once looks at held ones only");
    three.unlock(range(0, 2)).unwrap();
    one.unlock(range(0, 10)).unwrap();
    assert_eq!(poll(&mut writer), Poll::Ready(Ok(())));
    assert!(poll(&mut reader).is_pending());
}

#[test]
fn a_cancelled_lock_is_not_held() {
    let opens = Opens::default();
    let [one, two, three] = three(&opens);
    assert!(locks(&one, range(0, 10), LockKind::Exclusive));
    let cancelled = queued(&two, range(0, 10), LockKind::Exclusive);
    let mut behind = queued(&three, range(0, 10), LockKind::Exclusive);
    drop(cancelled);
    one.unlock(range(0, 10)).unwrap();
    assert_eq!(poll(&mut behind), Poll::Ready(Ok(())));

    // Granted, but cancelled before anybody learned of it.
    let unlearned = queued(&one, range(0, 10), LockKind::Exclusive);
    three.unlock(range(0, 10)).unwrap();
    drop(unlearned);
    assert!(locks(&two, range(0, 10), LockKind::Exclusive));
}

#[test]
fn closing_a_handle_releases_its_locks_and_ends_its_waiting_ones() {
    let opens = Opens::default();
    let [one, two, three] = three(&opens);
    assert!(locks(&one, range(0, 10), LockKind::Exclusive));
    let mut of_closed = queued(&two, range(0, 10), LockKind::Exclusive);
    let mut behind = queued(&three, range(0, 10), LockKind::Exclusive);
    two.close(FREE);
    assert_eq!(poll(&mut of_closed), Poll::Ready(Err(HandleClosed)));
    one.close(FREE);
    assert_eq!(poll(&mut behind), Poll::Ready(Ok(())));
    drop((of_closed, behind, three));
    assert_eq!(opens.census(), Census::default());
}

#[test]
fn several_ranges_are_locked_together_or_not_at_all() {
    let opens = Opens::default();
    let [one, two, _] = three(&opens);
    assert!(locks(&two, range(20, 10), LockKind::Exclusive));
    let both = [(range(0, 10), LockKind::Exclusive), (range(20, 10), LockKind::Shared)];
    assert!(matches!(one.lock(&both, false, NOW), Err(NotLocked::Refused(_))));
    assert!(locks(&two, range(0, 10), LockKind::Exclusive), "nothing was locked");
    two.unlock(range(0, 10)).unwrap();
    let Locking::Queued(mut wait) = one.lock(&both, true, NOW).unwrap() else { panic!("must wait") };
    assert!(poll(&mut wait).is_pending());
    two.unlock(range(20, 10)).unwrap();
    assert_eq!(poll(&mut wait), Poll::Ready(Ok(())));
    assert!(one.unlock(range(0, 5)).is_err(), "not exactly this range");
}
