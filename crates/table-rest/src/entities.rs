//! Insert, Update, Merge, the two upserts, Delete, and the query of one entity: alone or in a batch.

use concurrency::table_etag::{EntityOperation, IfMatch};
use http::StatusCode;
use rest::ServiceError;
use table::{
    EdmType, Entity, EntityKey,
    entity::{ChangeEntity, Changed, GetEntity},
    properties::Properties,
};
use types::{ErrorCode, limits::ENTITY_BATCH_MAX_BYTES, names::TableName};

use crate::{
    TableService,
    address::Resource,
    answer::Answer,
    atom,
    draft::{Draft, DraftError},
    errors,
    exchange::{Head, Scene, Verb},
    format::Format,
    json::{self, Context, JsonWriter, entity_address},
    query,
};

/// Largest body of one entity, that of a batch: one MiB may take more in JSON, with its quotes and escapes.
pub(crate) fn body_max() -> usize {
    usize::try_from(ENTITY_BATCH_MAX_BYTES).unwrap_or(usize::MAX)
}

/// The change that a request asks for.
pub(crate) fn change_of<'a>(scene: &Scene<'_>, head: &Head<'a>, body: &[u8]) -> Result<ChangeEntity<'a>, ServiceError> {
    let (name, operation, key, properties) = match (&head.resource, head.verb) {
        (Resource::Entities(name), Verb::Post) => {
            let draft = read(scene, head, body)?;
            if let Some(name) = draft.wrong_key {
                let type_name = EdmType::String.name().to_owned();
                return Err(errors::draft(&DraftError::Value { name: name.to_owned(), type_name }));
            }
            let (Some(partition), Some(row)) = (draft.partition, draft.row) else {
                return Err(errors::keys_need_values());
            };
            let key = EntityKey::new(partition, row).map_err(|error| errors::key(&error))?;
            (name, EntityOperation::Insert, key, draft.properties)
        }
        (Resource::Entity(name, key), Verb::Put) => {
            (name, EntityOperation::Replace, key.clone(), read(scene, head, body)?.properties)
        }
        (Resource::Entity(name, key), Verb::Merge) => {
            (name, EntityOperation::Merge, key.clone(), read(scene, head, body)?.properties)
        }
        (Resource::Entity(name, key), Verb::Delete) => (name, EntityOperation::Delete, key.clone(), Vec::new()),
        _ => {
            return Err(ServiceError::new(
                ErrorCode::MethodNotAllowed,
                "The requested method is not allowed on the specified resource.",
            ));
        }
    };
    let if_match = match operation {
        EntityOperation::Insert => IfMatch::Absent,
        _ => IfMatch::parse(head.if_match, head.sends_if_none_match).map_err(errors::condition)?,
    };
    let upsert = matches!(operation, EntityOperation::Replace | EntityOperation::Merge) && if_match == IfMatch::Absent;
    if upsert && !scene.version.at_least(2011, 8, 18) {
        // Before there were upserts, a condition that was forgotten was an error.
        return Err(ServiceError::missing_header("If-Match"));
    }
    let properties = Properties::new(properties).map_err(|invalid| errors::of(invalid.into()))?;
    Ok(ChangeEntity { table: scene.table(name), key, operation, if_match, properties })
}

fn read(scene: &Scene<'_>, head: &Head<'_>, body: &[u8]) -> Result<Draft, ServiceError> {
    let draft = match Format::of_body(head.content_type, scene.version)? {
        Format::Json(_) => json::entity(body),
        Format::Atom => atom::entity(body),
    };
    draft.map_err(|error| errors::draft(&error))
}

/// The answer to a change that was done.
pub(crate) fn changed_answer(
    scene: &Scene<'_>,
    head: &Head<'_>,
    format: Format,
    table: &TableName,
    operation: EntityOperation,
    changed: &Changed,
) -> Result<Answer, ServiceError> {
    let Some(entity) = changed else { return Ok(Answer::new(StatusCode::NO_CONTENT, format)) };
    let etag = entity.etag().to_string();
    if operation != EntityOperation::Insert {
        return Ok(Answer::new(StatusCode::NO_CONTENT, format).header("ETag", etag));
    }
    let mut location = format!("{}/", scene.base).into_bytes();
    entity_address(&mut location, table, entity.key());
    let location = String::from_utf8(location).unwrap_or_default();
    let content = head.wants_content()?;
    let status = if content { StatusCode::CREATED } else { StatusCode::NO_CONTENT };
    let mut answer = Answer::new(status, format).header("ETag", etag).header("Location", location.clone());
    if !content {
        answer = answer.header("DataServiceId", location);
    }
    if let Some(prefer) = head.prefer {
        answer = answer.header("Preference-Applied", prefer.trim().to_owned());
    }
    if !content {
        return Ok(answer);
    }
    Ok(answer.body(format.content_type(), one(scene, format, table, entity, None)?))
}

/// One entity as a document.
pub(crate) fn one(
    scene: &Scene<'_>,
    format: Format,
    table: &TableName,
    entity: &Entity,
    select: Option<&[String]>,
) -> Result<bytes::Bytes, ServiceError> {
    match format {
        Format::Json(metadata) => {
            let context = Context { base: &scene.base, account: scene.account(), table, metadata, select };
            let mut writer = JsonWriter::with_capacity(1024);
            writer.entity(context, entity).map_err(errors::of)?;
            Ok(writer.finish())
        }
        Format::Atom => atom::entry(&scene.base, scene.account(), table, entity, select).map_err(errors::of),
    }
}

/// Does one change.
pub(crate) async fn change(
    service: &TableService,
    scene: &Scene<'_>,
    head: &Head<'_>,
    format: Format,
    body: &[u8],
) -> Result<Answer, ServiceError> {
    // What the answer will look like is known before anything is changed.
    head.wants_content()?;
    let change = scene.caller.ask(change_of(scene, head, body)?);
    let changed = service.tables.change_entity(&change).await.map_err(errors::of)?;
    changed_answer(scene, head, format, change.table.name(), change.operation, &changed)
}

/// Query of one entity by its keys.
pub(crate) async fn get(
    service: &TableService,
    scene: &Scene<'_>,
    table: &TableName,
    key: &EntityKey,
    format: Format,
    asked: &rest::Query,
) -> Result<Answer, ServiceError> {
    query::supported(asked)?;
    let select = query::select(asked)?;
    let request = GetEntity { table: scene.table(table), key: key.clone(), filter: query::filter(asked)? };
    let entity = service.tables.get_entity(&scene.caller.ask(request)).await.map_err(errors::of)?;
    let body = one(scene, format, table, &entity, select.as_deref())?;
    Ok(Answer::new(StatusCode::OK, format).header("ETag", entity.etag().to_string()).body(format.content_type(), body))
}
