//! The stored access policies of a table.

use access::{
    Asked, Operation,
    acl::{self, Acl, StoredAccessPolicy},
    need::{Need, PublicAccess},
};
use store::Scope;

use crate::{
    Tables,
    errors::TableError,
    permissions,
    table::{TableAddress, find},
};

/// Get Table ACL.
#[derive(Clone, Debug)]
pub struct GetTableAcl {
    /// The table whose policies are read.
    pub address: TableAddress,
}

impl Operation for GetTableAcl {
    fn need(&self) -> Need<'_> {
        permissions::table(self.address.account(), self.address.folded(), permissions::GET_TABLE_ACL)
    }
}

/// Set Table ACL.
#[derive(Clone, Debug)]
pub struct SetTableAcl {
    /// The table whose policies are replaced.
    pub address: TableAddress,
    /// The new policies, which replace the old.
    pub policies: Vec<StoredAccessPolicy>,
}

impl Operation for SetTableAcl {
    fn need(&self) -> Need<'_> {
        permissions::table(self.address.account(), self.address.folded(), permissions::SET_TABLE_ACL)
    }
}

impl Tables {
    /// Reads the stored access policies of a table.
    ///
    /// # Errors
    /// It is not allowed, the table does not exist, or the store failed.
    pub async fn get_table_acl(&self, asked: &Asked<GetTableAcl>) -> Result<Vec<StoredAccessPolicy>, TableError> {
        let rows = self.store.snapshot();
        let request = asked.authorize(&rows).await?;
        find(&rows, &request.address).await?;
        Ok(acl::read(&rows, request.address.holder()).await?.policies)
    }

    /// Replaces the stored access policies of a table. They count from the answer on.
    ///
    /// # Errors
    /// It is not allowed, the table does not exist, or the store failed.
    pub async fn set_table_acl(&self, asked: &Asked<SetTableAcl>) -> Result<(), TableError> {
        let set = |txn| async move {
            let request = asked.authorize(&txn).await?;
            find(&txn, &request.address).await?;
            let list = Acl { public_access: PublicAccess::Private, policies: request.policies.clone() };
            Ok(acl::write(&txn, request.address.holder(), &list)?)
        };
        self.store.transact(Scope::unit(asked.address.account()), set).await
    }
}
