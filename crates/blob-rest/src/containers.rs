//! Create Container, Get Container Properties, Get and Set Container Metadata, Delete Container.

use blob::{
    PublicAccess,
    container::{ContainerProperties, CreateContainer, DeleteContainer, GetContainerProperties, SetContainerMetadata},
};
use http::StatusCode;
use rest::{Caller, Request, Response, ServiceError, headers};

use crate::{
    BlobService, acl, answers, conditions, errors,
    header_names::{BLOB_PUBLIC_ACCESS, HAS_IMMUTABILITY_POLICY, HAS_LEGAL_HOLD, IMMUTABLE_STORAGE_WITH_VERSIONING},
    leases, metadata, names,
};

pub(crate) async fn create(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let public_access = public_access(request)?;
    acl::permit(service, public_access)?;
    let asked = caller.ask(CreateContainer {
        account: caller.unit(),
        name: names::container(request)?,
        public_access,
        metadata: metadata::from_headers(&request.headers)?,
    });
    let made = service.blobs.create_container(&asked).await.map_err(errors::of)?;
    Ok(answers::stamped(Response::new(StatusCode::CREATED), caller.version, made.etag, made.last_modified))
}

pub(crate) async fn properties(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let found = read(service, caller, request).await?;
    let mut response = stamped(caller, &found);
    response = leases::described(response, found.lease);
    if let Some(access) = public_access_text(found.public_access) {
        response = response.text_header(BLOB_PUBLIC_ACCESS, access);
    }
    response = response
        .text_header(HAS_IMMUTABILITY_POLICY, "false")
        .text_header(HAS_LEGAL_HOLD, "false")
        .text_header(IMMUTABLE_STORAGE_WITH_VERSIONING, "false");
    Ok(metadata::to_headers(response, &found.metadata))
}

pub(crate) async fn get_metadata(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let found = read(service, caller, request).await?;
    Ok(metadata::to_headers(stamped(caller, &found), &found.metadata))
}

async fn read(service: &BlobService, caller: &Caller, request: &Request) -> Result<ContainerProperties, ServiceError> {
    let asked = caller.ask(GetContainerProperties {
        account: caller.unit(),
        name: names::container(request)?,
        lease_id: conditions::lease_id(&request.headers)?,
    });
    service.blobs.get_container_properties(&asked).await.map_err(errors::of)
}

pub(crate) async fn set_metadata(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let asked = caller.ask(SetContainerMetadata {
        account: caller.unit(),
        name: names::container(request)?,
        preconditions: conditions::of_container(caller, &request.headers, service.blobs.now())?,
        metadata: metadata::from_headers(&request.headers)?,
    });
    let written = service.blobs.set_container_metadata(&asked).await.map_err(errors::of)?;
    Ok(answers::written(Response::new(StatusCode::OK), caller.version, written))
}

pub(crate) async fn delete(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let asked = caller.ask(DeleteContainer {
        account: caller.unit(),
        name: names::container(request)?,
        preconditions: conditions::of_container(caller, &request.headers, service.blobs.now())?,
    });
    service.blobs.delete_container(&asked).await.map_err(errors::of)?;
    Ok(Response::new(StatusCode::ACCEPTED))
}

pub(crate) fn public_access(request: &Request) -> Result<PublicAccess, ServiceError> {
    match headers::text(&request.headers, &BLOB_PUBLIC_ACCESS)? {
        None => Ok(PublicAccess::Private),
        Some("blob") => Ok(PublicAccess::Blob),
        Some("container") => Ok(PublicAccess::Container),
        Some(other) => Err(ServiceError::invalid_header(BLOB_PUBLIC_ACCESS.as_str(), other)),
    }
}

pub(crate) const fn public_access_text(access: PublicAccess) -> Option<&'static str> {
    match access {
        PublicAccess::Private => None,
        PublicAccess::Blob => Some("blob"),
        PublicAccess::Container => Some("container"),
    }
}

fn stamped(caller: &Caller, found: &ContainerProperties) -> Response {
    answers::stamped(Response::new(StatusCode::OK), caller.version, found.etag, found.last_modified)
}
