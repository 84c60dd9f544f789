//! Get and Set Container ACL, and Get User Delegation Key.

use access::{acl::Acl, need::Service};
use blob::{
    PublicAccess,
    acl::{GetContainerAcl, SetContainerAcl},
};
use http::StatusCode;
use rest::{Caller, Request, Response, ServiceError, delegation_key, signed_identifiers};
use types::ErrorCode;

use crate::{
    BlobService, answers, conditions,
    containers::{public_access, public_access_text},
    errors,
    header_names::BLOB_PUBLIC_ACCESS,
    names,
};

pub(crate) async fn get(service: &BlobService, caller: &Caller, request: &Request) -> Result<Response, ServiceError> {
    let asked = caller.ask(GetContainerAcl {
        account: caller.unit(),
        name: names::container(request)?,
        lease_id: conditions::lease_id(&request.headers)?,
    });
    let (found, acl) = service.blobs.get_container_acl(&asked).await.map_err(errors::of)?;
    let response = Response::new(StatusCode::OK);
    let mut response = answers::stamped(response, caller.version, found.etag, found.last_modified);
    if let Some(access) = public_access_text(acl.public_access) {
        response = response.text_header(BLOB_PUBLIC_ACCESS, access);
    }
    Ok(response.xml(signed_identifiers::write(&acl.policies)))
}

pub(crate) async fn set(
    service: &BlobService,
    caller: &Caller,
    request: &mut Request,
) -> Result<Response, ServiceError> {
    let public_access = public_access(request)?;
    permit(service, public_access)?;
    // Only a caller that may is listened to at length.
    let name = names::container(request)?;
    let lease_id = conditions::lease_id(&request.headers)?;
    let asked = caller.ask(GetContainerAcl { account: caller.unit(), name: name.clone(), lease_id });
    service.blobs.admit(&asked).await.map_err(errors::of)?;
    let document = request.body.collect(caller.known()?, signed_identifiers::BODY_MAX_BYTES).await?;
    let asked = caller.ask(SetContainerAcl {
        account: caller.unit(),
        name,
        preconditions: conditions::of_container(caller, &request.headers, service.blobs.now())?,
        acl: Acl { public_access, policies: signed_identifiers::parse(Service::Blob, &document)? },
    });
    let done = service.blobs.set_container_acl(&asked).await.map_err(errors::of)?;
    Ok(answers::stamped(Response::new(StatusCode::OK), caller.version, done.etag, done.last_modified))
}

/// No container becomes public where none may be.
pub(crate) fn permit(service: &BlobService, access: PublicAccess) -> Result<(), ServiceError> {
    if access == PublicAccess::Private || service.accounts.public_access() {
        return Ok(());
    }
    let message = "Public access is not permitted on this storage account.";
    Err(ServiceError::new(ErrorCode::PublicAccessNotPermitted, message))
}

pub(crate) async fn user_delegation_key(
    service: &BlobService,
    caller: &Caller,
    request: &mut Request,
) -> Result<Response, ServiceError> {
    let document = request.body.collect(caller.known()?, delegation_key::BODY_MAX_BYTES).await?;
    delegation_key::answer(&service.settings, caller, Service::Blob, &document, request.received_at).await
}
