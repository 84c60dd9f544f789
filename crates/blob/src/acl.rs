//! Get and Set Container ACL: who may read without a credential, and the stored access policies.

use access::{
    Authorized, Operation,
    acl::{self, Acl},
    need::Need,
};
use concurrency::{
    conditions::{Conditions, Resource, WriteRule},
    gate::{Guarded, Guards},
    lease::{Leasable, LeaseId, LeaseUse},
};
use store::{Read, Txn};
use types::{ETag, ServiceVersion, Timestamp, UnitId, names::ContainerName};

use crate::{
    container::{ContainerProperties, find, holder},
    errors::{About, BlobError},
    keys, permissions,
};

/// Get Container ACL.
#[derive(Clone, Debug)]
pub struct GetContainerAcl {
    /// The account.
    pub account: UnitId,
    /// The name.
    pub name: ContainerName,
    /// The lease id that was sent.
    pub lease_id: Option<LeaseId>,
}

impl Operation for GetContainerAcl {
    fn need(&self) -> Need<'_> {
        permissions::container(self.account, &self.name, permissions::CONTAINER_ACL)
    }
}

/// Reads the access control list of a container.
///
/// # Errors
/// It does not exist, the lease id does not hold it, or the store failed.
pub async fn get(
    rows: &impl Read,
    request: &Authorized<GetContainerAcl>,
    now: Timestamp,
) -> Result<(ContainerProperties, Acl), BlobError> {
    let container = find(rows, request.account, &request.name).await?;
    let checked = container.lease.check(Leasable::Container, LeaseUse::Read, request.lease_id, now);
    checked.map_err(|refusal| BlobError::Lease(About::Container, refusal))?;
    let acl = acl::read(rows, holder(request.account, request.name.as_str())).await?;
    Ok((ContainerProperties::of(container, now), acl))
}

/// Set Container ACL.
#[derive(Clone, Debug)]
pub struct SetContainerAcl {
    /// The account.
    pub account: UnitId,
    /// The name.
    pub name: ContainerName,
    /// The service version.
    pub version: ServiceVersion,
    /// The lease id that was sent.
    pub lease_id: Option<LeaseId>,
    /// If-Modified-Since
    pub if_modified_since: Option<Timestamp>,
    /// If-Unmodified-Since
    pub if_unmodified_since: Option<Timestamp>,
    /// The new list; it replaces the old one.
    pub acl: Acl,
}

impl Operation for SetContainerAcl {
    fn need(&self) -> Need<'_> {
        permissions::container(self.account, &self.name, permissions::CONTAINER_ACL)
    }
}

/// Replaces the access control list of a container. It is in force for every request that ends after this one, also for
/// those that are under way.
///
/// # Errors
/// It does not exist, a lease or condition stands against it, or the store failed.
pub async fn set(txn: &Txn, request: &Authorized<SetContainerAcl>) -> Result<ContainerProperties, BlobError> {
    request.confirm(txn).await?;
    let mut container = find(txn, request.account, &request.name).await?;
    let conditions = Conditions {
        if_modified_since: request.if_modified_since,
        if_unmodified_since: request.if_unmodified_since,
        ..Conditions::default()
    };
    let guards = Guards { version: request.version, lease_id: request.lease_id, conditions };
    let resource = Resource::Present { etag: container.etag, last_modified: container.last_modified };
    let target = Guarded { kind: Leasable::Container, resource, lease: container.lease };
    container.lease = guards
        .admit_write(WriteRule::DATES_ONLY, LeaseUse::Write, target, txn.now())
        .map_err(|refusal| BlobError::write(About::Container, refusal))?;
    container.etag = ETag::next(Some(container.etag), txn.now(), txn.fresh_id());
    container.last_modified = txn.now();
    container.public_access = request.acl.public_access;
    acl::write(txn, holder(request.account, request.name.as_str()), &request.acl)?;
    txn.put(keys::container(request.account, &request.name), container.encode()?);
    Ok(ContainerProperties::of(container, txn.now()))
}
