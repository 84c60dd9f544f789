//! Query Entities, and what `$filter`, `$select` and `$top` mean.

use http::StatusCode;
use rest::{Query, ServiceError};
use table::query::{self, Continuation, EntityPage, Filter, QueryEntities};
use types::{limits::QUERY_PAGE_MAX, names::TableName};

use crate::{
    TableService,
    answer::Answer,
    atom, continuation, errors,
    exchange::Scene,
    format::Format,
    json::{Context, JsonWriter},
};

/// Queries entities.
pub(crate) async fn entities(
    service: &TableService,
    scene: &Scene<'_>,
    name: &TableName,
    format: Format,
    asked: &Query,
) -> Result<Answer, ServiceError> {
    supported(asked)?;
    let select = select(asked)?;
    let request =
        QueryEntities { table: scene.table(name), filter: filter(asked)?, top: top(asked)?, next: next(asked)? };
    let page = service.tables.query_entities(&scene.caller.ask(request)).await.map_err(errors::of)?;
    let body = written(scene, name, format, &page, select.as_deref())?;
    let mut answer = Answer::new(StatusCode::OK, format).body(format.content_type(), body);
    if let Some(next) = &page.next {
        answer = answer.header("x-ms-continuation-NextPartitionKey", continuation::encode(&next.partition));
        if let Some(row) = &next.row {
            answer = answer.header("x-ms-continuation-NextRowKey", continuation::encode(row));
        }
    }
    Ok(answer)
}

fn written(
    scene: &Scene<'_>,
    name: &TableName,
    format: Format,
    page: &EntityPage,
    select: Option<&[String]>,
) -> Result<bytes::Bytes, ServiceError> {
    match format {
        Format::Json(metadata) => {
            let context = Context { base: &scene.base, account: scene.account(), table: name, metadata, select };
            let mut writer = JsonWriter::with_capacity(256 + page.entities.len() * 1280);
            writer.page(context, &page.entities).map_err(errors::of)?;
            Ok(writer.finish())
        }
        Format::Atom => atom::feed(&scene.base, scene.account(), name, &page.entities, select).map_err(errors::of),
    }
}

/// `$filter`
pub(crate) fn filter(asked: &Query) -> Result<Option<Filter>, ServiceError> {
    match asked.get("$filter").map(str::trim) {
        None | Some("") => Ok(None),
        Some(text) => query::parse(text).map(Some).map_err(|error| errors::filter(&error)),
    }
}

/// Refuses the options of OData that the service does not have: to leave out `$orderby` would be a wrong answer.
pub(crate) fn supported(asked: &Query) -> Result<(), ServiceError> {
    let known = |name: &str| matches!(name, "$filter" | "$select" | "$top" | "$format");
    match asked.iter().find(|(name, _)| name.starts_with('$') && !known(&name.to_ascii_lowercase())) {
        Some((name, _)) => Err(errors::not_implemented().with_detail("QueryParameterName", name)),
        None => Ok(()),
    }
}

/// `$top`, at most a page.
pub(crate) fn top(asked: &Query) -> Result<usize, ServiceError> {
    let Some(text) = asked.get("$top") else { return Ok(QUERY_PAGE_MAX) };
    match text.parse::<usize>() {
        Ok(top) if top <= QUERY_PAGE_MAX => Ok(top),
        _ => Err(errors::invalid_input(format!("$top is {text:?}, not a number from 0 to {QUERY_PAGE_MAX}"))),
    }
}

/// `$select`; `None` for everything.
pub(crate) fn select(asked: &Query) -> Result<Option<Vec<String>>, ServiceError> {
    let Some(text) = asked.get("$select") else { return Ok(None) };
    let mut names: Vec<String> = Vec::new();
    for name in text.split(',').map(str::trim) {
        if !names.iter().any(|known| known == name) && names.len() <= types::limits::ENTITY_PROPERTIES_MAX {
            names.push(name.to_owned());
        }
    }
    if names.iter().any(|name| name == "*") || text.trim().is_empty() {
        return Ok(None);
    }
    if names.iter().any(String::is_empty) || names.len() > types::limits::ENTITY_PROPERTIES_MAX {
        return Err(errors::invalid_input(format!("$select is {text:?}, not a list of property names")));
    }
    Ok(Some(names))
}

fn next(asked: &Query) -> Result<Option<Continuation>, ServiceError> {
    let key = |name: &str| match asked.get(name).filter(|token| !token.is_empty()) {
        None => Ok(None),
        Some(token) => continuation::decode(token)
            .map(Some)
            .ok_or_else(|| errors::invalid_input(format!("{name} is not one that was given out"))),
    };
    let row = key("NextRowKey")?;
    Ok(key("NextPartitionKey")?.map(|partition| Continuation { partition, row }))
}
