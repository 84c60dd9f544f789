//! The whole lease machine as a plain table, compared with the implementation over random sequences of operations and
//! clock advances. The model knows no instants: it counts down the milliseconds that are left.

use std::{sync::LazyLock, time::Duration};

use proptest::prelude::*;
use types::Timestamp;

use super::{
    BreakPeriod, Leasable, Lease, LeaseCheckRefusal, LeaseDuration, LeaseId, LeaseOperation, LeaseOutcome,
    LeaseRefusal, LeaseUse,
};

/// Sequences times steps: what the normal test run compares.
const SEQUENCES: u32 = 1_000;
const STEPS: u32 = 200;
const _: () = assert!(SEQUENCES * STEPS >= 100_000);

/// What happens in each state. The cells are read by [`Model::lease_operation`] and [`Model::data_operation`].
const TABLE: &str = "
operation             | Available  | Leased     | Breaking           | Broken           | Expired
acquire by holder     | take       | take       | BreakingNoAcquire  | take             | take
acquire by other      | take       | AlreadyPresent | AlreadyPresent | take             | take
renew by holder       | IdMismatch | restart    | BrokenNoRenew      | BrokenNoRenew    | restart
renew by other        | IdMismatch | IdMismatch | IdMismatch         | IdMismatch       | IdMismatch
change by holder      | NotPresent | rename     | BreakingNoChange   | NotPresent       | NotPresent
change to holder      | NotPresent | rename     | IdMismatch         | NotPresent       | NotPresent
change by other       | NotPresent | IdMismatch | IdMismatch         | NotPresent       | NotPresent
release by holder     | IdMismatch | free       | free               | free             | free
release by other      | IdMismatch | IdMismatch | IdMismatch         | IdMismatch       | IdMismatch
break                 | NotPresent | shorten    | shorten            | end              | end
locked use by holder  | gone       | pass       | pass               | gone             | gone
locked use by other   | gone       | Mismatch   | Mismatch           | gone             | gone
locked use by nobody  | pass       | Missing    | Missing            | pass             | pass
shared use by holder  | gone       | pass       | pass               | gone             | gone
shared use by other   | gone       | Mismatch   | Mismatch           | gone             | gone
shared use by nobody  | pass       | pass       | pass               | pass             | pass
";

/// The lines of the table, read once.
static ROWS: LazyLock<Vec<Vec<&str>>> =
    LazyLock::new(|| TABLE.trim().lines().map(|line| line.split('|').map(str::trim).collect()).collect());

#[derive(Clone, Copy, Debug)]
enum Step {
    Advance { ms: u64 },
    Lease(LeaseOperation),
    Data { usage: LeaseUse, id: Option<LeaseId> },
}

#[derive(Debug)]
struct Model {
    state: &'static str,
    id: Option<LeaseId>,
    last_held: Option<LeaseId>,
    granted_ms: Option<u64>,
    left_ms: u64,
}

impl Model {
    fn new() -> Self {
        Self { state: "Available", id: None, last_held: None, granted_ms: None, left_ms: 0 }
    }

