//! Entity group transactions: one change set or one query in, one multipart answer out.
//!
//! The answer is 202 as soon as the batch could be read, whatever became of it. A change set that failed has a single
//! part: the operation at fault, whose number stands before the message.

use http::{HeaderValue, StatusCode};
use rest::{
    ODataMetadata, Request, RequestId, Response, ResponseBody, ServiceError,
    batch::{self, BatchError, EmbeddedRequest, Piece},
};
use table::entity::ChangeEntity;
use types::limits::ENTITY_BATCH_MAX;

use crate::{
    TableService,
    address::Resource,
    answer::Answer,
    entities, errors,
    exchange::{self, Head, Scene, Verb},
    format::Format,
    query,
};

/// Answers a batch.
pub(crate) async fn answer(
    service: &TableService,
    scene: &Scene<'_>,
    request: &mut Request,
) -> Result<Response, ServiceError> {
    let body = request.body.collect(scene.caller.known()?, entities::body_max()).await?;
    let content_type = request.header(&http::header::CONTENT_TYPE)?.unwrap_or_default();
    let id = request.request_id;
    let mut pieces = match batch::parse(content_type, &body, ENTITY_BATCH_MAX) {
        Ok(pieces) => pieces,
        Err(BatchError::TooMany) => {
            let failed = Failed { index: ENTITY_BATCH_MAX - 1, error: errors::too_many_changes(), format: JSON };
            return Ok(failed_set(service, &failed, None, id));
        }
        Err(error) => return Err(error.into()),
    };
    match (pieces.pop(), pieces.is_empty()) {
        (Some(Piece::Request(part)), true) => {
            let answered = retrieve(service, scene, &part).await;
            let answer = answered.unwrap_or_else(|(format, error)| failure(service, &error, None, format, id));
            let mut out = Vec::with_capacity(2048);
            begin(&mut out, "batchresponse", id);
            answer.write_part(&mut out, part.content_id.as_deref());
            end(&mut out, "batchresponse", id);
            Ok(multipart_response(out, id))
        }
        (Some(Piece::ChangeSet(parts)), true) => Ok(change_set(service, scene, &parts, id).await),
        _ => Err(errors::invalid_input("a batch has exactly one change set, or one query".to_owned())),
    }
}

const JSON: Format = Format::Json(ODataMetadata::Minimal);

async fn retrieve(
    service: &TableService,
    scene: &Scene<'_>,
    part: &EmbeddedRequest,
) -> Result<Answer, (Format, ServiceError)> {
    let (resource, asked) = exchange::part_resource(&part.target, scene.account()).map_err(|error| (JSON, error))?;
    let head = Head::of_part(part, resource).map_err(|error| (JSON, error))?;
    let format = exchange::format(&head, &asked, scene.version).map_err(|error| (JSON, error))?;
    let answered = match (&head.resource, head.verb) {
        (Resource::Entity(table, key), Verb::Get) => entities::get(service, scene, table, key, format, &asked).await,
        (Resource::Entities(table), Verb::Get) => query::entities(service, scene, table, format, &asked).await,
        _ => Err(errors::invalid_input("a change stands in a change set".to_owned())),
    };
    answered.map_err(|error| (format, error))
}

/// Why a change set failed, and how its answer is written.
struct Failed {
    index: usize,
    error: ServiceError,
    format: Format,
}

async fn change_set(service: &TableService, scene: &Scene<'_>, parts: &[EmbeddedRequest], id: RequestId) -> Response {
    match changes(service, scene, parts).await {
        Ok(answers) => {
            let mut out = Vec::with_capacity(512 + answers.len() * 512);
            begin_set(&mut out, id);
            for (answer, part) in answers.iter().zip(parts) {
                boundary(&mut out, "changesetresponse", id);
                answer.write_part(&mut out, part.content_id.as_deref());
            }
            end_set(&mut out, id);
            multipart_response(out, id)
        }
        Err(failed) => {
            let content_id = parts.get(failed.index).and_then(|part| part.content_id.as_deref());
            failed_set(service, &failed, content_id, id)
        }
    }
}

