//! Messages of one queue: put, got, updated and deleted by competing clients. What is checked is the history of each message.

use std::collections::BTreeMap;

use super::{Plan, WorkloadError, number_of, unexpected};
use crate::{
    Answer, Random,
    client::Request,
    linearizability::{
        Call, History,
        models::message::{self as model},
    },
};

const SECOND: u64 = 1_000_000;

/// What a client asks of the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Put Message.
    Put,
    /// Get Messages.
    Get {
        /// As many as the Get asks for.
        count: usize,
        /// Hidden for so long, in microseconds.
        hidden: u64,
    },
    /// Update Message.
    Update {
        /// The message that the client holds.
        held: Held,
        /// Hidden for so long, in microseconds.
        hidden: u64,
    },
    /// Delete Message.
    Delete {
        /// The message that the client holds.
        held: Held,
    },
}

/// A message and a receipt for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Its id.
    pub message: String,
    /// The receipt, as it was told.
    pub receipt: String,
}

/// What the queue answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueAnswer {
    /// The message is held with this receipt: it was put or updated.
    Held(Held),
    /// These were brought, each with how often that happened.
    Brought(Vec<(Held, u32)>),
    /// It was deleted.
    Deleted,
    /// 404
    NotFound,
    /// 400
    Mismatch,
}

/// The plan of one client of a queue that exists.
#[derive(Clone, Debug)]
pub struct QueuePlan {
    queue: String,
    held: Vec<Held>,
}

impl QueuePlan {
    /// The plan of a client.
    #[must_use]
    pub fn new(queue: impl Into<String>) -> Self {
        Self { queue: queue.into(), held: Vec::new() }
    }
}

impl Plan for QueuePlan {
    type Op = Op;
    type Answer = QueueAnswer;

    fn ask(&mut self, random: &mut Random) -> Op {
        let held = usize::try_from(random.below(1 + u64::try_from(self.held.len()).unwrap_or(0))).unwrap_or_default();
        let held = self.held.get(held).cloned();
        match (random.below(10), held) {
            (0..=3, _) => Op::Put,
            (7, Some(held)) => Op::Update { held, hidden: random.below(3) * SECOND },
            (8..=9, Some(held)) => Op::Delete { held },
            _ => {
                let count = 1 + usize::try_from(random.below(4)).unwrap_or_default();
                Op::Get { count, hidden: (1 + random.below(2)) * SECOND }
            }
        }
    }

    fn request(&self, op: &Op) -> Request {
        let path = format!("{}/messages", self.queue);
        let of = |held: &Held| format!("{path}/{}?popreceipt={}", held.message, encoded(&held.receipt));
        match op {
            Op::Put => Request::new("POST", path).body("<QueueMessage><MessageText>x</MessageText></QueueMessage>"),
            Op::Get { count, hidden } => {
                let seconds = hidden / SECOND;
                Request::new("GET", format!("{path}?numofmessages={count}&visibilitytimeout={seconds}"))
            }
            Op::Update { held, hidden } => {
                Request::new("PUT", format!("{}&visibilitytimeout={}", of(held), hidden / SECOND))
            }
            Op::Delete { held } => Request::new("DELETE", of(held)),
        }
    }

    fn read(&self, op: &Op, answer: &Answer) -> Result<Option<QueueAnswer>, WorkloadError> {
        let bad = || unexpected(&self.request(op), answer);
        Ok(Some(match (op, answer.status) {
            (_, 500..) => return Ok(None),
            (Op::Put, 201) => QueueAnswer::Held(messages(&answer.text()).pop().ok_or_else(bad)?.0),
            (Op::Get { .. }, 200) => QueueAnswer::Brought(messages(&answer.text())),
            (Op::Update { held, .. }, 204) => {
                let receipt = answer.header("x-ms-popreceipt").to_owned();
                QueueAnswer::Held(Held { message: held.message.clone(), receipt })
            }
            (Op::Delete { .. }, 204) => QueueAnswer::Deleted,
            (Op::Update { .. } | Op::Delete { .. }, 404) => QueueAnswer::NotFound,
            (Op::Update { .. } | Op::Delete { .. }, 400) if answer.code() == "PopReceiptMismatch" => {
                QueueAnswer::Mismatch
            }
            _ => return Err(bad()),
        }))
    }

