//! Get and Set Container ACL: who may read without a credential, and the stored access policies.

use access::{
    Asked, Authorized, Operation,
    acl::{self, Acl},
    need::Need,
};
use concurrency::{
    conditions::WriteRule,
    lease::{Leasable, LeaseId, LeaseUse},
};
use store::{Read, Txn};
use types::{Timestamp, UnitId, names::ContainerName};

use crate::{
    Blobs,
    container::{ContainerPreconditions, ContainerProperties, find, holder},
    errors::{About, BlobError},
    keys, permissions,
};

/// Get Container ACL.
#[derive(Clone, Debug)]
pub struct GetContainerAcl {
    /// The account that the container is in.
    pub account: UnitId,
    /// The name of the container.
    pub name: ContainerName,
    /// The lease id that was sent.
    pub lease_id: Option<LeaseId>,
}

impl Operation for GetContainerAcl {
    fn need(&self) -> Need<'_> {
        permissions::container(self.account, &self.name, permissions::CONTAINER_ACL)
    }
}

impl Blobs {
    /// Reads the access control list of a container.
    ///
    /// # Errors
    /// It does not exist, the lease id does not hold it, or the store failed.
    pub async fn get_container_acl(
        &self,
        asked: &Asked<GetContainerAcl>,
    ) -> Result<(ContainerProperties, Acl), BlobError> {
        let (rows, now) = self.view();
        get(&rows, &asked.authorize(&rows).await?, now).await
    }
}

async fn get(
    rows: &impl Read,
    request: &Authorized<'_, GetContainerAcl>,
    now: Timestamp,
) -> Result<(ContainerProperties, Acl), BlobError> {
    let container = find(rows, request.account, &request.name).await?;
    let checked = container.lease.check(Leasable::Container, LeaseUse::Read, request.lease_id, now);
    checked.map_err(|refusal| BlobError::Lease(About::Container, refusal))?;
    let acl = acl::read(rows, holder(request.account, request.name.as_str())).await?;
    Ok((ContainerProperties::of(container, acl.public_access, now), acl))
}

/// Set Container ACL.
#[derive(Clone, Debug)]
pub struct SetContainerAcl<'a> {
    /// The account that the container is in.
    pub account: UnitId,
    /// The name of the container.
    pub name: ContainerName,
    /// What it is decided by; of conditions dates only.
    pub preconditions: ContainerPreconditions<'a>,
    /// The new list; it replaces the old one.
    pub acl: Acl,
}

impl Operation for SetContainerAcl<'_> {
    fn need(&self) -> Need<'_> {
        permissions::container(self.account, &self.name, permissions::CONTAINER_ACL)
    }
}

impl Blobs {
    /// Replaces the access control list of a container. It is in force for every request that ends after this one, also for
    /// those that are under way.
    ///
    /// # Errors
    /// It does not exist, a lease or condition stands against it, or the store failed.
    pub async fn set_container_acl(
        &self,
        asked: &Asked<SetContainerAcl<'_>>,
    ) -> Result<ContainerProperties, BlobError> {
        self.transact(|txn| async move { set(&txn, &asked.authorize(&txn).await?).await }).await
    }
}

async fn set(txn: &Txn, request: &Authorized<'_, SetContainerAcl<'_>>) -> Result<ContainerProperties, BlobError> {
    let mut container = find(txn, request.account, &request.name).await?;
    let rule = WriteRule::DATES_ONLY;
    container.lease = request.preconditions.admit(rule, LeaseUse::Write, &container, txn.now())?;
    container.touch(txn);
    acl::write(txn, holder(request.account, request.name.as_str()), &request.acl)?;
    txn.put(keys::container(request.account, &request.name), container.encode());
    Ok(ContainerProperties::of(container, request.acl.public_access, txn.now()))
}
