//! A blob that is written as a whole: its content, its ETag and its lease.
//!
//! Which refusal wins when several are due is not the concern of this model: any that is due will do.

use crate::linearizability::{Call, Model};

/// A blob that does not exist at first.
#[derive(Clone, Copy, Debug)]
pub struct Blob;

/// The condition of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// None.
    Always,
    /// `If-Match` with an ETag.
    IfMatch(u64),
    /// `If-None-Match: *`.
    IfAbsent,
}

/// What is asked of it. Ids of leases are numbers here.
#[expect(missing_docs, reason = "a condition and an id of a lease say what they are")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Put Blob.
    Put {
        /// What it holds then.
        value: u64,
        condition: Condition,
        /// The id that was sent.
        lease: Option<u64>,
    },
    /// Get Blob.
    Get {
        /// The id that was sent.
        lease: Option<u64>,
    },
    /// Delete Blob.
    Delete {
        condition: Condition,
        /// The id that was sent.
        lease: Option<u64>,
    },
    /// Lease Blob, acquire, with a proposed id.
    Acquire {
        id: u64,
        /// For how long, in microseconds; `None` is for ever.
        duration: Option<u64>,
    },
    /// Lease Blob, renew.
    Renew { id: u64 },
    /// Lease Blob, release.
    Release { id: u64 },
    /// Lease Blob, break.
    Break {
        /// The period in microseconds.
        period: u64,
    },
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was written and has this ETag.
    Written(u64),
    /// What it holds, and its ETag.
    Content(u64, u64),
    /// It was deleted.
    Deleted,
    /// The lease is what was asked for.
    Leased,
    /// 404
    NotFound,
    /// 412 ConditionNotMet, 409 BlobAlreadyExists
    ConditionNotMet,
    /// 412 with one of the codes about leases.
    LeaseNotMet,
    /// 409 with one of the codes about leases.
    LeaseConflict,
}

/// A span of instants, in microseconds, within which something happens.
type Span = (u64, u64);

/// The states of a lease, with when they end by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lease {
    /// There is none.
    Available,
    /// It is held.
    Held {
        /// By whom.
        id: u64,
        /// For how long after each renewal, and when it ends.
        ends: Option<(u64, Span)>,
    },
    /// Its time is over, and nobody has it since.
    Expired {
        /// Who had it.
        id: u64,
        /// For how long.
        duration: u64,
    },
    /// It was broken, and holds for a while yet.
    Breaking {
        /// Who had it.
        id: u64,
        /// When that ends.
        ends: Span,
    },
    /// It was broken.
    Broken {
        /// Who had it.
        id: u64,
    },
}

/// A blob that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Existing {
    value: u64,
    /// `None` when nobody was told.
    tag: Option<u64>,
    lease: Lease,
}

impl Model for Blob {
    type State = Option<Existing>;
    type Op = Op;
    type Answer = Answer;

    fn start(&self) -> Self::State {
        None
    }

    fn step(&self, state: &Self::State, call: &Call<Op, Answer>) -> Vec<Self::State> {
        let Some(blob) = state else { return absent(call) };
        let mut next = Vec::new();
        for (seen, kept) in blob.lease.at((call.called_at, call.ended_at())) {
            let blob = Existing { lease: kept, ..*blob };
            match call.op {
                Op::Put { value, condition, lease } => {
                    let tag = match call.answer() {
                        Some(Answer::Written(tag)) => Some(*tag),
                        _ => None,
                    };
                    for after in seen.after_write(kept) {
                        let written = Existing { value, tag, lease: after };
                        next.extend(blob.change(seen, call, condition, lease, &Answer::Written(0), Some(written)));
                    }
                }
                Op::Delete { condition, lease } => {
                    next.extend(blob.change(seen, call, condition, lease, &Answer::Deleted, None));
                }
                Op::Get { lease } => next.extend(blob.read(seen, call, lease).map(Some)),
                Op::Acquire { .. } | Op::Renew { .. } | Op::Release { .. } | Op::Break { .. } => {
                    next.extend(blob.lease(seen, call).map(Some));
                }
            }
        }
        next
    }

