//! The files of one directory: each with its pages, its metadata and its lease, renamed over each other and listed.
//!
//! Which refusal wins when several are due is not the concern of this model: any that is due will do. Leases of files last for
//! ever or are broken at once, so time says nothing here.

use std::collections::BTreeMap;

use crate::linearizability::{Call, Model};

/// A directory that is empty at first.
#[derive(Clone, Copy, Debug)]
pub struct Files;

/// What is asked. Names and ids of leases are numbers, lengths are pages.
#[expect(missing_docs, reason = "a name, a range of pages and the id that was sent say what they are")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Create File, also over one that is there.
    Create { name: u8, pages: usize, metadata: u64, lease: Option<u64> },
    /// Put Range: every page of the range gets this value; 0 is a clear.
    Write { name: u8, first: usize, count: usize, value: u64, lease: Option<u64> },
    /// Get File of a range.
    Read { name: u8, first: usize, count: usize },
    /// Get File Properties.
    Describe { name: u8 },
    /// Set File Properties with a length.
    Resize { name: u8, pages: usize, lease: Option<u64> },
    /// Set File Metadata.
    SetMetadata { name: u8, metadata: u64, lease: Option<u64> },
    /// Rename File.
    Rename { from: u8, to: u8, replaces: bool, lease: Option<u64> },
    /// Lease File, acquire, with a proposed id.
    Acquire { name: u8, id: u64 },
    /// Lease File, release.
    Release { name: u8, id: u64 },
    /// Lease File, break.
    Break { name: u8 },
    /// Delete File.
    Delete { name: u8, lease: Option<u64> },
    /// List Directories and Files.
    List,
}

/// Why something was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// 404
    NotFound,
    /// 409 ResourceAlreadyExists
    AlreadyExists,
    /// 416
    BehindTheEnd,
    /// 412 with one of the codes about leases.
    LeaseNotMet,
    /// 409 with one of the codes about leases.
    LeaseConflict,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was done.
    Done,
    /// What the pages hold, as many as there are of those that were asked for.
    Pages(Vec<u64>),
    /// The length and the metadata.
    Described(usize, u64),
    /// The names, in order.
    Names(Vec<u8>),
    /// It was not done.
    Refused(Refusal),
}

/// The states of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lease {
    /// There is none.
    Available,
    /// It is held under this id.
    Held(u64),
    /// It was broken; this was its id.
    Broken(u64),
}

/// A file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct File {
    pages: Vec<u64>,
    metadata: u64,
    lease: Lease,
}

type State = BTreeMap<u8, File>;

impl Model for Files {
    type State = State;
    type Op = Op;
    type Answer = Answer;

    fn start(&self) -> State {
        State::new()
    }

    fn step(&self, state: &State, call: &Call<Op, Answer>) -> Vec<State> {
        let mut next = state.clone();
        let (refusals, told) = perform(&mut next, &call.op);
        match call.answer() {
            None if refusals.is_empty() => vec![next],
            None => vec![state.clone()],
            Some(Answer::Refused(refusal)) if refusals.contains(refusal) => vec![state.clone()],
            Some(answer) if refusals.is_empty() && *answer == told => vec![next],
            Some(_) => vec![],
        }
    }

    fn observes(&self, call: &Call<Op, Answer>) -> bool {
        matches!(call.op, Op::Read { .. } | Op::Describe { .. } | Op::List)
            || matches!(call.answer(), Some(Answer::Refused(_)))
    }
}

