//! Create Queue, Delete Queue, Get and Set Queue Metadata.

use http::{HeaderName, StatusCode};
use queue::queue::{CreateQueue, Created, DeleteQueue, GetQueueMetadata, SetQueueMetadata};
use rest::{Caller, Request, Response, ServiceError, metadata};

use crate::{QueueService, errors, names};

const APPROXIMATE_MESSAGES_COUNT: HeaderName = HeaderName::from_static("x-ms-approximate-messages-count");

pub(crate) async fn create(
    service: &QueueService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let operation =
        CreateQueue { address: names::address(caller, request)?, metadata: metadata::from_headers(&request.headers)? };
    let created = service.queues.create_queue(&caller.ask(operation)).await.map_err(errors::of)?;
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
    service.queues.delete_queue(&caller.ask(operation)).await.map_err(errors::of)?;
    Ok(Response::new(StatusCode::NO_CONTENT))
}

pub(crate) async fn metadata(
    service: &QueueService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let operation = GetQueueMetadata { address: names::address(caller, request)? };
    let found = service.queues.get_queue_metadata(&caller.ask(operation)).await.map_err(errors::of)?;
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
    service.queues.set_queue_metadata(&caller.ask(operation)).await.map_err(errors::of)?;
    Ok(Response::new(StatusCode::NO_CONTENT))
}
