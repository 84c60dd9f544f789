//! Create Container, Get Container Properties, Delete Container.

use blob::{
    PublicAccess,
    container::{self, ContainerProperties, CreateContainer, DeleteContainer, GetContainerProperties},
};
use concurrency::lease::LeaseProperties;
use http::{HeaderName, StatusCode, header};
use rest::{Caller, Request, Response, ServiceError, dates, headers};
use store::Scope;
use types::{ETag, Timestamp};

use crate::{BlobService, acl, conditions, errors, metadata, names};

macro_rules! names {
    ($($name:ident: $text:literal;)*) => {
        $(const $name: HeaderName = HeaderName::from_static($text);)*
    };
}

pub(crate) const BLOB_PUBLIC_ACCESS: HeaderName = HeaderName::from_static("x-ms-blob-public-access");

names! {
    LEASE_STATUS: "x-ms-lease-status";
    LEASE_STATE: "x-ms-lease-state";
    LEASE_DURATION: "x-ms-lease-duration";
    HAS_IMMUTABILITY_POLICY: "x-ms-has-immutability-policy";
    HAS_LEGAL_HOLD: "x-ms-has-legal-hold";
}

pub(crate) async fn create(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let public_access = public_access(request)?;
    acl::permit(service, public_access)?;
    let operation = &caller
        .authorize(
            &service.store.snapshot(),
            CreateContainer {
                account: caller.unit(),
                name: names::container(request)?,
                public_access,
                metadata: metadata::from_headers(&request.headers)?,
            },
        )
        .await?;
    let made = service
        .store
        .transact(Scope::unit(caller.unit()), |txn| async move { container::create(&txn, operation).await })
        .await
        .map_err(errors::of)?;
    Ok(stamped(Response::new(StatusCode::CREATED), made.etag, made.last_modified))
}

pub(crate) async fn properties(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let operation = caller
        .authorize(
            &service.store.snapshot(),
            GetContainerProperties {
                account: caller.unit(),
                name: names::container(request)?,
                lease_id: conditions::lease_id(&request.headers)?,
            },
        )
        .await?;
    let found =
        container::properties(&service.store.snapshot(), &operation, service.store.now()).await.map_err(errors::of)?;
    Ok(described(&found))
}

pub(crate) async fn delete(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let now = service.store.now();
    let operation = &caller
        .authorize(
            &service.store.snapshot(),
            DeleteContainer {
                account: caller.unit(),
                name: names::container(request)?,
                version: caller.version,
                lease_id: conditions::lease_id(&request.headers)?,
                if_modified_since: conditions::date(&request.headers, &header::IF_MODIFIED_SINCE, now)?,
                if_unmodified_since: conditions::date(&request.headers, &header::IF_UNMODIFIED_SINCE, now)?,
            },
        )
        .await?;
    service
        .store
        .transact(Scope::unit(caller.unit()).reclaims(), |txn| async move { container::delete(&txn, operation).await })
        .await
        .map_err(errors::of)?;
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

fn described(found: &ContainerProperties) -> Response {
    let mut response = stamped(Response::new(StatusCode::OK), found.etag, found.last_modified);
    response = leased(response, found.lease);
    if let Some(access) = public_access_text(found.public_access) {
        response = response.text_header(BLOB_PUBLIC_ACCESS, access);
    }
    response = response.text_header(HAS_IMMUTABILITY_POLICY, "false").text_header(HAS_LEGAL_HOLD, "false");
    metadata::to_headers(response, &found.metadata)
}

/// ETag and Last-Modified.
pub(crate) fn stamped(response: Response, etag: ETag, last_modified: Timestamp) -> Response {
    response
        .text_header(header::ETAG, &format!("\"{etag}\""))
        .text_header(header::LAST_MODIFIED, &dates::rfc1123(last_modified))
}

pub(crate) fn leased(response: Response, lease: LeaseProperties) -> Response {
    let response = response.text_header(LEASE_STATUS, lease.status()).text_header(LEASE_STATE, lease.state.as_str());
    match lease.duration() {
        Some(duration) => response.text_header(LEASE_DURATION, duration),
        None => response,
    }
}
