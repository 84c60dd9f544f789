//! Find Blobs by Tags, in the account or in a container.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use blob::find::{FindBlobs, TaggedBlob};
use bytes::Bytes;
use concurrency::tag_condition::{Dialect, TagExpression};
use http::StatusCode;
use rest::{Caller, Request, Response, ServiceError, xml::XmlWriter};
use types::{Switch, limits::LIST_PAGE_MAX};

use crate::{BlobService, errors, listing, names, tags};

pub(crate) async fn in_account(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    blobs(service, caller, request, None).await
}

pub(crate) async fn in_container(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    blobs(service, caller, request, Some(names::container(request)?)).await
}

async fn blobs(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
    container: Option<types::names::ContainerName>,
) -> Result<Response, ServiceError> {
    let query = &request.target.query;
    let text = query.get("where").ok_or_else(|| ServiceError::missing_query("where"))?;
    let expression = TagExpression::parse(text, Dialect::Find);
    let expression = expression.map_err(|error| ServiceError::invalid_query("where", text, &error.to_string()))?;
    listing::includes(request, &["versions"])?;
    let limit = listing::max_results(request)?.unwrap_or(LIST_PAGE_MAX).min(LIST_PAGE_MAX);
    let asked = caller.ask(FindBlobs {
        account: caller.unit(),
        container,
        expression,
        marker: marker(query.get("marker"))?,
        limit,
    });
    let page = service.blobs.find_blobs_by_tags(&asked).await.map_err(errors::of)?;
    let mut xml = XmlWriter::document();
    xml.open_with("EnumerationResults", &[("ServiceEndpoint", &listing::endpoint(caller, request))]);
    xml.element("Where", text);
    xml.open("Blobs");
    for found in &page.items {
        write(&mut xml, found, caller.version.has(Switch::TagsOfFoundBlobs));
    }
    xml.close("Blobs");
    let next = page.next.map(|place| URL_SAFE_NO_PAD.encode(place));
    xml.element("NextMarker", next.as_deref().unwrap_or_default());
    xml.close("EnumerationResults");
    Ok(Response::new(StatusCode::OK).xml(xml.finish()))
}

/// Before 2020-04-08 only the value of a tag was told.
fn write(xml: &mut XmlWriter, found: &TaggedBlob, with_names: bool) {
    xml.open("Blob");
    xml.encoded_element("Name", &found.name);
    xml.element("ContainerName", &found.container);
    if with_names {
        tags::write(xml, &found.tags);
    } else {
        let value = found.tags.first().map(|(_, value)| value.as_str());
        xml.element("TagValue", value.unwrap_or_default());
    }
    xml.close("Blob");
}

fn marker(text: Option<&str>) -> Result<Option<Bytes>, ServiceError> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    let place = URL_SAFE_NO_PAD.decode(text).ok();
    let wrong = || ServiceError::invalid_query("marker", text, "it is not one that was given out");
    place.map(|place| Some(Bytes::from(place))).ok_or_else(wrong)
}
