//! The operation table: verb, resource and `comp` tell the operations apart.

use access::need::Service;
use rest::{
    Caller, ErrorFormat, ODataMetadata, Outcome, Request, Response, ServiceError, caller,
    route::{Miss, Routes},
    service_properties,
};
use types::{ErrorCode, names::TableName};

use crate::{
    TableService, acl,
    address::Resource,
    batch, behind, entities, errors,
    exchange::{self, Head, Scene, Verb, X_HTTP_METHOD},
    format::Format,
    query, service_document, tables,
};

/// What a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Service,
    Metadata,
    Tables,
    Table,
    Batch,
    Entities,
    Entity,
}

rest::operations! {
    /// The operations that are served.
    enum Operation {
        GetTableServiceProperties,
        SetTableServiceProperties,
        GetTableServiceStats,
        GetServiceDocument,
        GetMetadata,
        QueryTables,
        GetTable,
        CreateTable,
        DeleteTable,
        GetTableAcl,
        SetTableAcl,
        QueryEntities,
        QueryEntity,
        InsertEntity,
        UpdateEntity,
        MergeEntity,
        DeleteEntity,
        Batch as "EntityGroupTransaction",
    }
}

/// One row an operation: where, verb, `restype`, which says nothing here, and `comp`.
const TABLE: Routes<Level, Verb, Operation> = Routes(&[
    (Level::Service, Verb::Get, "", "properties", Operation::GetTableServiceProperties),
    (Level::Service, Verb::Put, "", "properties", Operation::SetTableServiceProperties),
    (Level::Service, Verb::Get, "", "stats", Operation::GetTableServiceStats),
    (Level::Service, Verb::Get, "", "", Operation::GetServiceDocument),
    (Level::Metadata, Verb::Get, "", "", Operation::GetMetadata),
    (Level::Tables, Verb::Get, "", "", Operation::QueryTables),
    (Level::Tables, Verb::Post, "", "", Operation::CreateTable),
    (Level::Table, Verb::Get, "", "", Operation::GetTable),
    (Level::Table, Verb::Delete, "", "", Operation::DeleteTable),
    (Level::Entities, Verb::Get, "", "acl", Operation::GetTableAcl),
    (Level::Entities, Verb::Put, "", "acl", Operation::SetTableAcl),
    (Level::Entities, Verb::Get, "", "", Operation::QueryEntities),
    (Level::Entities, Verb::Post, "", "", Operation::InsertEntity),
    (Level::Entity, Verb::Get, "", "", Operation::QueryEntity),
    (Level::Entity, Verb::Put, "", "", Operation::UpdateEntity),
    (Level::Entity, Verb::Merge, "", "", Operation::MergeEntity),
    (Level::Entity, Verb::Delete, "", "", Operation::DeleteEntity),
    (Level::Batch, Verb::Post, "", "", Operation::Batch),
]);

pub(crate) async fn answer(service: &TableService, mut request: Request) -> Outcome {
    let (operation, outcome) = match find(&request) {
        Ok(Found::Operation(operation, verb, resource)) => {
            (operation.name(), run(service, &mut request, operation, verb, resource).await)
        }
        Ok(Found::Behind(table, verb)) => ("Unknown", Err(behind(service, &request, &table, verb).await)),
        Err(error) => ("Unknown", Err(error)),
    };
    Outcome { operation, response: outcome.unwrap_or_else(|error| refusal(&request, error)) }
}

async fn behind(service: &TableService, request: &Request, table: &TableName, verb: Verb) -> ServiceError {
    match caller::authenticate(&service.accounts, Service::Table, request) {
        Ok(caller) => {
            let behind = request.target.rest.as_deref().unwrap_or_default();
            caller.explain(behind::refuse(service, &Scene::new(&caller, request), table, behind, verb).await)
        }
        Err(error) => error,
    }
}

/// The error in the format that was asked for; that of the operations whose documents are XML is XML too.
fn refusal(request: &Request, error: ServiceError) -> Response {
    if request.target.query.has("comp") {
        return Response::from(errors::told(error, None)).with_error_format(ErrorFormat::Metadata);
    }
    let accept = request.header(&http::header::ACCEPT).ok().flatten();
    let asked = request.target.query.get("$format");
    let format =
        Format::asked(asked, accept, exchange::version(request)).unwrap_or(Format::Json(ODataMetadata::Minimal));
    Response::from(errors::told(error, None)).with_error_format(format.of_errors())
}

