//! Writes, clears and reads of ranges of pages.

use super::{Plan, WorkloadError, fresh, unexpected};
use crate::{
    Answer, Random,
    client::Request,
    linearizability::models::page_blob::{self as model, Op},
};

const PAGE_BYTES: usize = 512;
/// Pages of the blob.
pub const PAGES: usize = 8;

/// The plan of one client of a page blob of [`PAGES`] pages that exists.
#[derive(Clone, Debug)]
pub struct PagePlan {
    /// The path of the blob.
    pub path: String,
}

impl Plan for PagePlan {
    type Op = Op;
    type Answer = model::Answer;

    fn ask(&mut self, random: &mut Random) -> Op {
        let pages = u64::try_from(PAGES).unwrap_or(1);
        let first = usize::try_from(random.below(pages)).unwrap_or_default();
        let count = 1 + usize::try_from(random.below(pages)).unwrap_or_default() % (PAGES - first);
        match random.below(10) {
            0..=4 => Op::Read { first, count },
            5 => Op::Write { first, count, value: 0 },
            _ => Op::Write { first, count, value: fresh(random) },
        }
    }

    fn request(&self, op: &Op) -> Request {
        let range =
            |first: usize, count: usize| format!("bytes={}-{}", first * PAGE_BYTES, (first + count) * PAGE_BYTES - 1);
        match op {
            Op::Read { first, count } => Request::new("GET", &*self.path).header("x-ms-range", range(*first, *count)),
            Op::Write { first, count, value } => {
                let put = Request::new("PUT", format!("{}?comp=page", self.path));
                let put = put.header("x-ms-range", range(*first, *count));
                match value {
                    0 => put.header("x-ms-page-write", "clear"),
                    value => {
                        let body = value.to_be_bytes().repeat(count * PAGE_BYTES / 8);
                        put.header("x-ms-page-write", "update").body(body)
                    }
                }
            }
        }
    }

    fn read(&self, op: &Op, answer: &Answer) -> Result<Option<model::Answer>, WorkloadError> {
        Ok(Some(match (op, answer.status) {
            (_, 500..) => return Ok(None),
            (Op::Write { .. }, 201) => model::Answer::Written,
            (Op::Read { .. }, 200 | 206) => model::Answer::Pages(answer.body.chunks(PAGE_BYTES).map(value).collect()),
            _ => return Err(unexpected(&self.request(op), answer)),
        }))
    }
}

/// The value of a page; a torn one has one that nobody writes.
fn value(page: &[u8]) -> u64 {
    let first = page.get(..8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_be_bytes);
    if *page == *first.to_be_bytes().repeat(PAGE_BYTES / 8) { first } else { u64::MAX }
}