    fn cell(&self, operation: &str) -> &'static str {
        let (headings, rows) = ROWS.split_first().unwrap();
        let column = headings.iter().position(|heading| *heading == self.state).unwrap();
        rows.iter().find(|row| row[0] == operation).unwrap()[column]
    }

    fn advance(&mut self, ms: u64) {
        let counts = self.state == "Breaking" || (self.state == "Leased" && self.granted_ms.is_some());
        if counts {
            self.left_ms = self.left_ms.saturating_sub(ms);
            if self.left_ms == 0 {
                self.state = if self.state == "Leased" { "Expired" } else { "Broken" };
            }
        }
    }

    fn who(&self, id: LeaseId) -> &'static str {
        if self.id == Some(id) { "holder" } else { "other" }
    }

    fn lease_operation(&mut self, operation: LeaseOperation) -> Result<LeaseOutcome, LeaseRefusal> {
        let row = match operation {
            LeaseOperation::Acquire { proposed, fresh, .. } => {
                format!("acquire by {}", self.who(proposed.unwrap_or(fresh)))
            }
            LeaseOperation::Renew { id } => format!("renew by {}", self.who(id)),
            LeaseOperation::Change { id, .. } if self.id == Some(id) => "change by holder".into(),
            LeaseOperation::Change { proposed, .. } if self.id == Some(proposed) => "change to holder".into(),
            LeaseOperation::Change { .. } => "change by other".into(),
            LeaseOperation::Release { id } => format!("release by {}", self.who(id)),
            LeaseOperation::Break { .. } => "break".into(),
        };
        match self.cell(&row) {
            "take" => Ok(self.take(operation)),
            "restart" => {
                (self.state, self.left_ms) = ("Leased", self.granted_ms.unwrap_or(0));
                Ok(LeaseOutcome::Renewed(self.id.unwrap()))
            }
            "rename" => {
                let LeaseOperation::Change { proposed, .. } = operation else { panic!("{operation:?}") };
                self.id = Some(proposed);
                Ok(LeaseOutcome::Changed(proposed))
            }
            "free" => {
                self.free();
                Ok(LeaseOutcome::Released)
            }
            "shorten" => Ok(self.shorten(operation)),
            "end" => {
                self.state = "Broken";
                Ok(LeaseOutcome::Broken { seconds_left: 0 })
            }
            "AlreadyPresent" => Err(LeaseRefusal::AlreadyPresent),
            "IdMismatch" => Err(LeaseRefusal::IdMismatch),
            "NotPresent" => Err(LeaseRefusal::NotPresent),
            "BreakingNoAcquire" => Err(LeaseRefusal::BreakingCannotBeAcquired),
            "BreakingNoChange" => Err(LeaseRefusal::BreakingCannotBeChanged),
            "BrokenNoRenew" => Err(LeaseRefusal::BrokenCannotBeRenewed),
            cell => panic!("no such cell: {cell}"),
        }
    }

    fn take(&mut self, operation: LeaseOperation) -> LeaseOutcome {
        let LeaseOperation::Acquire { proposed, fresh, duration } = operation else { panic!("{operation:?}") };
        let id = proposed.unwrap_or(fresh);
        self.granted_ms = match duration {
            LeaseDuration::Infinite => None,
            LeaseDuration::Fixed(fixed) => Some(u64::from(fixed.seconds()) * 1000),
        };
        (self.state, self.id, self.left_ms) = ("Leased", Some(id), self.granted_ms.unwrap_or(0));
        LeaseOutcome::Acquired(id)
    }

    fn shorten(&mut self, operation: LeaseOperation) -> LeaseOutcome {
        let LeaseOperation::Break { period } = operation else { panic!("{operation:?}") };
        let asked = period.map(|period| u64::try_from(period.length().as_millis()).unwrap());
        let infinite = self.state == "Leased" && self.granted_ms.is_none();
        self.left_ms = match (infinite, asked) {
            (true, None) => 0,
            (true, Some(asked)) => asked,
            (false, None) => self.left_ms,
            (false, Some(asked)) => asked.min(self.left_ms),
        };
        self.state = if self.left_ms == 0 { "Broken" } else { "Breaking" };
        LeaseOutcome::Broken { seconds_left: self.left_ms.div_ceil(1000) }
    }

    fn free(&mut self) {
        (self.state, self.last_held, self.id) = ("Available", self.id, None);
    }

    fn data_operation(
        &mut self,
        kind: Leasable,
        usage: LeaseUse,
        id: Option<LeaseId>,
    ) -> Result<(), LeaseCheckRefusal> {
        let needs_id = match kind {
            Leasable::Container => usage == LeaseUse::Delete,
            _ => usage != LeaseUse::Read,
        };
        let rule = if needs_id { "locked" } else { "shared" };
        let who = id.map_or("nobody", |id| self.who(id));
        match self.cell(&format!("{rule} use by {who}")) {
            "pass" => {}
            "Missing" => return Err(LeaseCheckRefusal::IdMissing),
            "Mismatch" => return Err(LeaseCheckRefusal::IdMismatch),
            "gone" if id == self.id || (self.id.is_none() && id == self.last_held) => {
                return Err(LeaseCheckRefusal::Lost);
            }
            "gone" => return Err(LeaseCheckRefusal::NotPresent),
            cell => panic!("no such cell: {cell}"),
        }
        let finite = self.state == "Breaking" || (self.state == "Leased" && self.granted_ms.is_some());
        if usage == LeaseUse::CopyInto && finite && id.is_some() {
            return Err(LeaseCheckRefusal::InfiniteDurationRequired);
        }
        match usage {
            LeaseUse::Delete => *self = Self::new(),
            LeaseUse::Write | LeaseUse::CopyInto
                if kind == Leasable::Blob && ["Broken", "Expired"].contains(&self.state) =>
            {
                self.free();
            }
            _ => {}
        }
        Ok(())
    }
}

