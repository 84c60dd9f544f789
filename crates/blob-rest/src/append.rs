//! Append Block and Append Blob Seal.

use blob::append_blob::{self, AppendBlock, Appended, SealBlob};
use http::StatusCode;
use rest::{Caller, Request, Response, ServiceError};

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
    let asked = caller.ask(AppendBlock {
        address: names::base(caller.unit(), &request)?,
        preconditions: conditions::of_blob(caller, &sent, service.blobs.now())?,
        append: conditions::append(&sent)?,
    });
    let begun = service.blobs.begin_append_block(&asked, Some(upload.length)).await.map_err(errors::of)?;
    let received = upload.receive(begun, &mut request, false).await?;
    let appended = service.blobs.append_block(&asked, &received.body).await.map_err(errors::of)?;
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
    let asked = caller.ask(SealBlob {
        address,
        preconditions: conditions::of_blob(caller, &request.headers, service.blobs.now())?,
        append_position: conditions::append(&request.headers)?.position,
    });
    let written = service.blobs.seal_append_blob(&asked);
    let written = written.await.map_err(errors::of)?;
    let response = answers::written(Response::new(StatusCode::OK), caller.version, written);
    Ok(response.text_header(BLOB_SEALED, "true"))
}
