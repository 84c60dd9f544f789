//! List Containers and List Blobs.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use blob::{
    Metadata,
    container::ContainerProperties,
    list::{self, ListBlobs, ListContainers, Listed, Marker},
    object::BlobProperties,
};
use concurrency::lease::LeaseProperties;
use http::{StatusCode, header};
use rest::{Caller, Request, Response, ServiceError, checksum, dates, headers, xml::XmlWriter};
use types::{ETag, Timestamp, limits::LIST_PAGE_MAX};

use crate::{BlobService, containers::public_access_text, errors, metadata::DEFAULT_TYPE, names};

pub(crate) async fn containers(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let asked = Asked::new(request)?;
    let with_metadata = includes(request, &["metadata", "deleted", "system"])?;
    let operation = caller
        .authorize(
            &service.store.snapshot(),
            ListContainers {
                account: caller.unit(),
                prefix: asked.prefix.to_owned(),
                marker: asked.marker()?,
                limit: asked.limit,
            },
        )
        .await?;
    let page =
        list::containers(&service.store.snapshot(), &operation, service.store.now()).await.map_err(errors::of)?;
    let mut xml = asked.begin(caller, request, None);
    xml.open("Containers");
    for (name, properties) in &page.items {
        xml.open("Container");
        xml.element("Name", name);
        container(&mut xml, properties, with_metadata);
        xml.close("Container");
    }
    xml.close("Containers");
    Ok(end(xml, page.next.as_deref()))
}

fn container(xml: &mut XmlWriter, found: &ContainerProperties, with_metadata: bool) {
    xml.open("Properties");
    stamps(xml, found.etag, found.last_modified);
    lease(xml, found.lease);
    xml.optional("PublicAccess", public_access_text(found.public_access));
    xml.element("HasImmutabilityPolicy", "false");
    xml.element("HasLegalHold", "false");
    xml.close("Properties");
    if with_metadata {
        metadata(xml, &found.metadata);
    }
}

pub(crate) async fn blobs(service: &BlobService, caller: &Caller, request: &Request) -> Result<Response, ServiceError> {
    const PARTS: &[&str] = &[
        "metadata",
        "snapshots",
        "uncommittedblobs",
        "copy",
        "deleted",
        "tags",
        "versions",
        "deletedwithversions",
        "immutabilitypolicy",
        "legalhold",
    ];
    let asked = Asked::new(request)?;
    let with_metadata = includes(request, PARTS)?;
    let container = names::container(request)?;
    let operation = caller
        .authorize(
            &service.store.snapshot(),
            ListBlobs {
                prefix: asked.prefix.to_owned(),
                delimiter: asked.delimiter.map(str::to_owned),
                marker: asked.marker()?.map(Marker::name),
                ..ListBlobs::new(caller.unit(), container.clone(), asked.limit)
            },
        )
        .await?;
    let page = list::blobs(&service.store.snapshot(), &operation, service.store.now()).await.map_err(errors::of)?;
    let mut xml = asked.begin(caller, request, Some(container.as_str()));
    xml.open("Blobs");
    for item in &page.items {
        match item {
            Listed::Prefix(prefix) => {
                xml.open("BlobPrefix");
                xml.encoded_element("Name", prefix);
                xml.close("BlobPrefix");
            }
            Listed::Blob(name, properties) => {
                xml.open("Blob");
                xml.encoded_element("Name", name);
                blob(&mut xml, properties);
                if with_metadata {
                    metadata(&mut xml, &properties.metadata);
                }
                xml.empty("OrMetadata");
                xml.close("Blob");
            }
        }
    }
    xml.close("Blobs");
    Ok(end(xml, page.next.as_ref().map(|next| next.name.as_str())))
}

