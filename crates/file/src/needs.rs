//! What each operation of the File service needs of a credential: one row an operation.

use access::need::{Action, Need, Permissions, Place, Rule, Service};
use types::{UnitId, names::ShareName};

const fn read(sas: Permissions) -> Rule {
    Rule::new(Action::Read, sas)
}

const fn write(sas: Permissions) -> Rule {
    Rule::new(Action::Write, sas)
}

const CREATE_OR_WRITE: Permissions = Permissions::CREATE.or(Permissions::WRITE);

pub(crate) const LIST_SHARES: Rule = read(Permissions::LIST).account_only();
pub(crate) const CREATE_SHARE: Rule = write(CREATE_OR_WRITE).account_only();
pub(crate) const GET_SHARE: Rule = read(Permissions::READ).account_only();
pub(crate) const SET_SHARE: Rule = write(Permissions::WRITE).account_only();
pub(crate) const SNAPSHOT_SHARE: Rule = write(CREATE_OR_WRITE).account_only();
pub(crate) const LEASE_SHARE: Rule = write(Permissions::WRITE).account_only();
pub(crate) const BREAK_SHARE_LEASE: Rule = write(Permissions::WRITE.or(Permissions::DELETE)).account_only();
pub(crate) const DELETE_SHARE: Rule = Rule::new(Action::Delete, Permissions::DELETE).account_only();
pub(crate) const RESTORE_SHARE: Rule = write(Permissions::WRITE).account_only();
pub(crate) const SHARE_ACL: Rule = Rule::new(Action::Manage, Permissions::NONE);
pub(crate) const PUT_PERMISSION: Rule = write(CREATE_OR_WRITE);
pub(crate) const GET_PERMISSION: Rule = read(Permissions::READ);
pub(crate) const LIST_FILES: Rule = read(Permissions::LIST);
pub(crate) const CREATE: Rule = write(CREATE_OR_WRITE);
pub(crate) const READ: Rule = read(Permissions::READ);
pub(crate) const WRITE: Rule = write(Permissions::WRITE);
pub(crate) const DELETE: Rule = Rule::new(Action::Delete, Permissions::DELETE);
pub(crate) const LEASE_FILE: Rule = write(Permissions::WRITE);
pub(crate) const BREAK_FILE_LEASE: Rule = write(Permissions::WRITE.or(Permissions::DELETE));
pub(crate) const LIST_HANDLES: Rule = read(Permissions::LIST);
pub(crate) const CLOSE_HANDLES: Rule = write(Permissions::WRITE);

/// The need of an operation on the service as a whole.
pub(crate) const fn service<'a>(account: UnitId, rule: Rule) -> Need<'a> {
    Need { account, service: Service::File, place: Place::Service, rule }
}

/// The need of an operation on a share.
pub(crate) fn share(account: UnitId, name: &ShareName, rule: Rule) -> Need<'_> {
    Need { account, service: Service::File, place: Place::Container(name.as_str()), rule }
}
