//! List Shares.

use file::share_list::{ListShares, ListedShare, ShareMarker, SharePart};
use rest::{
    Caller, Request, Response, ServiceError, dates,
    listing::{self, Includes, Page, endpoint, includes},
    stamps,
    xml::XmlWriter,
};
use types::{ServiceVersion, Switch};

use crate::{FileService, errors, share_settings::tier_name, shares::version_text};

pub(crate) async fn shares(
    service: &FileService,
    caller: &Caller,
    request: &Request,
) -> Result<Response, ServiceError> {
    let page = Page::new(request)?;
    let included = includes(request, &["metadata", "snapshots", "deleted"])?;
    let asked = caller.ask(ListShares {
        account: caller.unit(),
        prefix: page.prefix.to_owned(),
        marker: page.marker.map(marker).transpose()?,
        limit: page.limit,
        metadata: included.has("metadata"),
        snapshots: included.has("snapshots"),
        deleted: included.has("deleted"),
    });
    let found = service.files.list_shares(&asked).await.map_err(errors::of)?;
    let mut xml = XmlWriter::document();
    xml.open_with("EnumerationResults", &[("ServiceEndpoint", &endpoint(caller, request))]);
    page.repeat(&mut xml);
    xml.open("Shares");
    for share in &found.items {
        write(&mut xml, caller.version, &included, share);
    }
    xml.close("Shares");
    Ok(listing::end(xml, found.next.map(|next| listing::marker(&next.to_string()))))
}

fn marker(text: &str) -> Result<ShareMarker, ServiceError> {
    listing::read_marker(text).map(|place| ShareMarker::parse(&place))
}

fn write(xml: &mut XmlWriter, version: ServiceVersion, included: &Includes<'_>, share: &ListedShare) {
    let found = &share.properties;
    xml.open("Share");
    xml.element("Name", &share.name);
    match share.part {
        SharePart::Share => {}
        SharePart::Snapshot(time) => xml.element("Snapshot", &dates::iso8601(time)),
        SharePart::Deleted(time) => {
            xml.element("Deleted", "true");
            xml.element("Version", &version_text(time));
        }
    }
    xml.open("Properties");
    listing::stamps(xml, &stamps::etag(version, found.etag), found.last_modified);
    xml.element("Quota", &found.settings.quota_gib.to_string());
    if version.has(Switch::TagsAndVersions) {
        xml.element("AccessTier", tier_name(found.settings.tier));
        let changed = found.settings.tier_changed.unwrap_or(found.last_modified);
        xml.element("AccessTierChangeTime", &dates::rfc1123(changed));
        xml.element("EnabledProtocols", "SMB");
    }
    if version.has(Switch::ShareLeases) {
        listing::lease(xml, found.lease);
    }
    if let Some(deleted) = &share.deleted {
        xml.element("DeletedTime", &dates::rfc1123(deleted.at));
        xml.element("RemainingRetentionDays", &deleted.remaining_days.to_string());
    }
    xml.close("Properties");
    if included.has("metadata") {
        listing::metadata(xml, &found.metadata);
    }
    xml.close("Share");
}
