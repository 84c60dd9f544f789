//! What clients cache over time: granted beside others, broken in steps, answered, and told to the right one.

use concurrency::{
    file_open::Reach,
    oplock::{CacheGrant, Caching, OplockLevel},
    range_lock::{ByteRange, Io},
};
use file::opens::{Asking, CacheKey, Census, LeaseKey, NotOpened, Notice, Opens, Place, Turn};

use crate::support::{FREE, NOW, SHARE, Session, a_file, asking, caching, on_close, open, root, tentative, ticket};

const TWO: CacheGrant = CacheGrant::Oplock(OplockLevel::Two);
const BATCH: CacheGrant = CacheGrant::Oplock(OplockLevel::Batch);

fn key(number: u8) -> LeaseKey {
    LeaseKey { account: SHARE, client: [1; 16], key: [number; 16] }
}

fn lease(session: &Session, place: &Place, number: u8, wanted: Caching) -> Asking {
    let asking = caching(asking(place, session, "RW", "RWD"), CacheGrant::Lease(wanted));
    Asking { lease_key: Some(key(number)), ..asking }
}

fn only_looks(mut asking: Asking) -> Asking {
    asking.request.reach = Reach::Attributes;
    asking.request.mode.access = concurrency::share_mode::Access::NONE;
    asking
}

/// What a client was told: from, to, whether it must answer, and the count.
fn told(session: &Session) -> Vec<(Caching, Caching, bool, Option<u16>)> {
    let told = session.take_notices().into_iter().map(|notice| match notice {
        Notice::Break { from, to, must_acknowledge, epoch, .. } => {
            (from.caching(), to.caching(), must_acknowledge, epoch)
        }
        other @ Notice::Closed { .. } => panic!("{other:?}"),
    });
    told.collect()
}

#[test]
fn breaks_that_come_meanwhile_are_told_after_the_answer() {
    let (opens, holder, other, place) = (Opens::default(), Session::new(1), Session::new(2), a_file(9));
    let held = Asking { epoch: Some(17), ..lease(&holder, &place, 1, Caching::Rwh) };
    let handle = open(&opens, &held);
    assert_eq!(handle.cache().epoch(), Some(18));
    let reads = asking(&place, &other, "R", "RWD");
    let mut overwrites = asking(&place, &other, "W", "RWD");
    overwrites.request.overwrites = true;

    let read = ticket(opens.open(&reads, NOW).unwrap());
    let overwrite = ticket(opens.open(&overwrites, NOW).unwrap());
    assert_eq!(told(&holder), [(Caching::Rwh, Caching::Rh, true, Some(19))]);
    assert!(handle.cache().is_breaking());

    let answer = |kept| opens.acknowledge(place.file(), CacheKey::Lease(key(1)), CacheGrant::Lease(kept), NOW);
    answer(Caching::Rh).unwrap();
    assert_eq!(told(&holder), [(Caching::Rh, Caching::R, true, Some(19))]);
    assert!(!read.is_rung() && !overwrite.is_rung() && handle.cache().is_breaking());
    answer(Caching::R).unwrap();
    assert_eq!(told(&holder), [(Caching::R, Caching::None, false, Some(19))]);
    assert!(read.is_rung() && overwrite.is_rung() && !handle.cache().is_breaking());
    assert!(answer(Caching::None).is_err(), "nothing is awaited");
    drop((open(&opens, &reads), open(&opens, &overwrites)));
    drop((read, overwrite));
    assert!(told(&holder).is_empty());
    drop(handle);
    assert_eq!(opens.census(), Census::default());
}

#[test]
fn a_lease_key_is_of_one_file_at_a_time() {
    let (opens, session, other) = (Opens::default(), Session::new(1), Session::new(2));
    let (one, two) = (a_file(9), a_file(10));
    let handle = open(&opens, &lease(&session, &one, 1, Caching::Rwh));
    let wanted = lease(&session, &two, 1, Caching::Rwh);
    assert_eq!(opens.open(&wanted, NOW).err(), Some(NotOpened::LeaseKeyOfAnotherFile));
    let directory = Asking { is_directory: true, ..wanted.clone() };
    assert_eq!(opens.open(&directory, NOW).err(), Some(NotOpened::LeaseKeyOfAnotherFile));
    let same_key = LeaseKey { client: [2; 16], ..key(1) };
    drop(open(&opens, &Asking { lease_key: Some(same_key), ..lease(&other, &two, 1, Caching::R) }));
    let same_key = LeaseKey { account: types::UnitId::new(99), ..key(1) };
    drop(open(&opens, &Asking { lease_key: Some(same_key), ..lease(&other, &two, 1, Caching::R) }));
    drop(handle);
    drop(open(&opens, &wanted));
    assert_eq!(opens.census(), Census::default());
}

#[test]
fn a_new_file_that_is_opened_twice_at_once_under_a_key_is_one_file() {
    let (opens, session) = (Opens::default(), Session::new(1));
    // Each has picked an inode of its own; the rows decide which one it is.
    let first = tentative(&opens, &lease(&session, &a_file(9), 1, Caching::Rwh));
    let second = lease(&session, &a_file(10), 1, Caching::Rwh);
    let waiting = ticket(opens.open(&second, NOW).unwrap());
    assert!(!waiting.is_rung());
    drop(first);
    assert!(waiting.is_rung());
    let handle = open(&opens, &second);
    drop((handle, waiting));
    assert_eq!(opens.census(), Census::default());
}

