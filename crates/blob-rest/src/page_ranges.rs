//! Get Page Ranges, and what differs from a snapshot.

use blob::page_ranges::{GetPageRanges, PageRanges, RANGES_DEFAULT};
use http::StatusCode;
use rest::{ByteRange, Caller, RawTarget, Request, Response, ServiceError, Target, headers, xml::XmlWriter};
use types::{ErrorCode, Switch, Timestamp};

use crate::{
    BlobService, answers, conditions, errors,
    header_names::{BLOB_CONTENT_LENGTH, PREVIOUS_SNAPSHOT_URL},
    names,
};

/// Ranges of one answer to a client that does not know of pages of answers.
const RANGES_AT_ONCE: usize = 200_000;

pub(crate) async fn get(service: &BlobService, caller: &Caller, request: &Request) -> Result<Response, ServiceError> {
    let query = &request.target.query;
    let (address, part) = names::read_part(caller.unit(), request)?;
    let range = ByteRange::from_headers(&request.headers)?;
    // Pages of answers are known from 2021-06-08 on; before, an answer is all there is.
    let paged = caller.version.has(Switch::PagedPageRanges);
    let most = if paged { RANGES_DEFAULT } else { RANGES_AT_ONCE };
    let wanted = query.number("maxresults", 1, u64::from(u32::MAX))?.filter(|_| paged);
    let limit = wanted.and_then(|number| usize::try_from(number).ok()).map_or(most, |number| number.min(most));
    let asked = caller.ask(GetPageRanges {
        address,
        part,
        preconditions: conditions::of_blob(caller, &request.headers, service.blobs.now())?,
        range: range.map(|range| (range.start, range.end.map_or(u64::MAX, |end| end.saturating_add(1)))),
        previous: previous(request)?,
        marker: marker(query.get("marker"))?,
        limit,
        at_once: !paged,
    });
    let found = service.blobs.get_page_ranges(&asked).await.map_err(errors::of)?;
    if !paged && found.next.is_some() {
        return Err(too_many());
    }
    Ok(answered(caller, &found, paged))
}

fn too_many() -> ServiceError {
    ServiceError::new(ErrorCode::OperationTimedOut, "The operation could not be completed within the permitted time.")
        .with_detail("Reason", "the blob has too many ranges for an answer; version 2021-06-08 gives them in pages")
}

fn answered(caller: &Caller, found: &PageRanges, paged: bool) -> Response {
    let response = answers::written(Response::new(StatusCode::OK), caller.version, found.written)
        .number_header(BLOB_CONTENT_LENGTH, found.length);
    let mut xml = XmlWriter::document();
    xml.open("PageList");
    for range in &found.ranges {
        let name = if range.written { "PageRange" } else { "ClearRange" };
        xml.open(name);
        xml.element("Start", &range.start.to_string());
        xml.element("End", &range.end.saturating_sub(1).to_string());
        xml.close(name);
    }
    if paged {
        xml.element("NextMarker", &found.next.map(|next| next.to_string()).unwrap_or_default());
    }
    xml.close("PageList");
    response.xml(xml.finish())
}

fn marker(text: Option<&str>) -> Result<Option<u64>, ServiceError> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    let place = text.parse().ok();
    place.map(Some).ok_or_else(|| ServiceError::invalid_query("marker", text, "it is not one that was given out"))
}

/// The snapshot to compare with: by its time, or by its address, which must be one of the same blob.
fn previous(request: &Request) -> Result<Option<Timestamp>, ServiceError> {
    if let Some(text) = request.target.query.get("prevsnapshot") {
        return names::snapshot_time("prevsnapshot", text).map(Some);
    }
    let Some(url) = headers::text(&request.headers, &PREVIOUS_SNAPSHOT_URL)? else { return Ok(None) };
    let wrong = || ServiceError::invalid_header(PREVIOUS_SNAPSHOT_URL.as_str(), "REDACTED");
    let target = same_style(url, &request.target).ok_or_else(wrong)?;
    let same = target.account == request.target.account && target.segments() == request.target.segments();
    let time = target.query.get("snapshot").filter(|_| same).ok_or_else(wrong)?;
    names::snapshot_time("snapshot", time).map(Some).map_err(|_| wrong())
}

/// The target in a URL, with the account where the request has it.
fn same_style(url: &str, request: &Target) -> Option<Target> {
    let RawTarget::Resource { host: Some(_), path, query } = RawTarget::split(url).ok()? else { return None };
    if request.path_style {
        return Target::parse(path, query).ok();
    }
    Target::parse(&format!("/{}{path}", request.account), query).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_snapshot_of_the_same_blob() {
        let request = Target::parse("/acc/c/b%20b", "comp=pagelist").unwrap();
        let table = [
            ("http://h/acc/c/b%20b?snapshot=2020-01-01T00:00:00Z", true),
            ("http://h/acc/c/b+b?snapshot=2020-01-01T00:00:00Z", false),
            ("http://h/other/c/b%20b?snapshot=2020-01-01T00:00:00Z", false),
        ];
        for (url, same) in table {
            let found = same_style(url, &request).unwrap();
            assert_eq!((found.account == request.account) && found.segments() == request.segments(), same, "{url}");
        }
        assert!(same_style("/acc/c/b?snapshot=x", &request).is_none(), "no URL");
    }
}