fn blob(xml: &mut XmlWriter, found: &BlobProperties) {
    let served = &found.headers;
    xml.open("Properties");
    xml.element("Creation-Time", &dates::rfc1123(found.created));
    stamps(xml, found.etag, found.last_modified);
    xml.element("Content-Length", &found.length.to_string());
    xml.element("Content-Type", served.content_type.as_deref().unwrap_or(DEFAULT_TYPE));
    xml.element("Content-Encoding", served.content_encoding.as_deref().unwrap_or_default());
    xml.element("Content-Language", served.content_language.as_deref().unwrap_or_default());
    let md5 = served.content_md5.as_ref().map(checksum::format_md5);
    xml.element("Content-MD5", md5.as_deref().unwrap_or_default());
    xml.element("Cache-Control", served.cache_control.as_deref().unwrap_or_default());
    xml.element("Content-Disposition", served.content_disposition.as_deref().unwrap_or_default());
    xml.element("BlobType", "BlockBlob");
    if let Some(found) = found.lease {
        lease(xml, found);
    }
    xml.element("ServerEncrypted", "false");
    xml.close("Properties");
}

fn stamps(xml: &mut XmlWriter, etag: ETag, last_modified: Timestamp) {
    xml.element("Last-Modified", &dates::rfc1123(last_modified));
    xml.element("Etag", &etag.to_string());
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

/// What both listings are asked with.
struct Asked<'a> {
    prefix: &'a str,
    delimiter: Option<&'a str>,
    raw_marker: Option<&'a str>,
    max_results: Option<u64>,
    limit: usize,
}

impl<'a> Asked<'a> {
    fn new(request: &'a Request) -> Result<Self, ServiceError> {
        let query = &request.target.query;
        let max_results = query.number("maxresults", 1, u64::from(u32::MAX))?;
        let limit = max_results.and_then(|number| usize::try_from(number).ok()).unwrap_or(LIST_PAGE_MAX);
        Ok(Self {
            prefix: query.get("prefix").unwrap_or_default(),
            delimiter: query.get("delimiter"),
            raw_marker: query.get("marker").filter(|marker| !marker.is_empty()),
            max_results,
            limit: limit.min(LIST_PAGE_MAX),
        })
    }

    fn marker(&self) -> Result<Option<String>, ServiceError> {
        let Some(raw) = self.raw_marker else { return Ok(None) };
        let name = URL_SAFE_NO_PAD.decode(raw).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        name.map(Some).ok_or_else(|| ServiceError::invalid_query("marker", raw, "it is not one that was given out"))
    }

    fn begin(&self, caller: &Caller, request: &Request, container: Option<&str>) -> XmlWriter {
        let host = headers::text(&request.headers, &header::HOST).ok().flatten().unwrap_or_default();
        let scheme = if request.secure { "https" } else { "http" };
        let endpoint = format!("{scheme}://{host}/{}/", caller.account.name.as_str());
        let mut xml = XmlWriter::document();
        match container {
            Some(name) => {
                xml.open_with("EnumerationResults", &[("ServiceEndpoint", &endpoint), ("ContainerName", name)]);
            }
            None => xml.open_with("EnumerationResults", &[("ServiceEndpoint", &endpoint)]),
        }
        if !self.prefix.is_empty() {
            xml.element("Prefix", self.prefix);
        }
        xml.optional("Marker", self.raw_marker);
        xml.optional("MaxResults", self.max_results.map(|number| number.to_string()).as_deref());
        xml.optional("Delimiter", self.delimiter);
        xml
    }
}

fn end(mut xml: XmlWriter, next: Option<&str>) -> Response {
    let next = next.map(|name| URL_SAFE_NO_PAD.encode(name));
    xml.element("NextMarker", next.as_deref().unwrap_or_default());
    xml.close("EnumerationResults");
    Response::new(StatusCode::OK).xml(xml.finish())
}

/// True when metadata is asked for. Parts that nothing has yet are accepted; unknown ones are refused.
fn includes(request: &Request, known: &[&str]) -> Result<bool, ServiceError> {
    let mut metadata = false;
    for value in request.target.query.all("include") {
        for part in value.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            if !known.iter().any(|known| known.eq_ignore_ascii_case(part)) {
                return Err(ServiceError::invalid_query("include", value, "one of its parts is unknown"));
            }
            metadata |= part.eq_ignore_ascii_case("metadata");
        }
    }
    Ok(metadata)
}
