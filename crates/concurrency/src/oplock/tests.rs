//! What breaks to what, for leases and oplocks, and what answers and silence leave.

use proptest::prelude::*;
use types::Timestamp;

use super::{
    AcknowledgeRefusal, BREAK_TIMEOUT, BreakStep, CacheGrant, CacheState, Caching, OplockLevel, Trigger, cache_break,
    grant,
};
use crate::table_test::check_cells;

const CACHINGS: [Caching; 5] = [Caching::None, Caching::R, Caching::Rh, Caching::Rw, Caching::Rwh];
const LEVELS: [OplockLevel; 4] = [OplockLevel::None, OplockLevel::Two, OplockLevel::Exclusive, OplockLevel::Batch];
const TRIGGERS: [Trigger; 6] =
    [Trigger::Read, Trigger::Overwrite, Trigger::Write, Trigger::SharingConflict, Trigger::Delete, Trigger::Replace];

fn trigger(text: &str) -> Trigger {
    TRIGGERS.into_iter().find(|trigger| format!("{trigger:?}") == text).unwrap()
}

fn show(held: CacheGrant, trigger: Trigger) -> String {
    match cache_break(held, trigger) {
        None => "no".into(),
        Some(found) => {
            let to = match found.to {
                CacheGrant::Lease(caching) => format!("{caching:?}"),
                CacheGrant::Oplock(level) => format!("{level:?}"),
            };
            format!("{} {to}", if found.wait { "wait," } else { "go on," })
        }
    }
}

#[test]
fn what_breaks_leases() {
    let table = "
trigger         | None | R           | Rh          | Rw         | Rwh
Read            | no   | no          | no          | wait, R    | wait, Rh
Overwrite       | no   | go on, None | go on, None | wait, None | wait, None
Write           | no   | go on, None | go on, None | wait, None | wait, None
SharingConflict | no   | no          | wait, R     | no         | wait, Rw
Delete          | no   | no          | wait, R     | no         | wait, Rw
Replace         | no   | go on, None | wait, None  | wait, None | wait, None
";
    let cells = check_cells(table, 1, |row, heading| {
        let held = CACHINGS.into_iter().find(|caching| format!("{caching:?}") == heading).unwrap();
        show(CacheGrant::Lease(held), trigger(row[0]))
    });
    assert_eq!(cells, 30);
}

#[test]
fn what_breaks_oplocks() {
    let table = "
trigger         | None | Two         | Exclusive  | Batch
Read            | no   | no          | wait, Two  | wait, Two
Overwrite       | no   | go on, None | wait, None | wait, None
Write           | no   | go on, None | wait, None | wait, None
SharingConflict | no   | no          | no         | wait, Two
Delete          | no   | no          | no         | wait, Two
Replace         | no   | go on, None | wait, None | wait, None
";
    let cells = check_cells(table, 1, |row, heading| {
        let held = LEVELS.into_iter().find(|level| format!("{level:?}") == heading).unwrap();
        show(CacheGrant::Oplock(held), trigger(row[0]))
    });
    assert_eq!(cells, 24);
}

#[test]
fn what_is_granted() {
    let table = "
asked | alone | open elsewhere | locked or directory
None  | None  | None           | None
R     | R     | R              | None
Rh    | Rh    | Rh             | None
Rw    | Rw    | R              | None
Rwh   | Rwh   | Rh             | None
";
    let cells = check_cells(table, 1, |row, heading| {
        let asked = CACHINGS.into_iter().find(|caching| format!("{caching:?}") == row[0]).unwrap();
        let given = grant(CacheGrant::Lease(asked), heading != "alone", heading != "locked or directory");
        format!("{:?}", given.caching())
    });
    assert_eq!(cells, 15);
}

