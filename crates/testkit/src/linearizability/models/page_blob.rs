//! A page blob: pages that are written, cleared and read in ranges, each range at one instant.

use crate::linearizability::{Call, Model};

/// A page blob of so many pages, all of them zero at first.
#[derive(Clone, Copy, Debug)]
pub struct PageBlob {
    /// Pages.
    pub pages: usize,
}

/// What is asked of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Put Page: every page of the range gets this value.
    Write {
        /// The first page.
        first: usize,
        /// How many pages.
        count: usize,
        /// What they hold then; 0 is a clear.
        value: u64,
    },
    /// Get Blob of a range.
    Read {
        /// The first page.
        first: usize,
        /// How many pages.
        count: usize,
    },
}

/// What it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was written.
    Written,
    /// What the pages hold.
    Pages(Vec<u64>),
}

impl Model for PageBlob {
    type State = Vec<u64>;
    type Op = Op;
    type Answer = Answer;

    fn start(&self) -> Vec<u64> {
        vec![0; self.pages]
    }

    fn step(&self, state: &Vec<u64>, call: &Call<Op, Answer>) -> Vec<Vec<u64>> {
        match (&call.op, call.answer()) {
            (Op::Write { first, count, value }, None | Some(Answer::Written)) => {
                let mut next = state.clone();
                next.iter_mut().skip(*first).take(*count).for_each(|page| *page = *value);
                vec![next]
            }
            (Op::Read { .. }, None) => vec![state.clone()],
            (Op::Read { first, count }, Some(Answer::Pages(read))) => {
                let same = state.iter().skip(*first).take(*count).eq(read.iter());
                if same { vec![state.clone()] } else { vec![] }
            }
            _ => vec![],
        }
    }

    fn observes(&self, call: &Call<Op, Answer>) -> bool {
        matches!(call.op, Op::Read { .. })
    }
}
