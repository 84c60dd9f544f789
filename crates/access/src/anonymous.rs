//! No credential at all: what the level of public access of a container allows, when the account allows it.

use std::sync::Arc;

use types::Timestamp;

use crate::{
    Accounts,
    account::Account,
    acl::{self, Holder},
    grant::{Denied, Grant},
    need::{Need, Place, PublicAccess},
};
use store::Read;

/// The grant of somebody who shows nothing.
#[must_use]
pub fn anonymous(accounts: &Accounts, account: &Arc<Account>, now: Timestamp) -> Grant {
    Grant::anonymous(accounts, account, now)
}

/// Whether anybody may do this.
pub(crate) async fn allows(rows: &impl Read, need: &Need<'_>, allowed: bool) -> Result<(), Denied> {
    if need.rule.public == PublicAccess::Private {
        return Err(Denied::NoCredential);
    }
    if !allowed {
        return Err(Denied::PublicAccessNotPermitted);
    }
    let (Place::Container(name) | Place::Object { container: name, .. }) = need.place else {
        return Err(Denied::NoCredential);
    };
    let holder = Holder { service: need.service, account: need.account, name };
    let level = acl::read(rows, holder).await?.public_access;
    if level >= need.rule.public { Ok(()) } else { Err(Denied::NotPublic) }
}