/// What stands against a call; what it does, and tells, when that is nothing.
fn perform(state: &mut State, op: &Op) -> (Vec<Refusal>, Answer) {
    match op {
        Op::List => (vec![], Answer::Names(state.keys().copied().collect())),
        Op::Create { name, pages, metadata, lease } => {
            let old = state.get(name).map(|file| file.lease);
            let kept = old.unwrap_or(Lease::Available);
            let file = File { pages: vec![0; *pages], metadata: *metadata, lease: kept };
            let refusals = kept.against_write(*lease);
            state.insert(*name, file);
            (refusals, Answer::Done)
        }
        Op::Rename { from, to, replaces, lease } => rename(state, (*from, *to), *replaces, *lease),
        Op::Delete { name, lease } => match state.remove(name) {
            Some(file) => (file.lease.against_write(*lease), Answer::Done),
            None => (vec![Refusal::NotFound], Answer::Done),
        },
        Op::Write { name, .. }
        | Op::Read { name, .. }
        | Op::Describe { name }
        | Op::Resize { name, .. }
        | Op::SetMetadata { name, .. }
        | Op::Acquire { name, .. }
        | Op::Release { name, .. }
        | Op::Break { name } => match state.get_mut(name) {
            Some(file) => file.perform(op),
            None => (vec![Refusal::NotFound], Answer::Done),
        },
    }
}

fn rename(state: &mut State, (from, to): (u8, u8), replaces: bool, lease: Option<u64>) -> (Vec<Refusal>, Answer) {
    let Some(moved) = state.remove(&from) else { return (vec![Refusal::NotFound], Answer::Done) };
    let mut refusals = moved.lease.against_write(lease);
    match state.get(&to) {
        Some(_) if !replaces => refusals.push(Refusal::AlreadyExists),
        Some(there) => refusals.extend(there.lease.against_write(None)),
        None => {}
    }
    state.insert(to, moved);
    (refusals, Answer::Done)
}

impl File {
    fn perform(&mut self, op: &Op) -> (Vec<Refusal>, Answer) {
        match op {
            Op::Write { first, count, value, lease, .. } => {
                let mut refusals = self.lease.against_write(*lease);
                if first + count > self.pages.len() {
                    refusals.push(Refusal::BehindTheEnd);
                }
                self.pages.iter_mut().skip(*first).take(*count).for_each(|page| *page = *value);
                (refusals, Answer::Done)
            }
            Op::Read { first, count, .. } => {
                let behind = *first >= self.pages.len();
                let found = self.pages.iter().skip(*first).take(*count).copied().collect();
                (behind.then_some(Refusal::BehindTheEnd).into_iter().collect(), Answer::Pages(found))
            }
            Op::Resize { pages, lease, .. } => {
                self.pages.resize(*pages, 0);
                (self.lease.against_write(*lease), Answer::Done)
            }
            Op::SetMetadata { metadata, lease, .. } => {
                self.metadata = *metadata;
                (self.lease.against_write(*lease), Answer::Done)
            }
            Op::Acquire { id, .. } => {
                self.leased(!matches!(self.lease, Lease::Held(holder) if holder != *id), Lease::Held(*id))
            }
            Op::Release { id, .. } => {
                let holds = matches!(self.lease, Lease::Held(holder) | Lease::Broken(holder) if holder == *id);
                self.leased(holds, Lease::Available)
            }
            Op::Break { .. } => match self.lease {
                Lease::Held(id) | Lease::Broken(id) => self.leased(true, Lease::Broken(id)),
                Lease::Available => self.leased(false, Lease::Available),
            },
            _ => (vec![], Answer::Described(self.pages.len(), self.metadata)),
        }
    }

    fn leased(&mut self, allowed: bool, lease: Lease) -> (Vec<Refusal>, Answer) {
        self.lease = lease;
        (if allowed { vec![] } else { vec![Refusal::LeaseConflict] }, Answer::Done)
    }
}

impl Lease {
    /// A write needs the id of a lease that is held, and no other.
    fn against_write(self, sent: Option<u64>) -> Vec<Refusal> {
        let met = match (self, sent) {
            (Self::Held(id), Some(sent)) => id == sent,
            (Self::Held(_), None) | (Self::Available | Self::Broken(_), Some(_)) => false,
            (Self::Available | Self::Broken(_), None) => true,
        };
        if met { vec![] } else { vec![Refusal::LeaseNotMet] }
    }
}
