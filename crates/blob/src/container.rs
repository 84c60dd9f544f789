//! Containers: create, properties, metadata, lease, delete.
//!
//! A container's lease protects it against deletion and nothing else. Who may read it without a credential stands in its
//! access control list, and only there.

use access::{
    Asked, Authorized, Operation,
    acl::{self, Acl, Holder},
    need::{Need, PublicAccess, Service},
};
use concurrency::{
    conditions::{Conditions, Resource, WriteRule},
    gate::{Guarded, Guards},
    lease::{Leasable, Lease, LeaseId, LeaseOperation, LeaseProperties, LeaseUse},
};
use store::{Read, Txn};
use types::{ETag, ServiceVersion, Timestamp, UnitId, names::ContainerName};

use crate::{
    Blobs,
    errors::{About, BlobError},
    keys,
    lease::LeaseAnswer,
    permissions,
    properties::Written,
    records::{SweepRecord, UnitRecord},
    state::{Container, Metadata},
};

pub mod system;

/// What a container says about itself.
#[derive(Clone, Debug)]
pub struct ContainerProperties {
    /// Its ETag.
    pub etag: ETag,
    /// When it last changed.
    pub last_modified: Timestamp,
    /// As it stands now; a container's counts for its delete only.
    pub lease: LeaseProperties,
    /// Who may read without a credential.
    pub public_access: PublicAccess,
    /// Names in the case that they were sent in.
    pub metadata: Metadata,
}

impl ContainerProperties {
    pub(crate) fn of(container: Container, public_access: PublicAccess, now: Timestamp) -> Self {
        Self {
            etag: container.etag,
            last_modified: container.last_modified,
            lease: container.lease.properties(now),
            public_access,
            metadata: container.metadata,
        }
    }
}

/// Whose access control list.
pub(crate) const fn holder(account: UnitId, name: &str) -> Holder<'_> {
    Holder { service: Service::Blob, account, name }
}

/// Create Container.
#[derive(Clone, Debug)]
pub struct CreateContainer {
    /// The account that the container is in.
    pub account: UnitId,
    /// The name of the container.
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

impl Blobs {
    /// Creates a container.
    ///
    /// # Errors
    /// It exists, as those of the service always do, or the store failed.
    pub async fn create_container(&self, asked: &Asked<CreateContainer>) -> Result<ContainerProperties, BlobError> {
        self.transact(|txn| async move { create(&txn, &asked.authorize(&txn).await?).await }).await
    }
}

async fn create(txn: &Txn, request: &Authorized<'_, CreateContainer>) -> Result<ContainerProperties, BlobError> {
    if system::is_system(&request.name) {
        return Err(BlobError::ContainerAlreadyExists);
    }
    make(txn, request).await
}

async fn make(txn: &Txn, wanted: &CreateContainer) -> Result<ContainerProperties, BlobError> {
    let key = keys::container(wanted.account, &wanted.name);
    if txn.get(&key).await?.is_some() {
        return Err(BlobError::ContainerAlreadyExists);
    }
    let unit = txn.fresh_id();
    let container = Container {
        unit: UnitId::new(unit),
        etag: ETag::next(None, txn.now(), unit),
        last_modified: txn.now(),
        lease: Lease::default(),
        metadata: wanted.metadata.clone(),
    };
    let named = UnitRecord { account: wanted.account.number(), name: wanted.name.as_str().to_owned() };
    txn.put(key, container.encode());
    txn.put(keys::unit(container.unit), named.encode());
    let acl = Acl { public_access: wanted.public_access, policies: Vec::new() };
    acl::write(txn, holder(wanted.account, wanted.name.as_str()), &acl)?;
    Ok(ContainerProperties::of(container, wanted.public_access, txn.now()))
}

/// Get Container Properties and Get Container Metadata.
#[derive(Clone, Debug)]
pub struct GetContainerProperties {
    /// The account that the container is in.
    pub account: UnitId,
    /// The name of the container.
    pub name: ContainerName,
    /// The lease id that was sent.
    pub lease_id: Option<LeaseId>,
}

impl Operation for GetContainerProperties {
    fn need(&self) -> Need<'_> {
        permissions::container(self.account, &self.name, permissions::GET_CONTAINER_PROPERTIES)
    }
}

