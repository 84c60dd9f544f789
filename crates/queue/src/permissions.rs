//! What each operation of the Queue service needs of a credential: one row an operation.

use access::need::{Action, Need, Permissions, Place, Rule, Service};
use types::{UnitId, names::QueueName};

pub(crate) const LIST_QUEUES: Rule = Rule::new(Action::Read, Permissions::LIST).account_only();
pub(crate) const CREATE_QUEUE: Rule =
    Rule::new(Action::Write, Permissions::CREATE.or(Permissions::WRITE)).account_only();
pub(crate) const DELETE_QUEUE: Rule = Rule::new(Action::Delete, Permissions::DELETE).account_only();
pub(crate) const GET_QUEUE_METADATA: Rule = Rule::new(Action::Read, Permissions::READ);
pub(crate) const SET_QUEUE_METADATA: Rule = Rule::new(Action::Write, Permissions::WRITE).account_only();
/// Only the key of the account, or a role that manages.
pub(crate) const QUEUE_ACL: Rule = Rule::new(Action::Manage, Permissions::NONE);
pub(crate) const CLEAR_MESSAGES: Rule = Rule::new(Action::Delete, Permissions::DELETE).account_only();
pub(crate) const PUT_MESSAGE: Rule = Rule::new(Action::Add, Permissions::ADD);
pub(crate) const GET_MESSAGES: Rule = Rule::new(Action::Process, Permissions::PROCESS);
pub(crate) const PEEK_MESSAGES: Rule = Rule::new(Action::Read, Permissions::READ);
pub(crate) const UPDATE_MESSAGE: Rule = Rule::new(Action::Write, Permissions::UPDATE);
pub(crate) const DELETE_MESSAGE: Rule = Rule::new(Action::Process, Permissions::PROCESS);

/// The need of an operation on the service as a whole.
pub(crate) const fn service<'a>(account: UnitId, rule: Rule) -> Need<'a> {
    Need { account, service: Service::Queue, place: Place::Service, rule }
}

/// The need of an operation on a queue itself.
pub(crate) fn queue(account: UnitId, name: &QueueName, rule: Rule) -> Need<'_> {
    Need { account, service: Service::Queue, place: Place::Container(name.as_str()), rule }
}

/// The need of an operation on the messages of a queue.
pub(crate) fn messages(account: UnitId, name: &QueueName, rule: Rule) -> Need<'_> {
    Need { account, service: Service::Queue, place: Place::Contents(name.as_str()), rule }
}
