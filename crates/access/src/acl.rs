//! Access control lists: who may read a container without a credential, and the stored access policies of containers,
//! queues, tables and shares.
//!
//! They have rows of their own, because credentials are decided before the service is asked. The service that owns the
//! container writes and removes them in the transaction that changes it.

use serde::{Deserialize, Serialize};
use store::{Read, StoreError, Txn, key::KeyBuilder, space::Space};
use types::{Timestamp, UnitId};

use crate::need::{PublicAccess, Service};

const ACL: u8 = 2;
const FORMAT: u8 = 1;

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

impl Holder<'_> {
    fn key(&self) -> bytes::Bytes {
        KeyBuilder::new(Space::Account, ACL)
            .number(self.account.number())
            .number(self.service.ordinal())
            .bytes(self.name.as_bytes())
            .build()
    }
}

#[derive(Serialize, Deserialize)]
struct AclRecord {
    public_access: PublicAccess,
    policies: Vec<PolicyRecord>,
}

#[derive(Serialize, Deserialize)]
struct PolicyRecord {
    id: String,
    start: Option<u64>,
    expiry: Option<u64>,
    permissions: Option<String>,
}

/// Reads a list. What has none has the empty one.
///
/// # Errors
/// The store failed.
pub async fn read(rows: &impl Read, holder: Holder<'_>) -> Result<Acl, StoreError> {
    let Some(row) = rows.get(&holder.key()).await? else { return Ok(Acl::default()) };
    let malformed = || StoreError::corrupt("the row of an access control list");
    let Some((&FORMAT, record)) = row.split_first() else { return Err(malformed()) };
    let record: AclRecord = postcard::from_bytes(record).map_err(|_| malformed())?;
    let policy = |record: PolicyRecord| StoredAccessPolicy {
        id: record.id,
        start: record.start.map(Timestamp::from_ticks),
        expiry: record.expiry.map(Timestamp::from_ticks),
        permissions: record.permissions,
    };
    Ok(Acl { public_access: record.public_access, policies: record.policies.into_iter().map(policy).collect() })
}

/// Replaces a list; the empty one takes no row, so this also removes the list of what is deleted.
///
/// # Errors
/// The list cannot be written down.
pub fn write(txn: &Txn, holder: Holder<'_>, acl: &Acl) -> Result<(), StoreError> {
    if *acl == Acl::default() {
        txn.delete(holder.key());
        return Ok(());
    }
    let policy = |policy: &StoredAccessPolicy| PolicyRecord {
        id: policy.id.clone(),
        start: policy.start.map(Timestamp::ticks),
        expiry: policy.expiry.map(Timestamp::ticks),
        permissions: policy.permissions.clone(),
    };
    let record = AclRecord { public_access: acl.public_access, policies: acl.policies.iter().map(policy).collect() };
    let row = postcard::to_extend(&record, vec![FORMAT]);
    txn.put(holder.key(), row.map_err(|error| StoreError::corrupt(format!("a record cannot be written: {error}")))?);
    Ok(())
}
