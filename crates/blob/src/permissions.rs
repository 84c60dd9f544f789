//! What each operation of the Blob service needs of a credential: one row an operation.

use access::need::{Action, Need, Permissions, Place, PublicAccess, Rule, Service};
use types::{UnitId, names::ContainerName};

const fn read(sas: Permissions) -> Rule {
    Rule::new(Action::Read, sas)
}

const fn write(sas: Permissions) -> Rule {
    Rule::new(Action::Write, sas)
}

const CREATE_OR_WRITE: Permissions = Permissions::CREATE.or(Permissions::WRITE);
const ADD_OR_WRITE: Permissions = Permissions::ADD.or(Permissions::WRITE);

pub(crate) const LIST_CONTAINERS: Rule = read(Permissions::LIST).account_only();
pub(crate) const CREATE_CONTAINER: Rule = write(CREATE_OR_WRITE).account_only();
pub(crate) const GET_CONTAINER_PROPERTIES: Rule =
    read(Permissions::READ).account_only().public(PublicAccess::Container);
pub(crate) const SET_CONTAINER_METADATA: Rule = write(Permissions::WRITE).account_only();
pub(crate) const LEASE_CONTAINER: Rule = write(Permissions::WRITE).account_only();
pub(crate) const BREAK_CONTAINER_LEASE: Rule = write(Permissions::WRITE.or(Permissions::DELETE)).account_only();
pub(crate) const DELETE_CONTAINER: Rule = Rule::new(Action::Delete, Permissions::DELETE).account_only();
pub(crate) const CONTAINER_ACL: Rule = Rule::new(Action::Manage, Permissions::NONE);
pub(crate) const LIST_BLOBS: Rule = read(Permissions::LIST).public(PublicAccess::Container);
pub(crate) const FIND_BLOBS: Rule = read(Permissions::FIND);
pub(crate) const READ_BLOB: Rule = read(Permissions::READ).public(PublicAccess::Blob);
pub(crate) const PUT_BLOB: Rule = write(CREATE_OR_WRITE);
pub(crate) const PUT_BLOCK: Rule = write(CREATE_OR_WRITE);
pub(crate) const PUT_PAGE: Rule = write(Permissions::WRITE);
pub(crate) const APPEND_BLOCK: Rule = write(ADD_OR_WRITE);
pub(crate) const SEAL_BLOB: Rule = write(Permissions::WRITE);
pub(crate) const SET_BLOB: Rule = write(Permissions::WRITE);
pub(crate) const SET_TIER: Rule = write(Permissions::WRITE);
pub(crate) const SNAPSHOT_BLOB: Rule = write(CREATE_OR_WRITE);
pub(crate) const LEASE_BLOB: Rule = write(Permissions::WRITE);
pub(crate) const BREAK_BLOB_LEASE: Rule = write(Permissions::WRITE.or(Permissions::DELETE));
pub(crate) const GET_TAGS: Rule = read(Permissions::TAGS);
pub(crate) const SET_TAGS: Rule = write(Permissions::TAGS);
pub(crate) const DELETE_BLOB: Rule = Rule::new(Action::Delete, Permissions::DELETE);

/// The same, for a request that also sets tags, or that learns something about them: by a condition, or by a copy.
pub(crate) const fn with_tags(rule: Rule, tags: bool) -> Rule {
    if tags { rule.also(Permissions::TAGS).public(PublicAccess::Private) } else { rule }
}

/// The need of an operation on the service as a whole.
pub(crate) const fn service<'a>(account: UnitId, rule: Rule) -> Need<'a> {
    Need { account, service: Service::Blob, place: Place::Service, rule }
}

/// The need of an operation on a container.
pub(crate) fn container(account: UnitId, name: &ContainerName, rule: Rule) -> Need<'_> {
    Need { account, service: Service::Blob, place: Place::Container(name.as_str()), rule }
}
