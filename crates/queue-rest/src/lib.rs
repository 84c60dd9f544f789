//! The Queue service over REST: a request becomes a typed operation, its result becomes headers and XML.
//!
//! Decides no rule: what may happen is asked of `access`, what happens of `queue`.

mod acl;
mod errors;
mod listing;
mod messages;
mod names;
mod parameters;
mod queues;
mod route;
mod xml;

use std::sync::Arc;

use access::{Accounts, need::Service::Queue};
use account::Settings;
use queue::Queues;
use rest::{BoxFuture, Outcome, Request, Service, ServiceError, cors};

/// Draws 128 random bits; `None` when the system gives none.
pub type Random = fn() -> Option<u128>;

/// The service behind the queue port.
pub struct QueueService {
    queues: Queues,
    settings: Settings,
    accounts: Arc<Accounts>,
    random: Random,
}

impl QueueService {
    /// Serves the queues of these accounts. Ids and receipts of messages are drawn with `random`.
    #[must_use]
    pub const fn new(queues: Queues, settings: Settings, accounts: Arc<Accounts>, random: Random) -> Self {
        Self { queues, settings, accounts, random }
    }

    fn random(&self) -> Result<u128, ServiceError> {
        (self.random)().ok_or_else(ServiceError::internal)
    }
}

impl Service for QueueService {
    fn name(&self) -> &'static str {
        "queue"
    }

    fn call(&self, request: Request) -> BoxFuture<'_, Outcome> {
        let answer = |request| route::answer(self, request);
        Box::pin(cors::around(&self.settings, &self.accounts, Queue, request, answer))
    }
}
