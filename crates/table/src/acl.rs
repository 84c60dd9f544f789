//! The stored access policies of a table.

use access::{
    Authorized, Operation,
    acl::{self, Acl, StoredAccessPolicy},
    need::{Need, PublicAccess},
};
use store::{Read, Txn};

use crate::{
    errors::TableError,
    permissions,
    table::{TableAddress, find},
};

/// Get Table ACL.
#[derive(Clone, Debug)]
pub struct GetTableAcl {
    /// Which.
    pub address: TableAddress,
}

impl Operation for GetTableAcl {
    fn need(&self) -> Need<'_> {
        permissions::table(self.address.account(), self.address.folded(), permissions::GET_TABLE_ACL)
    }
}

/// Reads the policies.
///
/// # Errors
/// The table does not exist, or the store failed.
pub async fn get(rows: &impl Read, request: &Authorized<GetTableAcl>) -> Result<Vec<StoredAccessPolicy>, TableError> {
    find(rows, &request.address).await?;
    Ok(acl::read(rows, request.address.holder()).await?.policies)
}

/// Set Table ACL.
#[derive(Clone, Debug)]
pub struct SetTableAcl {
    /// Which.
    pub address: TableAddress,
    /// The new policies, which replace the old.
    pub policies: Vec<StoredAccessPolicy>,
}

impl Operation for SetTableAcl {
    fn need(&self) -> Need<'_> {
        permissions::table(self.address.account(), self.address.folded(), permissions::SET_TABLE_ACL)
    }
}

/// Replaces the policies. They count from the answer on.
///
/// # Errors
/// The table does not exist, or the store failed.
pub async fn set(txn: &Txn, request: &Authorized<SetTableAcl>) -> Result<(), TableError> {
    request.confirm(txn).await?;
    find(txn, &request.address).await?;
    let list = Acl { public_access: PublicAccess::Private, policies: request.policies.clone() };
    Ok(acl::write(txn, request.address.holder(), &list)?)
}
