//! List Blobs, flat and by delimiter.

use std::fmt::Write as _;

use blob::{
    BlobProperties, CopyState,
    list::{ListBlobs, Listed},
    part::BlobPart,
    tier::TierProperties,
};
use rest::{Caller, Request, Response, ServiceError, dates, xml::XmlWriter};
use types::{ErrorCode, ServiceVersion, Switch};

use super::{Includes, Page, end, endpoint, includes, lease, marker, metadata, not_given_out, stamps};
use crate::{
    BlobService, described, errors,
    metadata::{DEFAULT_TYPE, md5_text},
    names, tags,
};

/// What `include` can name. What soft delete, versions and immutability would add, no blob has.
const PARTS: &[&str] = &[
    "metadata",
    "snapshots",
    "uncommittedblobs",
    "copy",
    "tags",
    "deleted",
    "versions",
    "deletedwithversions",
    "immutabilitypolicy",
    "legalhold",
];

pub(crate) async fn blobs(service: &BlobService, caller: &Caller, request: &Request) -> Result<Response, ServiceError> {
    refuse(request)?;
    let asked = Page::new(request)?;
    let includes = includes(request, PARTS)?;
    if asked.delimiter.is_some() && includes.has("snapshots") {
        return Err(ServiceError::invalid_query("include", "snapshots", "snapshots are not listed by a delimiter"));
    }
    let container = names::container(request)?;
    let place = |text| marker::decode(text).ok_or_else(|| not_given_out(text));
    let listing = caller.ask(ListBlobs {
        prefix: asked.prefix.to_owned(),
        delimiter: asked.delimiter.map(str::to_owned),
        marker: asked.marker.map(place).transpose()?,
        start_from: request.target.query.get("startFrom").map(str::to_owned),
        snapshots: includes.has("snapshots"),
        uncommitted: includes.has("uncommittedblobs"),
        metadata: includes.has("metadata"),
        tags: includes.has("tags"),
        ..ListBlobs::new(caller.unit(), container.clone(), asked.limit)
    });
    let page = service.blobs.list_blobs(&listing).await.map_err(errors::of)?;
    let address = endpoint(caller, request);
    let form = Form { version: caller.version, container: format!("{address}{}", container.as_str()), includes };
    let mut xml = XmlWriter::document();
    // Old versions name the container by its URL, later ones have the endpoint apart.
    if form.version.has(Switch::EndpointsInListings) {
        let attributes = [("ServiceEndpoint", address.as_str()), ("ContainerName", container.as_str())];
        xml.open_with("EnumerationResults", &attributes);
    } else {
        xml.open_with("EnumerationResults", &[("ContainerName", &form.container)]);
    }
    asked.repeat(&mut xml);
    xml.open("Blobs");
    for item in &page.items {
        match item {
            Listed::Prefix(prefix) => {
                xml.open("BlobPrefix");
                form.name(&mut xml, prefix);
                xml.close("BlobPrefix");
            }
            Listed::Blob(name, properties) => form.blob(&mut xml, name, properties),
        }
    }
    xml.close("Blobs");
    Ok(end(xml, page.next.as_ref().map(marker::encode)))
}

/// Parameters whose meaning no listing of ours has: leaving them out would list what the client did not want.
fn refuse(request: &Request) -> Result<(), ServiceError> {
    for name in ["endBefore", "showonly"] {
        if let Some(value) = request.target.query.get(name) {
            let message = "One of the query parameters specified in the request URI is not supported.";
            return Err(ServiceError::new(ErrorCode::UnsupportedQueryParameter, message)
                .with_detail("QueryParameterName", name)
                .with_detail("QueryParameterValue", value));
        }
    }
    Ok(())
}

/// How the blobs of a listing are shown.
struct Form<'a> {
    version: ServiceVersion,
    /// The address of the container, for versions that tell the address of each blob.
    container: String,
    includes: Includes<'a>,
}

