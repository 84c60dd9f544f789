//! Get Queue ACL and Set Queue ACL: stored access policies as XML.

use access::{acl::Acl, need::Service};
use http::StatusCode;
use queue::{GetQueueAcl, SetQueueAcl};
use rest::{Caller, Request, Response, ServiceError, delegation_key, signed_identifiers};

use crate::{QueueService, errors, names};

pub(crate) async fn get(service: &QueueService, caller: &Caller, request: &Request) -> Result<Response, ServiceError> {
    let asked = caller.ask(GetQueueAcl { address: names::address(caller, request)? });
    let acl = service.queues.get_queue_acl(&asked).await.map_err(errors::of)?;
    Ok(Response::new(StatusCode::OK).xml(signed_identifiers::write(&acl.policies)))
}

pub(crate) async fn set(
    service: &QueueService,
    caller: &Caller,
    mut request: Request,
) -> Result<Response, ServiceError> {
    let address = names::address(caller, &request)?;
    let body = request.body.collect(caller.known()?, signed_identifiers::BODY_MAX_BYTES).await?;
    let policies = signed_identifiers::parse(Service::Queue, &body)?;
    let asked = caller.ask(SetQueueAcl { address, acl: Acl { policies, ..Acl::default() } });
    service.queues.set_queue_acl(&asked).await.map_err(errors::of)?;
    Ok(Response::new(StatusCode::NO_CONTENT))
}

pub(crate) async fn user_delegation_key(
    service: &QueueService,
    caller: &Caller,
    request: &mut Request,
) -> Result<Response, ServiceError> {
    let document = request.body.collect(caller.known()?, delegation_key::BODY_MAX_BYTES).await?;
    delegation_key::answer(&service.settings, caller, Service::Queue, &document, request.received_at).await
}
