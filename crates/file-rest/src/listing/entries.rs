//! List Directories and Files.

use file::{
    list::{ListEntries, Listed},
    object::{Address, NodeProperties},
};
use rest::{
    Caller, Request, Response, ServiceError, dates, headers,
    listing::{self, Includes, Page, endpoint, includes},
    percent, stamps,
    xml::{self, XmlWriter},
};
use types::{FilePath, ServiceVersion, Switch};

use crate::{FileService, described::ROOT_ID, errors, header_names::FILE_EXTENDED_INFO, names, smb_headers};

/// What `include` can name.
const PARTS: &[&str] = &["timestamps", "etag", "attributes", "permissionkey"];

pub(crate) async fn entries(
    service: &FileService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let page = Page::new(request)?;
    let included = includes(request, PARTS)?;
    let extended = headers::boolean(&request.headers, &FILE_EXTENDED_INFO)?.unwrap_or(false);
    let asked = caller.ask(ListEntries {
        address: names::path(caller, request)?,
        prefix: page.prefix.to_owned(),
        marker: page.marker.map(listing::read_marker).transpose()?,
        limit: page.limit,
    });
    let found = service.files.list_entries(&asked).await.map_err(errors::of)?;
    let form = Form {
        version: caller.version,
        // From 2020-10-02 on they are always told.
        ids: extended || caller.version.at_least(2020, 10, 2),
        included,
    };
    let mut xml = XmlWriter::document();
    open(&mut xml, &endpoint(caller, request), &asked.address, form.version);
    if !page.prefix.is_empty() {
        form.name(&mut xml, "Prefix", page.prefix);
    }
    xml.optional("Marker", page.marker);
    xml.optional("MaxResults", page.max_results.map(|number| number.to_string()).as_deref());
    if form.ids {
        let id = if asked.address.path.is_none() { ROOT_ID } else { found.directory.inode.number() };
        xml.element("DirectoryId", &id.to_string());
    }
    xml.open("Entries");
    for entry in &found.entries {
        form.entry(&mut xml, entry);
    }
    xml.close("Entries");
    Ok(listing::end(xml, found.next.map(|next| listing::marker(&next))))
}

fn open(xml: &mut XmlWriter, endpoint: &str, address: &Address, version: ServiceVersion) {
    let directory = address.path.as_ref().map(FilePath::to_string).unwrap_or_default();
    let encoded = version.has(Switch::EncodedNames) && !xml::can_carry(&directory);
    let shown = if encoded { percent::encode(&directory) } else { directory };
    let snapshot = address.share.snapshot.map(dates::iso8601);
    let mut attributes = vec![("ServiceEndpoint", endpoint), ("ShareName", address.share.name.as_str())];
    attributes.extend(snapshot.as_deref().map(|snapshot| ("ShareSnapshot", snapshot)));
    attributes.extend(encoded.then_some(("Encoded", "true")));
    attributes.push(("DirectoryPath", &shown));
    xml.open_with("EnumerationResults", &attributes);
}

/// How entries are shown.
struct Form<'a> {
    version: ServiceVersion,
    ids: bool,
    included: Includes<'a>,
}

impl Form<'_> {
    /// Names that XML cannot carry are encoded, from 2021-02-12 on.
    fn name(&self, xml: &mut XmlWriter, element: &str, name: &str) {
        if self.version.has(Switch::EncodedNames) {
            xml.encoded_element(element, name);
        } else {
            xml.element(element, name);
        }
    }

    fn entry(&self, xml: &mut XmlWriter, entry: &Listed) {
        let found = &entry.properties;
        let kind = if found.file.is_some() { "File" } else { "Directory" };
        xml.open(kind);
        self.name(xml, "Name", &entry.name);
        if self.ids {
            xml.element("FileId", &found.inode.number().to_string());
        }
        self.properties(xml, found);
        if self.included.has("attributes") {
            xml.element("Attributes", &smb_headers::words(found.smb.attributes));
        }
        if self.included.has("permissionkey") {
            xml.element("PermissionKey", &found.smb.permission.to_string());
        }
        xml.close(kind);
    }

    fn properties(&self, xml: &mut XmlWriter, found: &NodeProperties) {
        xml.open("Properties");
        if let Some(file) = &found.file {
            xml.element("Content-Length", &file.length.to_string());
        }
        if self.included.has("timestamps") {
            xml.element("CreationTime", &found.smb.created.to_string());
            xml.element("LastAccessTime", &found.smb.accessed.to_string());
            xml.element("LastWriteTime", &found.smb.written.to_string());
            xml.element("ChangeTime", &found.smb.changed.to_string());
            xml.element("Last-Modified", &dates::rfc1123(found.last_modified));
        }
        if self.included.has("etag") {
            xml.element("Etag", &stamps::etag(self.version, found.etag));
        }
        xml.close("Properties");
    }
}
