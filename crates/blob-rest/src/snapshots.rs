//! Snapshot Blob.

use blob::snapshot::{self, SnapshotBlob};
use http::StatusCode;
use rest::{Caller, Request, Response, ServiceError, dates};
use store::Scope;

use crate::{BlobService, answers, conditions, errors, header_names::SNAPSHOT, metadata, names};

pub(crate) async fn take(service: &BlobService, caller: &Caller, request: &Request) -> Result<Response, ServiceError> {
    let sent = &request.headers;
    let address = names::base(caller.unit(), request)?;
    let latch = address.latch();
    let operation = &caller
        .authorize(
            &service.store.snapshot(),
            SnapshotBlob {
                address,
                preconditions: conditions::of_blob(caller, sent, service.store.now())?,
                // Without any, the snapshot has that of the blob.
                metadata: if metadata::is_sent(sent) { Some(metadata::from_headers(sent)?) } else { None },
            },
        )
        .await?;
    let scope = Scope::of(&latch);
    let taken = service.store.transact(scope, |txn| async move { snapshot::take(&txn, operation).await });
    let taken = taken.await.map_err(errors::of)?;
    let response = answers::written(Response::new(StatusCode::CREATED), caller.version, taken.written);
    Ok(answers::not_encrypted(response).text_header(SNAPSHOT, &dates::iso8601(taken.snapshot)))
}
