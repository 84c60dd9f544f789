//! The entities of one partition of a table: single changes, each under its condition, and transactions of several.

use std::collections::BTreeMap;

use crate::linearizability::{Call, Model};

/// A partition, empty at first.
#[derive(Clone, Copy, Debug)]
pub struct Partition;

/// An entity: its value and its ETag.
pub type Entity = (u64, Tag);
/// An ETag, by number; `None` is one that nobody was told.
pub type Tag = Option<u64>;

/// When a change is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfMatch {
    /// `*`: the entity exists.
    Any,
    /// It has this ETag.
    Tag(u64),
}

/// One change of one entity.
#[expect(missing_docs, reason = "a row is a row, and a condition says which")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Insert Entity.
    Insert {
        row: u8,
        /// What it holds then.
        value: u64,
    },
    /// Update Entity.
    Update {
        row: u8,
        /// What it holds then.
        value: u64,
        if_match: IfMatch,
    },
    /// Insert Or Replace Entity.
    Upsert {
        row: u8,
        /// What it holds then.
        value: u64,
    },
    /// Delete Entity.
    Delete { row: u8, if_match: IfMatch },
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// One change, or a transaction of several.
    Write(Vec<Change>),
    /// Query Entities of one row.
    Get {
        /// The RowKey, as a number.
        row: u8,
    },
    /// Query Entities of the whole partition.
    Scan,
}

/// Why a change was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// 404
    NotFound,
    /// 409
    AlreadyExists,
    /// 412
    ConditionNotMet,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// All changes were made; the ETags of those that have one.
    Written(Vec<Tag>),
    /// None was made, because of this one.
    Refused {
        /// The index of the change that was refused.
        change: usize,
        /// What was in its way.
        refusal: Refusal,
    },
    /// The value of the entity, and its ETag.
    Found(u64, u64),
    /// There is none.
    NotFound,
    /// Rows with their values, in order.
    Rows(Vec<(u8, u64)>),
}

type State = BTreeMap<u8, Entity>;

impl Model for Partition {
    type State = State;
    type Op = Op;
    type Answer = Answer;

    fn start(&self) -> State {
        State::new()
    }

    fn step(&self, state: &State, call: &Call<Op, Answer>) -> Vec<State> {
        let unchanged = |fits: bool| if fits { vec![state.clone()] } else { vec![] };
        match (&call.op, call.answer()) {
            (Op::Write(changes), answer) => match (write(state, changes, answer), answer) {
                (Ok(next), None | Some(Answer::Written(_))) => vec![next],
                (Err(_), None) => vec![state.clone()],
                (Err((at, why)), Some(Answer::Refused { change, refusal })) => {
                    unchanged((at, why) == (*change, *refusal))
                }
                _ => vec![],
            },
            (Op::Get { .. } | Op::Scan, None) => vec![state.clone()],
            (Op::Get { row }, Some(Answer::Found(value, tag))) => match state.get(row) {
                Some((found, None)) if found == value => {
                    // Who reads it learns the ETag that nobody was told.
                    let mut next = state.clone();
                    next.insert(*row, (*value, Some(*tag)));
                    vec![next]
                }
                found => unchanged(found == Some(&(*value, Some(*tag)))),
            },
            (Op::Get { row }, Some(Answer::NotFound)) => unchanged(!state.contains_key(row)),
            (Op::Scan, Some(Answer::Rows(rows))) => {
                unchanged(state.iter().map(|(row, (value, _))| (*row, *value)).eq(rows.iter().copied()))
            }
            _ => vec![],
        }
    }

    fn observes(&self, call: &Call<Op, Answer>) -> bool {
        !matches!(call.op, Op::Write(_)) || matches!(call.answer(), Some(Answer::Refused { .. }))
    }
}

/// All changes or none.
fn write(state: &State, changes: &[Change], answer: Option<&Answer>) -> Result<State, (usize, Refusal)> {
    let mut next = state.clone();
    for (index, change) in changes.iter().enumerate() {
        let tag = match answer {
            Some(Answer::Written(tags)) => tags.get(index).copied().flatten(),
            _ => None,
        };
        let changed = match change {
            Change::Insert { row, .. } if next.contains_key(row) => Err(Refusal::AlreadyExists),
            Change::Insert { row, value } | Change::Upsert { row, value } => Ok((*row, Some((*value, tag)))),
            Change::Update { row, value, if_match } => {
                admitted(&next, *row, *if_match).map(|()| (*row, Some((*value, tag))))
            }
            Change::Delete { row, if_match } => admitted(&next, *row, *if_match).map(|()| (*row, None)),
        };
        match changed {
            Ok((row, Some(entity))) => drop(next.insert(row, entity)),
            Ok((row, None)) => drop(next.remove(&row)),
            Err(refusal) => return Err((index, refusal)),
        }
    }
    Ok(next)
}

fn admitted(state: &State, row: u8, if_match: IfMatch) -> Result<(), Refusal> {
    match (state.get(&row), if_match) {
        (None, _) => Err(Refusal::NotFound),
        (Some(_), IfMatch::Any) => Ok(()),
        // An ETag that nobody was told is not one that somebody sends.
        (Some((_, tag)), IfMatch::Tag(sent)) if *tag == Some(sent) => Ok(()),
        (Some(_), IfMatch::Tag(_)) => Err(Refusal::ConditionNotMet),
    }
}
