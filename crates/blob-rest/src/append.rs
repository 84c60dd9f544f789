//! Append Block and Append Blob Seal.

use blob::append_blob::{self, AppendBlock, Appended, SealBlob};
use http::StatusCode;
use rest::{Caller, Request, Response, ServiceError};
use store::Scope;

use crate::{
    BlobService, answers, conditions, errors,
    header_names::{BLOB_APPEND_OFFSET, BLOB_COMMITTED_BLOCK_COUNT, BLOB_SEALED},
    names,
    upload::Upload,
};

pub(crate) async fn block(
    service: &BlobService,
    caller: &Caller,
    mut request: Request,
) -> Result<Response, ServiceError> {
    let upload = Upload::new(&mut request, append_blob::block_limit(caller.version))?;
    upload.must_not_be_empty()?;
    let sent = std::mem::take(&mut request.headers);
    let operation = caller
        .authorize(
            &service.store.snapshot(),
            AppendBlock {
                address: names::base(caller.unit(), &request)?,
                preconditions: conditions::of_blob(caller, &sent, service.store.now())?,
                append: conditions::append(&sent)?,
            },
        )
        .await?;
    if upload.is_long() {
        let now = service.store.now();
        let early = append_blob::begin(&service.store.snapshot(), &operation, upload.length, now).await;
        early.map_err(errors::of)?;
    }
    let received = upload.receive(service, &mut request, false).await?;
    let latch = operation.address.latch();
    let (operation, chunk) = (&operation, &received.chunk);
    let appended = service
        .store
        .transact(Scope::of(&latch), |txn| async move { append_blob::finish(&txn, operation, chunk).await })
        .await
        .map_err(errors::of)?;
    let response = answered(caller, Response::new(StatusCode::CREATED), appended);
    Ok(answers::not_encrypted(upload.acknowledged(response, &received)))
}

/// What every append answers.
pub(crate) fn answered(caller: &Caller, response: Response, appended: Appended) -> Response {
    answers::written(response, caller.version, appended.written)
        .number_header(BLOB_APPEND_OFFSET, appended.offset)
        .number_header(BLOB_COMMITTED_BLOCK_COUNT, u64::from(appended.committed_block_count))
}

pub(crate) async fn seal(service: &BlobService, caller: &Caller, request: &Request) -> Result<Response, ServiceError> {
    let address = names::base(caller.unit(), request)?;
    let latch = address.latch();
    let operation = &caller
        .authorize(
            &service.store.snapshot(),
            SealBlob {
                address,
                preconditions: conditions::of_blob(caller, &request.headers, service.store.now())?,
                append_position: conditions::append(&request.headers)?.position,
            },
        )
        .await?;
    let scope = Scope::of(&latch);
    let written = service.store.transact(scope, |txn| async move { append_blob::seal(&txn, operation).await });
    let written = written.await.map_err(errors::of)?;
    let response = answers::written(Response::new(StatusCode::OK), caller.version, written);
    Ok(response.text_header(BLOB_SEALED, "true"))
}