impl Form<'_> {
    fn name(&self, xml: &mut XmlWriter, name: &str) {
        if self.version.has(Switch::EncodedNames) {
            xml.encoded_element("Name", name);
        } else {
            xml.element("Name", name);
        }
    }

    fn blob(&self, xml: &mut XmlWriter, name: &str, found: &BlobProperties) {
        xml.open("Blob");
        self.name(xml, name);
        let snapshot = match found.part {
            BlobPart::Snapshot(time) => Some(dates::iso8601(time)),
            BlobPart::Base | BlobPart::Version(_) => None,
        };
        xml.optional("Snapshot", snapshot.as_deref());
        if !self.version.has(Switch::EndpointsInListings) {
            xml.element("Url", &self.url(name, snapshot.as_deref()));
        }
        self.properties(xml, found);
        if self.includes.has("metadata") {
            metadata(xml, &found.metadata);
        }
        if self.includes.has("tags") && !found.tags.is_empty() {
            tags::write(xml, &found.tags);
        }
        xml.empty("OrMetadata");
        xml.close("Blob");
    }

    fn url(&self, name: &str, snapshot: Option<&str>) -> String {
        let mut url = format!("{}/", self.container);
        for byte in name.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
                url.push(char::from(byte));
            } else {
                // Writing to a string cannot fail.
                let _ = write!(url, "%{byte:02X}");
            }
        }
        if let Some(snapshot) = snapshot {
            let _ = write!(url, "?snapshot={}", snapshot.replace(':', "%3A"));
        }
        url
    }

    fn properties(&self, xml: &mut XmlWriter, found: &BlobProperties) {
        let served = &found.headers;
        xml.open("Properties");
        xml.element("Creation-Time", &dates::rfc1123(found.created));
        stamps(xml, &found.etag.to_string(), found.last_modified);
        xml.element("Content-Length", &found.length.to_string());
        xml.element("Content-Type", served.content_type.as_deref().unwrap_or(DEFAULT_TYPE));
        xml.element("Content-Encoding", served.content_encoding.as_deref().unwrap_or_default());
        xml.element("Content-Language", served.content_language.as_deref().unwrap_or_default());
        let md5 = served.content_md5.as_ref().map(md5_text);
        xml.element("Content-MD5", md5.as_deref().unwrap_or_default());
        xml.element("Cache-Control", served.cache_control.as_deref().unwrap_or_default());
        xml.element("Content-Disposition", served.content_disposition.as_deref().unwrap_or_default());
        let number = found.sequence_number.map(|number| number.value().to_string());
        xml.optional("x-ms-blob-sequence-number", number.as_deref());
        xml.element("BlobType", described::kind(found.kind));
        if let Some(properties) = &found.tier {
            tier(xml, properties);
        }
        if let Some(properties) = found.lease {
            lease(xml, properties);
        }
        if let Some(state) = found.copy.as_ref().filter(|_| self.includes.has("copy")) {
            copy(xml, state);
        }
        xml.element("ServerEncrypted", "false");
        if found.sealed {
            xml.element("Sealed", "true");
        }
        if !found.tags.is_empty() {
            xml.element("TagCount", &found.tags.len().to_string());
        }
        xml.optional("Expiry-Time", found.expiry.map(dates::rfc1123).as_deref());
        xml.close("Properties");
    }
}

fn tier(xml: &mut XmlWriter, found: &TierProperties) {
    xml.element("AccessTier", found.tier.as_str());
    if found.inferred {
        xml.element("AccessTierInferred", "true");
    }
    xml.optional("AccessTierChangeTime", found.changed.map(dates::rfc1123).as_deref());
    xml.optional("ArchiveStatus", described::archive_status(found).as_deref());
    let priority = found.rehydrating.map(|(_, priority)| described::rehydrate_priority(priority));
    xml.optional("RehydratePriority", priority);
}

fn copy(xml: &mut XmlWriter, state: &CopyState) {
    xml.element("CopyId", &state.id);
    xml.element("CopyStatus", state.status.as_str());
    xml.element("CopySource", &state.source);
    xml.element("CopyProgress", &transfer::states::progress(state));
    xml.optional("CopyCompletionTime", state.completed.map(dates::rfc1123).as_deref());
    xml.optional("CopyStatusDescription", state.description.as_deref());
}
