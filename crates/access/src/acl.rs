//! Access control lists: who may read a container without a credential, and the stored access policies of containers,
//! queues, tables and shares.
//!
//! They have rows of their own, because credentials are decided before the service is asked. The service that owns the
//! container writes and removes them in the transaction that changes it.

use store::{Read, StoreError, Txn};
use types::{Timestamp, UnitId};

use crate::{
    need::{PublicAccess, Service},
    records,
};

/// A stored access policy. What it leaves out is said by the signature that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAccessPolicy {
    /// What a signature calls it.
    pub id: String,
    /// The first instant at which signatures of it count.
    pub start: Option<Timestamp>,
    /// The first instant at which they count no more.
    pub expiry: Option<Timestamp>,
    /// The letters of its permissions.
    pub permissions: Option<String>,
}

/// The access control list of one container, queue, table or share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acl {
    /// Who may read without a credential.
    pub public_access: PublicAccess,
    /// At most five.
    pub policies: Vec<StoredAccessPolicy>,
}

/// Whose list.
#[derive(Clone, Copy, Debug)]
pub struct Holder<'a> {
    /// A container, a queue and a table of one name have a list each.
    pub service: Service,
    /// The account that the named thing is in.
    pub account: UnitId,
    /// The name; of a table, folded.
    pub name: &'a str,
}

/// Reads a list. What has none has the empty one.
///
/// # Errors
/// The store failed.
pub async fn read(rows: &impl Read, holder: Holder<'_>) -> Result<Acl, StoreError> {
    match rows.get(&records::acl_key(&holder)).await? {
        Some(row) => records::decode_acl(&row),
        None => Ok(Acl::default()),
    }
}

/// Replaces a list; the empty one takes no row, so this also removes the list of what is deleted.
///
/// # Errors
/// None today; a list that cannot be written down would be one.
pub fn write(txn: &Txn, holder: Holder<'_>, acl: &Acl) -> Result<(), StoreError> {
    let key = records::acl_key(&holder);
    if *acl == Acl::default() {
        txn.delete(key)
    } else {
        txn.put(key, records::encode_acl(acl))
    }
    Ok(())
}