    fn observes(&self, call: &Call<Op, Answer>) -> bool {
        let refused = matches!(
            call.answer(),
            Some(Answer::NotFound | Answer::ConditionNotMet | Answer::LeaseNotMet | Answer::LeaseConflict)
        );
        refused || matches!(call.op, Op::Get { .. })
    }
}

/// What happens where there is no blob.
fn absent(call: &Call<Op, Answer>) -> Vec<Option<Existing>> {
    let refused = vec![None];
    match (&call.op, call.answer()) {
        (Op::Put { value, condition, lease }, answer) => {
            let (unmet, unleased) = (matches!(condition, Condition::IfMatch(_)), lease.is_some());
            match answer {
                Some(Answer::ConditionNotMet) if unmet => refused,
                Some(Answer::LeaseNotMet) if unleased => refused,
                None if unmet || unleased => refused,
                Some(Answer::Written(tag)) if !unmet && !unleased => vec![Some(Existing::new(*value, Some(*tag)))],
                None => vec![Some(Existing::new(*value, None))],
                Some(_) => vec![],
            }
        }
        (_, None | Some(Answer::NotFound)) => refused,
        // A condition that asks for an ETag is not met by nothing.
        (Op::Delete { condition: Condition::IfMatch(_), .. }, Some(Answer::ConditionNotMet)) => refused,
        _ => vec![],
    }
}

impl Existing {
    const fn new(value: u64, tag: Option<u64>) -> Self {
        Self { value, tag, lease: Lease::Available }
    }

    /// A write that leads to `done`, when nothing stands against it.
    fn change(
        self,
        seen: Lease,
        call: &Call<Op, Answer>,
        condition: Condition,
        sent: Option<u64>,
        success: &Answer,
        done: Option<Self>,
    ) -> Option<Option<Self>> {
        let unmet = match condition {
            Condition::Always => false,
            Condition::IfMatch(tag) => self.tag != Some(tag),
            // The holder of a lease may overwrite in spite of it.
            Condition::IfAbsent => sent.is_none() || sent != seen.active(),
        };
        let unleased = match seen.active() {
            Some(id) => sent != Some(id),
            None => sent.is_some(),
        };
        match call.answer() {
            None if unmet || unleased => Some(Some(self)),
            None => Some(done),
            Some(Answer::ConditionNotMet) if unmet => Some(Some(self)),
            Some(Answer::LeaseNotMet) if unleased => Some(Some(self)),
            Some(answer) if !unmet && !unleased && same_kind(answer, success) => Some(done),
            Some(_) => None,
        }
    }

    fn read(mut self, seen: Lease, call: &Call<Op, Answer>, sent: Option<u64>) -> Option<Self> {
        let unleased = sent.is_some() && sent != seen.active();
        match call.answer() {
            None => Some(self),
            Some(Answer::LeaseNotMet) if unleased => Some(self),
            Some(Answer::Content(value, tag)) if !unleased && *value == self.value => {
                let same = self.tag.is_none_or(|known| known == *tag);
                // Who reads it learns the ETag that nobody was told.
                self.tag = Some(*tag);
                same.then_some(self)
            }
            Some(_) => None,
        }
    }

    fn lease(self, seen: Lease, call: &Call<Op, Answer>) -> Option<Self> {
        let span = (call.called_at, call.ended_at());
        let granted = seen.changed(&call.op, span);
        match (call.answer(), granted) {
            (None | Some(Answer::Leased), Some(lease)) => Some(Self { lease, ..self }),
            (None | Some(Answer::LeaseConflict), None) => Some(self),
            _ => None,
        }
    }
}

fn same_kind(answer: &Answer, wanted: &Answer) -> bool {
    std::mem::discriminant(answer) == std::mem::discriminant(wanted)
}

