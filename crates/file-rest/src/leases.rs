//! Lease Share and Lease File.

use concurrency::{
    conditions::Conditions,
    lease::{LeaseDuration, LeaseOperation},
};
use file::{file_lease::LeaseFile, share_lease::LeaseShare};
use rest::{
    Caller, Headers, Request, Response, ServiceError,
    headers::{self, X_MS_LEASE_ACTION, X_MS_LEASE_DURATION, X_MS_PROPOSED_LEASE_ID},
    leases, preconditions, stamps,
};
use types::ServiceVersion;

use crate::{FileService, errors, names, waiting};

pub(crate) async fn of_share(
    service: &FileService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let asked = caller.ask(LeaseShare {
        share: names::share(caller, request)?,
        conditions: Conditions::default(),
        operation: operation(service, caller.version, request)?,
    });
    let done = service.files.lease_share(&asked).await.map_err(errors::of)?;
    let response = leases::answered(done.outcome);
    Ok(stamps::stamped(response, caller.version, done.written.etag, done.written.last_modified))
}

pub(crate) async fn of_file(
    service: &FileService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let asked = caller.ask(LeaseFile {
        address: names::written_path(caller, request)?,
        operation: operation(service, caller.version, request)?,
    });
    let done = waiting::done(request, || service.files.lease_file(&asked)).await?;
    let response = leases::answered(done.outcome);
    Ok(stamps::stamped(response, caller.version, done.written.etag, done.written.last_modified))
}

/// Who says no duration takes an infinite lease: the header is optional here.
fn operation(
    service: &FileService,
    version: ServiceVersion,
    request: &Request,
) -> Result<LeaseOperation, ServiceError> {
    let (sent, fresh) = (&request.headers, service.lease_ids.of(request));
    if is_acquire(sent)? && headers::text(sent, &X_MS_LEASE_DURATION)?.is_none() {
        let proposed = preconditions::guid(sent, &X_MS_PROPOSED_LEASE_ID)?;
        return Ok(LeaseOperation::Acquire { proposed, fresh, duration: LeaseDuration::Infinite });
    }
    leases::operation(sent, version, fresh)
}

fn is_acquire(sent: &Headers) -> Result<bool, ServiceError> {
    Ok(headers::required(sent, &X_MS_LEASE_ACTION)?.eq_ignore_ascii_case("acquire"))
}