#[test]
fn a_client_answers_with_what_the_break_leaves_or_less() {
    let now = Timestamp::from_seconds(100);
    let (breaking, _) = CacheState::new(CacheGrant::Lease(Caching::Rwh)).trigger(Trigger::Read, now);
    for (kept, accepted) in [
        (CacheGrant::Lease(Caching::Rh), true),
        (CacheGrant::Lease(Caching::R), true),
        (CacheGrant::Lease(Caching::None), true),
        (CacheGrant::Lease(Caching::Rw), false),
        (CacheGrant::Lease(Caching::Rwh), false),
        (CacheGrant::Oplock(OplockLevel::None), false),
    ] {
        let expected = if accepted { Ok(CacheState::new(kept)) } else { Err(AcknowledgeRefusal::KeepsTooMuch) };
        assert_eq!(breaking.acknowledge(kept), expected, "{kept:?}");
    }
    let unbroken = CacheState::new(CacheGrant::Lease(Caching::Rwh));
    assert_eq!(unbroken.acknowledge(CacheGrant::Lease(Caching::R)), Err(AcknowledgeRefusal::NotBreaking));
}

#[test]
fn a_client_that_does_not_answer_loses_everything() {
    let now = Timestamp::from_seconds(100);
    let (breaking, step) = CacheState::new(CacheGrant::Oplock(OplockLevel::Batch)).trigger(Trigger::Read, now);
    let to = CacheGrant::Oplock(OplockLevel::Two);
    assert_eq!(step, BreakStep::Notify { to, must_acknowledge: true, wait: true });
    let deadline = now.saturating_add(BREAK_TIMEOUT);
    assert_eq!(breaking.deadline(), Some(deadline));
    assert_eq!(breaking.trigger(Trigger::Read, now).1, BreakStep::WaitForAnswer { deadline });
    let (after, step) = breaking.trigger(Trigger::Read, deadline);
    assert_eq!((after.held(), step), (CacheGrant::Oplock(OplockLevel::None), BreakStep::Nothing));
    assert_eq!(after.deadline(), None);
}

#[test]
fn a_second_access_waits_when_the_running_break_is_not_enough() {
    let now = Timestamp::from_seconds(100);
    let (breaking, _) = CacheState::new(CacheGrant::Lease(Caching::Rh)).trigger(Trigger::Delete, now);
    assert!(matches!(breaking.trigger(Trigger::Write, now).1, BreakStep::WaitForAnswer { .. }));
    let answered = breaking.acknowledge(CacheGrant::Lease(Caching::R)).unwrap();
    let (after, step) = answered.trigger(Trigger::Write, now);
    let to = CacheGrant::Lease(Caching::None);
    assert_eq!(step, BreakStep::Notify { to, must_acknowledge: false, wait: false });
    assert_eq!(after, CacheState::new(to));

    let (breaking, _) = CacheState::new(CacheGrant::Lease(Caching::Rh)).trigger(Trigger::Write, now);
    assert_eq!(breaking.trigger(Trigger::Write, now).1, BreakStep::Nothing, "told already, and nobody waits");
}

fn any_grant() -> impl Strategy<Value = CacheGrant> {
    prop_oneof![
        prop::sample::select(CACHINGS.to_vec()).prop_map(CacheGrant::Lease),
        prop::sample::select(LEVELS.to_vec()).prop_map(CacheGrant::Oplock),
    ]
}

proptest! {
    #[test]
    fn a_break_only_takes_away(
        held in any_grant(),
        steps in prop::collection::vec((prop::sample::select(TRIGGERS.to_vec()), any::<bool>(), 0_u64..50), 0..20),
    ) {
        let (mut state, mut now) = (CacheState::new(held), Timestamp::from_seconds(100));
        for (trigger, answers, wait) in steps {
            let before = state.held().caching();
            let (after, step) = state.trigger(trigger, now);
            prop_assert!(after.held().caching().is_within(before));
            if step == BreakStep::Nothing && trigger == Trigger::Read {
                prop_assert!(!after.held().caching().has_write(), "nobody reads past cached writes");
            }
            state = after;
            if let (true, BreakStep::Notify { to, must_acknowledge: true, .. }) = (answers, step) {
                state = state.acknowledge(to).map_err(|e| TestCaseError::fail(format!("{e}")))?;
            }
            now = now.saturating_add(std::time::Duration::from_secs(wait));
        }
    }

    #[test]
    fn whoever_waits_gets_on_in_the_end(held in any_grant(), trigger in prop::sample::select(TRIGGERS.to_vec())) {
        let now = Timestamp::from_seconds(100);
        let (breaking, _) = CacheState::new(held).trigger(trigger, now);
        let (_, step) = breaking.trigger(trigger, now.saturating_add(BREAK_TIMEOUT));
        prop_assert_eq!(step, BreakStep::Nothing);
    }
}
