//! An append blob: blocks in the order in which they were appended. The state is the length and a digest of the blocks, which
//! the driver computes from what it reads in the same way.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::linearizability::{Call, Model};

/// An append blob, empty at first.
#[derive(Clone, Copy, Debug)]
pub struct AppendBlob;

/// How long it is, and what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Content {
    /// Blocks, all of the same length.
    pub blocks: u64,
    /// Of all blocks, in their order.
    pub digest: u64,
}

impl Content {
    /// The content with one more block.
    #[must_use]
    pub fn with(self, block: u64) -> Self {
        let mut hasher = DefaultHasher::new();
        (self.digest, block).hash(&mut hasher);
        Self { blocks: self.blocks + 1, digest: hasher.finish() }
    }

    /// The content with these blocks.
    #[must_use]
    pub fn of(blocks: &[u64]) -> Self {
        blocks.iter().fold(Self::default(), |content, block| content.with(*block))
    }
}

/// What is asked of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Append Block.
    Append {
        /// What is appended.
        block: u64,
        /// `x-ms-blob-condition-appendpos`, in blocks.
        position: Option<u64>,
    },
    /// Get Blob.
    Read,
}

/// What it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The block begins behind so many others.
    Appended {
        /// Blocks before it.
        offset: u64,
    },
    /// The blob is not as long as the condition says.
    PositionNotMet,
    /// What it holds.
    Content(Content),
}

impl Model for AppendBlob {
    type State = Content;
    type Op = Op;
    type Answer = Answer;

    fn start(&self) -> Content {
        Content::default()
    }

    fn step(&self, state: &Content, call: &Call<Op, Answer>) -> Vec<Content> {
        match (&call.op, call.answer()) {
            (Op::Append { block, position }, answer) => {
                let admitted = position.is_none_or(|position| position == state.blocks);
                let fits = match answer {
                    None => true,
                    Some(Answer::Appended { offset }) => admitted && *offset == state.blocks,
                    Some(Answer::PositionNotMet) => !admitted,
                    Some(Answer::Content(_)) => false,
                };
                match (fits, admitted) {
                    (false, _) => vec![],
                    (true, true) => vec![state.with(*block)],
                    (true, false) => vec![*state],
                }
            }
            (Op::Read, None) => vec![*state],
            (Op::Read, Some(Answer::Content(read))) if read == state => vec![*state],
            (Op::Read, Some(_)) => vec![],
        }
    }

    fn observes(&self, call: &Call<Op, Answer>) -> bool {
        matches!(call.op, Op::Read) || call.answer() == Some(&Answer::PositionNotMet)
    }
}
