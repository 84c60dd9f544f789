//! Get Table ACL and Set Table ACL. Their bodies are XML, whatever the rest of the service speaks.

use access::need::Service;
use http::StatusCode;
use rest::{Request, Response, ServiceError, signed_identifiers};
use table::acl::{GetTableAcl, SetTableAcl};
use types::names::TableName;

use crate::{TableService, errors, exchange::Scene};

pub(crate) async fn get(service: &TableService, scene: &Scene<'_>, name: &TableName) -> Result<Response, ServiceError> {
    let asked = scene.caller.ask(GetTableAcl { address: scene.table(name) });
    let policies = service.tables.get_table_acl(&asked).await.map_err(errors::of)?;
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
    let asked = scene.caller.ask(SetTableAcl { address: scene.table(name), policies });
    service.tables.set_table_acl(&asked).await.map_err(errors::of)?;
    Ok(Response::new(StatusCode::NO_CONTENT))
}
