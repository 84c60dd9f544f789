//! Byte-range locks: every kind against every kind, ranges at their edges, and what must never happen.

use proptest::prelude::*;

use super::{
    ByteRange, FileLockConflict, Io, LockKind, LockOwner, LockRefusal, MAX_LOCKS_PER_FILE, RangeLock, RangeLocks,
    RangeNotLocked,
};
use crate::table_test::check_cells;

fn range(offset: u64, length: u64) -> ByteRange {
    ByteRange::new(offset, length).unwrap()
}

fn lock(owner: u64, kind: LockKind, offset: u64, length: u64) -> RangeLock {
    RangeLock { owner: LockOwner::new(owner), range: range(offset, length), kind }
}

fn locked(locks: &[RangeLock]) -> RangeLocks {
    let mut held = RangeLocks::default();
    for lock in locks {
        held.lock(&[*lock]).unwrap();
    }
    held
}

#[test]
fn locks_against_locks() {
    let table = "
held by 1 | shared by 1 | exclusive by 1 | shared by 2 | exclusive by 2
nothing   | ok          | ok             | ok          | ok
shared    | ok          | conflict       | ok          | conflict
exclusive | ok          | conflict       | conflict    | conflict
";
    let cells = check_cells(table, 1, |row, heading| {
        let mut locks = match row[0] {
            "shared" => locked(&[lock(1, LockKind::Shared, 0, 10)]),
            "exclusive" => locked(&[lock(1, LockKind::Exclusive, 0, 10)]),
            _ => RangeLocks::default(),
        };
        let kind = if heading.starts_with("shared") { LockKind::Shared } else { LockKind::Exclusive };
        let owner = if heading.ends_with('1') { 1 } else { 2 };
        if locks.lock(&[lock(owner, kind, 5, 10)]).is_ok() { "ok".into() } else { "conflict".into() }
    });
    assert_eq!(cells, 12);
}

#[test]
fn reads_and_writes_against_locks() {
    let table = "
held by 1 | read by 1 | write by 1 | read by 2 | write by 2 | read by REST | write by REST
nothing   | ok        | ok         | ok        | ok         | ok           | ok
shared    | ok        | conflict   | ok        | conflict   | ok           | conflict
exclusive | ok        | ok         | conflict  | conflict   | conflict     | conflict
";
    let cells = check_cells(table, 1, |row, heading| {
        let locks = match row[0] {
            "shared" => locked(&[lock(1, LockKind::Shared, 0, 10)]),
            "exclusive" => locked(&[lock(1, LockKind::Exclusive, 0, 10)]),
            _ => RangeLocks::default(),
        };
        let io = if heading.starts_with("read") { Io::Read } else { Io::Write };
        let owner = heading.rsplit(' ').next().unwrap().parse().ok().map(LockOwner::new);
        assert_eq!(locks.check_io(owner, range(10, 10), io), Ok(()), "beside the lock");
        assert_eq!(locks.check_io(owner, range(5, 0), io), Ok(()), "no bytes");
        match locks.check_io(owner, range(9, 10), io) {
            Ok(()) => "ok".into(),
            Err(FileLockConflict) => "conflict".into(),
        }
    });
    assert_eq!(cells, 18);
}

#[test]
fn ranges_at_their_edges() {
    let end = u64::MAX;
    let table = [
        (range(10, 10), range(0, 10), false),
        (range(10, 10), range(0, 11), true),
        (range(10, 10), range(19, 1), true),
        (range(10, 10), range(20, 1), false),
        (range(10, 10), range(12, 2), true),
        (range(10, 10), range(10, 0), false),
        (range(10, 10), range(11, 0), true),
        (range(10, 10), range(19, 0), true),
        (range(10, 10), range(20, 0), false),
        (range(10, 0), range(10, 0), false),
        (range(10, 0), range(0, end), true),
        (range(end, 1), range(end, 1), true),
        (range(end, 1), range(end - 1, 1), false),
        (range(end, 1), range(0, end), false),
        (range(end, 0), range(end, 1), false),
        (range(end, 0), range(end - 1, 2), true),
    ];
    for (one, other, overlap) in table {
        assert_eq!(one.overlaps(other), overlap, "{one:?} {other:?}");
        assert_eq!(other.overlaps(one), overlap, "{other:?} {one:?}");
    }
    assert_eq!(ByteRange::new(end, 2), None);
    assert_eq!(ByteRange::new(1, end), Some(range(1, end)));
    assert_eq!(ByteRange::new(2, end), None);
}

#[test]
fn a_request_for_several_ranges_locks_all_or_none() {
    let mut locks = locked(&[lock(1, LockKind::Exclusive, 100, 10)]);
    let before = locks.clone();
    let request = [lock(2, LockKind::Exclusive, 0, 10), lock(2, LockKind::Exclusive, 105, 10)];
    assert_eq!(locks.lock(&request), Err(LockRefusal::Conflict(lock(1, LockKind::Exclusive, 100, 10))));
    assert_eq!(locks, before);
    let own_overlap = [lock(2, LockKind::Exclusive, 0, 10), lock(2, LockKind::Exclusive, 5, 10)];
    assert!(locks.lock(&own_overlap).is_err(), "the ranges of one request count against each other");
    assert_eq!(locks, before);
}

