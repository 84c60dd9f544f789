//! Whole blobs: reads, conditional and unconditional writes, deletes, leases.

use std::collections::BTreeMap;

use super::{Plan, WorkloadError, fresh, number_of, unexpected};
use crate::{
    Answer, Random,
    client::Request,
    linearizability::models::blob::{self as model, Condition, Op},
};

const SECOND: u64 = 1_000_000;
/// Longest content: some is kept in a row, some beside it.
const LONGEST: u64 = 40_000;

/// The plan of one client of a blob.
#[derive(Clone, Debug)]
pub struct BlobPlan {
    /// The path of the blob.
    path: String,
    /// The lease id of this client.
    lease: u64,
    /// The ETag that it saw last, and all that it was told, by number.
    last: Option<u64>,
    etags: BTreeMap<u64, String>,
}

impl BlobPlan {
    /// The plan of a client.
    #[must_use]
    pub fn new(path: impl Into<String>, client: u32) -> Self {
        Self { path: path.into(), lease: u64::from(client) + 1, last: None, etags: BTreeMap::new() }
    }
}

/// A content of some length that holds one value and nothing else.
fn content(value: u64) -> Vec<u8> {
    let length = usize::try_from(8 * (1 + number_of(&value.to_string()) % (LONGEST / 8))).unwrap_or(8);
    value.to_be_bytes().repeat(length / 8)
}

/// The value of a content; zero, which nobody writes, for a torn one.
fn value(content: &[u8]) -> u64 {
    let first = content.get(..8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_be_bytes);
    if content == super::blob::content(first) { first } else { 0 }
}

fn guid(id: u64) -> String {
    format!("00000000-0000-4000-8000-{id:012x}")
}

impl Plan for BlobPlan {
    type Op = Op;
    type Answer = model::Answer;

    fn ask(&mut self, random: &mut Random) -> Op {
        let lease = random.percent(30).then_some(self.lease);
        let condition = match (random.below(10), self.last) {
            (0..=3, Some(tag)) => Condition::IfMatch(tag),
            (4, _) => Condition::IfAbsent,
            _ => Condition::Always,
        };
        match random.below(100) {
            0..=39 => Op::Get { lease: lease.filter(|_| random.percent(20)) },
            40..=74 => Op::Put { value: fresh(random), condition, lease },
            75..=79 => Op::Delete { condition: Condition::Always, lease },
            80..=86 => Op::Acquire { id: self.lease, duration: random.percent(50).then_some(15 * SECOND) },
            87..=89 => Op::Renew { id: self.lease },
            90..=94 => Op::Release { id: self.lease },
            95..=98 => Op::Break { period: 0 },
            _ => Op::Break { period: SECOND },
        }
    }

    fn request(&self, op: &Op) -> Request {
        let lease_action =
            |action: &str| Request::new("PUT", format!("{}?comp=lease", self.path)).header("x-ms-lease-action", action);
        match op {
            Op::Put { value, condition, lease } => {
                let put = Request::new("PUT", &*self.path).header("x-ms-blob-type", "BlockBlob");
                self.under(put.body(content(*value)), *condition, *lease)
            }
            Op::Get { lease } => self.under(Request::new("GET", &*self.path), Condition::Always, *lease),
            Op::Delete { condition, lease } => self.under(Request::new("DELETE", &*self.path), *condition, *lease),
            Op::Acquire { id, duration } => {
                let seconds = duration.map_or("-1".to_owned(), |length| (length / SECOND).to_string());
                let request = lease_action("acquire").header("x-ms-proposed-lease-id", guid(*id));
                request.header("x-ms-lease-duration", seconds)
            }
            Op::Renew { id } => lease_action("renew").header("x-ms-lease-id", guid(*id)),
            Op::Release { id } => lease_action("release").header("x-ms-lease-id", guid(*id)),
            Op::Break { period } => {
                lease_action("break").header("x-ms-lease-break-period", (period / SECOND).to_string())
            }
        }
    }

    fn read(&self, op: &Op, answer: &Answer) -> Result<Option<model::Answer>, WorkloadError> {
        let tag = || number_of(answer.header("etag"));
        let about_lease = answer.code().starts_with("Lease");
        Ok(Some(match (op, answer.status) {
            (_, 500..) => return Ok(None),
            (Op::Put { .. }, 201) => model::Answer::Written(tag()),
            (Op::Get { .. }, 200) => model::Answer::Content(value(&answer.body), tag()),
            (Op::Delete { .. }, 202) => model::Answer::Deleted,
            (Op::Acquire { .. } | Op::Renew { .. } | Op::Release { .. } | Op::Break { .. }, 200..=202) => {
                model::Answer::Leased
            }
            (_, 404) => model::Answer::NotFound,
            (_, 409) if about_lease => model::Answer::LeaseConflict,
            (_, 412) if about_lease => model::Answer::LeaseNotMet,
            (Op::Put { .. }, 409) if answer.code() == "BlobAlreadyExists" => model::Answer::ConditionNotMet,
            (_, 412) if answer.code() == "ConditionNotMet" => model::Answer::ConditionNotMet,
            _ => return Err(unexpected(&self.request(op), answer)),
        }))
    }

    fn saw(&mut self, _: &Op, answer: &model::Answer) {
        if let model::Answer::Written(tag) | model::Answer::Content(_, tag) = answer {
            self.last = Some(*tag);
        }
    }

    fn heard(&mut self, answer: &Answer) {
        let etag = answer.header("etag");
        if !etag.is_empty() {
            self.etags.insert(number_of(etag), etag.to_owned());
        }
    }
}

impl BlobPlan {
    fn under(&self, mut request: Request, condition: Condition, lease: Option<u64>) -> Request {
        request = match condition {
            Condition::Always => request,
            Condition::IfAbsent => request.header("If-None-Match", "*"),
            Condition::IfMatch(tag) => {
                request.header("If-Match", self.etags.get(&tag).cloned().unwrap_or_else(|| "\"0x0\"".to_owned()))
            }
        };
        match lease {
            Some(id) => request.header("x-ms-lease-id", guid(id)),
            None => request,
        }
    }
}
