//! What breaks to what, for leases and oplocks, and what answers and silence leave.

use proptest::prelude::*;
use types::Timestamp;

use super::{
    AcknowledgeRefusal, BREAK_TIMEOUT, Beside, BreakStep, CacheGrant, CacheState, Caching, OplockLevel, Trigger,
    cache_break, grant,
};
use crate::table_test::check_cells;

const NOW: Timestamp = Timestamp::from_seconds(100);
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
asked           | alone     | opens | writes | handles | oplocks | bars
Lease None      | None      | None  | None   | None    | None    | None
Lease R         | R         | R     | None   | R       | R       | None
Lease Rh        | Rh        | Rh    | None   | Rh      | R       | None
Lease Rw        | Rw        | R     | None   | R       | R       | None
Lease Rwh       | Rwh       | Rh    | None   | Rh      | R       | None
Oplock None     | None      | None  | None   | None    | None    | None
Oplock Two      | Two       | Two   | None   | None    | Two     | None
Oplock Exclusive | Exclusive | Two  | None   | None    | Two     | None
Oplock Batch    | Batch     | Two   | None   | None    | Two     | None
";
    let cells = check_cells(table, 1, |row, heading| {
        let asked = grants().into_iter().find(|grant| name(*grant) == row[0]).unwrap();
        let is = |what: &str| heading == what;
        // Whoever caches has the file open.
        let opens = is("opens") || is("writes") || is("handles") || is("oplocks");
        let beside =
            Beside { opens, writes: is("writes"), handles: is("handles"), oplocks: is("oplocks"), bars: is("bars") };
        name(grant(asked, beside)).split_once(' ').unwrap().1.to_owned()
    });
    assert_eq!(cells, 54);
}

fn grants() -> Vec<CacheGrant> {
    CACHINGS.into_iter().map(CacheGrant::Lease).chain(LEVELS.into_iter().map(CacheGrant::Oplock)).collect()
}

fn name(grant: CacheGrant) -> String {
    match grant {
        CacheGrant::Lease(caching) => format!("Lease {caching:?}"),
        CacheGrant::Oplock(level) => format!("Oplock {level:?}"),
    }
}

#[test]
fn a_lease_is_raised_to_all_that_is_asked_for_or_stays() {
    // What is asked for again under the same key, alone and beside somebody who reads.
    let table = "
held | None | R    | Rh  | Rw   | Rwh | beside: R | beside: Rh | beside: Rw | beside: Rwh
None | None | R    | Rh  | Rw   | Rwh | R         | Rh         | None       | None
R    | R    | R    | Rh  | Rw   | Rwh | R         | Rh         | R          | R
Rh   | Rh   | Rh   | Rh  | Rh   | Rwh | Rh        | Rh         | Rh         | Rh
Rw   | Rw   | Rw   | Rw  | Rw   | Rwh | Rw        | Rw         | Rw         | Rw
Rwh  | Rwh  | Rwh  | Rwh | Rwh  | Rwh | Rwh       | Rwh        | Rwh        | Rwh
";
    let cells = check_cells(table, 1, |row, heading| {
        let find = |text: &str| CACHINGS.into_iter().find(|caching| format!("{caching:?}") == text).unwrap();
        let (opens, asked) = match heading.strip_prefix("beside: ") {
            Some(asked) => (true, asked),
            None => (false, heading),
        };
        let asked = CacheGrant::Lease(find(asked));
        let state = CacheState::counted(CacheGrant::Lease(find(row[0])), Some(4));
        let after = state.asked_again(asked, grant(asked, Beside { opens, ..Beside::default() }));
        let changes = if after.held() == state.held() { 0 } else { 1 };
        assert_eq!(after.epoch(), Some(5 + changes), "a change counts");
        format!("{:?}", after.held().caching())
    });
    assert_eq!(cells, 45);
    let (breaking, _) = CacheState::new(CacheGrant::Lease(Caching::Rh)).trigger(Trigger::Delete, NOW);
    let more = CacheGrant::Lease(Caching::Rwh);
    assert_eq!(breaking.asked_again(more, more), breaking, "not while it is broken");
}

