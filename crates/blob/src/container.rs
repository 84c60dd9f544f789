//! Containers: create, properties, delete.

use access::{
    Authorized, Operation,
    acl::{self, Acl, Holder},
    need::{Need, PublicAccess, Service},
};
use concurrency::{
    conditions::{Conditions, Resource, WriteRule},
    gate::{Guarded, Guards},
    lease::{Leasable, Lease, LeaseId, LeaseProperties, LeaseUse},
};
use store::{Read, Txn};
use types::{ETag, ServiceVersion, Timestamp, UnitId, names::ContainerName};

use crate::{
    errors::{About, BlobError},
    keys, permissions,
    records::{Container, Metadata},
};

/// What a container says about itself.
#[derive(Clone, Debug)]
pub struct ContainerProperties {
    /// Its ETag.
    pub etag: ETag,
    /// When it last changed.
    pub last_modified: Timestamp,
    /// Its lease.
    pub lease: LeaseProperties,
    /// Who may read without a credential.
    pub public_access: PublicAccess,
    /// Its metadata.
    pub metadata: Metadata,
}

impl ContainerProperties {
    pub(crate) fn of(container: Container, now: Timestamp) -> Self {
        Self {
            etag: container.etag,
            last_modified: container.last_modified,
            lease: container.lease.properties(now),
            public_access: container.public_access,
            metadata: container.metadata,
        }
    }
}

/// Where the access control list of a container is.
pub(crate) const fn holder(account: UnitId, name: &str) -> Holder<'_> {
    Holder { service: Service::Blob, account, name }
}

/// Create Container.
#[derive(Clone, Debug)]
pub struct CreateContainer {
    /// The account.
    pub account: UnitId,
    /// The name.
    pub name: ContainerName,
    /// Who may read without a credential.
    pub public_access: PublicAccess,
    /// Its metadata.
    pub metadata: Metadata,
}

impl Operation for CreateContainer {
    fn need(&self) -> Need<'_> {
        permissions::container(self.account, &self.name, permissions::CREATE_CONTAINER)
    }
}

/// Creates a container.
///
/// # Errors
/// It exists, or the store failed.
pub async fn create(txn: &Txn, request: &Authorized<CreateContainer>) -> Result<ContainerProperties, BlobError> {
    request.confirm(txn).await?;
    let key = keys::container(request.account, &request.name);
    if txn.get(&key).await?.is_some() {
        return Err(BlobError::ContainerAlreadyExists);
    }
    let unit = txn.fresh_id();
    let container = Container {
        unit: UnitId::new(unit),
        etag: ETag::next(None, txn.now(), unit),
        last_modified: txn.now(),
        lease: Lease::default(),
        public_access: request.public_access,
        metadata: request.metadata.clone(),
    };
    txn.put(key, container.encode()?);
    let acl = Acl { public_access: request.public_access, policies: Vec::new() };
    acl::write(txn, holder(request.account, request.name.as_str()), &acl)?;
    Ok(ContainerProperties::of(container, txn.now()))
}

/// Get Container Properties.
#[derive(Clone, Debug)]
pub struct GetContainerProperties {
    /// The account.
    pub account: UnitId,
    /// The name.
    pub name: ContainerName,
    /// The lease id that was sent.
    pub lease_id: Option<LeaseId>,
}

impl Operation for GetContainerProperties {
    fn need(&self) -> Need<'_> {
        permissions::container(self.account, &self.name, permissions::GET_CONTAINER_PROPERTIES)
    }
}

/// Reads the properties of a container.
///
/// # Errors
/// It does not exist, the lease id does not hold it, or the store failed.
pub async fn properties(
    rows: &impl Read,
    request: &Authorized<GetContainerProperties>,
    now: Timestamp,
) -> Result<ContainerProperties, BlobError> {
    let container = find(rows, request.account, &request.name).await?;
    let checked = container.lease.check(Leasable::Container, LeaseUse::Read, request.lease_id, now);
    checked.map_err(|refusal| BlobError::Lease(About::Container, refusal))?;
    Ok(ContainerProperties::of(container, now))
}

/// Delete Container.
#[derive(Clone, Debug)]
pub struct DeleteContainer {
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
}

impl Operation for DeleteContainer {
    fn need(&self) -> Need<'_> {
        permissions::container(self.account, &self.name, permissions::DELETE_CONTAINER)
    }
}

/// Deletes a container with everything in it. Its name is free at once; the blobs are swept later.
///
/// # Errors
/// It does not exist, a lease or condition stands against it, or the store failed.
pub async fn delete(txn: &Txn, request: &Authorized<DeleteContainer>) -> Result<(), BlobError> {
    request.confirm(txn).await?;
    let container = find(txn, request.account, &request.name).await?;
    let conditions = Conditions {
        if_modified_since: request.if_modified_since,
        if_unmodified_since: request.if_unmodified_since,
        ..Conditions::default()
    };
    let guards = Guards { version: request.version, lease_id: request.lease_id, conditions };
    let resource = Resource::Present { etag: container.etag, last_modified: container.last_modified };
    let target = Guarded { kind: Leasable::Container, resource, lease: container.lease };
    guards
        .admit_write(WriteRule::DATES_ONLY, LeaseUse::Delete, target, txn.now())
        .map_err(|refusal| BlobError::write(About::Container, refusal))?;
    txn.delete(keys::container(request.account, &request.name));
    acl::write(txn, holder(request.account, request.name.as_str()), &Acl::default())?;
    txn.put(keys::sweep(container.unit), bytes::Bytes::new());
    Ok(())
}

/// The container with this name.
pub(crate) async fn find(rows: &impl Read, account: UnitId, name: &ContainerName) -> Result<Container, BlobError> {
    match rows.get(&keys::container(account, name)).await? {
        Some(row) => Ok(Container::decode(&row)?),
        None => Err(BlobError::ContainerNotFound),
    }
}