impl Blobs {
    /// Reads the properties of a container.
    ///
    /// # Errors
    /// It does not exist, the lease id does not hold it, or the store failed.
    pub async fn get_container_properties(
        &self,
        asked: &Asked<GetContainerProperties>,
    ) -> Result<ContainerProperties, BlobError> {
        let (rows, now) = self.view();
        properties(&rows, &asked.authorize(&rows).await?, now).await
    }
}

async fn properties(
    rows: &impl Read,
    request: &Authorized<'_, GetContainerProperties>,
    now: Timestamp,
) -> Result<ContainerProperties, BlobError> {
    let container = find(rows, request.account, &request.name).await?;
    let checked = container.lease.check(Leasable::Container, LeaseUse::Read, request.lease_id, now);
    checked.map_err(|refusal| BlobError::Lease(About::Container, refusal))?;
    let acl = acl::read(rows, holder(request.account, request.name.as_str())).await?;
    Ok(ContainerProperties::of(container, acl.public_access, now))
}

/// What the operations on a container that change it are decided by.
#[derive(Clone, Debug)]
pub struct ContainerPreconditions<'a> {
    /// The service version.
    pub version: ServiceVersion,
    /// The lease id that was sent.
    pub lease_id: Option<LeaseId>,
    /// The conditions. Which of them an operation takes, it says itself.
    pub conditions: Conditions<'a>,
}

impl Default for ContainerPreconditions<'_> {
    fn default() -> Self {
        Self { version: ServiceVersion::NEWEST, lease_id: None, conditions: Conditions::default() }
    }
}

impl ContainerPreconditions<'_> {
    /// Decides, and returns the lease to store.
    pub(crate) fn admit(
        &self,
        rule: WriteRule,
        usage: LeaseUse,
        container: &Container,
        now: Timestamp,
    ) -> Result<Lease, BlobError> {
        let guards = Guards { version: self.version, lease_id: self.lease_id, conditions: self.conditions };
        let resource = Resource::Present { etag: container.etag, last_modified: container.last_modified };
        let target = Guarded { kind: Leasable::Container, resource, lease: container.lease };
        guards.admit_write(rule, usage, target, now).map_err(|refusal| BlobError::write(About::Container, refusal))
    }
}

/// Set Container Metadata.
#[derive(Clone, Debug)]
pub struct SetContainerMetadata<'a> {
    /// The account that the container is in.
    pub account: UnitId,
    /// The name of the container.
    pub name: ContainerName,
    /// What it is decided by; of conditions only If-Modified-Since.
    pub preconditions: ContainerPreconditions<'a>,
    /// All metadata it shall have.
    pub metadata: Metadata,
}

impl Operation for SetContainerMetadata<'_> {
    fn need(&self) -> Need<'_> {
        permissions::container(self.account, &self.name, permissions::SET_CONTAINER_METADATA)
    }
}

impl Blobs {
    /// Replaces the metadata of a container.
    ///
    /// # Errors
    /// It does not exist, a lease or condition stands against it, or the store failed.
    pub async fn set_container_metadata(&self, asked: &Asked<SetContainerMetadata<'_>>) -> Result<Written, BlobError> {
        self.transact(|txn| async move { set_metadata(&txn, &asked.authorize(&txn).await?).await }).await
    }
}

async fn set_metadata(txn: &Txn, request: &Authorized<'_, SetContainerMetadata<'_>>) -> Result<Written, BlobError> {
    let mut container = find(txn, request.account, &request.name).await?;
    let rule = WriteRule::MODIFIED_SINCE_ONLY;
    container.lease = request.preconditions.admit(rule, LeaseUse::Write, &container, txn.now())?;
    container.metadata.clone_from(&request.metadata);
    container.touch(txn);
    txn.put(keys::container(request.account, &request.name), container.encode());
    Ok(Written { etag: container.etag, last_modified: container.last_modified })
}

