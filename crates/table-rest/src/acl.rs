//! Get Table ACL and Set Table ACL. Their bodies are XML, whatever the rest of the service speaks.

use access::need::Service;
use http::StatusCode;
use rest::{Request, Response, ServiceError, signed_identifiers};
use store::Scope;
use table::acl::{self, GetTableAcl, SetTableAcl};
use types::names::TableName;

use crate::{TableService, errors, exchange::Scene};

pub(crate) async fn get(service: &TableService, scene: &Scene<'_>, name: &TableName) -> Result<Response, ServiceError> {
    let rows = service.store.snapshot();
    let request = scene.caller.authorize(&rows, GetTableAcl { address: scene.table(name) }).await?;
    let policies = acl::get(&rows, &request).await.map_err(errors::of)?;
    Ok(Response::new(StatusCode::OK).xml(signed_identifiers::write(&policies)))
}

pub(crate) async fn set(
    service: &TableService,
    scene: &Scene<'_>,
    name: &TableName,
    request: &mut Request,
) -> Result<Response, ServiceError> {
    let document = request.body.collect(scene.caller.known()?, signed_identifiers::BODY_MAX_BYTES).await?;
    let policies = signed_identifiers::parse(Service::Table, &document)?;
    let request = SetTableAcl { address: scene.table(name), policies };
    let request = &scene.caller.authorize(&service.store.snapshot(), request).await?;
    service
        .store
        .transact(Scope::new(), |txn| async move { acl::set(&txn, request).await })
        .await
        .map_err(errors::of)?;
    Ok(Response::new(StatusCode::NO_CONTENT))
}
