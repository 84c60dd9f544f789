//! Get and Set Share ACL, and Get User Delegation Key.

use access::need::Service;
use file::{
    share_acl::{GetShareAcl, SetShareAcl},
    share_properties::SharePreconditions,
};
use http::StatusCode;
use rest::{Caller, Request, Response, ServiceError, delegation_key, signed_identifiers, stamps};

use crate::{FileService, errors, names, preconditions};

pub(crate) async fn get(service: &FileService, caller: &Caller, request: &Request) -> Result<Response, ServiceError> {
    let asked = caller.ask(GetShareAcl {
        share: names::written_share(caller, request)?,
        preconditions: preconditions::of_share(caller, &request.headers)?,
    });
    let (found, policies) = service.files.get_share_acl(&asked).await.map_err(errors::of)?;
    let response = stamps::stamped(Response::new(StatusCode::OK), caller.version, found.etag, found.last_modified);
    Ok(response.xml(signed_identifiers::write(&policies)))
}

pub(crate) async fn set(
    service: &FileService,
    caller: &Caller,
    request: &mut Request,
) -> Result<Response, ServiceError> {
    // Only a caller that may is listened to at length.
    let share = names::written_share(caller, request)?;
    let early = GetShareAcl { share: share.clone(), preconditions: SharePreconditions::default() };
    service.files.admit(&caller.ask(early)).await.map_err(errors::of)?;
    let document = request.body.collect(caller.known()?, signed_identifiers::BODY_MAX_BYTES).await?;
    let asked = caller.ask(SetShareAcl {
        share,
        preconditions: preconditions::of_share(caller, &request.headers)?,
        policies: signed_identifiers::parse(Service::File, &document)?,
    });
    let done = service.files.set_share_acl(&asked).await.map_err(errors::of)?;
    Ok(stamps::stamped(Response::new(StatusCode::OK), caller.version, done.etag, done.last_modified))
}

pub(crate) async fn user_delegation_key(
    service: &FileService,
    caller: &Caller,
    request: &mut Request,
) -> Result<Response, ServiceError> {
    let document = request.body.collect(caller.known()?, delegation_key::BODY_MAX_BYTES).await?;
    delegation_key::answer(&service.settings, caller, Service::File, &document, request.received_at).await
}