async fn changes(service: &TableService, scene: &Scene<'_>, parts: &[EmbeddedRequest]) -> Result<Vec<Answer>, Failed> {
    let (mut heads, mut asked) = (Vec::with_capacity(parts.len()), Vec::with_capacity(parts.len()));
    for (index, part) in parts.iter().enumerate() {
        match change(scene, part) {
            Ok((head, format, change)) => {
                heads.push((head, format));
                asked.push(scene.caller.ask(change));
            }
            Err((format, error)) => {
                // Who may not do what stands before it is told that, and not what is wrong with the rest.
                service.tables.may_change_entities(&asked).await.map_err(|error| failed(&heads, error))?;
                return Err(Failed { index, error, format });
            }
        }
    }
    let changed = service.tables.entity_group_transaction(&asked).await.map_err(|error| failed(&heads, error))?;
    let mut answers = Vec::with_capacity(changed.len());
    for (index, ((changed, (head, format)), change)) in changed.iter().zip(&heads).zip(&asked).enumerate() {
        let answer = entities::changed_answer(scene, head, *format, change.table.name(), change.operation, changed);
        answers.push(answer.map_err(|error| Failed { index, error, format: *format })?);
    }
    Ok(answers)
}

/// The change that a part asks for, and how its answer is written.
fn change<'a>(
    scene: &Scene<'_>,
    part: &'a EmbeddedRequest,
) -> Result<(Head<'a>, Format, ChangeEntity<'a>), (Format, ServiceError)> {
    let (resource, asked) = exchange::part_resource(&part.target, scene.account()).map_err(|error| (JSON, error))?;
    let head = Head::of_part(part, resource).map_err(|error| (JSON, error))?;
    let format = exchange::format(&head, &asked, scene.version).map_err(|error| (JSON, error))?;
    if head.verb == Verb::Get {
        return Err((format, errors::invalid_input("a query stands outside of a change set".to_owned())));
    }
    head.wants_content().map_err(|error| (format, error))?;
    let change = entities::change_of(scene, &head, &part.body).map_err(|error| (format, error))?;
    Ok((head, format, change))
}

/// The refusal of a change, in the format of its part.
fn failed(heads: &[(Head<'_>, Format)], error: table::batch::BatchError) -> Failed {
    let (index, error) = errors::batch(error);
    Failed { index, error, format: heads.get(index).map_or(JSON, |(_, format)| *format) }
}

fn failed_set(service: &TableService, failed: &Failed, content_id: Option<&str>, id: RequestId) -> Response {
    let mut out = Vec::with_capacity(1024);
    begin_set(&mut out, id);
    boundary(&mut out, "changesetresponse", id);
    failure(service, &failed.error, Some(failed.index), failed.format, id).write_part(&mut out, content_id);
    end_set(&mut out, id);
    multipart_response(out, id)
}

fn failure(
    service: &TableService,
    error: &ServiceError,
    index: Option<usize>,
    format: Format,
    id: RequestId,
) -> Answer {
    let (kind, document) = format.of_errors().write(&errors::told(error.clone(), index), id, service.tables.now());
    Answer::new(error.status, format).body(kind, document)
}

fn boundary(out: &mut Vec<u8>, name: &str, id: RequestId) {
    out.extend_from_slice(format!("--{name}_{id}\r\n").as_bytes());
}

fn begin(out: &mut Vec<u8>, name: &str, id: RequestId) {
    boundary(out, name, id);
}

fn end(out: &mut Vec<u8>, name: &str, id: RequestId) {
    out.extend_from_slice(format!("--{name}_{id}--\r\n").as_bytes());
}

fn begin_set(out: &mut Vec<u8>, id: RequestId) {
    begin(out, "batchresponse", id);
    let kind = format!("Content-Type: multipart/mixed; boundary=changesetresponse_{id}\r\n\r\n");
    out.extend_from_slice(kind.as_bytes());
}

fn end_set(out: &mut Vec<u8>, id: RequestId) {
    end(out, "changesetresponse", id);
    end(out, "batchresponse", id);
}

fn multipart_response(out: Vec<u8>, id: RequestId) -> Response {
    let kind = format!("multipart/mixed; boundary=batchresponse_{id}");
    let kind = HeaderValue::try_from(kind).unwrap_or(HeaderValue::from_static("multipart/mixed"));
    Response::new(StatusCode::ACCEPTED)
        .text_header("Cache-Control", "no-cache")
        .text_header("X-Content-Type-Options", "nosniff")
        .text_header("DataServiceVersion", "3.0;")
        .body(kind, ResponseBody::bytes(out.into()))
}