async fn run(
    service: &TableService,
    request: &mut Request,
    operation: Operation,
    verb: Verb,
    resource: Resource,
) -> Result<Response, ServiceError> {
    let caller = caller::authenticate(&service.accounts, Service::Table, request)?;
    let answer = run_for(service, &caller, request, operation, verb, resource).await;
    answer.map_err(|error| caller.explain(error))
}

async fn run_for(
    service: &TableService,
    caller: &Caller,
    request: &mut Request,
    operation: Operation,
    verb: Verb,
    resource: Resource,
) -> Result<Response, ServiceError> {
    let scene = Scene::new(caller, request);
    match (operation, &resource) {
        (Operation::GetTableAcl, Resource::Entities(name)) => return acl::get(service, &scene, name).await,
        (Operation::SetTableAcl, Resource::Entities(name)) => return acl::set(service, &scene, name, request).await,
        (Operation::GetTableServiceProperties, _) => {
            return service_properties::get(&service.settings, Service::Table, caller).await;
        }
        (Operation::SetTableServiceProperties, _) => {
            return service_properties::set(&service.settings, Service::Table, caller, request).await;
        }
        (Operation::GetTableServiceStats, _) => {
            return service_properties::stats(&service.settings, Service::Table, caller, request).await;
        }
        (Operation::GetMetadata, _) => return service_document::metadata(service, &scene).await,
        (Operation::Batch, _) => return batch::answer(service, &scene, request).await,
        _ => {}
    }
    // The others answer in one of two formats, which their head names. Only these have a body to wait for.
    let body = match operation {
        Operation::CreateTable => tables::body(request, caller.known()?).await?,
        Operation::InsertEntity | Operation::UpdateEntity | Operation::MergeEntity => {
            request.body.collect(caller.known()?, entities::body_max()).await?
        }
        _ => bytes::Bytes::new(),
    };
    let head = Head::of_request(request, verb, resource)?;
    let asked = &request.target.query;
    let format = exchange::format(&head, asked, scene.version)?;
    let answer = match (operation, &head.resource) {
        (Operation::GetServiceDocument, _) => service_document::document(service, &scene, format).await,
        (Operation::QueryTables, _) => tables::query(service, &scene, format, asked).await,
        (Operation::CreateTable, _) => tables::create(service, &scene, &head, format, &body).await,
        (Operation::GetTable, Resource::Table(name)) => tables::get(service, &scene, name, format).await,
        (Operation::DeleteTable, Resource::Table(name)) => tables::delete(service, &scene, name, format).await,
        (Operation::QueryEntities, Resource::Entities(name)) => {
            query::entities(service, &scene, name, format, asked).await
        }
        (Operation::QueryEntity, Resource::Entity(name, key)) => {
            entities::get(service, &scene, name, key, format, asked).await
        }
        _ => entities::change(service, &scene, &head, format, &body).await,
    };
    answer.map(crate::answer::Answer::into_response)
}

/// What a request asks for.
enum Found {
    Operation(Operation, Verb, Resource),
    /// Something behind a table, where nothing is.
    Behind(TableName, Verb),
}

fn find(request: &Request) -> Result<Found, ServiceError> {
    let verb = Verb::asked(&request.method, request.header(&X_HTTP_METHOD)?)?;
    let path = match request.target.segments() {
        (container, None) => container.unwrap_or_default(),
        // Neither names nor keys hold a slash.
        (table, Some(_)) => match table.map(Resource::parse) {
            Some(Ok(Resource::Entities(table))) => return Ok(Found::Behind(table, verb)),
            _ => return Err(ServiceError::invalid_uri("there is a slash behind the table")),
        },
    };
    let resource = Resource::parse(path)?;
    let level = match &resource {
        Resource::Service => Level::Service,
        Resource::Metadata => Level::Metadata,
        Resource::Tables => Level::Tables,
        Resource::Table(_) => Level::Table,
        Resource::Batch => Level::Batch,
        Resource::Entities(_) => Level::Entities,
        Resource::Entity(..) => Level::Entity,
    };
    let comp = request.target.query.get("comp").unwrap_or_default();
    match TABLE.find(level, &verb, "", comp) {
        Ok(operation) => Ok(Found::Operation(operation, verb, resource)),
        Err(Miss::Verb) => Err(ServiceError::new(
            ErrorCode::MethodNotAllowed,
            "The requested method is not allowed on the specified resource.",
        )),
        Err(Miss::Unknown { comp: "", .. }) => Err(errors::not_implemented()),
        // Operations of the service that are not built yet come here too: refused by name, never taken for another.
        Err(unknown) => Err(unknown.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_rows_are_the_same_place_and_verb() {
        assert_eq!(TABLE.hidden(), None);
    }
}