pub(super) fn any_id() -> impl Strategy<Value = LeaseId> {
    (1_u128..=3).prop_map(LeaseId::from_u128)
}

pub(super) fn any_operation() -> impl Strategy<Value = LeaseOperation> {
    let duration = prop_oneof![Just(-1), 15_i64..=60].prop_map(|s| LeaseDuration::from_seconds(s).unwrap());
    let period = prop::option::of((0_i64..=60).prop_map(|s| BreakPeriod::from_seconds(s).unwrap()));
    // A generated id is nobody's, so it comes from another range than the proposed ones.
    let fresh = (100_u128..1_000_000_000).prop_map(LeaseId::from_u128);
    prop_oneof![
        3 => (prop::option::of(any_id()), fresh, duration)
            .prop_map(|(proposed, fresh, duration)| LeaseOperation::Acquire { proposed, fresh, duration }),
        2 => any_id().prop_map(|id| LeaseOperation::Renew { id }),
        2 => (any_id(), any_id()).prop_map(|(id, proposed)| LeaseOperation::Change { id, proposed }),
        1 => any_id().prop_map(|id| LeaseOperation::Release { id }),
        2 => period.prop_map(|period| LeaseOperation::Break { period }),
    ]
}

pub(super) fn any_use() -> impl Strategy<Value = LeaseUse> {
    prop_oneof![
        3 => Just(LeaseUse::Read),
        4 => Just(LeaseUse::Write),
        2 => Just(LeaseUse::Annotate),
        1 => Just(LeaseUse::Delete),
        2 => Just(LeaseUse::CopyInto),
    ]
}

pub(super) fn any_kind() -> impl Strategy<Value = Leasable> {
    use Leasable::{Blob, Container, File, Share, ShareSnapshot};
    prop::sample::select(vec![Blob, Container, Share, ShareSnapshot, File])
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => prop_oneof![0_u64..2_000, 0_u64..70_000, (0_u64..60).prop_map(|s| s * 1000)]
            .prop_map(|ms| Step::Advance { ms }),
        5 => any_operation().prop_map(Step::Lease),
        4 => (any_use(), prop::option::of(any_id())).prop_map(|(usage, id)| Step::Data { usage, id }),
    ]
}

/// The rules that files add: what they do not have is refused before the table is read.
fn files_lack(operation: LeaseOperation) -> Option<LeaseRefusal> {
    match operation {
        LeaseOperation::Renew { .. } => Some(LeaseRefusal::RenewNotSupported),
        LeaseOperation::Break { period: Some(_) } => Some(LeaseRefusal::BreakPeriodNotSupported),
        LeaseOperation::Acquire { duration, .. } if duration != LeaseDuration::Infinite => {
            Some(LeaseRefusal::FixedDurationNotSupported)
        }
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: SEQUENCES, ..ProptestConfig::default() })]

    #[test]
    fn the_machine_does_what_the_table_says(
        kind in any_kind(),
        steps in prop::collection::vec(any_step(), usize::try_from(STEPS).unwrap()),
    ) {
        let (mut model, mut lease, mut now) = (Model::new(), Lease::default(), Timestamp::from_seconds(1_700_000_000));
        for step in steps {
            match step {
                Step::Advance { ms } => {
                    model.advance(ms);
                    now = now.saturating_add(Duration::from_millis(ms));
                }
                Step::Lease(operation) => {
                    let expected = match files_lack(operation) {
                        Some(refusal) if kind == Leasable::File => Err(refusal),
                        _ => model.lease_operation(operation),
                    };
                    let found = lease.apply(kind, operation, now);
                    prop_assert_eq!(found.map(|change| change.outcome), expected, "{:?}", operation);
                    lease = found.map_or(lease, |change| change.lease);
                }
                Step::Data { usage, id } => {
                    let expected = model.data_operation(kind, usage, id);
                    let found = lease.admit(kind, usage, id, now);
                    prop_assert_eq!(found.map(|_| ()), expected, "{:?} {:?}", usage, id);
                    lease = found.unwrap_or(lease);
                }
            }
            prop_assert_eq!(lease.state(now).as_str(), model.state.to_lowercase(), "after {:?}", step);
            prop_assert_eq!(lease.id(), model.id, "after {:?}", step);
        }
    }
}