    fn saw(&mut self, op: &Op, answer: &QueueAnswer) {
        match answer {
            QueueAnswer::Held(held) => self.held.push(held.clone()),
            QueueAnswer::Brought(brought) => self.held.extend(brought.iter().map(|(held, _)| held.clone())),
            QueueAnswer::Deleted | QueueAnswer::NotFound | QueueAnswer::Mismatch => {}
        }
        if let Op::Delete { held } | Op::Update { held, .. } = op {
            self.held.retain(|other| other != held);
        }
        // Old receipts are tried now and then, and not for ever.
        let many = self.held.len().saturating_sub(8);
        self.held.drain(..many);
    }
}

/// The messages of an answer, each with its dequeue count.
fn messages(text: &str) -> Vec<(Held, u32)> {
    let element = |part: &str, name: &str| {
        let (_, rest) = part.split_once(&format!("<{name}>"))?;
        Some(rest.split('<').next()?.to_owned())
    };
    let parts = text.split("<QueueMessage>").skip(1);
    let message = |part: &str| {
        let held = Held { message: element(part, "MessageId")?, receipt: element(part, "PopReceipt")? };
        let count = element(part, "DequeueCount").and_then(|count| count.parse().ok()).unwrap_or_default();
        Some((held, count))
    };
    parts.filter_map(message).collect()
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// The history of each message. A Get concerns every message that it brought; one that had room for more concerns all the
/// others that there were, and so does one whose answer nobody knows.
#[must_use]
pub fn by_message(history: &History<Op, QueueAnswer>) -> Vec<History<model::Op, model::Answer>> {
    let mut messages: BTreeMap<&str, History<model::Op, model::Answer>> = BTreeMap::new();
    for call in history {
        if let (Op::Put, Some(QueueAnswer::Held(held))) = (&call.op, call.answer()) {
            messages.insert(&held.message, History::new());
        }
    }
    for call in history {
        for (message, seen) in &mut messages {
            if let Some((op, answer)) = concerning(message, call) {
                let answered = call.answered.as_ref().and_then(|(at, _)| Some((*at, answer?)));
                seen.push(Call { client: call.client, op, called_at: call.called_at, answered });
            }
        }
    }
    messages.into_values().collect()
}

/// What a call means for one message; nothing for most of them.
fn concerning(message: &str, call: &Call<Op, QueueAnswer>) -> Option<(model::Op, Option<model::Answer>)> {
    let receipt = |held: &Held| number_of(&held.receipt);
    match (&call.op, call.answer()) {
        (Op::Put, Some(QueueAnswer::Held(held))) if held.message == message => {
            Some((model::Op::Put { hidden: 0 }, Some(model::Answer::Held(receipt(held)))))
        }
        (Op::Put, _) => None,
        (Op::Get { count, hidden }, Some(QueueAnswer::Brought(brought))) => {
            match brought.iter().find(|(held, _)| held.message == message) {
                Some((held, dequeue_count)) => {
                    let (receipt, dequeue_count) = (receipt(held), *dequeue_count);
                    let answer = model::Answer::Brought { receipt, dequeue_count };
                    Some((model::Op::Get { hidden: *hidden }, Some(answer)))
                }
                None if brought.len() < *count => Some((model::Op::Missed, Some(model::Answer::NotBrought))),
                None => None,
            }
        }
        (Op::Get { hidden, .. }, _) => Some((model::Op::Get { hidden: *hidden }, None)),
        (Op::Update { held, .. } | Op::Delete { held }, answer) if held.message == message => {
            let op = match &call.op {
                Op::Update { hidden, .. } => model::Op::Update { receipt: receipt(held), hidden: *hidden },
                _ => model::Op::Delete { receipt: receipt(held) },
            };
            let answer = answer.map(|answer| match answer {
                QueueAnswer::Held(new) => model::Answer::Held(receipt(new)),
                QueueAnswer::Deleted => model::Answer::Deleted,
                QueueAnswer::Mismatch => model::Answer::Mismatch,
                QueueAnswer::NotFound | QueueAnswer::Brought(_) => model::Answer::NotFound,
            });
            Some((op, answer))
        }
        (Op::Update { .. } | Op::Delete { .. }, _) => None,
    }
}
