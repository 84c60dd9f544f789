//! Requests whose address has something behind a table: those of clients that were given the address of a table for that
//! of the service. The service takes what stands there for an entity of the table, and so its answers are those of
//! operations on entities. Nothing is ever changed here.

use rest::ServiceError;
use table::query::QueryEntities;
use types::{ErrorCode, names::TableName};

use crate::{
    TableService, errors,
    exchange::{Scene, Verb},
};

/// Says why it is not served.
pub(crate) async fn refuse(
    service: &TableService,
    scene: &Scene<'_>,
    table: &TableName,
    behind: &str,
    verb: Verb,
) -> ServiceError {
    if verb == Verb::Post && behind.trim_end_matches('/') == "$batch" {
        let message = "None of the provided media types are supported";
        return ServiceError::new(ErrorCode::MediaTypeNotSupported, message);
    }
    if verb == Verb::Get {
        return errors::not_implemented();
    }
    if let Err(missing) = exists(service, scene, table).await {
        return missing;
    }
    match verb {
        Verb::Post => errors::keys_need_values(),
        _ => {
            let resource = format!("{}.{table}", scene.account());
            let message = format!(
                "The number of keys specified in the URI does not match number of key properties for the resource \
                 '{resource}'."
            );
            ServiceError::new(ErrorCode::InvalidInput, message)
        }
    }
}

/// Whether there is such a table, for somebody who may know.
async fn exists(service: &TableService, scene: &Scene<'_>, name: &TableName) -> Result<(), ServiceError> {
    let nothing = QueryEntities { table: scene.table(name), filter: None, top: 0, next: None };
    service.tables.query_entities(&scene.caller.ask(nothing)).await.map(drop).map_err(errors::of)
}
