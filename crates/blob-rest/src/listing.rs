//! List Containers, and what all listings share.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use blob::{Metadata, container::ContainerProperties, list::ListContainers};
use concurrency::lease::LeaseProperties;
use http::{StatusCode, header};
use rest::{Caller, Request, Response, ServiceError, dates, headers, xml::XmlWriter};
use types::{Switch, Timestamp, limits::LIST_PAGE_MAX};

use crate::{BlobService, containers::public_access_text, errors};

mod blobs;
mod marker;

pub(crate) use blobs::blobs;

pub(crate) async fn containers(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let asked = Asked::new(request)?;
    let included = includes(request, &["metadata", "deleted", "system"])?;
    let (with_metadata, system) = (included.has("metadata"), included.has("system"));
    let listing = caller.ask(ListContainers {
        account: caller.unit(),
        prefix: asked.prefix.to_owned(),
        marker: asked.marker.map(container_marker).transpose()?,
        system,
        limit: asked.limit,
    });
    let page = service.blobs.list_containers(&listing).await.map_err(errors::of)?;
    let endpoint = endpoint(caller, request);
    let new = caller.version.has(Switch::EndpointsInListings);
    let mut xml = XmlWriter::document();
    let attribute = if new { "ServiceEndpoint" } else { "AccountName" };
    xml.open_with("EnumerationResults", &[(attribute, &endpoint)]);
    asked.repeat(&mut xml);
    xml.open("Containers");
    for (name, properties) in &page.items {
        xml.open("Container");
        xml.element("Name", name);
        if !new {
            xml.element("Url", &format!("{endpoint}{name}"));
        }
        write(&mut xml, properties);
        if with_metadata {
            metadata(&mut xml, &properties.metadata);
        }
        xml.close("Container");
    }
    xml.close("Containers");
    Ok(end(xml, page.next.map(|name| URL_SAFE_NO_PAD.encode(name))))
}

fn write(xml: &mut XmlWriter, found: &ContainerProperties) {
    xml.open("Properties");
    // Of containers, and only of them, the service quotes it.
    stamps(xml, &format!("\"{}\"", found.etag), found.last_modified);
    lease(xml, found.lease);
    xml.optional("PublicAccess", public_access_text(found.public_access));
    xml.element("HasImmutabilityPolicy", "false");
    xml.element("HasLegalHold", "false");
    xml.element("ImmutableStorageWithVersioningEnabled", "false");
    xml.close("Properties");
}

fn container_marker(raw: &str) -> Result<String, ServiceError> {
    let name = URL_SAFE_NO_PAD.decode(raw).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    name.ok_or_else(|| not_given_out(raw))
}

fn not_given_out(marker: &str) -> ServiceError {
    ServiceError::invalid_query("marker", marker, "it is not one that was given out")
}

fn stamps(xml: &mut XmlWriter, etag: &str, last_modified: Timestamp) {
    xml.element("Last-Modified", &dates::rfc1123(last_modified));
    xml.element("Etag", etag);
}

fn lease(xml: &mut XmlWriter, lease: LeaseProperties) {
    xml.element("LeaseStatus", lease.status());
    xml.element("LeaseState", lease.state.as_str());
    xml.optional("LeaseDuration", lease.duration());
}

fn metadata(xml: &mut XmlWriter, metadata: &Metadata) {
    xml.open("Metadata");
    for (name, value) in metadata {
        xml.element(name, value);
    }
    xml.close("Metadata");
}

/// The address of the account, with a slash at its end.
pub(crate) fn endpoint(caller: &Caller, request: &Request) -> String {
    let host = headers::text(&request.headers, &header::HOST).ok().flatten().unwrap_or_default();
    let scheme = if request.secure { "https" } else { "http" };
    if request.target.path_style {
        format!("{scheme}://{host}/{}/", caller.account.name.as_str())
    } else {
        format!("{scheme}://{host}/")
    }
}

/// What listings are asked with.
struct Asked<'a> {
    prefix: &'a str,
    delimiter: Option<&'a str>,
    marker: Option<&'a str>,
    max_results: Option<usize>,
    limit: usize,
}

impl<'a> Asked<'a> {
    fn new(request: &'a Request) -> Result<Self, ServiceError> {
        let query = &request.target.query;
        let max_results = max_results(request)?;
        Ok(Self {
            prefix: query.get("prefix").unwrap_or_default(),
            delimiter: query.get("delimiter").filter(|delimiter| !delimiter.is_empty()),
            marker: query.get("marker").filter(|marker| !marker.is_empty()),
            max_results,
            limit: max_results.unwrap_or(LIST_PAGE_MAX).min(LIST_PAGE_MAX),
        })
    }

    /// What was asked for stands in the answer again.
    fn repeat(&self, xml: &mut XmlWriter) {
        if !self.prefix.is_empty() {
            xml.element("Prefix", self.prefix);
        }
        xml.optional("Marker", self.marker);
        xml.optional("MaxResults", self.max_results.map(|number| number.to_string()).as_deref());
        xml.optional("Delimiter", self.delimiter);
    }
}

/// `maxresults`, which is at least one.
pub(crate) fn max_results(request: &Request) -> Result<Option<usize>, ServiceError> {
    let number = request.target.query.number("maxresults", 1, u64::from(u32::MAX))?;
    Ok(number.map(|number| usize::try_from(number).unwrap_or(usize::MAX)))
}

fn end(mut xml: XmlWriter, next: Option<String>) -> Response {
    xml.element("NextMarker", next.as_deref().unwrap_or_default());
    xml.close("EnumerationResults");
    Response::new(StatusCode::OK).xml(xml.finish())
}

/// The parts that `include` asks for.
pub(crate) struct Includes<'a>(Vec<&'a str>);

impl Includes<'_> {
    fn has(&self, part: &str) -> bool {
        self.0.iter().any(|sent| sent.eq_ignore_ascii_case(part))
    }
}

/// Reads `include`. Parts that nothing has are accepted, as by a service where the feature is off; unknown ones are refused.
pub(crate) fn includes<'a>(request: &'a Request, known: &[&str]) -> Result<Includes<'a>, ServiceError> {
    let mut parts = Vec::new();
    for value in request.target.query.all("include") {
        for part in value.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            if !known.iter().any(|known| known.eq_ignore_ascii_case(part)) {
                return Err(ServiceError::invalid_query("include", value, "one of its parts is unknown"));
            }
            parts.push(part);
        }
    }
    Ok(Includes(parts))
}