impl Lease {
    /// What it may be for a call within this span, since what ends by itself may have ended or not, and what is known of it
    /// then.
    ///
    /// The server judges the time once, when it decides, and what it decided is seen once it is durable: by then others
    /// may have seen that the lease is over. So the end stays a span of instants, which each call narrows, and never becomes a
    /// state of its own before something is written.
    fn at(self, (from, to): Span) -> Vec<(Self, Self)> {
        let (ends, over) = match self {
            Self::Held { id, ends: Some((duration, ends)) } => (ends, Self::Expired { id, duration }),
            Self::Breaking { id, ends } => (ends, Self::Broken { id }),
            Self::Available | Self::Held { ends: None, .. } | Self::Expired { .. } | Self::Broken { .. } => {
                return vec![(self, self)];
            }
        };
        let narrowed = |ends: Span| match self {
            Self::Held { id, ends: Some((duration, _)) } => Self::Held { id, ends: Some((duration, ends)) },
            Self::Breaking { id, .. } => Self::Breaking { id, ends },
            same => same,
        };
        let mut possible = Vec::new();
        if from < ends.1 {
            let later = narrowed((ends.0.max(from), ends.1));
            possible.push((later, later));
        }
        if to >= ends.0 {
            possible.push((over, narrowed((ends.0, ends.1.min(to)))));
        }
        possible
    }

    /// The id that writers must send.
    const fn active(self) -> Option<u64> {
        match self {
            Self::Held { id, .. } | Self::Breaking { id, .. } => Some(id),
            Self::Available | Self::Expired { .. } | Self::Broken { .. } => None,
        }
    }

    /// After a write, a lease that was over cannot be renewed any more.
    fn after_write(self, kept: Self) -> Vec<Self> {
        match self {
            Self::Expired { .. } => vec![Self::Available],
            // Whether a broken one is forgotten is not documented.
            Self::Broken { .. } => vec![kept, Self::Available],
            Self::Available | Self::Held { .. } | Self::Breaking { .. } => vec![kept],
        }
    }

    /// The lease after an action on it; `None` when it is refused.
    fn changed(self, action: &Op, span: Span) -> Option<Self> {
        let later = |duration: u64| (span.0.saturating_add(duration), span.1.saturating_add(duration));
        let held = |id, duration: Option<u64>| Self::Held { id, ends: duration.map(|length| (length, later(length))) };
        match (action, self) {
            (Op::Acquire { id, duration }, Self::Held { id: holder, .. }) => {
                (*id == holder).then(|| held(*id, *duration))
            }
            (Op::Acquire { .. }, Self::Breaking { .. }) => None,
            (Op::Acquire { id, duration }, Self::Available | Self::Expired { .. } | Self::Broken { .. }) => {
                Some(held(*id, *duration))
            }
            (Op::Renew { id }, Self::Held { id: holder, ends }) => {
                (*id == holder).then(|| held(*id, ends.map(|(duration, _)| duration)))
            }
            (Op::Renew { id }, Self::Expired { id: holder, duration }) => {
                (*id == holder).then(|| held(*id, Some(duration)))
            }
            (Op::Renew { .. }, Self::Available | Self::Breaking { .. } | Self::Broken { .. }) => None,
            (
                Op::Release { id },
                Self::Held { id: holder, .. }
                | Self::Expired { id: holder, .. }
                | Self::Breaking { id: holder, .. }
                | Self::Broken { id: holder },
            ) => (*id == holder).then_some(Self::Available),
            (Op::Break { period }, Self::Held { id, ends }) => {
                let wanted = later(*period);
                let ends = ends.map_or(wanted, |(_, ends)| (ends.0.min(wanted.0), ends.1.min(wanted.1)));
                Some(if *period == 0 { Self::Broken { id } } else { Self::Breaking { id, ends } })
            }
            (Op::Break { period }, Self::Breaking { id, ends }) => {
                let wanted = later(*period);
                let ends = (ends.0.min(wanted.0), ends.1.min(wanted.1));
                Some(if *period == 0 { Self::Broken { id } } else { Self::Breaking { id, ends } })
            }
            (Op::Break { .. }, Self::Expired { id, .. } | Self::Broken { id }) => Some(Self::Broken { id }),
            _ => None,
        }
    }
}
