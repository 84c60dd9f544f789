//! What must never happen to a lease, whatever the order of operations and clock advances.

use std::time::Duration;

use proptest::prelude::*;
use types::Timestamp;

use super::{
    Grant, Leasable, Lease, LeaseCheckRefusal, LeaseId, LeaseOperation, LeaseOutcome, LeaseRecord, LeaseUse,
    model::{any_id, any_kind, any_operation, any_use},
};

const IDS: [LeaseId; 3] = [LeaseId::from_u128(1), LeaseId::from_u128(2), LeaseId::from_u128(3)];

/// One step of a random history: an operation on the lease or on the data, and the seconds that pass before it.
type Step = (u64, Result<LeaseOperation, (LeaseUse, Option<LeaseId>)>);

fn history() -> impl Strategy<Value = Vec<Step>> {
    let action = prop_oneof![any_operation().prop_map(Ok), (any_use(), prop::option::of(any_id())).prop_map(Err),];
    prop::collection::vec((0_u64..40, action), 0..40)
}

/// The lease after a history, with the instant of its end.
fn play(kind: Leasable, history: &[Step]) -> (Lease, Timestamp) {
    let start = (Lease::default(), Timestamp::from_seconds(1_000_000));
    history.iter().fold(start, |(lease, now), (wait, action)| {
        let now = now.saturating_add(Duration::from_secs(*wait));
        let after = match action {
            Ok(operation) => lease.apply(kind, *operation, now).map_or(lease, |change| change.lease),
            Err((usage, id)) => lease.admit(kind, *usage, *id, now).unwrap_or(lease),
        };
        (after, now)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn a_lease_never_has_two_holders(kind in any_kind(), history in history()) {
        let (lease, now) = play(kind, &history);
        let holders = IDS.iter().filter(|id| lease.is_held_by(**id, now)).count();
        prop_assert!(holders <= 1);
        let writers = IDS.iter().filter(|id| lease.check(kind, LeaseUse::Write, Some(**id), now).is_ok()).count();
        prop_assert_eq!(holders, writers, "who may write with an id is who holds the lease");
    }

    #[test]
    fn a_write_is_never_accepted_under_somebody_elses_lease(
        kind in any_kind(),
        history in history(),
        usage in any_use(),
        id in prop::option::of(any_id()),
    ) {
        let (lease, now) = play(kind, &history);
        if let Some(holder) = lease.id() && lease.is_held_by(holder, now) && id != Some(holder) {
            let found = lease.admit(kind, usage, id, now);
            match (id, kind.needs_id(usage)) {
                (None, true) => prop_assert_eq!(found, Err(LeaseCheckRefusal::IdMissing)),
                (None, false) => prop_assert_eq!(found, Ok(lease)),
                (Some(_), _) => prop_assert_eq!(found, Err(LeaseCheckRefusal::IdMismatch)),
            }
        }
    }

    #[test]
    fn a_holder_keeps_what_was_promised(kind in any_kind(), history in history(), waited in 0_u64..60) {
        // Between a grant and its end nobody else can write or acquire, unless the lease is broken or released.
        let (lease, now) = play(kind, &history);
        if let LeaseRecord::Leased { id, grant } = lease.record() && lease.is_held_by(id, now) {
            let later = now.saturating_add(Duration::from_secs(waited));
            let promised = match grant {
                Grant::Infinite => true,
                Grant::Fixed { expiry, .. } => later < expiry,
            };
            prop_assert_eq!(lease.is_held_by(id, later), promised);
            prop_assert_eq!(lease.check(kind, LeaseUse::Delete, None, later).is_err(), promised);
        }
    }

    #[test]
    fn a_finite_lease_never_outlives_its_expiry(
        kind in any_kind(),
        history in history(),
        operation in any_operation(),
    ) {
        let (lease, now) = play(kind, &history);
        let Ok(change) = lease.apply(kind, operation, now) else { return Ok(()) };
        let infinite = matches!(change.lease.record(), LeaseRecord::Leased { grant: Grant::Infinite, .. });
        let after_the_longest = now.saturating_add(Duration::from_secs(60));
        prop_assert_eq!(change.lease.state(after_the_longest).is_locked(), infinite);
        if let LeaseOutcome::Broken { seconds_left } = change.outcome {
            let end = now.saturating_add(Duration::from_secs(seconds_left));
            prop_assert!(!change.lease.state(end).is_locked(), "a broken lease ends when the answer said");
        }
    }

    #[test]
    fn a_break_never_lengthens_a_lease(history in history(), period in 0_i64..=60) {
        let (lease, now) = play(Leasable::Blob, &history);
        let end = |lease: Lease| match lease.record() {
            LeaseRecord::Leased { grant: Grant::Infinite, .. } => Timestamp::NEVER,
            LeaseRecord::Leased { grant: Grant::Fixed { expiry, .. }, .. } => expiry,
            LeaseRecord::Breaking { break_at, .. } => break_at,
            _ => Timestamp::EPOCH,
        };
        let period = Some(super::BreakPeriod::from_seconds(period).unwrap());
        if let Ok(change) = lease.apply(Leasable::Blob, LeaseOperation::Break { period }, now) {
            prop_assert!(end(change.lease) <= end(lease));
        }
    }

    #[test]
    fn nobody_renews_a_blob_lease_after_somebody_else_wrote(history in history(), id in any_id()) {
        let (lease, now) = play(Leasable::Blob, &history);
        if !lease.state(now).is_locked() {
            let written = lease.admit(Leasable::Blob, LeaseUse::Write, None, now);
            let written = written.map_err(|e| TestCaseError::fail(format!("{e}")))?;
            let renewed = written.apply(Leasable::Blob, LeaseOperation::Renew { id }, now);
            prop_assert!(renewed.is_err());
        }
    }

    #[test]
    fn a_clock_that_goes_backwards_changes_no_outcome(
        kind in any_kind(),
        history in history(),
        operation in any_operation(),
        usage in any_use(),
        id in prop::option::of(any_id()),
        back in 0_u64..2_000_000,
    ) {
        let (lease, _) = play(kind, &history);
        let last_change = lease.changed_at();
        let earlier = Timestamp::from_seconds(last_change.seconds().saturating_sub(back));
        prop_assert_eq!(lease.state(earlier), lease.state(last_change));
        prop_assert_eq!(lease.apply(kind, operation, earlier), lease.apply(kind, operation, last_change));
        prop_assert_eq!(lease.admit(kind, usage, id, earlier), lease.admit(kind, usage, id, last_change));
    }

    #[test]
    fn a_refusal_changes_nothing_and_is_repeated(
        kind in any_kind(),
        history in history(),
        operation in any_operation(),
    ) {
        let (lease, now) = play(kind, &history);
        let before = lease;
        if let Err(refusal) = lease.apply(kind, operation, now) {
            prop_assert_eq!(lease, before);
            prop_assert_eq!(lease.apply(kind, operation, now), Err(refusal));
        }
    }

    #[test]
    fn any_text_is_an_id_or_refused(text in "\\PC{0,60}") {
        if let Ok(id) = LeaseId::parse(&text) {
            prop_assert_eq!(LeaseId::parse(&id.to_string()), Ok(id));
        }
    }
}
