//! List Queues.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{StatusCode, header};
use queue::list::ListQueues;
use rest::{Caller, Request, Response, ServiceError, xml::XmlWriter};
use types::limits::LIST_PAGE_MAX;

use crate::{QueueService, errors};

pub(crate) async fn queues(
    service: &QueueService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let query = &request.target.query;
    let prefix = query.get("prefix").unwrap_or_default();
    let marker = query.get("marker").filter(|marker| !marker.is_empty());
    let max_results = query.number("maxresults", 1, u64::from(u32::MAX))?;
    let limit = max_results.and_then(|number| usize::try_from(number).ok()).unwrap_or(LIST_PAGE_MAX);
    let with_metadata = includes_metadata(request)?;
    let operation = ListQueues {
        account: caller.unit(),
        prefix: prefix.to_owned(),
        marker: marker.map(read_marker).transpose()?,
        limit: limit.min(LIST_PAGE_MAX),
    };
    let page = service.queues.list_queues(&caller.ask(operation)).await.map_err(errors::of)?;

    let host = request.header(&header::HOST).ok().flatten().unwrap_or_default();
    let scheme = if request.secure { "https" } else { "http" };
    let endpoint = format!("{scheme}://{host}/{}/", caller.account.name.as_str());
    let mut xml = XmlWriter::document();
    xml.open_with("EnumerationResults", &[("ServiceEndpoint", &endpoint)]);
    xml.optional("Prefix", Some(prefix).filter(|prefix| !prefix.is_empty()));
    xml.optional("Marker", marker);
    xml.optional("MaxResults", max_results.map(|number| number.to_string()).as_deref());
    xml.open("Queues");
    for (name, metadata) in &page.items {
        xml.open("Queue");
        xml.element("Name", name);
        if with_metadata {
            xml.open("Metadata");
            metadata.iter().for_each(|(name, value)| xml.element(name, value));
            xml.close("Metadata");
        }
        xml.close("Queue");
    }
    xml.close("Queues");
    let next = page.next.as_ref().map(|name| URL_SAFE_NO_PAD.encode(name));
    xml.element("NextMarker", next.as_deref().unwrap_or_default());
    xml.close("EnumerationResults");
    Ok(Response::new(StatusCode::OK).xml(xml.finish()))
}

fn read_marker(raw: &str) -> Result<String, ServiceError> {
    let name = URL_SAFE_NO_PAD.decode(raw).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    name.ok_or_else(|| ServiceError::invalid_query("marker", raw, "it is not one that was given out"))
}

fn includes_metadata(request: &Request) -> Result<bool, ServiceError> {
    let mut metadata = false;
    for value in request.target.query.all("include") {
        for part in value.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            if !part.eq_ignore_ascii_case("metadata") {
                return Err(ServiceError::invalid_query("include", value, "one of its parts is unknown"));
            }
            metadata = true;
        }
    }
    Ok(metadata)
}
