//! What tests of the services show as a credential: a shared access signature that is made and verified at once.

use std::{net::Ipv4Addr, sync::Arc};

use types::Timestamp;

use crate::{
    Account, AccountKey, Accounts, Grant,
    need::Service,
    sas::{self, Fields, SignedTarget, sign::sign},
};

/// What a signature is made for and used on.
#[derive(Clone, Copy, Debug)]
pub struct Used<'a> {
    /// The service that makes and gets it.
    pub service: Service,
    /// The container, queue or table that it is for and used on.
    pub container: &'a str,
    /// What stands behind it in the address, such as `messages`.
    pub path: Option<&'a str>,
}

/// Somebody who shows a signature with these fields, made with this key. `None` when it cannot be made, or opens nothing.
#[must_use]
pub fn signature(
    (accounts, account): (&Accounts, &Arc<Account>),
    key: &AccountKey,
    used: Used<'_>,
    fields: &Fields<'_>,
    now: Timestamp,
) -> Option<Grant> {
    let name = account.name.as_str();
    let signed = sign(key, used.service, name, Some(used.container), None, fields).ok()?;
    let query: Vec<(&str, &str)> = signed.iter().map(|(name, value)| (*name, &**value)).collect();
    let target = SignedTarget {
        service: used.service,
        account: name,
        container: Some(used.container),
        path: used.path,
        query: &query,
        headers: &[],
        peer: Ipv4Addr::LOCALHOST.into(),
        secure: false,
    };
    let fields = Fields::find(&query).ok()??;
    sas::verify(accounts, account, &target, &fields, None, now).ok()
}
