//! What each operation of the Blob service needs of a credential: one row an operation.

use access::need::{Action, Need, Permissions, Place, PublicAccess, Rule, Service};
use types::{UnitId, names::ContainerName};

pub(crate) const LIST_CONTAINERS: Rule = Rule::new(Action::Read, Permissions::LIST).account_only();
pub(crate) const CREATE_CONTAINER: Rule =
    Rule::new(Action::Write, Permissions::CREATE.or(Permissions::WRITE)).account_only();
pub(crate) const GET_CONTAINER_PROPERTIES: Rule =
    Rule::new(Action::Read, Permissions::READ).account_only().public(PublicAccess::Container);
pub(crate) const DELETE_CONTAINER: Rule = Rule::new(Action::Delete, Permissions::DELETE).account_only();
pub(crate) const CONTAINER_ACL: Rule = Rule::new(Action::Manage, Permissions::NONE);
pub(crate) const LIST_BLOBS: Rule = Rule::new(Action::Read, Permissions::LIST).public(PublicAccess::Container);
pub(crate) const READ_BLOB: Rule = Rule::new(Action::Read, Permissions::READ).public(PublicAccess::Blob);
pub(crate) const PUT_BLOB: Rule = Rule::new(Action::Write, Permissions::WRITE.or(Permissions::CREATE));
pub(crate) const DELETE_BLOB: Rule = Rule::new(Action::Delete, Permissions::DELETE);

/// The need of an operation on the service as a whole.
pub(crate) const fn service<'a>(account: UnitId, rule: Rule) -> Need<'a> {
    Need { account, service: Service::Blob, place: Place::Service, rule }
}

/// The need of an operation on a container.
pub(crate) fn container(account: UnitId, name: &ContainerName, rule: Rule) -> Need<'_> {
    Need { account, service: Service::Blob, place: Place::Container(name.as_str()), rule }
}
