//! Blob Batch: many Delete Blob or Set Blob Tier in one request, each with its own credential and its own answer.
//!
//! What is no batch is refused as a whole, before anything is done: one answer stands in the place of all. The parts do not
//! know of each other: they are done side by side, in no order, and one that fails stops no other.

use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use rest::{
    BoxFuture, ErrorFormat, Known, Request, Response, ResponseBody, ServiceError,
    batch::{self, EmbeddedResponse, Piece},
    headers,
};
use types::{ErrorCode, Switch, limits};

use crate::{
    BlobService,
    route::{self, Operation},
};

/// Where a batch was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Parts may name any container.
    Account,
    /// Parts name the container of the batch.
    Container,
}

/// A part that is one of the operations a batch can have.
struct Part {
    content_id: Option<String>,
    operation: Operation,
    request: Request,
}

pub(crate) async fn submit(
    service: &BlobService,
    mut request: Request,
    scope: Scope,
    known: Known,
) -> Result<Response, ServiceError> {
    let (kind, body) = receive(&mut request, known).await?;
    let (request_id, now) = (request.request_id, service.blobs.now());
    let parts = match parse(&kind, &body, &request, scope) {
        Ok(parts) => parts,
        // The service answers so, and its clients look for it: one part, of no request.
        Err(error) => {
            let refused = EmbeddedResponse::new(None, Response::from(error), ErrorFormat::Xml, request_id, now);
            return answered(&[refused], &request);
        }
    };
    let answers = parts.into_iter().map(|part| -> BoxFuture<'_, EmbeddedResponse> {
        Box::pin(async move {
            let answer = route::run(service, part.request, part.operation).await;
            let answer = answer.unwrap_or_else(Response::from);
            EmbeddedResponse::new(part.content_id, answer, ErrorFormat::Xml, request_id, now)
        })
    });
    answered(&all(answers.collect()).await, &request)
}

fn answered(answers: &[EmbeddedResponse], request: &Request) -> Result<Response, ServiceError> {
    let boundary = format!("batchresponse_{}", request.request_id);
    let kind = HeaderValue::from_str(&format!("multipart/mixed; boundary={boundary}"));
    let body = ResponseBody::bytes(batch::write(answers, &boundary));
    Ok(Response::new(StatusCode::ACCEPTED).body(kind.map_err(|_| ServiceError::internal())?, body))
}

/// The body and its type, without which it cannot be read at all.
async fn receive(request: &mut Request, known: Known) -> Result<(String, Bytes), ServiceError> {
    if !request.version.is_none_or(|version| version.has(Switch::Batch)) {
        return Err(ServiceError::invalid_query("comp", "batch", "the version of the request has no batches"));
    }
    let kind = headers::required(&request.headers, &header::CONTENT_TYPE)?.to_owned();
    if !batch::is_batch(&kind) {
        return Err(ServiceError::invalid_header(header::CONTENT_TYPE.as_str(), &kind));
    }
    let limit = usize::try_from(limits::BLOB_BATCH_MAX_BYTES).unwrap_or(usize::MAX);
    Ok((kind, request.body.collect(known, limit).await?))
}

fn parse(kind: &str, body: &Bytes, request: &Request, scope: Scope) -> Result<Vec<Part>, ServiceError> {
    let pieces = batch::parse(kind, body, limits::BLOB_BATCH_MAX)?;
    pieces.into_iter().map(|piece| part(piece, request, scope)).collect()
}

fn part(piece: Piece, batch: &Request, scope: Scope) -> Result<Part, ServiceError> {
    let Piece::Request(embedded) = piece else { return Err(invalid("a batch of blobs has no change sets")) };
    let content_id = embedded.content_id.clone();
    let mut request = embedded.into_request(batch)?;
    let operation = route::find(&mut request)?;
    if !matches!(operation, Operation::DeleteBlob | Operation::SetBlobTier) {
        return Err(invalid("a part is neither Delete Blob nor Set Blob Tier"));
    }
    if request.target.account != batch.target.account {
        return Err(invalid("a part names another account"));
    }
    if scope == Scope::Container && request.target.container != batch.target.container {
        return Err(invalid("a part names another container"));
    }
    Ok(Part { content_id, operation, request })
}

fn invalid(reason: &str) -> ServiceError {
    ServiceError::new(ErrorCode::InvalidInput, "One of the request inputs is not valid.").with_detail("Reason", reason)
}

/// Waits for all of them at once.
async fn all<T>(mut futures: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    let mut done: Vec<Option<T>> = futures.iter().map(|_| None).collect();
    poll_fn(|cx| poll_all(&mut futures, &mut done, cx)).await;
    done.into_iter().flatten().collect()
}

fn poll_all<T>(futures: &mut [BoxFuture<'_, T>], done: &mut [Option<T>], cx: &mut Context<'_>) -> Poll<()> {
    let mut pending = false;
    for (future, done) in futures.iter_mut().zip(done.iter_mut()).filter(|(_, done)| done.is_none()) {
        match Pin::as_mut(future).poll(cx) {
            Poll::Ready(answer) => *done = Some(answer),
            Poll::Pending => pending = true,
        }
    }
    if pending { Poll::Pending } else { Poll::Ready(()) }
}