#[test]
fn breaks_that_come_meanwhile_are_told_one_after_the_other() {
    // Broken by a read; then what else comes, and what each answer with all that is left leads to.
    let table = "
held  | meanwhile       | told
Rwh   | Read            | Rh
Rwh   | Overwrite       | Rh, R, None without answer
Rwh   | SharingConflict | Rh, R
Rwh   | Delete          | Rh, R
Rw    | Write           | R, None without answer
Batch | Overwrite       | Two, None without answer
Batch | Delete          | Two
";
    for line in table.lines().skip(2) {
        let row: Vec<&str> = line.split('|').map(str::trim).collect();
        let held = grants().into_iter().find(|grant| name(*grant).ends_with(&format!(" {}", row[0]))).unwrap();
        let (state, step) = CacheState::counted(held, Some(0)).trigger(Trigger::Read, NOW);
        let (mut state, waits) = state.trigger(trigger(row[1]), NOW);
        assert!(matches!(waits, BreakStep::WaitForAnswer { .. }), "{line}");
        assert_eq!(state.epoch(), Some(2), "granted, broken: {line}");
        let (mut next, mut told) = (step, Vec::new());
        while let BreakStep::Notify { to, must_acknowledge, .. } = next {
            let left = name(to).split_once(' ').unwrap().1.to_owned();
            if must_acknowledge {
                told.push(left);
                (state, next) = state.acknowledge(Some(to), NOW).unwrap();
            } else {
                told.push(left + " without answer");
                next = BreakStep::Nothing;
            }
        }
        assert_eq!((told.join(", ").as_str(), state.is_breaking()), (row[2], false), "{line}");
        assert_eq!(state.epoch(), Some(2), "what comes meanwhile is a part of the same break: {line}");
        assert_eq!(state.trigger(trigger(row[1]), NOW).1, BreakStep::Nothing, "{line}");
    }
}

#[test]
fn a_client_answers_with_what_the_break_leaves_or_less() {
    let (breaking, _) = CacheState::new(CacheGrant::Lease(Caching::Rwh)).trigger(Trigger::Read, NOW);
    for (kept, accepted) in [
        (Some(CacheGrant::Lease(Caching::Rh)), true),
        (Some(CacheGrant::Lease(Caching::R)), true),
        (Some(CacheGrant::Lease(Caching::None)), true),
        (Some(CacheGrant::Lease(Caching::Rw)), false),
        (Some(CacheGrant::Lease(Caching::Rwh)), false),
        (Some(CacheGrant::Oplock(OplockLevel::None)), false),
        (None, false),
    ] {
        let expected = match kept {
            Some(kept) if accepted => Ok((CacheState::new(kept), BreakStep::Nothing)),
            _ => Err(AcknowledgeRefusal::KeepsTooMuch),
        };
        assert_eq!(breaking.acknowledge(kept, NOW), expected, "{kept:?}");
    }
    let unbroken = CacheState::new(CacheGrant::Lease(Caching::Rwh));
    for kept in [Some(CacheGrant::Lease(Caching::R)), None] {
        assert_eq!(unbroken.acknowledge(kept, NOW), Err(AcknowledgeRefusal::NotBreaking));
    }
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
    let (waiting, _) = breaking.trigger(Trigger::Write, now);
    let (answered, step) = waiting.acknowledge(Some(CacheGrant::Lease(Caching::R)), now).unwrap();
    let to = CacheGrant::Lease(Caching::None);
    assert_eq!(step, BreakStep::Notify { to, must_acknowledge: false, wait: false });
    assert_eq!(answered, CacheState::new(to));
    assert_eq!(answered.trigger(Trigger::Write, now).1, BreakStep::Nothing);

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
                let (mut next, mut left) = (step, to);
                while let BreakStep::Notify { to, must_acknowledge, .. } = next {
                    prop_assert!(to.caching().is_within(left.caching()));
                    left = to;
                    if !must_acknowledge {
                        break;
                    }
                    (state, next) =
                        state.acknowledge(Some(to), now).map_err(|e| TestCaseError::fail(format!("{e}")))?;
                }
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
