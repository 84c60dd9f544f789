//! One message of a queue: put once, got while it is visible, hidden from others then, changed and deleted by the last receipt.

use crate::linearizability::{Call, Model};

/// A message that is not there at first.
#[derive(Clone, Copy, Debug)]
pub struct Message;

/// A receipt, by number; `None` is one that nobody was told.
pub type Receipt = Option<u64>;

/// What is asked of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Put Message.
    Put {
        /// For how long it is invisible at first, in microseconds.
        hidden: u64,
    },
    /// Get Messages that brought it, or whose answer nobody knows.
    Get {
        /// For how long it is hidden from others then, in microseconds.
        hidden: u64,
    },
    /// Get Messages that had room for it and did not bring it.
    Missed,
    /// Update Message.
    Update {
        /// What was sent.
        receipt: u64,
        /// As for Get.
        hidden: u64,
    },
    /// Delete Message.
    Delete {
        /// What was sent.
        receipt: u64,
    },
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is in the queue, or still in it; this receipt counts from now on.
    Held(u64),
    /// It was brought, so often by now, with this receipt.
    Brought {
        /// The receipt.
        receipt: u64,
        /// How often it was got.
        dequeue_count: u32,
    },
    /// It was not brought.
    NotBrought,
    /// It is gone.
    Deleted,
    /// 404 MessageNotFound
    NotFound,
    /// 400 PopReceiptMismatch
    Mismatch,
}

/// What is known of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Not put yet.
    Before,
    /// In the queue.
    Queued {
        /// The receipt that counts.
        receipt: Receipt,
        /// When it becomes visible: not before the first of these instants and not after the second.
        visible: (u64, u64),
        /// How often it was got.
        dequeue_count: u32,
    },
    /// Deleted.
    After,
}

impl Model for Message {
    type State = State;
    type Op = Op;
    type Answer = Answer;

    fn start(&self) -> State {
        State::Before
    }

    fn step(&self, state: &State, call: &Call<Op, Answer>) -> Vec<State> {
        let (from, to) = (call.called_at, call.ended_at());
        let later = |hidden: u64| (from.saturating_add(hidden), to.saturating_add(hidden));
        let answer = call.answer();
        match (&call.op, state) {
            (Op::Put { hidden }, State::Before) => match answer {
                None => vec![State::Queued { receipt: None, visible: later(*hidden), dequeue_count: 0 }],
                Some(Answer::Held(receipt)) => {
                    vec![State::Queued { receipt: Some(*receipt), visible: later(*hidden), dequeue_count: 0 }]
                }
                Some(_) => vec![],
            },
            (Op::Get { hidden }, State::Queued { visible, dequeue_count, .. }) if to >= visible.0 => {
                let dequeue_count = dequeue_count + 1;
                match answer {
                    // It may have brought this one or others.
                    None => {
                        vec![state.clone(), State::Queued { receipt: None, visible: later(*hidden), dequeue_count }]
                    }
                    Some(Answer::Brought { receipt, dequeue_count: said }) if *said == dequeue_count => {
                        vec![State::Queued { receipt: Some(*receipt), visible: later(*hidden), dequeue_count }]
                    }
                    Some(_) => vec![],
                }
            }
            (Op::Get { .. }, _) if answer.is_none() => vec![state.clone()],
            (Op::Missed, State::Queued { visible, receipt, dequeue_count }) => {
                // It was still hidden, and so it becomes visible after this call began.
                let hidden = State::Queued {
                    receipt: *receipt,
                    visible: (visible.0.max(from), visible.1),
                    dequeue_count: *dequeue_count,
                };
                if from < visible.1 { vec![hidden] } else { vec![] }
            }
            (Op::Missed, State::Before | State::After) => vec![state.clone()],
            (Op::Update { receipt: sent, hidden }, State::Queued { receipt, dequeue_count, .. }) => {
                let holds = *receipt == Some(*sent);
                let next =
                    |receipt| vec![State::Queued { receipt, visible: later(*hidden), dequeue_count: *dequeue_count }];
                match answer {
                    None if holds => next(None),
                    Some(Answer::Held(new)) if holds => next(Some(*new)),
                    None => vec![state.clone()],
                    Some(Answer::Mismatch | Answer::NotFound) if !holds => vec![state.clone()],
                    Some(_) => vec![],
                }
            }
            (Op::Delete { receipt: sent }, State::Queued { receipt, .. }) => {
                let holds = *receipt == Some(*sent);
                match answer {
                    None | Some(Answer::Deleted) if holds => vec![State::After],
                    None => vec![state.clone()],
                    Some(Answer::Mismatch | Answer::NotFound) if !holds => vec![state.clone()],
                    Some(_) => vec![],
                }
            }
            (Op::Update { .. } | Op::Delete { .. }, State::Before | State::After) => match answer {
                None | Some(Answer::NotFound) => vec![state.clone()],
                Some(_) => vec![],
            },
            _ => vec![],
        }
    }

    fn observes(&self, call: &Call<Op, Answer>) -> bool {
        matches!(call.op, Op::Missed) || matches!(call.answer(), Some(Answer::NotFound | Answer::Mismatch))
    }
}
