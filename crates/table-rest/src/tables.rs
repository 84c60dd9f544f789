//! Query Tables, Create Table, Delete Table.

use http::StatusCode;
use rest::{Known, ODataMetadata, Query, Request, ServiceError};
use table::{
    errors::TableError,
    query::{Filter, Operator},
    table::{CreateTable, DeleteTable, QueryTables, TABLE_NAME},
};
use types::{ErrorCode, names::TableName};

use crate::{
    TableService, address,
    answer::Answer,
    atom, continuation, errors,
    exchange::{Head, Scene},
    format::Format,
    json::{self, JsonWriter},
    query,
};

/// Largest body of Create Table.
const BODY_MAX: usize = 64 * 1024;
/// What a table's type is called.
const TABLES: &str = "Tables";

/// Queries tables.
pub(crate) async fn query(
    service: &TableService,
    scene: &Scene<'_>,
    format: Format,
    asked: &Query,
) -> Result<Answer, ServiceError> {
    query::supported(asked)?;
    let next = match asked.get("NextTableName").filter(|token| !token.is_empty()) {
        None => None,
        Some(token) => Some(
            continuation::decode(token)
                .ok_or_else(|| errors::invalid_input("NextTableName is not one that was given out".to_owned()))?,
        ),
    };
    let request =
        QueryTables { account: scene.caller.unit(), filter: query::filter(asked)?, top: query::top(asked)?, next };
    let page = service.tables.query_tables(&scene.caller.ask(request)).await.map_err(errors::of)?;
    let body = match format {
        Format::Json(metadata) => {
            let mut writer = JsonWriter::with_capacity(256 + page.names.len() * 64);
            writer.raw("{");
            if metadata != ODataMetadata::None {
                writer.metadata_of(&scene.base, TABLES, "");
            }
            writer.raw("\"value\":[");
            for name in &page.names {
                writer.raw("{");
                members(&mut writer, scene, metadata, name);
                writer.raw(",");
            }
            writer.close(b']');
            writer.raw("}");
            writer.finish()
        }
        Format::Atom => atom::tables(&scene.base, scene.account(), &page.names, service.tables.now()),
    };
    let answer = Answer::new(StatusCode::OK, format).body(format.content_type(), body);
    Ok(match page.next {
        Some(next) => answer.header("x-ms-continuation-NextTableName", continuation::encode(&next)),
        None => answer,
    })
}

/// Query of one table by its name.
pub(crate) async fn get(
    service: &TableService,
    scene: &Scene<'_>,
    name: &TableName,
    format: Format,
) -> Result<Answer, ServiceError> {
    let filter = Filter::Compare {
        property: TABLE_NAME.to_owned(),
        operator: Operator::Equal,
        constant: table::Value::String(name.as_str().to_owned()),
    };
    let request = QueryTables { account: scene.caller.unit(), filter: Some(filter), top: 1, next: None };
    let page = service.tables.query_tables(&scene.caller.ask(request)).await.map_err(errors::of)?;
    let found = page.names.first().ok_or_else(errors::resource_not_found)?;
    let body = one(service, scene, found, format);
    Ok(Answer::new(StatusCode::OK, format).body(format.content_type(), body))
}

fn one(service: &TableService, scene: &Scene<'_>, name: &TableName, format: Format) -> bytes::Bytes {
    match format {
        Format::Json(metadata) => {
            let mut writer = JsonWriter::with_capacity(256);
            writer.raw("{");
            if metadata != ODataMetadata::None {
                writer.metadata_of(&scene.base, TABLES, "/@Element");
            }
            members(&mut writer, scene, metadata, name);
            writer.finish()
        }
        Format::Atom => atom::table(&scene.base, scene.account(), name, service.tables.now()),
    }
}

fn members(writer: &mut JsonWriter, scene: &Scene<'_>, metadata: ODataMetadata, name: &TableName) {
    if metadata == ODataMetadata::Full {
        writer.member("odata.type", &format!("{}.Tables", scene.account()));
        writer.member("odata.id", &format!("{}/Tables('{name}')", scene.base));
        writer.member("odata.editLink", &format!("Tables('{name}')"));
    }
    writer.member(TABLE_NAME, name.as_str());
    writer.close(b'}');
}

/// Creates a table.
pub(crate) async fn create(
    service: &TableService,
    scene: &Scene<'_>,
    head: &Head<'_>,
    format: Format,
    body: &[u8],
) -> Result<Answer, ServiceError> {
    let content = head.wants_content()?;
    let name = match Format::of_body(head.content_type, scene.version)? {
        Format::Json(_) => json::table_name(body),
        Format::Atom => atom::table_name(body),
    };
    let name = name.map_err(|error| errors::draft(&error))?;
    if name.is_empty() {
        return Err(ServiceError::new(ErrorCode::TableNameEmpty, "The specified table name is empty."));
    }
    let asked = scene.caller.ask(CreateTable { address: scene.table(&address::table(&name)?) });
    service.tables.create_table(&asked).await.map_err(errors::of)?;
    let name = asked.address.name();
    let location = format!("{}/Tables('{name}')", scene.base);
    let status = if content { StatusCode::CREATED } else { StatusCode::NO_CONTENT };
    let mut answer = Answer::new(status, format).header("Location", location.clone());
    if let Some(prefer) = head.prefer {
        answer = answer.header("Preference-Applied", prefer.trim().to_owned());
    }
    if content {
        answer = answer.body(format.content_type(), one(service, scene, name, format));
    } else {
        answer = answer.header("DataServiceId", location);
    }
    Ok(answer)
}

/// Reads the body of Create Table.
pub(crate) async fn body(request: &mut Request, known: Known) -> Result<bytes::Bytes, ServiceError> {
    Ok(request.body.collect(known, BODY_MAX).await?)
}

/// Deletes a table.
pub(crate) async fn delete(
    service: &TableService,
    scene: &Scene<'_>,
    name: &TableName,
    format: Format,
) -> Result<Answer, ServiceError> {
    let asked = scene.caller.ask(DeleteTable { address: scene.table(name) });
    service.tables.delete_table(&asked).await.map_err(|error| match error {
        // The table is the resource here, and old clients take only this code as "it was not there".
        TableError::TableNotFound => errors::resource_not_found(),
        other => errors::of(other),
    })?;
    Ok(Answer::new(StatusCode::NO_CONTENT, format))
}
