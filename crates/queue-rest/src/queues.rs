//! Create Queue, Delete Queue, Get and Set Queue Metadata.

use http::{HeaderName, StatusCode};
use queue::queue::{self as domain, CreateQueue, Created, DeleteQueue, GetQueueMetadata, SetQueueMetadata};
use rest::{Caller, Request, Response, ServiceError, metadata};
use store::Scope;

use crate::{QueueService, errors, names};

const APPROXIMATE_MESSAGES_COUNT: HeaderName = HeaderName::from_static("x-ms-approximate-messages-count");

pub(crate) async fn create(
    service: &QueueService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let operation =
        CreateQueue { address: names::address(caller, request)?, metadata: metadata::from_headers(&request.headers)? };
    let operation = &caller.authorize(&service.store.snapshot(), operation).await?;
    let object = operation.address.key();
    let scope = Scope::of(&object);
    let created = service
        .store
        .transact(scope, |txn| async move { domain::create(&txn, operation).await })
        .await
        .map_err(errors::of)?;
    Ok(Response::new(match created {
        Created::New => StatusCode::CREATED,
        Created::Same => StatusCode::NO_CONTENT,
    }))
}

pub(crate) async fn delete(
    service: &QueueService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let operation = DeleteQueue { address: names::address(caller, request)? };
    let operation = &caller.authorize(&service.store.snapshot(), operation).await?;
    let object = operation.address.key();
    let scope = Scope::of(&object).reclaims();
    service
        .store
        .transact(scope, |txn| async move { domain::delete(&txn, operation).await })
        .await
        .map_err(errors::of)?;
    Ok(Response::new(StatusCode::NO_CONTENT))
}

pub(crate) async fn metadata(
    service: &QueueService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let operation = GetQueueMetadata { address: names::address(caller, request)? };
    let rows = service.store.snapshot();
    let operation = caller.authorize(&rows, operation).await?;
    let found = domain::metadata(&rows, &operation).await.map_err(errors::of)?;
    let response = Response::new(StatusCode::OK);
    let response = response.number_header(APPROXIMATE_MESSAGES_COUNT, found.approximate_messages_count);
    Ok(metadata::to_headers(response, &found.metadata))
}

pub(crate) async fn set_metadata(
    service: &QueueService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let operation = SetQueueMetadata {
        address: names::address(caller, request)?,
        metadata: metadata::from_headers(&request.headers)?,
    };
    let operation = &caller.authorize(&service.store.snapshot(), operation).await?;
    let object = operation.address.key();
    let scope = Scope::of(&object);
    service
        .store
        .transact(scope, |txn| async move { domain::set_metadata(&txn, operation).await })
        .await
        .map_err(errors::of)?;
    Ok(Response::new(StatusCode::NO_CONTENT))
}
