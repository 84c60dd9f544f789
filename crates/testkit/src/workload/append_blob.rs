//! Appends of blocks of one length, some at a position, and reads of everything.

use super::{Plan, WorkloadError, fresh, unexpected};
use crate::{
    Answer, Random,
    client::Request,
    linearizability::models::append_blob::{self as model, Content, Op},
};

const BLOCK_BYTES: usize = 64;

/// The plan of one client of an append blob that exists.
#[derive(Clone, Debug)]
pub struct AppendPlan {
    /// The path of the blob.
    pub path: String,
    /// Blocks that it had when this client saw it last.
    pub blocks: u64,
}

impl Plan for AppendPlan {
    type Op = Op;
    type Answer = model::Answer;

    fn ask(&mut self, random: &mut Random) -> Op {
        match random.below(10) {
            0..=2 => Op::Read,
            3..=5 => Op::Append { block: fresh(random), position: Some(self.blocks) },
            _ => Op::Append { block: fresh(random), position: None },
        }
    }

    fn request(&self, op: &Op) -> Request {
        match op {
            Op::Read => Request::new("GET", &*self.path),
            Op::Append { block, position } => {
                let append = Request::new("PUT", format!("{}?comp=appendblock", self.path));
                let append = append.body(block.to_be_bytes().repeat(BLOCK_BYTES / 8));
                match position {
                    Some(blocks) => append.header("x-ms-blob-condition-appendpos", bytes(*blocks).to_string()),
                    None => append,
                }
            }
        }
    }

    fn read(&self, op: &Op, answer: &Answer) -> Result<Option<model::Answer>, WorkloadError> {
        let bad = || unexpected(&self.request(op), answer);
        Ok(Some(match (op, answer.status) {
            (_, 500..) => return Ok(None),
            (Op::Append { .. }, 201) => {
                let offset: u64 = answer.header("x-ms-blob-append-offset").parse().map_err(|_| bad())?;
                model::Answer::Appended { offset: offset / bytes(1) }
            }
            (Op::Append { .. }, 412) if answer.code() == "AppendPositionConditionNotMet" => {
                model::Answer::PositionNotMet
            }
            (Op::Read, 200) => model::Answer::Content(Content::of(&blocks(&answer.body))),
            _ => return Err(bad()),
        }))
    }

    fn saw(&mut self, _: &Op, answer: &model::Answer) {
        match answer {
            model::Answer::Appended { offset } => self.blocks = offset + 1,
            model::Answer::Content(content) => self.blocks = content.blocks,
            model::Answer::PositionNotMet => {}
        }
    }
}

fn bytes(blocks: u64) -> u64 {
    blocks * u64::try_from(BLOCK_BYTES).unwrap_or(u64::MAX)
}

/// The blocks of a content; a torn one is zero, which nobody appends.
fn blocks(content: &[u8]) -> Vec<u64> {
    let block = |bytes: &[u8]| {
        let first = bytes.get(..8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_be_bytes);
        if *bytes == *first.to_be_bytes().repeat(BLOCK_BYTES / 8) { first } else { 0 }
    };
    content.chunks(BLOCK_BYTES).map(block).collect()
}
