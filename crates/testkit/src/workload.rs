//! Concurrent clients on one object, and what they saw: a history to be checked.
//!
//! A workload is a plan (what a client asks next, from what it saw last) and a reading of answers. An answer that the plan
//! does not know is a failure of its own, never a call that is left out.

pub mod append_blob;
pub mod blob;
pub mod files;
pub mod page_blob;
pub mod partition;
pub mod queue;

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::Instant,
};

use tokio::task::JoinSet;

use crate::{
    Answer, Random,
    client::{Client, Request},
    linearizability::{Call, History},
};

/// Why there is no history.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// A request was answered in a way that no state explains.
    #[error("{what} was answered {answer}")]
    Unexpected {
        /// The request, as it was sent.
        what: String,
        /// The answer that no plan knows.
        answer: String,
    },
    /// A client broke down.
    #[error("a client broke down: {0}")]
    Client(String),
}

/// What clients do on one object.
pub trait Plan: Clone + Send + 'static {
    /// What is asked.
    type Op: Clone + Send + 'static;
    /// What is answered.
    type Answer: Clone + Send + 'static;

    /// What this client asks next.
    fn ask(&mut self, random: &mut Random) -> Self::Op;

    /// The request for it.
    fn request(&self, op: &Self::Op) -> Request;

    /// What the answer says; `None` for an answer that says that nobody knows.
    ///
    /// # Errors
    /// It says something that it should not.
    fn read(&self, op: &Self::Op, answer: &Answer) -> Result<Option<Self::Answer>, WorkloadError>;

    /// The client was answered, before it knows what the answer says.
    fn heard(&mut self, _answer: &Answer) {}

    /// The client has seen an answer of its own.
    fn saw(&mut self, _op: &Self::Op, _answer: &Self::Answer) {}
}

/// Lets every client make so many calls, all at once, and returns what they saw.
///
/// # Errors
/// An answer was unexpected, or a client broke down.
#[expect(clippy::disallowed_methods, reason = "clients run beside each other, and their calls are timed")]
pub async fn run<C: Client, P: Plan>(
    clients: Vec<C>,
    plan: impl Fn(u32) -> P,
    seed: u64,
    calls: usize,
) -> Result<History<P::Op, P::Answer>, WorkloadError> {
    let start = Arc::new(Instant::now());
    let mut tasks = JoinSet::new();
    for (number, mut client) in (0_u32..).zip(clients) {
        let (mut plan, start) = (plan(number), Arc::clone(&start));
        let mut random = Random::new(seed.wrapping_mul(0x1000).wrapping_add(u64::from(number)));
        tasks.spawn(async move {
            let mut seen = History::new();
            for _ in 0..calls {
                let op = plan.ask(&mut random);
                let request = plan.request(&op);
                let called_at = micros(&start);
                let answered = client.call(&request).await;
                let ended_at = micros(&start);
                let answer = match answered {
                    Some(answer) => {
                        plan.heard(&answer);
                        plan.read(&op, &answer)?
                    }
                    None => None,
                };
                if let Some(answer) = &answer {
                    plan.saw(&op, answer);
                }
                seen.push(Call { client: number, op, called_at, answered: answer.map(|answer| (ended_at, answer)) });
            }
            Ok::<_, WorkloadError>(seen)
        });
    }
    let mut history = History::new();
    while let Some(ended) = tasks.join_next().await {
        history.extend(ended.map_err(|error| WorkloadError::Client(error.to_string()))??);
    }
    Ok(history)
}

/// The first moment of a call is never later than it was, the last one never earlier.
fn micros(start: &Instant) -> u64 {
    u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX)
}

/// What cannot be explained.
fn unexpected(what: &Request, answer: &Answer) -> WorkloadError {
    WorkloadError::Unexpected { what: format!("{} {}", what.method, what.target), answer: format!("{answer:?}") }
}

/// A value that nobody else writes, as good as surely, and never zero.
fn fresh(random: &mut Random) -> u64 {
    1 + random.below((1 << 31) - 2)
}

/// A text, such as an ETag, as a number.
fn number_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
