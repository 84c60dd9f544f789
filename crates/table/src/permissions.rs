//! What each operation of the Table service needs of a credential: one row an operation.

use access::need::{Action, Need, Permissions, Place, Rule, Service};
use concurrency::table_etag::{EntityOperation, IfMatch};
use types::UnitId;

pub(crate) const QUERY_TABLES: Rule = Rule::new(Action::Read, Permissions::LIST).account_only();
pub(crate) const CREATE_TABLE: Rule =
    Rule::new(Action::Write, Permissions::CREATE.or(Permissions::WRITE)).account_only();
pub(crate) const DELETE_TABLE: Rule = Rule::new(Action::Delete, Permissions::DELETE).account_only();
pub(crate) const GET_TABLE_ACL: Rule = Rule::new(Action::Manage, Permissions::NONE);
pub(crate) const SET_TABLE_ACL: Rule = Rule::new(Action::Manage, Permissions::NONE);
const QUERY_ENTITIES: Rule = Rule::new(Action::Read, Permissions::READ);
const INSERT: Rule = Rule::new(Action::Write, Permissions::ADD);
const UPDATE: Rule = Rule::new(Action::Write, Permissions::UPDATE);
const UPSERT: Rule = Rule::new(Action::Write, Permissions::UPDATE).also(Permissions::ADD);
const DELETE: Rule = Rule::new(Action::Delete, Permissions::DELETE);

/// The rule of an operation on entities. An upsert can do both, so it needs both.
pub(crate) const fn entity_rule(operation: EntityOperation, if_match: IfMatch<'_>) -> Rule {
    match (operation, if_match) {
        (EntityOperation::Query, _) => QUERY_ENTITIES,
        (EntityOperation::Insert, _) => INSERT,
        (EntityOperation::Delete, _) => DELETE,
        (EntityOperation::Replace | EntityOperation::Merge, IfMatch::Absent) => UPSERT,
        (EntityOperation::Replace | EntityOperation::Merge, IfMatch::Any | IfMatch::ETag(_)) => UPDATE,
    }
}

/// The need of an operation on the tables of an account. An account SAS must be for containers: unlike the lists of the
/// other services, this one is no resource of the service.
pub(crate) const fn tables<'a>(account: UnitId, rule: Rule) -> Need<'a> {
    Need { account, service: Service::Table, place: Place::Container(""), rule }
}

/// The need of an operation on a table itself, by its folded name.
pub(crate) const fn table(account: UnitId, folded: &str, rule: Rule) -> Need<'_> {
    Need { account, service: Service::Table, place: Place::Container(folded), rule }
}

/// The need of an operation on the entities of a table, by its folded name.
pub(crate) const fn entities(account: UnitId, folded: &str, rule: Rule) -> Need<'_> {
    Need { account, service: Service::Table, place: Place::Contents(folded), rule }
}
