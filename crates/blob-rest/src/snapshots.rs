//! Snapshot Blob.

use blob::snapshot::SnapshotBlob;
use http::StatusCode;
use rest::{Caller, Request, Response, ServiceError, dates};

use crate::{BlobService, answers, conditions, errors, header_names::SNAPSHOT, metadata, names};

pub(crate) async fn take(service: &BlobService, caller: &Caller, request: &Request) -> Result<Response, ServiceError> {
    let sent = &request.headers;
    let address = names::base(caller.unit(), request)?;
    let asked = caller.ask(SnapshotBlob {
        address,
        preconditions: conditions::of_blob(caller, sent, service.blobs.now())?,
        // Without any, the snapshot has that of the blob.
        metadata: if metadata::is_sent(sent) { Some(metadata::from_headers(sent)?) } else { None },
    });
    let taken = service.blobs.snapshot_blob(&asked);
    let taken = taken.await.map_err(errors::of)?;
    let response = answers::written(Response::new(StatusCode::CREATED), caller.version, taken.written);
    Ok(answers::not_encrypted(response).text_header(SNAPSHOT, &dates::iso8601(taken.snapshot)))
}
