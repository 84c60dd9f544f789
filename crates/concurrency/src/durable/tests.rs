//! Which opens outlive their connection, what makes them go, and who gets them back.

use types::Timestamp;

use super::*;
use crate::oplock::{Caching, OplockLevel};

#[test]
fn who_caches_the_handle_can_be_durable() {
    let table = [
        (CacheGrant::Oplock(OplockLevel::None), false),
        (CacheGrant::Oplock(OplockLevel::Two), false),
        (CacheGrant::Oplock(OplockLevel::Exclusive), false),
        (CacheGrant::Oplock(OplockLevel::Batch), true),
        (CacheGrant::Lease(Caching::None), false),
        (CacheGrant::Lease(Caching::R), false),
        (CacheGrant::Lease(Caching::Rw), false),
        (CacheGrant::Lease(Caching::Rh), true),
        (CacheGrant::Lease(Caching::Rwh), true),
    ];
    for (held, expected) in table {
        assert_eq!(may_be_durable(held), expected, "{held:?}");
        assert_eq!(outlives_connection(Kind::Durable, Some(&CacheState::new(held))), expected, "{held:?}");
    }
}

#[test]
fn who_has_not_answered_a_break_is_not_kept() {
    let now = Timestamp::from_seconds(100);
    let held = CacheState::new(CacheGrant::Lease(Caching::Rwh));
    let (breaking, _) = held.trigger(Trigger::Read, now);
    assert!(!outlives_connection(Kind::Durable, Some(&breaking)));
    let (answered, _) = breaking.acknowledge(Some(CacheGrant::Lease(Caching::Rh)), now).unwrap();
    assert!(outlives_connection(Kind::Durable, Some(&answered)));
}

#[test]
fn an_orphan_gives_way_to_what_takes_something_from_it() {
    let (rh, rwh) = (CacheGrant::Lease(Caching::Rh), CacheGrant::Lease(Caching::Rwh));
    let batch = CacheGrant::Oplock(OplockLevel::Batch);
    let table = [
        (rh, None, false, false),
        (rh, Some(Trigger::Read), false, false),
        (rh, Some(Trigger::Write), false, true),
        (rh, Some(Trigger::Delete), false, true),
        (rh, Some(Trigger::SharingConflict), false, true),
        (rh, Some(Trigger::Read), true, true),
        (rh, None, true, true),
        (rwh, None, false, false),
        (rwh, Some(Trigger::Read), false, true),
        (rwh, Some(Trigger::Overwrite), false, true),
        (batch, Some(Trigger::Read), false, true),
        (batch, None, false, false),
    ];
    for (held, trigger, conflicts, ends) in table {
        let expected = if ends { Fate::Ends } else { Fate::Stays };
        assert_eq!(fate(Kind::Durable, held, trigger, conflicts), expected, "{held:?} {trigger:?} {conflicts}");
        assert_ne!(fate(Kind::Resilient, held, trigger, conflicts), Fate::Ends, "a resilient one stays");
    }
}

#[test]
fn a_resilient_orphan_loses_what_its_client_cannot_be_asked_for() {
    let (none, batch) = (CacheGrant::Lease(Caching::None), CacheGrant::Oplock(OplockLevel::Batch));
    let table = [
        (batch, Some(Trigger::Read), Fate::LosesItsCache),
        (batch, None, Fate::Stays),
        (none, Some(Trigger::Write), Fate::Stays),
    ];
    for (held, trigger, expected) in table {
        assert_eq!(fate(Kind::Resilient, held, trigger, true), expected, "{held:?} {trigger:?}");
    }
}

#[test]
fn what_a_client_shows_to_take_an_open_back() {
    let (ours, theirs) = ([1; 16], [2; 16]);
    let oplock =
        Claimant { account: 1, share: 10, client: ours, create_guid: Some([7; 16]), lease_key: None, path: "a.txt" };
    let lease = Claimant { lease_key: Some([9; 16]), ..oplock };
    let old = Claimant { create_guid: None, ..oplock };
    let unknown = Err(NotTakenBack::Unknown);
    let table = [
        ("the same", oplock, oplock, Ok(())),
        ("by number alone", oplock, Claimant { create_guid: None, ..oplock }, Ok(())),
        ("another guid", oplock, Claimant { create_guid: Some([8; 16]), ..oplock }, unknown),
        ("no guid in the guid", oplock, Claimant { create_guid: Some([0; 16]), ..oplock }, unknown),
        ("another account", oplock, Claimant { account: 2, ..oplock }, unknown),
        ("another share", oplock, Claimant { share: 11, ..oplock }, unknown),
        ("an oplock, another client", oplock, Claimant { client: theirs, ..oplock }, Ok(())),
        ("an oplock, another path", oplock, Claimant { path: "b.txt", ..oplock }, Ok(())),
        ("an oplock, with a lease", oplock, lease, unknown),
        ("a lease", lease, lease, Ok(())),
        ("a lease, without one", lease, oplock, unknown),
        ("a lease, another key", lease, Claimant { lease_key: Some([8; 16]), ..lease }, unknown),
        ("a lease, another client", lease, Claimant { client: theirs, ..lease }, unknown),
        ("a lease, another path", lease, Claimant { path: "b.txt", ..lease }, Err(NotTakenBack::OtherPath)),
        ("an old one", old, old, Ok(())),
        ("an old one with a guid", old, oplock, unknown),
        ("an old one with an empty guid", old, Claimant { create_guid: Some([0; 16]), ..oplock }, Ok(())),
    ];
    for (what, known, shown, expected) in table {
        assert_eq!(take_back(&known, &shown), expected, "{what}");
    }
}
