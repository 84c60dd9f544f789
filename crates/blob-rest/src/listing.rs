//! List Containers.

use blob::{container::ContainerProperties, list::ListContainers};
pub(crate) use rest::listing::{Includes, endpoint, includes, max_results};
use rest::{
    Caller, Request, Response, ServiceError,
    listing::{self, Page, end, lease, metadata, not_given_out, read_marker, stamps},
    xml::XmlWriter,
};
use types::Switch;

use crate::{BlobService, containers::public_access_text, errors};

mod blobs;
mod marker;

pub(crate) use blobs::blobs;

pub(crate) async fn containers(
    service: &BlobService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let asked = Page::new(request)?;
    let included = includes(request, &["metadata", "deleted", "system"])?;
    let (with_metadata, system) = (included.has("metadata"), included.has("system"));
    let listed = caller.ask(ListContainers {
        account: caller.unit(),
        prefix: asked.prefix.to_owned(),
        marker: asked.marker.map(read_marker).transpose()?,
        system,
        limit: asked.limit,
    });
    let page = service.blobs.list_containers(&listed).await.map_err(errors::of)?;
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
    Ok(end(xml, page.next.map(|name| listing::marker(&name))))
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
