//! Lease Blob and Lease Container.

use blob::{
    container::LeaseContainer,
    lease::{LeaseAnswer, LeaseBlob},
};
pub(crate) use rest::leases::described;
use rest::{Caller, Request, Response, ServiceError, leases::operation};

use crate::{BlobService, answers, conditions, errors, names};

pub(crate) async fn of_blob(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let address = names::base(caller.unit(), request)?;
    let asked = caller.ask(LeaseBlob {
        address,
        conditions: conditions::conditions(&request.headers, service.blobs.now())?,
        if_tags: conditions::if_tags(&request.headers)?,
        operation: operation(&request.headers, caller.version, service.fresh_lease_id(request))?,
    });
    let answer = service.blobs.lease_blob(&asked);
    Ok(answered(caller, answer.await.map_err(errors::of)?))
}

pub(crate) async fn of_container(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let asked = caller.ask(LeaseContainer {
        account: caller.unit(),
        name: names::container(request)?,
        conditions: conditions::conditions(&request.headers, service.blobs.now())?,
        operation: operation(&request.headers, caller.version, service.fresh_lease_id(request))?,
    });
    let answer = service.blobs.lease_container(&asked);
    Ok(answered(caller, answer.await.map_err(errors::of)?))
}

fn answered(caller: &Caller, answer: LeaseAnswer) -> Response {
    answers::written(rest::leases::answered(answer.outcome), caller.version, answer.written)
}