#[test]
fn unlocking_needs_the_same_open_and_the_same_range() {
    let mut locks = locked(&[lock(1, LockKind::Exclusive, 0, 10)]);
    for (owner, offset, length) in [(2, 0, 10), (1, 0, 9), (1, 1, 9), (1, 0, 11), (1, 0, 0)] {
        assert_eq!(locks.unlock(LockOwner::new(owner), range(offset, length)), Err(RangeNotLocked));
    }
    assert_eq!(locks.unlock(LockOwner::new(1), range(0, 10)), Ok(()));
    assert_eq!(locks.unlock(LockOwner::new(1), range(0, 10)), Err(RangeNotLocked));
}

#[test]
fn of_stacked_locks_the_exclusive_one_goes_first() {
    let mut locks = locked(&[lock(1, LockKind::Exclusive, 0, 10), lock(1, LockKind::Shared, 0, 10)]);
    assert_eq!(locks.unlock(LockOwner::new(1), range(0, 10)), Ok(()));
    assert_eq!(locks.iter().copied().collect::<Vec<_>>(), [lock(1, LockKind::Shared, 0, 10)]);
}

#[test]
fn closing_releases_the_locks_of_that_open_only() {
    let mut locks = locked(&[lock(1, LockKind::Shared, 0, 10), lock(2, LockKind::Shared, 0, 10)]);
    locks.release_owner(LockOwner::new(1));
    assert_eq!(locks.iter().copied().collect::<Vec<_>>(), [lock(2, LockKind::Shared, 0, 10)]);
}

#[test]
fn the_number_of_locks_is_bounded() {
    let mut locks = RangeLocks { held: vec![lock(1, LockKind::Shared, 0, 1); MAX_LOCKS_PER_FILE] };
    assert_eq!(locks.lock(&[lock(1, LockKind::Shared, 0, 1)]), Err(LockRefusal::TooMany));
    assert_eq!(locks.held.len(), MAX_LOCKS_PER_FILE);
}

fn any_lock() -> impl Strategy<Value = RangeLock> {
    let kind = prop_oneof![Just(LockKind::Shared), Just(LockKind::Exclusive)];
    (0_u64..3, kind, 0_u64..12, 0_u64..6).prop_map(|(owner, kind, offset, length)| lock(owner, kind, offset, length))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn an_exclusive_lock_never_overlaps_somebody_elses(
        steps in prop::collection::vec((prop::collection::vec(any_lock(), 1..4), any::<bool>()), 0..40),
    ) {
        let mut locks = RangeLocks::default();
        for (request, unlock) in steps {
            let before = locks.clone();
            if unlock {
                if locks.unlock(request[0].owner, request[0].range).is_err() {
                    prop_assert_eq!(&locks, &before, "a refusal changes nothing");
                }
            } else if locks.lock(&request).is_err() {
                prop_assert_eq!(&locks, &before, "a refusal changes nothing");
            }
            let held: Vec<RangeLock> = locks.iter().copied().collect();
            for (number, one) in held.iter().enumerate().filter(|(_, one)| one.kind == LockKind::Exclusive) {
                // Byte by byte, without the arithmetic of the implementation.
                for other in held.iter().enumerate().filter(|(n, _)| *n != number).map(|(_, other)| other) {
                    let covers = |lock: &RangeLock, byte: u64| {
                        byte >= lock.range.offset() && byte < lock.range.offset() + lock.range.length()
                    };
                    let shares_a_byte = (0..20).any(|byte| covers(one, byte) && covers(other, byte));
                    let own_on_top = other.owner == one.owner && other.kind == LockKind::Shared;
                    prop_assert!(!shares_a_byte || own_on_top, "{:?} {:?}", one, other);
                }
            }
        }
    }

    #[test]
    fn overlap_is_mutual(a in any::<u64>(), b in any::<u64>(), c in any::<u64>(), d in any::<u64>()) {
        if let (Some(one), Some(other)) = (ByteRange::new(a, b), ByteRange::new(c, d)) {
            prop_assert_eq!(one.overlaps(other), other.overlaps(one));
        }
    }
}

#[test]
fn a_check_locks_nothing_and_agrees_with_the_lock() {
    let held = locked(&[lock(1, LockKind::Exclusive, 0, 10)]);
    for (requested, ok) in [
        (vec![lock(2, LockKind::Shared, 10, 5), lock(2, LockKind::Shared, 12, 1)], true),
        (vec![lock(2, LockKind::Exclusive, 10, 5), lock(2, LockKind::Exclusive, 12, 1)], false),
        (vec![lock(2, LockKind::Shared, 10, 5), lock(2, LockKind::Shared, 9, 1)], false),
        (vec![lock(1, LockKind::Shared, 0, 10)], true),
    ] {
        let (before, mut after) = (held.clone(), held.clone());
        assert_eq!(held.check(&requested).is_ok(), ok, "{requested:?}");
        assert_eq!(held, before);
        assert_eq!(after.lock(&requested).is_ok(), ok, "{requested:?}");
        assert_eq!(after != before, ok);
    }
}

#[test]
fn taking_back_a_shared_lock_leaves_the_exclusive_one_beneath_it() {
    let (exclusive, shared) = (lock(1, LockKind::Exclusive, 0, 10), lock(1, LockKind::Shared, 0, 10));
    let mut locks = locked(&[exclusive, shared]);
    locks.take_back(&shared);
    assert_eq!(locks.iter().collect::<Vec<_>>(), [&exclusive]);
    locks.take_back(&shared);
    assert_eq!(locks.iter().count(), 1, "what is not there is not taken back");
}