impl Container {
    /// The container was changed: a new ETag, and the time.
    pub(crate) fn touch(&mut self, txn: &Txn) {
        self.etag = ETag::next(Some(self.etag), txn.now(), txn.fresh_id());
        self.last_modified = txn.now().max(self.last_modified);
    }
}

/// Lease Container.
#[derive(Clone, Debug)]
pub struct LeaseContainer<'a> {
    /// The account that the container is in.
    pub account: UnitId,
    /// The name of the container.
    pub name: ContainerName,
    /// The conditions: dates only.
    pub conditions: Conditions<'a>,
    /// Acquire, renew, change, release or break.
    pub operation: LeaseOperation,
}

impl Operation for LeaseContainer<'_> {
    fn need(&self) -> Need<'_> {
        let rule = match self.operation {
            LeaseOperation::Break { .. } => permissions::BREAK_CONTAINER_LEASE,
            _ => permissions::LEASE_CONTAINER,
        };
        permissions::container(self.account, &self.name, rule)
    }
}

impl Blobs {
    /// Does a lease operation on a container. Its ETag stays.
    ///
    /// # Errors
    /// The container does not exist, its lease or a condition stands against it, or the store failed.
    pub async fn lease_container(&self, asked: &Asked<LeaseContainer<'_>>) -> Result<LeaseAnswer, BlobError> {
        self.transact(|txn| async move { lease(&txn, &asked.authorize(&txn).await?).await }).await
    }
}

async fn lease(txn: &Txn, request: &Authorized<'_, LeaseContainer<'_>>) -> Result<LeaseAnswer, BlobError> {
    let mut container = find(txn, request.account, &request.name).await?;
    let resource = Resource::Present { etag: container.etag, last_modified: container.last_modified };
    request
        .conditions
        .check_write(WriteRule::DATES_ONLY, resource, false)
        .map_err(|refusal| BlobError::condition(About::Container, refusal))?;
    let change = container.lease.apply(Leasable::Container, request.operation, txn.now());
    let change = change.map_err(BlobError::LeaseOperation)?;
    container.lease = change.lease;
    txn.put(keys::container(request.account, &request.name), container.encode());
    let written = Written { etag: container.etag, last_modified: container.last_modified };
    Ok(LeaseAnswer { written, outcome: change.outcome })
}

/// Delete Container.
#[derive(Clone, Debug)]
pub struct DeleteContainer<'a> {
    /// The account that the container is in.
    pub account: UnitId,
    /// The name of the container.
    pub name: ContainerName,
    /// What it is decided by; of conditions dates only.
    pub preconditions: ContainerPreconditions<'a>,
}

impl Operation for DeleteContainer<'_> {
    fn need(&self) -> Need<'_> {
        permissions::container(self.account, &self.name, permissions::DELETE_CONTAINER)
    }
}

impl Blobs {
    /// Deletes a container with everything in it. Its name is free at once; the blobs are swept later.
    ///
    /// # Errors
    /// It does not exist, a lease or condition stands against it, or the store failed.
    pub async fn delete_container(&self, asked: &Asked<DeleteContainer<'_>>) -> Result<(), BlobError> {
        self.transact_reclaiming(|txn| async move { delete(&txn, &asked.authorize(&txn).await?).await }).await
    }
}

async fn delete(txn: &Txn, request: &Authorized<'_, DeleteContainer<'_>>) -> Result<(), BlobError> {
    let container = find(txn, request.account, &request.name).await?;
    request.preconditions.admit(WriteRule::DATES_ONLY, LeaseUse::Delete, &container, txn.now())?;
    txn.delete(keys::container(request.account, &request.name));
    txn.delete(keys::unit(container.unit));
    acl::write(txn, holder(request.account, request.name.as_str()), &Acl::default())?;
    txn.put(
        keys::sweep(container.unit),
        SweepRecord { account: request.account.number(), reached: Vec::new() }.encode(),
    );
    Ok(())
}

/// The container with this name.
pub(crate) async fn find(rows: &impl Read, account: UnitId, name: &ContainerName) -> Result<Container, BlobError> {
    match rows.get(&keys::container(account, name)).await? {
        Some(row) => Ok(Container::decode(&row)?),
        None => Err(BlobError::ContainerNotFound),
    }
}