#[test]
fn a_break_is_told_to_a_session_that_has_a_handle_under_the_key() {
    let (opens, place) = (Opens::default(), a_file(9));
    let (first, second, other) = (Session::new(1), Session::new(2), Session::new(3));
    let gone = open(&opens, &lease(&first, &place, 1, Caching::Rwh));
    let stays = open(&opens, &lease(&second, &place, 1, Caching::Rwh));
    assert!(matches!(gone.close(FREE), file::opens::Closed::Kept));
    let _waiting = ticket(opens.open(&asking(&place, &other, "R", "RWD"), NOW).unwrap());
    assert_eq!((told(&first).len(), told(&second).len()), (0, 1));
    drop(stays);
}

#[test]
fn level_ii_is_lost_by_changes_of_its_own_handle() {
    let range = ByteRange::new(0, 1).unwrap();
    for change in ["write", "resize"] {
        let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
        let wanted = caching(asking(&place, &session, "RW", "RWD"), TWO);
        let (one, two) = (open(&opens, &wanted), open(&opens, &wanted));
        let done = match change {
            "write" => one.begin_io(range, Io::Write, NOW).unwrap(),
            _ => one.begin_resize(NOW).unwrap(),
        };
        assert!(matches!(done, Turn::Granted(_)), "nobody has to answer");
        assert_eq!(told(&session), [(Caching::R, Caching::None, false, None); 2], "{change}");
        assert_eq!((one.caching().caching(), two.caching().caching()), (Caching::None, Caching::None));
    }
    let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
    let alone = open(&opens, &caching(asking(&place, &session, "RW", "RWD"), BATCH));
    drop(alone.begin_io(range, Io::Write, NOW).unwrap().granted().unwrap());
    drop(alone.begin_resize(NOW).unwrap().granted().unwrap());
    assert_eq!((told(&session), alone.caching()), (vec![], BATCH));
}

#[test]
fn a_change_of_length_waits_for_cached_writes() {
    let (opens, holder, other, place) = (Opens::default(), Session::new(1), Session::new(2), a_file(9));
    // The second handle only looked when it came, and was granted no caching beside the writes of the first.
    let held = open(&opens, &lease(&holder, &place, 1, Caching::Rwh));
    let looks = open(&opens, &only_looks(lease(&other, &place, 2, Caching::Rwh)));
    assert_eq!((looks.caching().caching(), told(&holder).len()), (Caching::None, 0));
    let waiting = ticket(looks.begin_resize(NOW).unwrap());
    assert_eq!(told(&holder), [(Caching::Rwh, Caching::None, true, None)]);
    drop(held);
    assert!(waiting.is_rung());
}

#[test]
fn who_only_looks_and_caches_is_broken_as_everybody() {
    let (opens, holder, other, place) = (Opens::default(), Session::new(1), Session::new(2), a_file(9));
    let looks = open(&opens, &only_looks(lease(&holder, &place, 1, Caching::Rwh)));
    assert_eq!(looks.caching().caching(), Caching::Rwh);
    let waiting = ticket(opens.open(&lease(&other, &place, 2, Caching::Rwh), NOW).unwrap());
    let kept = CacheGrant::Lease(Caching::Rh);
    opens.acknowledge(place.file(), CacheKey::Lease(key(1)), kept, NOW).unwrap();
    let handle = open(&opens, &lease(&other, &place, 2, Caching::Rwh));
    assert_eq!((waiting.is_rung(), handle.caching()), (true, kept));
}

#[test]
fn nobody_caches_what_an_open_that_is_under_way_empties() {
    let (opens, session, place) = (Opens::default(), Session::new(1), a_file(9));
    let mut overwrites = asking(&place, &session, "W", "RWD");
    overwrites.request.overwrites = true;
    let emptying = tentative(&opens, &overwrites);
    let wanted = lease(&session, &place, 1, Caching::Rh);
    assert_eq!(open(&opens, &wanted).caching().caching(), Caching::None, "what it reads may be old in a moment");
    drop(emptying);
    assert_eq!(open(&opens, &wanted).caching().caching(), Caching::Rh);
}

#[test]
fn an_open_that_deletes_on_close_has_cached_handles_closed_first() {
    let (opens, holder, other, place) = (Opens::default(), Session::new(1), Session::new(2), a_file(9));
    let handle = open(&opens, &lease(&holder, &place, 1, Caching::Rwh));
    let deletes = on_close(asking(&place, &other, "D", "RWD"));
    for (from, to) in [(Caching::Rwh, Caching::Rh), (Caching::Rh, Caching::R)] {
        let waiting = ticket(opens.open(&deletes, NOW).unwrap());
        assert_eq!(told(&holder), [(from, to, true, None)]);
        opens.acknowledge(place.file(), CacheKey::Lease(key(1)), CacheGrant::Lease(to), NOW).unwrap();
        assert!(waiting.is_rung());
    }
    drop(tentative(&opens, &deletes));
    drop(handle);
}

#[test]
fn directories_are_cached_by_nobody_and_use_no_key() {
    let (opens, session) = (Opens::default(), Session::new(1));
    let directory = root().child(types::Inode::new(5), "directory");
    let wanted = Asking { is_directory: true, ..lease(&session, &directory, 1, Caching::Rwh) };
    let handle = open(&opens, &wanted);
    assert_eq!((handle.caching().caching(), opens.leased(key(1))), (Caching::None, None));
    drop(open(&opens, &lease(&session, &a_file(9), 1, Caching::Rwh)));
    drop(handle);
    assert_eq!(opens.census(), Census::default());
}
